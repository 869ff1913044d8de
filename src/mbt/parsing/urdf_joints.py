"""URDF joints: types, frames, axes and limits."""

from __future__ import annotations

import math
import sys

import numpy as np

from mbt.errors import quote
from mbt.math.poses import normalize_axis
from mbt.parsing.description import NO_LIMITS, JointDescription, JointLimits, ModelDescription
from mbt.parsing.directions import calc_rotation_from_z
from mbt.parsing.numbers import take_each_number, take_number, take_numbers, take_pose
from mbt.parsing.urdf_paths import UrdfPathReader
from mbt.parsing.xml_tree import Element

__all__ = ["read_axis", "read_joint"]

# The types of <joint>, and the kind of joint that models each.
_JOINT_KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "weld",
    "floating": "floating",
    "planar": "planar",
}
_ACCELERATION = "drake:acceleration"
_LIMITS = ("lower", "upper", "velocity", "effort")
_LARGEST = sys.float_info.max
# The elements that are read inside each kind of joint; of other kinds, only the ends.
_ENDS = frozenset(("parent", "child", "origin"))
_MOTION = _ENDS | {"dynamics", "limit"}
_PARTS = {
    "revolute": _MOTION,
    "prismatic": _MOTION,
    "screw": _MOTION,
    "curvilinear": _MOTION,
    "planar": _ENDS | {"dynamics"},
    "ball": _ENDS | {"dynamics"},
    "universal": _ENDS | {"dynamics"},
}
# The types of <drake:joint>.
_DRAKE_JOINT_KINDS = {
    "ball": "ball",
    "curvilinear": "curvilinear",
    "planar": "planar",
    "screw": "screw",
    "universal": "universal",
}


def read_joint(joint: Element, model: ModelDescription, *, with_friction: bool) -> None:
    """Read a joint into ``model.joints``.

    Raises
    ------
    ParseError
        When its type cannot be modelled, a link is not named, the axis is zero, or a number is invalid.
    """
    type_ = _take_type(joint)
    kind = (_DRAKE_JOINT_KINDS if joint.tag == "drake:joint" else _JOINT_KINDS)[type_]
    parts = joint.take_parts(_PARTS.get(kind, _ENDS))
    for end in ("parent", "child"):
        if end not in parts:
            raise joint.missing_child(end)
    parent, child = parts["parent"].require_name("link"), parts["child"].require_name("link")
    X_PF = take_pose(parts.get("origin"))
    description = JointDescription(joint.require_name(), kind, parent, child, X_PF, joint.line)
    model.joints.append(description)
    if kind == "weld":
        return
    if description.is_actuatable:
        _read_motion(joint, parts, type_, description, with_friction)
    elif kind == "planar":
        _read_plane(joint, parts, description)
    elif kind in ("ball", "universal"):
        description.damping = _read_damping(joint, parts.get("dynamics"), 1)


def _read_motion(
    joint: Element,
    parts: dict[str, Element],
    type_: str,
    description: JointDescription,
    with_friction: bool,
) -> None:
    """Read the properties of one degree of freedom."""
    dynamics = parts.get("dynamics")
    description.damping = _read_damping(joint, dynamics, 1)
    description.friction = _read_friction(joint, dynamics, with_friction)
    description.limits = _read_limits(joint, parts.get("limit"), type_)
    if type_ == "curvilinear":
        description.path = UrdfPathReader().read(joint)
    else:
        description.axis = read_axis(joint)
    if type_ == "screw":
        hint = 'write <drake:screw_thread_pitch value="..."/>, in metres per turn'
        pitch = joint.require_first("drake:screw_thread_pitch", hint)
        description.screw_pitch = take_number(pitch, "value")


def _read_plane(joint: Element, parts: dict[str, Element], description: JointDescription) -> None:
    """Rotate F and M so that z is the normal of the plane, which the axis gives."""
    description.damping = _read_damping(joint, parts.get("dynamics"), 3)
    X_FJ = np.eye(4)
    X_FJ[:3, :3] = calc_rotation_from_z(normalize_axis(read_axis(joint), "axis"))
    description.X_PF = description.X_PF @ X_FJ
    description.X_BM = X_FJ


