"""Filters and derivatives against the known motion."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import mbt
from mbt.identification import preprocess

pytest.importorskip("scipy")


def floating_tree():
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_box_with_mass(2.0, 0.3, 0.2, 0.1)))
    arm = tree.add_body(mbt.RigidBody("arm", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.3, 0.1, 0.1)))
    tree.add_joint(mbt.QuaternionFloatingJoint, "free", tree.world_body, None, body, None)
    tree.add_joint(mbt.RevoluteJoint, "hinge", body, None, arm, None, axis=[0, 1, 0])
    tree.finalize()
    return tree


def test_rates_of_a_floating_body_are_those_that_were_integrated():
    """Sine velocities, integrated in steps of 0.1 ms; quaternions whose signs flip at random."""
    tree = floating_tree()
    rng = np.random.default_rng(3)
    step, count = 1e-4, 20000
    time = step * np.arange(count)
    frequencies, phases = rng.uniform(1.0, 6.0, (2, 7))
    v = np.sin(frequencies * time[:, None] + phases)
    vdot = frequencies * np.cos(frequencies * time[:, None] + phases)
    q = np.empty((count, 8))
    q[0] = tree.default_positions
    middle = np.sin(frequencies * (time[:, None] + 0.5 * step) + phases)
    for i in range(count - 1):
        q[i + 1] = tree.integrate_positions(q[i], middle[i], step)
    q, time, v, vdot = q[::10], time[::10], v[::10], vdot[::10]
    q[:, :4] *= rng.choice([-1.0, 1.0], size=(len(q), 1))
    log = preprocess(tree, time, q, np.zeros((len(q), 7)), cutoff=40.0)
    kept = np.searchsorted(time, log.time - 1e-9)
    np.testing.assert_allclose(log.v, v[kept], atol=3e-4)
    # Farther from the ends, which the filter no longer feels.
    inner = slice(100, -100)
    np.testing.assert_allclose(log.v[inner], v[kept][inner], atol=2e-5)
    np.testing.assert_allclose(log.vdot[inner], vdot[kept][inner], atol=2e-3)
    np.testing.assert_allclose(np.linalg.norm(log.q[:, :4], axis=1), 1.0, atol=1e-12)


def test_noise_above_the_cutoff_vanishes_and_nothing_shifts(robot):
    rng = np.random.default_rng(0)
    time = 0.001 * np.arange(8000)
    wave = np.sin(2.0 * np.pi * time)[:, None] * np.ones(6)
    q, tau = wave + 1e-4 * rng.normal(size=wave.shape), wave + 0.1 * rng.normal(size=wave.shape)
    log = preprocess(robot.tree, time, q, tau, cutoff=10.0, filter_forces=True)
    exact = np.sin(2.0 * np.pi * log.time)[:, None] * np.ones(6)
    assert np.abs(log.tau - exact).std() < 0.1 * np.sqrt(2.0 * 10.0 / 1000.0)
    assert np.abs(log.q - exact).max() < 1e-4
    rate = 2.0 * np.pi * np.cos(2.0 * np.pi * log.time)[:, None]
    assert np.abs(log.v - rate).max() < 1e-2
    # At 20 Hz the remaining noise is about independent.
    assert np.diff(log.time) == pytest.approx(0.05)
    rest = log.tau - exact
    assert np.abs((rest[1:] * rest[:-1]).mean(axis=0) / rest.var(axis=0)).max() < 0.3


@pytest.mark.parametrize("delay", [0.0123, -0.02])
def test_delays_are_taken_out(robot, delay):
    time = 0.001 * np.arange(3000)
    q = np.sin(3.0 * time)[:, None] * np.ones(6)
    tau = np.sin(3.0 * (time - delay))[:, None] * np.ones(6)
    log = preprocess(robot.tree, time, q, tau, cutoff=50.0, delay=delay)
    np.testing.assert_allclose(log.tau, log.q, atol=1e-5)


def test_a_log_of_a_robot_identifies_it(robot, rng):
    """Quantized, noisy and late measurements at 1 kHz, after filtering, give the truth."""
    time = 0.001 * np.arange(20000)
    frequencies, phases = 2.0 * np.pi * rng.uniform(0.1, 0.7, (5, 6)), rng.uniform(0.0, 6.0, (5, 6))
    angles = frequencies * time[:, None, None] + phases
    q = 0.3 * np.sin(angles).sum(axis=1)
    v = 0.3 * (frequencies * np.cos(angles)).sum(axis=1)
    vdot = -0.3 * (frequencies**2 * np.sin(angles)).sum(axis=1)
    context = robot.real.create_default_context(batch_shape=len(time))
    context.q, context.v = q, v
    tau = robot.real.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    measured_q = np.round(q * 2.0**16) / 2.0**16
    measured_tau = np.roll(tau, 4, axis=0) + 0.3 * rng.normal(size=tau.shape)
    log = preprocess(robot.tree, time, measured_q, measured_tau, cutoff=10.0, delay=0.004)
    found = mbt.identification.identify(robot.tree, *log, friction="viscous+coulomb", rotors=True)
    assert not any("time stamps" in text for text in found.warnings)
    np.testing.assert_allclose(found.residual_rms, 0.3, rtol=0.03)
    off = (found.base_values - found.base.calc_values(robot.truth())) / found.base_standard_errors
    assert np.sqrt((off**2).mean()) < 2.0
    late = preprocess(robot.tree, time, measured_q, measured_tau, cutoff=10.0)
    doubts = mbt.identification.identify(robot.tree, *late, friction="viscous+coulomb", rotors=True).warnings
    assert any("time stamps" in text for text in doubts)


def test_wrong_logs_are_refused(robot):
    time, zeros = 0.001 * np.arange(1000), np.zeros((1000, 6))
    tree = robot.tree
    uneven = time.copy()
    uneven[500:] += 0.005
    with pytest.raises(mbt.ArgumentValueError, match=r"time: expected equal, increasing steps.*at 0.499 s"):
        preprocess(tree, uneven, zeros, zeros, cutoff=10.0)
    with pytest.raises(mbt.ArgumentValueError, match="time: expected equal, increasing steps"):
        preprocess(tree, time[::-1], zeros, zeros, cutoff=10.0)
    with pytest.raises(mbt.ArgumentValueError, match="cutoff: expected at most 125 Hz"):
        preprocess(tree, time, zeros, zeros, cutoff=200.0)
    with pytest.raises(mbt.ArgumentValueError, match="too short: 1000 samples"):
        preprocess(tree, time, zeros, zeros, cutoff=1.0)
    for options in ({"cutoff": 10.0, "delay": 1e308}, {"cutoff": 10.0, "delay": -1e308}, {"cutoff": 1e-320}):
        with pytest.raises(mbt.ArgumentValueError, match="too short: 1000 samples"):
            preprocess(tree, time, zeros, zeros, **options)
    with pytest.raises(mbt.ArgumentValueError, match="too short: 1 samples"):
        preprocess(tree, time[:1], zeros[:1], zeros[:1], cutoff=1.0)
    with pytest.raises(mbt.ShapeError, match="tau"):
        preprocess(tree, time, zeros, zeros[1:], cutoff=10.0)
    with pytest.raises(mbt.ArgumentTypeError, match="tree"):
        preprocess(None, time, zeros, zeros, cutoff=10.0)


def test_a_missing_scipy_is_named():
    code = (
        "import sys; sys.modules['scipy'] = None\n"
        "import numpy as np, mbt\n"
        "tree = mbt.load_model(mbt.models.model_path('mbt_arm'))\n"
        "try: mbt.identification.preprocess(tree, np.arange(1000) * 1e-3, np.zeros((1000, 6)),"
        " np.zeros((1000, 6)), cutoff=10)\n"
        "except mbt.MissingPackageError as error: print(error)\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "multibodytree[sim]" in answer.stdout
