"""Derivatives of constrained forward dynamics against duals of the solution, and central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.build import build_tree
from support.constraints import (
    beside_held_bodies,
    conditioning,
    derivatives_by_duals,
    equations_of,
    four_bar,
    tree_with_loops,
)
from support.joint_types import random_state
from support.kinds import values_of
from support.random_trees import CATALOGUE

STEP = 2e-6
BOTH_WAYS = pytest.mark.parametrize("by_groups", [False, True])


def as_wanted(tree: mbt.MultibodyTree, by_groups: bool) -> mbt.MultibodyTree:
    """Return the tree, or one in which its derivatives are computed by groups."""
    assert tree._compiled.has_dense_derivatives
    return beside_held_bodies(tree) if by_groups else tree


def differences(tree: mbt.MultibodyTree, context: Any, tau: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the three matrices."""
    nv = tree.num_velocities
    N = tree.make_velocity_to_qdot_map(context)

    def along(k: int, what: str) -> np.ndarray:
        results = []
        for sign in (1.0, -1.0):
            moved, own_tau = context.clone(), tau.copy()
            if what == "q":
                moved.q = context.q + sign * STEP * N[:, k]
            elif what == "v":
                moved.v = context.v + sign * STEP * np.eye(nv)[k]
            else:
                own_tau[k] += sign * STEP
            results.append(tree.calc_forward_dynamics(moved, own_tau))
        return (results[0] - results[1]) / (2.0 * STEP)

    return tuple(np.stack([along(k, what) for k in range(nv)], axis=1) for what in ("q", "v", "tau"))


def assert_near(actual: Any, desired: Any, tolerance: float = 1e-10) -> None:
    scale = max(1.0, np.abs(desired).max(initial=0.0))
    np.testing.assert_allclose(actual, desired, rtol=0.0, atol=tolerance * scale)


def check_against_duals(seed: int, by_groups: bool) -> bool:
    """Compare all six matrices of a random tree; return whether its constraints are independent."""
    tree = tree_with_loops(seed, num_bodies=3 + seed % 9, num_constraints=1 + seed % 4).edit()
    rng = np.random.default_rng(seed)
    ground, tip = tree.world_body, tree.bodies[-1]
    tree.add_force_element(mbt.LinearSpringDamper(ground, [0.3, 0.1, 2.0], tip, [0.1, 0, 0.2], 0.7, 9.0, 2.0))
    tree.add_force_element(
        mbt.PointContact(tip, 9.0 * np.eye(3), stiffness=50.0, dissipation=0.1, static_friction=0.5)
    )
    tree.finalize()
    tree = as_wanted(tree, by_groups)
    context = random_state(tree, rng)
    if conditioning(tree, context) < 1e-2:
        return False
    tau = rng.normal(size=tree.num_velocities)
    for stabilize in (False, True):
        found = tree.calc_constrained_forward_dynamics_derivatives(context, tau, stabilize=stabilize)
        for part, desired in zip(
            found, derivatives_by_duals(tree, context, tau, stabilize=stabilize), strict=True
        ):
            assert_near(part, desired, 1e-9)
    for part, desired in zip(
        tree.calc_forward_dynamics_derivatives(context, tau),
        tree.calc_constrained_forward_dynamics_derivatives(context, tau)[:3],
        strict=True,
    ):
        np.testing.assert_array_equal(part, desired)
    return True


@BOTH_WAYS
def test_random_trees(by_groups: bool) -> None:
    assert sum(check_against_duals(seed, by_groups) for seed in range(12)) >= 6


@pytest.mark.exhaustive
@BOTH_WAYS
def test_more_random_trees(by_groups: bool) -> None:
    assert sum(check_against_duals(seed, by_groups) for seed in range(12, 300)) >= 144


def with_redundant_rows() -> mbt.MultibodyTree:
    tree = four_bar().edit()
    tree.add_constraint(
        mbt.BallConstraint("again", *(tree.get_frame_by_name(name) for name in ("post", "tip")))
    )
    tree.finalize()
    return tree


