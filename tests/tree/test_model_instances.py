"""Model instances: which elements belong to them, and their parts of the state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt.math import SpatialInertia, make_pose
from mbt.tree import (
    FixedOffsetFrame,
    ModelInstance,
    MultibodyTree,
    PrismaticJoint,
    RevoluteJoint,
    RevoluteMobilizer,
    RigidBody,
    UniformGravityFieldElement,
)

M_BBo_B = SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.2, 0.3)
Z = [0.0, 0.0, 1.0]
X = make_pose([1, 0, 0])


@pytest.fixture
def tree() -> MultibodyTree:
    """An arm (2) that carries a gripper (3), a free ball in the gripper's instance, a box in none.

    world -shoulder> upper -slide> wrist -grip> finger      q: shoulder, slide, grip, ball (7), box (7)
    """
    tree = MultibodyTree()
    arm, gripper = tree.add_model_instance("arm"), tree.add_model_instance("gripper")
    upper = tree.add_body(RigidBody("upper", M_BBo_B, arm))
    wrist = tree.add_body(RigidBody("wrist", M_BBo_B, arm))
    finger = tree.add_body(RigidBody("finger", M_BBo_B, gripper))
    tree.add_body(RigidBody("ball", M_BBo_B, gripper))
    tree.add_body(RigidBody("box", M_BBo_B))
    grip = tree.add_joint(RevoluteJoint, "grip", wrist, X, finger, None, Z)
    shoulder = tree.add_joint(RevoluteJoint, "shoulder", tree.world_body, None, upper, None, Z)
    slide = tree.add_joint(PrismaticJoint, "slide", upper, None, wrist, X, Z)
    tree.add_joint_actuator("grip", grip)
    tree.add_joint_actuator("shoulder", shoulder)
    tree.add_joint_actuator("slide", slide)
    tree.finalize()
    return tree


class TestMembership:
    def test_inheritance(self) -> None:
        """Everything follows the rules of the table in the documentation of ModelInstance."""
        tree = MultibodyTree()
        arm, hand, other = (tree.add_model_instance(name) for name in ("arm", "hand", "other"))
        assert (arm, hand, other) == (2, 3, 4)
        assert tree.world_body.model_instance == tree.world_frame.model_instance == 0
        upper = tree.add_body(RigidBody("upper", M_BBo_B, arm))
        palm = tree.add_body(RigidBody("palm", M_BBo_B, hand))
        loose = tree.add_body(RigidBody("loose", M_BBo_B))
        assert (upper.model_instance, palm.model_instance, loose.model_instance) == (arm, hand, 1)
        assert palm.body_frame.model_instance == hand
        # A frame follows its parent frame, not its body.
        mount = tree.add_frame(FixedOffsetFrame("mount", upper, X, other))
        assert mount.model_instance == other
        assert tree.add_frame(FixedOffsetFrame("on_mount", mount, X)).model_instance == other
        # A joint follows its frame on the child, and the frames made for it follow the joint.
        wrist = tree.add_joint(RevoluteJoint, "wrist", upper, X, palm, X, Z)
        assert wrist.model_instance == hand
        assert wrist.frame_on_parent.model_instance == wrist.frame_on_child.model_instance == hand
        shoulder = tree.add_joint(RevoluteJoint("shoulder", tree.world_frame, mount, Z))
        assert shoulder.model_instance == other
        assert tree.add_joint_actuator("motor", wrist).model_instance == hand
        assert tree.add_force_element(UniformGravityFieldElement()).model_instance == 0
        ball = tree.add_body(RigidBody("ball", M_BBo_B, arm))
        wheel = tree.add_body(RigidBody("wheel", M_BBo_B, arm))
        bare = tree.add_mobilizer(RevoluteMobilizer(tree.world_frame, wheel.body_frame, Z))
        tree.finalize()
        assert wrist.mobilizer.model_instance == hand
        assert ball.inboard_joint is not None
        assert ball.inboard_joint.model_instance == ball.inboard_joint.mobilizer.model_instance == arm
        assert loose.inboard_joint is not None
        assert loose.inboard_joint.model_instance == 1
        assert bare.model_instance == 1

    def test_indices_and_counts(self, tree: MultibodyTree) -> None:
        arm, gripper = 2, 3
        names = {
            instance: (
                [tree.get_body(i).name for i in tree.get_body_indices(instance)],
                [tree.get_frame(i).name for i in tree.get_frame_indices(instance)],
                [tree.get_joint(i).name for i in tree.get_joint_indices(instance)],
                [tree.get_joint_actuator(i).name for i in tree.get_joint_actuator_indices(instance)],
            )
            for instance in range(tree.num_model_instances)
        }
        assert names == {
            0: (["world"], ["world"], [], []),
            1: (["box"], ["box"], ["box"], []),
            arm: (
                ["upper", "wrist"],
                ["upper", "wrist", "slide_child"],
                ["shoulder", "slide"],
                ["shoulder", "slide"],
            ),
            gripper: (["finger", "ball"], ["finger", "ball", "grip_parent"], ["grip", "ball"], ["grip"]),
        }
        for instance, kinds in names.items():
            counts = (
                tree.get_num_bodies(instance),
                tree.get_num_frames(instance),
                tree.get_num_joints(instance),
                tree.get_num_actuators(instance),
            )
            assert counts == tuple(map(len, kinds))
        sizes = [
            (tree.get_num_positions(i), tree.get_num_velocities(i), tree.get_num_states(i))
            for i in range(tree.num_model_instances)
        ]
        assert sizes == [(0, 0, 0), (7, 6, 13), (2, 2, 4), (8, 7, 15)]
        assert [tree.get_num_actuated_dofs(i) for i in range(4)] == [0, 0, 2, 1]
        assert sum(size[0] for size in sizes) == tree.num_positions

    def test_objects(self, tree: MultibodyTree) -> None:
        world, default, arm, gripper = tree.model_instances
        assert isinstance(arm, mbt.ModelInstance)
        assert [instance.name for instance in (world, default)] == [
            "WorldModelInstance",
            "DefaultModelInstance",
        ]
        assert tree.get_model_instance(2) is tree.get_model_instance(arm) is arm
        assert arm.bodies == tuple(tree.bodies[i] for i in tree.get_body_indices(2))
        assert arm.frames == tuple(tree.frames[i] for i in tree.get_frame_indices(2))
        assert gripper.joints == tuple(tree.joints[i] for i in tree.get_joint_indices(3))
        assert gripper.joint_actuators == (tree.joint_actuators[0],)
        assert (gripper.num_positions, gripper.num_velocities, gripper.num_actuated_dofs) == (8, 7, 1)
        # An instance is accepted in place of its index.
        assert tree.get_body_by_name("wrist", arm).model_instance == arm.index == 2
        assert tree.get_positions_from_array(arm, np.arange(17.0)).tolist() == [0, 1]
        assert repr(arm) == "<ModelInstance 'arm' index=2: 2 bodies, 2 joints, 2 actuators>"
        assert repr(ModelInstance("new")) == "<ModelInstance 'new' without a tree>"

    def test_a_model_instance_for_a_body(self) -> None:
        tree = MultibodyTree()
        tree.add_model_instance("arm")
        body = tree.add_body(RigidBody("b", M_BBo_B, tree.model_instances[2]))
        assert (body.model_instance, body.scoped_name) == (2, "arm::b")

    @pytest.mark.parametrize(
        "method",
        [
            "get_body_indices",
            "get_frame_indices",
            "get_joint_indices",
            "get_joint_actuator_indices",
            "get_num_bodies",
            "get_num_frames",
            "get_num_joints",
            "get_num_actuators",
            "get_num_positions",
            "get_num_velocities",
            "get_num_states",
            "get_num_actuated_dofs",
            "get_model_instance",
            "get_model_instance_name",
        ],
    )
    def test_there_is_no_such_instance(self, tree: MultibodyTree, method: str) -> None:
        for index in (-1, 4):
            with pytest.raises(
                mbt.ElementIndexError, match=rf"model_instance: .*0 <= index < 4\), got {index}"
            ):
                getattr(tree, method)(index)
        by_index = method in ("get_model_instance", "get_model_instance_name")
        error = mbt.ArgumentTypeError if by_index else mbt.UnknownNameError
        with pytest.raises(error, match=r"model_instance.*'armm'"):
            getattr(tree, method)("armm")
        if not by_index:
            assert getattr(tree, method)("arm") == getattr(tree, method)(2)
        assert getattr(tree, method)(tree.model_instances[2]) == getattr(tree, method)(2)
        # An instance of another tree is refused, although its index is valid here.
        other = tree.edit().model_instances[2]
        with pytest.raises(mbt.ForeignElementError, match=r"model_instance: .* 'arm' of another tree"):
            getattr(tree, method)(other)

    def test_a_model_instance_is_no_index_of_others(self, tree: MultibodyTree) -> None:
        arm = tree.model_instances[2]
        for get, kind in ((tree.get_body, "body"), (tree.get_joint_actuator, "joint actuator")):
            message = f"expected the index of a {kind}, got model instance 'arm'"
            with pytest.raises(mbt.ArgumentTypeError, match=message):
                get(arm)


class TestArrays:
    def test_out_and_in(self, tree: MultibodyTree) -> None:
        q, v, u = np.arange(17.0), np.arange(15.0), np.arange(3.0)
        assert tree.get_positions_from_array(3, q).tolist() == [2, *range(3, 10)]
        assert tree.get_velocities_from_array(3, v).tolist() == [2, *range(3, 9)]
        assert tree.get_actuation_from_array(2, u).tolist() == [1, 2]
        tree.set_positions_in_array(2, [10, 20], q)
        tree.set_velocities_in_array(2, [30, 40], v)
        tree.set_actuation_in_array(3, [50], u)
        assert q.tolist() == [10, 20, *range(2, 17)]
        assert v.tolist() == [30, 40, *range(2, 15)]
        assert u.tolist() == [50, 1, 2]

    def test_in_a_batch(self, tree: MultibodyTree) -> None:
        u = np.zeros((4, 5, 3))
        tree.set_actuation_in_array(2, np.ones((4, 5, 2)), u)
        assert u[..., 0].max() == 0
        assert (tree.get_actuation_from_array(2, u) == 1).all()
        assert tree.get_positions_from_array(2, np.zeros((4, 17))).shape == (4, 2)

    def test_instances_together_are_the_whole(self, tree: MultibodyTree) -> None:
        q = np.arange(17.0)
        copy = np.full(17, -1.0)
        for instance in tree.model_instances:
            tree.set_positions_in_array(instance, tree.get_positions_from_array(instance, q), copy)
        assert copy.tolist() == q.tolist()

    def test_refused(self, tree: MultibodyTree) -> None:
        u = np.zeros(3)
        for values, whole, error, message in (
            ([1.0], u, mbt.ShapeError, r"u_instance: expected shape \(2,\), got \(1,\)"),
            ([1.0, 2.0], np.zeros(4), mbt.ShapeError, r"u: expected shape \(3,\), got \(4,\)"),
            ([1.0, 2.0], [0, 0, 0], mbt.ArgumentTypeError, "u: expected a float64"),
            ([1.0, "x"], u, mbt.ArgumentTypeError, "u_instance: expected real numbers"),
        ):
            with pytest.raises(error, match=message):
                tree.set_actuation_in_array(2, values, whole)  # type: ignore[arg-type]
        assert u.tolist() == [0, 0, 0]


class TestContext:
    def test_whole(self, tree: MultibodyTree) -> None:
        context = tree.create_default_context()
        state = np.arange(1.0, 33.0)
        tree.set_positions_and_velocities(context, state)
        assert tree.get_positions_and_velocities(context).tolist() == state.tolist()
        assert tree.get_positions(context) is context.q or (tree.get_positions(context) == context.q).all()
        tree.set_positions(context, np.ones(17))
        tree.set_velocities(context, np.full(15, 2.0))
        tree.set_actuation(context, [3, 4, 5])
        assert (context.q == 1).all()
        assert (tree.get_velocities(context) == 2).all()
        assert tree.get_actuation(context).tolist() == [3, 4, 5]

    def test_by_instance(self, tree: MultibodyTree) -> None:
        arm, gripper = 2, 3
        context = tree.create_default_context()
        q, v = context.q.copy(), context.v.copy()
        tree.set_positions(context, arm, [0.5, 0.25])
        tree.set_velocities(context, gripper, np.arange(7.0))
        tree.set_actuation(context, arm, [8, 9])
        q[:2] = 0.5, 0.25
        v[2:9] = np.arange(7.0)
        assert context.q.tolist() == q.tolist()
        assert context.v.tolist() == v.tolist()
        assert context.actuation.tolist() == [0, 8, 9]
        assert tree.get_positions(context, arm).tolist() == [0.5, 0.25]
        assert tree.get_velocities(context, gripper).tolist() == [*range(7)]
        assert tree.get_actuation(context, arm).tolist() == [8, 9]
        tree.set_positions_and_velocities(context, arm, [1, 2, 3, 4])
        assert tree.get_positions_and_velocities(context, arm).tolist() == [1, 2, 3, 4]
        assert tree.get_velocities(context, gripper).tolist() == [*range(7)]
        tree.set_positions(context, model_instance=arm, q=[0, 0])
        assert tree.get_positions(context, arm).tolist() == [0, 0]

    def test_what_is_got_is_a_copy(self, tree: MultibodyTree) -> None:
        context = tree.create_default_context()
        tree.get_positions(context, 2)[:] = 5.0
        tree.get_actuation(context)[:] = 5.0
        assert context.q[0] == 0.0
        assert context.actuation[0] == 0.0

    def test_refused(self, tree: MultibodyTree) -> None:
        context = tree.create_default_context()
        before = tree.get_positions_and_velocities(context)
        foreign = MultibodyTree()
        foreign.finalize()
        for name in ("positions", "velocities", "positions_and_velocities", "actuation"):
            get, put = getattr(tree, f"get_{name}"), getattr(tree, f"set_{name}")
            for call in (lambda c, get=get: get(c), lambda c, put=put: put(c, 2, [0.0])):
                with pytest.raises(mbt.ContextMismatchError, match="one of another tree"):
                    call(foreign.create_default_context())
                with pytest.raises(mbt.ArgumentTypeError, match="expected a Context"):
                    call(None)
            with pytest.raises(
                mbt.ArgumentTypeError, match=rf"set_{name}\(context, model_instance, .* missing"
            ):
                put(context)
            with pytest.raises(mbt.ShapeError, match=r"expected shape"):
                put(context, 2, np.zeros(99))
            with pytest.raises(mbt.ElementIndexError, match="model_instance"):
                put(context, 7, [0.0])
        # The quaternion of the ball is zero: velocities do not change either.
        with pytest.raises(mbt.SingularityError, match="quaternion of joint 'ball'"):
            tree.set_positions_and_velocities(context, 3, [0] * 8 + [9] * 7)
        assert tree.get_positions_and_velocities(context).tolist() == before.tolist()


class TestNames:
    def test_unique_in_each(self, tree: MultibodyTree) -> None:
        tree = MultibodyTree()
        for name in ("left", "right"):
            instance = tree.add_model_instance(name)
            body = tree.add_body(RigidBody("link", M_BBo_B, instance))
            tree.add_joint(RevoluteJoint, "hinge", tree.world_body, X, body, None, Z)
        assert [body.scoped_name for body in tree.bodies[1:]] == ["left::link", "right::link"]
        assert tree.has_body_named("link", 2)
        assert not tree.has_body_named("link", 1)
        assert tree.has_frame_named("hinge_parent", 3)
        assert tree.has_joint_named("hinge", tree.model_instances[3])
        with pytest.raises(
            mbt.ArgumentValueError, match="a body named 'link' already in model instance 'left'"
        ):
            tree.add_body(RigidBody("link", M_BBo_B, 2))

    @pytest.mark.parametrize(("name", "error"), [(None, mbt.ArgumentTypeError), ("", mbt.ArgumentValueError)])
    def test_need_a_name(self, name: Any, error: type[mbt.MbtError]) -> None:
        tree = MultibodyTree()
        with pytest.raises(error, match="ModelInstance: name: expected"):
            tree.add_model_instance(name)
        assert len(tree.model_instances) == 2

    def test_rename(self) -> None:
        tree = MultibodyTree()
        arm = tree.add_model_instance("arm")
        body = tree.add_body(RigidBody("link", M_BBo_B, arm))
        tree.add_joint(RevoluteJoint, "hinge", tree.world_body, None, body, None, Z)
        tree.rename_model_instance(tree.model_instances[arm], "left arm")
        assert body.scoped_name == "left arm::link"
        assert tree.get_model_instance_by_name("left arm") == arm
        assert not tree.has_model_instance_named("arm")
        assert tree.add_model_instance("arm") == arm + 1  # The old name is free again.
        tree.finalize()
        assert tree.topology.body_names == ("world", "left arm::link")
        with pytest.raises(mbt.AlreadyFinalizedError, match="rename_model_instance"):
            tree.rename_model_instance(arm, "right arm")


def test_the_instance_of_world_is_not_for_bodies_of_readers():
    """If one of the bodies that a reader adds at once is in it, none is added."""
    tree = mbt.MultibodyTree()
    bodies = [
        mbt.RigidBody(name, mbt.SpatialInertia.zero(), model_instance=instance)
        for name, instance in (("good", 1), ("bad", 0))
    ]
    with pytest.raises(mbt.ArgumentValueError, match="'bad': model_instance: instance 0 is for the world"):
        tree._elements.add_model(bodies, [], [], [])
    assert tree.num_bodies == 1
