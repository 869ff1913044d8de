"""Steps of a Context, which moves along: compiled, or in Python where force elements are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from mbt._core.quantities.table import Quantity
from mbt.errors import SingularityError
from mbt.motion.charts import Chart
from mbt.motion.operands import check_method

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray

__all__ = ["Stepper", "make_stepper"]


def make_stepper(context: Context, method: str) -> Stepper:
    """Return what takes steps with the parameters and applied forces of a Context; see `rollout`."""
    in_python = context.tree._user_force_elements is not None
    return (_PythonStepper if in_python else _CompiledStepper)(context, method)


class Stepper(ABC):
    """Takes steps. The Context, of one state or a batch, has the state behind the last one."""

    def __init__(self, context: Context, method: str) -> None:
        tree = context.tree
        self.context = context
        self.nq, self.nv = tree.num_positions, tree.num_velocities
        self._method = check_method(method)
        locked = context._locked_dofs()
        self._locked = locked.copy() if locked.any() else None
        # Why a state is not finite.
        self.reason = "the state is not finite"

    @property
    def state(self) -> FloatArray:
        """Positions and velocities, one behind the other."""
        return np.concatenate([self.context.q, self.context.v], axis=-1)

    @abstractmethod
    def take(self, times: FloatArray, tau: FloatArray, dt: float) -> FloatArray:
        """Take steps at these times with these forces, (..., n, nv); return the states, (..., n, nq + nv)."""

    @abstractmethod
    def take_one(self, time: float, tau: FloatArray, dt: float) -> FloatArray:
        """Take one step with these forces, (..., nv); return the state, read-only."""

    def step_from(self, time: float, state: FloatArray, tau: FloatArray, dt: float) -> FloatArray:
        """Return where one step leads from another state; the own one is not changed."""
        here = self.state
        self._go(state)
        there = self.take_one(time, tau, dt)
        self._go(here)
        return there

    def _go(self, state: FloatArray) -> None:
        v = state[..., self.nq :]
        # What is locked is at rest, also where nothing else is known.
        self.context.v = v if self._locked is None else np.where(self._locked, 0.0, v)
        self.context.q = state[..., : self.nq]


class _CompiledStepper(Stepper):
    def __init__(self, context: Context, method: str) -> None:
        super().__init__(context, method)
        forces = context.applied_forces
        batch = context.batch_shape
        self._held = forces.generalized_forces.copy()
        body_forces = forces.body_forces.reshape(*batch, -1)
        self._with_forces = int(body_forces.any())
        # What a call takes: dt, forces on bodies where there are any, forces along velocities.
        self._front = body_forces if self._with_forces else np.empty((*batch, 0))
        self._one = np.concatenate([np.zeros((*batch, 1)), self._front, self._held], axis=-1)
        self._tau_of_one = self._one[..., self._one.shape[-1] - self.nv :]
        self._dt_of_one = 0.0
        self._integers_of_one = (self._method, 1, 1, 0, self._with_forces)

    def take(self, times: FloatArray, tau: FloatArray, dt: float) -> FloatArray:
        *batch, count, _ = tau.shape
        rows = (tau + self._held[..., np.newaxis, :]).reshape(*batch, count * self.nv)
        x = np.concatenate([np.full((*batch, 1), dt), self._front, rows], axis=-1)
        return self._evaluate((self._method, count, 1, 0, self._with_forces), x)

    def take_one(self, time: float, tau: FloatArray, dt: float) -> FloatArray:
        if dt != self._dt_of_one:
            self._one[..., 0] = self._dt_of_one = dt
        np.add(tau, self._held, self._tau_of_one)
        state: FloatArray = self._evaluate(self._integers_of_one, self._one)[..., 0, :]
        state.flags.writeable = False
        return state

    def _evaluate(self, integers: tuple[int, ...], x: FloatArray) -> FloatArray:
        try:
            states: FloatArray = self.context._evaluate(Quantity.ROLLOUT, integers, x)
        except SingularityError as error:  # Of one state, and NaN as in a batch.
            self.reason = str(error)
            states = np.full((integers[1], self.nq + self.nv), np.nan)
        self._go(states[..., -1, :])
        return states


class _PythonStepper(Stepper):
    def take(self, times: FloatArray, tau: FloatArray, dt: float) -> FloatArray:
        states = [
            self.take_one(time, tau[..., k, :], dt) for k, time in enumerate(times[: tau.shape[-2]].tolist())
        ]
        return np.stack(states, axis=-2)

    def take_one(self, time: float, tau: FloatArray, dt: float) -> FloatArray:
        take = self._take_runge_kutta if self._method else self._take_euler
        try:
            q, v = take(time, tau, dt)
        except SingularityError as error:
            self.reason = str(error)
            q, v = np.full(self.nq, np.nan), np.full(self.nv, np.nan)
        state = np.concatenate([q, v], axis=-1)
        self._go(state)
        state.flags.writeable = False
        return state

    def _take_euler(self, time: float, tau: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
        q0, v0 = self.context.q, self.context.v
        v = v0 + dt * self._calc_vdot(time, q0, v0, tau)
        return Chart(self.context.tree, q0).q(dt * v), v

    def _take_runge_kutta(self, time: float, tau: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
        """Of order four, in ``[u; v]`` with ``q = exp(u) q0``."""
        chart, v0 = Chart(self.context.tree, self.context.q), self.context.v
        rate, vdot, total_u, total_v = np.zeros((4, *v0.shape))
        for reach, weight in ((0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0)):
            u, v = reach * dt * rate, v0 + reach * dt * vdot
            rate, vdot = chart.rate(u, v), self._calc_vdot(time + reach * dt, chart.q(u), v, tau)
            total_u, total_v = total_u + weight * rate, total_v + weight * vdot
        return chart.q(dt / 6.0 * total_u), v0 + dt / 6.0 * total_v

    def _calc_vdot(self, time: float, q: FloatArray, v: FloatArray, tau: FloatArray) -> FloatArray:
        context = self.context
        context.time, context.q, context.v = time, q, v
        return context.tree.calc_forward_dynamics(context, tau)