def with_held_feet() -> mbt.MultibodyTree:
    tree = build_tree(CATALOGUE["humanoid"]()).edit()
    for foot in ("leg_l6", "leg_r6"):
        tree.add_constraint(mbt.WeldConstraint(foot, tree.world_body, tree.get_body_by_name(foot)))
    tree.finalize()
    return tree


@pytest.mark.parametrize(
    "make",
    [
        with_redundant_rows,
        with_held_feet,
        lambda: build_tree(CATALOGUE["mixed8"]()),
    ],
    ids=["redundant", "feet", "unconstrained"],
)
def test_both_ways_agree(make: Callable[[], mbt.MultibodyTree]) -> None:
    """A tree alone, and among others that it is not connected to; a joint is locked, too."""
    alone = as_wanted(make(), False)
    among = as_wanted(alone, True)
    state, other = random_state(alone, np.random.default_rng(3)), among.create_default_context()
    tau, J = np.random.default_rng(4).normal(size=alone.num_velocities), alone.calc_constraint_jacobian(state)
    q, v, all_tau = other.q.copy(), other.v.copy(), np.zeros(among.num_velocities)
    own = []
    for joint in alone.joints:
        twin = among.get_joint_by_name(joint.name)
        twin.get_mutable_positions_from_array(q)[:] = joint.get_positions_from_array(state.q)
        places = twin.get_velocities_from_array(np.arange(len(v))).astype(int)
        v[places] = joint.get_velocities_from_array(state.v)
        all_tau[places] = joint.get_velocities_from_array(tau)
        own.append(places)
    other.q, other.v = q, v
    at = np.sort(np.concatenate(own))
    np.testing.assert_array_equal(at, range(len(tau)))  # in the same order
    locked = next(joint for joint in alone.joints if joint.num_velocities == 1)
    for _ in range(2):
        found = among.calc_constrained_forward_dynamics_derivatives(other, all_tau, stabilize=True)
        desired = alone.calc_constrained_forward_dynamics_derivatives(state, tau, stabilize=True)
        for i in range(3):
            assert_near(found[i][np.ix_(at, at)], desired[i], 1e-9)
            assert not found[i][at, len(at) :].any()
        # J depends on neither v nor tau; multipliers of redundant rows may differ.
        for i in (4, 5):
            assert_near(J.T @ found[i][: len(J), at], J.T @ desired[i], 1e-9)
        locked.lock(state)
        among.get_joint_by_name(locked.name).lock(other)


def check_off_and_locked(seed: int, by_groups: bool) -> bool:
    """Compare a tree, one constraint disabled, one joint locked; return whether the rest is independent."""
    tree = as_wanted(tree_with_loops(seed, num_bodies=8), by_groups)
    rng = np.random.default_rng(seed)
    context = random_state(tree, rng)
    joint = next((joint for joint in tree.joints if joint.num_velocities == 1), None)
    if joint is None:
        return False
    off = tree.constraints[seed % 3]
    off.set_enabled_in(context, False)
    joint.lock(context)
    J = equations_of(tree, context).J[:, ~context._locked_dofs()]
    J = np.delete(J, np.s_[off.first_equation : off.first_equation + off.num_equations], axis=0)
    if np.linalg.matrix_rank(J, tol=0.05) < len(J):
        return False
    tau = rng.normal(size=tree.num_velocities)
    found = tree.calc_constrained_forward_dynamics_derivatives(context, tau, stabilize=True)
    for part, desired in zip(found, derivatives_by_duals(tree, context, tau, stabilize=True), strict=True):
        assert_near(part, desired, 1e-8)
    assert not any(part[joint.velocity_start].any() for part in found[:3])
    assert not any(
        part[off.first_equation : off.first_equation + off.num_equations].any() for part in found[3:]
    )
    return True


@BOTH_WAYS
def test_what_is_off_or_locked(by_groups: bool) -> None:
    """A disabled constraint has no effect; locked joints do not move."""
    assert sum(check_off_and_locked(seed, by_groups) for seed in range(9)) >= 3


