"""finalize(): node order, ephemeral joints, mobilizers, and the arrays of the compiled core."""

from __future__ import annotations

import numpy as np
import pytest

from mbt.math import SpatialInertia, inverse_pose, make_pose
from mbt.tree import (
    FixedOffsetFrame,
    MultibodyTree,
    PrismaticJoint,
    PrismaticMobilizer,
    QuaternionFloatingJoint,
    QuaternionFloatingMobilizer,
    RevoluteJoint,
    RevoluteMobilizer,
    RigidBody,
    UniformGravityFieldElement,
    WeldJoint,
    WeldMobilizer,
)
from mbt.tree.finalization import make_arrays, make_plan

Z = [0.0, 0.0, 1.0]
M_BBo_B = SpatialInertia(2.0, [0.1, 0.2, 0.3], np.diag([1.0, 1.1, 1.2]))


def add_bodies(tree: MultibodyTree, names: str) -> list[RigidBody]:
    return [tree.add_body(RigidBody(name, M_BBo_B)) for name in names.split()]


def test_world_alone(tree: MultibodyTree) -> None:
    tree.finalize()
    assert tree.is_finalized
    assert tree.topology_is_valid
    assert (tree.num_positions, tree.num_velocities, tree.num_states, tree.tree_height) == (0, 0, 0, 1)
    assert tree.world_body.node_index == 0
    assert tree.world_body.inboard_mobilizer is None
    assert tree.world_body.inboard_joint is None
    assert repr(tree) == "<MultibodyTree: 1 body, 0 joints, 0 positions, 0 velocities, no gravity>"


def test_depth_first_order(tree: MultibodyTree) -> None:
    """Nodes, positions and velocities follow the tree, indices the order of addition.

    world -j0> b -j3(weld)> d
          -j1> a -j2(slide)> c
    """
    a, b, c, d = add_bodies(tree, "a b c d")
    j0 = tree.add_joint(RevoluteJoint, "j0", tree.world_body, None, b, None, Z)
    j1 = tree.add_joint(QuaternionFloatingJoint, "j1", tree.world_body, None, a, None)
    j2 = tree.add_joint(PrismaticJoint, "j2", a, None, c, None, Z)
    j3 = tree.add_joint(WeldJoint, "j3", b, None, d, None)
    tree.finalize()

    assert [body.node_index for body in (tree.world_body, b, d, a, c)] == [0, 1, 2, 3, 4]
    assert [tree.bodies[i].name for i in tree.topology.body] == ["world", "b", "d", "a", "c"]
    assert (tree.num_positions, tree.num_velocities, tree.num_states) == (9, 8, 17)
    assert [joint.position_start for joint in (j0, j3, j1, j2)] == [0, 1, 1, 8]
    assert [joint.velocity_start for joint in (j0, j3, j1, j2)] == [0, 1, 1, 7]
    assert tree.tree_height == 3

    # Mobilizers come in the order of the joints.
    assert [mobilizer.joint for mobilizer in tree.mobilizers] == [j0, j1, j2, j3]
    assert [joint.mobilizer for joint in tree.joints] == list(tree.mobilizers)
    assert [mobilizer.index for mobilizer in tree.mobilizers] == [0, 1, 2, 3]
    assert tree.num_mobilizers == tree.num_bodies - 1
    assert a.inboard_mobilizer is j1.mobilizer
    assert a.inboard_joint is j1
    assert (j2.mobilizer.position_start, j2.mobilizer.velocity_start) == (8, 7)
    assert (j2.mobilizer.inboard_body, j2.mobilizer.outboard_body) == (a, c)
    assert (j2.mobilizer.name, j2.mobilizer.model_instance) == ("j2", 1)
    assert not j2.mobilizer.is_reversed
    assert j2.mobilizer.is_ephemeral


