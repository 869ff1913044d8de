"""Vectors and matrices in the last axes of arrays of any scalar type, with any leading axes.

Arrays of one state have no leading axes; those of a batch have the axes of the batch. The sizes of the axes
of one state are counted from the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "cross",
    "cross_of_floats",
    "cut",
    "entries_of",
    "entry_of",
    "flatten",
    "fold",
    "is_double_vector",
    "join",
    "multiply",
    "rotate",
    "transpose",
]


def entry_of(vector: Any, i: int) -> Any:
    """Return entry `i` of the last axis: a number, or an array of the leading axes."""
    # An array of objects would give an array without axes, not its object. A copy is contiguous.
    return vector[i] if vector.ndim == 1 else vector[..., i].copy()


def entries_of(array: Any, indices: Any) -> Any:
    """Return a copy of some entries of the last axis; for one vector in a tenth of the time."""
    return array[indices] if array.ndim == 1 else array[..., indices]


def transpose(matrix: Any) -> Any:
    """Return matrices with their rows and columns exchanged."""
    return matrix.T if matrix.ndim == 2 else np.swapaxes(matrix, -1, -2)


def multiply(a: Any, b: Any) -> Any:
    """Return ``a @ b``; for two matrices of doubles by `dot`, to the same bit in half the time."""
    is_plain = type(a) is type(b) is np.ndarray and a.ndim == b.ndim == 2
    return a.dot(b) if is_plain else a @ b


def rotate(matrix: Any, vector: Any) -> Any:
    """Return ``matrix @ vector`` for matrices (..., m, n) and vectors (..., n)."""
    if vector.ndim > 1:
        return (matrix @ vector[..., None])[..., 0]
    is_plain = type(matrix) is type(vector) is np.ndarray and matrix.ndim == 2
    return matrix.dot(vector) if is_plain else matrix @ vector


def cross(a: Any, b: Any) -> Any:
    """Return a x b, like `np.cross`, which takes many times as long for two vectors of doubles."""
    if is_double_vector(a) and is_double_vector(b):
        return np.array(cross_of_floats(a.tolist(), b.tolist()))
    return np.cross(a, b)


def cross_of_floats(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """Return a x b of three floats each."""
    ax, ay, az = a
    bx, by, bz = b
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


def is_double_vector(a: Any) -> bool:
    """Return whether this is a single vector of doubles."""
    return isinstance(a, np.ndarray) and a.ndim == 1 and a.dtype.char == "d"


def join(parts: Sequence[Any], axis: int = -1) -> Any:
    """Join arrays along the last axis, or the last but one; leading axes broadcast."""
    # Leading axes usually agree.
    leads = {part.shape[:axis] for part in parts}
    if len(leads) > 1:
        lead = np.broadcast_shapes(*leads)
        parts = [np.broadcast_to(part, (*lead, *part.shape[axis:])) for part in parts]
    return np.concatenate(parts, axis)


def cut(vector: Any, size: int) -> list[Any]:
    """Split the last axis into parts of this size."""
    return [vector[..., i : i + size] for i in range(0, vector.shape[-1], size)]


def fold(vector: Any, *shape: int) -> Any:
    """Replace the last axis by axes of this shape."""
    return vector.reshape(shape) if vector.ndim == 1 else vector.reshape(*vector.shape[:-1], *shape)


def flatten(array: Any, count: int) -> Any:
    """Replace the last `count` axes by a single one, in C order."""
    lead, shape = array.shape[:-count], array.shape[-count:]
    return array.reshape(*lead, math.prod(shape))
