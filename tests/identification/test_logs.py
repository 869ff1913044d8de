"""Logs with other noise or with faults: outliers, units, signs, delays, trees of other kinds."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import mbt
from mbt.identification import Accumulator, identify

ALL = {"friction": "viscous+coulomb", "rotors": True}


def moving_log(robot, rng, count=1500, dt=0.01):
    """Return a log in order of time, made of sums of sines."""
    time = dt * np.arange(count)[:, None]
    frequencies, phases = rng.uniform(0.5, 5.0, (2, 5, 1, 6))
    angles = frequencies * time + phases
    q = 0.3 * np.sin(angles).sum(axis=0)
    v = 0.3 * (frequencies * np.cos(angles)).sum(axis=0)
    vdot = -0.3 * (frequencies**2 * np.sin(angles)).sum(axis=0)
    context = robot.real.create_default_context(batch_shape=count)
    context.q, context.v = q, v
    tau = robot.real.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    return q, v, vdot, tau + robot.noise * rng.normal(size=tau.shape)


def deviations(robot, found):
    return (found.base_values - found.base.calc_values(robot.truth())) / found.base_standard_errors


def test_a_good_log_leaves_no_doubt(robot, rng):
    assert identify(robot.tree, *moving_log(robot, rng), **ALL).warnings == ()


def test_huber_withstands_outliers(robot):
    """In 12 logs with 5 % outliers, errors match the standard errors; those of least squares are larger."""
    plain, robust = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        q, v, vdot, tau = robot.log(300, rng)
        tau[rng.random(tau.shape) < 0.05] += 30.0
        found = identify(robot.tree, q, v, vdot, tau, **ALL, robust=True, physical=False)
        robust.append(deviations(robot, found))
        errors = found.base_standard_errors
        ordinary = identify(robot.tree, q, v, vdot, tau, **ALL, physical=False)
        plain.append(ordinary.base_standard_errors / errors)
    assert (np.abs(robust) < 3.0).mean() > 0.95
    assert np.median(plain) > 5.0


def test_huber_solves_its_equations(robot, rng):
    """The columns' sum weighted by clipped residuals, over the unclipped share, is zero."""
    q, v, vdot, tau = robot.log(200, rng)
    tau[::20] += 5.0
    noise = robot.noise
    found = identify(robot.tree, q, v, vdot, tau, noise=noise, physical=False, prior=0.0, robust=True, **ALL)
    columns = Accumulator(robot.tree, **ALL)._columns
    X = columns.evaluate(q, v, vdot)[0][..., found.base.independent] / noise[:, None]
    psi = np.clip(found.residuals / noise, -1.345, 1.345)
    psi /= (np.abs(psi) < 1.345).mean(axis=0)
    slope = np.einsum("njk,nj->k", X, psi)
    plain = np.einsum("njk,nj->k", X, found.residuals / noise)
    size = np.sqrt((X**2).sum(axis=(0, 1)))
    assert np.abs(slope / size).max() < 0.01
    assert np.abs(plain / size).max() > 0.5


def test_huber_equals_the_plain_fit_without_outliers_nearly(robot, rng):
    log = robot.log(1000, rng)
    plain = identify(robot.tree, *log, **ALL, physical=False)
    robust = identify(robot.tree, *log, **ALL, physical=False, robust=True)
    # Huber's efficiency for normal noise is 0.95.
    ratio = robust.base_standard_errors / plain.base_standard_errors
    assert np.abs(ratio - 1.0 / np.sqrt(0.95)).max() < 0.06


@pytest.mark.parametrize("delay", [3, -2, 12, -30])
def test_late_forces_are_reported_with_their_delay(robot, rng, delay):
    q, v, vdot, tau = moving_log(robot, rng)
    first, last = max(-delay, 0), len(q) - max(delay, 0)
    shifted = slice(first + delay, last + delay), slice(first, last)
    found = identify(robot.tree, q[shifted[0]], v[shifted[0]], vdot[shifted[0]], tau[shifted[1]], **ALL)
    (text,) = (text for text in found.warnings if "time stamps; preprocess" in text)
    assert ("after" if delay > 0 else "before") in text
    told = float(text.split("come ")[1].split(" samples")[0])
    assert told == pytest.approx(abs(delay), rel=0.1)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ((1, 1, 1, 1000), r"the forces are \d.* times what the description predicts"),
        ((1, 1, 1, -1), "are -.* times what the description predicts"),
        ((180 / np.pi, 1, 1, 1), "far beyond its limits.*radians"),
        ((1, 180 / np.pi, 1, 1), "times as fast as v says"),
        ((1, 1, 180 / np.pi, 1), "times as fast as v says"),
    ],
)
def test_wrong_units_are_told(robot, rng, times, message):
    log = [factor * x for factor, x in zip(times, moving_log(robot, rng), strict=True)]
    found = identify(robot.tree, *log, **ALL)
    assert any(re.search(message, text) for text in found.warnings), found.warnings
    assert "warning: " in found.report()


def test_found_can_be_pickled_and_saved(robot, rng, tmp_path):
    log = robot.log(500, rng)
    found = identify(robot.tree, *log, **ALL)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.parameters, found.parameters)
    assert again.report() == found.report()
    np.testing.assert_allclose(again.calc_residuals(*log), found.residuals, rtol=0, atol=1e-12)
    sums = pickle.loads(pickle.dumps(Accumulator(robot.tree, **ALL)))
    assert sums.num_samples == 0
    with pytest.warns(mbt.ModelWarning, match="joints have friction"):
        mbt.save_model(found.tree, tmp_path / "found.urdf")
    mbt.save_model(found.tree, tmp_path / "found.json")
    for loaded in (
        mbt.load_model(tmp_path / "found.json"),
        mbt.load_model(tmp_path / "found.urdf", joint_friction=True),
    ):
        context, other = loaded.create_default_context(), found.tree.create_default_context()
        context.q, context.v = other.q, other.v = log[0][0], log[1][0]
        np.testing.assert_allclose(
            loaded.calc_inverse_dynamics(context, log[2][0], include_force_elements=True),
            found.tree.calc_inverse_dynamics(other, log[2][0], include_force_elements=True),
            atol=1e-9,
        )
