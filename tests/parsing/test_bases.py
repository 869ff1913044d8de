"""Where the roots of a model go: welded, free, at a pose, or mounted on a frame."""

from contextlib import nullcontext

import numpy as np
import pytest

import mbt
from support.urdf_texts import TWO_LINKS, joint, link, robot

POSE = mbt.math.make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3])
ON_WORLD = robot(
    link("world", None),
    link("base"),
    link("arm"),
    joint("mount", "world", "base", "fixed", '<origin xyz="0 0 0.5" rpy="0 0 1"/>'),
    joint("hinge", "base", "arm"),
)
SEVERAL = robot(link("a"), link("b"), link("c"), joint("j", "b", "c"))


def pose_of(tree, name, context=None):
    return tree.get_body_by_name(name).eval_pose_in_world(context or tree.create_default_context())


# Several roots.


def test_several_roots_are_welded_to_world_with_a_warning():
    with pytest.warns(
        mbt.ModelWarning, match="no joint connects 2 parts of the model, with the roots 'a', 'b'"
    ):
        tree = mbt.load_model(SEVERAL)
    assert [j.name for j in tree.joints] == ["a_to_world", "b_to_world", "j"]
    weld = tree.get_joint_by_name("b_to_world")
    assert (type(weld), weld.parent_body, weld.child_body.name) == (mbt.WeldJoint, tree.world_body, "b")
    assert tree.num_positions == 1


def test_several_roots_are_free_with_a_warning():
    with pytest.warns(mbt.ModelWarning, match="each is left free"):
        tree = mbt.load_model(SEVERAL, base="floating")
    assert [(j.name, j.is_ephemeral) for j in tree.joints] == [("j", False), ("a", True), ("b", True)]
    assert (tree.num_positions, tree.num_velocities) == (15, 13)


@pytest.mark.parametrize("base", [None, "fixed", "floating"])
def test_strict_refuses_several_roots(base):
    with pytest.raises(mbt.ParseError, match="no joint connects 2 parts"):
        mbt.load_model(SEVERAL, strict=True, base=base)


# A link named world.


@pytest.mark.parametrize("base", [None, "fixed"])
def test_the_link_world_is_world(base):
    tree = mbt.load_model(ON_WORLD, base=base)
    assert [body.name for body in tree.bodies] == ["world", "base", "arm"]
    assert tree.get_joint_by_name("mount").parent_body is tree.world_body
    assert tree.num_velocities == 1


def test_a_floating_base_is_not_fixed_to_the_link_world():
    with pytest.warns(
        mbt.ModelWarning, match="joint 'mount' fixes link 'base' to World: base=.floating. leaves"
    ) as w:
        tree = mbt.load_model(ON_WORLD, base="floating")
    assert len(w) == 1
    assert tree.num_velocities == 7
    assert not tree.has_joint_named("mount")
    # It starts where the file fixes it.
    np.testing.assert_allclose(
        pose_of(tree, "base"), mbt.math.make_pose([0, 0, 0.5], rpy=[0, 0, 1]), atol=1e-15
    )
    floating = tree.get_body_by_name("base").inboard_mobilizer.joint
    assert isinstance(floating, mbt.QuaternionFloatingJoint)
    assert (floating.num_velocities, floating.velocity_start) == (6, 0)


def test_what_is_freed_is_told_once():
    """Two arms fixed to World get floating bases; a third, unattached part gets a warning."""
    parts = [link("world", None), link("a"), link("b"), joint("j", "world", "a", "fixed")]
    parts.append(joint("k", "world", "b", "fixed"))
    with pytest.warns(mbt.ModelWarning) as caught:
        tree = mbt.load_model(robot(*parts), base="floating")
    assert tree.num_velocities == 12
    assert [warning.line for warning in tree.parse_reports[0].warnings] == [5, 6]
    assert len(caught) == 1
    with pytest.warns(
        mbt.ModelWarning, match="no joint connects 3 parts of the model, with the roots 'a', 'b', 'c'"
    ):
        mbt.load_model(robot(*parts, link("c")), base="floating")


def test_what_moves_on_world_is_not_freed():
    text = robot(link("world", None), link("cart"), joint("rail", "world", "cart"))
    with pytest.warns(mbt.ModelWarning, match="has no effect: joint 'rail' moves on World, and only fixed"):
        tree = mbt.load_model(text, base="floating")
    assert tree.num_velocities == 1


def test_a_base_is_freed_whichever_end_of_its_joint_is_world():
    parts = [link("a"), link("b"), joint("j", "a", "b")]
    parts.append(joint("k", "a", "world", "fixed", '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'))
    with pytest.warns(mbt.ModelWarning) as caught:
        tree = mbt.load_model(robot(*parts), base="floating")
    assert len(caught) == 1
    (warning,) = tree.parse_reports[0].warnings
    assert str(warning) == "line 5: joint 'k' fixes link 'a' to World: base=\"floating\" leaves it out"
    assert (tree.num_positions, tree.num_velocities) == (8, 7)
    np.testing.assert_allclose(pose_of(tree, "a") @ POSE, np.eye(4), atol=1e-15)


