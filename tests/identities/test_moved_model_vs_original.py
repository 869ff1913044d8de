"""The position and orientation of a model change nothing, as long as gravity turns with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.build import build_tree, layout_of
from support.case import MOVING, get_case
from support.description import WORLD, Joint, Model, with_free_joints
from support.quantities import QUANTITIES, assert_close
from support.random_trees import random_pose
from support.reference import Reference
from support.subject import Subject


def _moved(model: Model, X: np.ndarray) -> Model:
    """Every frame that a joint has on World, and gravity, moved by X; free bodies get an explicit joint."""

    def move(joint: Joint) -> Joint:
        if joint.parent == WORLD:
            return replace(joint, X_PF=X if joint.X_PF is None else X @ joint.X_PF)
        if joint.child == WORLD:
            return replace(joint, X_BM=X if joint.X_BM is None else X @ joint.X_BM)
        return joint

    model = with_free_joints(model)
    gravity = None if model.gravity is None else X[:3, :3] @ model.gravity
    return replace(model, joints=tuple(move(joint) for joint in model.joints), gravity=gravity)


@pytest.mark.parametrize("model", MOVING)
def test_frame_invariance(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    X = random_pose(np.random.default_rng(5))
    tree = build_tree(_moved(case.model, X))
    assert layout_of(tree) == layout_of(case.tree)
    here, there = case.subject(), Subject(tree)

    # Forces in World turn with the model.
    F = np.einsum("ij,bkj->bki", X[:3, :3], state.body_forces.reshape(-1, 2, 3)).reshape(-1, 6)
    # The size of the terms is that of the model farther from the origin.
    reference = Reference(_moved(case.model, X), layout_of(tree))
    moved_state = replace(state, body_forces=F)

    def scale(name: str) -> float:
        return QUANTITIES[name].scale(reference, moved_state)

    q, v = state.q, state.v
    assert_close(there.poses(q)[1:], X @ here.poses(q)[1:], scale("poses"), "poses")
    assert_close(there.mass_matrix(q), here.mass_matrix(q), scale("mass_matrix"), "M")
    assert_close(
        there.inverse_dynamics(q, v, state.vdot, F),
        here.inverse_dynamics(q, v, state.vdot, state.body_forces),
        scale("inverse_dynamics_with_forces"),
        "tau",
    )
    assert_close(there.gravity_forces(q), here.gravity_forces(q), scale("gravity_forces"), "tau_g")
    assert_close(
        there.forward_dynamics(q, v, state.tau, F),
        here.forward_dynamics(q, v, state.tau, state.body_forces),
        scale("forward_dynamics"),
        "vdot",
    )
    assert_close(there.kinetic_energy(q, v), here.kinetic_energy(q, v), scale("kinetic_energy"), "KE")
