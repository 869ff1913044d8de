"""Tasks of inverse kinematics, and checks of them and their goals."""

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

# Kinds of tasks, as `_core/solvers/inverse_layout.pxd` numbers them.
POSE, POSITION, DIRECTION, CENTER = range(4)

# Default tolerances: angle of rotation [rad], distance [m].
TOLERANCE = (1e-3, 1e-4)

# Length of the shortest vector that is a direction.
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Task:
    """One task: `shape` is that of its goal; the rest is for the solver."""

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
        """Size of its error."""
        return len(self.axes) * sum(weight != 0.0 for weight in self.weights)

    def as_tuple(self) -> tuple[Any, ...]:
        """Return the arguments of the compiled solver."""
        return (self.kind, self.frame, self.base, *self.weights, self.point, self.axes)

    def as_goal(self, value: object, name: str) -> FloatArray:
        """Return goals as an array of numbers. NaN stays in them; the solver checks the values."""
        if type(value) is np.ndarray and value.shape == self.shape and value.dtype == np.float64:
            return value  # fast path for control loops
        return as_float_array(value, name, (..., *self.shape))


def as_weights(value: object, count: int) -> tuple[float, ...]:
    """Return one weight, or two, not all zero; one number stands for both."""
    weights = as_finite_array(value, "weight")
    if weights.shape and (count == 1 or weights.shape != (count,)):
        wanted = "one number" if count == 1 else "one number, or two: of the rotation and of the distance"
        raise ShapeError(f"weight: expected {wanted}; got shape {weights.shape}")
    weights = np.broadcast_to(weights, (count,))
    positive = weights[weights != 0.0]
    # Their squares, times those of errors, must stay within the range of doubles.
    if not len(positive) or positive.min() < 1e-100 or positive.max() > 1e100:
        raise ArgumentValueError(
            f"weight: expected numbers from 1e-100 to 1e100, or 0, not all zero, got {quote(value)}"
        )
    return tuple(weights.tolist())


def as_unit_vector(value: object, name: str) -> tuple[float, ...]:
    """Return a direction as a unit vector."""
    vector = as_finite_array(value, name, (3,))
    length = float(np.linalg.norm(vector))
    if length < _TOLERANCE:
        raise ArgumentValueError(f"{name}: expected a direction, got a vector of length zero")
    return tuple((vector / length).tolist())


def as_axes(value: object) -> tuple[int, ...]:
    """Return the indices of coordinates given by letters: "xy" is (0, 1)."""
    if not isinstance(value, str) or not value or len(set(value)) < len(value) or set(value) - set("xyz"):
        raise ArgumentValueError(
            f"axes: expected different letters of 'xyz', such as 'xy', got {quote(value)}"
        )
    return tuple("xyz".index(letter) for letter in value)
