"""Adding elements: both forms of every add_*, indices, names, model instances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mbt.errors import (
    AlreadyFinalizedError,
    ArgumentTypeError,
    ArgumentValueError,
    ElementIndexError,
    ForeignElementError,
    NotFinalizedError,
)
from mbt.math import SpatialInertia, make_pose
from mbt.tree import (
    FixedOffsetFrame,
    ForceElement,
    Joint,
    JointActuator,
    Mobilizer,
    MultibodyTree,
    PrismaticJoint,
    QuaternionFloatingMobilizer,
    RevoluteJoint,
    RevoluteMobilizer,
    RigidBody,
    UniformGravityFieldElement,
    WeldJoint,
    default_model_instance,
    world_model_instance,
)

Z = [0.0, 0.0, 1.0]


def test_new_tree(tree: MultibodyTree) -> None:
    assert [body.name for body in tree.bodies] == ["world"]
    assert tree.world_body.index == 0
    assert tree.world_frame.index == 0
    assert tree.world_frame is tree.world_body.body_frame
    assert tree.world_frame.is_world_frame
    assert tree.world_body.model_instance == world_model_instance() == 0
    assert tree.world_body.default_mass == 0.0
    assert (tree.joints, tree.mobilizers, tree.force_elements, tree.joint_actuators) == ((), (), (), ())
    assert tree.gravity_field is None
    assert not tree.is_finalized
    assert not tree.topology_is_valid
    assert tree.parse_reports == []
    assert "reader of robot descriptions" in (type(tree).parse_reports.__doc__ or "")
    assert repr(tree) == "<MultibodyTree: 1 body, 0 joints, no gravity, not finalized>"


class TestBodies:
    def test_element(self, tree: MultibodyTree, M_BBo_B: SpatialInertia) -> None:
        link = RigidBody("link", M_BBo_B)
        assert not link.has_parent_tree
        assert repr(link) == "<RigidBody 'link' without a tree>"
        assert tree.add_body(link) is link
        assert link.parent_tree is tree
        assert link.index == 1
        assert link.model_instance == default_model_instance() == 1
        assert link.default_spatial_inertia is M_BBo_B
        assert not link.is_ephemeral
        assert repr(link) == "<RigidBody 'link' index=1 model_instance=1>"

    def test_class_and_arguments(self, tree: MultibodyTree, M_BBo_B: SpatialInertia) -> None:
        arm = tree.add_model_instance("arm")
        link = tree.add_body(RigidBody, "link", M_BBo_B, model_instance=arm)
        assert (link.name, link.model_instance) == ("link", arm)

    def test_body_frame(self, tree: MultibodyTree, link: RigidBody) -> None:
        frame = link.body_frame
        assert frame is link.link_frame
        assert (frame.name, frame.index, frame.body, frame.link) == ("link", 1, link, link)
        assert frame.is_body_frame
        assert frame.is_link_frame
        assert not frame.is_world_frame
        assert tree.frames == (tree.world_frame, frame)

    @pytest.mark.parametrize("by_class", [False, True])
    def test_without_name(self, tree: MultibodyTree, M_BBo_B: SpatialInertia, by_class: bool) -> None:
        body = tree.add_body(RigidBody, M_BBo_B) if by_class else tree.add_body(RigidBody(M_BBo_B))
        assert body.name == body.body_frame.name == "body_1"
        assert tree.get_body_by_name("body_1") is body

    def test_generated_name_is_unique(self, tree: MultibodyTree, M_BBo_B: SpatialInertia) -> None:
        tree.add_body(RigidBody("body_2", M_BBo_B))
        assert tree.add_body(RigidBody(M_BBo_B)).name == "body_2_"

    def test_keywords(self, tree: MultibodyTree, M_BBo_B: SpatialInertia) -> None:
        arm = tree.add_model_instance("arm")
        assert tree.add_body(RigidBody, M_BBo_B=M_BBo_B, name="a").name == "a"
        assert tree.add_body(RigidBody(M_BBo_B, model_instance=arm)).model_instance == arm

    def test_bad_arguments(self, M_BBo_B: SpatialInertia) -> None:
        with pytest.raises(ArgumentTypeError, match="body 'link': M_BBo_B: expected an mbt"):
            RigidBody("link", 1.0)  # type: ignore[call-overload]
        with pytest.raises(ArgumentValueError, match="name: expected a name that is not empty"):
            RigidBody("", M_BBo_B)
        with pytest.raises(ArgumentTypeError, match="model_instance: expected the index of a model instance"):
            RigidBody("link", M_BBo_B, "arm")  # type: ignore[call-overload]


class TestFrames:
    def test_element(self, tree: MultibodyTree, link: RigidBody) -> None:
        X_PF = make_pose([1, 2, 3])
        tool = tree.add_frame(FixedOffsetFrame("tool", link, X_PF))
        assert (tool.index, tool.name, tool.body, tool.parent_frame) == (2, "tool", link, link.body_frame)
        assert tool.get_fixed_pose_in_parent_frame().tolist() == X_PF.tolist()
        assert not tool.is_body_frame

    def test_class_and_arguments(self, tree: MultibodyTree, link: RigidBody) -> None:
        tool = tree.add_frame(FixedOffsetFrame, "tool", link.body_frame, X_PF=make_pose())
        assert tree.get_frame_by_name("tool") is tool

    def test_without_name(self, tree: MultibodyTree, link: RigidBody) -> None:
        assert tree.add_frame(FixedOffsetFrame(link, make_pose())).name == "frame_2"
        assert tree.add_frame(FixedOffsetFrame, link, make_pose()).name == "frame_3"

    def test_pose_is_copied(self, link: RigidBody) -> None:
        X_PF = make_pose([1, 2, 3])
        tool = FixedOffsetFrame("tool", link, X_PF)
        X_PF[0, 3] = 5
        tool.get_fixed_pose_in_parent_frame()[0, 3] = 6
        assert tool.get_fixed_pose_in_parent_frame()[0, 3] == 1

    def test_model_instance(self, tree: MultibodyTree, M_BBo_B: SpatialInertia) -> None:
        arm, hand = tree.add_model_instance("arm"), tree.add_model_instance("hand")
        link = tree.add_body(RigidBody("link", M_BBo_B, arm))
        mount = tree.add_frame(FixedOffsetFrame("mount", link, None, hand))
        assert tree.add_frame(FixedOffsetFrame("a", link)).model_instance == arm
        assert tree.add_frame(FixedOffsetFrame("b", mount)).model_instance == hand

    def test_bad_arguments(self, link: RigidBody) -> None:
        with pytest.raises(
            ArgumentTypeError, match="FixedOffsetFrame 'tool': P: expected a Frame or a RigidBody"
        ):
            FixedOffsetFrame("tool", None, make_pose())  # type: ignore[call-overload]
        with pytest.raises(ArgumentValueError, match="FixedOffsetFrame 'tool': X_PF: expected a pose"):
            FixedOffsetFrame("tool", link, 2 * np.eye(4))

    def test_body_frames_cannot_be_added(self, tree: MultibodyTree, M_BBo_B: SpatialInertia) -> None:
        with pytest.raises(ArgumentTypeError, match="add_frame: body frame 'link' comes with its body"):
            tree.add_frame(RigidBody("link", M_BBo_B).body_frame)


class TestJoints:
    def test_class_and_arguments(self, tree: MultibodyTree, link: RigidBody) -> None:
        X_WF, X_BM = make_pose([0, 0, 1]), make_pose([0, 0, -0.5])
        elbow = tree.add_joint(
            RevoluteJoint, "elbow", tree.world_body, X_WF, link, X_BM, Z, -1, 2, damping=0.1
        )
        F, M = elbow.frame_on_parent, elbow.frame_on_child
        assert (F.name, F.body, M.name, M.body) == ("elbow_parent", tree.world_body, "elbow_child", link)
        assert F.get_fixed_pose_in_body_frame().tolist() == X_WF.tolist()
        assert M.get_fixed_pose_in_body_frame().tolist() == X_BM.tolist()
        assert (elbow.index, elbow.parent_body, elbow.child_body) == (0, tree.world_body, link)
        assert (elbow.position_lower_limit, elbow.position_upper_limit, elbow.default_damping) == (-1, 2, 0.1)
        assert [frame.name for frame in tree.frames] == ["world", "link", "elbow_parent", "elbow_child"]
        assert repr(elbow) == "<RevoluteJoint 'elbow' index=0 model_instance=1 parent='world' child='link'>"

    def test_keywords(self, tree: MultibodyTree, link: RigidBody) -> None:
        elbow = tree.add_joint(
            RevoluteJoint, name="elbow", parent=tree.world_body, X_PF=None, child=link, X_BM=None, axis=Z
        )
        assert elbow.name == "elbow"

    def test_none_creates_no_frame(self, tree: MultibodyTree, link: RigidBody) -> None:
        elbow = tree.add_joint(RevoluteJoint, "elbow", tree.world_body, None, link, None, Z)
        assert elbow.frame_on_parent is tree.world_frame
        assert elbow.frame_on_child is link.body_frame
        assert tree.num_frames == 2

    def test_identity_creates_a_frame(self, tree: MultibodyTree, link: RigidBody) -> None:
        elbow = tree.add_joint(RevoluteJoint, "elbow", tree.world_body, np.eye(4), link, None, Z)
        assert elbow.frame_on_parent is tree.get_frame_by_name("elbow_parent")
        assert tree.num_frames == 3

    def test_element(self, tree: MultibodyTree, link: RigidBody) -> None:
        F = tree.add_frame(FixedOffsetFrame("F", tree.world_body, make_pose()))
        weld = WeldJoint("weld", F, link.body_frame)
        assert tree.add_joint(weld) is weld
        assert weld.frame_on_parent is F

    def test_model_instance_is_that_of_the_child(self, tree: MultibodyTree, M_BBo_B: SpatialInertia) -> None:
        arm, hand = tree.add_model_instance("arm"), tree.add_model_instance("hand")
        link = tree.add_body(RigidBody("link", M_BBo_B, arm))
        palm = tree.add_body(RigidBody("palm", M_BBo_B, hand))
        wrist = tree.add_joint(WeldJoint, "wrist", link, make_pose(), palm, make_pose())
        assert wrist.model_instance == hand
        assert wrist.frame_on_parent.model_instance == hand
        assert wrist.frame_on_child.model_instance == hand

    def test_pose_of_another_library(self, tree: MultibodyTree, link: RigidBody) -> None:
        class Pose:
            def as_matrix(self) -> list[list[float]]:
                return [[1, 0, 0, 7], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]

        weld = tree.add_joint(WeldJoint, "weld", tree.world_body, Pose(), link, None)
        assert weld.frame_on_parent.get_fixed_pose_in_body_frame()[0, 3] == 7


class TestMobilizers:
    def test_both_forms(self, tree: MultibodyTree, M_BBo_B: SpatialInertia) -> None:
        a, b = (tree.add_body(RigidBody(name, M_BBo_B)) for name in "ab")
        hinge = RevoluteMobilizer(tree.world_frame, a.body_frame, Z)
        assert tree.add_mobilizer(hinge) is hinge
        free = tree.add_mobilizer(QuaternionFloatingMobilizer, a.body_frame, b.body_frame)
        assert tree.mobilizers == (hinge, free)
        assert (hinge.index, free.index) == (0, 1)
        assert tree.get_mobilizer(1) is free
        assert (hinge.name, free.name) == ("a", "b")
        assert tree.num_mobilizers == 2

    def test_model_instance(self, tree: MultibodyTree, M_BBo_B: SpatialInertia) -> None:
        arm = tree.add_model_instance("arm")
        a, b = (tree.add_body(RigidBody(name, M_BBo_B, arm)) for name in "ab")
        F = tree.world_frame
        assert tree.add_mobilizer(RevoluteMobilizer(F, a.body_frame, Z)).model_instance == 1
        assert (
            tree.add_mobilizer(RevoluteMobilizer, F, b.body_frame, Z, model_instance=arm).model_instance
            == arm
        )


class TestForceElements:
    def test_both_forms(self) -> None:
        for first in (UniformGravityFieldElement([0, 0, -1.6]), UniformGravityFieldElement):
            tree = MultibodyTree()
            gravity = tree.add_force_element(first)
            assert tree.force_elements == (gravity,)
            assert tree.gravity_field is gravity
            assert gravity.index == 0
            assert gravity.model_instance == world_model_instance()
            assert tree.get_force_element(0) is gravity

    def test_one_gravity(self, tree: MultibodyTree) -> None:
        tree.add_force_element(UniformGravityFieldElement())
        with pytest.raises(ArgumentValueError, match="at most one UniformGravityFieldElement"):
            tree.add_force_element(UniformGravityFieldElement([0, 0, -1.6]))
        assert tree.num_force_elements == 1


class TestActuators:
    def test_three_forms(self, tree: MultibodyTree, link: RigidBody) -> None:
        slider = tree.add_joint(PrismaticJoint, "slider", tree.world_body, None, link, None, Z)
        a = tree.add_joint_actuator("a", slider, 50.0, rotor_inertia=0.1, gear_ratio=10)
        b = tree.add_joint_actuator(JointActuator("b", slider))
        c = tree.add_joint_actuator(JointActuator, "c", slider, effort_limit=2.0)
        assert tree.joint_actuators == (a, b, c)
        assert [tree.get_joint_actuator(i) for i in range(3)] == [a, b, c]
        assert (a.joint, a.effort_limit, a.default_rotor_inertia, a.default_gear_ratio) == (
            slider,
            50,
            0.1,
            10,
        )
        assert (b.effort_limit, b.default_rotor_inertia, b.default_gear_ratio) == (np.inf, 0.0, 1.0)
        assert a.default_reflected_inertia == pytest.approx(10.0)
        assert tree.effort_limits.tolist() == [50.0, np.inf, 2.0]
        assert tree.num_actuators == tree.num_actuated_dofs == 3
        assert [actuator.input_start for actuator in tree.joint_actuators] == [0, 1, 2]
        assert tree.get_joint_actuator_by_name("b") is b
        assert tree.has_joint_actuator_named("c")


class TestOwnership:
    def test_without_a_tree(self, M_BBo_B: SpatialInertia) -> None:
        body = RigidBody("link", M_BBo_B)
        for access in ("index", "parent_tree"):
            with pytest.raises(ForeignElementError, match=r"body 'link' .*add it with tree\.add_body\(\)"):
                getattr(body, access)
        assert body.name == "link"

    def test_twice(self, tree: MultibodyTree, link: RigidBody) -> None:
        with pytest.raises(ForeignElementError, match="add_body: body 'link' belongs to this tree already"):
            tree.add_body(link)
        with pytest.raises(ForeignElementError, match="add_body: body 'link' belongs to another tree"):
            MultibodyTree().add_body(link)

    def test_tree_lives_as_long_as_its_elements(self, M_BBo_B: SpatialInertia) -> None:
        link = MultibodyTree().add_body(RigidBody("link", M_BBo_B))
        assert link.parent_tree.bodies[1] is link

    def test_unknown_model_instance(self, tree: MultibodyTree, M_BBo_B: SpatialInertia) -> None:
        with pytest.raises(
            ElementIndexError, match=r"body 'link': model_instance: .*0 <= index < 2\), got 2"
        ):
            tree.add_body(RigidBody("link", M_BBo_B, 2))


def test_wrong_kind_of_element(tree: MultibodyTree, link: RigidBody) -> None:
    with pytest.raises(
        ArgumentTypeError, match="add_body: expected a RigidBody, or a class of such elements, got int"
    ):
        tree.add_body(3)  # type: ignore[call-overload]
    with pytest.raises(
        ArgumentTypeError, match="add_joint: expected a class derived from Joint, got RigidBody"
    ):
        tree.add_joint(RigidBody, "j", tree.world_body, None, link, None)  # type: ignore[type-var]
    with pytest.raises(ArgumentTypeError, match="add_frame: expected nothing after frame 'f'"):
        tree.add_frame(FixedOffsetFrame("f", link), make_pose())  # type: ignore[call-overload]
    with pytest.raises(
        ArgumentTypeError, match="joint 'j': parent: expected a RigidBody or a Frame, got bytes"
    ):
        tree.add_joint(WeldJoint, "j", b"world", None, link, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "messages"),
    [
        (
            lambda t: RigidBody("x", mass=1),  # type: ignore[call-overload]
            ("RigidBody(name, M_BBo_B, model_instance=None)", "'M_BBo_B'"),
        ),
        (
            lambda t: RigidBody("x", SpatialInertia.zero(), mass=1),  # type: ignore[call-overload]
            ("RigidBody(name, M_BBo_B, model_instance=None)", "'mass'"),
        ),
        (lambda t: RigidBody(), ("RigidBody(name, M_BBo_B", "'M_BBo_B'")),  # type: ignore[call-overload]
        (
            lambda t: FixedOffsetFrame("x", t.world_body, pose=1),  # type: ignore[call-overload]
            ("FixedOffsetFrame(name, P, X_PF=None, model_instance=None)", "'pose'"),
        ),
        (
            lambda t: t.add_frame(FixedOffsetFrame, X_PF=np.eye(4)),
            ("FixedOffsetFrame(name, P, X_PF=None, model_instance=None)", "'P'"),
        ),
        (
            lambda t: t.add_joint(RevoluteJoint, "j", t.world_body, None, t.bodies[1], None),
            (
                "RevoluteJoint(name, frame_on_parent, frame_on_child, axis, pos_lower_limit=-inf, ",
                "'axis'",
            ),
        ),
        (
            lambda t: t.add_joint(WeldJoint, "j", t.world_body, None, t.bodies[1], None, damping=1),
            ("WeldJoint(name, frame_on_parent, frame_on_child, ", "'damping'"),
        ),
        (
            lambda t: t.add_mobilizer(RevoluteMobilizer, t.world_frame, t.bodies[1].body_frame),
            ("RevoluteMobilizer(inboard_frame_F, ", "'axis_F'"),
        ),
        (
            lambda t: t.add_force_element(UniformGravityFieldElement, g=9.81),
            ("UniformGravityFieldElement(g_W=", "'g'"),
        ),
        (lambda t: t.add_joint_actuator("a"), ("JointActuator(name, joint, ", "'joint'")),
    ],
)
def test_arguments_that_a_constructor_does_not_take(
    tree: MultibodyTree, link: RigidBody, call: Any, messages: tuple[str, ...]
) -> None:
    with pytest.raises(ArgumentTypeError) as raised:
        call(tree)
    for message in messages:
        assert message in str(raised.value)
    assert "_construct" not in str(raised.value)
    assert tree.num_joints == 0


def test_names_are_optional_as_keywords_too(link: RigidBody, M_BBo_B: SpatialInertia) -> None:
    assert RigidBody(name="x", M_BBo_B=M_BBo_B).name == "x"
    assert RigidBody(M_BBo_B=M_BBo_B).name == "unnamed body"
    assert FixedOffsetFrame(name="x", P=link).name == "x"
    assert FixedOffsetFrame(P=link).parent_frame is link.body_frame


def test_a_type_error_inside_a_constructor_passes(tree: MultibodyTree, M_BBo_B: SpatialInertia) -> None:
    class Faulty(RigidBody):
        def __init__(self) -> None:
            raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        tree.add_body(Faulty)


def test_types_without_a_kernel(tree: MultibodyTree, link: RigidBody) -> None:
    with pytest.raises(ArgumentTypeError, match="Mobilizer: no compiled kernel has this type"):
        tree.add_mobilizer(Mobilizer, tree.world_frame, link.body_frame)
    with pytest.raises(ArgumentTypeError, match="Joint: no mobilizer models this type"):
        tree.add_joint(Joint, "j", tree.world_body, None, link, None, damping=())
    with pytest.raises(
        ArgumentTypeError, match="expected ForceElement to have a method do_calc_and_add_force_contribution"
    ):
        tree.add_force_element(ForceElement(1))


def test_nothing_can_be_added_after_finalize(tree: MultibodyTree, link: RigidBody) -> None:
    slider = tree.add_joint(PrismaticJoint, "slider", tree.world_body, None, link, None, Z)
    tree.finalize()
    additions = (
        lambda: tree.add_body(RigidBody("b", link.default_spatial_inertia)),
        lambda: tree.add_frame(FixedOffsetFrame("f", link)),
        lambda: tree.add_mobilizer(RevoluteMobilizer(tree.world_frame, link.body_frame, Z)),
        lambda: tree.add_joint(WeldJoint, "j", tree.world_body, None, link, None),
        lambda: tree.add_force_element(UniformGravityFieldElement()),
        lambda: tree.add_joint_actuator("a", slider),
        lambda: tree.add_model_instance("arm"),
        lambda: tree.rename_model_instance(1, "arm"),
    )
    for add in additions:
        with pytest.raises(
            AlreadyFinalizedError, match=r"the tree is finalized .*Add all elements before finalize"
        ):
            add()
    with pytest.raises(AlreadyFinalizedError, match="finalize: the tree is finalized already"):
        tree.finalize()
    changes = (
        lambda: slider.set_default_positions([1.0]),
        lambda: slider.set_position_limits([0.0], [1.0]),
        lambda: slider.set_default_damping(1.0),
    )
    for change in changes:
        with pytest.raises(AlreadyFinalizedError, match=r"joint 'slider': .* cannot change after finalize"):
            change()


def test_not_known_before_finalize(tree: MultibodyTree, link: RigidBody) -> None:
    slider = tree.add_joint(PrismaticJoint, "slider", tree.world_body, None, link, None, Z)
    for element, names in (
        (
            tree,
            (
                "num_positions num_velocities num_states tree_height topology default_positions "
                "position_lower_limits velocity_upper_limits"
            ),
        ),
        (slider, "mobilizer position_start velocity_start"),
        (link, "node_index inboard_mobilizer inboard_joint"),
    ):
        for name in names.split():
            with pytest.raises(NotFinalizedError, match=rf"{name}|inboard_mobilizer"):
                getattr(element, name)
    assert (slider.num_positions, slider.num_velocities) == (1, 1)
