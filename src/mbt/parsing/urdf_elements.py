"""Springs and bushings in URDF: names and numbers are attributes."""

from __future__ import annotations

from mbt.errors import quote
from mbt.math.poses import IDENTITY
from mbt.parsing.description import WORLD, FrameDescription, ModelDescription
from mbt.parsing.drake_elements import DrakeElementReader
from mbt.parsing.numbers import take_numbers
from mbt.parsing.xml_tree import Element

__all__ = ["UrdfElementReader"]


class UrdfElementReader(DrakeElementReader):
    """Reads those of a robot whose links and frames are known."""

    def __init__(self, model: ModelDescription) -> None:
        super().__init__(model)
        self._links = {WORLD, *(link.name for link in model.links)}
        self._frames = {frame.name: frame for frame in model.frames}

    def _take_name(self, child: Element) -> str:
        return child.require_name()

    def _take_numbers(self, child: Element, count: int) -> list[float]:
        return take_numbers(child, "value", count)

    def _find_link(self, name: str, at: Element) -> str:
        if name not in self._links:
            raise at.error(f"the link {quote(name)} does not exist")
        return name

    def _find_frame(self, name: str, at: Element) -> FrameDescription:
        if name in self._frames:
            return self._frames[name]
        if name not in self._links:
            raise at.error(f"there is neither a frame nor a link {quote(name)}")
        return FrameDescription("", name, IDENTITY, at.line)