def test_a_link_with_a_parent_is_freed_where_it_is():
    """The tree is that of the fixed base, with a free joint in place of the fixed one."""
    parts = [link("a"), link("b"), joint("j", "a", "b", inside='<origin xyz="1 0 0"/>')]
    text = robot(*parts, joint("k", "b", "world", "fixed", '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'))
    with pytest.warns(mbt.ModelWarning):
        free = mbt.load_model(text, base="floating")
    fixed = mbt.load_model(text)
    assert free.num_velocities == 7
    assert free.get_body_by_name("a").inboard_joint.name == "j"
    for name in "ab":
        np.testing.assert_allclose(pose_of(free, name), pose_of(fixed, name), atol=1e-15)


@pytest.mark.parametrize(("base", "fate"), [("floating", "left free"), ("fixed", "welded to World")])
def test_world_itself_is_neither_free_nor_welded(base, fate):
    text = robot(link("cart"), link("p"), joint("rail", "world", "cart"))
    with pytest.warns(mbt.ModelWarning, match=f"the roots World, 'p': each but World is {fate}"):
        mbt.load_model(text, base=base)


def test_a_floating_base_computes_as_one_without_the_link_world():
    with pytest.warns(mbt.ModelWarning):
        freed = mbt.load_model(ON_WORLD, base="floating")
    plain = mbt.load_model(robot(link("base"), link("arm"), joint("hinge", "base", "arm")), base="floating")
    q = np.array([1.0, 0, 0, 0, 0.3, 0.2, 0.1, 0.7])
    np.testing.assert_array_equal(mbt.functional.mass_matrix(freed, q), mbt.functional.mass_matrix(plain, q))


# Poses.


@pytest.mark.parametrize("base", [None, "fixed", "floating"])
def test_base_pose(base):
    tree = mbt.load_model(robot(*TWO_LINKS), base=base, base_pose=POSE)
    np.testing.assert_allclose(pose_of(tree, "base"), POSE, atol=1e-15)
    assert tree.num_velocities == (7 if base == "floating" else 1)


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_base_pose_moves_what_the_file_fixes_to_world(base):
    with pytest.warns(mbt.ModelWarning) if base == "floating" else nullcontext():
        tree = mbt.load_model(ON_WORLD, base=base, base_pose=POSE)
    expected = POSE @ mbt.math.make_pose([0, 0, 0.5], rpy=[0, 0, 1])
    np.testing.assert_allclose(pose_of(tree, "base"), expected, atol=1e-14)


def test_base_pose_takes_whatever_has_a_matrix():
    class Pose:
        def as_matrix(self):
            return POSE

    np.testing.assert_allclose(
        pose_of(mbt.load_model(robot(*TWO_LINKS), base_pose=Pose()), "base"), POSE, atol=1e-15
    )


# Mounted on a frame.


def arm_with_tool(tool, **options):
    tree = mbt.MultibodyTree()
    mbt.parsing.add_model(
        tree, robot(*TWO_LINKS, '<frame name="flange" link="arm" xyz="0 0 1"/>', name="robot")
    )
    flange = tree.get_frame_by_name("flange")
    mbt.parsing.add_model(tree, tool, parent=flange, **options)
    tree.finalize()
    return tree


@pytest.mark.parametrize("pose", ["X_PF", "base_pose"])
def test_a_model_on_a_frame_of_another(pose):
    tree = arm_with_tool(
        robot(link("hand"), link("finger"), joint("grip", "hand", "finger"), name="tool"), **{pose: POSE}
    )
    weld = tree.get_joint_by_name("hand_to_flange")
    assert (type(weld), weld.parent_body.name, weld.child_body.name) == (mbt.WeldJoint, "arm", "hand")
    assert tree.get_model_instance_name(weld.model_instance) == "tool"
    context = tree.create_default_context()
    tree.get_joint_by_name("hinge").set_angle(context, 0.7)
    flange = tree.get_frame_by_name("flange").calc_pose_in_world(context)
    np.testing.assert_allclose(pose_of(tree, "hand", context), flange @ POSE, atol=1e-14)


@pytest.mark.parametrize("name_of", [lambda body: body, lambda body: body.name], ids=["body", "name"])
def test_a_body_or_its_name_stands_for_its_frame(name_of):
    tree = mbt.MultibodyTree()
    mbt.parsing.add_model(tree, robot(*TWO_LINKS, name="robot"))
    parent = name_of(tree.get_body_by_name("arm"))
    mbt.parsing.add_model(tree, robot(link("hand"), name="tool"), parent=parent)
    assert tree.get_joint_by_name("hand_to_arm").parent_body.name == "arm"