def test_near_and_far_from_the_rotation_that_a_weld_wants() -> None:
    """Stabilization uses rotation vectors, whose rates have a series near zero."""
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.2, 0.4)))
    tree.add_constraint(mbt.WeldConstraint("weld", tree.world_body, body))
    tree.finalize()
    context = tree.create_default_context()
    rng = np.random.default_rng(0)
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    for angle in (0.0, 1e-9, 1e-3, 0.0199, 0.0201, 1.0, 3.0):
        context.q = tree.integrate_positions(
            tree.default_positions, np.concatenate([angle * axis, [0.1, 0.2, 0.3]]), 1.0
        )
        context.v = rng.normal(size=6)
        tau = rng.normal(size=6)
        found = tree.calc_constrained_forward_dynamics_derivatives(context, tau, stabilize=True)
        for part, desired in zip(
            found, derivatives_by_duals(tree, context, tau, stabilize=True), strict=True
        ):
            assert_near(part, desired, 1e-9)


def test_constraints_that_say_the_same_twice() -> None:
    """Derivatives of accelerations and of constraint forces are unique; those of multipliers are not."""
    tree = four_bar()
    work = tree.edit()
    ends = (work.get_frame_by_name(name) for name in ("post", "tip"))
    work.add_constraint(mbt.BallConstraint("again", *ends))
    work.finalize()
    drive = tree.get_joint_by_name("crank_pin")
    states = []
    for copy in (tree, work):
        context = copy.create_default_context()
        context.q, context.v = [-0.9, 0.7, 1.1], [2.0, 0.0, 0.0]
        copy.assemble(context, fixed=[copy.get_joint_by_name(drive.name)])
        states.append(context)
    once, twice = states
    tau = np.array([0.3, -0.2, 0.1])
    report = work.calc_constraint_report(twice)
    assert (report.num_equations, report.rank) == (6, 2)
    found = tree.calc_constrained_forward_dynamics_derivatives(once, tau)
    again = work.calc_constrained_forward_dynamics_derivatives(twice, tau)
    J, J_twice = equations_of(tree, once).J, equations_of(work, twice).J
    for i, desired in enumerate(differences(tree, once, tau)):
        assert_near(found[i], desired, 1e-7)
        assert_near(again[i], found[i], 1e-8)
    # J does not depend on v or tau.
    for i in (4, 5):
        assert_near(J_twice.T @ again[i], J.T @ found[i], 1e-8)
    # The constraint on accelerations stays satisfied: J dvdot + d(J vdot + Jdot v) = 0.
    assert_near(J @ found[1], -jacobian_of(lambda v: bias_at(tree, once, v), once.v), 1e-7)
    assert_near(J @ found[2], np.zeros((3, 3)), 1e-9)


def bias_at(tree: mbt.MultibodyTree, context: Any, v: np.ndarray) -> np.ndarray:
    moved = context.clone()
    moved.v = v
    return tree.calc_constraint_bias(moved)


def jacobian_of(function: Any, x: np.ndarray) -> np.ndarray:
    steps = STEP * np.eye(len(x))
    return np.stack([(function(x + h) - function(x - h)) / (2.0 * STEP) for h in steps], axis=1)


@BOTH_WAYS
def test_parameters_of_samples_and_other_scalars(by_groups: bool) -> None:
    tree = as_wanted(tree_with_loops(3, num_bodies=4, num_constraints=2), by_groups)
    rng = np.random.default_rng(4)
    contexts = [random_state(tree, np.random.default_rng(i)) for i in range(9)]
    tau = rng.normal(size=(9, tree.num_velocities))
    samples = tree.create_default_context(9)
    samples.q, samples.v = (np.array([getattr(c, name) for c in contexts]) for name in ("q", "v"))
    numbers = np.stack([rng.uniform(1.0, 9.0, 9), np.full(9, 0.8)], axis=1)
    for constraint in tree.constraints:
        constraint.set_stabilization(samples, numbers)
    found = tree.calc_constrained_forward_dynamics_derivatives(samples, tau, stabilize=True)
    for i, context in enumerate(contexts):
        for constraint in tree.constraints:
            constraint.set_stabilization(context, numbers[i])
        own = tree.calc_constrained_forward_dynamics_derivatives(context, tau[i], stabilize=True)
        for part, desired in zip(found, own, strict=True):
            assert_near(part[i], desired)
    own = tree.calc_constrained_forward_dynamics_derivatives(contexts[0], tau[0])
    for scalar in ("autodiff", "mpmath"):
        twin = tree.clone_to_scalar(scalar)
        other = twin.create_default_context()
        other.q, other.v = contexts[0].q, contexts[0].v
        for part, desired in zip(
            twin.calc_constrained_forward_dynamics_derivatives(other, tau[0]), own, strict=True
        ):
            assert_near(values_of(part), desired, 1e-9)
        both = functional.constrained_forward_dynamics_derivatives(
            twin, contexts[0].q, [contexts[0].v], tau[0]
        )
        for part, desired in zip(both, own, strict=True):
            assert_near(values_of(part), desired[None], 1e-9 if scalar == "autodiff" else 1e-8)
            assert part.shape == (1, *desired.shape)


