"""Paths of curvilinear joints in Drake's SDF, where numbers are texts of elements."""

from __future__ import annotations

from mbt.parsing.curvilinear_paths import PathReader
from mbt.parsing.numbers import read_numbers
from mbt.parsing.xml_tree import Element

__all__ = ["SdfPathReader"]


class SdfPathReader(PathReader):
    """Reads pieces that hold ``<drake:length>``, or ``<drake:radius>`` and ``<drake:angle>``."""

    def take_number(self, piece: Element, name: str) -> float:
        """Return the number that a child holds."""
        (number,) = read_numbers(piece.require_first(f"drake:{name}"), 1)
        return number

    def take_direction(self, element: Element) -> list[float]:
        """Return the numbers that ``<xyz>`` holds."""
        return read_numbers(element.require_first("xyz"), 3)

    def take_flag(self, element: Element) -> str:
        """Return the text of the element."""
        return element.text
