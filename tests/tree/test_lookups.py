"""Finding elements by index, by name and by model instance."""

from __future__ import annotations

import numpy as np
import pytest

from mbt.errors import ArgumentTypeError, ArgumentValueError, ElementIndexError, ShapeError, UnknownNameError
from mbt.math import SpatialInertia, make_pose
from mbt.tree import (
    CouplerConstraint,
    MultibodyTree,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    UniformGravityFieldElement,
    WeldMobilizer,
    default_model_instance,
    world_model_instance,
)

Z = [0.0, 0.0, 1.0]
M_BBo_B = SpatialInertia.solid_sphere_with_mass(1.0, 0.1)


@pytest.fixture
def robots() -> MultibodyTree:
    """Two equal robots, in model instances 2 and 3: a slider, and a hinge with a motor; and a free ball.

    Joints are added in this order: left hinge, right hinge, left slider, right slider.
    """
    tree = MultibodyTree()
    carts, arms = [], []
    for instance in (tree.add_model_instance("left"), tree.add_model_instance("right")):
        carts.append(tree.add_body(RigidBody("cart", M_BBo_B, instance)))
        arms.append(tree.add_body(RigidBody("arm", M_BBo_B, instance)))
    for cart, arm in zip(carts, arms, strict=True):
        hinge = tree.add_joint(RevoluteJoint, "hinge", cart, make_pose(), arm, None, Z)
        tree.add_joint_actuator("motor", hinge, 5.0)
    for cart in carts:
        tree.add_joint(PrismaticJoint, "slider", tree.world_body, None, cart, None, Z)
    tree.add_body(RigidBody("ball", M_BBo_B))
    tree.add_force_element(UniformGravityFieldElement())
    return tree


def test_by_index(robots: MultibodyTree) -> None:
    robots.finalize()
    for elements, get in (
        (robots.bodies, robots.get_body),
        (robots.frames, robots.get_frame),
        (robots.joints, robots.get_joint),
        (robots.mobilizers, robots.get_mobilizer),
        (robots.force_elements, robots.get_force_element),
        (robots.joint_actuators, robots.get_joint_actuator),
    ):
        count = len(elements)
        assert count > 0
        assert [get(i) for i in range(count)] == list(elements)
        assert get(np.int64(0)) is elements[0]
        for bad in (-1, count, 10**9):
            with pytest.raises(
                ElementIndexError, match=rf"_index: expected the index of a .*< {count}.*, got {bad}"
            ):
                get(bad)
        for wrong in (1.0, True, "0", None):
            with pytest.raises(ArgumentTypeError, match="_index: expected the index of a"):
                get(wrong)  # type: ignore[arg-type]


def test_counts(robots: MultibodyTree) -> None:
    robots.finalize()
    assert (robots.num_bodies, robots.num_joints, robots.num_mobilizers) == (6, 5, 5)
    assert (robots.num_frames, robots.num_force_elements, robots.num_actuators) == (8, 1, 2)
    assert robots.num_model_instances == 4
    assert (robots.num_positions, robots.num_velocities) == (11, 10)


def test_by_name(robots: MultibodyTree) -> None:
    left = robots.get_model_instance_by_name("left")
    ball = robots.get_body_by_name("ball")
    assert ball is robots.bodies[5]
    assert robots.get_body_by_name("world") is robots.world_body
    assert robots.get_frame_by_name("ball") is ball.body_frame
    assert robots.get_body_by_name("ball", default_model_instance()) is ball
    assert robots.get_joint_by_name("hinge", left) is robots.joints[0]
    assert robots.get_joint_actuator_by_name("motor", left) is robots.joint_actuators[0]
    assert robots.get_frame_by_name("hinge_parent", left).body is robots.bodies[1]


def test_unknown_names_get_suggestions(robots: MultibodyTree) -> None:
    left = robots.get_model_instance_by_name("left")
    with pytest.raises(UnknownNameError, match=r"There is no body named 'bal'\. Did you mean 'ball'\?"):
        robots.get_body_by_name("bal")
    with pytest.raises(
        UnknownNameError, match=r"no joint named 'hing' in model instance 'left'\. Did you mean 'hinge'\?"
    ):
        robots.get_joint_by_name("hing", left)
    with pytest.raises(
        UnknownNameError, match=r"no body named 'ball' in model instance 'left'\. The names are 'arm'"
    ):
        robots.get_body_by_name("ball", left)
    with pytest.raises(UnknownNameError, match=r"no joint actuator named 'm'\. The names are 'motor'"):
        robots.get_joint_actuator_by_name("m")
    with pytest.raises(UnknownNameError, match=r"no model instance named 'lefty'\. Did you mean 'left'\?"):
        robots.get_model_instance_by_name("lefty")
    with pytest.raises(KeyError):
        robots.get_frame_by_name("nothing")


