"""Loops whose masses differ by up to fifteen decades and more: right, or refused, never wrong in silence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.math import make_pose

Array = np.ndarray


def rod_of(mass: float, length: float) -> mbt.SpatialInertia:
    return mbt.SpatialInertia.solid_box_with_mass(mass, length, 0.02, 0.03).shift([-length / 2, 0, 0])


def make_loop(masses: tuple[float, float, float]) -> tuple[mbt.MultibodyTree, Any]:
    """Return three rods in a plane, the last of which a ball holds where it is, in motion."""
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    inboard, X = tree.world_body, np.eye(4)
    for i, (mass, length) in enumerate(zip(masses, (0.3, 0.8, 0.5), strict=True)):
        body = tree.add_body(mbt.RigidBody(f"rod{i}", rod_of(mass, length)))
        tree.add_joint(mbt.RevoluteJoint, f"pin{i}", inboard, X, body, None, [0, 1, 0])
        inboard, X = body, make_pose([length, 0, 0])
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", inboard, X))
    post = tree.add_frame(mbt.FixedOffsetFrame("post", tree.world_body, make_pose([0.7, 0, 0])))
    tree.add_constraint(mbt.BallConstraint("closure", post, tip))
    tree.finalize()
    context = tree.create_default_context()
    context.q, context.v = [-0.9, 0.7, 1.1], [1.0, 2.0, 3.0]
    tree.assemble(context)
    return tree, context


def remainder_of(tree: mbt.MultibodyTree, context: Any, vdot: Array) -> float:
    """Return J vdot + Jdot v, as a share of what it is a difference of."""
    J, bias = tree.calc_constraint_jacobian(context), tree.calc_constraint_bias(context)
    size = np.abs(J) @ np.abs(vdot) + np.abs(bias)
    return float(np.abs(J @ vdot + bias).max() / size.max())


def hang_rods(masses: Array, rng: np.random.Generator) -> tuple[mbt.MultibodyTree, Any]:
    """Return rods on hinges, from World and from a floating base, with both ends held where they are."""
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    base = tree.add_body(mbt.RigidBody("base", rod_of(masses[0], 0.5)))
    tree.add_joint(mbt.QuaternionFloatingJoint, "float", tree.world_body, None, base, None)
    ends = []
    for start, count in ((1, 4), (5, 5)):
        inboard, X = (tree.world_body if start == 1 else base), make_pose([0.2, 0.1, 0.0])
        for i in range(start, start + count):
            length = rng.uniform(0.2, 1.0)
            body = tree.add_body(mbt.RigidBody(f"rod{i}", rod_of(masses[i], length)))
            axis = rng.normal(size=3)
            axis /= np.linalg.norm(axis)
            tree.add_joint(mbt.RevoluteJoint, f"hinge{i}", inboard, X, body, None, axis)
            inboard, X = body, make_pose([length, 0, 0])
        ends.append((inboard, X))
    tree.finalize()
    at = tree.create_default_context()
    dq = rng.uniform(-1.0, 1.0, tree.num_velocities)
    at.q = tree.integrate_positions(tree.default_positions, dq, 1.0)
    held = tree.edit()
    # Twice, so that rows are redundant.
    for i, (body, X) in enumerate([*ends, ends[0]]):
        X_WP = tree.eval_body_pose_in_world(at, body) @ X
        twin = held.get_body_by_name(body.name)
        place = held.add_frame(mbt.FixedOffsetFrame(f"place{i}", held.world_body, X_WP))
        tip = held.add_frame(mbt.FixedOffsetFrame(f"tip{i}", twin, X))
        kind = mbt.WeldConstraint if i == 1 else mbt.BallConstraint
        held.add_constraint(kind(f"held{i}", place, tip))
    held.finalize()
    context = held.create_default_context()
    context.q = at.q
    J = held.calc_constraint_jacobian(context)
    v = rng.normal(size=held.num_velocities)
    context.v = v - np.linalg.pinv(J, rcond=1e-9) @ (J @ v)
    return held, context


@pytest.mark.parametrize(
    "masses",
    [(1, 1, 1), (1, 1, 1e-9), (1e6, 1e-3, 1), (1, 2.9e3, 5e-13), (1e6, 1e7, 1e-12), (1e-9, 1e6, 1e-9)],
)
def test_a_loop_of_three_rods(masses: tuple[float, float, float]) -> None:
    tree, context = make_loop(masses)
    vdot = tree.calc_forward_dynamics(context)
    assert remainder_of(tree, context, vdot) < 1e-12


def test_nothing_is_wrong_without_a_word() -> None:
    """Of masses from 1e-9 to 1e6 kg: constraints hold, or the state is refused; the same in a batch."""
    num_refused = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        masses = 10.0 ** rng.uniform(-9.0, 6.0, 10)
        tree, context = hang_rods(masses, rng)
        tau = 10.0 * rng.normal(size=tree.num_velocities)
        q, v = np.tile(context.q, (2, 1)), np.tile(context.v, (2, 1))
        batch = functional.forward_dynamics(tree, q, v, tau)
        if not np.isnan(batch).any():
            assert remainder_of(tree, context, batch[0]) < 1e-9, seed
        try:
            vdot = tree.calc_forward_dynamics(context, tau)
        except mbt.SingularityError:
            num_refused += 1
        else:
            assert remainder_of(tree, context, vdot) < 1e-9, seed
    assert num_refused < 15


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_refused_that_doubles_tell_apart(seed: int) -> None:
    """Against dense least squares, M vdot - J' lambda = tau - C v and J vdot = -Jdot v."""
    rng = np.random.default_rng(seed)
    tree, context = hang_rods(10.0 ** rng.uniform(-1.0, 1.0, 10), rng)
    tau = rng.normal(size=tree.num_velocities)
    vdot = tree.calc_forward_dynamics(context, tau)
    M, J = tree.calc_mass_matrix(context), tree.calc_constraint_jacobian(context)
    zeros = np.zeros(tree.num_velocities)
    bias = tree.calc_inverse_dynamics(context, zeros, include_force_elements=True)
    m = len(J)
    system = np.block([[M, -J.T], [J, np.zeros((m, m))]])
    right = np.concatenate([tau - bias, -tree.calc_constraint_bias(context)])
    desired = np.linalg.lstsq(system, right, rcond=1e-11)[0][: tree.num_velocities]
    np.testing.assert_allclose(vdot, desired, atol=1e-7 * np.abs(desired).max())
