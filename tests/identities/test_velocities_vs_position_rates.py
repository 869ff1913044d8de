"""qdot = N v and v = Nplus qdot."""

from __future__ import annotations

import numpy as np
import pytest

from support.case import MOVING, get_case
from support.quantities import assert_close
from support.random_trees import CATALOGUE


@pytest.mark.parametrize("model", CATALOGUE)
@pytest.mark.parametrize("norm", [1.0, 0.3, 2.5])
def test_round_trip(model: str, norm: float) -> None:
    """Nplus N = 1, for quaternions of any norm."""
    case, state = get_case(model), get_case(model).state()
    q = state.q.copy()
    for start in case.reference.quaternion_starts():
        q[start : start + 4] *= norm
    context = case.context(state)
    context.q = q
    qdot = case.tree.map_velocity_to_qdot(context, state.v)
    v = case.tree.map_qdot_to_velocity(context, qdot)
    assert_close(v, state.v, float(np.abs(state.v).sum()))


@pytest.mark.parametrize("model", MOVING)
def test_quaternion_keeps_its_norm(model: str) -> None:
    """The rate of a quaternion is orthogonal to it."""
    case, state = get_case(model), get_case(model).state()
    qdot = case.tree.map_velocity_to_qdot(case.context(state), state.v)
    for start in case.reference.quaternion_starts():
        i = slice(start, start + 4)
        assert_close(state.q[i] @ qdot[i], 0.0, float(np.abs(qdot[i]).sum()))


@pytest.mark.parametrize("model", ["one_floating", "one_quaternion_ball_reversed", "free_forest"])
def test_growing_quaternion_is_no_velocity(model: str) -> None:
    """Nplus projects out the part of qdot along the quaternion."""
    case, state = get_case(model), get_case(model).state()
    qdot = np.zeros(case.tree.num_positions)
    for start in case.reference.quaternion_starts():
        qdot[start : start + 4] = 3.0 * state.q[start : start + 4]
    v = case.tree.map_qdot_to_velocity(case.context(state), qdot)
    assert case.reference.quaternion_starts()
    assert_close(v, np.zeros(case.tree.num_velocities), float(np.abs(qdot).sum()))


@pytest.mark.parametrize("model", MOVING)
def test_one_dof_joints_are_identical(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    qdot = case.tree.map_velocity_to_qdot(context, state.v)
    back = case.tree.map_qdot_to_velocity(context, qdot)
    for joint in case.reference.model.joints:
        if joint.kind in ("revolute", "prismatic"):
            qs, vs = case.reference.q_slice(joint), case.reference.v_slice(joint)
            np.testing.assert_array_equal(qdot[qs], state.v[vs])
            np.testing.assert_array_equal(back[vs], state.v[vs])
