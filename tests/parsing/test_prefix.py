"""`prefix=`: load one file several times into one tree, with distinct names."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt.parsing import add_model
from mbt.parsing.assembly import add_description, make_mount
from mbt.parsing.description import ModelDescription
from support.urdf_texts import describe

GRIPPER = """<robot name="gripper">
  <link name="world"/><link name="palm"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="a"/><link name="b"/>
  <joint name="base" type="fixed"><parent link="world"/><child link="palm"/></joint>
  <joint name="ja" type="prismatic"><parent link="palm"/><child link="a"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="2" velocity="3" effort="4"/></joint>
  <joint name="jb" type="prismatic"><parent link="palm"/><child link="b"/><axis xyz="1 0 0"/>
    <mimic joint="ja"/><limit lower="-1" upper="2" velocity="3" effort="4"/></joint>
  <transmission name="t"><type>transmission_interface/SimpleTransmission</type>
    <joint name="ja"/><actuator name="motor"/></transmission></robot>"""

pytestmark = pytest.mark.filterwarnings("ignore::mbt.ModelWarning")


def _names(tree: mbt.MultibodyTree, instance: int) -> list[str]:
    kinds = (tree.bodies, tree.frames, tree.joints, tree.joint_actuators, tree.constraints)
    return [element.name for kind in kinds for element in kind if element.model_instance == instance]


def test_every_name_has_it() -> None:
    plain, tree = mbt.load_model(GRIPPER), mbt.load_model(GRIPPER, prefix="left_")
    names = _names(plain, 2)
    assert {"palm", "ja", "jb", "motor", "ja_parent"} <= set(names)
    assert _names(tree, 2) == [f"left_{name}" for name in names]
    assert tree.model_instances[2].name == "left_gripper"
    assert tree.get_body_by_name("world") is tree.world_body
    q = [0.1, 0.2]
    np.testing.assert_array_equal(mbt.functional.mass_matrix(tree, q), mbt.functional.mass_matrix(plain, q))


def test_two_of_one_file() -> None:
    tree = mbt.MultibodyTree()
    left, right = (add_model(tree, GRIPPER, prefix=prefix) for prefix in ("left_", "right_"))
    tree.finalize()
    assert tree.get_body_by_name("left_palm").model_instance == left
    assert tree.get_body_by_name("right_palm").model_instance == right
    q = tree.q_from_dict({"left_ja": 0.1, "right_jb": 0.2})
    assert q.tolist() == [0.1, 0.0, 0.0, 0.2]
    assert [report.model_name for report in tree.parse_reports] == ["left_gripper", "right_gripper"]
    # The report uses the names of the file.
    assert tree.parse_reports[0].mimic_joints[0].joint == "jb"


def test_a_name_of_the_model_is_taken_as_it_is() -> None:
    tree = mbt.load_model(GRIPPER, prefix="left_", model_name="hand")
    assert tree.get_body_by_name("hand::left_palm").name == "left_palm"


def test_frames_of_joints_give_way_as_without() -> None:
    text = GRIPPER.replace('"a"', '"ja_parent"')
    tree, plain = mbt.load_model(text, prefix="p_"), mbt.load_model(text)
    assert _names(tree, 2) == [f"p_{name}" for name in _names(plain, 2)]
    assert tree.has_frame_named("p_ja_parent_")


def test_on_a_frame_of_a_tree() -> None:
    tree = mbt.MultibodyTree()
    arm = add_model(tree, mbt.models.model_path("mbt_arm"))
    flange = tree.bodies[-1].body_frame
    text = '<robot name="tool"><link name="camera"/></robot>'
    add_model(tree, text, parent=flange, prefix="hand_")
    joint = tree.joints[-1]
    assert (joint.name, joint.parent_body) == (f"hand_camera_to_{flange.name}", flange.body)
    assert joint.model_instance != arm


def test_models_inside_models() -> None:
    """The prefix comes before the element's own name, whatever the model instance."""
    model: ModelDescription = describe(
        '<robot name="arm"><link name="base"/><link name="grip::palm"/></robot>'
    )
    model.scopes = ["grip"]
    model.set_prefix("left_", of_model=True)
    tree = mbt.MultibodyTree()
    add_description(tree, model, make_mount(tree, None, None, None, None), base=None)
    assert [body.scoped_name for body in tree.bodies[1:]] == [
        "left_arm::left_base",
        "left_arm::grip::left_palm",
    ]
    assert tree.get_body_by_name("left_arm::grip::left_palm") is tree.bodies[2]


def test_of_sdf_with_models_inside_on_which_gravity_does_not_act() -> None:
    text = """<sdf version="1.7"><model name="m"><link name="a"><gravity>false</gravity></link>
      <model name="inner"><link name="b"><gravity>false</gravity></link></model></model></sdf>"""
    tree = mbt.load_model(text, prefix="left_")
    assert [body.scoped_name for body in tree.bodies[1:]] == ["left_m::left_a", "left_m::inner::left_b"]
    gravity = tree.gravity_field
    assert gravity is not None
    assert [gravity.is_enabled(i) for i in range(4)] == [True, True, False, False]


@pytest.mark.parametrize("prefix", [None, 3, b"left_"])
def test_what_is_refused(prefix: object) -> None:
    with pytest.raises(mbt.ArgumentTypeError, match="prefix: expected text, got"):
        mbt.load_model(GRIPPER, prefix=prefix)  # type: ignore[arg-type]