@BOTH_WAYS
def test_functions_of_one_state_and_of_many(by_groups: bool) -> None:
    tree = as_wanted(tree_with_loops(3, num_bodies=4, num_constraints=2), by_groups)
    contexts = [random_state(tree, np.random.default_rng(i)) for i in range(3)]
    q, v = (np.array([getattr(c, name) for c in contexts]) for name in ("q", "v"))
    tau = np.random.default_rng(1).normal(size=tree.num_velocities)
    forces = mbt.MultibodyForces(tree)
    forces.body_forces[1:] = np.random.default_rng(3).normal(size=(tree.num_bodies - 1, 6))
    forces.generalized_forces[:] = 0.3
    for options in ({}, {"stabilize": True}, {"external_forces": forces}):
        all_of_them = functional.constrained_forward_dynamics_derivatives(tree, q, v, tau, **options)
        for i, context in enumerate(contexts):
            own = tree.calc_constrained_forward_dynamics_derivatives(context, tau, **options)
            single = functional.constrained_forward_dynamics_derivatives(tree, q[i], v[i], tau, **options)
            for part, desired, alone in zip(all_of_them, own, single, strict=True):
                assert_near(part[i], desired)
                assert_near(alone, desired, 1e-13)


@pytest.mark.parametrize("name", ["world_only", "arm7"])
def test_trees_without_constraints(name: str) -> None:
    """Also of World alone, and for batches: the derivatives of forward dynamics, and none of multipliers."""
    tree = build_tree(CATALOGUE[name]())
    contexts = [random_state(tree, np.random.default_rng(i)) for i in range(3)]
    q, v = (np.array([getattr(c, part) for c in contexts]) for part in ("q", "v"))
    tau = np.random.default_rng(1).normal(size=tree.num_velocities)
    for of in ((q, v), (q[0], v[0])):
        found = functional.constrained_forward_dynamics_derivatives(tree, *of, tau)
        for part, desired in zip(
            found[:3], functional.forward_dynamics_derivatives(tree, *of, tau), strict=True
        ):
            assert_near(part, desired, 1e-12)
        assert all(part.size == 0 for part in found[3:])


def test_where_a_distance_has_no_direction() -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
    tree.add_constraint(mbt.DistanceConstraint("rod", tree.world_body, [0, 0, 0], body, [0, 0, 0], 1.0))
    tree.finalize()
    context = tree.create_default_context()
    with pytest.raises(mbt.SingularityError, match="rod"):
        tree.calc_constrained_forward_dynamics_derivatives(context)
    with pytest.raises(mbt.SingularityError, match="rod"):
        functional.constrained_forward_dynamics_derivatives(tree, context.q, context.v, np.zeros(6))
    q = np.stack([context.q, context.q + np.eye(7)[6]])
    found = functional.constrained_forward_dynamics_derivatives(tree, q, context.v, np.zeros(6))
    assert np.isnan(found[0][0]).all()
    assert all(np.isfinite(part[1]).all() for part in found)


