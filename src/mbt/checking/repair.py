"""Repairs a URDF where that is possible, and keeps everything else, to the last blank."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat

import numpy as np

from mbt.checking.mass_properties import nearest_possible_moments
from mbt.errors import ParseError, quote
from mbt.math.spatial_inertia import SpatialInertia
from mbt.parsing.sources import Source, read_source

if TYPE_CHECKING:
    import os

__all__ = ["repair_urdf"]

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_AXIS_TOLERANCE = 1e-3


class _Tag(NamedTuple):
    """A start tag: the elements around it, outermost first, and its place in the text."""

    path: tuple[str, ...]
    owner: str  # the name of the link or joint that it is in
    attributes: dict[str, str]
    start: int
    end: int
    line: int


def repair_urdf(path_or_text_or_bytes: str | os.PathLike[str] | bytes) -> tuple[str, tuple[str, ...]]:
    """Repair the faults of a URDF that have only one remedy: ``python -m mbt check FILE --fix OUT``.

    Impossible inertias are replaced by the nearest physical ones, keeping the mass and its centre; missing
    products of inertia become zero; limits in reverse order are swapped; axes are normalized. Everything else
    stays as written, including comments.

    Parameters
    ----------
    path_or_text_or_bytes : str, path or bytes
        URDF, as `load_model` takes it.

    Returns
    -------
    text : str
        The URDF.
    changes : tuple of str
        The changes, with their lines.

    Raises
    ------
    ParseError
        When it cannot be read, or is not URDF in UTF-8.

    Examples
    --------
    >>> from mbt.checking import repair_urdf
    >>> text, changes = repair_urdf('<robot name="r"><joint name="j"><axis xyz="0 0 2"/></joint></robot>')
    >>> text
    '<robot name="r"><joint name="j"><axis xyz="0 0 1"/></joint></robot>'
    >>> changes
    ("line 1: joint 'j': axis of length 1",)
    """
    if isinstance(path_or_text_or_bytes, str) and path_or_text_or_bytes.lstrip().startswith("<"):
        # The text itself: the reader would drop its XML declaration.
        path_or_text_or_bytes = path_or_text_or_bytes.encode("utf-8", "replace")
    source = read_source(path_or_text_or_bytes, (), "path_or_text_or_bytes")
    data = source.data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ParseError("a description must be in UTF-8 to be repaired", file=source.file) from None
    tags = list(_read_tags(data, source))
    if not tags or tags[0].path != ("robot",):
        raise ParseError(
            "only URDF can be repaired", file=source.file, hint="mbt convert writes other formats as URDF"
        )
    encoded, changes = text.encode("utf-8"), []
    masses = {tag.owner: _number(tag.attributes.get("value")) for tag in tags if _is_in_link(tag, "mass")}
    # Backwards, so that places further in front stay valid.
    for tag in reversed(tags):
        new, change = _mend(tag, masses)
        if change:
            old = encoded[tag.start : tag.end].decode("utf-8")
            encoded = encoded[: tag.start] + _write(old, new).encode("utf-8") + encoded[tag.end :]
            changes.append(f"line {tag.line}: {change}")
    return encoded.decode("utf-8"), tuple(reversed(changes))


def _is_in_link(tag: _Tag, name: str) -> bool:
    return tag.path == ("robot", "link", "inertial", name)


def _mend(tag: _Tag, masses: dict[str, float | None]) -> tuple[dict[str, str], str]:
    """Return the attributes to write, and a description of the change; both empty if nothing is wrong."""
    if _is_in_link(tag, "inertia"):
        return _mend_inertia(tag, masses.get(tag.owner))
    if tag.path == ("robot", "joint", "limit"):
        lower, upper = (tag.attributes.get(name) for name in ("lower", "upper"))
        low, high = _number(lower), _number(upper)
        if low is not None and high is not None and low > high:
            new = {"lower": str(upper), "upper": str(lower)}
            return new, f"joint {quote(tag.owner)}: lower and upper limits swapped"
    if tag.path[:1] + tag.path[2:] == ("robot", "axis") and tag.path[1] in ("joint", "drake:joint"):
        axis = [_number(token) for token in tag.attributes.get("xyz", "").split()]
        numbers = [x for x in axis if x is not None]
        length = math.hypot(*numbers)
        if len(numbers) == len(axis) == 3 and length > 0.0 and abs(length - 1.0) > _AXIS_TOLERANCE:
            unit = " ".join(f"{x / length + 0.0:.17g}" for x in numbers)
            return {"xyz": unit}, f"joint {quote(tag.owner)}: axis of length 1"
    return {}, ""


def _mend_inertia(tag: _Tag, mass: float | None) -> tuple[dict[str, str], str]:
    missing = {name: "0" for name in ("ixy", "ixz", "iyz") if name not in tag.attributes}
    numbers = [_number(tag.attributes.get(name, "0")) for name in _MOMENTS]
    xx, xy, xz, yy, yz, zz = (math.nan if number is None else number for number in numbers)
    I_SScm = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    label = f"link {quote(tag.owner)}"
    if mass is not None and mass >= 0.0 and np.isfinite(I_SScm).all() and I_SScm.any():
        M = SpatialInertia.make_from_central_inertia(mass, [0.0] * 3, I_SScm, skip_validity_check=True)
        if not M.is_physically_valid():
            nearest = nearest_possible_moments(I_SScm)
            places = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
            new = {name: f"{nearest[place] + 0.0:.9g}" for name, place in zip(_MOMENTS, places, strict=True)}
            return new, f"{label}: inertia replaced by the nearest possible one"
    return (missing, f"{label}: zero for {', '.join(missing)}") if missing else ({}, "")


def _write(tag: str, attributes: dict[str, str]) -> str:
    """Return a start tag with some attributes replaced, or added at its end."""
    for name, value in attributes.items():
        written = html.escape(value)
        tag, count = re.subn(rf"""(\s{name}\s*=\s*)(?:"[^"]*"|'[^']*')""", rf'\g<1>"{written}"', tag, count=1)
        if not count:
            close = "/>" if tag.endswith("/>") else ">"
            tag = f'{tag[: -len(close)].rstrip()} {name}="{written}"{close}'
    return tag


def _read_tags(data: bytes, source: Source) -> Iterator[_Tag]:
    """Return the start tags of a document."""
    parser = expat.ParserCreate("utf-8")
    path: list[str] = []
    owners: list[str] = [""]
    tags: list[_Tag] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        path.append(tag)
        if len(path) == 2:
            owners[0] = attributes.get("name", "")
        place = parser.CurrentByteIndex
        tags.append(
            _Tag(
                tuple(path), owners[0], attributes, place, _end_of_tag(data, place), parser.CurrentLineNumber
            )
        )

    def end(_: str) -> None:
        path.pop()

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        message = f"not well-formed XML: {expat.ErrorString(error.code)}"
        raise ParseError(message, file=source.file, line=error.lineno) from None
    yield from tags


def _end_of_tag(data: bytes, start: int) -> int:
    """Return the end of a start tag; a ``>`` in quotes does not count."""
    match = re.compile(rb"""<(?:[^>"']|"[^"]*"|'[^']*')*>""").match(data, start)
    return start if match is None else match.end()


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None