class TestEphemeralJoints:
    def test_free_body(self, tree: MultibodyTree) -> None:
        arm = tree.add_model_instance("arm")
        ball = tree.add_body(RigidBody("ball", M_BBo_B, arm))
        tree.finalize()
        (joint,) = tree.joints
        assert isinstance(joint, QuaternionFloatingJoint)
        assert joint.is_ephemeral
        assert (joint.name, joint.model_instance, joint.index) == ("ball", arm, 0)
        assert joint.frame_on_parent is tree.world_frame
        assert joint.frame_on_child is ball.body_frame
        assert tree.num_joints == tree.num_mobilizers == 1
        assert tree.num_frames == 2
        assert joint.mobilizer.model_instance == arm
        assert tree.get_joint_by_name("ball") is joint
        assert tree.default_positions.tolist() == [1, 0, 0, 0, 0, 0, 0]

    def test_only_the_base_of_a_group_is_free(self, tree: MultibodyTree) -> None:
        torso, leg = add_bodies(tree, "torso leg")
        tree.add_joint(RevoluteJoint, "hip", torso, None, leg, None, Z)
        tree.finalize()
        assert [joint.name for joint in tree.joints] == ["hip", "torso"]
        assert [joint.is_ephemeral for joint in tree.joints] == [False, True]
        assert (torso.node_index, leg.node_index) == (1, 2)

    def test_name_clashes(self, tree: MultibodyTree) -> None:
        """A joint `a` exists: so body `a` gets the free joint `a_`, and body `a_` gets `a__`."""
        a, a_, b = add_bodies(tree, "a a_ b")
        tree.add_joint(WeldJoint, "a", tree.world_body, None, b, None)
        tree.finalize()
        assert a.inboard_joint is not None
        assert a_.inboard_joint is not None
        assert (a.inboard_joint.name, a_.inboard_joint.name) == ("a_", "a__")

    def test_names_in_other_instances_do_not_clash(self, tree: MultibodyTree) -> None:
        left, right = tree.add_model_instance("left"), tree.add_model_instance("right")
        for instance in (left, right):
            tree.add_body(RigidBody("ball", M_BBo_B, instance))
        tree.finalize()
        assert [(joint.name, joint.model_instance) for joint in tree.joints] == [
            ("ball", left),
            ("ball", right),
        ]


class TestReversedJoints:
    """
    world <j0- a -j1> b <j2- c <j3- d
    """

    @pytest.fixture
    def reversed_tree(self, tree: MultibodyTree) -> MultibodyTree:
        a, b, c, d = add_bodies(tree, "a b c d")
        tree.add_joint(RevoluteJoint, "j0", a, make_pose(), tree.world_body, make_pose(), [0, 0, 2])
        tree.add_joint(PrismaticJoint, "j1", a, None, b, None, Z)
        tree.add_joint(PrismaticJoint, "j2", c, None, b, None, [0, 1, 0])
        tree.add_joint(WeldJoint, "j3", d, None, c, None, make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3]))
        tree.finalize()
        return tree

    def test_direction(self, reversed_tree: MultibodyTree) -> None:
        mobilizers = [joint.mobilizer for joint in reversed_tree.joints]
        assert [mobilizer.is_reversed for mobilizer in mobilizers] == [True, False, True, True]
        for joint, mobilizer in zip(reversed_tree.joints, mobilizers, strict=True):
            frames = (joint.frame_on_child, joint.frame_on_parent)
            if not mobilizer.is_reversed:
                frames = frames[::-1]
            assert (mobilizer.inboard_frame, mobilizer.outboard_frame) == frames
            assert mobilizer.inboard_body.node_index < mobilizer.outboard_body.node_index

    def test_quantities_of_the_mobilizer_are_inboard_to_outboard(self, reversed_tree: MultibodyTree) -> None:
        j0, j1, j2, j3 = reversed_tree.joints
        assert isinstance(j0, RevoluteJoint)
        assert j0.revolute_axis.tolist() == [0, 0, 1]
        assert isinstance(j0.mobilizer, RevoluteMobilizer)
        assert j0.mobilizer.revolute_axis.tolist() == [0, 0, -1]
        assert isinstance(j1.mobilizer, PrismaticMobilizer)
        assert j1.mobilizer.translation_axis.tolist() == [0, 0, 1]
        assert isinstance(j2.mobilizer, PrismaticMobilizer)
        assert j2.mobilizer.translation_axis.tolist() == [0, -1, 0]
        assert isinstance(j3, WeldJoint)
        assert isinstance(j3.mobilizer, WeldMobilizer)
        assert np.array_equal(j3.mobilizer.X_FM, inverse_pose(j3.X_FM))
        assert "reversed" in repr(j3.mobilizer)


