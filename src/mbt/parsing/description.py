"""A robot as its file describes it: plain data, complete and checked before a tree is touched."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from mbt.math.arrays import FloatArray
from mbt.math.spatial_inertia import SpatialInertia
from mbt.parsing.report import ParseReport
from mbt.parsing.xml_tree import Element

__all__ = [
    "WORLD",
    "ActuatorDescription",
    "FrameDescription",
    "JointDescription",
    "JointLimits",
    "LinkDescription",
    "ModelDescription",
]

#: The link of this name is the world body.
WORLD = "world"


@dataclass(frozen=True)
class LinkDescription:
    """A rigid body B; its mass properties are about Bo, expressed in B."""

    name: str
    M_BBo_B: SpatialInertia
    line: int


@dataclass(frozen=True)
class JointLimits:
    """What a joint does not exceed: position [rad, m] both ways, velocity, acceleration, effort [N m, N]."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    acceleration: float = math.inf
    effort: float = math.inf


@dataclass(frozen=True)
class JointDescription:
    """A joint between a frame F at X_PF on the parent link and a frame M on the child link.

    `kind` is ``"revolute"``, ``"prismatic"``, ``"screw"``, ``"universal"``, ``"ball"``, ``"planar"``,
    ``"weld"`` or ``"floating"``. M is the frame of the child link, turned by R_BM where that is given.
    `damping` has one number for each that the joint takes; `friction` is that of a joint with one degree of
    freedom.
    """

    name: str
    kind: str
    parent: str
    child: str
    X_PF: FloatArray
    line: int
    axis: FloatArray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    limits: JointLimits = JointLimits()
    damping: tuple[float, ...] = (0.0,)
    friction: float = 0.0
    screw_pitch: float = 0.0
    R_BM: FloatArray | None = None

    @property
    def is_actuatable(self) -> bool:
        """Whether the joint has one degree of freedom."""
        return self.kind in ("revolute", "prismatic", "screw")


@dataclass(frozen=True)
class FrameDescription:
    """A frame F fixed at X_BF on a link."""

    name: str
    link: str
    X_BF: FloatArray
    line: int


@dataclass(frozen=True)
class ActuatorDescription:
    """A motor on a joint of one degree of freedom."""

    name: str
    joint: str
    effort_limit: float
    rotor_inertia: float
    gear_ratio: float
    line: int


@dataclass
class ModelDescription:
    """A whole robot.

    World is never in `links`; `roots` are the links without a parent that nothing connects to World.
    When `is_strict`, what would be repaired is an error. `with_friction` tells whether the friction of joints
    was asked for.
    """

    name: str
    report: ParseReport
    links: list[LinkDescription] = field(default_factory=list)
    joints: list[JointDescription] = field(default_factory=list)
    frames: list[FrameDescription] = field(default_factory=list)
    actuators: list[ActuatorDescription] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    is_strict: bool = False
    with_friction: bool = False

    def repair(self, element: Element, text: str) -> None:
        """Warn of something at `element` that is left out or filled in; refuse it when strict."""
        if self.is_strict:
            raise element.error(text, "strict=False goes on with a warning")
        self.report.warn(text, element.line)
