"""URDF: an XML document to the description of a robot."""

from __future__ import annotations

import math

from mbt.parsing.description import WORLD, FrameDescription, ModelDescription
from mbt.parsing.numbers import take_pose
from mbt.parsing.report import ParseRemark, ParseReport
from mbt.parsing.sources import Source
from mbt.parsing.structure import calc_carried_masses, check_structure
from mbt.parsing.urdf_joints import read_joint, read_mimics
from mbt.parsing.urdf_links import read_link
from mbt.parsing.urdf_transmissions import read_transmissions
from mbt.parsing.xml_tree import Element, parse_xml

__all__ = ["read_urdf"]

# Elements beside links and joints that change the dynamics: to leave them out is worth a warning.
_MISSED_ELEMENTS = (
    "force_element",
    "loop_joint",
    "drake:linear_bushing_rpy",
    "drake:linear_spring_damper",
    "drake:ball_constraint",
    "drake:tendon_constraint",
)


def read_urdf(
    source: Source, *, model_name: str | None = None, strict: bool = False, joint_friction: bool = False
) -> ModelDescription:
    """Read and check a whole URDF document.

    Parameters
    ----------
    source : Source
        The document.
    model_name : str, optional
        Name of the model; otherwise the robot's, or that of the file.
    strict : bool, optional
        Refuse what was repaired, and inertias that no physical body has.
    joint_friction : bool, optional
        Whether the friction of joints is wanted; otherwise it is reported as ignored.

    Raises
    ------
    ParseError
        When anything in it cannot be modelled.
    """
    root = parse_xml(source.data, source.file, source.encoding)
    _check_root(root)
    name = model_name or (root.take("name") or "").strip() or source.stem
    report = ParseReport(source.file, name)
    model = ModelDescription(name, report, is_strict=strict, with_friction=joint_friction)

    links = [link for link in root.take_children("link") if not _is_switched_off(link, report)]
    joints = root.take_children("joint", "drake:joint")
    joints = [joint for joint in joints if not _is_switched_off(joint, report)]
    if not links:
        raise root.error("the robot has no <link>")
    _check_names(links)
    _check_names(joints)
    for link in links:
        read_link(link, model)
    for joint in joints:
        read_joint(joint, model)
    check_structure(model)
    _read_frames(root, model)
    read_mimics(joints, model)
    read_transmissions(root, model)

    _report_impossible_inertias(report)
    _report_massless_joints(model)
    _report_ignored(root, model)
    report.num_links, report.num_joints = len(model.links), len(model.joints)
    report.num_actuators = len(model.actuators)
    return model


def _check_root(root: Element) -> None:
    if root.tag != "robot":
        raise root.error("expected a <robot>: only URDF is read", "SDF and MJCF are other formats")
    for element in root.children:
        if element.tag.startswith("xacro:"):
            raise element.error("the file holds macros", "expand it with xacro first")


def _is_switched_off(element: Element, report: ParseReport) -> bool:
    """Return whether ``drake_ignore`` takes a link or joint out. World stays World."""
    is_world = element.tag == "link" and element.attributes.get("name") == WORLD
    if is_world or element.attributes.get("drake_ignore") != "true":
        return False
    report.ignore(f"{element.tag} with drake_ignore")
    element.dismiss()
    return True


def _check_names(elements: list[Element]) -> None:
    seen: dict[str, Element] = {}
    for element in elements:
        first = seen.setdefault(element.require_name(), element)
        if first is not element:
            raise element.error(f"there is a {element.tag} of this name already, in line {first.line}")


def _read_frames(root: Element, model: ModelDescription) -> None:
    """Read ``<frame name= link= xyz= rpy=>``: a named frame fixed on a link."""
    elements = root.take_children("frame")
    _check_names(elements)
    taken = {WORLD, *(link.name for link in model.links)}
    for element in elements:
        name, link = element.attributes["name"], element.require_name("link")
        if link not in taken:
            raise element.error(f"its link {link!r} does not exist")
        if name in taken:
            raise element.error("a link of this name has a frame of this name already")
        model.frames.append(FrameDescription(name, link, take_pose(element), element.line))


def _report_impossible_inertias(report: ParseReport) -> None:
    names = report.impossible_inertias
    if names:
        shown = ", ".join(repr(name) for name in names[:10]) + (" ..." if len(names) > 10 else "")
        what = "1 link has an inertia" if len(names) == 1 else f"{len(names)} links have inertias"
        text = f"{what} that no physical body has, loaded as written: {shown}"
        report.warnings.insert(0, ParseRemark(text))


def _report_massless_joints(model: ModelDescription) -> None:
    carried = calc_carried_masses(model)
    has_rotor = {a.joint for a in model.actuators if a.rotor_inertia != 0.0 and a.gear_ratio != 0.0}
    for joint in model.joints:
        if joint.kind != "weld" and carried[joint.child] == 0.0 and joint.name not in has_rotor:
            model.report.warn(
                f"joint {joint.name!r} moves links without mass: forward dynamics will be singular",
                joint.line,
            )


def _report_ignored(root: Element, model: ModelDescription) -> None:
    for tag in _MISSED_ELEMENTS:
        found = [child for child in root.children if child.tag == tag]
        if found:
            model.repair(found[0], f"{len(found)} <{tag}> ignored: the model lacks what they do")
    driven = {actuator.joint for actuator in model.actuators}
    for joint in model.joints:
        if math.isfinite(joint.limits.effort) and joint.name not in driven:
            model.report.ignore("joint/limit@effort without an actuator")
    for path in root.unread():
        model.report.ignore(path)
