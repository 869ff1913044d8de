"""General properties of constraint forces, and mechanisms with a known solution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt._core.quantities.names import Quantity
from support.constraints import tree_with_loops
from support.joint_types import random_state

FOUR_BAR = (0.3, 0.8, 0.5)
POST = 0.7


def make_four_bar() -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    inboard, X_PF = tree.world_body, np.eye(4)
    for i, length in enumerate(FOUR_BAR):
        rod = mbt.SpatialInertia.solid_box_with_mass(1.0 + i, length, 0.02, 0.03).shift([-length / 2, 0, 0])
        body = tree.add_body(mbt.RigidBody(f"bar{i}", rod))
        tree.add_joint(mbt.RevoluteJoint, f"pin{i}", inboard, X_PF, body, None, [0, 1, 0], damping=0.1 * i)
        inboard, X_PF = body, mbt.math.make_pose([length, 0, 0])
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", inboard, X_PF))
    post = tree.add_frame(mbt.FixedOffsetFrame("post", tree.world_body, mbt.math.make_pose([POST, 0, 0])))
    tree.add_constraint(mbt.BallConstraint("closure", post, tip))
    tree.finalize()
    return tree


def close_four_bar(crank: float) -> np.ndarray:
    """Return q for a crank angle, by triangles: the coupler above the line from its start to the post."""
    a, b, c = FOUR_BAR
    # About y, positive angles turn x towards -z.
    start = a * np.array([np.cos(crank), -np.sin(crank)])
    to_post = np.array([POST, 0.0]) - start
    d = np.linalg.norm(to_post)
    along = -np.arctan2(to_post[1], to_post[0])
    first = along - np.arccos((b * b + d * d - c * c) / (2 * b * d))
    middle = start + b * np.array([np.cos(first), -np.sin(first)])
    rest = np.array([POST, 0.0]) - middle
    second = -np.arctan2(rest[1], rest[0])
    return np.array([crank, first - crank, second - first])


def test_a_four_bar_in_one_coordinate() -> None:
    """Lagrange's equation of the crank angle alone: m a + m' w^2 / 2 + V' = Q."""
    tree = make_four_bar()
    context = tree.create_default_context()
    h = 1e-4

    def slope(f: Any, x: float) -> Any:
        return (8.0 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12.0 * h)

    def mass(angle: float) -> float:
        g = slope(close_four_bar, angle)
        return float(g @ functional.mass_matrix(tree, close_four_bar(angle)) @ g)

    def potential(angle: float) -> float:
        context.q = close_four_bar(angle)
        return tree.calc_potential_energy(context)

    for angle, rate, torque in ((-0.9, 0.0, 0.0), (0.4, 2.0, 0.7), (2.5, -3.0, -0.2)):
        q, g = close_four_bar(angle), slope(close_four_bar, angle)
        damping = np.array([joint.get_damping_vector(context)[0] for joint in tree.joints])
        load = torque - g @ (damping * g) * rate
        desired = (load - 0.5 * slope(mass, angle) * rate**2 - slope(potential, angle)) / mass(angle)
        assert abs(functional.constraint_errors(tree, q)).max() < 1e-14
        vdot, multipliers = functional.constrained_forward_dynamics(tree, q, g * rate, [torque, 0.0, 0.0])
        assert vdot[0] == pytest.approx(desired, rel=1e-6, abs=1e-6)
        # The bars move in a plane, and are pulled in it.
        assert abs(multipliers[1]) < 1e-9 < abs(multipliers[0])


def test_errors_change_at_the_rates_of_the_jacobian() -> None:
    h = 1e-6
    for seed in (1, 2, 5, 8):
        tree = tree_with_loops(seed, num_bodies=5)
        context = random_state(tree, np.random.default_rng(seed))
        qdot = tree.map_velocity_to_qdot(context, context.v)
        rates = tree.calc_constraint_jacobian(context) @ context.v
        bias = tree.calc_constraint_bias(context)
        errors, later = [], []
        for sign in (1.0, -1.0):
            moved = context.clone()
            moved.q = context.q + sign * h * qdot
            errors.append(tree.calc_constraint_errors(moved))
            later.append(tree.calc_constraint_jacobian(moved) @ context.v)
        for constraint in tree.constraints:
            first = constraint.first_equation
            rows = slice(
                first + 3 * isinstance(constraint, mbt.WeldConstraint), first + constraint.num_equations
            )
            np.testing.assert_allclose(
                ((errors[0] - errors[1]) / (2 * h))[rows], rates[rows], atol=1e-7 * (1 + abs(rates).max())
            )
        np.testing.assert_allclose((later[0] - later[1]) / (2 * h), bias, atol=1e-6 * (1 + abs(bias).max()))


