"""Reads numbers and poses in attributes.

A number must be a whole token: ``1.5kg``, ``1,5``, ``0x10``, ``nan`` and ``inf`` are errors. Stray quotes,
commas and semicolons around a number are removed with a warning.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import isfinite
from struct import Struct
from typing import overload

from mbt.errors import ParseError, quote
from mbt.math.arrays import FloatArray
from mbt.math.poses import IDENTITY, make_pose
from mbt.parsing.xml_tree import XACRO_HINT, Element

__all__ = [
    "read_numbers",
    "take_each_number",
    "take_number",
    "take_numbers",
    "take_pose",
]

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

# Characters found around numbers in hand-edited files, and never part of a number.
_STRAY = "\"',;"

# Longer than three numbers usually are: the results for such texts are not cached.
_LONG = 200


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
        When it is missing or not exactly one finite number.
    """
    text = element.take(attribute)
    if text is None:
        if default is ...:
            raise element.missing(attribute)
        return default
    return _convert(element, attribute, text, 1)[0]


def take_numbers(
    element: Element, attribute: str, count: int, default: list[float] | None = None
) -> list[float]:
    """Return the `count` numbers that an attribute holds, separated by blanks."""
    text = element.take(attribute)
    if text is None:
        if default is None:
            raise element.missing(attribute)
        return default
    return _convert(element, attribute, text, count)


def take_each_number(element: Element, attributes: tuple[str, ...]) -> list[float] | None:
    """Return a number for each of these attributes; None, leaving all, if one is missing or invalid.

    That is faster than taking them one by one; in case of None, that finds the fault.
    """
    texts = element.attributes
    try:
        written = [texts[name] for name in attributes]
        numbers = list(map(float, written))
    except (KeyError, ValueError):
        return None
    together = "".join(written)
    if "_" in together or not together.isascii() or not isfinite(sum(numbers)):
        return None
    if len(texts) == len(numbers):
        texts.clear()
    else:
        for name in attributes:
            del texts[name]
    return numbers


def read_numbers(element: Element, count: int) -> list[float]:
    """Return the `count` numbers that the text of an element holds, separated by blanks."""
    return _convert(element, None, element.text, count)


def _convert(element: Element, attribute: str | None, text: str, count: int) -> list[float]:
    """Return the numbers in the text of an attribute, or of the element itself if `attribute` is None."""
    try:
        numbers = _split(text) if len(text) <= _LONG else _split.__wrapped__(text)
    except ValueError:
        return _repair(element, attribute, text, count)
    if len(numbers) != count:
        raise _error(element, attribute, text, count)
    return list(numbers)


def _repair(element: Element, attribute: str | None, text: str, count: int) -> list[float]:
    """Return the numbers of a text with stray characters around them."""
    mended = " ".join(filter(None, (token.strip(_STRAY) for token in text.split())))
    try:
        numbers = _split.__wrapped__(mended)
    except ValueError:
        numbers = ()
    if mended == text or len(numbers) != count:
        raise _error(element, attribute, text, count)
    found = quote(text) if attribute is None else f"{attribute}={quote(text)}"
    element.repair(f"{found} has stray characters", f"read as {quote(mended)}")
    return list(numbers)


# In most files many texts are equal.
@lru_cache(maxsize=4096)
def _split(text: str) -> tuple[float, ...]:
    """Return the numbers of a text.

    Raises
    ------
    ValueError
        When it contains anything else.
    """
    numbers = tuple(map(float, text.split()))
    # Python accepts more than XML as a number: digits of other scripts, underscores, words.
    if not all(map(isfinite, numbers)) or "_" in text or not text.isascii():
        raise ValueError
    return numbers


def take_pose(element: Element | None) -> FloatArray:
    """Return the pose, shape (4, 4), of an element with ``xyz`` and ``rpy``; the identity for None.

    It is read-only, and equal numbers share the same array.
    """
    if element is None:
        return IDENTITY
    p = take_numbers(element, "xyz", 3, _ZEROS)
    if "quat_xyzw" in element.attributes:
        return _take_pose_with_quaternion(element, p)
    return _make_shared_pose(_pack_six(*p, *take_numbers(element, "rpy", 3, _ZEROS)))


_ZEROS = [0.0, 0.0, 0.0]
_six = Struct("6d")
_pack_six = _six.pack
_NOWHERE = _pack_six(*_ZEROS, *_ZEROS)


# Cached by the bits: as numbers, zeros of either sign would be equal.
@lru_cache(maxsize=1024)
def _make_shared_pose(placement: bytes) -> FloatArray:
    """Return the pose, shape (4, 4), read-only, of six doubles: position, then roll, pitch and yaw."""
    if placement == _NOWHERE:
        return IDENTITY
    x, y, z, roll, pitch, yaw = _six.unpack(placement)
    X = make_pose([x, y, z], rpy=[roll, pitch, yaw])
    X.setflags(write=False)
    return X


def _take_pose_with_quaternion(element: Element, p: list[float]) -> FloatArray:
    if "rpy" in element.attributes:
        raise element.error("both 'rpy' and 'quat_xyzw' give a rotation: expected only one of them")
    x, y, z, w = take_numbers(element, "quat_xyzw", 4)
    if not (x or y or z or w):
        raise element.error("quat_xyzw is zero: that is not a rotation")
    X = make_pose(p, quaternion=[w, x, y, z])
    X.setflags(write=False)
    return X


def _error(element: Element, attribute: str | None, text: str, count: int) -> ParseError:
    wanted = "a number" if count == 1 else f"{count} numbers"
    tokens = re.findall(r"[^ \t\r\n]+", text)
    strange = next((token for token in tokens if not _NUMBER.fullmatch(token)), None)
    if strange is not None:
        hint = _hint(strange, attribute or element.tag)
    elif len(tokens) != count:
        hint = f"{len(tokens) or 'nothing'} {'is' if len(tokens) < 2 else 'are'} given"
    else:
        hint = "the number is too large"
    found = quote(text) if attribute is None else f"{attribute}={quote(text)}"
    return element.error(f"{found}: expected {wanted}", hint)


def _hint(token: str, attribute: str) -> str:
    shown = quote(token, limit=30)
    if "$" in token or "{" in token:
        return XACRO_HINT
    if "," in token:
        return f"{shown}: write a decimal point, and separate numbers by blanks"
    if token.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        is_limit = attribute in ("lower", "upper", "effort", "velocity")
        return (
            f"{shown}: numbers must be finite{'; leave a limit out where there is none' if is_limit else ''}"
        )
    if _NUMBER.match(token):
        return f"{shown}: write numbers without units; everything is in m, kg, s, rad"
    return f"{shown} is not a number"