def test_names_in_several_model_instances(robots: MultibodyTree) -> None:
    with pytest.raises(
        ArgumentValueError,
        match=r"a joint named 'hinge' in each of the model instances 'left' \(model_instance=2\) and 'right'",
    ):
        robots.get_joint_by_name("hinge")


def test_bad_names(robots: MultibodyTree) -> None:
    for name in (None, 3, b"ball"):
        with pytest.raises(ArgumentTypeError, match="name: expected text"):
            robots.get_body_by_name(name)  # type: ignore[arg-type]
    with pytest.raises(ElementIndexError, match="model_instance: expected the index of a model instance"):
        robots.get_body_by_name("ball", 4)


def test_has_named(robots: MultibodyTree) -> None:
    left = robots.get_model_instance_by_name("left")
    assert robots.has_body_named("ball")
    assert not robots.has_body_named("ball", left)
    assert robots.has_joint_named("hinge")
    assert robots.has_joint_named("hinge", left)
    assert robots.has_frame_named("hinge_parent", left)
    assert not robots.has_frame_named("hinge_child")
    assert robots.has_joint_actuator_named("motor")
    assert robots.has_model_instance_named("right")
    assert not robots.has_model_instance_named("middle")


def test_scoped_names(robots: MultibodyTree) -> None:
    assert [body.scoped_name for body in robots.bodies] == [
        "world",
        "left::cart",
        "left::arm",
        "right::cart",
        "right::arm",
        "ball",
    ]


class TestModelInstances:
    def test_names(self, robots: MultibodyTree) -> None:
        names = [robots.get_model_instance_name(i) for i in range(robots.num_model_instances)]
        assert names == ["WorldModelInstance", "DefaultModelInstance", "left", "right"]
        assert [robots.get_model_instance_by_name(name) for name in names] == [0, 1, 2, 3]

    def test_rename(self, robots: MultibodyTree) -> None:
        robots.rename_model_instance(2, "middle")
        robots.rename_model_instance(3, "right")  # Its own name.
        assert robots.get_model_instance_by_name("middle") == 2
        assert not robots.has_model_instance_named("left")
        assert robots.bodies[1].scoped_name == "middle::cart"
        assert robots._elements.graph.body_names[1] == "middle::cart"
        assert robots.add_model_instance("left") == 4

    def test_indices(self, robots: MultibodyTree) -> None:
        robots.finalize()
        assert robots.get_body_indices(world_model_instance()) == [0]
        assert robots.get_body_indices(2) == [1, 2]
        assert robots.get_joint_indices(3) == [1, 3]
        assert robots.get_joint_indices(1) == [4]
        assert robots.get_joint_actuator_indices(3) == [1]
        assert [robots.get_frame(i).name for i in robots.get_frame_indices(2)] == [
            "cart",
            "arm",
            "hinge_parent",
        ]
        with pytest.raises(ElementIndexError):
            robots.get_joint_indices(4)

    def test_parts_of_arrays(self, robots: MultibodyTree) -> None:
        """Nodes: world, cart and arm of left, cart and arm of right, ball."""
        robots.finalize()
        q, v = np.arange(11.0), np.arange(10.0)
        assert [robots.get_num_positions(i) for i in range(4)] == [0, 7, 2, 2]
        assert [robots.get_num_velocities(i) for i in range(4)] == [0, 6, 2, 2]
        assert [robots.get_num_states(i) for i in range(4)] == [0, 13, 4, 4]
        assert [robots.get_num_actuated_dofs(i) for i in range(4)] == [0, 0, 1, 1]
        assert robots.get_positions_from_array(3, q).tolist() == [2, 3]
        assert robots.get_positions_from_array(1, q).tolist() == [4, 5, 6, 7, 8, 9, 10]
        assert robots.get_velocities_from_array(3, v).tolist() == [2, 3]
        assert robots.get_velocities_from_array(0, v).tolist() == []
        assert robots.get_actuation_from_array(3, [10, 20]).tolist() == [20]
        assert robots.get_positions_from_array(2, np.arange(22).reshape(2, 11)).tolist() == [[0, 1], [11, 12]]

        robots.set_positions_in_array(3, [-1, -2], q)
        assert q.tolist() == [0, 1, -1, -2, 4, 5, 6, 7, 8, 9, 10]
        robots.set_velocities_in_array(2, [-1, -2], v)
        assert v.tolist() == [-1, -2, 2, 3, 4, 5, 6, 7, 8, 9]

    def test_parts_are_copies(self, robots: MultibodyTree) -> None:
        robots.finalize()
        q = np.zeros(11)
        robots.get_positions_from_array(2, q)[:] = 1
        assert not q.any()

    def test_wrong_arrays(self, robots: MultibodyTree) -> None:
        robots.finalize()
        q = np.zeros(11)
        with pytest.raises(ShapeError, match=r"q: expected shape \(\.\.\., 11\), got \(10,\)"):
            robots.get_positions_from_array(2, np.zeros(10))
        with pytest.raises(ShapeError, match=r"q_instance: expected shape \(2,\), got \(3,\)"):
            robots.set_positions_in_array(2, np.ones(3), q)
        with pytest.raises(ArgumentTypeError, match="q: expected a float64"):
            robots.set_positions_in_array(2, np.ones(2), [0.0] * 11)  # type: ignore[arg-type]
        assert not q.any()

    def test_explicit_mobilizer_counts_where_it_belongs(self, robots: MultibodyTree) -> None:
        ball = robots.get_body_by_name("ball")
        robots.add_mobilizer(WeldMobilizer(robots.world_frame, ball.body_frame))
        robots.finalize()
        assert robots.get_num_positions(default_model_instance()) == 0


