"""Trees of unusual shape: nothing but World, no degree of freedom, very deep, very wide."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import mbt
from mbt import functional
from support.calls import CALLS
from support.joint_types import JOINT_TYPES, add_joint_of_type, add_random_body, random_state

NUM_BODIES = 2000


def _everything_answers(tree: mbt.MultibodyTree) -> None:
    """Every call of the table, on the tree."""
    context = tree.create_default_context()
    for name, call in CALLS.items():
        try:
            result = call.run(tree, context, *call.values(tree))
        except mbt.SingularityError as error:
            # Only a tree without mass has no mass centre.
            assert tree.num_bodies == 1
            assert "mass" in str(error), name  # noqa: PT017
            continue
        if result is not None:
            assert np.isfinite(np.asarray(result, dtype=float)).all(), name


def test_nothing_but_world() -> None:
    tree = mbt.MultibodyTree()
    tree.finalize()
    _everything_answers(tree)
    assert tree.calc_mass_matrix(tree.create_default_context()).shape == (0, 0)


@pytest.mark.parametrize("batch", [(), (2,), (3, 0)])
def test_shapes_that_touch_where_nothing_moves(batch: tuple[int, ...]) -> None:
    tree = mbt.MultibodyTree()
    tree.finalize()
    contacts = mbt.ShapeContact(mbt.CollisionModel(tree, obstacles=[mbt.Shape("plane", name="floor")]))
    context = tree.create_default_context(batch) if batch else tree.create_default_context()
    motion = mbt.simulate(tree, context, 0.02, 5e-3, method="implicit", contacts=contacts)
    assert motion.power.shape == (*batch, 5)
    if not batch:
        assert len(motion.contacts[-1].names) == 0


def test_gravity_without_bodies() -> None:
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    context = tree.create_default_context()
    assert tree.calc_potential_energy(context) == 0.0
    assert tree.calc_conservative_power(context) == 0.0


def test_no_degree_of_freedom() -> None:
    """Welded bodies with a spring between them: forces and energy, and nothing that moves."""
    rng = np.random.default_rng(0)
    tree = mbt.MultibodyTree()
    bodies = [tree.world_body] + [add_random_body(tree, rng, f"body{i}") for i in range(3)]
    for i in range(3):
        add_joint_of_type(tree, "weld", f"weld{i}", bodies[i], bodies[i + 1], rng, is_reversed=i == 1)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.add_force_element(mbt.LinearSpringDamper(bodies[1], [0, 0, 0], bodies[3], [1, 2, 3], 0.5, 10.0, 1.0))
    tree.finalize()
    _everything_answers(tree)
    context = tree.create_default_context()
    assert tree.calc_forward_dynamics(context).shape == (0,)
    assert tree.calc_kinetic_energy(context) == 0.0
    assert tree.calc_non_conservative_power(context) == 0.0
    # The reactions at World carry the weight.
    weight = 9.81 * tree.calc_total_mass(context)
    reaction = tree.calc_reaction_forces(context)[0]
    assert np.linalg.norm(reaction[3:]) == pytest.approx(weight)


@cache
def _mixed(shape: str) -> mbt.MultibodyTree:
    rng = np.random.default_rng(1)
    tree = mbt.MultibodyTree()
    bodies = [tree.world_body]
    kinds = list(JOINT_TYPES)
    for i in range(NUM_BODIES):
        bodies.append(add_random_body(tree, rng, f"body{i}"))
        parent = bodies[i] if shape == "deep" else bodies[min(i, 1)]
        kind = kinds[i % len(kinds)]
        # Both directions of each type.
        is_reversed = i // len(kinds) % 2 == 1
        add_joint_of_type(tree, kind, f"joint{i}", parent, bodies[-1], rng, is_reversed=is_reversed)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


@pytest.mark.parametrize("shape", ["deep", "wide"])
def test_two_thousand_bodies(shape: str) -> None:
    """Power of forces by velocities and by generalized forces; poses against a plain product."""
    tree = _mixed(shape)
    rng = np.random.default_rng(2)
    context = random_state(tree, rng)
    forces = mbt.MultibodyForces(tree)
    forces.body_forces[1:] = rng.normal(size=(NUM_BODIES, 6))
    still = np.zeros(tree.num_velocities)
    JtF = tree.calc_inverse_dynamics(context, still) - tree.calc_inverse_dynamics(context, still, forces)
    V_WB = tree.eval_velocity_kinematics(context).V_WB
    scale = np.abs(forces.body_forces * V_WB).sum()
    assert abs(JtF @ context.v - np.sum(forces.body_forces * V_WB)) <= 1e-11 * scale

    X_WB = [np.eye(4)] * tree.num_bodies
    for mobilizer in sorted(tree.mobilizers, key=lambda m: m.outboard_body.node_index):
        F, M = mobilizer.inboard_frame, mobilizer.outboard_frame
        X_FM = mobilizer.calc_across_mobilizer_transform(context)
        X_WF = X_WB[F.body.node_index] @ F.get_fixed_pose_in_body_frame()
        X_WB[M.body.node_index] = X_WF @ X_FM @ np.linalg.inv(M.get_fixed_pose_in_body_frame())
    actual = tree.eval_position_kinematics(context).X_WB
    np.testing.assert_allclose(actual, X_WB, atol=1e-9 * np.abs(X_WB).max())


@pytest.mark.parametrize("shape", ["deep", "wide"])
def test_dynamics_of_two_thousand_bodies(shape: str) -> None:
    """Inverse dynamics of the result of forward dynamics, in one call, also on a small stack of a thread."""
    tree = _mixed(shape)
    rng = np.random.default_rng(3)
    context = random_state(tree, rng)
    context.v = 1e-3 * context.v
    tau = tree.calc_inverse_dynamics(context, np.zeros(tree.num_velocities), include_force_elements=True)
    vdot = functional.forward_dynamics(tree, context.q, context.v, tau)
    # Under these forces nothing accelerates, except for rounding of forces of some 2000 bodies.
    scale = np.abs(tau).max()
    residual = functional.inverse_dynamics(tree, context.q, context.v, vdot) - tau
    assert np.abs(residual).max() <= 1e-8 * scale
