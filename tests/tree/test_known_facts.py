"""Data that a tree gathers once are the same as gathered anew, and cannot be changed."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.math.leading_axes import multiply, rotate
from mbt.models import model_path

LIMITS = [
    f"{kind}_{side}_limits"
    for kind in ("position", "velocity", "acceleration", "effort")
    for side in ("lower", "upper")
]


@pytest.fixture
def arm() -> mbt.MultibodyTree:
    return mbt.load_model(model_path("mbt_arm"))


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_those_of_the_joints_and_copies(arm: mbt.MultibodyTree, name: str) -> None:
    first = getattr(arm, name)
    for joint in arm.joints:
        if joint.num_velocities:
            own = joint.effort_limit if name.startswith("effort") else getattr(joint, name)
            wanted = -own if name == "effort_lower_limits" else own
            np.testing.assert_array_equal(first[joint.velocity_start], wanted)
    first[:] = 7.0
    assert (getattr(arm, name) != 7.0).all()


def test_names_are_of_each_choice(arm: mbt.MultibodyTree) -> None:
    names = arm.get_position_names()
    names.append("more")
    assert arm.get_position_names() == names[:-1]
    assert (
        len(
            {
                tuple(arm.get_position_names(None, prefix, suffix))
                for prefix in (True, False)
                for suffix in (True, False)
            }
        )
        == 4
    )
    assert arm.position_names == tuple(f"{joint.name}_q" for joint in arm.joints if joint.num_positions)
    with pytest.raises(mbt.ArgumentTypeError, match="always_add_suffix: expected True or False"):
        arm.get_position_names(always_add_suffix=1)  # type: ignore[arg-type]


def test_an_edited_tree_gathers_its_own(arm: mbt.MultibodyTree) -> None:
    before = arm.position_upper_limits, arm.position_names, arm.node_bodies, arm.inertial_parameter_names
    other = arm.edit()
    joint = next(joint for joint in other.joints if joint.num_positions)
    joint.set_position_limits([-0.25], [0.25])
    other.rename(joint, "first")
    body = other.add_body(mbt.RigidBody("more", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    instance = body.model_instance
    count = other.get_num_bodies(instance)
    other.finalize()
    assert other.get_num_bodies(instance) == count
    assert other.position_upper_limits[joint.position_start] == 0.25
    assert other.position_names[joint.position_start] == "first_q"
    assert body in other.node_bodies
    assert "more_Izz" in other.inertial_parameter_names
    np.testing.assert_array_equal(arm.position_upper_limits, before[0])
    assert (arm.position_names, arm.node_bodies, arm.inertial_parameter_names) == before[1:]


def test_bodies_of_a_model_instance_grow() -> None:
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    instance = tree.add_model_instance("arm")
    for count in range(3):
        assert tree.get_num_bodies(instance) == len(tree.get_frame_indices(instance)) == count
        tree.add_body(mbt.RigidBody(f"body{count}", inertia, model_instance=instance))


def test_nothing_of_it_is_in_pickles(arm: mbt.MultibodyTree) -> None:
    unused = pickle.dumps(arm)
    for name in (*LIMITS, "position_names", "node_bodies", "inertial_parameter_names"):
        getattr(arm, name)
    arm.get_state_names()
    arm.get_positions_from_array(2, np.zeros(arm.num_positions))
    assert pickle.dumps(arm) == unused


@pytest.mark.parametrize("size", [3, 4])
def test_products_are_the_same_to_the_last_bit(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(200):
        a, b = rng.normal(size=(2, 4, 4))
        pairs: list[tuple[Any, Any]] = [(a, b), (a[:size, :size], b[:size, :size]), (a.T, b), (a, a.T)]
        for x, y in pairs:
            np.testing.assert_array_equal(multiply(x, y), x @ y)
            np.testing.assert_array_equal(rotate(x, y[0]), x @ y[0])
    stack = rng.normal(size=(5, 4, 4))
    np.testing.assert_array_equal(multiply(stack, a), stack @ a)


def test_clones_are_independent(arm: mbt.MultibodyTree) -> None:
    """A clone takes no defaults: the cloned Context has other values."""
    context = arm.create_default_context()
    context.q, context.time = np.full(arm.num_positions, 0.3), 2.0
    body = arm.bodies[-1]
    body.set_mass(context, 3.0)
    clone = context.clone()
    body.set_mass(context, 4.0)
    context.q = np.zeros(arm.num_positions)
    assert (body.get_mass(clone), clone.time) == (3.0, 2.0)
    np.testing.assert_array_equal(clone.q, np.full(arm.num_positions, 0.3))
    np.testing.assert_array_equal(clone.servo_positions, context.servo_positions)
