"""Elements that are removed or renamed: the rest is as if it had been built that way."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from support.force_element_types import make_everything

BALL = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
X = mbt.math.make_pose([0.1, 0.2, 0.3])


def _add_hand(tree: mbt.MultibodyTree, wrist: mbt.RigidBody) -> None:
    """A palm on the wrist with two fingers, and all that can act on them."""
    hand = tree.add_model_instance("hand")
    palm, left, right = (tree.add_body(mbt.RigidBody(n, BALL, hand)) for n in ("palm", "left", "right"))
    tree.add_joint(mbt.RevoluteJoint, "turn", tree.get_frame_by_name("flange"), None, palm, X, [0, 0, 1])
    slides = [
        tree.add_joint(mbt.PrismaticJoint, f"slide_{finger.name}", palm, X, finger, None, [1, 0, 0])
        # The joint of the right one is declared the other way round.
        if finger is left
        else tree.add_joint(mbt.PrismaticJoint, "slide_right", finger, None, palm, X, [1, 0, 0])
        for finger in (left, right)
    ]
    tree.add_constraint(mbt.CouplerConstraint("grip", slides[1], slides[0], -1.0))
    tree.add_joint_actuator("grip", slides[0])
    tree.add_force_element(mbt.PrismaticSpring(slides[0], 0.1, 2.0))
    tree.add_force_element(mbt.LinearSpringDamper(wrist, [0, 0, 1], left, [0, 0, 0], 0.1, 2.0, 0.3))
    tree.add_frame(mbt.FixedOffsetFrame("tip", left, X))


def _arm(*, with_hand: bool, more: bool = True) -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    bodies = [tree.add_body(mbt.RigidBody(name, BALL)) for name in ("upper", "wrist")]
    tree.add_joint(mbt.RevoluteJoint, "shoulder", tree.world_body, None, bodies[0], None, [0, 1, 0])
    elbow = tree.add_joint(mbt.RevoluteJoint, "elbow", bodies[0], X, bodies[1], None, [0, 1, 0])
    tree.add_frame(mbt.FixedOffsetFrame("flange", bodies[1], X))
    if with_hand:
        _add_hand(tree, bodies[1])
    else:
        tree.add_model_instance("hand")
    if more:
        # Elements added later get smaller indices when the hand is removed.
        lamp = tree.add_body(mbt.RigidBody("lamp", BALL))
        tree.add_joint(mbt.WeldJoint, "hook", bodies[1], X, lamp, None)
        tree.add_joint_actuator("motor", elbow)
        tree.add_force_element(mbt.UniformGravityFieldElement())
    return tree


def _summary(tree: mbt.MultibodyTree) -> list[Any]:
    kinds = (tree.bodies, tree.frames, tree.joints, tree.force_elements, tree.joint_actuators)
    return [[(e.name, e.index, e.ordinal, repr(e)) for e in kind] for kind in (*kinds, tree.constraints)]


def _without_numbers(summary: list[Any]) -> list[Any]:
    """Generated names of force elements keep the index that they were made with."""
    return [[entry[0].split("_")[0] for entry in kind] for kind in summary]


def _assert_computes_alike(tree: mbt.MultibodyTree, other: mbt.MultibodyTree) -> None:
    tree.finalize()
    other.finalize()
    assert tree.num_positions == other.num_positions
    q = np.random.default_rng(1).normal(size=tree.num_positions)
    for function in (mbt.functional.mass_matrix, mbt.functional.gravity_generalized_forces):
        np.testing.assert_array_equal(function(tree, q), function(other, q))
    np.testing.assert_array_equal(
        mbt.functional.forward_dynamics(tree, q, q[: tree.num_velocities], q[: tree.num_velocities]),
        mbt.functional.forward_dynamics(other, q, q[: tree.num_velocities], q[: tree.num_velocities]),
    )


class TestSubtrees:
    def test_the_rest_is_as_if_it_had_never_been_there(self) -> None:
        tree, other = _arm(with_hand=True), _arm(with_hand=False)
        removed = tree.remove_subtree(tree.get_body_by_name("palm"))
        assert sorted(e.name for e in removed if not isinstance(e, (mbt.Frame, mbt.ForceElement))) == sorted(
            ["palm", "left", "right", "turn", "slide_left", "slide_right", "grip", "grip"]
        )
        assert _without_numbers(_summary(tree)) == _without_numbers(_summary(other))
        assert not tree.has_body_named("palm")
        assert not tree.has_frame_named("tip")
        assert tree.get_body_by_name("lamp") is tree.bodies[3]
        assert [tree.get_num_bodies(i) for i in range(3)] == [1, 3, 0]
        _assert_computes_alike(tree, other)

    def test_a_hand_for_a_hand(self) -> None:
        tree = _arm(with_hand=True)
        flange = tree.get_joint_by_name("turn").frame_on_parent
        tree.remove_subtree(tree.get_body_by_name("palm"))
        tool = tree.add_body(mbt.RigidBody("palm", BALL))
        mount = tree.add_joint(mbt.WeldJoint, "turn", flange, None, tool, None)
        assert mount.parent_body is tree.get_body_by_name("wrist")
        tree.finalize()
        assert tree.num_positions == 2

    def test_it_can_be_added_to_another_tree(self) -> None:
        tree, other = _arm(with_hand=True), _arm(with_hand=False, more=False)
        removed = tree.remove_subtree(tree.get_body_by_name("palm"))
        for element in removed:
            assert not element.has_parent_tree
            with pytest.raises(mbt.ForeignElementError):
                _ = element.ordinal
        (palm,) = (e for e in removed if e.name == "palm" and isinstance(e, mbt.RigidBody))
        with pytest.raises(mbt.ForeignElementError, match="body 'palm' belongs to no tree yet"):
            other.add_joint(mbt.WeldJoint, "mount", other.get_frame_by_name("flange"), None, palm, None)
        other.add_body(palm)
        other.add_joint(mbt.WeldJoint, "mount", other.get_frame_by_name("flange"), None, palm, None)
        other.finalize()
        assert palm.parent_tree is other
        assert palm.node_index == 3

    def test_of_a_free_body_and_of_all_but_world(self) -> None:
        tree = mbt.MultibodyTree()
        first = tree.add_body(mbt.RigidBody("first", BALL))
        second = tree.add_body(mbt.RigidBody("second", BALL))
        tree.add_joint(mbt.WeldJoint, "weld", second, None, first, None)
        work = tree.edit()
        # As in finalize(), the base of a free group is a body that is no joint's child.
        assert len(work.remove_subtree(work.bodies[2])) == 5
        assert work.num_bodies == 1
        assert len(tree.remove_subtree(first)) == 3
        tree.finalize()
        assert tree.bodies == (tree.world_body, second)

    def test_every_subtree_of_a_tree_of_everything(self) -> None:
        """Without any one, the tree computes what the full one does for the remaining elements."""
        full = make_everything(user_written=False)
        for index in (4, 9, 17, 25):
            work = full.edit()
            gone = {e.name for e in work.remove_subtree(work.bodies[index]) if isinstance(e, mbt.RigidBody)}
            assert {b.name for b in work.bodies} | gone == {b.name for b in full.bodies}
            assert not {b.name for b in work.bodies} & gone
            assert [b.index for b in work.bodies] == list(range(work.num_bodies))
            # Unpickling checks that no place, index or reference is left behind.
            work = pickle.loads(pickle.dumps(work))
            work.finalize()
            pickle.loads(pickle.dumps(work))
            context, rest = full.create_default_context(), work.create_default_context()
            X_WB = full.eval_position_kinematics(context).X_WB
            for body in work.bodies:
                np.testing.assert_array_equal(
                    work.eval_position_kinematics(rest).X_WB[body.node_index],
                    X_WB[full.get_body_by_name(body.name).node_index],
                )

    def test_a_frame_of_a_user_that_carries_other_bodies(self) -> None:
        class Follower(mbt.Frame):
            def __init__(self, body: mbt.RigidBody, model: mbt.RigidBody) -> None:
                super().__init__("follower", body)
                self.model = model

            def do_calc_pose_in_body_frame(self, parameters: Any) -> Any:
                return X

        tree = _arm(with_hand=True, more=False)
        frame = tree.add_frame(Follower(tree.bodies[1], tree.get_body_by_name("left")))
        other = tree.add_body(mbt.RigidBody("other", BALL))
        joint = tree.add_joint(mbt.WeldJoint, "carry", frame, None, other, None)
        before = _summary(tree)
        with pytest.raises(mbt.ArgumentValueError, match="joint 'carry' connects bodies that are not part"):
            tree.remove_subtree(tree.get_body_by_name("palm"))
        assert _summary(tree) == before
        tree.remove(joint)
        removed = tree.remove_subtree(tree.get_body_by_name("palm"))
        assert frame in removed
        assert other not in removed


class TestOneElement:
    def test_each_kind(self) -> None:
        tree = _arm(with_hand=True)
        for element in (
            *tree.constraints,
            *tree.joint_actuators,
            *tree.force_elements,
            tree.get_frame_by_name("tip"),
            *tree.joints,
        ):
            index = element.ordinal
            assert tree.remove(element) is element
            assert not element.has_parent_tree
            assert index >= 0
        for frame in [frame for frame in tree.frames if not frame.is_body_frame]:
            tree.remove(frame)
        for body in tree.bodies[1:]:
            tree.remove(body)
        assert tree.num_frames == 1
        tree.finalize()
        assert tree.num_velocities == 0

    def test_a_mobilizer(self) -> None:
        tree = mbt.MultibodyTree()
        ball = tree.add_body(mbt.RigidBody("ball", BALL))
        mobilizer = tree.add_mobilizer(mbt.PlanarMobilizer(tree.world_frame, ball.body_frame))
        tree.remove(mobilizer)
        tree.finalize()
        assert tree.num_velocities == 6

    def test_a_body_without_its_joint_becomes_free(self) -> None:
        tree = _arm(with_hand=False)
        tree.remove(tree.joint_actuators[0])
        elbow = tree.remove(tree.get_joint_by_name("elbow"))
        assert elbow.frame_on_parent in tree.frames
        tree.finalize()
        assert tree.num_velocities == 7

    def test_added_again(self) -> None:
        tree, other = _arm(with_hand=True), _arm(with_hand=True)
        hook = tree.remove(tree.get_joint_by_name("hook"))
        assert tree.add_joint(hook) is hook
        assert hook is tree.joints[-1]
        _assert_computes_alike(tree, other)

    def test_a_model_instance(self) -> None:
        tree = _arm(with_hand=True, more=False)
        extra = tree.add_model_instance("extra")
        last = tree.add_model_instance("last")
        lamp = tree.add_body(mbt.RigidBody("palm", BALL, last))
        gravity = tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -1], [2, extra, last]))
        tree.remove_subtree(tree.get_body_by_name("hand::palm"))
        hand, middle = tree.get_model_instance(2), tree.get_model_instance(3)
        assert tree.remove(hand) is hand
        assert tree.remove(middle) is middle
        assert not hand.has_parent_tree
        assert [instance.name for instance in tree.model_instances[2:]] == ["last"]
        assert tree.get_body_by_name("last::palm") is lamp
        assert tree.get_frame_by_name("palm", 2) is lamp.body_frame
        assert (lamp.model_instance, lamp.scoped_name) == (2, "last::palm")
        assert not gravity.is_enabled(2)
        tree.add_model_instance("hand")
        assert gravity.is_enabled(3)
        tree.finalize()
        context = tree.create_default_context()
        assert tree.calc_gravity_generalized_forces(context)[-1] == 0.0
        assert tree.joints[-1].model_instance == 2

    def test_what_was_removed_follows_its_model_instance(self) -> None:
        tree = mbt.MultibodyTree()
        instances = [tree.add_model_instance(name) for name in ("first", "second", "third")]
        bodies = [tree.remove(tree.add_body(mbt.RigidBody("ball", BALL, i))) for i in instances]
        gravity = tree.remove(
            tree.add_force_element(mbt.UniformGravityFieldElement(disabled_model_instances=instances[1:]))
        )
        elsewhere = mbt.MultibodyTree()
        elsewhere.add_model_instance("first")
        moved = tree.remove(tree.add_body(mbt.RigidBody("moved", BALL, instances[0])))
        elsewhere.add_body(moved)
        tree.remove(tree.get_model_instance(instances[0]))
        for element in (*bodies, gravity):
            tree.add_body(element) if isinstance(element, mbt.RigidBody) else tree.add_force_element(element)
        assert [body.scoped_name for body in bodies] == ["ball", "second::ball", "third::ball"]
        assert [body.body_frame.scoped_name for body in bodies] == ["ball", "second::ball", "third::ball"]
        assert [gravity.is_enabled(i) for i in (1, 2, 3)] == [True, False, False]
        assert moved.scoped_name == "first::moved"
        copy = pickle.loads(pickle.dumps(tree))
        assert copy.remove(copy.bodies[-1]).name == "ball"

    def test_gravity(self) -> None:
        tree = _arm(with_hand=False)
        gravity = tree.gravity_field
        assert gravity is not None
        tree.remove(gravity)
        assert tree.gravity_field is None
        tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -1]))


REFUSED: list[tuple[Callable[[mbt.MultibodyTree], Any], type[Exception], str]] = [
    (
        lambda t: t.remove(t.get_joint_by_name("slide_left")),
        mbt.ArgumentValueError,
        "joint 'slide_left' is needed by force element 'PrismaticSpring_0', joint actuator 'grip', constraint"
        " 'grip': remove that first",
    ),
    (
        lambda t: t.remove(t.get_body_by_name("palm")),
        mbt.ArgumentValueError,
        "body 'palm' is needed by frame 'turn_child', .* remove_subtree",
    ),
    (
        lambda t: t.remove(t.get_frame_by_name("flange")),
        mbt.ArgumentValueError,
        "frame 'flange' is needed by joint 'turn'",
    ),
    (lambda t: t.remove(t.world_body), mbt.ArgumentValueError, "any body but World"),
    (lambda t: t.remove(t.world_frame), mbt.ArgumentValueError, "frame 'world', which goes with its body"),
    (
        lambda t: t.remove(t.model_instances[2]),
        mbt.ArgumentValueError,
        "model instance 'hand' is needed by body 'palm', .* and .* more: remove that first",
    ),
    (
        lambda t: t.remove(t.model_instances[1]),
        mbt.ArgumentValueError,
        "a model instance that was added, got",
    ),
    (lambda t: t.remove("palm"), mbt.ArgumentTypeError, "expected a MultibodyElement, got str"),
    (lambda t: t.remove(_arm(with_hand=True).joints[0]), mbt.ForeignElementError, "another tree"),
    (lambda t: t.remove(mbt.RigidBody("new", BALL)), mbt.ForeignElementError, "belongs to no tree yet"),
    (lambda t: t.remove_subtree(t.world_body), mbt.ArgumentValueError, "any body but World"),
    (lambda t: t.remove_subtree(t.joints[0]), mbt.ArgumentTypeError, "expected a RigidBody, got <Rev"),
    (lambda t: t.remove_subtree(_arm(with_hand=True).bodies[1]), mbt.ForeignElementError, "another tree"),
    (lambda t: t.rename(t.bodies[1], "wrist"), mbt.ArgumentValueError, "there is a body named 'wrist'"),
    (lambda t: t.rename(t.bodies[1], "flange"), mbt.ArgumentValueError, "there is a frame named 'flange'"),
    (lambda t: t.rename(t.world_body, "earth"), mbt.ArgumentValueError, "any body but World"),
    (lambda t: t.rename(t.bodies[1].body_frame, "x"), mbt.ArgumentValueError, "which goes with its body"),
    (lambda t: t.rename(t.bodies[1], ""), mbt.ArgumentValueError, "not empty"),
    (lambda t: t.rename(t.bodies[1], 3), mbt.ArgumentTypeError, "expected text, got int"),
    (lambda t: t.rename(t.model_instances[0], "x"), mbt.ArgumentValueError, "that was added, got model inst"),
    (lambda t: t.rename(t.model_instances[2], "DefaultModelInstance"), mbt.ArgumentValueError, "already"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_a_refused_call_changes_nothing(call: Any, error: type[Exception], message: str) -> None:
    tree = _arm(with_hand=True)
    before = _summary(tree)
    with pytest.raises(error, match=message):
        call(tree)
    assert _summary(tree) == before
    _assert_computes_alike(tree, _arm(with_hand=True))


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.remove(t.joints[0]),
        lambda t: t.remove_subtree(t.bodies[1]),
        lambda t: t.rename(t.bodies[1], "new"),
    ],
)
def test_a_finalized_tree_stays(call: Callable[[mbt.MultibodyTree], Any]) -> None:
    tree = _arm(with_hand=True)
    tree.finalize()
    with pytest.raises(mbt.AlreadyFinalizedError, match=r"tree\.edit\(\)"):
        call(tree)


class TestNames:
    def test_elements_are_found_by_the_new_ones(self) -> None:
        tree = _arm(with_hand=True)
        hand = tree.get_model_instance_by_name("hand")
        for element, look_up in (
            (tree.get_body_by_name("palm"), tree.get_body_by_name),
            (tree.get_joint_by_name("turn"), tree.get_joint_by_name),
            (tree.get_frame_by_name("tip"), tree.get_frame_by_name),
            (tree.joint_actuators[0], tree.get_joint_actuator_by_name),
            (tree.constraints[0], tree.get_constraint_by_name),
        ):
            old = element.name
            # A name of another model instance is free.
            assert tree.rename(element, "wrist") is element
            assert look_up("wrist", hand) is element
            with pytest.raises(mbt.UnknownNameError):
                look_up(old)
            new = f"new {element.kind}"
            tree.rename(element, new)
            assert look_up(new) is element
        palm = tree.get_body_by_name("new body")
        assert tree.get_frame_by_name("new body", hand) is palm.body_frame
        assert tree.rename(tree.model_instances[2], "gripper").scoped_name == "gripper"
        assert palm.scoped_name == "gripper::new body"
        _assert_computes_alike(tree, _arm(with_hand=True))

    def test_messages_and_drawings_have_the_new_ones(self) -> None:
        tree = _arm(with_hand=True)
        tree.rename(tree.get_body_by_name("palm"), "plate")
        tree.rename(tree.get_joint_by_name("turn"), "twist")
        with pytest.raises(mbt.TopologyError, match=r"'wrist' and 'hand::plate', which joint 'hand::twist'"):
            tree.add_joint(
                mbt.WeldJoint, "w", tree.get_body_by_name("wrist"), None, tree.get_body_by_name("plate"), None
            )
        tree.finalize()
        assert "plate" in str(tree.finalize_report)
        assert "palm" not in str(tree.finalize_report)

    def test_they_take_no_new_graph(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tree = _arm(with_hand=True)
        with monkeypatch.context() as patch:
            # To rename all bodies of a long chain would take a time that grows with its square.
            patch.setattr(type(tree._elements), "make_graph", None)
            for element in (*tree.bodies[1:], *tree.joints, *tree.constraints):
                tree.rename(element, f"new {element.name}")
        graph, expected = tree._elements.graph, tree._elements.make_graph()
        assert graph.body_names == expected.body_names
        assert graph.edges == expected.edges

    def test_the_same_name(self) -> None:
        tree = _arm(with_hand=True)
        assert tree.rename(tree.bodies[1], "upper") is tree.get_body_by_name("upper")
