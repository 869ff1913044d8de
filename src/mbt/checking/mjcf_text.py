"""Checks that need the text of an MJCF, whose angles are in degrees by default."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mbt.tree.joints.revolute import RevoluteJoint

if TYPE_CHECKING:
    from mbt.checking.subject import Subject
    from mbt.parsing.xml_tree import Element
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["angles_are_in_degrees", "check_ranges", "has_no_contact"]

# As radians, a turn with some margin; in degrees, too little motion for a hinge with limits.
_TURN = 2.0 * math.pi + 0.3


def angles_are_in_degrees(root: Element) -> bool:
    """Return whether an MJCF without includes has angles in degrees by default, not by an attribute."""
    tags = {child.tag for child in root.children}
    units = [child.attributes.get("angle") for child in root.children if child.tag == "compiler"]
    return "include" not in tags and not any(units)


def has_no_contact(root: Element) -> bool:
    """Return whether an MJCF disables contact."""
    options = [child for child in root.children if child.tag == "option"]
    flags = [child for option in options for child in option.children if child.tag == "flag"]
    return any(flag.attributes.get("contact") == "disable" for flag in flags)


def check_ranges(tree: MultibodyTree, subject: Subject) -> None:
    """Find ranges of hinges in radians that are read as degrees: then all of them are tiny."""
    if not subject.may_mean_radians:
        return
    hinges = [joint for joint in tree.joints if isinstance(joint, RevoluteJoint)]
    ends = [
        abs(math.degrees(float(end)))
        for joint in hinges
        for end in (joint.position_lower_limits[0], joint.position_upper_limits[0])
        if math.isfinite(end)
    ]
    if not any(ends) or max(ends) > _TURN:
        return
    message = (
        f"no hinge has a range beyond {max(ends):.3g} degrees: ranges look like radians, but angles are in "
        "degrees"
    )
    cure = 'if so, write <compiler angle="radian"/>'
    subject.report("warning", "degrees-for-radians", "", message, cure)
