"""Scalars for the kernels' Python door, each made to test one property."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

# Unit roundoff: an operation on doubles errs by at most this, relative to its result.
U = float(np.finfo(float).eps) / 2


# Sine, cosine, square root, selection, hyperbolic tangent, arctangent of two arguments, floor.
Functions: TypeAlias = tuple[Callable[..., Any], ...]


def select(a: Any, b: Any, x: Any, y: Any) -> Any:
    """`select_lt` for ordered numbers."""
    return x if a < b else y


class Bounded:
    """A double with a running error bound: how far any evaluation in double may be from the exact value.

    Each operation adds u |result| to what its operands bring along (Higham, Accuracy and Stability of
    Numerical Algorithms, 3.3). A fused multiply-add only leaves roundings out, so the bound holds whatever
    the compiler contracts. Two evaluations in double differ by at most twice the bound.
    """

    __slots__ = ("bound", "value")

    def __init__(self, value: float, bound: float = 0.0) -> None:
        self.value = value
        self.bound = bound

    def __add__(self, other: Any) -> Bounded:
        if isinstance(other, Bounded):
            value = self.value + other.value
            return Bounded(value, self.bound + other.bound + U * abs(value))
        value = self.value + other
        return Bounded(value, self.bound + U * abs(value))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Bounded:
        if isinstance(other, Bounded):
            value = self.value - other.value
            return Bounded(value, self.bound + other.bound + U * abs(value))
        value = self.value - other
        return Bounded(value, self.bound + U * abs(value))

    def __rsub__(self, other: float) -> Bounded:
        value = other - self.value
        return Bounded(value, self.bound + U * abs(value))

    def __mul__(self, other: Any) -> Bounded:
        if isinstance(other, Bounded):
            value = self.value * other.value
            bound = abs(self.value) * other.bound + abs(other.value) * self.bound
            return Bounded(value, bound + U * abs(value))
        value = self.value * other
        return Bounded(value, abs(other) * self.bound + U * abs(value))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Bounded:
        divisor = other if isinstance(other, Bounded) else Bounded(other)
        value = self.value / divisor.value
        bound = (self.bound + abs(value) * divisor.bound) / abs(divisor.value)
        return Bounded(value, bound + U * abs(value))

    def __rtruediv__(self, other: float) -> Bounded:
        return Bounded(other) / self

    def __neg__(self) -> Bounded:
        return Bounded(-self.value, self.bound)


def refuse(*arguments: Any) -> Any:
    raise AssertionError(f"not to be called, least of all with {arguments}")


# All functions but sine and cosine, for kernels that may call none of them.
REFUSED = (refuse,) * 5


def bounded_select(a: Any, b: Any, x: Any, y: Any) -> Bounded:
    """The path of a joint is chosen by value, even if the bound reaches into another piece."""
    a, b, x, y = map(to_bounded, (a, b, x, y))
    return x if a.value < b.value else y


def to_bounded(x: Any) -> Bounded:
    return x if isinstance(x, Bounded) else Bounded(x)


# The kernels' sine and cosine are within 2 ulp, at most 4 u.
def bounded_sin(x: Any) -> Bounded:
    x = to_bounded(x)
    value = math.sin(x.value)
    return Bounded(value, abs(math.cos(x.value)) * x.bound + 4 * U * abs(value))


def bounded_cos(x: Any) -> Bounded:
    x = to_bounded(x)
    value = math.cos(x.value)
    return Bounded(value, abs(math.sin(x.value)) * x.bound + 4 * U * abs(value))


def bounded_floor(x: Any) -> Bounded:
    return Bounded(float(math.floor(x.value)))


BOUNDED_FUNCTIONS: Functions = (
    bounded_sin,
    bounded_cos,
    refuse,
    bounded_select,
    refuse,
    refuse,
    bounded_floor,
)


class Rational:
    """An exact rational number: a double that meets it is taken at its exact value.

    (`Fraction` itself gives way to a float.)
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value: Fraction = value.value if isinstance(value, Rational) else Fraction(value)

    def __add__(self, other: Any) -> Rational:
        return Rational(self.value + Rational(other).value)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Rational:
        return Rational(self.value - Rational(other).value)

    def __rsub__(self, other: Any) -> Rational:
        return Rational(Rational(other).value - self.value)

    def __mul__(self, other: Any) -> Rational:
        return Rational(self.value * Rational(other).value)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Rational:
        return Rational(self.value / Rational(other).value)

    def __rtruediv__(self, other: Any) -> Rational:
        return Rational(Rational(other).value / self.value)

    def __neg__(self) -> Rational:
        return Rational(-self.value)


class PlannedError(Exception):
    """Raised by an operation on purpose."""


class Log:
    """Counts the operations on terms, and the terms alive; raises `error` at one of the operations."""

    def __init__(self, fail_at: int | None = None, error: BaseException | None = None) -> None:
        self.calls = 0
        self.alive = 0
        self.fail_at = fail_at
        self.error = error

    def call(self, *operands: Any) -> Term:
        for operand in operands:
            # An int is an unwritten slot of memory; a kernel's own numbers are floats.
            assert type(operand) in (Term, float), f"a kernel read {operand!r}"
        self.calls += 1
        if self.calls == self.fail_at:
            raise self.error or PlannedError(f"operation {self.calls}")
        return Term(self)

    @property
    def functions(self) -> Functions:
        return (self.call,) * 7


class Term:
    """An opaque number: an operation gives a new one. It has neither a truth value nor an order."""

    __slots__ = ("__weakref__", "log")

    def __init__(self, log: Log) -> None:
        self.log = log
        log.alive += 1

    def __del__(self) -> None:
        self.log.alive -= 1

    def _operate(self, *operands: Any) -> Term:
        return self.log.call(self, *operands)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _operate
    __truediv__ = __rtruediv__ = __neg__ = _operate

    def _refuse(self, *operands: object) -> bool:
        raise AssertionError("a kernel asked for a truth value or a comparison")

    __bool__ = __eq__ = __lt__ = __gt__ = _refuse
    __hash__ = None  # type: ignore[assignment]
