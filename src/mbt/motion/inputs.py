"""Forces that drive a simulation: those of a control and of the actuators, clipped to limits if asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ShapeError, cure_for_efforts, shape_error
from mbt.math.arrays import as_finite_array, as_float_array
from mbt.motion.servo_targets import ServoTargets
from mbt.tree.hooks import add_note
from mbt.tree.servos import calc_efforts, read_servos

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Inputs"]


class Inputs:
    """Generalized forces of each step: ``control + B (actuation + servos)``, clipped if asked.

    Parameters
    ----------
    tree : MultibodyTree
        The driven tree.
    context : Context
        Its actuation acts all the time, and its servos follow its targets.
    control, servo_positions, servo_velocities : None, array_like or callable
        See `simulate`.
    num_steps : int
        Number of rows that an array must have.
    start, dt : float
        When the first step begins, and the length of each [s].
    limit_efforts : bool
        Whether to clip.
    with_servos : bool
        Whether servos act; implicit steps compute servos themselves.

    Attributes
    ----------
    num_limited : ndarray of int, shape (..., num_velocities)
        How often the force along each velocity was clipped.
    targets : ServoTargets or None
        Targets of the servos, if they change.
    """

    def __init__(
        self,
        tree: MultibodyTree,
        context: Context,
        control: Any,
        num_steps: int,
        *,
        start: float,
        dt: float,
        limit_efforts: bool,
        with_servos: bool = True,
        servo_positions: Any = None,
        servo_velocities: Any = None,
    ) -> None:
        self._shape = (*context.batch_shape, tree.num_velocities)
        self._held = context.actuation @ tree.actuation_matrix.T
        self._is_driven = bool(self._held.any())
        self._servos = read_servos(tree, context)
        self._has_servos = with_servos and bool(self._servos.actuators.size)
        self._B_servos = tree.actuation_matrix[:, self._servos.actuators]
        self.targets: ServoTargets | None = None
        if servo_positions is not None or servo_velocities is not None:
            self.targets = ServoTargets(
                servo_positions, servo_velocities, self._servos, batch=context.batch_shape,
                num_actuators=tree.num_actuators, num_steps=num_steps,
            )  # fmt: skip
        self._start, self._dt = start, dt
        self._function = control if callable(control) else None
        self._rows = self._as_rows(control, num_steps) if self._function is None else None
        self._limits = (tree.effort_lower_limits, tree.effort_upper_limits) if limit_efforts else None
        self.num_limited = np.zeros(self._shape, dtype=np.intp)

    @property
    def is_function(self) -> bool:
        """Whether forces depend on the state, or servo targets change."""
        return self._function is not None or self._has_servos or self.targets is not None

    @property
    def is_function_alone(self) -> bool:
        """Whether a control function returns all forces that are not constant."""
        return self._function is not None and not self._has_servos

    def calc(self, time: float, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the forces at a state, (..., num_velocities), if they depend on it."""
        tau = self._row_at(time) if self._function is None else self._call(time, q, v)
        if self._is_driven:
            tau = tau + self._held
        if self.targets is not None:
            self.targets.move_to(self._step_at(time), time, q, v)
            self._servos = self._servos._replace(q_d=self.targets.q_d, v_d=self.targets.v_d)
        if self._has_servos:
            with np.errstate(invalid="ignore"):  # of a sample that is not finite
                tau = tau + calc_efforts(self._servos, q, v) @ self._B_servos.T
        return tau if self._limits is None else self._limit(tau)

    def _row_at(self, time: float) -> FloatArray:
        """Return the row of the step in which a time lies."""
        assert self._rows is not None
        row: FloatArray = self._rows[..., min(self._step_at(time), self._rows.shape[-2] - 1), :]
        return np.broadcast_to(row, self._shape)

    def _step_at(self, time: float) -> int:
        return int((time - self._start) / self._dt + 1e-6)

    def _call(self, time: float, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the forces that the control function returns."""
        assert self._function is not None
        try:
            tau = self._function(time, q, v)
        except Exception as error:
            add_note(error, f"in control(time, q, v) at {time:.6g} s")
            raise
        if type(tau) is not np.ndarray or tau.dtype != np.float64 or tau.shape != self._shape:
            tau = as_float_array(tau, "the result of control")
            if tau.shape not in (self._shape, self._shape[-1:]):
                raise shape_error("the result of control", self._shape, tau.shape)
            tau = np.broadcast_to(tau, self._shape)
        result: FloatArray = tau
        return result

    def rows(self, first: int, count: int) -> FloatArray:
        """Return the forces of some steps, (..., count, num_velocities), if they do not depend on states."""
        assert self._rows is not None
        tau = self._rows[..., first : first + count, :]
        if self._is_driven:
            tau = tau + self._held[..., np.newaxis, :]
        if self._limits is not None:
            tau = self._limit(tau, axis=-2)
        return np.broadcast_to(tau, (*self._shape[:-1], *tau.shape[-2:]))

    def _limit(self, tau: FloatArray, axis: int | None = None) -> FloatArray:
        assert self._limits is not None
        lower, upper = self._limits
        limited = np.minimum(np.maximum(tau, lower), upper)
        is_limited = limited != tau
        self.num_limited += is_limited if axis is None else is_limited.sum(axis)
        return limited

    def _as_rows(self, control: object, num_steps: int) -> FloatArray:
        nv = self._shape[-1]
        if control is None:
            return np.broadcast_to(0.0, (num_steps, nv))
        rows = as_finite_array(control, "control")
        wanted = (*self._shape[:-1], num_steps, nv)
        if rows.shape == (nv,):
            return np.broadcast_to(rows, wanted)
        try:
            if rows.ndim < 2 or rows.shape[-2:] != (num_steps, nv):
                raise ValueError
            return np.broadcast_to(rows, wanted)
        except ValueError:
            raise ShapeError(
                f"control: expected shape {wanted}, a row for each step, or ({nv},), got {rows.shape}"
                f"{cure_for_efforts(wanted, rows.shape)}"
            ) from None
