"""Axes of SDF joints: a direction, with limits, damping and drive of the motion about or along it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mbt.math.arrays import FloatArray
from mbt.math.poses import normalize_axis
from mbt.parsing.description import MODEL_FRAME, NO_LIMITS, JointLimits
from mbt.parsing.numbers import read_numbers
from mbt.parsing.sdf_frames import SdfFrame, calc_pose_between
from mbt.parsing.sdf_values import take_flag, take_limit, take_number
from mbt.parsing.xml_tree import Element

__all__ = ["Axis", "read_axis", "read_direction", "take_positive"]

_Z = [0.0, 0.0, 1.0]


@dataclass
class Axis:
    """An axis of a joint.

    Attributes
    ----------
    direction : ndarray, shape (3,)
        Unit vector in the frame of the joint.
    limits : JointLimits
        Limits of position, velocity, acceleration and effort.
    damping, friction, stiffness, reference : float
        Damping and friction of the motion, stiffness and reference of the spring on it.
    mimic : Element or None
        The element that couples it to another axis.
    """

    direction: FloatArray
    limits: JointLimits = NO_LIMITS
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    reference: float = 0.0
    mimic: Element | None = None

    @property
    def has_motor(self) -> bool:
        """Whether the file gives it an effort limit, and so a motor."""
        return 0.0 < self.limits.effort < math.inf


def read_axis(joint: Element, tag: str, frame: SdfFrame, *, with_friction: bool) -> Axis:
    """Read ``<axis>`` or ``<axis2>``. If it is missing, the axis is z.

    Parameters
    ----------
    joint : Element
        The joint.
    tag : {"axis", "axis2"}
        The tag of the axis.
    frame : SdfFrame
        The frame of the joint.
    with_friction : bool
        Whether friction acts in all computations.

    Raises
    ------
    ParseError
        When the direction is zero, or a number is invalid.
    """
    element = joint.take_first(tag)
    if element is None:
        joint.repair(f"it has no <{tag}>", "the axis is z of its frame")
        return Axis(normalize_axis(_Z, "axis"))
    axis = Axis(read_direction(joint, element, frame))
    dynamics = element.take_first("dynamics")
    if dynamics is not None:
        axis.damping = take_positive(joint, dynamics, "damping")
        axis.stiffness = take_positive(joint, dynamics, "spring_stiffness")
        axis.reference = take_number(dynamics, "spring_reference", 0.0)
        axis.friction = _read_friction(joint, dynamics, with_friction)
    limit = element.take_first("limit")
    if limit is not None:
        axis.limits = _read_limits(joint, limit)
    axis.mimic = element.take_first("mimic")
    return axis


def read_direction(joint: Element, axis: Element, frame: SdfFrame) -> FloatArray:
    """Return the unit vector of an axis in the frame of its joint."""
    element = axis.take_first("xyz")
    xyz = _Z if element is None or not element.text_parts else read_numbers(element, 3)
    if not any(xyz):
        raise joint.error("its axis is zero: expected a direction")
    assert frame.scope is not None
    base = element.take("expressed_in") if element is not None else None
    # Up to version 1.4 axes were expressed in the model frame, up to 1.6 on request.
    in_model = take_flag(axis, "use_parent_model_frame") or frame.scope.version < (1, 5)
    if not base and in_model:
        base = MODEL_FRAME
    n = normalize_axis(xyz, "axis")
    if not base:
        return n
    R_JE = calc_pose_between(frame, frame.scope.find(base, joint, "frame"))[:3, :3]
    return normalize_axis((R_JE @ n).tolist(), "axis")


def _read_limits(joint: Element, limit: Element) -> JointLimits:
    lower, upper = take_limit(limit, "lower"), take_limit(limit, "upper")
    if lower is not None and upper is not None and lower > upper:
        fault = f"its limits are reversed, {lower:g} > {upper:g}"
        joint.repair(fault, "its position is not limited", at=limit)
        lower = upper = None
    return JointLimits(
        -math.inf if lower is None else lower,
        math.inf if upper is None else upper,
        velocity=_take_magnitude(limit, "velocity"),
        acceleration=_take_magnitude(limit, "drake:acceleration"),
        effort=_take_magnitude(limit, "effort"),
    )


def _take_magnitude(limit: Element, tag: str) -> float:
    """Return a symmetric limit: a negative number means none."""
    magnitude = take_limit(limit, tag)
    return math.inf if magnitude is None or magnitude < 0.0 else magnitude


def take_positive(joint: Element, dynamics: Element, tag: str) -> float:
    """Return the number >= 0 in a child of an element of a joint; zero without the child."""
    value = take_number(dynamics, tag, 0.0)
    if value < 0.0:
        raise joint.error(f"{tag} = {value:g}: expected a number >= 0")
    return value


def _read_friction(joint: Element, dynamics: Element, with_friction: bool) -> float:
    if with_friction:
        return take_positive(joint, dynamics, "friction")
    return max(take_number(dynamics, "friction", 0.0), 0.0)
