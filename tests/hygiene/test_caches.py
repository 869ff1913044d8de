"""Caches and the arrays they hand out: current, read-only, and never changed behind the user's back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from support.build import build_tree
from support.case import get_case

MODEL = "mixed8"

ARRAYS: dict[str, Callable[[mbt.MultibodyTree, mbt.Context], np.ndarray]] = {
    "context.q": lambda tree, context: context.q,
    "context.v": lambda tree, context: context.v,
    "X_WB": lambda tree, context: tree.eval_position_kinematics(context).X_WB,
    "H_PB_W": lambda tree, context: tree.eval_position_kinematics(context).H_PB_W,
    "com_W": lambda tree, context: tree.eval_position_kinematics(context).com_W,
    "pose of a body": lambda tree, context: tree.eval_body_pose_in_world(context, tree.bodies[-1]),
    "velocity of a body": lambda tree, context: tree.eval_body_spatial_velocity_in_world(
        context, tree.bodies[-1]
    ),
    "V_WB": lambda tree, context: tree.eval_velocity_kinematics(context).V_WB,
}


def _case() -> tuple[mbt.MultibodyTree, mbt.Context]:
    case = get_case(MODEL)
    return case.tree, case.context(case.state())


def _new_state(context: mbt.Context) -> None:
    state = get_case(MODEL).state(1)
    context.q = state.q
    context.v = state.v


def _move_wrist(tree: mbt.MultibodyTree, context: mbt.Context) -> None:
    wrist = tree.get_frame_by_name("wrist")
    assert isinstance(wrist, mbt.FixedOffsetFrame)
    wrist.set_pose_in_parent_frame(context, np.eye(4))


@pytest.mark.parametrize("name", ARRAYS)
def test_read_only(name: str) -> None:
    tree, context = _case()
    array = ARRAYS[name](tree, context)
    assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1.0


@pytest.mark.parametrize("name", ARRAYS)
def test_never_changes_afterwards(name: str) -> None:
    tree, context = _case()
    array = ARRAYS[name](tree, context)
    kept = array.copy()
    for _ in range(3):
        _new_state(context)
        new = ARRAYS[name](tree, context)
        assert not np.array_equal(new, kept)
        np.testing.assert_array_equal(array, kept)
    # A view keeps the array alive just as well.
    view = ARRAYS[name](tree, context)[1:]
    kept = view.copy()
    context.q = get_case(MODEL).state(2).q
    context.v = get_case(MODEL).state(2).v
    ARRAYS[name](tree, context)
    np.testing.assert_array_equal(view, kept)


@pytest.mark.parametrize("name", ARRAYS)
def test_outlives_everything(name: str) -> None:
    model = get_case(MODEL).model
    tree = build_tree(model)
    context = tree.create_default_context()
    array = ARRAYS[name](tree, context)
    kept = array.copy()
    del tree, context
    [np.full(1000, np.nan) for _ in range(100)]
    np.testing.assert_array_equal(array, kept)


def test_input_is_copied() -> None:
    _, context = _case()
    q = get_case(MODEL).state(1).q
    context.q = q
    kept = q.copy()
    q[:] = np.nan
    np.testing.assert_array_equal(context.q, kept)
    # Assigning a Context's own array, whole or reversed, is safe too.
    context.v = context.v
    v = context.v.copy()
    context.v = context.v[::-1]
    np.testing.assert_array_equal(context.v, v[::-1])


def test_recomputed_only_when_needed() -> None:
    tree, context = _case()
    X_WB = tree.eval_position_kinematics(context).X_WB
    kept = X_WB.copy()
    context.v = get_case(MODEL).state(1).v
    np.testing.assert_array_equal(tree.eval_position_kinematics(context).X_WB, kept)
    context.q = get_case(MODEL).state(1).q
    assert not np.array_equal(tree.eval_position_kinematics(context).X_WB, kept)


@pytest.mark.parametrize("reader", ["calc_bias_term", "calc_mass_matrix", "calc_potential_energy"])
def test_results_follow_the_state(reader: str) -> None:
    """No result is kept across a change of q: a fresh Context in the same state gives the same."""
    tree, context = _case()
    getattr(tree, reader)(context)
    _new_state(context)
    fresh = get_case(MODEL).context(get_case(MODEL).state(1))
    np.testing.assert_array_equal(getattr(tree, reader)(context), getattr(tree, reader)(fresh))


def test_explicit_caches() -> None:
    tree, context = _case()
    vdot = np.ones(tree.num_velocities)
    desired = tree.calc_inverse_dynamics(context, vdot)
    pc = tree.calc_position_kinematics_cache(context)
    vc = tree.calc_velocity_kinematics_cache(context, pc=pc)
    np.testing.assert_array_equal(tree.calc_inverse_dynamics(context, vdot, pc=pc, vc=vc), desired)
    np.testing.assert_array_equal(
        tree.calc_spatial_accelerations_from_vdot(context, vdot, pc=pc, vc=vc),
        tree.calc_spatial_accelerations_from_vdot(context, vdot),
    )


def test_stale_positions() -> None:
    tree, context = _case()
    pc, vc = tree.eval_position_kinematics(context), tree.eval_velocity_kinematics(context)
    vdot = np.ones(tree.num_velocities)
    context.q = get_case(MODEL).state(1).q
    with pytest.raises(mbt.StaleCacheError, match="pc"):
        tree.calc_inverse_dynamics(context, vdot, pc=pc)
    with pytest.raises(mbt.StaleCacheError):
        tree.calc_inverse_dynamics(context, vdot, pc=pc, vc=vc)
    with pytest.raises(mbt.StaleCacheError, match="vc"):
        tree.calc_inverse_dynamics(context, vdot, vc=vc)


def test_stale_velocities() -> None:
    tree, context = _case()
    pc, vc = tree.eval_position_kinematics(context), tree.eval_velocity_kinematics(context)
    vdot = np.ones(tree.num_velocities)
    context.v = get_case(MODEL).state(1).v
    with pytest.raises(mbt.StaleCacheError, match="vc"):
        tree.calc_inverse_dynamics(context, vdot, vc=vc)
    # Positions are unchanged.
    tree.calc_inverse_dynamics(context, vdot, pc=pc)


def test_stale_after_a_parameter() -> None:
    tree, context = _case()
    pc = tree.eval_position_kinematics(context)
    _move_wrist(tree, context)
    with pytest.raises(mbt.StaleCacheError):
        tree.calc_inverse_dynamics(context, np.ones(tree.num_velocities), pc=pc)


def test_cache_of_another_context() -> None:
    """Two Contexts in the same state do not share caches."""
    case = get_case(MODEL)
    tree, context = _case()
    other = case.context(case.state(1))
    pc = tree.eval_position_kinematics(other)
    with pytest.raises((mbt.ContextMismatchError, mbt.StaleCacheError)):
        tree.calc_inverse_dynamics(context, np.ones(tree.num_velocities), pc=pc)
    twin = build_tree(case.model)
    pc = twin.eval_position_kinematics(twin.create_default_context())
    with pytest.raises((mbt.ContextMismatchError, mbt.StaleCacheError)):
        tree.calc_inverse_dynamics(context, np.ones(tree.num_velocities), pc=pc)


@pytest.mark.parametrize("thing", [0, "pc", np.zeros(3)])
def test_no_cache(thing: Any) -> None:
    tree, context = _case()
    with pytest.raises(TypeError, match="pc"):
        tree.calc_inverse_dynamics(context, np.ones(tree.num_velocities), pc=thing)


def test_clone_is_independent() -> None:
    tree, context = _case()
    context.time = 2.0
    context.actuation = np.ones(tree.num_actuators)
    _move_wrist(tree, context)
    clone = context.clone()
    assert clone.tree is tree
    assert clone.time == 2.0
    np.testing.assert_array_equal(clone.q, context.q)
    np.testing.assert_array_equal(clone.actuation, context.actuation)
    desired = tree.calc_forward_dynamics(context)
    np.testing.assert_array_equal(tree.calc_forward_dynamics(clone), desired)
    _new_state(clone)
    clone.actuation = np.zeros(tree.num_actuators)
    clone.time = 5.0
    np.testing.assert_array_equal(tree.calc_forward_dynamics(context), desired)
    assert context.time == 2.0
