"""Reads numbers, flags and poses in the texts of SDF elements."""

from __future__ import annotations

import math
from typing import NamedTuple

from mbt.errors import quote
from mbt.math.arrays import FloatArray
from mbt.math.poses import IDENTITY, make_pose
from mbt.parsing.numbers import read_numbers
from mbt.parsing.xml_tree import Element

__all__ = [
    "NO_POSE",
    "Pose",
    "read_number",
    "read_pose",
    "take_flag",
    "take_limit",
    "take_number",
    "take_pose",
    "take_text",
    "take_vector",
]

#: A limit of this size or larger means none.
_NO_LIMIT = 1e16
#: The largest coordinate [m], so that sums and products are finite.
_MAX_LENGTH = 1e100


class Pose(NamedTuple):
    """A pose X, shape (4, 4), and the name of the frame to which it is relative, if given."""

    X: FloatArray
    relative_to: str | None = None


NO_POSE = Pose(IDENTITY)


def take_text(parent: Element, tag: str) -> str | None:
    """Return the text of a child, or None if there is no such child or no text."""
    child = parent.take_first(tag)
    return (child.text or None) if child is not None else None


def take_number(parent: Element, tag: str, default: float) -> float:
    """Return the number that a child holds; `default` without a child or without text."""
    child = parent.take_first(tag)
    return default if child is None else read_number(child, default)


def read_number(element: Element, default: float) -> float:
    """Return the number that an element holds, or `default` without text."""
    return read_numbers(element, 1)[0] if element.text_parts else default


def take_limit(parent: Element, tag: str) -> float | None:
    """Return the limit that a child holds; None if there is none or if it is huge."""
    child = parent.take_first(tag)
    if child is None or not child.text_parts or child.text.lower().lstrip("+-") in ("inf", "infinity"):
        return None
    (limit,) = read_numbers(child, 1)
    return None if abs(limit) >= _NO_LIMIT else limit


def take_vector(parent: Element, tag: str, default: list[float]) -> list[float]:
    """Return the numbers in a child, of the same count as in `default`; `default` without a child."""
    child = parent.take_first(tag)
    return read_numbers(child, len(default)) if child is not None and child.text_parts else default


def take_flag(parent: Element, tag: str) -> bool:
    """Return the flag in a child: ``true``, ``1``, ``false`` or ``0``; False without one."""
    text = take_text(parent, tag)
    if text is None:
        return False
    flag = read_flag(text)
    if flag is None:
        parent.repair(f"its <{tag}> {quote(text)} is neither true nor false", "read as false")
    return bool(flag)


def read_flag(text: str) -> bool | None:
    """Return the flag in a text, or None if it is not a flag."""
    return {"true": True, "1": True, "false": False, "0": False}.get(text.strip().lower())


def take_pose(parent: Element) -> Pose:
    """Return the pose of the child ``<pose>``; the identity without one."""
    child = parent.take_first("pose")
    return NO_POSE if child is None else read_pose(child)


def read_pose(element: Element) -> Pose:
    """Return the pose in an element: position, and angles [rad, or degrees] or a quaternion x y z w.

    Raises
    ------
    ParseError
        When the numbers do not give a pose.
    """
    relative_to = None
    rotation_format, in_degrees = "euler_rpy", False
    if element.attributes:
        # Up to version 1.6 the attribute was called frame.
        relative_to = element.take("relative_to") or element.take("frame") or None
        rotation_format = element.take("rotation_format") or rotation_format
        degrees = element.take("degrees") or "false"
        flag = read_flag(degrees)
        if flag is None:
            raise element.error(f"degrees={quote(degrees)} is neither true nor false")
        in_degrees = flag
    if not element.text_parts:
        return Pose(IDENTITY, relative_to)
    if rotation_format == "quat_xyzw":
        return Pose(_read_pose_with_quaternion(element), relative_to)
    if rotation_format != "euler_rpy":
        hint = "a rotation is given as euler_rpy or quat_xyzw"
        raise element.error(f"unknown rotation_format {quote(rotation_format)}", hint)
    x, y, z, roll, pitch, yaw = read_numbers(element, 6)
    _check_position(element, x, y, z)
    if in_degrees:
        roll, pitch, yaw = math.radians(roll), math.radians(pitch), math.radians(yaw)
    if roll == 0.0 and pitch == 0.0 and yaw == 0.0:
        if x == 0.0 and y == 0.0 and z == 0.0:
            return Pose(IDENTITY, relative_to)
        return Pose(make_pose([x, y, z]), relative_to)
    return Pose(make_pose([x, y, z], rpy=[roll, pitch, yaw]), relative_to)


def _read_pose_with_quaternion(element: Element) -> FloatArray:
    *p, x, y, z, w = read_numbers(element, 7)
    _check_position(element, *p)
    if not (x or y or z or w):
        raise element.error("the quaternion is zero: that is not a rotation")
    return make_pose(p, quaternion=[w, x, y, z])


def _check_position(element: Element, *p: float) -> None:
    if max(map(abs, p)) > _MAX_LENGTH:
        raise element.error(f"it is further away than {_MAX_LENGTH:g} m")