def _take_type(joint: Element) -> str:
    kinds, other_tag, other_kinds = _JOINT_KINDS, "drake:joint", _DRAKE_JOINT_KINDS
    if joint.tag == other_tag:
        kinds, other_tag, other_kinds = _DRAKE_JOINT_KINDS, "joint", _JOINT_KINDS
    type_ = joint.take("type")
    if type_ in kinds:
        return type_
    hint = f"the types of <{joint.tag}> are {', '.join(kinds)}"
    if type_ in other_kinds:
        hint = f'write <{other_tag} type="{type_}">; {hint}'
    if type_ is None:
        raise joint.error("the attribute 'type' is missing", hint)
    raise joint.error(f"unknown type {quote(type_)}", hint)


def read_axis(joint: Element) -> list[float]:
    """Return the axis of a joint; the default is x."""
    element = joint.take_first("axis")
    axis = [1.0, 0.0, 0.0] if element is None else take_numbers(element, "xyz", 3)
    if not any(axis):
        raise joint.error("its axis is zero: expected a direction")
    return axis


def _read_limits(joint: Element, limit: Element | None, type_: str) -> JointLimits:
    is_limited = type_ in ("revolute", "prismatic")
    if limit is None:
        if is_limited:
            joint.repair(f"it is {type_} without <limit>", "its position is not limited")
        return NO_LIMITS
    lower, upper, velocity, effort = _take_limits(limit)
    if is_limited and (lower is None or upper is None):
        missing = [name for name, value in (("lower", lower), ("upper", upper)) if value is None]
        side = "" if len(missing) == 2 else " on that side"
        joint.repair(f"its <limit> has no {' and no '.join(missing)}", f"read as unlimited{side}", at=limit)
    if type_ == "continuous":
        lower = upper = None
    elif lower is not None and upper is not None and lower > upper:
        fault = f"its limits are reversed, {lower:g} > {upper:g}"
        joint.repair(fault, "its position is not limited", at=limit)
        lower = upper = None
    return JointLimits(
        -math.inf if lower is None else lower if -_LARGEST < lower < _LARGEST else _without_largest(lower),
        math.inf if upper is None else upper if -_LARGEST < upper < _LARGEST else _without_largest(upper),
        _check_magnitude(joint, limit, "velocity", velocity),
        math.inf
        if limit.peek(_ACCELERATION) is None
        else _check_magnitude(joint, limit, _ACCELERATION, take_number(limit, _ACCELERATION)),
        _check_magnitude(joint, limit, "effort", effort),
    )


def _take_limits(limit: Element) -> tuple[float | None, float | None, float, float]:
    """Return the lower and upper position limits, and the limits of velocity and effort."""
    numbers = take_each_number(limit, _LIMITS)
    if numbers is not None:
        lower, upper, velocity, effort = numbers
        return lower, upper, velocity, effort
    return (
        take_number(limit, "lower", None),
        take_number(limit, "upper", None),
        take_number(limit, "velocity", math.inf),
        take_number(limit, "effort", math.inf),
    )


def _check_magnitude(joint: Element, limit: Element, name: str, magnitude: float) -> float:
    """Return a symmetric limit. A negative number means none, as in SDF, with a warning."""
    if magnitude < 0.0:
        fault = f"{name} = {magnitude:g}: a limit of {name} cannot be negative"
        joint.repair(fault, "ignored", at=limit)
        return math.inf
    return magnitude if magnitude < _LARGEST else math.inf


def _without_largest(limit: float) -> float:
    """Return a limit, infinite if it is the largest float, which other parsers require for no limit."""
    return limit if abs(limit) < _LARGEST else math.copysign(math.inf, limit)


def _read_damping(joint: Element, dynamics: Element | None, size: int) -> tuple[float, ...]:
    """Return `size` numbers; a single number in the file stands for all of them."""
    if dynamics is None or dynamics.peek("damping") is None:
        return (0.0,) * size
    if size > 1 and len(dynamics.attributes["damping"].split()) == size:
        damping = tuple(take_numbers(dynamics, "damping", size))
    else:
        damping = (take_number(dynamics, "damping"),) * size
    if min(damping) < 0.0:
        raise joint.error(f"damping = {min(damping):g}: expected a number >= 0")
    return damping


def _read_friction(joint: Element, dynamics: Element | None, with_friction: bool) -> float:
    friction = 0.0 if dynamics is None else take_number(dynamics, "friction", 0.0)
    if friction < 0.0 and with_friction:
        raise joint.error(f"friction = {friction:g}: expected a number >= 0")
    return max(friction, 0.0)