def test_dofs_that_carry_both_ends_have_no_entry() -> None:
    """Exactly zero: in a floating linkage, the six of the base."""
    tree = mbt.MultibodyTree()
    base = tree.add_body(mbt.RigidBody("base", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.2, 0.3)))
    fingers = []
    for side in (-1.0, 1.0):
        M = mbt.SpatialInertia.point_mass(0.1, [0, 0, 0.1])
        finger = tree.add_body(mbt.RigidBody(f"finger{side}", M))
        X_PF = mbt.math.make_pose([0.1 * side, 0.2, 0.3], rpy=[0.3, side, 0.1])
        tree.add_joint(mbt.RevoluteJoint, f"knuckle{side}", base, X_PF, finger, None, [0, 0, 1])
        fingers.append(finger)
    tree.add_constraint(mbt.WeldConstraint("weld", *fingers))
    tree.add_constraint(mbt.DistanceConstraint("rod", fingers[0], [0, 0, 0.1], base, [0, 0, 0], 0.3))
    tree.finalize()
    context = tree.create_default_context()
    context.q = tree.random_positions(np.random.default_rng(1))
    J = tree.calc_constraint_jacobian(context)
    assert not J[:, :6].any()
    assert J[:, 6:].any(axis=0).all()


def test_errors_of_a_weld_near_half_a_turn() -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.add_constraint(mbt.WeldConstraint("weld", tree.world_body, body))
    tree.finalize()
    axis = np.array([0.6, -0.48, 0.64])
    for angle in (0.0, 1e-9, 1e-4, 1.0, 3.0, np.pi - 1e-7, np.pi):
        q = np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis, [1.0, 2.0, 3.0]])
        errors = functional.constraint_errors(tree, q)
        np.testing.assert_allclose(errors[3:], [1.0, 2.0, 3.0])
        # Half a turn is one about the axis either way.
        sign = -1.0 if angle == np.pi and errors[:3] @ axis < 0.0 else 1.0
        np.testing.assert_allclose(sign * errors[:3], angle * axis, rtol=1e-7, atol=1e-15)


def test_forces_keep_momentum_and_are_dual_to_rates() -> None:
    for seed in range(12):
        tree = tree_with_loops(seed, num_bodies=5)
        rng = np.random.default_rng(seed)
        context = random_state(tree, rng)
        multipliers = rng.normal(size=tree.num_constraint_equations)
        both = context._evaluate(Quantity.CONSTRAINT_FORCES, (), multipliers)
        count = 6 * tree.num_bodies
        F_Bo_W, tau = both[:count].reshape(-1, 6), both[count:]
        J = tree.calc_constraint_jacobian(context)
        generalized = context._evaluate(Quantity.GENERALIZED_FORCES, (), both[:count].copy())
        np.testing.assert_allclose(generalized + tau, J.T @ multipliers, atol=1e-11 * (1 + abs(J).max()))
        # Also where constraints are violated: the forces of each pair have one line of action.
        p_WB = tree.eval_position_kinematics(context).X_WB[:, :3, 3]
        moments = F_Bo_W[:, :3] + np.cross(p_WB, F_Bo_W[:, 3:])
        np.testing.assert_allclose(F_Bo_W[:, 3:].sum(0), 0.0, atol=1e-12)
        np.testing.assert_allclose(moments.sum(0), 0.0, atol=1e-11)


def test_forces_have_no_power_where_velocities_obey() -> None:
    tree = make_four_bar()
    context = tree.create_default_context()
    context.q = close_four_bar(0.4)
    J = tree.calc_constraint_jacobian(context)
    context.v = 2.0 * np.linalg.svd(J)[2][-1]
    report = tree.calc_energy_report(context)
    entry = report["constraint 'closure'"]
    assert abs(entry.non_conservative_power) < 1e-12 < abs(report.kinetic_energy_rate)
    assert abs(report.balance) < 1e-11
    # Velocities that violate the constraints are corrected, and the balance holds.
    context.v = [1.0, -2.0, 0.5]
    report = tree.calc_energy_report(context)
    assert abs(report["constraint 'closure'"].non_conservative_power) > 0.1
    assert abs(report.balance) < 1e-9


