"""Sensors of MuJoCo whose quantities a tree computes too."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbt.parsing.description import WORLD, FrameDescription, ModelDescription, SensorDescription
from mbt.parsing.mujoco_names import ModelNames
from mbt.parsing.pose_stacks import stack_poses

if TYPE_CHECKING:
    import mujoco

    from mbt.math.arrays import FloatArray

__all__ = ["add_sensors"]

# The counterpart in mbt, by the number of the sensor type.
_KINDS = {
    1: ("imu", "accelerometer"),
    2: ("imu", "velocimeter"),
    3: ("imu", "gyro"),
    4: ("force_torque", "force"),
    5: ("force_torque", "torque"),
    9: ("joint", "position"),
    10: ("joint", "velocity"),
    18: ("joint", "position"),
    26: ("frame", "position"),
    27: ("frame", "quaternion"),
    28: ("frame", "x_axis"),
    29: ("frame", "y_axis"),
    30: ("frame", "z_axis"),
    31: ("frame", "linear_velocity"),
    32: ("frame", "angular_velocity"),
    33: ("frame", "linear_acceleration"),
    34: ("frame", "angular_acceleration"),
}
_BODY, _XBODY, _GEOM, _SITE, _CAMERA = 1, 2, 5, 6, 7
_FIXED_CAMERA = 0


class _Object(NamedTuple):
    """The objects that sensors of frames can be on: names, bodies, and poses on these."""

    name: str
    bodies: str
    positions: str
    quaternions: str


_OBJECTS = {
    _BODY: _Object("{}_inertial", "", "body_ipos", "body_iquat"),
    _GEOM: _Object("geom_{}", "geom_bodyid", "geom_pos", "geom_quat"),
    _SITE: _Object("site_{}", "site_bodyid", "site_pos", "site_quat"),
    _CAMERA: _Object("camera_{}", "cam_bodyid", "cam_pos", "cam_quat"),
}


def add_sensors(m: mujoco.MjModel, names: ModelNames, links: list[str], model: ModelDescription) -> None:
    """Add the sensors of known types; count the others.

    Parameters
    ----------
    m : mujoco.MjModel
        The model.
    names : ModelNames
        The names of its elements.
    links : list of str
        The link of each body.
    model : ModelDescription
        The description to fill.
    """
    if not m.nsensor:
        return
    frames = _Frames(m, names, links, model)
    for i, name in enumerate(names.sensors):
        sensor = _describe(m, names, i, name, frames)
        if sensor is None:
            model.report.ignore("sensor")
            continue
        model.sensors.append(sensor)
        if m.sensor_cutoff[i] > 0.0:
            model.report.ignore("sensor@cutoff")


def _describe(
    m: mujoco.MjModel, names: ModelNames, i: int, name: str, frames: _Frames
) -> SensorDescription | None:
    """Return the description of a sensor, or None where it has no counterpart."""
    kind, quantity = _KINDS.get(int(m.sensor_type[i]), ("", ""))
    if not kind:
        return None
    place = int(m.sensor_objid[i])
    if kind == "joint":
        return SensorDescription(name, kind, quantity, joint=names.joints[place])
    frame = frames.find(int(m.sensor_objtype[i]), place)
    if frame is None or (kind == "force_torque" and not frames.has_joint(frame)):
        return None
    if m.sensor_reftype[i] == 0:
        return SensorDescription(name, kind, quantity, frame)
    relative_to = frames.find(int(m.sensor_reftype[i]), int(m.sensor_refid[i]))
    return None if relative_to is None else SensorDescription(name, kind, quantity, frame, relative_to)


class _Frames:
    """Frames of bodies, sites, geometries and cameras."""

    def __init__(
        self, m: mujoco.MjModel, names: ModelNames, links: list[str], model: ModelDescription
    ) -> None:
        self._m = m
        self._names = names
        self._links = links
        self._free = model.free
        self._sites = {frame.name: frame for frame in model.frames}
        self._found: dict[tuple[int, int], FrameDescription] = {}

    def find(self, kind: int, i: int) -> FrameDescription | None:
        """Return the frame of an object, or None if it moves relative to its body."""
        is_body = kind == _XBODY
        if not (is_body or kind in _OBJECTS) or (kind == _CAMERA and self._m.cam_mode[i] != _FIXED_CAMERA):
            return None
        if (kind, i) not in self._found:
            self._found[kind, i] = self._of_body(i) if is_body else self._make(kind, i)
        return self._found[kind, i]

    def has_joint(self, frame: FrameDescription) -> bool:
        """Return whether an inboard joint of its link can transmit a force."""
        return frame.link != WORLD and frame.link not in self._free

    def _of_body(self, i: int) -> FrameDescription:
        return FrameDescription("", self._links[i], np.eye(4), 0)

    def _make(self, kind: int, i: int) -> FrameDescription:
        m, object_ = self._m, _OBJECTS[kind]
        if kind == _SITE:
            (name,) = self._names.of(m.name_siteadr[[i]])
            if name in self._sites:
                return self._sites[name]
        body = getattr(m, object_.bodies)[i] if object_.bodies else i
        positions: FloatArray = getattr(m, object_.positions)[[i]]
        (X_BF,) = stack_poses(positions, getattr(m, object_.quaternions)[[i]])
        name = object_.name.format(self._names.bodies[i] if kind == _BODY else i)
        return FrameDescription(name, self._links[body], X_BF, 0)
