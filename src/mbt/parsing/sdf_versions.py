"""Versions of SDF."""

from __future__ import annotations

import re

from mbt.errors import quote
from mbt.parsing.xml_tree import Element

__all__ = ["read_version", "take_version"]

OLDEST, NEWEST = (1, 4), (1, 12)
_VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})(?:\.[0-9]+)*")


def read_version(text: str | None) -> tuple[int, int] | None:
    """Return the version in a text, or None."""
    match = _VERSION.fullmatch((text or "").strip())
    return None if match is None else (int(match.group(1)), int(match.group(2)))


def take_version(root: Element) -> tuple[int, int]:
    """Return the version of an ``<sdf>``.

    Raises
    ------
    ParseError
        When it is older than 1.4: elements had other meanings.
    """
    text = root.take("version")
    version = read_version(text)
    newest = f"{NEWEST[0]}.{NEWEST[1]}"
    if version is None:
        what = "it has no version" if text is None else f"there is no SDF version {quote(text)}"
        root.repair(what, f"read as SDF {newest}")
        return NEWEST
    if version < OLDEST:
        raise root.error(f"its version is {text}", "SDF is read from version 1.4 on: convert it first")
    if version > NEWEST:
        root.repair(f"its version {text} is not known", f"read as SDF {newest}")
    return version
