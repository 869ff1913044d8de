"""ROS messages as dictionaries: matched by name, in any order, in both directions."""

from __future__ import annotations

import array
import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.interop import ros
from mbt.models import model_path

GRIPPER = """<robot name="gripper">
  <link name="palm"/>
  {links}
  <joint name="left" type="prismatic"><parent link="palm"/><child link="left_finger"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" effort="70" velocity="1"/></joint>
  <joint name="right" type="prismatic"><parent link="palm"/><child link="right_finger"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.04" effort="70" velocity="1"/><mimic joint="left" multiplier="2" offset="0.01"/>
  </joint>
  <joint name="tip" type="revolute"><parent link="right_finger"/><child link="right_tip"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="70" velocity="1"/><mimic joint="right" multiplier="-3"/></joint>
  <joint name="wrist" type="revolute"><parent link="palm"/><child link="hand"/><origin xyz="0 0 0.1"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="70" velocity="1"/></joint>
</robot>"""
LINK = """<link name="{}"><inertial><mass value="0.1"/>
  <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><mesh filename="package://nowhere/finger.stl"/></geometry></visual></link>"""
LINKS = ("left_finger", "right_finger", "right_tip", "hand")


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    return mbt.load_model(model_path("mbt_arm"))


@pytest.fixture(scope="module")
def gripper() -> mbt.MultibodyTree:
    """Load a gripper from the text of `robot_description`, with meshes of a package that is not installed."""
    description = GRIPPER.format(links="".join(map(LINK.format, LINKS)))
    with pytest.warns(mbt.ModelWarning, match="mimic"):
        return mbt.load_model(description, base="floating")


def as_object(message: Any) -> Any:
    """Return a message in the form of rclpy: attributes, arrays of floats."""
    if isinstance(message, dict):
        return SimpleNamespace(**{key: as_object(value) for key, value in message.items()})
    if isinstance(message, list) and message and isinstance(message[0], float):
        return array.array("d", message)
    return message


@pytest.mark.parametrize("convert", [dict, as_object])
def test_there_and_back(arm: mbt.MultibodyTree, convert: Any) -> None:
    q, v, tau = np.random.default_rng(0).normal(size=(3, 6))
    message = ros.make_joint_state(arm, q, v, tau, time=12.25)
    assert message["header"] == {"stamp": {"sec": 12, "nanosec": 250_000_000}, "frame_id": ""}
    state = ros.read_joint_state(arm, convert(message))
    for got, wanted in zip(state, (q, v, tau), strict=True):
        np.testing.assert_array_equal(got, wanted)
    named = dict(zip(message["name"], message["position"], strict=True))
    assert named == {name: x for name, x in arm.dict_from_q(q).items() if np.ndim(x) == 0}
    assert all(type(x) is float for x in message["effort"])


def test_free_joints_are_left_out(gripper: mbt.MultibodyTree) -> None:
    q = gripper.random_positions(np.random.default_rng(0))
    message = ros.make_joint_state(gripper, q)
    assert sorted(message["name"]) == ["left", "right", "tip", "wrist"]
    assert message["velocity"] == message["effort"] == []
    state = ros.read_joint_state(gripper, message, q=q)
    np.testing.assert_array_equal(state.q, q)


def test_some_joints_in_another_order(arm: mbt.MultibodyTree) -> None:
    message = {"name": ["elbow", "waist"], "velocity": [1.0, 2.0], "position": [], "effort": (3, 4)}
    q, v, tau = np.random.default_rng(0).normal(size=(3, 6))
    state = ros.read_joint_state(arm, message, q=q, v=v, tau=tau)
    np.testing.assert_array_equal(state.q, q)
    np.testing.assert_array_equal(state.v, [2.0, v[1], 1.0, *v[3:]])
    np.testing.assert_array_equal(state.tau, [4.0, tau[1], 3.0, *tau[3:]])
    state = ros.read_joint_state(arm, {"name": ["elbow"], "position": [0.5]})
    np.testing.assert_array_equal(state.q, arm.q_from_dict({"elbow": 0.5}))
    assert not state.v.any()
    assert not state.tau.any()
    state.q[0] = 7.0
    assert ros.read_joint_state(arm, {"name": []}).q[0] == arm.default_positions[0]


def test_mimic_joints_follow_unless_they_are_named(gripper: mbt.MultibodyTree) -> None:
    def joints(message: dict[str, Any]) -> dict[str, Any]:
        state = ros.read_joint_state(gripper, message)
        return {
            name: (state.q[joint.position_start], state.v[joint.velocity_start])
            for name in ("left", "right", "tip", "wrist")
            for joint in [gripper.get_joint_by_name(name)]
        }

    both = {"name": ["wrist", "left"], "position": [0.5, 0.02], "velocity": [0.1, 0.2]}
    followed = joints(both)
    np.testing.assert_allclose(followed["right"], (0.05, 0.4), rtol=1e-15)
    np.testing.assert_allclose(followed["tip"], (-0.15, -1.2), rtol=1e-15)
    assert followed["wrist"] == (0.5, 0.1)
    own = {"name": ["left", "right"], "position": [0.02, 0.03]}
    assert joints(own)["right"][0] == 0.03
    np.testing.assert_allclose(joints(own)["tip"][0], -0.09, rtol=1e-15)
    assert joints({"name": ["wrist"], "position": [0.5]})["right"][0] == 0.0
    context = gripper.create_default_context()
    context.q = ros.read_joint_state(gripper, both).q
    np.testing.assert_allclose(gripper.calc_constraint_errors(context), 0.0, atol=1e-15)


