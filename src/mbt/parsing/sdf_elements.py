"""Springs, bushings and balls in SDF, where names and numbers are texts."""

from __future__ import annotations

from mbt.errors import quote
from mbt.math.poses import IDENTITY
from mbt.parsing.description import FrameDescription, ModelDescription
from mbt.parsing.drake_elements import DrakeElementReader
from mbt.parsing.numbers import read_numbers
from mbt.parsing.sdf_frames import Scope, calc_pose_between
from mbt.parsing.xml_tree import Element

__all__ = ["SdfElementReader"]


class SdfElementReader(DrakeElementReader):
    """Reads the elements of one model, whose scope resolves names; `frames` are those of the description."""

    def __init__(self, model: ModelDescription, scope: Scope, frames: dict[str, FrameDescription]) -> None:
        super().__init__(model)
        self._scope = scope
        self._frames = frames

    def _take_name(self, child: Element) -> str:
        if not child.text:
            raise child.error("it is empty: expected a name")
        return child.text

    def _take_numbers(self, child: Element, count: int) -> list[float]:
        return read_numbers(child, count)

    def _find_link(self, name: str, at: Element) -> str:
        frame = self._scope.find(name, at, "link")
        if frame.kind not in ("link", "world"):
            raise at.error(f"{quote(name)} is a {frame.kind}: expected a link")
        return frame.name

    def _find_frame(self, name: str, at: Element) -> FrameDescription:
        frame = self._scope.find(name, at)
        link = frame.find_link()
        if frame is link:
            return FrameDescription("", link.name, IDENTITY, at.line)
        if frame.name in self._frames and frame.kind == "frame":
            return self._frames[frame.name]
        return FrameDescription(
            f"{frame.name}_{frame.kind}", link.name, calc_pose_between(link, frame), at.line
        )
