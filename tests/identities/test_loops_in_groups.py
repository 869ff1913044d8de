"""Forward dynamics where groups of constraints, possibly nested, are eliminated one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.constraints import constrained_accelerations, equations_of

CRANK, COUPLER = 0.3, 0.5


def ladder(
    count: int, *, in_series: bool = True, slack: bool = False
) -> tuple[mbt.MultibodyTree, np.ndarray]:
    """Return parallelograms, each on the coupler of the one before or all on World, and closed positions.

    A ball closes each: of its three equations one follows from the others. With `slack` every other one has a
    rod in its place.
    """
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    base: Any = tree.world_body
    angles = []
    for i in range(count):
        links = []
        for name, inboard, offset, length in (
            ("crank", base, 0.0, CRANK),
            ("coupler", None, CRANK, COUPLER),
            ("rocker", base, COUPLER, CRANK),
        ):
            box = mbt.SpatialInertia.solid_box_with_mass(length, length, 0.02, 0.03)
            link = tree.add_body(mbt.RigidBody(f"{name}{i}", box.shift([-length / 2, 0, 0])))
            X_PF = mbt.math.make_pose([offset, 0, 0])
            parent = links[-1] if inboard is None else inboard
            tree.add_joint(mbt.RevoluteJoint, f"{name}_pin{i}", parent, X_PF, link, None, [0, 1, 0])
            links.append(link)
        ends = [
            tree.add_frame(mbt.FixedOffsetFrame(f"end{i}{k}", link, mbt.math.make_pose([length, 0, 0])))
            for k, (link, length) in enumerate(((links[1], COUPLER), (links[2], CRANK)))
        ]
        if slack and i % 2:
            rod = mbt.DistanceConstraint(f"rod{i}", ends[0], [0, 0, 0], ends[1], [0, 0.1, 0], 0.1)
            tree.add_constraint(rod)
        else:
            tree.add_constraint(mbt.BallConstraint(f"ball{i}", *ends))
        angle = -1.0 if i % 2 == 0 else -1.3
        angles.append({f"crank_pin{i}": angle, f"coupler_pin{i}": -angle, f"rocker_pin{i}": angle})
        base = links[1] if in_series else base
    tree.finalize()
    q = np.zeros(tree.num_positions)
    for closed in angles:
        for name, angle in closed.items():
            q[tree.get_joint_by_name(name).position_start] = angle
    return tree, q


def state_of(tree: mbt.MultibodyTree, q: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return velocities that satisfy the constraints, and arbitrary forces."""
    rng = np.random.default_rng(seed)
    v, tau = rng.normal(size=(2, tree.num_velocities))
    J = functional.constraint_jacobian(tree, q)
    return v - np.linalg.pinv(J, rcond=1e-9) @ (J @ v), tau


def assert_as_dense(
    tree: mbt.MultibodyTree, q: np.ndarray, v: np.ndarray, tau: np.ndarray, tolerance: float
) -> None:
    context = tree.create_default_context()
    context.q, context.v = q, v
    vdot, multipliers = tree.calc_constrained_forward_dynamics(context, tau)
    desired, forces = constrained_accelerations(tree, context, tau)
    size = np.abs(desired).max()
    np.testing.assert_allclose(vdot, desired, rtol=0, atol=tolerance * size)
    J = equations_of(tree, context).J
    np.testing.assert_allclose(J.T @ multipliers, forces, rtol=0, atol=tolerance * np.abs(forces).max())


@pytest.mark.parametrize("slack", [False, True])
@pytest.mark.parametrize("in_series", [False, True])
def test_against_dense_least_squares(in_series: bool, slack: bool) -> None:
    tree, q = ladder(5, in_series=in_series, slack=slack)
    assert_as_dense(tree, q, *state_of(tree, q), 1e-10)


def test_many_in_series_leave_nothing() -> None:
    tree, q = ladder(40)
    v, tau = state_of(tree, q)
    vdot = functional.forward_dynamics(tree, q, v, 10 * tau)
    J, bias = functional.constraint_jacobian(tree, q), functional.constraint_bias(tree, q, v)
    assert np.abs(J @ vdot + bias).max() < 1e-11
    # The residual of the equations of motion is J' lambda.
    left = functional.inverse_dynamics(tree, q, v, vdot) - 10 * tau
    force = J.T @ np.linalg.lstsq(J.T, left, rcond=1e-10)[0]
    assert np.abs(left - force).max() < 1e-9 * np.abs(left).max()


