"""Poses, rotations and unit vectors as plain NumPy arrays.

A pose ``X_AB`` is a homogeneous ``(4, 4)`` matrix, a rotation ``R_AB`` a ``(3, 3)`` matrix, a quaternion
``(w, x, y, z)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from struct import Struct, unpack

import numpy as np

from mbt._core.api.poses import (
    as_pose,
    as_rotation,
    inverse_pose,
    make_pose,
    matrix_to_quaternion,
    matrix_to_rpy,
    quaternion_to_matrix,
    rotation_about_axis,
    rpy_to_matrix,
    skew,
)
from mbt.errors import ArgumentValueError
from mbt.math.arrays import FloatArray, as_finite_array, is_list_of_floats, shared_array

__all__ = [
    "IDENTITY",
    "as_pose",
    "as_rotation",
    "as_unit_vector",
    "check_each",
    "check_pose",
    "check_rotation",
    "find_suspects",
    "inverse_pose",
    "make_pose",
    "matrix_of",
    "matrix_to_quaternion",
    "matrix_to_rpy",
    "normalize_axis",
    "quaternion_to_matrix",
    "rotation_about_axis",
    "rpy_to_matrix",
    "skew",
]

# Poses that are typed or computed in single precision are orthonormal to 1e-7; wrong ones are far from it.
_ORTHONORMALITY_TOLERANCE = 1e-6
_BOTTOM_ROW_TOLERANCE = 1e-9

#: The identity pose, read-only.
IDENTITY = np.eye(4)
IDENTITY.flags.writeable = False


def check_pose(value: object, name: str) -> FloatArray:
    """Return `as_pose` of any value."""
    X = as_finite_array(matrix_of(value, 4), name, (4, 4))
    (a, b, c, _), (d, e, f, _), (g, h, i, _), bottom_row = X.tolist()
    x, y, z, one = bottom_row
    if max(abs(x), abs(y), abs(z), abs(one - 1.0)) > _BOTTOM_ROW_TOLERANCE:
        raise ArgumentValueError(f"{name}: expected a pose with bottom row [0, 0, 0, 1], got {bottom_row}")
    fault = _criticize_rotation(a, b, c, d, e, f, g, h, i)
    if fault is not None:
        raise ArgumentValueError(f"{name}: expected a pose whose rotation matrix is orthonormal{fault}")
    return X


def check_rotation(value: object, name: str) -> FloatArray:
    """Return `as_rotation` of any value."""
    R = as_finite_array(matrix_of(value), name, (3, 3))
    fault = _criticize_rotation(*R.ravel().tolist())
    if fault is not None:
        raise ArgumentValueError(f"{name}: expected an orthonormal rotation matrix{fault}")
    return R


def matrix_of(value: object, size: object = 3) -> object:
    """Return the matrix of an object that has one, such as a SciPy rotation, and anything else unchanged.

    For size 4, a rotation becomes a pose that turns about the origin.
    """
    as_matrix = None if type(value) is np.ndarray else getattr(value, "as_matrix", None)
    if not callable(as_matrix):
        return value
    matrix: object = as_matrix()
    if size == 4 and isinstance(matrix, np.ndarray) and matrix.shape[-2:] == (3, 3):
        pose = np.zeros((*matrix.shape[:-2], 4, 4), matrix.dtype)
        pose[..., :3, :3], pose[..., 3, 3] = matrix, 1
        return pose
    return matrix


def as_unit_vector(value: object, name: str, tol: float = 1e-6) -> FloatArray:
    """Return a vector of unit length within `tol`, renormalised, read-only."""
    x, y, z = vector = _take_three(value, name)
    length = math.hypot(x, y, z)
    if not abs(length - 1.0) <= tol:
        raise ArgumentValueError(f"{name}: expected a unit vector, got {vector} of length {length:.9g}")
    return shared_array((x / length, y / length, z / length))


def normalize_axis(value: object, name: str) -> FloatArray:
    """Return the unit vector along any nonzero vector, read-only."""
    vector = _take_three(value, name)
    if not any(vector):
        raise ArgumentValueError(f"{name}: expected a nonzero vector, got {vector}")
    return shared_direction(*vector)


def shared_direction(x: float, y: float, z: float) -> FloatArray:
    """Return the unit vector along a finite, nonzero vector: read-only, one array for equal numbers."""
    return _shared_direction(_pack_three(x, y, z))


_pack_three = Struct("3d").pack


# The key is the bytes: those of -0.0 differ from those of 0.0.
@lru_cache(maxsize=1024)
def _shared_direction(memory: bytes) -> FloatArray:
    x, y, z = unpack("3d", memory)
    # Scaled first: the length of the smallest and the largest floats would under- or overflow.
    scale = max(abs(x), abs(y), abs(z))
    x, y, z = x / scale, y / scale, z / scale
    length = math.hypot(x, y, z)
    return shared_array((x / length, y / length, z / length))


def _take_three(value: object, name: str) -> list[float]:
    """Return the entries of a vector, finite."""
    if is_list_of_floats(value, (3,)) and math.isfinite(sum(value)):
        return list(value)
    entries: list[float] = as_finite_array(value, name, (3,)).tolist()
    return entries


def find_suspects(matrices: FloatArray) -> list[tuple[int, ...]]:
    """Return the leading indices of matrices that may not be a pose, (..., 4, 4), or a rotation, (..., 3, 3).

    `check_pose` and `check_rotation` decide about each of them.
    """
    R = matrices[..., :3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        errors = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max((-2, -1))
        is_good = (errors <= _ORTHONORMALITY_TOLERANCE / 2) & (np.linalg.det(R) > 0.0)
    is_good &= np.isfinite(matrices).all((-2, -1))
    if matrices.shape[-1] == 4:
        is_good &= (matrices[..., 3, :] == (0.0, 0.0, 0.0, 1.0)).all(-1)
    return [tuple(int(k) for k in i) for i in np.argwhere(~is_good)]


def check_each(matrices: FloatArray, name: str, check: Callable[[FloatArray, str], FloatArray]) -> None:
    """Check poses or rotations with any leading axes, by `check_pose` or `check_rotation`."""
    if matrices.ndim == 2:
        check(matrices, name)
        return
    for i in find_suspects(matrices):
        check(matrices[i], f"{name}[{', '.join(map(str, i))}]")


def _criticize_rotation(
    a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float, i: float
) -> str | None:
    """Return the fault of a rotation, given by its rows; in floats, which are faster than a small array."""
    # R R^T - 1, symmetric; NaN, from an overflow, counts as the largest. The sum bounds each of them.
    errors = (
        abs(a * a + b * b + c * c - 1.0),
        abs(d * d + e * e + f * f - 1.0),
        abs(g * g + h * h + i * i - 1.0),
        abs(a * d + b * e + c * f),
        abs(a * g + b * h + c * i),
        abs(d * g + e * h + f * i),
    )
    if not sum(errors) <= _ORTHONORMALITY_TOLERANCE:
        error = math.nan if any(map(math.isnan, errors)) else max(errors)
        if not error <= _ORTHONORMALITY_TOLERANCE:
            return f", got one with |R R^T - 1| up to {error:.3g}"
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    if determinant < 0.0:
        return f" and right-handed, got a reflection (determinant {determinant:.3g})"
    return None
