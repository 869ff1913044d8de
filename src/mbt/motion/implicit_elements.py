"""How implicit steps treat hinges of doors, with or without derivatives; see `implicit_elements.pxd`."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["calc_door_friction", "calc_door_stiffness"]

# The s at which ``2 s (1 - s^2)`` is largest.
_SUMMIT = 1.0 / np.sqrt(3.0)


def calc_door_stiffness(config: Any, angle: Any) -> Any:
    """Return the stiffness of spring and catch at an angle [N m/rad]; zero where it is negative."""
    half = config.catch_width / 2.0
    width = np.where(half > 0.0, half, 1.0)
    s = np.tanh((angle - half) / width)
    slope = 2.0 * config.catch_torque * (1.0 - 3.0 * s * s) * (1.0 - s * s) / width
    stiffness = config.spring_constant - np.where(half > 0.0, slope, 0.0)
    return np.where(stiffness > 0.0, stiffness, 0.0)


def calc_door_friction(config: Any, speed: Any) -> Any:
    """Return the largest torque of dry friction at a speed [N m]: below the static peak, that peak."""
    threshold = config.motion_threshold
    s = np.tanh(np.abs(speed) / np.where(threshold > 0.0, threshold, 1.0))
    s = np.where(s > _SUMMIT, s, _SUMMIT)
    torque = config.dynamic_friction_torque * s + config.static_friction_torque * 2.0 * s * (1.0 - s * s)
    return np.where(threshold > 0.0, torque, 0.0)