def test_the_world_of_a_mounted_model_is_its_mount():
    tree = arm_with_tool(ON_WORLD.replace('"bot"', '"tool"'), X_PF=POSE)
    arm, tool = (tree.get_model_instance_by_name(name) for name in ("robot", "tool"))
    context = tree.create_default_context()
    tree.get_joint_by_name("hinge", arm).set_angle(context, 0.7)
    flange = tree.get_frame_by_name("flange").calc_pose_in_world(context)
    expected = flange @ POSE @ mbt.math.make_pose([0, 0, 0.5], rpy=[0, 0, 1])
    X_WB = tree.get_body_by_name("base", tool).eval_pose_in_world(context)
    np.testing.assert_allclose(X_WB, expected, atol=1e-14)
    assert tree.get_joint_by_name("mount").parent_body is tree.get_body_by_name("arm", arm)


OTHER = mbt.load_model(robot(*TWO_LINKS))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"parent": "flange"}, mbt.UnknownNameError, r"parent: .*'flange'"),
        ({"parent": 3}, mbt.ArgumentTypeError, "parent: expected a frame of the tree, got int"),
        ({"parent": OTHER.world_frame}, mbt.ForeignElementError, "parent: expected a frame of this tree"),
        ({"X_PF": POSE}, mbt.ArgumentValueError, "X_PF: it is the pose in the frame `parent`"),
        ({"base_pose": np.ones((4, 4))}, mbt.ArgumentValueError, "base_pose: expected a pose"),
        ({"base_pose": np.eye(3)}, mbt.ShapeError, "base_pose: expected shape"),
        ({"base_pose": "here"}, mbt.ArgumentTypeError, "base_pose"),
    ],
)
def test_bad_places(options, error, message):
    tree = mbt.MultibodyTree()
    with pytest.raises(error, match=message):
        mbt.parsing.add_model(tree, robot(*TWO_LINKS), **options)
    assert tree.num_bodies == 1


def test_a_mount_holds_and_has_one_pose():
    tree = mbt.MultibodyTree()
    place = tree.add_frame(mbt.FixedOffsetFrame("place", tree.world_body, POSE))
    with pytest.raises(mbt.ArgumentValueError, match="a floating base cannot be mounted"):
        mbt.parsing.add_model(tree, robot(*TWO_LINKS), parent=place, base="floating")
    with pytest.raises(mbt.ArgumentValueError, match="X_PF and base_pose both give the same pose"):
        mbt.parsing.add_model(tree, robot(*TWO_LINKS), parent=place, X_PF=POSE, base_pose=POSE)
    assert tree.num_bodies == 1


SPRUNG = robot(
    link("world", None),
    *TWO_LINKS,
    joint("mount", "world", "base", "fixed", '<origin xyz="0 0 0.5" rpy="0 0 1"/>'),
    '<frame name="tip" link="arm" xyz="1 0 0"/>',
    "<drake:linear_spring_damper>"
    '<drake:linear_spring_damper_body_A name="world"/><drake:linear_spring_damper_p_AP value="1 2 3"/>'
    '<drake:linear_spring_damper_body_B name="arm"/><drake:linear_spring_damper_p_BQ value="0 1 2"/>'
    '<drake:linear_spring_damper_free_length value="1"/><drake:linear_spring_damper_stiffness value="5"/>'
    '<drake:linear_spring_damper_damping value="0"/></drake:linear_spring_damper>',
    "<drake:linear_bushing_rpy>"
    '<drake:bushing_frameA name="world"/><drake:bushing_frameC name="tip"/>'
    '<drake:bushing_torque_stiffness value="1 2 3"/><drake:bushing_torque_damping value="0 0 0"/>'
    '<drake:bushing_force_stiffness value="4 5 6"/><drake:bushing_force_damping value="0 0 0"/>'
    "</drake:linear_bushing_rpy>",
)


def test_springs_on_the_world_of_a_model_go_with_it():
    """Wherever the model stands, even on a body, its springs act as they do on World."""
    trees = [mbt.load_model(SPRUNG, gravity=None), mbt.load_model(SPRUNG, gravity=None, base_pose=POSE)]
    mounted = mbt.MultibodyTree()
    table = mounted.add_body(mbt.RigidBody("table", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    mounted.add_joint(mbt.WeldJoint, "floor", mounted.world_body, POSE, table, None)
    mbt.parsing.add_model(mounted, SPRUNG, parent=table, X_PF=POSE)
    mounted.finalize()
    vdot = [mbt.functional.forward_dynamics(tree, [0.3], [0.2], [0.0]) for tree in (*trees, mounted)]
    assert abs(vdot[0]) > 1.0
    np.testing.assert_allclose(vdot[1:], np.repeat(vdot[:1], 2, axis=0), rtol=1e-12)
