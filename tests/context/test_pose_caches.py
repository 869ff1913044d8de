"""Poses are computed first, the rest of the position kinematics on demand: users see no difference."""

from __future__ import annotations

import numpy as np
import pytest

from support.case import get_case
from support.random_trees import CATALOGUE

NAMES = ("X_PB", "X_FM", "H_FM", "H_PB_W")


@pytest.mark.parametrize("model", CATALOGUE)
def test_what_is_asked_first_does_not_matter(model: str) -> None:
    case = get_case(model)
    tree, state = case.tree, case.state()
    for first in ("X_WB", *NAMES):
        one, other = (tree.eval_position_kinematics(case.context(state)) for _ in range(2))
        getattr(one, first)
        for name in ("X_WB", *NAMES):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


def test_a_cache_is_of_its_own_positions() -> None:
    """Also for entries computed after the Context's positions, and a parameter, have changed."""
    case = get_case("humanoid")
    tree, old, new = case.tree, case.state(0), case.state(1)
    wanted = tree.calc_position_kinematics_cache(case.context(old))
    context = case.context(old)
    pc = tree.eval_position_kinematics(context)
    context.q = new.q
    assert tree.eval_position_kinematics(context) is not pc
    for name in (*NAMES, "X_WB"):
        np.testing.assert_array_equal(getattr(pc, name), getattr(wanted, name))


def test_arrays_that_somebody_holds_never_change() -> None:
    case = get_case("arm7")
    tree, context = case.tree, case.context(case.state(0))
    held = tree.eval_position_kinematics(context).X_WB
    row = tree.eval_position_kinematics(context).X_WB[3]
    values, row_values = held.copy(), row.copy()
    del held
    held = tree.eval_position_kinematics(context).X_WB[2:]
    for k in range(1, 4):
        context.q = case.state(k).q
        assert not np.array_equal(tree.eval_position_kinematics(context).X_WB, values)
    np.testing.assert_array_equal(held, values[2:])
    np.testing.assert_array_equal(row, row_values)


def test_an_array_is_handed_out_again() -> None:
    case = get_case("arm7")
    pc = case.tree.eval_position_kinematics(case.context(case.state()))
    assert pc.X_WB is pc.X_WB
    with pytest.raises(ValueError, match="read-only"):
        pc.X_WB[0, 0, 0] = 2.0


def test_jacobians_do_not_depend_on_what_was_asked_before() -> None:
    """They are computed from the positions directly; by v and by qdot."""
    case = get_case("humanoid")
    tree, state = case.tree, case.state()
    W, p, frame = tree.world_frame, np.array([0.1, -0.2, 0.3]), tree.frames[-1]
    for by in ("v", "qdot"):
        for E in (W, frame, tree.frames[5]):
            context = case.context(state)
            results = [tree.calc_jacobian_spatial_velocity(context, by, frame, p, W, E) for _ in range(3)]
            tree.eval_velocity_kinematics(context)
            results.append(tree.calc_jacobian_spatial_velocity(context, by, frame, p, W, E))
            for J in results[1:]:
                np.testing.assert_array_equal(J, results[0])


def test_jacobians_after_a_parameter_has_changed() -> None:
    """The positions are the same, the axes of the offset frame are not."""
    case = get_case("arm7")
    tree, state = case.tree, case.state()
    W, zero = tree.world_frame, np.zeros(3)
    frame = [f for f in tree.frames if hasattr(f, "set_pose_in_parent_frame")][-1]
    changed, fresh = case.context(state), case.context(state)
    before = tree.calc_jacobian_spatial_velocity(changed, "v", frame, zero, W, W)
    X = np.eye(4)
    X[:3, 3] = [0.3, -0.7, 0.2]
    for context in (changed, fresh):
        frame.set_pose_in_parent_frame(context, X)
    after = tree.calc_jacobian_spatial_velocity(changed, "v", frame, zero, W, W)
    np.testing.assert_allclose(
        after, tree.calc_jacobian_spatial_velocity(fresh, "v", frame, zero, W, W), atol=1e-14
    )
    assert not np.allclose(before, after)
