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

from mbt.errors import ArgumentTypeError, ArgumentValueError, SingularityError
from mbt.math import rotation_formulas
from mbt.math.angle_functions import FLOATS
from mbt.math.arrays import FloatArray, as_finite_array, as_float, is_list_of_floats, shared_array
from mbt.math.foreign import numbers_for

__all__ = [
    "IDENTITY",
    "as_pose",
    "as_rotation",
    "as_unit_vector",
    "calc_rows_of_rpy",
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

# A pose typed or computed in single precision is orthonormal to 1e-7; one of a wrong model to no such figure.
_ORTHONORMALITY_TOLERANCE = 1e-6
_BOTTOM_ROW_TOLERANCE = 1e-9

#: The identity pose, read-only.
IDENTITY = np.eye(4)
IDENTITY.flags.writeable = False


def make_pose(
    p: object = None,
    *,
    rpy: object = None,
    quaternion: object = None,
    R: object = None,
) -> FloatArray:
    """Build the pose X_AB from a position and a rotation, or one for each of several states.

    Leading axes broadcast. A vector may also be a list of its coordinates, of which some are arrays: then
    these have the leading axes, as in ``make_pose([lengths, 0, 0])`` with lengths (...).

    Parameters
    ----------
    p : array_like, shape (..., 3), optional
        Position p_AoBo_A [m]; zero when left out.
    rpy : array_like, shape (..., 3), optional
        Roll, pitch, yaw [rad]: ``R_AB = Rz(yaw) Ry(pitch) Rx(roll)``.
    quaternion : array_like, shape (..., 4), optional
        ``(w, x, y, z)``; normalised.
    R : array_like, shape (..., 3, 3), optional
        The rotation matrix R_AB.

    Returns
    -------
    ndarray, shape (..., 4, 4)
        For numbers with derivatives an AutoDiffArray, for other scalars an array of objects, as a
        user-written frame computes in a tree of another scalar. Neither is checked.

    Notes
    -----
    In code that a tree of another scalar runs, functions such as the sine come from its `ScalarType`.
    Elsewhere the package of the objects determines them: SymPy, CasADi, mpmath, fractions, JAX; objects of
    other classes need methods, as for NumPy: ``x.sin()``.

    Raises
    ------
    ArgumentTypeError
        When more than one rotation is given, or an argument does not consist of real numbers.
    ArgumentValueError
        When a number is not finite, or `R` is not a rotation.
    ShapeError
        When an argument has another shape, or leading axes do not broadcast.
    SingularityError
        When a quaternion is zero.

    Examples
    --------
    >>> make_pose([1, 2, 3])
    array([[1., 0., 0., 1.],
           [0., 1., 0., 2.],
           [0., 0., 1., 3.],
           [0., 0., 0., 1.]])
    """
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
        X_AB[:3, :3] = rpy_to_matrix(rpy)
    elif quaternion is not None:
        X_AB[:3, :3] = quaternion_to_matrix(quaternion)
    elif R is not None:
        X_AB[:3, :3] = as_rotation(R, "R")
    return X_AB


def as_pose(value: object, name: str) -> FloatArray:
    """Return a checked copy of a pose.

    Parameters
    ----------
    value : array_like, shape (4, 4)
        The pose, or an object with ``as_matrix()`` of that shape, or of shape (3, 3), a rotation about the
        origin: `RigidTransform` and `Rotation` of SciPy. The rotation must be orthonormal within 1e-6.
    name : str
        Name of the argument in error messages.

    Raises
    ------
    ArgumentTypeError, ShapeError
        When it is not a real matrix of that shape.
    ArgumentValueError
        When the matrix is not a pose.
    """
    X = as_finite_array(matrix_of(value, 4), name, (4, 4))
    (a, b, c, _), (d, e, f, _), (g, h, i, _), bottom_row = X.tolist()
    x, y, z, one = bottom_row
    if max(abs(x), abs(y), abs(z), abs(one - 1.0)) > _BOTTOM_ROW_TOLERANCE:
        raise ArgumentValueError(f"{name}: expected a pose with bottom row [0, 0, 0, 1], got {bottom_row}")
    fault = _criticize_rotation(a, b, c, d, e, f, g, h, i)
    if fault is not None:
        raise ArgumentValueError(f"{name}: expected a pose whose rotation matrix is orthonormal{fault}")
    return X


def as_rotation(value: object, name: str) -> FloatArray:
    """Return a checked copy of a rotation matrix: orthonormal within 1e-6."""
    R = as_finite_array(matrix_of(value), name, (3, 3))
    fault = _criticize_rotation(*R.ravel().tolist())
    if fault is not None:
        raise ArgumentValueError(f"{name}: expected an orthonormal rotation matrix{fault}")
    return R


def matrix_of(value: object, size: object = 3) -> object:
    """Return the matrix of an object that has one, as SciPy rotations do, and anything else unchanged.

    For size 4, a rotation becomes the pose that turns about the origin.
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


def inverse_pose(X_AB: object) -> FloatArray:
    """Return X_BA, the inverse of a pose, or of each of several, (..., 4, 4)."""
    X_AB = matrix_of(X_AB, 4)
    numbers = numbers_for((X_AB, 2))
    if numbers is not None:
        return numbers.inverse_pose(numbers.as_pose(X_AB, "X_AB"))  # type: ignore[no-any-return]
    X = as_pose(X_AB, "X_AB")
    R_BA = X[:3, :3].T
    X_BA = np.eye(4)
    X_BA[:3, :3] = R_BA
    X_BA[:3, 3] = -R_BA @ X[:3, 3]
    return X_BA


def rpy_to_matrix(rpy: object) -> FloatArray:
    """Return ``Rz(yaw) Ry(pitch) Rx(roll)`` of the angles ``(roll, pitch, yaw)`` [rad], shape (..., 3).

    Examples
    --------
    >>> import numpy as np
    >>> rpy_to_matrix([0, 0, np.pi / 2]).round(12) @ [1, 0, 0]
    array([0., 1., 0.])
    """
    numbers = numbers_for((rpy, 1))
    if numbers is not None:
        return numbers.make_pose(None, rpy, None, None)[..., :3, :3]  # type: ignore[no-any-return]
    return np.array(calc_rows_of_rpy(*as_finite_array(rpy, "rpy", (3,)).tolist()))


def calc_rows_of_rpy(roll: float, pitch: float, yaw: float) -> list[list[float]]:
    """Return the rows of ``Rz(yaw) Ry(pitch) Rx(roll)``."""
    cr, sr = math.cos(roll), math.sin(roll)
    cp, sp = math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]


def quaternion_to_matrix(quaternion: object) -> FloatArray:
    """Return the rotation matrix of ``(w, x, y, z)``, shape (..., 4), which is normalised first.

    Raises
    ------
    SingularityError
        When the quaternion is zero.
    """
    numbers = numbers_for((quaternion, 1))
    if numbers is not None:
        return numbers.make_pose(None, None, quaternion, None)[..., :3, :3]  # type: ignore[no-any-return]
    wxyz = as_finite_array(quaternion, "quaternion", (4,))
    scale = np.abs(wxyz).max()
    if scale == 0.0:
        raise SingularityError("quaternion: expected a nonzero quaternion (w, x, y, z), got zero")
    wxyz /= scale
    w, x, y, z = (wxyz / np.linalg.norm(wxyz)).tolist()
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def matrix_to_quaternion(R: object) -> FloatArray:
    """Return the unit quaternion ``(w, x, y, z)`` of a rotation matrix, (..., 3, 3), with ``w >= 0``."""
    numbers = numbers_for((R, 2))
    if numbers is not None:
        return numbers.matrix_to_quaternion(numbers.as_rotation(R, "R"))  # type: ignore[no-any-return]
    return np.array(rotation_formulas.matrix_to_quaternion(FLOATS, *as_rotation(R, "R").ravel().tolist()))


def matrix_to_rpy(R: object) -> FloatArray:
    """Return roll, pitch and yaw [rad] of a rotation matrix ``Rz(yaw) Ry(pitch) Rx(roll)``, (..., 3, 3).

    Roll and yaw are between -pi and pi, pitch between -pi/2 and pi/2; at gimbal lock, ``cos(pitch) = 0``, yaw
    is zero.

    Examples
    --------
    >>> matrix_to_rpy(rpy_to_matrix([0.1, -0.2, 0.3])).round(12)
    array([ 0.1, -0.2,  0.3])
    """
    numbers = numbers_for((R, 2))
    if numbers is not None:
        return numbers.matrix_to_rpy(numbers.as_rotation(R, "R"))  # type: ignore[no-any-return]
    m = as_rotation(R, "R").tolist()
    level = math.hypot(m[0][0], m[1][0])
    yaw = math.atan2(m[1][0], m[0][0]) if level > 1e-12 else 0.0
    s, c = math.sin(yaw), math.cos(yaw)
    # Rz(-yaw) R = Ry(pitch) Rx(roll)
    roll = math.atan2(s * m[0][2] - c * m[1][2], c * m[1][1] - s * m[0][1])
    return np.array([roll, math.atan2(-m[2][0], level), yaw])


def rotation_about_axis(axis: object, angle: object) -> FloatArray:
    """Return the rotation by `angle` [rad], shape (...), about `axis`, any nonzero vector, (..., 3)."""
    numbers = numbers_for((axis, 1), (angle, 0))
    if numbers is not None:
        return numbers.rotation_about_axis(axis, angle)  # type: ignore[no-any-return]
    n = normalize_axis(axis, "axis")
    theta = as_float(angle, "angle")
    if not math.isfinite(theta):
        raise ArgumentValueError(f"angle: expected a finite number, got {theta}")
    # R = cos 1 + sin [n]x + (1 - cos) n n^T
    c, s = math.cos(theta), math.sin(theta)
    R: FloatArray = c * np.eye(3) + s * skew(n) + (1.0 - c) * np.outer(n, n)
    return R


def skew(p: object) -> FloatArray:
    """Return the matrix ``[p]x`` with ``[p]x a = p x a``, of vectors (..., 3)."""
    numbers = numbers_for((p, 1))
    if numbers is not None:
        return numbers.skew(numbers.as_coordinates(p, "p", (3,)))  # type: ignore[no-any-return]
    x, y, z = as_finite_array(p, "p", (3,)).tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


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
    """Return the unit vector along a finite, nonzero one: read-only, the same array for the same numbers."""
    return _shared_direction(_pack_three(x, y, z))


_pack_three = Struct("3d").pack


# By the bytes: those of -0.0 are not those of 0.0.
@lru_cache(maxsize=1024)
def _shared_direction(memory: bytes) -> FloatArray:
    x, y, z = unpack("3d", memory)
    # Scaled first: of the smallest and the largest floats the length over- or underflows.
    scale = max(abs(x), abs(y), abs(z))
    x, y, z = x / scale, y / scale, z / scale
    length = math.hypot(x, y, z)
    return shared_array((x / length, y / length, z / length))


def _take_three(value: object, name: str) -> list[float]:
    """Return the entries of a vector, finite."""
    if is_list_of_floats(value, (3,)) and math.isfinite(sum(value)):
        return value
    entries: list[float] = as_finite_array(value, name, (3,)).tolist()
    return entries


def find_suspects(matrices: FloatArray) -> list[tuple[int, ...]]:
    """Return the leading indices of matrices that may not be a pose, (..., 4, 4), or a rotation, (..., 3, 3).

    `as_pose` and `as_rotation` decide on them, one by one.
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
    """Check poses or rotations with any leading axes, by `as_pose` or `as_rotation`."""
    if matrices.ndim == 2:
        check(matrices, name)
        return
    for i in find_suspects(matrices):
        check(matrices[i], f"{name}[{', '.join(map(str, i))}]")


def _criticize_rotation(
    a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float, i: float
) -> str | None:
    """Return the fault of a rotation, by its rows; in floats, which are faster than a small array."""
    # R R^T - 1, symmetric; NaN, of an overflow, is the largest of all. None is larger than their sum.
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
