"""Names of the elements of a model of MuJoCo: their own, or made for those without one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    import mujoco
    import numpy.typing as npt

__all__ = ["ModelNames", "first_of_each_actuator", "unused"]

_WITHOUT_NAME = "MuJoCo Model"
FREE = 0


class ModelNames:
    """Unique names of bodies, joints, actuators and sensors, by index.

    Elements without a name are named by their index: ``body_3``, ``joint_7``, ``actuator_0``; a free joint is
    named after its body. Underscores are added where that name is taken.

    Attributes
    ----------
    model : str
        Name of the model, perhaps empty.
    bodies, joints, actuators, sensors : list of str
        Names by index; body 0 is World.
    """

    def __init__(self, m: mujoco.MjModel) -> None:
        self._text: bytes = m.names
        # Names by their addresses. An address may also point into the middle of a name.
        parts = self._text.split(b"\0")
        starts = accumulate([len(part) + 1 for part in parts], initial=0)
        self._known = dict(zip(starts, self._text.decode("utf-8", "replace").split("\0"), strict=False))
        model = self._name_at(0)
        self.model = "" if model == _WITHOUT_NAME else model
        self.bodies = self._complete("body", m.name_bodyadr)
        joint_types = m.jnt_type.tolist()
        of_free = {
            i: self.bodies[body]
            for i, (kind, body) in enumerate(zip(joint_types, m.jnt_bodyid.tolist(), strict=True))
            if kind == FREE
        }
        self.joints = self._complete("joint", m.name_jntadr, of_free)
        self.actuators = self._complete("actuator", m.name_actuatoradr)
        self.sensors = self._complete("sensor", m.name_sensoradr)

    def of(self, addresses: Sequence[int]) -> list[str]:
        """Return the names at addresses such as ``m.name_geomadr``; empty where there is none."""
        known = self._known
        return [
            known[address] if address in known else self._name_at(address)
            for address in np.asarray(addresses).tolist()
        ]

    def _name_at(self, address: int) -> str:
        return self._text[address : self._text.index(b"\0", address)].decode("utf-8", "replace")

    def _complete(
        self, kind: str, addresses: Sequence[int], others: dict[int, str] | None = None
    ) -> list[str]:
        names = self.of(addresses)
        taken = set(names)
        for i, name in enumerate(names):
            if not name:
                names[i] = unused((others or {}).get(i, f"{kind}_{i}"), taken)
        return names


def first_of_each_actuator(m: mujoco.MjModel, what: Literal["ctrl", "out"]) -> npt.NDArray[np.intp]:
    """Return the index of the first control, or force output, of each actuator, which may have several."""
    starts = getattr(m, f"actuator_{what}adr", None)  # In newer versions only: in older ones each has one.
    return np.arange(m.nu) if starts is None else starts.astype(np.intp)


def unused(name: str, taken: set[str]) -> str:
    """Return the name, made unique by underscores, and reserve it."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
