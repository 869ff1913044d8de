"""Designed motions: their limits, their condition numbers, and the accuracy of fits of them."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt.identification import design_excitation, identify

QUICK = {"starts": 2, "steps": 25}


def test_a_design_keeps_the_limits_and_tells_the_parameters(robot):
    tree = robot.tree
    design = design_excitation(tree, friction="viscous", rotors=True, rng=1, margin=1.0, rate=500.0, **QUICK)
    assert len(design.time) == 5000
    wide = np.isfinite(tree.position_lower_limits)
    assert (design.q >= tree.position_lower_limits - 1e-9)[:, wide].all()
    assert (design.q <= tree.position_upper_limits + 1e-9)[:, wide].all()
    assert (np.abs(design.v) <= tree.velocity_upper_limits + 1e-3).all()
    # As large as possible: each joint is near some limit.
    assert (np.abs(design.v).max(axis=0) > 0.8 * tree.velocity_upper_limits).any()
    np.testing.assert_allclose(design.v[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(design.vdot[0], 0.0, atol=1e-12)
    context = tree.create_default_context(batch_shape=5000)
    context.q, context.v = design.q, design.v
    tau = tree.calc_inverse_dynamics(context, design.vdot, include_force_elements=True)
    assert (np.abs(tau) <= tree.effort_limits).all()
    found = identify(
        tree, design.q, design.v, design.vdot, tau, friction="viscous", rotors=True, noise=tau.std(axis=0)
    )
    assert found.condition_number < 2.0 * design.condition_number
    assert design.condition_number < 20.0


def test_rates_are_those_of_positions(robot):
    design = design_excitation(robot.tree, starts=1, steps=1, rng=0, rate=2000.0)
    step = 1.0 / 2000.0
    np.testing.assert_allclose(np.gradient(design.q, step, axis=0)[1:-1], design.v[1:-1], atol=1e-4)
    np.testing.assert_allclose(np.gradient(design.v, step, axis=0)[1:-1], design.vdot[1:-1], atol=1e-3)
    q, v, vdot = design.evaluate(design.time[:5] + 3 * design.period)
    np.testing.assert_allclose(q, design.q[:5], atol=1e-9)
    np.testing.assert_allclose(v, design.v[:5], atol=1e-9)
    np.testing.assert_allclose(vdot, design.vdot[:5], atol=1e-9)


def test_more_steps_give_a_better_condition_and_a_seed_the_same(robot):
    first = design_excitation(robot.tree, rng=3, starts=1, steps=1)
    better = design_excitation(robot.tree, rng=3, starts=1, steps=20)
    again = design_excitation(robot.tree, rng=np.random.default_rng(3), starts=1, steps=20)
    assert better.condition_number < first.condition_number
    np.testing.assert_array_equal(better.q, again.q)


def test_weak_motors_move_the_robot_less(robot):
    held = np.abs(robot.tree.calc_gravity_generalized_forces(robot.tree.create_default_context()))
    weak = robot.tree.edit()
    for actuator, hold in zip(weak.joint_actuators, held, strict=True):
        actuator.set_effort_limit(hold + 25.0)
    weak.finalize()
    design = design_excitation(weak, rng=0, rate=300.0, **QUICK)
    context = weak.create_default_context(batch_shape=len(design.q))
    context.q, context.v = design.q, design.v
    tau = weak.calc_inverse_dynamics(context, design.vdot, include_force_elements=True)
    assert (np.abs(tau).max(axis=0) <= [a.effort_limit for a in weak.joint_actuators]).all()


def test_what_cannot_be_designed_is_refused(robot):
    weak = robot.tree.edit()
    for actuator in weak.joint_actuators:
        actuator.set_effort_limit(1e-3)
    weak.finalize()
    with pytest.raises(mbt.ArgumentValueError, match="no motion that the actuators can follow"):
        design_excitation(weak, rng=0, starts=1, steps=1)
    floating = mbt.MultibodyTree()
    floating.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    floating.finalize()
    with pytest.raises(mbt.ArgumentValueError, match="has 6 velocities"):
        design_excitation(floating)
    for wrong in ({"harmonics": 2}, {"margin": 1.5}, {"rate": 0.1}, {"period": -1.0}, {"steps": 0}):
        with pytest.raises(mbt.ArgumentValueError, match=next(iter(wrong))):
            design_excitation(robot.tree, **wrong)
    with pytest.raises(mbt.ArgumentTypeError, match="rng"):
        design_excitation(robot.tree, rng="dice")
