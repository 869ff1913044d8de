"""Paths of curvilinear joints in Drake's URDF, where numbers are attributes."""

from __future__ import annotations

from mbt.parsing.curvilinear_paths import PathReader
from mbt.parsing.numbers import take_number, take_numbers
from mbt.parsing.xml_tree import Element

__all__ = ["UrdfPathReader"]


class UrdfPathReader(PathReader):
    """Reads ``<drake:line_segment length=>`` and ``<drake:circular_arc radius= angle=>``."""

    def take_number(self, piece: Element, name: str) -> float:
        """Return the number that an attribute holds."""
        return take_number(piece, name)

    def take_direction(self, element: Element) -> list[float]:
        """Return the numbers of ``xyz=``."""
        return take_numbers(element, "xyz", 3)

    def take_flag(self, element: Element) -> str:
        """Return the text of ``value=``."""
        return element.require("value")
