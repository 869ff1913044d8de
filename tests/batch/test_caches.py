"""Caches of a batch belong to one Context, and live as long as somebody holds them, and no longer."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import mbt
from batch.batches import make_batch, tree_without_users

SHAPE = (2, 3)


def make_two() -> tuple[mbt.MultibodyTree, Any, Any]:
    tree = tree_without_users()
    one, other = make_batch(tree, SHAPE), make_batch(tree, SHAPE)
    # Each sample takes a step of a different length.
    other.q = tree.integrate_positions(one.q, one.v, np.linspace(0.1, 0.6, 6).reshape(SHAPE))
    return tree, one, other


def test_what_a_context_keeps_is_not_what_another_one_fills() -> None:
    tree, a, b = make_two()
    X_WB, V_WB = (
        np.array(x) for x in (tree.eval_position_kinematics(a).X_WB, tree.eval_velocity_kinematics(a).V_WB)
    )
    tree.calc_position_kinematics_cache(b, tree.eval_position_kinematics(a))
    tree.calc_velocity_kinematics_cache(b, None, tree.eval_velocity_kinematics(a))
    np.testing.assert_array_equal(tree.eval_position_kinematics(a).X_WB, X_WB)
    np.testing.assert_array_equal(tree.eval_velocity_kinematics(a).V_WB, V_WB)
    ac, vdot = tree.eval_acceleration_kinematics(a), np.zeros(tree.num_velocities)
    with pytest.raises(mbt.ContextMismatchError, match="a Context keeps"):
        tree.calc_acceleration_kinematics_cache(b, vdot, ac=ac)


def test_caches_of_one_state_and_of_many_are_apart() -> None:
    tree, batch, _ = make_two()
    single = tree.create_default_context()
    for one, other in ((single, batch), (batch, single)):
        pc, vc = tree.eval_position_kinematics(other), tree.eval_velocity_kinematics(other)
        with pytest.raises(mbt.ContextMismatchError, match="another kind of Context"):
            tree.calc_position_kinematics_cache(one, pc)
        with pytest.raises(mbt.ContextMismatchError, match="another kind of Context"):
            tree.calc_velocity_kinematics_cache(one, None, vc)


def test_a_context_goes_when_nobody_holds_it() -> None:
    """Without the garbage collector, which does not know how large arrays are."""
    tree, context, _ = make_two()
    for body in tree.bodies:
        body.eval_pose_in_world(context)
        body.eval_spatial_velocity_in_world(context)
        body.eval_spatial_acceleration_in_world(context)
    tree.eval_frame_body_poses(context)
    pc = tree.eval_position_kinematics(context)
    known = weakref.ref(context)
    gc.disable()
    try:
        del context
        assert known() is None
    finally:
        gc.enable()
    # What the cache has not computed yet needs no Context.
    assert pc.X_FM.shape == (*SHAPE, tree.num_bodies, 4, 4)


def test_positions_stay_where_they_are_while_nobody_holds_them() -> None:
    tree, context, other = make_two()

    def address() -> int:
        return int(context.q.__array_interface__["data"][0])

    first = address()
    context.q = other.q
    assert address() == first
    tree.bodies[-1].eval_pose_in_world(context)
    context.q = 2.0 * other.q
    assert address() == first
    held = context.q[1:]
    context.q = other.q
    assert address() != first
    np.testing.assert_array_equal(held, 2.0 * other.q[1:])
    context.q = context.q[::-1]
    np.testing.assert_array_equal(context.q, other.q[::-1])
