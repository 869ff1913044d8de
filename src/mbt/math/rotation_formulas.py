"""Formulas of rotations, poses and their exponentials, entry by entry, for any scalar type.

Each formula takes the functions of a scalar type, then the entries of a vector, or of a matrix in C order:
numbers, or arrays of the leading axes. It returns the entries of its result in C order. K is ``[phi]x``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mbt.math.angle_functions import calc_inverse_coefficients, calc_log_factor, calc_stumpff

__all__ = [
    "Formula",
    "exp_se3",
    "exp_so3",
    "left_jacobian_inverse_se3",
    "left_jacobian_inverse_so3",
    "left_jacobian_se3",
    "left_jacobian_so3",
    "log_se3",
    "log_so3",
    "matrix_to_quaternion",
    "right_jacobian_inverse_se3",
    "right_jacobian_inverse_so3",
    "right_jacobian_se3",
    "right_jacobian_so3",
]

Formula = Callable[..., list[Any]]


def matrix_to_quaternion(t: Any, *R: Any) -> list[Any]:
    """Return the quaternion ``(w, x, y, z)`` of a rotation, with ``w >= 0``."""
    w, x, y, z = _choose_row(t, _calc_products(*R))
    norm = t.sqrt(w * w + x * x + y * y + z * z)
    return [w / norm, x / norm, y / norm, z / norm]


def _calc_products(
    xx: Any, xy: Any, xz: Any, yx: Any, yy: Any, yz: Any, zx: Any, zy: Any, zz: Any
) -> list[list[Any]]:
    """Return four times the products of the entries of a quaternion, (w, x, y, z)' (w, x, y, z)."""
    wx, wy, wz = zy - yz, xz - zx, yx - xy
    xy, yz, zx = xy + yx, yz + zy, zx + xz
    return [
        [1 + xx + yy + zz, wx, wy, wz],
        [wx, 1 + xx - yy - zz, xy, zx],
        [wy, xy, 1 + yy - xx - zz, yz],
        [wz, zx, yz, 1 + zz - xx - yy],
    ]


def _choose_row(t: Any, rows: list[list[Any]]) -> list[Any]:
    """Return the row of the largest entry (the first of equal ones), which is far from zero; with w >= 0."""
    diagonal = [rows[i][i] for i in range(4)]
    largest, chosen = diagonal[0], rows[0]
    for entry, row in zip(diagonal[1:], rows[1:], strict=True):
        chosen = [t.select_lt(largest, entry, new, old) for new, old in zip(row, chosen, strict=True)]
        largest = t.select_lt(largest, entry, entry, largest)
    sign = t.select_lt(chosen[0], t.zero, -t.one, t.one)
    return [sign * entry for entry in chosen]


def exp_so3(t: Any, x: Any, y: Any, z: Any) -> list[Any]:
    """Return ``R = 1 + c_1 K + c_2 K²``."""
    c1, c2 = calc_stumpff(t, x * x + y * y + z * z, 2)
    return _polynomial(x, y, z, c1, c2)


def log_so3(t: Any, *R: Any) -> list[Any]:
    """Return the rotation vector, of an angle of at most pi."""
    rows = _calc_products(*R)
    # In exact arithmetic any row that is not zero will do: formulas need no cases.
    is_enough = t.digits is None and rows[0][0] != 0
    w, x, y, z = rows[0] if is_enough else _choose_row(t, rows)
    factor = calc_log_factor(t, x * x + y * y + z * z, w)
    return [factor * x, factor * y, factor * z]


def left_jacobian_so3(t: Any, x: Any, y: Any, z: Any) -> list[Any]:
    """Return ``J = 1 + c_2 K + c_3 K²``."""
    _, c2, c3 = calc_stumpff(t, x * x + y * y + z * z, 3)
    return _polynomial(x, y, z, c2, c3)


def left_jacobian_inverse_so3(t: Any, x: Any, y: Any, z: Any) -> list[Any]:
    """Return ``1/J = 1 - K/2 + g K²``."""
    g, _ = calc_inverse_coefficients(t, x * x + y * y + z * z)
    return _polynomial(x, y, z, -t.one / 2, g)


def exp_se3(t: Any, x: Any, y: Any, z: Any, *rho: Any) -> list[Any]:
    """Return ``X = [R, J rho; 0, 1]``."""
    c1, c2, c3 = calc_stumpff(t, x * x + y * y + z * z, 3)
    R = _polynomial(x, y, z, c1, c2)
    p = _times(_polynomial(x, y, z, c2, c3), rho)
    return [*R[:3], p[0], *R[3:6], p[1], *R[6:], p[2], t.zero, t.zero, t.zero, t.one]


