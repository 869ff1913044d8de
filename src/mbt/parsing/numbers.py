"""Numbers and poses written in attributes.

A number is read as a whole token or not at all: ``1.5kg``, ``1,5``, ``0x10``, ``nan`` and ``inf`` are errors.
"""

from __future__ import annotations

import re
from typing import overload

import numpy as np

from mbt.errors import ParseError
from mbt.math.arrays import FloatArray
from mbt.math.poses import make_pose
from mbt.parsing.xml_tree import Element

__all__ = ["take_number", "take_pose", "take_vector"]

_TOKEN = re.compile(r"[^ \t\r\n]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@overload
def take_number(element: Element, attribute: str) -> float: ...
@overload
def take_number(element: Element, attribute: str, default: float) -> float: ...
@overload
def take_number(element: Element, attribute: str, default: None) -> float | None: ...


def take_number(element: Element, attribute: str, default: object = ...) -> object:
    """Return the number that an attribute holds; without a default it must be there.

    Raises
    ------
    ParseError
        When it is missing, or anything but one finite number.
    """
    text = element.require(attribute) if default is ... else element.take(attribute)
    return default if text is None else _numbers(element, attribute, text, 1)[0]


def take_vector(
    element: Element, attribute: str, count: int, default: tuple[float, ...] | None = None
) -> FloatArray:
    """Return the `count` numbers that an attribute holds, separated by blanks."""
    text = element.require(attribute) if default is None else element.take(attribute)
    return np.array(default if text is None else _numbers(element, attribute, text, count), dtype=np.float64)


def take_pose(element: Element | None) -> FloatArray:
    """Return the pose, shape (4, 4), of an element with ``xyz`` and ``rpy``; the identity without one."""
    if element is None:
        return np.eye(4)
    p = take_vector(element, "xyz", 3, (0.0, 0.0, 0.0))
    rpy_is_given = "rpy" in element.attributes
    rpy = take_vector(element, "rpy", 3, (0.0, 0.0, 0.0))
    if "quat_xyzw" not in element.attributes:
        return make_pose(p, rpy=rpy)
    if rpy_is_given:
        raise element.error("both 'rpy' and 'quat_xyzw' give a rotation: one of them is expected")
    x, y, z, w = take_vector(element, "quat_xyzw", 4).tolist()
    if not (x or y or z or w):
        raise element.error("quat_xyzw is zero: that is no rotation")
    return make_pose(p, quaternion=[w, x, y, z])


def _numbers(element: Element, attribute: str, text: str, count: int) -> list[float]:
    tokens = _TOKEN.findall(text)
    wanted = "a number" if count == 1 else f"{count} numbers"
    for token in tokens:
        if not _NUMBER.fullmatch(token):
            raise _error(element, attribute, text, wanted, _hint(token))
    if len(tokens) != count:
        raise _error(
            element, attribute, text, wanted, f"{len(tokens)} {'is' if len(tokens) == 1 else 'are'} given"
        )
    numbers = [float(token) for token in tokens]
    if not np.isfinite(numbers).all():
        raise _error(element, attribute, text, wanted, "the number is too large")
    return numbers


def _error(element: Element, attribute: str, text: str, wanted: str, hint: str) -> ParseError:
    shown = text if len(text) <= 60 else text[:57] + "..."
    return element.error(f"{attribute}={shown!r}: expected {wanted}", hint)


def _hint(token: str) -> str:
    shown = token if len(token) <= 30 else token[:27] + "..."
    if "$" in token or "{" in token:
        return f"{shown!r} looks like a macro: expand the file with xacro first"
    if "," in token:
        return f"{shown!r}: write a decimal point, and separate numbers by blanks"
    if token.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return f"{shown!r}: numbers must be finite; leave a limit out where there is none"
    if _NUMBER.match(token):
        return f"{shown!r}: numbers stand alone, without a unit; everything is in m, kg, s, rad"
    return f"{shown!r} is no number"
