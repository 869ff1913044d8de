"""Targets of servos over time: for each step of a simulation, or functions of time and state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentValueError, ShapeError, shape_error
from mbt.math.arrays import as_finite_array, as_float_array
from mbt.tree.hooks import add_note
from mbt.tree.servos import CURE_OF_MOTORS

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.tree.servos import Servos

__all__ = ["ServoTargets"]


class ServoTargets:
    """The targets of the servos in each step.

    Parameters
    ----------
    positions, velocities : None, array_like or callable
        See `simulate`. None keeps the targets of the Context.
    servos : Servos
        The servos of the Context.
    batch : tuple of int
        Batch shape of the Context.
    num_actuators, num_steps : int
        Number of actuators of the tree; number of rows that an array must have.

    Attributes
    ----------
    q_d, v_d : ndarray, shape (..., num_servos)
        Targets in the current step.
    """

    def __init__(
        self,
        positions: Any,
        velocities: Any,
        servos: Servos,
        *,
        batch: tuple[int, ...],
        num_actuators: int,
        num_steps: int,
    ) -> None:
        self.q_d, self.v_d = servos.q_d, servos.v_d
        self._columns = servos.actuators
        self._shape, self._num_steps = (*batch, num_actuators), num_steps
        self._positions = self._read(positions, "servo_positions")
        self._velocities = self._read(velocities, "servo_velocities")

    def move_to(self, step: int, time: float, q: FloatArray, v: FloatArray) -> None:
        """Set the targets for a step that begins at this time and state."""
        if self._positions is not None:
            self.q_d = self._at(self._positions, "servo_positions", step, time, q, v)
        if self._velocities is not None:
            self.v_d = self._at(self._velocities, "servo_velocities", step, time, q, v)

    def _read(self, targets: Any, name: str) -> Any:
        """Return a function, or an array with a row for each step."""
        if targets is None:
            return None
        if not self._columns.size:
            raise ArgumentValueError(
                f"{name}: expected none, as no actuator of the tree is a servo: {CURE_OF_MOTORS}"
            )
        if callable(targets):
            return targets
        rows = as_finite_array(targets, name)
        wanted = (*self._shape[:-1], self._num_steps, self._shape[-1])
        if rows.shape == self._shape[-1:]:
            return np.broadcast_to(rows, wanted)
        try:
            if rows.ndim < 2 or rows.shape[-2:] != wanted[-2:]:
                raise ValueError
            return np.broadcast_to(rows, wanted)
        except ValueError:
            raise ShapeError(
                f"{name}: expected shape {wanted}, a row for each step and a column for each actuator, or "
                f"({self._shape[-1]},), got {rows.shape}"
            ) from None

    def _at(
        self, targets: Any, name: str, step: int, time: float, q: FloatArray, v: FloatArray
    ) -> FloatArray:
        if not callable(targets):
            row: FloatArray = targets[..., min(step, self._num_steps - 1), self._columns]
            return row
        try:
            values = targets(time, q, v)
        except Exception as error:
            add_note(error, f"in {name}(time, q, v) at {time:.6g} s")
            raise
        array = as_float_array(values, f"the result of {name}")
        if array.shape not in (self._shape, self._shape[-1:]):
            raise shape_error(f"the result of {name}", self._shape, array.shape)
        found: FloatArray = np.broadcast_to(array, self._shape)[..., self._columns]
        return found
