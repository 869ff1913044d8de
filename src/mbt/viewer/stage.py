"""Ground, light and camera for the models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.viewer.scene import ModelScene

__all__ = ["FIELD_OF_VIEW", "Stage", "find_ground", "place_camera", "round_down"]

FIELD_OF_VIEW = math.radians(40.0)
# From the front, slightly from the right and above: x points towards the reader, z upwards.
_DIRECTION = np.array([1.0, -0.75, 0.45])
# Aspect of the picture, as narrow as most windows next to the panel, and its margin.
_ASPECT, _MARGIN = 1.0, 1.15


class Stage:
    """The surroundings of models: light, a ground of suitable size, and the initial view.

    Parameters
    ----------
    server : ViserServer
        A viser server.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        server.scene.set_up_direction("+z")
        server.scene.configure_default_lights(True)

    def fit(self, models: Sequence[tuple[ModelScene, FloatArray]]) -> None:
        """Fit ground and camera to models, each with the corners around its drawing, shape (k, 3)."""
        corners = np.concatenate([cloud for _, cloud in models])
        has_contacts = any(scene.has_contacts for scene, _ in models)
        self._set_ground(corners, find_ground(corners, has_contacts=has_contacts))
        position, look_at, distance = place_camera(corners)
        camera = self._server.initial_camera
        camera.fov = FIELD_OF_VIEW
        camera.near, camera.far = distance / 200.0, distance * 200.0
        camera.position, camera.look_at = position, look_at

    def _set_ground(self, corners: FloatArray, height: float) -> None:
        """Draw a grid with cells of 1, 2 or 5 times a power of ten metres."""
        low, high = corners.min(axis=0), corners.max(axis=0)
        size = float(np.linalg.norm(high - low)) or 1.0
        section = 5 * (cell := round_down(0.25 * size))
        # Grid lines at multiples of the cell size.
        middle = np.round((low + high)[:2] / 2 / section) * section
        side = 2 * section * math.ceil((2.0 * size + float(np.ptp(corners[:, :2]))) / section)
        self._server.scene.add_grid(
            "/ground",
            side,
            side,
            cell_size=cell,
            section_size=section,
            cell_color=(215, 217, 220),
            section_color=(165, 168, 172),
            fade_distance=50 * size,
            plane_color=(244, 245, 247),
            # Things that have sunk into the ground stay visible.
            plane_opacity=0.4,
            shadow_opacity=0.2,
            # Things that stand on it do not flicker.
            position=(*middle, height - 1e-3 * size),
        )


def find_ground(corners: FloatArray, *, has_contacts: bool) -> float:
    """Return the height of the ground: z = 0, or the lowest point if lower and there is no contact."""
    size = float(np.linalg.norm(np.ptp(corners, axis=0)))
    lowest = float(corners[:, 2].min())
    return 0.0 if has_contacts or lowest > -0.01 * size else lowest


def round_down(length: float) -> float:
    """Return the largest 1, 2 or 5 times a power of ten that is not larger than a length."""
    power = 10.0 ** math.floor(math.log10(length))
    return max(factor * power for factor in (1.0, 2.0, 5.0) if factor * power <= length * (1 + 1e-12))


def place_camera(corners: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return the position of a camera that sees all corners, the point that it looks at, and its distance."""
    look_at = (corners.min(axis=0) + corners.max(axis=0)) / 2
    backward = _DIRECTION / np.linalg.norm(_DIRECTION)
    right = np.cross([0.0, 0.0, 1.0], backward)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(backward, right), backward])
    x, y, depth = axes @ (corners - look_at).T
    # A point is in the picture if its height is at most that of the picture at its distance.
    needed = np.maximum(abs(y), abs(x) / _ASPECT) / math.tan(FIELD_OF_VIEW / 2) + depth
    distance = _MARGIN * float(needed.max()) or 1.0
    position: FloatArray = look_at + distance * backward
    return position, look_at, distance
