"""Joints that close loops, springs, bushings and balls in URDF: names and numbers are attributes."""

from __future__ import annotations

from mbt.errors import quote
from mbt.math.poses import IDENTITY
from mbt.parsing.description import WORLD, FrameDescription, JointDescription, ModelDescription
from mbt.parsing.drake_elements import DrakeElementReader
from mbt.parsing.loops import close_loop
from mbt.parsing.numbers import take_numbers, take_pose
from mbt.parsing.urdf_joints import read_axis
from mbt.parsing.xml_tree import Element

__all__ = ["UrdfElementReader"]


# The types of a loop joint, and the kinds of joint in a description.
_LOOP_KINDS = {"continuous": "revolute", "revolute": "revolute", "ball": "ball", "fixed": "weld"}


class UrdfElementReader(DrakeElementReader):
    """Reads the elements of a robot whose links and frames are known."""

    def __init__(self, model: ModelDescription) -> None:
        super().__init__(model)
        self._links = {WORLD, *(link.name for link in model.links)}
        self._frames = {frame.name: frame for frame in model.frames}

    def read(self, element: Element) -> None:
        """Read a joint that closes a loop, or one of `DRAKE_ELEMENTS`."""
        if element.tag == "loop_joint":
            self._read_loop_joint(element)
        else:
            super().read(element)

    def _read_loop_joint(self, element: Element) -> None:
        """Read a joint between frames on ``<link1>`` and ``<link2>``; a hinge is about an axis of both."""
        name, type_ = element.require_name(), element.take("type") or "continuous"
        kind = _LOOP_KINDS.get(type_)
        if kind is None:
            known = ", ".join(_LOOP_KINDS)
            element.repair(f"its type {quote(type_)} is not one of {known}", "left out, so the loop is open")
            element.dismiss()
            return
        ends = [element.require_first(f"link{i}") for i in (1, 2)]
        parent, child = [self._find_link(end.require_name("link"), element) for end in ends]
        if parent == child:
            raise element.error(f"it connects {quote(child)} to itself")
        joint = JointDescription(name, kind, parent, child, take_pose(ends[0]), element.line)
        joint.X_BM = take_pose(ends[1])
        if kind == "revolute":
            joint.axis = read_axis(element)
        close_loop(joint, self._model)

    def _take_name(self, child: Element) -> str:
        return child.require_name()

    def _take_member(self, child: Element) -> str:
        return child.require_name("link")

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
