"""Which model instance an element belongs to, rule by rule."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import mbt

BALL = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
URDF = '<robot name="gripper">{}</robot>'
LINK = (
    '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    "</inertial></link>"
)
JOINT = (
    '<joint name="slide" type="prismatic"><parent link="palm"/><child link="finger"/><axis xyz="1 0 0"/>'
    '<limit lower="0" upper="1" effort="1" velocity="1"/></joint>'
)


@pytest.fixture
def cell() -> SimpleNamespace:
    """An arm that carries a tool of another instance, and a free box of a third."""
    tree = mbt.MultibodyTree()
    arm, tool, parts = (tree.add_model_instance(name) for name in ("arm", "tool", "parts"))
    link = tree.add_body(mbt.RigidBody("link", BALL, arm))
    finger = tree.add_body(mbt.RigidBody("finger", BALL, tool))
    box = tree.add_body(mbt.RigidBody("box", BALL, parts))
    pose = np.eye(4)
    elbow = tree.add_joint(mbt.RevoluteJoint, "elbow", tree.world_body, pose, link, pose, axis=[0, 0, 1])
    slide = tree.add_joint(mbt.PrismaticJoint, "slide", link, pose, finger, pose, axis=[1, 0, 0])
    motors = [tree.add_joint_actuator(f"{joint.name}_motor", joint) for joint in (elbow, slide)]
    tree.finalize()
    return SimpleNamespace(
        tree=tree,
        arm=arm,
        tool=tool,
        parts=parts,
        link=link,
        finger=finger,
        box=box,
        elbow=elbow,
        slide=slide,
        motors=motors,
    )


def test_two_instances_are_always_there() -> None:
    tree = mbt.MultibodyTree()
    assert mbt.world_model_instance() == mbt.ModelInstanceIndex(0)
    assert mbt.default_model_instance() == mbt.ModelInstanceIndex(1)
    assert tree.world_body.model_instance == mbt.world_model_instance()
    assert tree.add_body(mbt.RigidBody("link", BALL)).model_instance == mbt.default_model_instance()
    assert tree.num_model_instances == 2


def test_bodies_say_theirs() -> None:
    tree = mbt.MultibodyTree()
    arm = tree.add_model_instance("arm")
    assert arm == 2
    assert tree.add_body(mbt.RigidBody("link", BALL, arm)).model_instance == arm
    # The same name in another instance.
    assert tree.add_body(mbt.RigidBody("link", BALL)).model_instance == 1
    with pytest.raises(mbt.ArgumentValueError, match="already"):
        tree.add_body(mbt.RigidBody("link", BALL, arm))


def test_nodes_follow_bodies(cell: SimpleNamespace) -> None:
    nodes = {body.node_index: body.model_instance for body in cell.tree.bodies}
    assert nodes == {0: 0, cell.link.node_index: cell.arm, 2: cell.tool, cell.box.node_index: cell.parts}
    assert cell.finger.node_index == 2


def test_frames_follow_their_parent(cell: SimpleNamespace) -> None:
    assert cell.link.body_frame.model_instance == cell.arm
    tree = mbt.MultibodyTree()
    arm = tree.add_model_instance("arm")
    link = tree.add_body(mbt.RigidBody("link", BALL, arm))
    frame = tree.add_frame(mbt.FixedOffsetFrame("a", link))
    assert frame.model_instance == arm
    assert tree.add_frame(mbt.FixedOffsetFrame("b", frame)).model_instance == arm
    assert tree.add_frame(mbt.FixedOffsetFrame("c", frame, model_instance=1)).model_instance == 1
    assert tree.add_frame(mbt.FixedOffsetFrame("d", tree.world_frame)).model_instance == 0


def test_joints_follow_the_child_frame(cell: SimpleNamespace) -> None:
    assert cell.elbow.model_instance == cell.elbow.frame_on_child.model_instance == cell.arm
    assert cell.slide.model_instance == cell.slide.frame_on_child.model_instance == cell.tool
    # Frames made for a joint belong to the joint's instance.
    assert cell.slide.frame_on_parent.model_instance == cell.tool


def test_actuators_follow_the_joint(cell: SimpleNamespace) -> None:
    assert [motor.model_instance for motor in cell.motors] == [cell.arm, cell.tool]


def test_mobilizers_follow_the_joint(cell: SimpleNamespace) -> None:
    for joint in (cell.elbow, cell.slide):
        assert joint.mobilizer.model_instance == joint.model_instance


def test_mobilizers_of_free_bodies_follow_the_body(cell: SimpleNamespace) -> None:
    assert cell.box.inboard_mobilizer.model_instance == cell.parts
    assert cell.box.inboard_joint.model_instance == cell.parts


def test_mobilizers_for_other_reasons_say_theirs() -> None:
    tree = mbt.MultibodyTree()
    arm = tree.add_model_instance("arm")
    link = tree.add_body(mbt.RigidBody("link", BALL, arm))
    mobilizer = mbt.RevoluteMobilizer(tree.world_frame, link.body_frame, [1, 0, 0], model_instance=arm)
    assert tree.add_mobilizer(mobilizer).model_instance == arm


def test_state_and_actuation_by_instance(cell: SimpleNamespace) -> None:
    tree = cell.tree
    q, v, u = np.arange(9.0), np.arange(8.0), np.arange(2.0)
    np.testing.assert_array_equal(tree.get_positions_from_array(cell.arm, q), [0])
    np.testing.assert_array_equal(tree.get_positions_from_array(cell.tool, q), [1])
    np.testing.assert_array_equal(tree.get_positions_from_array(cell.parts, q), np.arange(2, 9))
    np.testing.assert_array_equal(tree.get_velocities_from_array(cell.parts, v), np.arange(2, 8))
    np.testing.assert_array_equal(tree.get_actuation_from_array(cell.tool, u), [1])
    assert tree.get_positions_from_array(0, q).size == 0


def test_a_parser_makes_one_for_each_model() -> None:
    text = URDF.format(LINK.format("palm") + LINK.format("finger") + JOINT)
    tree = mbt.MultibodyTree()
    first = mbt.parsing.add_model(tree, text, model_name="left")
    second = mbt.parsing.add_model(tree, text, model_name="right")
    assert (first, second) == (2, 3)
    for instance in (first, second):
        assert tree.get_body_by_name("finger", instance).model_instance == instance
        assert tree.get_joint_by_name("slide", instance).model_instance == instance


def test_force_elements() -> None:
    tree = mbt.MultibodyTree()
    arm = tree.add_model_instance("arm")
    a, b = (tree.add_body(mbt.RigidBody(name, BALL, arm)) for name in "ab")
    joint = tree.add_joint(mbt.RevoluteJoint, "joint", a, None, b, None, axis=[0, 0, 1])
    spring = tree.add_force_element(mbt.RevoluteSpring(joint, 0.0, 1.0))
    damper = tree.add_force_element(
        mbt.LinearSpringDamper(a, [0, 0, 0], tree.world_body, [1, 0, 0], 1.0, 1.0, 1.0)
    )
    # The spring is in its joint's instance, the damper in that of its first body.
    assert spring.model_instance == arm
    assert damper.model_instance == arm


def test_gravity_is_of_world() -> None:
    assert mbt.UniformGravityFieldElement().model_instance == mbt.world_model_instance()


def test_the_world_instance_is_for_world_alone() -> None:
    tree = mbt.MultibodyTree()
    body = mbt.RigidBody("stone", mbt.SpatialInertia.point_mass(1.0, [0, 0, 0]), mbt.world_model_instance())
    with pytest.raises(mbt.ArgumentValueError, match=r"body 'stone': model_instance: .* world body only"):
        tree.add_body(body)
    assert (tree.num_bodies, tree.num_frames) == (1, 1)
    assert not body.has_parent_tree
    # Elements on World may belong to its instance.
    tree.add_frame(mbt.FixedOffsetFrame("mark", tree.world_body))
    assert tree.get_frame_by_name("mark").model_instance == mbt.world_model_instance()
