"""The quick check accepts only arrays that the full check accepts."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import mbt
from mbt._core.door.compiled_model import CompiledModel, join_numbers
from mbt.context.model_checks import check_model_arrays
from mbt.tree.finalization import make_arrays

INTEGERS = (
    "parent_node",
    "mobilizer_type",
    "mobilizer_reversed",
    "inboard_frame",
    "outboard_frame",
    "weightless",
    "q_start",
    "v_start",
    "frame_parent",
    "frame_node",
    "joint_frame",
    "joint_node",
    "actuator_dof",
)
FLOATS = ("gravity", "mass", "p_BoBcm_B", "G_BBo_B", "J_BBo_B", "frame_X_PF", "damping", "default_q")


def make_model_arrays() -> dict[str, Any]:
    tree = mbt.MultibodyTree()
    M_BBo_B = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    bodies = [tree.world_body, *(tree.add_body(mbt.RigidBody(f"b{i}", M_BBo_B)) for i in range(6))]
    tree.add_joint(mbt.RevoluteJoint, "hinge", bodies[0], None, bodies[1], None, axis=[0, 0, 1])
    tree.add_joint(mbt.PrismaticJoint, "slide", bodies[2], None, bodies[1], None, axis=[1, 2, 2])
    tree.add_joint(mbt.WeldJoint, "weld", bodies[2], mbt.math.make_pose([1, 0, 0]), bodies[3], None)
    tree.add_joint(mbt.BallRpyJoint, "ball", bodies[0], None, bodies[4], None)
    tree.add_joint(mbt.ScrewJoint, "screw", bodies[4], None, bodies[5], None, [0, 1, 0], 0.1)
    tree.add_joint_actuator("motor", tree.get_joint_by_name("hinge"))
    tree.finalize()
    assert tree._plan is not None
    arrays = make_arrays(tree._elements, tree._plan)
    del arrays["user_force_elements"]
    return arrays


def damage(arrays: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """Return the arrays with one thing changed, which may still be valid."""
    damaged = {name: list(value) if isinstance(value, list) else value for name, value in arrays.items()}
    name = dice.choice((*INTEGERS, *INTEGERS, *FLOATS, "mobilizer_constants"))
    value = damaged[name]
    if name in FLOATS:
        damaged[name] = dice.choice([value[:-1], value.astype(np.float32), value.tolist(), value.T, None])
        return damaged
    how, i = dice.randrange(4), dice.randrange(len(value))
    if how == 0 or name == "mobilizer_constants":
        del value[i]
    elif how == 1:
        value.insert(i, value[i])
    elif how == 2:
        value[i] = dice.choice([True, float(value[i]), np.int64(value[i]), 2**40 + value[i], "0", None])
    else:
        value[i] = dice.randrange(-2, 14)
    return damaged


def outcome(make: Any, arrays: dict[str, Any]) -> str | None:
    try:
        make(arrays)
    except (mbt.MbtError, OverflowError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def test_same_arrays_are_refused_with_the_same_words() -> None:
    arrays, dice = make_model_arrays(), random.Random(0)
    assert outcome(check_model_arrays, arrays) is None
    refused = 0
    for _ in range(3000):
        damaged = damage(arrays, dice)
        expected = outcome(check_model_arrays, damaged)
        assert outcome(lambda a: CompiledModel(**a), damaged) == expected
        refused += expected is not None
    assert 1000 < refused < 2900


def test_arrays_of_a_tree_are_seen_to_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    from mbt._core.above import above

    arrays = make_model_arrays()
    expected = CompiledModel(**{name: tuple(v) if name in INTEGERS else v for name, v in arrays.items()})
    monkeypatch.setattr(above, "check_model_arrays", None)  # not called
    found = CompiledModel(**arrays)
    np.testing.assert_array_equal(found.default_parameters, expected.default_parameters)
    np.testing.assert_array_equal(found.default_q, expected.default_q)


def test_join_numbers() -> None:
    arrays = [np.eye(2), np.zeros(0), np.arange(3.0), np.array(7.0)]
    np.testing.assert_array_equal(join_numbers(arrays), [1, 0, 0, 1, 0, 1, 2, 7])
    # Arrays that are not contiguous or not of doubles are joined all the same.
    others = [np.arange(6.0).reshape(2, 3).T, np.arange(2), [8.0]]
    np.testing.assert_array_equal(join_numbers(others), [0, 3, 1, 4, 2, 5, 0, 1, 8])
    assert join_numbers([]).shape == (0,)
