"""Functions of an angle that are smooth at zero, for any scalar type, in terms of the square of the angle.

Each is computed in two ways, neither of which cancels where it is used: as a series near zero, in closed
form elsewhere. Where `select_lt` cannot decide, as between the entries of an array or in a conditional
expression, both are computed, each with a suitable argument, so that the unused one does not spoil
derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

__all__ = ["calc_inverse_coefficients", "calc_log_factor", "calc_stumpff"]

# Digits of doubles: a series is summed to these, or to more if a scalar type has more.
_DIGITS = 16

# Squares of angles below it are near zero. At it, c_1 to c_4 in closed form have errors of 7 units of
# rounding, c_5 of 12; below, these errors grow as the inverse of the square, or faster.
_NEAR = 2.0
# For sines: their series converges slowly, but is needed only where the root is not smooth.
_NEAR_SINE = 1e-8


def calc_stumpff(t: Any, s: Any, count: int) -> Sequence[Any]:
    """Return the Stumpff functions c_1, ..., c_count, at least two, of the square s of an angle r.

    ``c_k = 1/k! - s/(k + 2)! + s²/(k + 4)! - ...``: so ``c_1 = sin(r)/r``, ``c_2 = (1 - cos(r))/r²``,
    ``c_3 = (r - sin(r))/r³``; their rates are ``2 dc_k/ds = k c_(k+2) - c_(k+1)``.
    """
    return _select(
        t, s, _NEAR, lambda s: _sum_stumpff(t, s, count), lambda s: _calc_distant_stumpff(t, s, count)
    )


def _sum_stumpff(t: Any, s: Any, count: int) -> list[Any]:
    """Return them by the series of the last two: the others are 1/k! minus something small."""
    c = [t.zero] * (count + 1)
    for k in (count, count - 1):
        for a in _series(t, k):
            c[k] = a - s * c[k]
    for k in range(count - 2, 0, -1):
        c[k] = _series(t, k)[-1] - s * c[k + 2]
    return c[1:]


def _calc_distant_stumpff(t: Any, s: Any, count: int) -> list[Any]:
    """Return them in closed form: c_(k+2) = (1/k! - c_k) / s."""
    r = t.sqrt(s)
    # 1 - cos(r) cancels near 2 pi, but the formula is simpler.
    c2 = (1 - t.cos(r)) / s if t.digits is None else 2 * (t.sin(r / 2) / r) ** 2
    c = [t.sin(r) / r, c2]
    for k in range(1, count - 1):
        c.append((_series(t, k)[-1] - c[k - 1]) / s)
    return c


def calc_inverse_coefficients(t: Any, s: Any) -> Sequence[Any]:
    """Return g and 2 dg/ds of the square s of an angle r, where ``g = (1 - r/2 cot(r/2)) / r²``."""
    return _select(
        t, s, _NEAR, lambda s: _sum_inverse_coefficients(t, s), lambda s: _calc_distant_coefficients(t, s)
    )


def _sum_inverse_coefficients(t: Any, s: Any) -> list[Any]:
    """Return them by g = (2 c_2 - c_1) / (2 s c_2), free of s."""
    _, c2, c3, c4, c5, c6 = _sum_stumpff(t, s, 6)
    g = (c3 - 2 * c4) / (2 * c2)
    return [g, (5 * c5 - c4 - 8 * c6) / (2 * c2) + 2 * g * g]


def _calc_distant_coefficients(t: Any, s: Any) -> list[Any]:
    half = t.sqrt(s) / 2
    g = (1 - half * t.cos(half) / t.sin(half)) / s
    return [g, (t.one / 4 - 3 * g + s * g * g) / s]


def calc_log_factor(t: Any, u: Any, w: Any) -> Any:
    """Return ``2 atan2(r, w) / r`` of the square u of r, for w >= 0.

    This factor turns the vector part (x, y, z) of a quaternion, of any length r, into the rotation vector.
    """
    norm = u + w * w

    def sum_series(u: Any) -> list[Any]:
        # asin(x)/x = 1 + x²/6 + 3/40 x⁴ + ..., with the sine x of half the angle.
        square = u / norm
        term = total = 2 / t.sqrt(norm)
        for n in range(1, (t.digits or 0) // 8 + 1):
            term = term * square * (2 * n - 1) / (2 * n)
            total = total + term / (2 * n + 1)
        return [total]

    def calc_distant(u: Any) -> list[Any]:
        r = t.sqrt(u)
        return [2 * t.atan2(r, w) / r]

    return _select(t, u, _NEAR_SINE, sum_series, calc_distant)[0]


def _select(
    t: Any,
    s: Any,
    bound: float,
    near: Callable[[Any], list[Any]],
    far: Callable[[Any], list[Any]],
) -> list[Any]:
    """Return functions of s: `near` of those below a bound, `far` of the others."""
    if t.digits is None:
        # Exact numbers have no series; they use the closed form unless the angle is zero.
        return near(s) if s == 0 else far(s)
    limit = t.lift(bound)
    answer = t.select_lt(s, limit, t.one, t.zero)
    if answer is t.one:
        return near(s)
    if answer is t.zero:
        return far(s)
    values = zip(near(t.select_lt(s, limit, s, t.zero)), far(t.select_lt(s, limit, t.one, s)), strict=True)
    return [t.select_lt(s, limit, a, b) for a, b in values]


def _series(t: Any, k: int) -> Sequence[Any]:
    """Return ``1/k!, 1/(k + 2)!, ...``, the last first: as many as give all digits near zero."""
    if t.digits is not None and t.digits <= _DIGITS:
        return _series_of_doubles(k)
    return [t.one / factorial for factorial in _factorials(k, t.digits)]


@cache
def _series_of_doubles(k: int) -> list[float]:
    return [1.0 / factorial for factorial in _factorials(k, _DIGITS)]


@cache
def _factorials(k: int, digits: int | None) -> list[int]:
    """Return ``k!, (k + 2)!, ...``, the last first; for exact numbers only the first."""
    terms = 1
    while digits is not None and math.factorial(2 * terms + 1) < int(_NEAR) ** terms * 10 ** (digits + 1):
        terms += 1
    return [math.factorial(2 * j + k) for j in range(terms - 1, -1, -1)]