class TestScopedNames:
    """``"left::cart"`` wherever a name is looked up."""

    def test_every_kind(self, robots: MultibodyTree) -> None:
        left, right = robots.joints[0], robots.joints[1]
        robots.add_constraint(CouplerConstraint("tie", robots.joints[0], robots.joints[1]))
        robots.add_constraint(CouplerConstraint("tie", robots.joints[1], robots.joints[0]))
        for elements, get, has in (
            (robots.bodies[1:], robots.get_body_by_name, robots.has_body_named),
            (robots.frames[1:], robots.get_frame_by_name, robots.has_frame_named),
            (robots.joints, robots.get_joint_by_name, robots.has_joint_named),
            (robots.joint_actuators, robots.get_joint_actuator_by_name, robots.has_joint_actuator_named),
            (robots.constraints, robots.get_constraint_by_name, robots.has_constraint_named),
        ):
            assert len(elements) > 1
            for element in elements:
                assert get(element.scoped_name) is element
                assert has(element.scoped_name)
                assert not has(f"{element.scoped_name}x")
        robots.finalize()
        assert robots.q_from_dict({"left::hinge": 0.5})[left.position_start] == 0.5
        assert robots.v_from_dict({"right::hinge": 0.5})[right.velocity_start] == 0.5

    def test_the_first_two_instances_have_names_too(self, robots: MultibodyTree) -> None:
        assert robots.get_body_by_name("DefaultModelInstance::ball") is robots.bodies[5]
        assert robots.get_body_by_name("WorldModelInstance::world") is robots.world_body

    def test_nearest_names(self, robots: MultibodyTree) -> None:
        with pytest.raises(UnknownNameError, match=r"no body named 'left::crat'\. Did you mean 'left::cart'"):
            robots.get_body_by_name("left::crat")
        with pytest.raises(UnknownNameError, match="Did you mean 'left::hinge'"):
            robots.get_joint_by_name("lft::hinge")
        with pytest.raises(
            ArgumentValueError, match="pass model_instance to say which one, or 'right::hinge'"
        ):
            robots.get_joint_by_name("hinge")

    def test_names_with_colons(self, robots: MultibodyTree) -> None:
        """Such a name is found, in preference to a scoped name that reads the same."""
        odd = robots.add_body(RigidBody("left::cart", M_BBo_B))
        assert robots.get_body_by_name("left::cart") is odd
        inner = robots.add_model_instance("left::hand")
        palm = robots.add_body(RigidBody("palm::skin", M_BBo_B, inner))
        assert robots.get_body_by_name("palm::skin") is palm
        assert robots.get_body_by_name("left::hand::palm::skin") is palm
        assert robots.get_frame_by_name("left::hand::palm::skin") is palm.body_frame
        assert not robots.has_body_named("hand::palm::skin")
        assert not robots.has_body_named("left::")
        assert not robots.has_body_named("::cart")

    def test_two_ways_to_read_one(self, robots: MultibodyTree) -> None:
        left = robots.get_model_instance_by_name("left")
        inner = robots.add_model_instance("left::hand")
        one = robots.add_body(RigidBody("hand::palm", M_BBo_B, left))
        other = robots.add_body(RigidBody("palm", M_BBo_B, inner))
        assert one.scoped_name == other.scoped_name
        with pytest.raises(
            ArgumentValueError, match=r"in each of the model instances 'left' .* and 'left::hand'"
        ):
            robots.get_body_by_name("left::hand::palm")

    def test_not_inside_a_model_instance(self, robots: MultibodyTree) -> None:
        left = robots.get_model_instance_by_name("left")
        assert not robots.has_body_named("left::cart", left)
        with pytest.raises(UnknownNameError, match="in model instance 'left'"):
            robots.get_body_by_name("left::cart", left)

    def test_model_instances_have_none(self, robots: MultibodyTree) -> None:
        assert not robots.has_model_instance_named("WorldModelInstance::left")
        with pytest.raises(UnknownNameError):
            robots.get_model_instance_by_name("WorldModelInstance::left")
