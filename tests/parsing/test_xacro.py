"""xacro files expand to text that the reader reads."""

import sys

import pytest

import mbt
from mbt.errors import ArgumentTypeError, ParseError
from mbt.parsing import expand_xacro

ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:include filename="$(find parts_description)/xacro/parts.xacro"/>
  <xacro:include filename="names.xacro"/>
  <xacro:arg name="payload" default="1"/>
  <xacro:arg name="has_tool" default="false"/>
  <xacro:part name="${base}" mass="${2 * 3}"/>
  <xacro:part name="hand" mass="$(arg payload)"/>
  <joint name="wrist" type="fixed"><parent link="${base}"/><child link="hand"/></joint>
  <xacro:if value="$(arg has_tool)"><frame name="tool" link="hand"/></xacro:if>
</robot>"""
PARTS = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="part" params="name mass"><link name="${name}"><inertial><mass value="${mass}"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></xacro:macro>
</robot>"""
NAMES = (
    '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="base" value="root"/></robot>'
)


@pytest.fixture
def arm(tmp_path, monkeypatch):
    pytest.importorskip("xacro", reason="the extra xacro is not installed")
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    for path, text in (
        ("arm_description/urdf/arm.urdf.xacro", ARM),
        ("arm_description/urdf/names.xacro", NAMES),
        ("parts_description/xacro/parts.xacro", PARTS),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path / "arm_description" / "urdf" / "arm.urdf.xacro"


def test_macros_includes_packages_and_arguments(arm, tmp_path):
    tree = mbt.load_model(expand_xacro(arm, package_paths=[tmp_path]), strict=True)
    assert [body.default_mass for body in tree.bodies[1:]] == [6.0, 1.0]
    assert tree.get_body_by_name("root").index == 1
    assert not tree.has_frame_named("tool")
    text = expand_xacro(str(arm), {"payload": 2.5, "has_tool": True}, package_paths=[tmp_path])
    tree = mbt.load_model(text, strict=True)
    assert tree.get_body_by_name("hand").default_mass == 2.5
    assert tree.has_frame_named("tool")
    # Values of one expansion do not leak into the next.
    assert expand_xacro(arm, package_paths=[tmp_path]) == expand_xacro(arm, {}, package_paths=[tmp_path])


def test_packages_are_found_as_everywhere(arm, tmp_path, monkeypatch):
    with pytest.raises(
        ParseError, match=r"the package 'parts_description' was not found \(searched: "
    ) as caught:
        expand_xacro(arm)
    assert caught.value.file == str(arm)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    assert "root" in expand_xacro(arm)
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    # In the package of the file that names it.
    arm.write_text(ARM.replace("parts_description)/xacro", "arm_description)/urdf"))
    (arm.parent / "parts.xacro").write_text(PARTS)
    assert "root" in expand_xacro(arm)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot", "xacro cannot expand it: unclosed token"),
        (ARM.replace("2 * 3", "2 *"), "invalid syntax"),
        (ARM.replace("(arg payload)", "(arg weight)"), "Undefined substitution argument weight"),
        (ARM.replace("names.xacro", "no.xacro"), "No such file"),
    ],
)
def test_what_cannot_be_expanded(arm, tmp_path, text, message):
    arm.write_text(text)
    with pytest.raises(ParseError, match=message):
        expand_xacro(arm, package_paths=[tmp_path])
    with pytest.raises(ParseError, match=r"nowhere\.xacro"):
        expand_xacro(tmp_path / "nowhere.xacro")


def test_arguments_of_other_types():
    for args in (3, [("a", 1)], {"a": None}, {1: "a"}, {"a": [1]}):
        with pytest.raises(ArgumentTypeError, match="args: expected"):
            expand_xacro("arm.xacro", args)
    with pytest.raises(ArgumentTypeError, match="path: expected a path"):
        expand_xacro(3)
    with pytest.raises(ArgumentTypeError, match="package_paths: expected"):
        expand_xacro("arm.xacro", package_paths="folder")


def test_the_package_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(mbt.MissingPackageError, match="expand_xacro needs its package: pip install xacro"):
        expand_xacro("arm.xacro")


def test_macros_are_never_expanded_without_a_word(arm, tmp_path):
    """Expanding macros executes code of the file, so `load_model` refuses and names the function to call."""
    with pytest.raises(ParseError) as caught:
        mbt.load_model(arm, package_paths=[tmp_path])
    assert "mbt.parsing.expand_xacro" in caught.value.hint
