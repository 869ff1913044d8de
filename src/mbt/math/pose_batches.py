"""Poses of several states at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.errors import ShapeError, SingularityError
from mbt.math.arrays import FloatArray, as_finite_array, broadcast_together
from mbt.math.poses import as_rotation, find_suspects

__all__ = ["has_leading_axes", "make_poses"]

_SHAPES = {"p": (3,), "rpy": (3,), "quaternion": (4,), "R": (3, 3)}


def has_leading_axes(value: object, ndim: int) -> bool:
    """Return whether an argument has more axes than that of one pose."""
    if isinstance(value, (list, tuple)):
        # Lists of lists are as deep as they look; in one of arrays these are the coordinates.
        return any(has_leading_axes(entry, ndim - 1) for entry in value)
    return getattr(value, "ndim", 0) > ndim


def make_poses(p: Any, rpy: Any, quaternion: Any, R: Any) -> FloatArray:
    """Return poses (..., 4, 4) of doubles; leading axes broadcast. See `make_pose`."""
    rotation = np.eye(3)
    if rpy is not None:
        rotation = _last(_rotation_of_rpy(_first(_checked(rpy, "rpy"))))
    elif quaternion is not None:
        rotation = _last(_rotation_of_quaternion(_first(_unit(_checked(quaternion, "quaternion")))))
    elif R is not None:
        rotation = _checked(R, "R")
        for i in find_suspects(rotation):
            as_rotation(rotation[i], f"R{list(i)}" if i else "R")
    position = np.zeros(3) if p is None else _checked(p, "p")
    try:
        lead = np.broadcast_shapes(position.shape[:-1], rotation.shape[:-2])
    except ValueError:
        raise ShapeError(
            f"make_pose: leading axes do not broadcast: {position.shape[:-1]} of p, {rotation.shape[:-2]} of "
            "the rotation"
        ) from None
    poses = np.zeros((*lead, 4, 4))
    poses[..., :3, :3] = rotation
    poses[..., :3, 3] = position
    poses[..., 3, 3] = 1.0
    return poses


def _checked(value: Any, name: str) -> FloatArray:
    """Return finite numbers, (..., *shape)."""
    shape = _SHAPES[name]
    is_list = isinstance(value, (list, tuple)) and len(shape) == 1
    if is_list and any(isinstance(x, np.ndarray) and x.ndim for x in value):
        # Coordinates, some of which differ from state to state.
        if len(value) != shape[0]:
            raise ShapeError(
                f"{name}: expected an array, or a list of {shape[0]} coordinates, got {len(value)}"
            )
        named = {f"{name}[{i}]": as_finite_array(x, f"{name}[{i}]") for i, x in enumerate(value)}
        value = np.stack(broadcast_together(named), -1)
    return as_finite_array(value, name, (..., *shape))


def _unit(quaternions: FloatArray) -> FloatArray:
    """Return unit quaternions (..., 4)."""
    scale = np.abs(quaternions).max(-1, keepdims=True)
    if not scale.all():
        i = np.argwhere(scale[..., 0] == 0.0)[0].tolist()
        raise SingularityError(f"quaternion{i}: expected a nonzero quaternion (w, x, y, z), got zero")
    # Neither overflow nor underflow.
    scaled = quaternions / scale
    unit: FloatArray = scaled / np.linalg.norm(scaled, axis=-1, keepdims=True)
    return unit


def _first(vectors: FloatArray) -> FloatArray:
    """Return vectors with their coordinates in the first axis."""
    return np.moveaxis(vectors, -1, 0)


def _last(matrices: FloatArray) -> FloatArray:
    """Return matrices with rows and columns in the last axes, that were the first."""
    return np.moveaxis(matrices, (0, 1), (-2, -1))


# Coordinates are in the first axis, of vectors and of results.


def _stack(rows: list[list[Any]]) -> Any:
    return np.stack([np.stack(row) for row in rows])


def _rotation_of_rpy(rpy: Any) -> Any:
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return _stack(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def _rotation_of_quaternion(quaternion: Any) -> Any:
    w, x, y, z = quaternion
    n = w * w + x * x + y * y + z * z
    return _stack(
        [
            [(w * w + x * x - y * y - z * z) / n, 2 * (x * y - w * z) / n, 2 * (x * z + w * y) / n],
            [2 * (x * y + w * z) / n, (w * w - x * x + y * y - z * z) / n, 2 * (y * z - w * x) / n],
            [2 * (x * z - w * y) / n, 2 * (y * z + w * x) / n, (w * w - x * x - y * y + z * z) / n],
        ]
    )