def test_names_that_are_not_there(arm: mbt.MultibodyTree) -> None:
    message = {"name": ["elbo", "waist"], "position": [1.0, 2.0]}
    with pytest.raises(mbt.UnknownNameError, match="elbow"):
        ros.read_joint_state(arm, message)
    state = ros.read_joint_state(arm, message, ignore_unknown=True)
    np.testing.assert_array_equal(state.q, [2.0, 0, 0, 0, 0, 0])


def test_two_robots_with_the_same_names() -> None:
    tree = mbt.MultibodyTree()
    arms = [
        mbt.parsing.add_model(tree, model_path("mbt_arm"), model_name=name, base_pose=mbt.math.make_pose(p))
        for name, p in (("one", [0, 0, 0]), ("other", [2, 0, 0]))
    ]
    tree.finalize()
    message = {"name": ["elbow"], "position": [1.0]}
    with pytest.raises(mbt.ArgumentValueError, match="2 joints named 'elbow'"):
        ros.read_joint_state(tree, message)
    for arm in arms:
        state = ros.read_joint_state(tree, message, model_instance=arm)
        place = tree.get_joint_by_name("elbow", arm).position_start
        assert np.flatnonzero(state.q).tolist() == [place]


@pytest.mark.parametrize(
    ("message", "error", "text"),
    [
        ({}, mbt.ArgumentTypeError, "expected name"),
        (None, mbt.ArgumentTypeError, "expected name"),
        ({"name": "elbow"}, mbt.ArgumentTypeError, "expected names"),
        ({"name": 3}, mbt.ArgumentTypeError, "expected names"),
        ({"name": [3]}, mbt.ArgumentTypeError, "expected names"),
        ({"name": ["elbow", "elbow"]}, mbt.ArgumentValueError, "each joint once"),
        ({"name": ["base_to_world"]}, mbt.ArgumentValueError, "one degree of freedom"),
        ({"name": ["elbow"], "position": [1.0, 2.0]}, mbt.ShapeError, "position: expected 1"),
        ({"name": ["elbow"], "velocity": ["x"]}, mbt.ArgumentTypeError, "velocity"),
        ({"name": ["elbow"], "effort": [[1.0]]}, mbt.ShapeError, "effort"),
    ],
)
def test_messages_that_are_refused(
    arm: mbt.MultibodyTree, message: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        ros.read_joint_state(arm, message)


def test_arrays_that_are_refused(arm: mbt.MultibodyTree) -> None:
    with pytest.raises(mbt.ShapeError, match="q: expected"):
        ros.make_joint_state(arm, np.zeros(5))
    with pytest.raises(mbt.ShapeError, match="tau: expected"):
        ros.make_joint_state(arm, np.zeros(6), tau=np.zeros((2, 6)))
    with pytest.raises(mbt.ShapeError, match="v: expected"):
        ros.read_joint_state(arm, {"name": []}, v=np.zeros(5))
    with pytest.raises(mbt.ArgumentValueError, match="time"):
        ros.make_joint_state(arm, np.zeros(6), time=np.inf)


# Transforms -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [copy.copy, as_object])
def test_transforms_lead_to_the_poses_of_the_bodies(gripper: mbt.MultibodyTree, convert: Any) -> None:
    q = gripper.random_positions(np.random.default_rng(3))
    poses = {"map": np.eye(4)}
    transforms = ros.make_transforms(gripper, q, world="map", time=-0.25)
    for transform in transforms:
        assert transform["header"]["stamp"] == {"sec": -1, "nanosec": 750_000_000}
        parent = poses[transform["header"]["frame_id"]]
        poses[transform["child_frame_id"]] = parent @ ros.read_transform(convert(transform))
    X_WB = mbt.functional.body_poses(gripper, q)
    assert len(poses) == gripper.num_bodies
    for body in gripper.bodies[1:]:
        np.testing.assert_allclose(poses[body.name], X_WB[body.node_index], atol=1e-14)


def test_a_quaternion_has_its_real_part_last() -> None:
    X = mbt.math.make_pose([1.0, 2.0, 3.0], rpy=[0.3, -0.4, 0.5])
    transform = ros.make_transform(X, "a", "b")
    w, x, y, z = mbt.math.matrix_to_quaternion(X[:3, :3])
    rotation = transform["transform"]["rotation"]
    np.testing.assert_allclose([rotation[k] for k in "xyzw"], [x, y, z, w], rtol=1e-15)
    assert transform["transform"]["translation"] == {"x": 1.0, "y": 2.0, "z": 3.0}
    np.testing.assert_allclose(ros.read_transform(transform["transform"]), X, atol=1e-15)
    for k in "xyzw":
        rotation[k] *= 3.0
    np.testing.assert_allclose(ros.read_transform(transform), X, atol=1e-15)


def test_transforms_that_are_refused() -> None:
    good = ros.make_transform(np.eye(4), "a", "b")

    def changed(**parts: Any) -> dict[str, Any]:
        return {**good, "transform": {**good["transform"], **parts}}

    for message, error in (
        ({}, mbt.ArgumentTypeError),
        (changed(rotation={"x": 0.0, "y": 0.0, "z": 0.0}), mbt.ArgumentTypeError),
        (changed(rotation=dict.fromkeys("xyzw", 0.0)), mbt.ArgumentValueError),
        (changed(rotation=dict.fromkeys("xyzw", np.nan)), mbt.ArgumentValueError),
        (changed(translation={"x": "far", "y": 0.0, "z": 0.0}), mbt.ArgumentTypeError),
    ):
        with pytest.raises(error, match="message"):
            ros.read_transform(message)
    with pytest.raises(mbt.ArgumentValueError, match="X_AB"):
        ros.make_transform(2.0 * np.eye(4), "a", "b")