def log_se3(t: Any, *X: Any) -> list[Any]:
    """Return the vector ``[phi; rho]`` of a pose, ``rho = 1/J p``."""
    phi = log_so3(t, *X[0:3], *X[4:7], *X[8:11])
    return phi + _times(left_jacobian_inverse_so3(t, *phi), (X[3], X[7], X[11]))


def left_jacobian_se3(t: Any, x: Any, y: Any, z: Any, *rho: Any) -> list[Any]:
    """Return ``[J, 0; Q, J]``."""
    _, c2, c3, c4, c5 = calc_stumpff(t, x * x + y * y + z * z, 5)
    Q = _rate_of_polynomial((x, y, z), rho, c2, c3, 2 * c4 - c3, 3 * c5 - c4)
    return _lower_triangular(t, _polynomial(x, y, z, c2, c3), Q)


def left_jacobian_inverse_se3(t: Any, x: Any, y: Any, z: Any, *rho: Any) -> list[Any]:
    """Return the inverse of ``[J, 0; Q, J]``."""
    g, rate = calc_inverse_coefficients(t, x * x + y * y + z * z)
    Q = _rate_of_polynomial((x, y, z), rho, -t.one / 2, g, t.zero, rate)
    return _lower_triangular(t, _polynomial(x, y, z, -t.one / 2, g), Q)


def _mirrored(formula: Formula) -> Formula:
    """Return a formula of the opposite vector: right Jacobians are left Jacobians of it."""

    def of_opposite(t: Any, *vector: Any) -> list[Any]:
        return formula(t, *(-entry for entry in vector))

    return of_opposite


right_jacobian_so3 = _mirrored(left_jacobian_so3)
right_jacobian_inverse_so3 = _mirrored(left_jacobian_inverse_so3)
right_jacobian_se3 = _mirrored(left_jacobian_se3)
right_jacobian_inverse_se3 = _mirrored(left_jacobian_inverse_se3)


def _polynomial(x: Any, y: Any, z: Any, a: Any, b: Any) -> list[Any]:
    """Return ``1 + a K + b K²``, where ``K² = phi phi' - |phi|² 1``."""
    bxy, byz, bzx = b * x * y, b * y * z, b * z * x
    xx, yy, zz = x * x, y * y, z * z
    return [
        1 - b * (yy + zz), bxy - a * z, bzx + a * y,
        bxy + a * z, 1 - b * (zz + xx), byz - a * x,
        bzx - a * y, byz + a * x, 1 - b * (xx + yy),
    ]  # fmt: skip


def _rate_of_polynomial(phi: Any, rho: Any, a: Any, b: Any, da: Any, db: Any) -> list[Any]:
    """Return the rate of ``a K + b K²`` along rho, where da and db are the rates of a and b by |phi|²/2.

    It is the off-diagonal block of the same polynomial of SE(3), because the algebra of SE(3) is that of
    SO(3) with dual numbers, phi + e rho with e² = 0, in place of real ones.
    """
    (x, y, z), (u, v, w) = phi, rho
    d = x * u + y * v + z * w
    da, db = d * da, d * db
    ax, ay, az = a * u + da * x, a * v + da * y, a * w + da * z
    # The rate of K² is phi rho' + rho phi' - 2 (phi . rho) 1.
    xx, yy, zz = x * (2 * b * u + db * x), y * (2 * b * v + db * y), z * (2 * b * w + db * z)
    xy, yz, zx = (
        b * (x * v + y * u) + db * x * y,
        b * (y * w + z * v) + db * y * z,
        b * (z * u + x * w) + db * z * x,
    )
    return [
        -(yy + zz), xy - az, zx + ay,
        xy + az, -(zz + xx), yz - ax,
        zx - ay, yz + ax, -(xx + yy),
    ]  # fmt: skip


def _times(matrix: list[Any], vector: Any) -> list[Any]:
    x, y, z = vector
    return [matrix[i] * x + matrix[i + 1] * y + matrix[i + 2] * z for i in (0, 3, 6)]


def _lower_triangular(t: Any, J: list[Any], Q: list[Any]) -> list[Any]:
    """Return ``[J, 0; Q, J]``."""
    zeros = [t.zero] * 3
    return [
        *J[:3], *zeros, *J[3:6], *zeros, *J[6:], *zeros,
        *Q[:3], *J[:3], *Q[3:6], *J[3:6], *Q[6:], *J[6:],
    ]  # fmt: skip
