"""Scales of measured forces, and friction that falls with speed."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt.identification import Accumulator, identify, validate
from mbt.identification.motors import MotorSums

SCALES = np.array([1.3, 0.8, 1.0, 2.0, 0.5, 1.1])
ALL = {"friction": "viscous+coulomb", "rotors": True}


@pytest.fixture(scope="module")
def payload_log(robot):
    """Return samples without and with a known payload; only scales of the measured forces are wrong."""
    rng = np.random.default_rng(3)
    q, v, vdot, tau = robot.log(1200, rng, noise=0.0)
    loaded = robot.tree.edit()
    tool = loaded.get_body_by_name("tool")
    M = mbt.SpatialInertia.solid_box_with_mass(3.0, 0.1, 0.2, 0.1).shift([0.05, 0.0, -0.1])
    tool.set_default_spatial_inertia(tool.default_spatial_inertia + M)
    loaded.finalize()
    applied = np.zeros_like(tau)
    for tree, sign in ((robot.tree, 1.0), (loaded, -1.0)):
        context = tree.create_default_context(batch_shape=600)
        context.q, context.v = q[600:], v[600:]
        applied[600:] += sign * tree.calc_inverse_dynamics(context, vdot[600:], include_force_elements=True)
    return q, v, vdot, (tau - applied) / SCALES, applied


def test_scales_lie_within_their_standard_errors(robot, payload_log):
    """In 30 experiments, scales and base parameters deviate as in a normal law."""
    q, v, vdot, exact, applied = payload_log
    sums = Accumulator(robot.tree, motors=True, **ALL)
    sums.add(q, v, vdot, exact, applied)
    X, known = sums._columns.evaluate(q, v, vdot)
    X = np.ascontiguousarray(X[..., sums._columns.base.independent].swapaxes(0, 1))
    off, off_scales = [], []
    for seed in range(30):
        noise = robot.noise * np.random.default_rng(seed).normal(size=exact.shape)
        # The sums that a log with other noise would give.
        sums._motors = MotorSums.of_block(X, exact + noise, known - applied)
        found = sums.solve(physical=False, prior=0.0)
        truth = found.base.calc_values(robot.truth())
        off.append((found.base_values - truth) / found.base_standard_errors)
        off_scales.append((found.motor_scales - SCALES) / found.motor_scale_errors)
    np.testing.assert_allclose(found.noise, robot.noise * SCALES, rtol=0.1)
    assert (found.motor_scale_errors < 0.02 * SCALES).all()
    for deviations in (np.abs(off), np.abs(off_scales)):
        assert (deviations < 3.0).mean() > 0.985
        assert abs((deviations < 1.0).mean() - 0.683) < 0.09


def test_the_fit_is_the_best_one(robot, payload_log):
    """No nearby scales and parameters leave a smaller residual, in units of measured forces."""
    q, v, vdot, exact, applied = payload_log
    rng = np.random.default_rng(0)
    tau = exact + robot.noise * rng.normal(size=exact.shape)
    found = identify(
        robot.tree, q, v, vdot, tau, applied=applied, motors=True, noise=robot.noise, physical=False,
        prior=0.0,
    )  # fmt: skip
    columns = Accumulator(robot.tree)._columns
    X, known = columns.evaluate(q, v, vdot)
    X, known = X[..., columns.base.independent], known - applied

    def cost(phi, k):
        return (((tau - (known + X @ phi) / k) / robot.noise) ** 2).sum()

    best = cost(found.base_values, found.motor_scales)
    for _ in range(20):
        d_phi, d_k = rng.normal(size=len(found.base_values)), rng.normal(size=6)
        d_phi, d_k = 0.1 * d_phi * found.base_standard_errors, 0.1 * d_k * found.motor_scale_errors
        sides = [
            cost(found.base_values + s * d_phi, found.motor_scales + s * d_k) - best for s in (-1.0, 1.0)
        ]
        # Around a minimum the cost is symmetric; elsewhere it is not.
        assert min(sides) > 0.0
        assert abs(sides[1] - sides[0]) < 0.05 * max(sides)


def test_found_scales_go_with_residuals_report_and_validation(robot, payload_log):
    q, v, vdot, exact, applied = payload_log
    tau = exact + robot.noise * np.random.default_rng(0).normal(size=exact.shape)
    found = identify(robot.tree, q, v, vdot, tau, applied=applied, motors=True, **ALL)
    assert found.warnings == ()
    np.testing.assert_allclose(found.motor_scales, SCALES, rtol=0.05)
    assert "scale of measured force" in found.report()
    context = found.tree.create_default_context(batch_shape=len(q))
    context.q, context.v = q, v
    predicted = found.tree.calc_inverse_dynamics(context, vdot, include_force_elements=True) - applied
    np.testing.assert_allclose(found.residuals, found.motor_scales * tau - predicted, atol=1e-9)
    check = validate(found, q, v, vdot, tau, applied)
    assert np.abs(check.noise_ratio - 1.0).max() < 0.1
    assert check.explained.min() > 0.95
    assert repr(check).startswith("<Validation: 1200 samples, noise_ratio ")


def test_scales_that_nothing_tells_are_refused(robot, payload_log):
    q, v, vdot, tau, applied = payload_log
    with pytest.raises(mbt.ArgumentValueError, match="does not determine the scales of waist_w, shoulder_w"):
        identify(robot.tree, q[:600], v[:600], vdot[:600], tau[:600], motors=True, **ALL)
    with pytest.raises(mbt.ArgumentValueError, match="not allowed with motors"):
        identify(robot.tree, q, v, vdot, tau, applied=applied, motors=True, robust=True)
    with pytest.raises(mbt.ArgumentValueError, match="wrong sign"):
        identify(robot.tree, q, v, vdot, -tau, applied=applied, motors=True, **ALL)
    with pytest.raises(mbt.ShapeError, match="applied"):
        identify(robot.tree, q, v, vdot, tau, applied=applied[:10], motors=True)
    bare = robot.tree.edit()
    for actuator in list(bare.joint_actuators):
        bare.remove(actuator)
    bare.finalize()
    with pytest.raises(mbt.ArgumentValueError, match="motors: the tree has no actuators"):
        identify(bare, q, v, vdot, tau, motors=True)


def test_friction_that_falls_with_speed(robot):
    rng = np.random.default_rng(1)
    real = robot.real.edit()
    for element in list(real.force_elements):
        if isinstance(element, mbt.JointFriction):
            force = element.coulomb_friction
            real.remove(element)
            real.add_force_element(mbt.JointFriction(element.joint, force, 1.5 * force, 0.2, 0.02))
    real.finalize()
    q, v, vdot = rng.normal(size=(3, 2000, 6))
    v *= 0.5
    context = real.create_default_context(batch_shape=2000)
    context.q, context.v = q, v
    tau = real.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    log = (q, v, vdot, tau + 0.2 * robot.noise * rng.normal(size=tau.shape))
    speeds = {"stribeck_velocity": 0.2, "transition_velocity": 0.02}
    found = identify(robot.tree, *log, friction="viscous+coulomb+stribeck", rotors=True, **speeds)
    dry = [e for e in real.force_elements if isinstance(e, mbt.JointFriction)]
    expected = [e.breakaway_friction - e.coulomb_friction for e in dry]
    errors = found.base_standard_errors[np.isin(found.base.independent, range(92, 98))]
    assert (np.abs(found.friction["stribeck"] - expected) < 4.0 * errors.max() + 1e-3).all()
    assert found.warnings == ()
    plain = identify(robot.tree, *log, friction="viscous+coulomb", rotors=True, transition_velocity=0.02)
    assert (plain.residual_rms > 1.3 * found.residual_rms).any()
    # The identified tree includes it, and passes it to a further fit.
    context = found.tree.create_default_context(batch_shape=2000)
    context.q, context.v = q, v
    predicted = found.tree.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    np.testing.assert_allclose(log[3] - predicted, found.residuals, atol=1e-9)
    columns = Accumulator(found.tree, friction="viscous+coulomb+stribeck", rotors=True, **speeds)._columns
    np.testing.assert_allclose(columns.base.calc_values(columns.description()), found.base_values, atol=1e-9)
    with pytest.raises(mbt.ArgumentValueError, match="expected 'coulomb' with 'stribeck'"):
        identify(robot.tree, *log, friction="stribeck")
    with pytest.raises(mbt.ArgumentValueError, match="stribeck_velocity"):
        identify(robot.tree, *log, friction="coulomb+stribeck", stribeck_velocity=0.0)
