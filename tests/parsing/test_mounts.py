"""What stands at the given pose: the model's root, or the frame that `child_frame` names."""

import numpy as np
import pytest

import mbt
from support import sdf_texts as sdf
from support import urdf_texts as urdf

POSE = mbt.math.make_pose([0.3, -0.2, 0.5], rpy=[0.4, -0.3, 0.9])
PALM = sdf.link("palm", sdf.pose("0 0 -0.049 0.2 0 0.1"))
TIP = sdf.link("tip", sdf.pose("0 0.1 0.2 0 0.5 0"))
FINGER = sdf.link("finger", sdf.pose("0.1 0 0 0 0 0"))
FRAME = '<frame name="grip" attached_to="tip"><pose>0.1 0.2 0.3 -0.5 0.2 1</pose></frame>'
GRIPPER = sdf.robot(
    sdf.pose("1 2 3 0.3 0 0"),
    PALM,
    TIP,
    FINGER,
    sdf.joint("fix", "palm", "tip", "fixed", ""),
    sdf.joint("slide", "palm", "finger", "prismatic"),
    FRAME,
)
URDF = """<robot name="bot"><link name="palm"/><link name="tip"/>
<link name="finger"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="fix" type="fixed"><parent link="palm"/><child link="tip"/>
  <origin xyz="0.1 0.2 0.3" rpy="1 0.2 0"/></joint>
<joint name="slide" type="continuous"><parent link="palm"/><child link="finger"/></joint>
<frame name="grip" link="tip" xyz="0 0 0.1" rpy="0 0.7 0"/></robot>"""
MJCF = """<mujoco><worldbody><body name="palm" pos="0 0 0.4" euler="10 0 30"><geom size="0.1"/>
<body name="tip" pos="0.1 0 0" euler="0 20 0"><geom size="0.1"/></body>
<body name="finger"><joint/><geom size="0.1"/></body></body></worldbody></mujoco>"""
TEXTS = {"sdf": GRIPPER, "urdf": URDF, "mjcf": MJCF}


def mounted(text, parent="table", **options):
    """The tree, and the pose of the frame P on which the model is mounted."""
    tree = mbt.MultibodyTree()
    table = tree.add_body(mbt.RigidBody("table", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.WeldJoint, "stand", tree.world_body, mbt.math.make_pose([1, 1, 1]), table, None)
    if parent == "table":
        options["parent"] = table
    mbt.parsing.add_model(tree, text, **options)
    tree.finalize()
    return tree, tree.create_default_context()


@pytest.fixture(params=TEXTS)
def text(request):
    if request.param == "mjcf":
        pytest.importorskip("mujoco", reason="MJCF is read with mujoco")
    return TEXTS[request.param]


def pose_in_table(tree, context, name):
    frame = tree.get_frame_by_name(name)
    return frame.calc_pose(context, tree.get_frame_by_name("table"))


def test_the_root_stands_at_the_pose(text):
    tree, context = mounted(text, X_PF=POSE)
    np.testing.assert_allclose(pose_in_table(tree, context, "palm"), POSE, rtol=0, atol=1e-15)


def test_without_a_pose_it_stands_on_the_parent(text):
    tree, context = mounted(text)
    np.testing.assert_allclose(pose_in_table(tree, context, "palm"), np.eye(4), rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["palm", "tip"])
def test_child_frame_stands_at_the_pose(text, name):
    tree, context = mounted(text, X_PF=POSE, child_frame=name)
    np.testing.assert_allclose(pose_in_table(tree, context, name), POSE, rtol=0, atol=1e-15)
    # The rest of the model keeps its pose relative to the root.
    alone = mbt.load_model(text)
    expected = alone.get_frame_by_name("finger").calc_pose(
        alone.create_default_context(), alone.get_frame_by_name("palm")
    )
    found = tree.get_frame_by_name("finger").calc_pose(context, tree.get_frame_by_name("palm"))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("text", [GRIPPER, URDF])
def test_child_frame_is_a_named_frame(text):
    tree, context = mounted(text, X_PF=POSE, child_frame="grip")
    np.testing.assert_allclose(pose_in_table(tree, context, "grip"), POSE, rtol=0, atol=1e-15)


def test_the_frame_of_a_model():
    tree, context = mounted(GRIPPER, X_PF=POSE, child_frame="__model__")
    X_MB = mbt.math.make_pose([0, 0, -0.049], rpy=[0.2, 0, 0.1])
    np.testing.assert_allclose(pose_in_table(tree, context, "palm"), POSE @ X_MB, rtol=0, atol=1e-15)


@pytest.mark.parametrize("base", [None, "floating", "fixed"])
def test_in_world(base):
    tree, context = mounted(GRIPPER, parent=None, base_pose=POSE, base=base, child_frame="grip")
    X_WC = tree.get_frame_by_name("grip").calc_pose_in_world(context)
    np.testing.assert_allclose(X_WC, POSE, rtol=0, atol=1e-15)
    tree, context = mounted(GRIPPER, parent=None, base=base, child_frame="tip")
    X_WC = tree.get_frame_by_name("tip").calc_pose_in_world(context)
    np.testing.assert_allclose(X_WC, np.eye(4), rtol=0, atol=1e-15)


def test_without_a_pose_in_world_a_model_stands_as_written():
    tree, context = mounted(GRIPPER, parent=None)
    alone = mbt.load_model(GRIPPER)
    expected = alone.get_frame_by_name("palm").calc_pose_in_world(alone.create_default_context())
    np.testing.assert_array_equal(tree.get_frame_by_name("palm").calc_pose_in_world(context), expected)


def test_what_a_file_holds_on_its_world_stands_with_that():
    text = urdf.robot(urdf.link("world", None), urdf.link("a"), urdf.joint("j", "world", "a"))
    _, context = mounted(text, X_PF=POSE)
    np.testing.assert_allclose(pose_in_table(context.tree, context, "j_parent"), POSE, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("finger", mbt.ArgumentValueError, "child_frame: 'finger' moves relative to the root"),
        ("plam", mbt.ArgumentValueError, "neither a link nor a frame 'plam': did you mean 'palm'?"),
        ("", mbt.ArgumentValueError, "child_frame"),
        (3, mbt.ArgumentTypeError, "child_frame: expected text"),
    ],
)
def test_child_frames_that_are_refused_change_nothing(name, error, message):
    tree = mbt.MultibodyTree()
    with pytest.raises(error, match=message.replace("?", r"\?")):
        mbt.parsing.add_model(tree, GRIPPER, base_pose=POSE, child_frame=name)
    assert (tree.num_bodies, tree.num_model_instances) == (1, 2)


