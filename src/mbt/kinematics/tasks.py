"""Tasks of inverse kinematics: what is checked of them, and of their goals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mbt.errors import ArgumentValueError, ShapeError, quote
from mbt.math.arrays import FloatArray, as_finite_array, as_float_array

__all__ = [
    "CENTER",
    "DIRECTION",
    "POSE",
    "POSITION",
    "TOLERANCE",
    "Task",
    "as_axes",
    "as_unit_vector",
    "as_weights",
]

# Kinds, as `_core/solvers/inverse_layout.pxd` numbers them.
POSE, POSITION, DIRECTION, CENTER = range(4)

# Angle of rotation [rad], distance [m].
TOLERANCE = (1e-3, 1e-4)

# The shortest vector that is a direction.
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Task:
    """One task: `shape` is that of its goal; the rest is what the solver is told."""

    what: str
    shape: tuple[int, ...]
    kind: int
    frame: int
    base: int
    weights: tuple[float, float]
    point: tuple[float, ...] = (0.0, 0.0, 0.0)
    axes: tuple[int, ...] = (0, 1, 2)

    @property
    def num_errors(self) -> int:
        """How many numbers its error has."""
        return len(self.axes) * sum(weight != 0.0 for weight in self.weights)

    def as_tuple(self) -> tuple[Any, ...]:
        """Return what the compiled solver takes."""
        return (self.kind, self.frame, self.base, *self.weights, self.point, self.axes)

    def as_goal(self, value: object, name: str) -> FloatArray:
        """Return goals as an array of numbers. NaN is left in them; the solver looks at the values."""
        if type(value) is np.ndarray and value.shape == self.shape and value.dtype == np.float64:
            return value  # the way of a control loop
        return as_float_array(value, name, (..., *self.shape))


def as_weights(value: object, count: int) -> tuple[float, ...]:
    """Return one weight or two, of which one at least is not zero; one number is both."""
    weights = as_finite_array(value, "weight")
    if weights.shape and (count == 1 or weights.shape != (count,)):
        wanted = "one number" if count == 1 else "one number, or two: of the rotation and of the distance"
        raise ShapeError(f"weight: expected {wanted}; got shape {weights.shape}")
    weights = np.broadcast_to(weights, (count,))
    positive = weights[weights != 0.0]
    # Their squares, times those of errors, must not leave doubles.
    if not len(positive) or positive.min() < 1e-100 or positive.max() > 1e100:
        raise ArgumentValueError(
            f"weight: expected numbers from 1e-100 to 1e100, or 0, not all zero, got {quote(value)}"
        )
    return tuple(weights.tolist())


def as_unit_vector(value: object, name: str) -> tuple[float, ...]:
    """Return a direction with length one."""
    vector = as_finite_array(value, name, (3,))
    length = float(np.linalg.norm(vector))
    if length < _TOLERANCE:
        raise ArgumentValueError(f"{name}: expected a direction, got a vector of length zero")
    return tuple((vector / length).tolist())


def as_axes(value: object) -> tuple[int, ...]:
    """Return which coordinates letters name: "xy" is (0, 1)."""
    if not isinstance(value, str) or not value or len(set(value)) < len(value) or set(value) - set("xyz"):
        raise ArgumentValueError(
            f"axes: expected different letters of 'xyz', such as 'xy', got {quote(value)}"
        )
    return tuple("xyz".index(letter) for letter in value)
