"""Elements as users write them, in a module of their own: pickle finds classes by name."""

from __future__ import annotations

from typing import Any

import numpy as np

import mbt


class NamedGravity(mbt.UniformGravityFieldElement):
    """Gravity with attributes of all sorts, including references to other elements."""

    def __init__(self, planet: str, joints: list[mbt.Joint], notes: dict[str, Any]) -> None:
        super().__init__([0.0, 0.0, -3.71])
        self.planet = planet
        self.joints = joints
        self.by_joint = {joint: i for i, joint in enumerate(joints)}
        self.notes = notes
        self.table = np.arange(3.0)
        self.table.flags.writeable = False
        self.pair = (self.table, self.table)
        self.myself = self


class Flange(mbt.FixedOffsetFrame):
    """A frame with slots and its own pickling."""

    __slots__ = ("bolts",)

    def __init__(self, name: str, P: mbt.Frame | mbt.RigidBody, bolts: int) -> None:
        super().__init__(name, P)
        self.bolts = bolts
        self.scratch = object()


class Sensor(mbt.FixedOffsetFrame):
    """A frame with its own `__getstate__`."""

    def __init__(self, name: str, P: mbt.Frame | mbt.RigidBody) -> None:
        super().__init__(name, P)
        self.handle = (step for step in range(3))  # This cannot be pickled.

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "handle"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.handle = (step for step in range(3))


class Robot(mbt.MultibodyTree):
    """A tree with attributes of its own."""

    def __init__(self, serial_number: str) -> None:
        super().__init__()
        self.serial_number = serial_number
        self.tool: mbt.Frame | None = None
