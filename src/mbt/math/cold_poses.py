"""Slow paths of functions of poses and rotations, for arguments that `mbt._core.api.poses` does not take.

Arguments are converted, or rejected with a message; other scalars have their own arithmetic. Doubles return
to the compiled function, checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mbt._core.api.poses import of_good_states
from mbt._core.api.poses import rotation_about_axis as rotation_about_unit_vector
from mbt.errors import ArgumentTypeError, ArgumentValueError, SingularityError
from mbt.math.arrays import FloatArray, as_finite_array, as_float
from mbt.math.foreign import numbers_for
from mbt.math.leading_axes import flatten
from mbt.math.poses import check_pose, check_rotation, matrix_of, normalize_axis

__all__ = ["compute"]

# The square of larger angles overflows.
_LARGEST_ANGLE = 1e150


def compute(name: str, arguments: tuple[Any, ...]) -> FloatArray:
    """Compute the function of this name for any arguments."""
    if name in _OF_VECTORS:
        return _of_vector(name, *_OF_VECTORS[name], *arguments)
    if name in _OF_MATRICES:
        return _of_matrix(name, *_OF_MATRICES[name], *arguments)
    return _OTHERS[name](*arguments)


def _make_pose(p: object, rpy: object, quaternion: object, R: object) -> FloatArray:
    given = [
        name for name, value in (("rpy", rpy), ("quaternion", quaternion), ("R", R)) if value is not None
    ]
    if len(given) > 1:
        raise ArgumentTypeError(
            f"make_pose: expected at most one of rpy, quaternion and R, got {' and '.join(given)}"
        )
    R = matrix_of(R)
    numbers = numbers_for((p, 1), (rpy, 1), (quaternion, 1), (R, 2))
    if numbers is not None:
        return numbers.make_pose(p, rpy, quaternion, R)  # type: ignore[no-any-return]
    X_AB = np.eye(4)
    if p is not None:
        X_AB[:3, 3] = as_finite_array(p, "p", (3,))
    if rpy is not None:
        X_AB[:3, :3] = _rpy_to_matrix(rpy)
    elif quaternion is not None:
        X_AB[:3, :3] = _quaternion_to_matrix(quaternion)
    elif R is not None:
        X_AB[:3, :3] = check_rotation(R, "R")
    return X_AB


def _rpy_to_matrix(rpy: object) -> FloatArray:
    numbers = numbers_for((rpy, 1))
    if numbers is not None:
        return numbers.make_pose(None, rpy, None, None)[..., :3, :3]  # type: ignore[no-any-return]
    return of_good_states("rpy_to_matrix", as_finite_array(rpy, "rpy", (3,)))


def _quaternion_to_matrix(quaternion: object) -> FloatArray:
    numbers = numbers_for((quaternion, 1))
    if numbers is not None:
        return numbers.make_pose(None, None, quaternion, None)[..., :3, :3]  # type: ignore[no-any-return]
    wxyz = as_finite_array(quaternion, "quaternion", (4,))
    if not wxyz.any():
        raise SingularityError("quaternion: expected a nonzero quaternion (w, x, y, z), got zero")
    return of_good_states("quaternion_to_matrix", wxyz)


def _rotation_about_axis(axis: object, angle: object) -> FloatArray:
    numbers = numbers_for((axis, 1), (angle, 0))
    if numbers is not None:
        return numbers.rotation_about_axis(axis, angle)  # type: ignore[no-any-return]
    n = normalize_axis(axis, "axis")
    theta = as_float(angle, "angle")
    if not math.isfinite(theta):
        raise ArgumentValueError(f"angle: expected a finite number, got {theta}")
    return rotation_about_unit_vector(n, theta)


def _skew(p: object) -> FloatArray:
    numbers = numbers_for((p, 1))
    if numbers is not None:
        return numbers.skew(numbers.as_coordinates(p, "p", (3,)))  # type: ignore[no-any-return]
    return of_good_states("skew", as_finite_array(p, "p", (3,)))


def _inverse_pose(X_AB: object) -> FloatArray:
    X_AB = matrix_of(X_AB, 4)
    numbers = numbers_for((X_AB, 2))
    if numbers is not None:
        return numbers.inverse_pose(numbers.as_matrices(X_AB, "X_AB", (4, 4), check_pose))  # type: ignore[no-any-return]
    return of_good_states("inverse_pose", check_pose(X_AB, "X_AB"))


def _matrix_to_quaternion(R: object) -> FloatArray:
    numbers = numbers_for((R, 2))
    if numbers is not None:
        return numbers.matrix_to_quaternion(numbers.as_matrices(R, "R", (3, 3), check_rotation))  # type: ignore[no-any-return]
    return of_good_states("matrix_to_quaternion", check_rotation(R, "R"))


def _matrix_to_rpy(R: object) -> FloatArray:
    numbers = numbers_for((R, 2))
    if numbers is not None:
        return numbers.matrix_to_rpy(numbers.as_matrices(R, "R", (3, 3), check_rotation))  # type: ignore[no-any-return]
    return of_good_states("matrix_to_rpy", check_rotation(R, "R"))


_OTHERS: dict[str, Callable[..., FloatArray]] = {
    "as_pose": check_pose,
    "as_rotation": check_rotation,
    "inverse_pose": _inverse_pose,
    "make_pose": _make_pose,
    "matrix_to_quaternion": _matrix_to_quaternion,
    "matrix_to_rpy": _matrix_to_rpy,
    "quaternion_to_matrix": _quaternion_to_matrix,
    "rotation_about_axis": _rotation_about_axis,
    "rpy_to_matrix": _rpy_to_matrix,
    "skew": _skew,
}

# The name of the argument, its size, and the shape of the result.
_PHI = ("phi", 3, (3, 3))
_XI = ("xi", 6, (6, 6))
_OF_VECTORS = {
    "exp_so3": _PHI,
    "left_jacobian_so3": _PHI,
    "left_jacobian_inverse_so3": _PHI,
    "right_jacobian_so3": _PHI,
    "right_jacobian_inverse_so3": _PHI,
    "exp_se3": ("xi", 6, (4, 4)),
    "left_jacobian_se3": _XI,
    "left_jacobian_inverse_se3": _XI,
    "right_jacobian_se3": _XI,
    "right_jacobian_inverse_se3": _XI,
}

# The name of the argument, its check, its shape, and the size of the result.
_OF_MATRICES = {"log_so3": ("R", check_rotation, (3, 3), 3), "log_se3": ("X", check_pose, (4, 4), 6)}


def _of_vector(function: str, name: str, size: int, shape: tuple[int, int], value: object) -> FloatArray:
    """Compute a function of vectors (..., size), whose results have this shape."""
    numbers = numbers_for((value, 1))
    if numbers is None:
        vector = as_finite_array(value, name, (size,))
        _check_angle(np.abs(vector[:3]).max(), name)
        return of_good_states(function, vector)
    vectors = numbers.as_coordinates(value, name, (size,))
    _check_angle(np.abs(numbers.known_values(vectors[..., :3])).max(initial=0.0), name)
    return numbers.map_entries(function, vectors, shape)  # type: ignore[no-any-return]


def _check_angle(largest: float, name: str) -> None:
    if largest > _LARGEST_ANGLE:
        raise ArgumentValueError(
            f"{name}: expected an angle of at most {_LARGEST_ANGLE:g} rad, got {largest:.3g}"
        )


def _of_matrix(
    function: str,
    name: str,
    check: Callable[[object, str], FloatArray],
    shape: tuple[int, int],
    size: int,
    value: object,
) -> FloatArray:
    """Compute a function of rotations or poses (..., *shape), whose results are vectors."""
    value = matrix_of(value, shape[-1])
    numbers = numbers_for((value, 2))
    if numbers is None:
        return of_good_states(function, check(value, name))
    matrices = numbers.as_matrices(value, name, shape, check)
    return numbers.map_entries(function, flatten(matrices, 2), (size,))  # type: ignore[no-any-return]