def with_groups_within_groups(count: int) -> tuple[mbt.MultibodyTree, np.ndarray]:
    """A loop around the root of others, loops that overlap, and dofs that are coupled across them."""
    tree, q = ladder(count)
    tree = tree.edit()
    first, last = tree.get_body_by_name("crank1"), tree.get_body_by_name("coupler3")
    tree.add_constraint(mbt.DistanceConstraint("around", first, [0.1, 0.2, 0], last, [0, 0.3, 0.1], 1.0))
    hinges = [tree.get_joint_by_name(name) for name in ("rocker_pin2", "crank_pin3")]
    tree.add_constraint(mbt.CouplerConstraint("gear", *hinges, 1.5, 0.0))
    tree.finalize()
    return tree, q


def test_groups_within_groups_of_every_kind() -> None:
    tree, q = with_groups_within_groups(4)
    assert_as_dense(tree, q, *state_of(tree, q), 1e-9)


def test_constraints_that_are_off_and_locked_joints() -> None:
    tree, q = ladder(4)
    context = tree.create_default_context()
    context.q = q
    tree.constraints[2].set_enabled_in(context, False)
    tree.get_joint_by_name("crank_pin1").lock(context)
    tau = np.random.default_rng(1).normal(size=tree.num_velocities)
    vdot, multipliers = tree.calc_constrained_forward_dynamics(context, tau)
    desired = constrained_accelerations(tree, context, tau)[0]
    np.testing.assert_allclose(vdot, desired, rtol=0, atol=1e-10 * np.abs(desired).max())
    assert not multipliers[6:9].any()


def test_batches_impulses_and_derivatives_agree() -> None:
    tree, q = ladder(4)
    v, tau = state_of(tree, q)
    both = np.stack([tau, -tau])
    found = functional.forward_dynamics(tree, q, v, both)
    single = np.stack([functional.forward_dynamics(tree, q, v, each) for each in both])
    np.testing.assert_allclose(found, single, rtol=0, atol=1e-11 * np.abs(single).max())
    context = tree.create_default_context()
    context.q, context.v = q, v + np.random.default_rng(2).normal(size=len(v))
    after = tree.calc_impulse_dynamics(context)[0]
    J, M = functional.constraint_jacobian(tree, q), functional.mass_matrix(tree, q)
    assert np.abs(J @ after).max() < 1e-11
    momentum = M @ (after - context.v)
    force = J.T @ np.linalg.lstsq(J.T, momentum, rcond=1e-10)[0]
    np.testing.assert_allclose(momentum, force, rtol=0, atol=1e-10)
    by_tau = functional.constrained_forward_dynamics_derivatives(tree, q, v, tau)[2]
    before, behind = (functional.forward_dynamics(tree, q, v, each) for each in (tau, 2 * tau))
    step = behind - before
    np.testing.assert_allclose(by_tau @ both[0], step, rtol=0, atol=1e-9 * np.abs(step).max())


@pytest.mark.parametrize(
    ("make", "is_dense"),
    [
        (lambda: ladder(7), True),
        (lambda: ladder(8), False),
        (lambda: ladder(8, in_series=False), False),
        (lambda: ladder(12, slack=True), False),
        (lambda: with_groups_within_groups(4), True),
        (lambda: with_groups_within_groups(11), False),
    ],
    ids=["seven", "eight", "on_world", "slack", "few_within", "many_within"],
)
def test_derivatives_of_both_ways(
    make: Callable[[], tuple[mbt.MultibodyTree, np.ndarray]], is_dense: bool
) -> None:
    """Against differences of accelerations and multipliers; for a batch and for one state."""
    tree, q = make()
    assert tree._compiled.has_dense_derivatives == is_dense
    v, tau = state_of(tree, q)
    parts = functional.constrained_forward_dynamics_derivatives(tree, q, v, tau)
    of_many = functional.constrained_forward_dynamics_derivatives(tree, [q] * 9, v, tau)
    for part, many in zip(parts, of_many, strict=True):
        np.testing.assert_allclose(many, [part] * 9, rtol=0, atol=1e-12 * np.abs(part).max())
    context = tree.create_default_context()

    def dynamics(*at: np.ndarray) -> np.ndarray:
        context.q, context.v = at[:2]
        return np.concatenate(tree.calc_constrained_forward_dynamics(context, at[2]))

    state, h = [q, v, tau], 1e-6
    for k in range(3):
        by = np.concatenate([parts[k], parts[3 + k]])
        for direction in np.eye(len(v)):
            ends = [
                dynamics(*(x + s * h * direction if i == k else x for i, x in enumerate(state)))
                for s in (1, -1)
            ]
            difference = (ends[0] - ends[1]) / (2 * h)
            np.testing.assert_allclose(
                by @ direction, difference, rtol=0, atol=1e-6 * max(1.0, np.abs(by).max())
            )
