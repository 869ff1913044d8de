"""Payloads estimated sample by sample, against the same fit of all samples at once."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt.identification import PayloadEstimator, identify


def with_payload(tree, mass):
    loaded = tree.edit()
    body = loaded.get_body_by_name("tool")
    own = body.default_spatial_inertia
    M = mbt.SpatialInertia.solid_box_with_mass(mass, 0.1, 0.2, 0.1).shift([0.0, 0.01, -0.05])
    body.set_default_spatial_inertia(own + M)
    loaded.finalize()
    return loaded, mbt.math.calc_inertial_parameters(M)


def log_of(tree, count, rng, noise=0.2):
    q, v, vdot = rng.normal(size=(3, count, 6))
    context = tree.create_default_context(batch_shape=count)
    context.q, context.v = q, v
    tau = tree.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    return q, v, vdot, tau + noise * rng.normal(size=tau.shape)


def test_without_forgetting_it_is_the_fit_of_all_samples(robot, rng):
    loaded, truth = with_payload(robot.tree, 2.0)
    log = log_of(loaded, 300, rng)
    payload = PayloadEstimator(robot.tree, "tool", noise=np.full(6, 0.2), forgetting=1.0, prior=1e-9)
    for sample in zip(*log, strict=True):
        payload.update(*sample)
    found = identify(robot.tree, *log, bodies=["tool"], noise=np.full(6, 0.2), physical=False, prior=0.0)
    row = robot.tree.get_body_by_name("tool").node_index - 1
    described = robot.tree.get_inertial_parameters().reshape(-1, 10)[row]
    np.testing.assert_allclose(payload.parameters, found.parameters[row] - described, atol=1e-6)
    np.testing.assert_allclose(payload.standard_errors, found.standard_errors[row], rtol=1e-5)
    assert np.abs(payload.parameters - truth).max() < 5.0 * payload.standard_errors.max()
    assert payload.mass == pytest.approx(2.0, rel=0.01)


def test_it_follows_what_is_picked_up(robot, rng):
    loaded, _ = with_payload(robot.tree, 3.0)
    payload = PayloadEstimator(robot.tree, "tool", noise=np.full(6, 0.2), forgetting=0.98)
    for tree, mass in ((robot.tree, 0.0), (loaded, 3.0), (robot.tree, 0.0)):
        for sample in zip(*log_of(tree, 400, rng), strict=True):
            payload.update(*sample)
        assert abs(payload.mass - mass) < 5.0 * payload.standard_errors[0] + 1e-3
    payload.reset()
    assert payload.mass == 0.0


def test_forgetting_weighs_samples_by_their_age(robot, rng):
    loaded, _ = with_payload(robot.tree, 1.0)
    q, v, vdot, tau = log_of(loaded, 50, rng)
    payload = PayloadEstimator(robot.tree, "tool", noise=np.full(6, 0.2), forgetting=0.9, prior=1e-9)
    rows, rest = [], []
    part = 10 * (robot.tree.get_body_by_name("tool").node_index - 1)
    context = robot.tree.create_default_context()
    for i in range(50):
        payload.update(q[i], v[i], vdot[i], tau[i])
        context.q, context.v = q[i], v[i]
        weight = 0.9 ** (0.5 * (49 - i)) / 0.2
        Y = robot.tree.calc_inverse_dynamics_regressor(context, vdot[i])[:, part : part + 10]
        rows.append(weight * Y)
        exact = robot.tree.calc_inverse_dynamics(context, vdot[i], include_force_elements=True)
        rest.append(weight * (tau[i] - exact))
    expected = np.linalg.lstsq(np.concatenate(rows), np.concatenate(rest), rcond=None)[0]
    np.testing.assert_allclose(payload.parameters, expected, atol=1e-6)


def test_wrong_arguments_are_refused(robot):
    tree, noise = robot.tree, np.ones(6)
    for wrong in (0.0, 1.1):
        with pytest.raises(mbt.ArgumentValueError, match="forgetting"):
            PayloadEstimator(tree, "tool", noise=noise, forgetting=wrong)
    for wrong in (-1.0, 1e-300, 1e300, np.inf):
        with pytest.raises(mbt.ArgumentValueError, match="noise: expected numbers from 1e-100 to 1e100"):
            PayloadEstimator(tree, "tool", noise=wrong * noise)
    with pytest.raises(mbt.UnknownNameError, match="spoon"):
        PayloadEstimator(tree, "spoon", noise=noise)
    payload = PayloadEstimator(tree, "tool", noise=noise)
    with pytest.raises(mbt.ShapeError, match="vdot"):
        payload.update(np.zeros(6), np.zeros(6), np.zeros(5), np.zeros(6))
    with pytest.raises(mbt.ArgumentValueError, match="tau"):
        payload.update(np.zeros(6), np.zeros(6), np.zeros(6), np.full(6, np.nan))
    with pytest.raises(mbt.ArgumentValueError, match="squares overflow"):
        payload.update(np.zeros(6), np.zeros(6), np.full(6, 1e200), np.zeros(6))
    assert payload.mass == 0.0