class TestExplicitMobilizers:
    def test_all_bodies(self, tree: MultibodyTree) -> None:
        a, b, c, d = add_bodies(tree, "a b c d")
        F = tree.add_frame(FixedOffsetFrame("F", b, make_pose([1, 0, 0])))
        tree.add_mobilizer(RevoluteMobilizer(tree.world_frame, a.body_frame, Z))
        tree.add_mobilizer(QuaternionFloatingMobilizer(a.body_frame, b.body_frame))
        tree.add_mobilizer(WeldMobilizer(F, c.body_frame, make_pose([0, 1, 0])))
        tree.add_mobilizer(PrismaticMobilizer(c.body_frame, d.body_frame, [1, 0, 0]))
        tree.finalize()
        assert tree.num_joints == 0
        assert tree.num_positions == 9
        assert [mobilizer.position_start for mobilizer in tree.mobilizers] == [0, 1, 8, 8]
        assert [mobilizer.joint for mobilizer in tree.mobilizers] == [None] * 4
        assert not any(mobilizer.is_ephemeral for mobilizer in tree.mobilizers)
        assert c.inboard_mobilizer is tree.mobilizers[2]
        assert c.inboard_joint is None
        assert tree.default_positions.tolist() == [0, 1, 0, 0, 0, 0, 0, 0, 0]
        assert tree.position_lower_limits.tolist() == [-np.inf] * 9

    def test_indices_stay_when_joints_are_added_before(self, tree: MultibodyTree) -> None:
        a, b, c = add_bodies(tree, "a b c")
        joint = tree.add_joint(WeldJoint, "j", tree.world_body, None, a, None)
        mobilizer = tree.add_mobilizer(WeldMobilizer(tree.world_frame, b.body_frame))
        tree.finalize()
        assert (mobilizer.index, joint.mobilizer.index) == (0, 1)
        assert [m.outboard_body for m in tree.mobilizers] == [b, a, c]
        assert [body.node_index for body in (a, b, c)] == [1, 2, 3]


def test_default_positions_and_limits(tree: MultibodyTree) -> None:
    a, b, c = add_bodies(tree, "a b c")
    tree.add_joint(RevoluteJoint, "j0", tree.world_body, None, c, None, Z, -1, 2).set_default_angle(0.5)
    j1 = tree.add_joint(PrismaticJoint, "j1", c, None, b, None, Z, 0, 3)
    j1.set_default_translation(1.5).set_velocity_limits([-4], [5]).set_acceleration_limits([-6], [7])
    j2 = tree.add_joint(QuaternionFloatingJoint, "j2", b, None, a, None)
    j2.set_default_pose(make_pose([1, 2, 3], rpy=[np.pi, 0, 0]))
    tree.finalize()
    inf6 = [np.inf] * 6
    assert np.allclose(tree.default_positions, [0.5, 1.5, 0, 1, 0, 0, 1, 2, 3], atol=1e-15)
    assert tree.position_lower_limits.tolist() == [-1, 0, -np.inf, *(-x for x in inf6)]
    assert tree.position_upper_limits.tolist() == [2, 3, np.inf, *inf6]
    assert tree.velocity_lower_limits.tolist() == [-np.inf, -4, *(-x for x in inf6)]
    assert tree.velocity_upper_limits.tolist() == [np.inf, 5, *inf6]
    assert tree.acceleration_lower_limits.tolist() == [-np.inf, -6, *(-x for x in inf6)]
    assert tree.acceleration_upper_limits.tolist() == [np.inf, 7, *inf6]
    assert tree.create_default_context().q.tolist() == tree.default_positions.tolist()