def test_json_takes_none(tmp_path):
    mbt.save_model(mbt.load_model(URDF), tmp_path / "bot.json")
    with pytest.raises(mbt.ArgumentValueError, match="child_frame: not allowed for a model in JSON"):
        mbt.parsing.add_model(mbt.MultibodyTree(), tmp_path / "bot.json", child_frame="palm")


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["palm", "tip", "grip", "__model__"])
def test_as_drake_welds_it(name):
    pytest.importorskip("pydrake", reason="needs the `oracle` extra")
    from pydrake.math import RigidTransform
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(GRIPPER, "sdf")
    X_WP = mbt.math.make_pose([1, 1, 1])
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(name), RigidTransform(X_WP @ POSE))
    plant.Finalize()
    theirs = plant.CreateDefaultContext()
    tree, context = mounted(GRIPPER, X_PF=POSE, child_frame=name)
    for body in ("palm", "tip", "finger"):
        expected = plant.EvalBodyPoseInWorld(theirs, plant.GetBodyByName(body)).GetAsMatrix4()
        found = tree.get_body_by_name(body).eval_pose_in_world(context)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("on_world", ["frame", "body"])
def test_on_world_that_the_caller_names(on_world):
    """A free model is welded to World, its root at the pose, as on any other frame."""
    tree = mbt.MultibodyTree()
    parent = tree.world_frame if on_world == "frame" else tree.world_body
    mbt.parsing.add_model(tree, GRIPPER, parent=parent)
    mbt.parsing.add_model(tree, GRIPPER, model_name="placed", parent=parent, X_PF=POSE)
    mbt.parsing.add_model(tree, GRIPPER, model_name="free")
    tree.finalize()
    assert tree.num_velocities == 1 + 1 + 7
    context = tree.create_default_context()
    first, placed = (i for i in (2, 3))
    X_WB = [
        tree.get_body_by_name("palm", instance).eval_pose_in_world(context) for instance in (first, placed)
    ]
    np.testing.assert_allclose(X_WB, [np.eye(4), POSE], atol=1e-15)
