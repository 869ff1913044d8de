"""`tree.edit()`: a copy that can be changed, and is the same model until then."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import mbt
from support.build import build_tree
from support.declaring_elements import Boom, Spring
from support.force_element_types import make_everything
from support.joint_types import JOINT_TYPES, add_joint_of_type, add_random_body, random_state
from support.random_trees import CATALOGUE
from support.user_elements import Flange, NamedGravity, Robot, Sensor

BALL = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
SHAPE = mbt.Shape("sphere", (0.1,))


def _names(tree: mbt.MultibodyTree) -> list[list[tuple[str, str, int, int]]]:
    """Type, name, index and model instance of every element, by kind."""
    return [
        [(type(e).__name__, e.name, e.index, e.model_instance) for e in kind]
        for kind in (
            tree.bodies,
            tree.frames,
            tree.joints,
            tree.mobilizers,
            tree.force_elements,
            tree.joint_actuators,
            tree.constraints,
            tree.model_instances,
        )
    ]


def _assert_same_bits(tree: mbt.MultibodyTree, twin: mbt.MultibodyTree) -> None:
    context = random_state(tree, np.random.default_rng(8))
    other = twin.create_default_context()
    np.testing.assert_array_equal(twin.default_positions, tree.default_positions)
    other.q, other.v = context.q, context.v
    for calc in ("calc_mass_matrix", "calc_bias_term", "calc_forward_dynamics", "calc_potential_energy"):
        np.testing.assert_array_equal(getattr(twin, calc)(other), getattr(tree, calc)(context))
    for kinematics in ("X_WB", "X_BF"):
        np.testing.assert_array_equal(
            getattr(twin.eval_position_kinematics(other), kinematics),
            getattr(tree.eval_position_kinematics(context), kinematics),
        )


class TestTheCopy:
    @pytest.mark.parametrize("shape", CATALOGUE)
    def test_every_shape_computes_identical_bits(self, shape: str) -> None:
        tree = build_tree(CATALOGUE[shape]())
        work = tree.edit()
        assert not work.is_finalized
        work.finalize()
        assert _names(work) == _names(tree)
        _assert_same_bits(tree, work)

    def test_every_joint_in_both_directions_and_every_force_element(self) -> None:
        tree = make_everything()
        before = _names(tree)
        work = tree.edit()
        work.finalize()
        assert _names(work) == _names(tree) == before
        _assert_same_bits(tree, work)

    def test_mobilizers_without_joints(self) -> None:
        rng = np.random.default_rng(1)
        tree = mbt.MultibodyTree()
        arm = tree.add_model_instance("arm")
        first, second = (add_random_body(tree, rng, name, arm) for name in ("first", "second"))
        free = add_random_body(tree, rng, "free")
        tree.add_mobilizer(mbt.RevoluteMobilizer(tree.world_frame, first.body_frame, [0, 0, 1]))
        add_joint_of_type(tree, "ball_rpy", "ball", first, second, rng, is_reversed=True)
        tree.add_mobilizer(mbt.PlanarMobilizer(second.body_frame, add_random_body(tree, rng, "p").body_frame))
        tree.finalize()
        work = tree.edit()
        assert [m.name for m in work.mobilizers] == ["first", "p"]
        assert [j.name for j in work.joints] == ["ball"]
        assert tree.joints[-1].child_body is free
        with pytest.raises(mbt.NotFinalizedError):
            _ = work.mobilizers[0].position_start
        with pytest.raises(mbt.NotFinalizedError):
            _ = work.joints[0].mobilizer
        with pytest.raises(mbt.NotFinalizedError):
            _ = work.bodies[1].inboard_mobilizer
        work.finalize()
        _assert_same_bits(tree, work)

    def test_names_that_finalize_took_are_free_again(self) -> None:
        tree = mbt.MultibodyTree()
        ball = tree.add_body(mbt.RigidBody("ball", BALL))
        tree.finalize()
        assert tree.joints[0].name == "ball"
        work = tree.edit()
        assert not work.has_joint_named("ball")
        work.add_joint(mbt.WeldJoint, "ball", work.world_body, None, work.bodies[ball.index], None)
        work.finalize()
        assert work.num_positions == 0

    def test_couplers_shapes_defaults_and_reports(self) -> None:
        text = """<robot name="grip"><link name="palm"><visual><geometry><sphere radius="1"/></geometry>
          </visual></link><link name="a"/><link name="b"/>
          <joint name="ja" type="prismatic"><parent link="palm"/><child link="a"/><axis xyz="1 0 0"/>
            <limit lower="-1" upper="2" velocity="3" effort="4"/></joint>
          <joint name="jb" type="prismatic"><parent link="palm"/><child link="b"/><axis xyz="1 0 0"/>
            <mimic joint="ja" multiplier="-1" offset="0.5"/>
            <limit lower="-1" upper="2" velocity="3" effort="4"/></joint></robot>"""
        with pytest.warns(mbt.ModelWarning):
            tree = mbt.load_model(text, actuators="all")
        tree.finalize_report  # noqa: B018 - nothing of it is kept
        work = tree.edit()
        work.bodies[1].add_collision(SHAPE)
        (coupler,) = work.constraints
        assert isinstance(coupler, mbt.CouplerConstraint)
        assert coupler.joint0 is work.joints[tree.get_joint_by_name("jb").index]
        assert (coupler.default_gear_ratio, coupler.default_offset) == (-1.0, 0.5)
        assert work.bodies[1].visuals == tree.bodies[1].visuals
        assert work.bodies[1].collisions == (SHAPE,) != tree.bodies[1].collisions
        for joint, twin in zip(tree.joints, work.joints, strict=True):
            assert twin.effort_limit == joint.effort_limit
            np.testing.assert_array_equal(twin.velocity_upper_limits, joint.velocity_upper_limits)
        assert [str(report) for report in work.parse_reports] == [str(r) for r in tree.parse_reports]
        assert work.parse_reports[0] is not tree.parse_reports[0]
        assert work.joint_actuators[0].joint is work.joints[tree.joint_actuators[0].joint.index]

    def test_the_original_and_its_contexts_remain(self) -> None:
        tree = make_everything()
        context = random_state(tree, np.random.default_rng(2))
        before = tree.calc_forward_dynamics(context)
        work = tree.edit()
        work.bodies[1].set_default_spatial_inertia(BALL)
        work.remove(work.joint_actuators[0])
        work.finalize()
        np.testing.assert_array_equal(tree.calc_forward_dynamics(context), before)
        assert tree.num_actuators == work.num_actuators + 1
        with pytest.raises(mbt.ContextMismatchError):
            work.calc_mass_matrix(context)

    def test_a_tree_that_is_not_finalized(self) -> None:
        tree = mbt.MultibodyTree()
        tree.add_body(mbt.RigidBody("ball", BALL))
        work = tree.edit()
        work.add_body(mbt.RigidBody("other", BALL))
        assert (tree.num_bodies, work.num_bodies) == (2, 3)
        tree.finalize()
        work.finalize()
        assert work.num_positions == 2 * tree.num_positions

    def test_it_is_another_family(self) -> None:
        tree = make_everything()
        work = tree.edit()
        work.finalize()
        with pytest.raises(mbt.ForeignElementError, match="neither a clone of this one nor its original"):
            work.get_variant(tree.bodies[1])
        again = work.edit()
        again.finalize()
        with pytest.raises(mbt.ForeignElementError):
            again.get_variant(work.bodies[1])
        assert work.clone().get_variant(work.bodies[1]).name == work.bodies[1].name

    @pytest.mark.parametrize("scalar", ["autodiff", "sympy"])
    def test_a_clone_of_another_scalar_gives_doubles(self, scalar: str) -> None:
        tree = make_everything()
        work = tree.clone_to_scalar(scalar).edit()
        assert type(work) is mbt.MultibodyTree
        work.finalize()
        assert work.scalar_type.name == "double"
        _assert_same_bits(tree, work)

    def test_it_can_be_edited_pickled_and_cloned_at_any_stage(self) -> None:
        import pickle

        tree = make_everything(user_written=False)
        work = tree.edit()
        for twin in (pickle.loads(pickle.dumps(work)), work.clone(), work.edit()):
            twin.finalize()
            _assert_same_bits(tree, twin)

    def test_many_threads_edit_one_tree(self) -> None:
        tree = make_everything()
        made: list[mbt.MultibodyTree] = []

        def edit() -> None:
            work = tree.edit()
            work.finalize()
            made.append(work)

        threads = [threading.Thread(target=edit) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 4
        for work in made:
            _assert_same_bits(tree, work)


class Wired(mbt.ForceElement):
    """Clones itself, because its handle cannot be copied."""

    def __init__(self, body: mbt.RigidBody, handle: Any) -> None:
        super().__init__(body.model_instance)
        self.body, self.handle = body, handle

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        forces.body_forces[..., self.body.node_index, 5] += 1.0

    def do_clone_to_scalar(self, tree_clone: mbt.MultibodyTree) -> Wired:
        return Wired(tree_clone.get_variant(self.body), self.handle)


class TestElementsOfUsers:
    def test_declared_parameters(self) -> None:
        tree = mbt.MultibodyTree()
        link = tree.add_body(mbt.RigidBody("link", BALL))
        hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, [0, 0, 1])
        spring = tree.add_force_element(Spring(hinge))
        tree.add_frame(Boom("boom", link))
        tree.finalize()
        work = tree.edit()
        twin = work.force_elements[spring.index]
        assert isinstance(twin, Spring)
        assert twin.joint is work.joints[0]
        twin.default_stiffness = 7.0
        work.finalize()
        context, other = tree.create_default_context(), work.create_default_context()
        assert context.get_numeric_parameter(spring.stiffness)[0] == 3.0
        assert other.get_numeric_parameter(twin.stiffness)[0] == 7.0
        np.testing.assert_allclose(
            3.0 * work.calc_forward_dynamics(other), 7.0 * tree.calc_forward_dynamics(context)
        )

    def test_those_that_clone_themselves(self) -> None:
        tree = mbt.MultibodyTree()
        link = tree.add_body(mbt.RigidBody("link", BALL))
        handle = (step for step in range(3))
        tree.add_force_element(Wired(link, handle))
        tree.finalize()
        work = tree.edit()
        (twin,) = work.force_elements
        assert isinstance(twin, Wired)
        assert twin.handle is handle
        assert twin.body is work.bodies[1]
        work.finalize()
        _assert_same_bits(tree, work)

    def test_attributes_of_all_sorts(self) -> None:
        tree = Robot("R2")
        link = tree.add_body(mbt.RigidBody("link", BALL))
        hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, [0, 0, 1])
        tree.tool = tree.add_frame(Flange("flange", link, bolts=6))
        tree.add_frame(Sensor("sensor", link))
        tree.add_force_element(NamedGravity("Mars", [hinge], {"seen": [link]}))
        tree.finalize()
        work = tree.edit()
        assert type(work) is Robot
        assert work.serial_number == "R2"
        assert work.tool is work.get_frame_by_name("flange")
        assert isinstance(work.tool, Flange)
        assert work.tool.bolts == 6
        gravity = work.gravity_field
        assert isinstance(gravity, NamedGravity)
        assert gravity.joints == [work.joints[0]]
        assert gravity.notes == {"seen": [work.bodies[1]]}
        work.finalize()
        _assert_same_bits(tree, work)

    def test_a_hook_may_copy_its_tree(self) -> None:
        class Curious(mbt.ForceElement):
            copies: list[mbt.MultibodyTree]

            def do_declare_parameters(self) -> None:
                self.copies = [self.parent_tree.edit()]

            def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
                pass

        tree = mbt.MultibodyTree()
        curious = tree.add_force_element(Curious())
        tree.finalize()
        (work,) = curious.copies
        work.add_body(mbt.RigidBody("late", BALL))
        work.finalize()
        assert work.num_velocities == 6


class TestJointsOnFrames:
    """`add_joint` takes a frame where it takes a body."""

    @pytest.mark.parametrize("kind", JOINT_TYPES)
    def test_it_is_the_joint_between_poses_that_are_the_same(self, kind: str) -> None:
        def build(on_frames: bool) -> mbt.MultibodyTree:
            rng = np.random.default_rng(3)
            tree = mbt.MultibodyTree()
            base, tip = (add_random_body(tree, rng, name) for name in ("base", "tip"))
            poses = [mbt.math.make_pose(rng.normal(size=3), rpy=rng.normal(size=3)) for _ in range(4)]
            name, arguments, _ = JOINT_TYPES[kind]
            joint = getattr(mbt, name)
            if on_frames:
                P = tree.add_frame(mbt.FixedOffsetFrame("P", base, poses[0]))
                B = tree.add_frame(mbt.FixedOffsetFrame("B", tip, poses[1]))
                tree.add_joint(joint, "joint", P, poses[2], B, poses[3], **arguments())
            else:
                tree.add_joint(
                    joint, "joint", base, poses[0] @ poses[2], tip, poses[1] @ poses[3], **arguments()
                )
            tree.finalize()
            return tree

        tree, other = build(False), build(True)
        context = random_state(tree, np.random.default_rng(4))
        twin = other.create_default_context()
        twin.q, twin.v = context.q, context.v
        np.testing.assert_allclose(
            other.calc_mass_matrix(twin), tree.calc_mass_matrix(context), rtol=1e-12, atol=1e-12
        )

    def test_without_a_pose_it_is_the_frame(self) -> None:
        tree = mbt.MultibodyTree()
        arm = tree.add_model_instance("arm")
        link = tree.add_body(mbt.RigidBody("link", BALL))
        tool = tree.add_body(mbt.RigidBody("tool", BALL))
        flange = tree.add_frame(mbt.FixedOffsetFrame("flange", link, mbt.math.make_pose([0, 0, 1])))
        grip = tree.add_frame(mbt.FixedOffsetFrame("grip", tool, None, arm))
        mount = tree.add_joint(mbt.WeldJoint, "mount", flange, None, grip, None)
        assert (mount.frame_on_parent, mount.frame_on_child) == (flange, grip)
        assert mount.model_instance == arm
        other = mbt.MultibodyTree()
        with pytest.raises(mbt.ForeignElementError, match="joint 'j': parent: frame 'flange' belongs to"):
            other.add_joint(mbt.WeldJoint, "j", flange, None, other.world_body, None)


def test_a_finalized_tree_tells_of_edit() -> None:
    tree = make_everything(user_written=False)
    with pytest.raises(mbt.AlreadyFinalizedError, match=r"tree\.edit\(\)"):
        tree.add_body(mbt.RigidBody("late", BALL))
    with pytest.raises(mbt.AlreadyFinalizedError, match=r"tree\.edit\(\)"):
        tree.joints[0].set_position_limits([0.0], [1.0])