def test_reactions_include_constraint_forces() -> None:
    """Half of a bar's weight hangs on its pin, half on the constraint."""
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement([0.0, 0.0, -10.0]))
    bar = tree.add_body(mbt.RigidBody("bar", mbt.SpatialInertia.solid_box_with_mass(2.0, 1.0, 0.1, 0.1)))
    left = mbt.math.make_pose([-0.5, 0, 0])
    tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, left, bar, left, [0, 1, 0])
    end = tree.add_frame(mbt.FixedOffsetFrame("end", bar, mbt.math.make_pose([0.5, 0, 0])))
    roof = tree.add_frame(mbt.FixedOffsetFrame("roof", tree.world_body, mbt.math.make_pose([0.5, 0, 3.0])))
    tree.add_constraint(mbt.DistanceConstraint("rope", roof, [0, 0, 0], end, [0, 0, 0], 3.0))
    tree.finalize()
    context = tree.create_default_context()
    vdot, pull = tree.calc_constrained_forward_dynamics(context)
    np.testing.assert_allclose(vdot, 0.0, atol=1e-9)
    np.testing.assert_allclose(pull, [-10.0], rtol=1e-8)
    np.testing.assert_allclose(tree.calc_reaction_forces(context), [[0, 0, 0, 0, 0, 10.0]], atol=1e-7)


def test_points_that_coincide() -> None:
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    rod = tree.add_constraint(mbt.DistanceConstraint("rod", tree.world_body, [0] * 3, ball, [0] * 3, 1.0))
    tree.finalize()
    context = tree.create_default_context()
    for calc in (
        tree.calc_forward_dynamics, tree.calc_constrained_forward_dynamics, tree.calc_constraint_jacobian,
        tree.calc_constraint_bias,
    ):  # fmt: skip
        with pytest.raises(mbt.SingularityError, match="constraint 'rod': its points"):
            calc(context)
    with pytest.raises(mbt.SingularityError, match="constraint 'rod': its points"):
        functional.forward_dynamics(tree, context.q, context.v, np.zeros(6))
    assert tree.calc_constraint_errors(context) == [-1.0]
    q = np.array([context.q, [1, 0, 0, 0, 0, 0, 2.0]])
    vdot = functional.forward_dynamics(tree, q, np.zeros(6), np.zeros(6))
    assert np.isnan(vdot[0]).all()
    assert not vdot[1].any()
    rod.set_enabled_in(context, False)
    assert not tree.calc_forward_dynamics(context).any()


@pytest.mark.parametrize("size", [1e-3, 1e-2, 1.0, 100.0, 1000.0])
def test_a_floor_of_levers(size: float) -> None:
    """Constraints that no motion can violate, to rounding, have no effect."""
    for seed in range(10):
        check_floor_of_levers(size, seed)


def check_floor_of_levers(size: float, seed: int) -> None:
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement([1.0, 2.0, -10.0]))
    bodies = []
    place = np.array([0.1, 0.7, -0.3]) + 0.3 * np.random.default_rng(seed).normal(size=3)
    R = mbt.math.make_pose(size * place, rpy=[0.3 + seed, -0.5, 0.9])
    for i in range(2):
        inertia = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1 * size).shift([size, 0, 0])
        body = tree.add_body(mbt.RigidBody(f"body{i}", inertia))
        tree.add_joint(mbt.RevoluteJoint, f"hinge{i}", tree.world_body, R, body, R, [0.6, 0.0, 0.8])
        bodies.append(tree.add_frame(mbt.FixedOffsetFrame(f"hub{i}", body, R)))
    tree.add_constraint(mbt.BallConstraint("axle", *bodies))
    tree.finalize()
    bare = tree.clone()
    context, free = tree.create_default_context(), bare.create_default_context()
    bare.constraints[0].set_enabled_in(free, False)
    context.q = free.q = [0.4, -1.1]
    np.testing.assert_allclose(
        tree.calc_forward_dynamics(context), bare.calc_forward_dynamics(free), rtol=1e-10
    )
