"""URDF joints: types, frames, axes, limits, and the couplings between joints."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from mbt.parsing.description import JointDescription, JointLimits, ModelDescription
from mbt.parsing.numbers import take_number, take_pose, take_vector
from mbt.parsing.report import MimicJoint
from mbt.parsing.xml_tree import Element

__all__ = ["read_joint", "read_mimics"]

# URDF's types, and the kind of joint that models each.
_JOINT_KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "weld",
    "floating": "floating",
}


def read_joint(joint: Element, model: ModelDescription) -> None:
    """Read a joint into ``model.joints``.

    Raises
    ------
    ParseError
        When its type cannot be modelled, a link is not named, the axis is zero, limits are reversed, or a
        number is none.
    """
    kind = _read_joint_kind(joint)
    parent = joint.require_single("parent").require_name("link")
    child = joint.require_single("child").require_name("link")
    X_PF = take_pose(joint.take_single("origin"))
    description = JointDescription(joint.attributes["name"], kind, parent, child, X_PF, joint.line)
    if description.is_actuatable:
        description = _read_motion(joint, description, model)
    model.joints.append(description)


def _read_motion(joint: Element, description: JointDescription, model: ModelDescription) -> JointDescription:
    axis_element = joint.take_single("axis")
    axis = np.array([1.0, 0.0, 0.0]) if axis_element is None else take_vector(axis_element, "xyz", 3)
    if not axis.any():
        raise joint.error("its axis is zero: expected a direction")
    limits = _read_limits(joint, joint.take_single("limit"))
    damping = _read_damping(joint, joint.take_single("dynamics"), model)
    return replace(description, axis=axis, limits=limits, damping=damping)


def _read_joint_kind(joint: Element) -> str:
    written = joint.require("type", f"a type is one of {', '.join(_JOINT_KINDS)}")
    if written == "planar":
        raise joint.error(
            "joints of type 'planar' are not supported yet",
            "two prismatic joints and a revolute one in a chain move in the same way",
        )
    if written not in _JOINT_KINDS:
        raise joint.error(f"unknown type {written[:60]!r}", f"a type is one of {', '.join(_JOINT_KINDS)}")
    return _JOINT_KINDS[written]


def _read_limits(joint: Element, limit: Element | None) -> JointLimits:
    if limit is None:
        return JointLimits()
    lower, upper = take_number(limit, "lower", -math.inf), take_number(limit, "upper", math.inf)
    if joint.attributes["type"] == "continuous":
        lower, upper = -math.inf, math.inf
    if lower > upper:
        raise joint.error(f"its limits are reversed: lower = {lower:g} > upper = {upper:g}")
    return JointLimits(
        lower,
        upper,
        velocity=_take_magnitude(joint, limit, "velocity"),
        acceleration=_take_magnitude(joint, limit, "drake:acceleration"),
        effort=_take_magnitude(joint, limit, "effort"),
    )


def _take_magnitude(joint: Element, limit: Element, name: str) -> float:
    magnitude = take_number(limit, name, math.inf)
    if magnitude < 0.0:
        raise joint.error(f"{name} = {magnitude:g}: a limit of {name} cannot be negative")
    return magnitude


def _read_damping(joint: Element, dynamics: Element | None, model: ModelDescription) -> float:
    if dynamics is None:
        return 0.0
    damping = take_number(dynamics, "damping", 0.0)
    if damping < 0.0:
        raise joint.error(f"damping = {damping:g}: expected a number >= 0")
    if take_number(dynamics, "friction", 0.0) != 0.0:
        model.report.ignore("joint/dynamics@friction")
    return damping


def read_mimics(joints: list[Element], model: ModelDescription) -> None:
    """Check and report couplings: a joint that mimics another keeps a coordinate of its own.

    Raises
    ------
    ParseError
        When the other joint does not exist, or joints mimic themselves.
    """
    by_name = {joint.name: joint for joint in model.joints}
    masters: dict[str, str] = {}
    for joint in joints:
        mimic = joint.take_single("mimic")
        if mimic is None:
            continue
        name, master = joint.attributes["name"], mimic.require_name("joint")
        coupling = MimicJoint(
            name, master, take_number(mimic, "multiplier", 1.0), take_number(mimic, "offset", 0.0)
        )
        if master == name:
            raise joint.error("it mimics itself")
        if master not in by_name:
            raise joint.error(f"it mimics joint {master!r}, which does not exist")
        if not (by_name[name].is_actuatable and by_name[master].is_actuatable):
            text = f"joint {name!r} mimics {master!r}: one of them has no single coordinate; no effect"
            model.report.warn(text, joint.line)
            continue
        masters[name] = master
        model.report.mimic_joints.append(coupling)
        rule = f"q = {coupling.multiplier:g} q_{master} {coupling.offset:+g}"
        text = f"joint {name!r} mimics {master!r} ({rule}): it keeps a coordinate of its own"
        model.report.warn(text, mimic.line)
    _check_mimic_loops(masters, joints)


def _check_mimic_loops(masters: dict[str, str], joints: list[Element]) -> None:
    settled: set[str] = set()
    for start in masters:
        path: list[str] = []
        on_path: set[str] = set()
        name = start
        while name in masters and name not in settled:
            if name in on_path:
                element = next(joint for joint in joints if joint.attributes["name"] == name)
                raise element.error(f"joints mimic each other in a loop: {' -> '.join([*path[:8], name])}")
            path.append(name)
            on_path.add(name)
            name = masters[name]
        settled.update(path)
