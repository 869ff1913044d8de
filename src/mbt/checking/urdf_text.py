"""Checks of the text of a URDF, in addition to those of its model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mbt.errors import quote
from mbt.parsing.description import WORLD

if TYPE_CHECKING:
    from mbt.checking.subject import Subject
    from mbt.parsing.xml_tree import Element

__all__ = ["check_urdf_text"]

# Angles in radians are smaller: this is a turn, with some margin for rounding.
_TURN = 2.0 * math.pi + 0.01
# The largest difference of the length of an axis from 1 that rounding explains.
_AXIS_TOLERANCE = 1e-3


def check_urdf_text(root: Element, subject: Subject) -> None:
    """Check names, connections, angles and axes as written."""
    links = [child for child in root.children if child.tag == "link"]
    joints = [child for child in root.children if child.tag in ("joint", "drake:joint")]
    _check_duplicates(links, subject)
    _check_duplicates(joints, subject)
    _check_case(links, subject)
    _check_case(joints, subject)
    _check_connections(links, joints, subject)
    for owner in (*links, *joints):
        _check_angles(owner, subject)
    for joint in joints:
        _check_axis(joint, subject)


def _label(element: Element) -> str:
    kind = "joint" if element.tag == "drake:joint" else element.tag
    return f"{kind} {quote(element.attributes.get('name', ''))}"


def _check_duplicates(elements: list[Element], subject: Subject) -> None:
    first: dict[str, Element] = {}
    for element in elements:
        name = element.attributes.get("name")
        if name is not None and first.setdefault(name, element) is not element:
            message = f"another one has this name, in line {first[name].line}"
            subject.report(
                "error", "duplicate-name", _label(element), message, "rename one", line=element.line
            )


def _check_case(elements: list[Element], subject: Subject) -> None:
    first: dict[str, str] = {}
    for element in elements:
        name = element.attributes.get("name", "")
        other = first.setdefault(name.lower(), name)
        if other != name:
            message = f"its name differs from {quote(other)} in case only"
            subject.report("note", "similar-name", _label(element), message, line=element.line)


def _check_connections(links: list[Element], joints: list[Element], subject: Subject) -> None:
    names = {link.attributes.get("name", "") for link in links} | {WORLD}
    parent_of: dict[str, Element] = {}
    for joint in joints:
        ends = {child.tag: child.attributes.get("link") for child in joint.children}
        for end in ("parent", "child"):
            name = ends.get(end)
            if name is not None and name not in names:
                message = f"its {end} link {quote(name)} does not exist"
                subject.report(
                    "error", "unknown-link", _label(joint), message, _nearest(name, names), line=joint.line
                )
        child = ends.get("child")
        if child is not None and parent_of.setdefault(child, joint) is not joint:
            other = parent_of[child]
            message = (
                f"its child link {quote(child)} has a parent already, by {_label(other)} in line {other.line}"
            )
            cure = "close a loop by <loop_joint> or <drake:ball_constraint>"
            subject.report("error", "two-parents", _label(joint), message, cure, line=joint.line)


def _nearest(name: str, names: set[str]) -> str:
    import difflib

    found = difflib.get_close_matches(name, sorted(names), n=1) if len(names) < 10_000 else []
    return f"did you mean {quote(found[0])}?" if found else ""


def _check_angles(owner: Element, subject: Subject) -> None:
    stack = list(owner.children)
    while stack:
        element = stack.pop()
        stack.extend(element.children)
        if element.tag != "origin":
            continue
        angles = _numbers(element.attributes.get("rpy"))
        if any(abs(angle) > _TURN for angle in angles):
            shown = " ".join(f"{angle:g}" for angle in angles)
            radians = " ".join(f"{math.radians(angle):.9g}" for angle in angles)
            message = f'rpy="{shown}" looks like degrees: angles are in radians'
            cure = f'if so, write rpy="{radians}"'
            subject.report("warning", "angle-unit", _label(owner), message, cure, line=element.line)


def _check_axis(joint: Element, subject: Subject) -> None:
    for child in joint.children:
        axis = _numbers(child.attributes.get("xyz")) if child.tag == "axis" else []
        length = math.hypot(*axis)
        if len(axis) == 3 and length > 0.0 and abs(length - 1.0) > _AXIS_TOLERANCE:
            unit = " ".join(f"{x / length:.9g}" for x in axis)
            message = f"its axis is {length:.4g} long: only its direction counts"
            subject.report(
                "note", "axis-length", _label(joint), message, f'write xyz="{unit}"', line=child.line
            )


def _numbers(text: str | None) -> list[float]:
    """Return finite numbers, or an empty list for anything else, which the reader reports."""
    try:
        numbers = [float(token) for token in (text or "").split()]
    except ValueError:
        return []
    return numbers if all(map(math.isfinite, numbers)) else []