def test_arrays_of_the_compiled_core(tree: MultibodyTree) -> None:
    """
    world -slider> a <hinge- b        c
    """
    a, b, c = add_bodies(tree, "a b c")
    X_PF, X_BM, X_MT = make_pose([1, 0, 0]), make_pose([0, 1, 0]), make_pose([0, 0, 1])
    hinge = tree.add_joint(RevoluteJoint, "hinge", b, X_PF, a, X_BM, [0, 2, 0], damping=0.25)
    tool = tree.add_frame(FixedOffsetFrame("tool", hinge.frame_on_child, X_MT))
    slider = tree.add_joint(PrismaticJoint, "slider", tree.world_body, None, a, None, [3, 0, 0], damping=0.5)
    slider.set_default_translation(0.75)
    tree.add_force_element(UniformGravityFieldElement([1, 2, 3]))
    tree.add_joint_actuator("motor", hinge, rotor_inertia=0.01, gear_ratio=5)
    c_inertia = SpatialInertia(5.0, [0, 0, 0], np.diag([1.0, 1.0, 1.0]))
    c._M_BBo_B = c_inertia

    plan = make_plan(tree._elements)
    arrays = make_arrays(tree._elements, plan)

    assert [tree.bodies[i] for i in plan.forest.body] == [tree.world_body, a, b, c]
    assert tree.joints == (hinge, slider)  # Nothing has changed.
    expected: dict[str, list[object]] = {
        "parent_node": [-1, 0, 1, 0],
        "mobilizer_type": [0, 2, 1, 3],
        "mobilizer_reversed": [0, 0, 1, 0],
        "inboard_frame": [0, 0, hinge.frame_on_child.index, 0],
        "outboard_frame": [0, a.body_frame.index, hinge.frame_on_parent.index, c.body_frame.index],
        "q_start": [0, 0, 1, 2, 9],
        "v_start": [0, 0, 1, 2, 8],
        # world, a, b, c, hinge_parent, hinge_child, tool
        "frame_parent": [-1, -1, -1, -1, 2, 1, hinge.frame_on_child.index],
        "frame_node": [0, 1, 2, 3, 2, 1, 1],
        "joint_frame": [hinge.frame_on_child.index, slider.frame_on_child.index, c.body_frame.index],
        "joint_node": [2, 1, 3],
        "actuator_dof": [1],
        "mass": [0, 2, 2, 5],
        "p_BoBcm_B": [[0, 0, 0], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0, 0, 0]],
        "G_BBo_B": [[0] * 6, [1, 1.1, 1.2, 0, 0, 0], [1, 1.1, 1.2, 0, 0, 0], [1, 1, 1, 0, 0, 0]],
        "J_BBo_B": [[0] * 6] * 4,
        "gravity": [1, 2, 3],
        "damping": [0.5, 0.25, 0, 0, 0, 0, 0, 0],
        "rotor_inertia": [0.01],
        "gear_ratio": [5],
        "default_q": [0.75, 0, 1, 0, 0, 0, 0, 0, 0],
    }
    for name, values in expected.items():
        assert np.array(arrays[name]).tolist() == values, name
    constants = arrays["mobilizer_constants"]
    assert [len(values) for values in constants][:3] == [16, 3, 3]
    assert [values.tolist() for values in constants[1:3]] == [[1, 0, 0], [0, 1, 0]]  # As declared.
    poses = arrays["frame_X_PF"]
    assert poses[:4].tolist() == [np.eye(4).tolist()] * 4
    assert poses[4:].tolist() == [X_PF.tolist(), X_BM.tolist(), X_MT.tolist()]
    assert tool.index == 6

    assert arrays["force_type"] == arrays["force_places"] == arrays["force_parameters"] == []
    assert arrays["user_force_elements"] == ()
    assert arrays["weightless"] == [0, 0, 0, 0]

    # Every other array is what the compiled core takes without a conversion.
    integers = {
        *("parent_node", "mobilizer_type", "mobilizer_reversed", "q_start", "v_start", "inboard_frame"),
        *("outboard_frame", "frame_parent", "frame_node", "joint_frame"),
        *("joint_node", "actuator_dof"),
    }
    lists = {
        *("mobilizer_constants", "force_type", "force_places", "force_parameters"),
        *("constraint_type", "constraint_places", "constraint_parameters"),
        *("user_force_elements", "weightless"),
    }
    assert arrays.keys() == expected.keys() | {"frame_X_PF"} | lists
    for name in arrays.keys() - lists:
        array = arrays[name]
        if name in integers:
            assert type(array) is list, name
            assert set(map(type, array)) == {int}, name
        else:
            assert array.dtype == np.float64, name
            assert array.flags.c_contiguous, name


def test_long_chain(tree: MultibodyTree) -> None:
    parent = tree.world_body
    for i in range(10_000):
        body = tree.add_body(RigidBody(f"b{i}", M_BBo_B))
        tree.add_joint(RevoluteJoint, f"j{i}", parent, None, body, None, Z)
        parent = body
    tree.finalize()
    assert tree.tree_height == 10_001
    assert parent.node_index == 10_000
    assert tree.num_positions == 10_000
