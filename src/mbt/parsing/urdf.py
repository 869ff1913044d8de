"""URDF: turns an XML document into the description of a robot."""

from __future__ import annotations

from mbt.errors import quote
from mbt.parsing.checks import check_dynamics, count_elements, warn_of_held_base
from mbt.parsing.description import WORLD, FrameDescription, ModelDescription
from mbt.parsing.drake_elements import DRAKE_ELEMENTS, FILTER_GROUP
from mbt.parsing.left_out import report_left_out, warn_of_gazebo
from mbt.parsing.numbers import take_pose
from mbt.parsing.options import ReadOptions
from mbt.parsing.report import ParseReport
from mbt.parsing.structure import (
    check_structure,
    free_from_world,
    order_depth_first,
)
from mbt.parsing.urdf_elements import UrdfElementReader
from mbt.parsing.urdf_joints import read_joint
from mbt.parsing.urdf_links import read_link
from mbt.parsing.urdf_mimics import read_mimics
from mbt.parsing.urdf_shapes import read_colors
from mbt.parsing.urdf_transmissions import add_missing_actuators, read_transmissions
from mbt.parsing.xml_tree import XACRO_HINT, Element

__all__ = ["read_urdf", "read_urdf_parts"]

_XACRO = "xacro:"


def read_urdf(root: Element, report: ParseReport, options: ReadOptions) -> ModelDescription:
    """Read and check a whole URDF document.

    Parameters
    ----------
    root : Element
        The ``<robot>``.
    report : ParseReport
        The report, which lists ignored and repaired content.
    options : ReadOptions
        The options of the caller.

    Raises
    ------
    ParseError
        When anything in it cannot be modelled.
    """
    model = read_urdf_parts(root, report, options)
    if options.base == "floating":
        free_from_world(model)
    order_depth_first(model)

    _report_roots(root, model, options)
    check_dynamics(root, model)
    _report_ignored(root, report)
    count_elements(model, options)
    return model


def read_urdf_parts(root: Element, report: ParseReport, options: ReadOptions) -> ModelDescription:
    """Read a URDF document, in file order, for a model that may become part of another one.

    Raises
    ------
    ParseError
        When anything in it cannot be modelled.
    """
    model = ModelDescription(report.model_name, report)
    has_macros = any(tag.startswith(_XACRO) for tag in {child.tag for child in root.children})
    links, joints = root.take_children("link"), root.take_children("joint", "drake:joint")
    if "true" in {element.peek("drake_ignore") for element in (*links, *joints)}:
        links = [link for link in links if not _is_switched_off(link, report)]
        joints = [joint for joint in joints if not _is_switched_off(joint, report)]
    if not links:
        raise root.error("the robot has no <link>", XACRO_HINT if has_macros else None)
    _check_names(links)
    _check_names(joints)
    colors = read_colors(root)
    is_large, with_friction = root.document.is_large, options.joint_friction
    model.friction_is_force = with_friction
    for link in links:
        read_link(link, model, colors)
        if is_large:
            link.forget_read()
    for joint in joints:
        read_joint(joint, model, with_friction=with_friction)
        if is_large:
            joint.forget_read()
    check_structure(model, XACRO_HINT if has_macros else None)
    _read_frames(root, model)
    read_mimics(joints, model)
    elements = UrdfElementReader(model)
    for element in root.take_children("loop_joint", *DRAKE_ELEMENTS):
        elements.read(element)
    elements.read_filter_groups(root.take_children(FILTER_GROUP))
    read_transmissions(root, model)
    if options.actuators == "all":
        add_missing_actuators(model)
    return model


def _is_switched_off(element: Element, report: ParseReport) -> bool:
    """Return whether ``drake_ignore`` removes a link or joint. World always stays."""
    if element.peek("drake_ignore") != "true":
        return False
    if element.tag == "link" and element.peek("name") == WORLD:
        return False
    report.ignore(f"{element.tag} with drake_ignore")
    element.dismiss()
    return True


def _check_names(elements: list[Element]) -> None:
    seen: dict[str, Element] = {}
    for element in elements:
        name = element.require_name()
        first = seen.setdefault(name, element)
        if first is not element:
            raise element.error(f"there is a {first.tag} of this name already, in line {first.line}")
        if "${" in name or "$(" in name:
            element.repair("its name is a macro that xacro would expand", "read as it is")


def _read_frames(root: Element, model: ModelDescription) -> None:
    """Read ``<frame name= link= xyz= rpy=>``: a named frame fixed on a link."""
    elements = root.take_children("frame")
    if not elements:
        return
    _check_names(elements)
    taken = {WORLD, *(link.name for link in model.links)}
    for element in elements:
        name, link = element.require_name(), element.require_name("link")
        if link not in taken:
            raise element.error(f"its link {quote(link)} does not exist")
        if name in taken:
            raise element.error("a link of this name has a frame of this name already")
        model.frames.append(FrameDescription(name, link, take_pose(element), element.line))


def _report_roots(root: Element, model: ModelDescription, options: ReadOptions) -> None:
    """Warn of parts that no joint connects, and of a base that the options cannot free."""
    roots = [quote(name, limit=30) for name in model.roots]
    on_world = [joint for joint in model.joints if WORLD in (joint.parent, joint.child)]
    if on_world:
        roots.insert(0, "World")
    # A warning names the links that the caller frees from World already.
    if len(roots) > 1 and len(model.freed) < len(model.roots):
        shown = ", ".join(roots[:10]) + (" ..." if len(roots) > 10 else "")
        fate = "left free" if options.base == "floating" else "welded to World, or to what it is mounted on"
        root.repair(
            f"no joint connects {len(roots)} parts of the model, with the roots {shown}",
            f"each{' but World' if on_world else ''} is {fate}",
        )
    warn_of_held_base(model, options)


def _report_ignored(root: Element, report: ParseReport) -> None:
    warn_of_gazebo(root)
    report_left_out(root, report)
    macros = [element for path, element in root.unread() if _XACRO in path]
    if macros:
        more = f", as are {len(macros) - 1} more" if len(macros) > 1 else ""
        macros[0].repair(f"it is a macro of xacro{more}", "ignored; mbt.parsing.expand_xacro expands it")
