"""Arguments of functions of poses for several states: doubles with leading axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.errors import ShapeError
from mbt.math.arrays import FloatArray, as_finite_array, broadcast_together, check_first_entries

__all__ = ["as_coordinates", "has_leading_axes", "leading_axes_of"]


def has_leading_axes(value: object, ndim: int) -> bool:
    """Return whether an argument has more axes than for one state."""
    if ndim < 0:
        return True
    if isinstance(value, (list, tuple)):
        # Nested lists have an axis per level; the items of a list of arrays are the coordinates.
        return any(has_leading_axes(entry, ndim - 1) for entry in value)
    return getattr(value, "ndim", 0) > ndim


def leading_axes_of(value: Any, ndim: int) -> tuple[int, ...]:
    """Return the leading axes; none if the argument has no regular shape."""
    check_first_entries(value, "an argument")
    try:
        if _is_of_arrays(value):
            return np.broadcast_shapes(*(np.shape(entry) for entry in value))
        shape = np.shape(value)
    except (ValueError, RuntimeError):  # It contains itself, or has too many axes.
        return ()
    return shape[: len(shape) - ndim] if len(shape) > ndim else ()


def as_coordinates(value: Any, name: str, shape: tuple[int, ...]) -> FloatArray:
    """Return finite numbers, (..., *shape), also from a list of coordinates, each of which is an array."""
    if len(shape) == 1 and _is_of_arrays(value):
        if len(value) != shape[0]:
            raise ShapeError(
                f"{name}: expected an array, or a list of {shape[0]} coordinates, got {len(value)}"
            )
        named = {f"{name}[{i}]": as_finite_array(x, f"{name}[{i}]") for i, x in enumerate(value)}
        value = np.stack(broadcast_together(named), -1)
    return as_finite_array(value, name, (..., *shape))


def _is_of_arrays(value: object) -> bool:
    """Whether an argument is a list of coordinates, some of which are arrays."""
    return isinstance(value, (list, tuple)) and any(isinstance(x, np.ndarray) and x.ndim for x in value)
