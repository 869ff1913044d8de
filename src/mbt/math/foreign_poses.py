"""Poses of other scalars than double, as frames written in Python make them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.errors import shape_error

__all__ = ["make_foreign_pose"]


def make_foreign_pose(p: Any, rpy: Any, quaternion: Any, R: Any) -> Any:
    """Return a pose of numbers with derivatives, or of objects; see `make_pose`."""
    like = _prototype([p, rpy, quaternion, R])
    if rpy is not None:
        rotation = _rotation_of_rpy(_array(rpy, "rpy", (3,), like))
    elif quaternion is not None:
        rotation = _rotation_of_quaternion(_array(quaternion, "quaternion", (4,), like))
    elif R is not None:
        rotation = _array(R, "R", (3, 3), like)
    else:
        rotation = _array(np.eye(3), "R", (3, 3), like)
    position = _array(np.zeros(3) if p is None else p, "p", (3,), like)
    bottom = _array([[0.0, 0.0, 0.0, 1.0]], "bottom row", (1, 4), like)
    return np.concatenate([np.concatenate([rotation, position.reshape(3, 1)], 1), bottom], 0)


def _prototype(value: Any) -> Any:
    """Return an array with derivatives among the entries."""
    if isinstance(value, (list, tuple)):
        found = map(_prototype, value)
        return next((entry for entry in found if entry is not None), None)
    is_array = hasattr(value, "__array_function__") and not isinstance(value, (np.ndarray, np.generic))
    return value if is_array else None


def _array(value: Any, name: str, shape: tuple[int, ...], like: Any) -> Any:
    array = np.array(value, dtype=object) if like is None else np.array(value, like=like)
    if array.shape != shape:
        raise shape_error(name, shape, array.shape)
    return array


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
