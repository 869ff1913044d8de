"""Exponentials of SO(3) and SE(3) and their Jacobians by definition: power series, in fifty digits."""

from __future__ import annotations

from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np

DIGITS = 50


def skew(p: Any) -> Any:
    x, y, z = p
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=object)


def algebra(xi: Any) -> Any:
    """Return ``[[phi]x, rho; 0, 0]``, or ``[phi]x`` of a vector of three."""
    if len(xi) == 3:
        return skew(xi)
    matrix = np.zeros((4, 4), dtype=object)
    matrix[:3, :3], matrix[:3, 3] = skew(xi[:3]), xi[3:]
    return matrix


def adjoint(xi: Any) -> Any:
    """Return the matrix of the commutator with xi: ``[[phi]x, 0; [rho]x, [phi]x]``."""
    if len(xi) == 3:
        return skew(xi)
    matrix = np.zeros((6, 6), dtype=object)
    matrix[:3, :3] = matrix[3:, 3:] = skew(xi[:3])
    matrix[3:, :3] = skew(xi[3:])
    return matrix


def power_series(matrix: Any, shift: int) -> Any:
    """Return the sum of ``matrix^n / (n + shift)!``: the exponential for shift 0."""
    term = np.array([[mpmath.mpf(int(i == j)) for j in range(len(matrix))] for i in range(len(matrix))])
    total, n = term, 0
    while max(abs(x) for x in term.ravel()) > mpmath.mpf(10) ** -DIGITS:
        n += 1
        term = term @ matrix / (n + shift)
        total = total + term
    return total


def exponential(xi: Any) -> Any:
    return power_series(algebra(xi), 0)


def left_jacobian(xi: Any) -> Any:
    """Return ``sum of ad(xi)^n / (n + 1)!``."""
    return power_series(adjoint(xi), 1)


def right_jacobian(xi: Any) -> Any:
    return power_series(adjoint([-x for x in xi]), 1)


def inverse(matrix: Any) -> Any:
    return np.array((mpmath.matrix(matrix.tolist()) ** -1).tolist(), dtype=object).reshape(matrix.shape)


def many_digits(vector: Any) -> Any:
    return np.array([mpmath.mpf(float(x)) for x in vector], dtype=object)
