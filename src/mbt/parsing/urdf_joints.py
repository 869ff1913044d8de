"""URDF joints: types, frames, axes, limits, and the couplings between joints."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from mbt.math.arrays import FloatArray
from mbt.math.poses import normalize_axis, skew
from mbt.parsing.description import JointDescription, JointLimits, ModelDescription
from mbt.parsing.numbers import take_number, take_pose, take_vector
from mbt.parsing.report import MimicJoint
from mbt.parsing.xml_tree import Element

__all__ = ["read_joint", "read_mimics"]

# The types of <joint>, and the kind of joint that models each.
_JOINT_KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "weld",
    "floating": "floating",
    "planar": "planar",
}
# Those of <drake:joint>.
_DRAKE_JOINT_KINDS = {"ball": "ball", "planar": "planar", "screw": "screw", "universal": "universal"}


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
    elif kind == "planar":
        description = _read_plane(joint, description)
    if kind in ("planar", "ball", "universal"):
        damping = _read_damping(joint, joint.take_single("dynamics"), 3 if kind == "planar" else 1)
        description = replace(description, damping=damping)
    model.joints.append(description)


def _read_motion(joint: Element, description: JointDescription, model: ModelDescription) -> JointDescription:
    dynamics = joint.take_single("dynamics")
    return replace(
        description,
        axis=_read_axis(joint),
        limits=_read_limits(joint, joint.take_single("limit")),
        damping=_read_damping(joint, dynamics, 1),
        friction=_read_friction(joint, dynamics, model),
        screw_pitch=_read_screw_pitch(joint) if description.kind == "screw" else 0.0,
    )


def _read_plane(joint: Element, description: JointDescription) -> JointDescription:
    """Turn z of F, and of M, to the normal of the plane: the axis."""
    X_FJ = np.eye(4)
    X_FJ[:3, :3] = _calc_rotation_from_z(normalize_axis(_read_axis(joint), "axis"))
    return replace(description, X_PF=description.X_PF @ X_FJ, R_BM=X_FJ[:3, :3])


def _calc_rotation_from_z(n: FloatArray) -> FloatArray:
    """Return the smallest rotation that takes z to the unit vector n; about x where n is opposite to z."""
    sine_squared = n[0] * n[0] + n[1] * n[1]
    if sine_squared == 0.0:
        return np.diag([1.0, n[2], n[2]])
    # With w = z x n: R = 1 + [w] + [w] [w] / (1 + z.n), and the denominator without cancellation.
    w = skew([-n[1], n[0], 0.0])
    denominator = 1.0 + n[2] if n[2] > 0.0 else sine_squared / (1.0 - n[2])
    R: FloatArray = np.eye(3) + w + w @ w / denominator
    return R


def _read_axis(joint: Element) -> FloatArray:
    element = joint.take_single("axis")
    axis = np.array([1.0, 0.0, 0.0]) if element is None else take_vector(element, "xyz", 3)
    if not axis.any():
        raise joint.error("its axis is zero: expected a direction")
    return axis


def _read_joint_kind(joint: Element) -> str:
    kinds = _DRAKE_JOINT_KINDS if joint.tag == "drake:joint" else _JOINT_KINDS
    hint = f"a type of <{joint.tag}> is one of {', '.join(kinds)}"
    written = joint.require("type", hint)
    if written not in kinds:
        raise joint.error(f"unknown type {written[:60]!r}", hint)
    return kinds[written]


def _read_screw_pitch(joint: Element) -> float:
    pitch = joint.require_single("drake:screw_thread_pitch", "metres per turn, as its value")
    return take_number(pitch, "value")


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


def _read_damping(joint: Element, dynamics: Element | None, size: int) -> tuple[float, ...]:
    """Return `size` numbers. Where several are wanted, one stands for all of them."""
    if dynamics is None or "damping" not in dynamics.attributes:
        return (0.0,) * size
    if size > 1 and len(dynamics.attributes["damping"].split()) == size:
        damping = tuple(take_vector(dynamics, "damping", size).tolist())
    else:
        damping = (take_number(dynamics, "damping"),) * size
    if min(damping) < 0.0:
        raise joint.error(f"damping = {min(damping):g}: expected a number >= 0")
    return damping


def _read_friction(joint: Element, dynamics: Element | None, model: ModelDescription) -> float:
    friction = 0.0 if dynamics is None else take_number(dynamics, "friction", 0.0)
    if friction == 0.0:
        return 0.0
    if not model.with_friction:
        model.report.ignore("joint/dynamics@friction without joint_friction=True")
        return 0.0
    if friction < 0.0:
        raise joint.error(f"friction = {friction:g}: expected a number >= 0")
    return friction


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