@pytest.mark.parametrize("seed", [3, 9, 29])
def test_of_a_context(seed: int) -> None:
    tree = tree_with_loops(seed, num_bodies=4, num_constraints=2)
    context = random_state(tree, np.random.default_rng(seed))
    tau = np.random.default_rng(seed).normal(size=tree.num_velocities)
    assert conditioning(tree, context) > 1e-2
    found = tree.calc_forward_dynamics_derivatives(context, tau)
    for part, desired in zip(found, differences(tree, context, tau), strict=True):
        np.testing.assert_allclose(part, desired, atol=2e-6 * (1.0 + np.abs(desired).max()))


def test_of_functions_and_batches() -> None:
    tree = tree_with_loops(3, num_bodies=4, num_constraints=2)
    contexts = [random_state(tree, np.random.default_rng(i)) for i in range(3)]
    q, v = (np.array([getattr(c, name) for c in contexts]) for name in ("q", "v"))
    tau = np.random.default_rng(1).normal(size=tree.num_velocities)
    found = functional.forward_dynamics_derivatives(tree, q, v, tau)
    samples = tree.create_default_context(3)
    samples.q, samples.v = q, v
    of_samples = tree.calc_forward_dynamics_derivatives(samples, tau)
    for i, context in enumerate(contexts):
        own = tree.calc_forward_dynamics_derivatives(context, tau)
        single = functional.forward_dynamics_derivatives(tree, q[i], v[i], tau)
        for a, b, c, d in zip(found, of_samples, own, single, strict=True):
            np.testing.assert_array_equal(a[i], b[i])
            np.testing.assert_array_equal(d, c)
            assert_near(a[i], c)


def test_with_external_forces_and_actuation() -> None:
    tree = tree_with_loops(3, num_bodies=4, num_constraints=2).edit()
    tree.add_joint_actuator("motor", next(joint for joint in tree.joints if joint.num_velocities == 1))
    tree.finalize()
    context = random_state(tree, np.random.default_rng(3))
    context.actuation = [2.0]
    forces = mbt.MultibodyForces(tree)
    forces.body_forces[1:] = np.random.default_rng(3).normal(size=(tree.num_bodies - 1, 6))
    found = tree.calc_forward_dynamics_derivatives(context, None, forces)
    context.applied_forces.add_in_forces(forces)
    desired = differences(tree, context, np.zeros(tree.num_velocities))
    for part, wanted in zip(found, desired, strict=True):
        np.testing.assert_allclose(part, wanted, atol=2e-6 * (1.0 + np.abs(wanted).max()))


def test_external_forces_of_batches() -> None:
    """One for all samples, or one for each; a misfit raises an error with the name of the argument."""
    tree = tree_with_loops(3, num_bodies=4, num_constraints=2)
    samples = tree.create_default_context(2)
    samples.q, samples.v = (
        [getattr(random_state(tree, np.random.default_rng(i)), name) for i in range(2)] for name in ("q", "v")
    )
    one, each = mbt.MultibodyForces(tree), mbt.MultibodyForces(tree, 2)
    one.generalized_forces = np.linspace(-1, 1, tree.num_velocities)
    each.generalized_forces = [one.generalized_forces] * 2
    found, desired = (tree.calc_forward_dynamics_derivatives(samples, None, f) for f in (one, each))
    for part, wanted in zip(found, desired, strict=True):
        np.testing.assert_array_equal(part, wanted)
    other = tree_with_loops(4, num_bodies=4, num_constraints=2)
    for context in (samples, tree.create_default_context()):
        for wrong in (mbt.MultibodyForces(tree, 3), mbt.MultibodyForces(other), 3):
            with pytest.raises(mbt.MbtError, match=r"^external_forces: expected"):
                tree.calc_forward_dynamics_derivatives(context, None, wrong)


def test_through_numbers_with_derivatives() -> None:
    """The accelerations of a clone carry the same derivatives."""
    tree = tree_with_loops(3, num_bodies=4, num_constraints=2)
    context = random_state(tree, np.random.default_rng(3))
    by_v = tree.calc_forward_dynamics_derivatives(context)[1]
    twin = tree.to_autodiff()
    moving = twin.create_default_context()
    moving.q, moving.v = context.q, mbt.autodiff.initialize(context.v)
    np.testing.assert_allclose(
        twin.calc_forward_dynamics(moving).derivatives, by_v, atol=1e-12 * abs(by_v).max()
    )
