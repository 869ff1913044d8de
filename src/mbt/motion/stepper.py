"""Steps that move a Context: compiled, or in Python for trees with force elements in Python."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.quantities.names import Quantity
from mbt.errors import SingularityError
from mbt.motion.accelerations import rest_where_locked
from mbt.motion.operands import METHODS, check_method
from mbt.motion.recording import NOT_FINITE
from mbt.motion.stages import take_step

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.motion.implicit import SolverSteps, Taken
    from mbt.motion.task import Task

__all__ = ["Stepper", "make_stepper"]

# Single steps that share one block of results, of one state and of all samples of a batch.
_STEPS_A_BLOCK = 64
_STATES_A_BLOCK = 1 << 14


def make_stepper(task: Task) -> Stepper:
    """Return the stepper for a task, with its parameters and applied forces; see `rollout`."""
    if task.method == "implicit":
        return _ImplicitStepper(task)
    in_python = task.tree._user_force_elements is not None
    return (_PythonStepper if in_python else _CompiledStepper)(task.context, task.method)


class Stepper(ABC):
    """Takes steps. Its Context, of one state or a batch, has the state after the last one."""

    def __init__(self, context: Context, method: str) -> None:
        tree = context.tree
        self.context = context
        self.nq, self.nv = tree.num_positions, tree.num_velocities
        self._method = check_method(method)
        self._has_locks = bool(context._locked_dofs().any())
        # Reason if a state is not finite.
        self.reason = NOT_FINITE

    @property
    def state(self) -> FloatArray:
        """Positions and velocities, in one row."""
        return np.concatenate([self.context.q, self.context.v], axis=-1)

    @abstractmethod
    def take(self, times: FloatArray, tau: FloatArray, dt: float) -> FloatArray:
        """Take steps at these times with these forces, (..., n, nv); return the states, (..., n, nq + nv)."""

    @abstractmethod
    def take_one(self, time: float, tau: FloatArray, dt: float) -> FloatArray:
        """Take one step with these forces, (..., nv); return the state, read-only."""

    def exerted(self, first: int, tau: FloatArray) -> FloatArray:
        """Return the forces of inputs and servos in steps that were taken with `tau`, (..., n, nv).

        Followed by the other results of a step, if it has any; see `mbt.motion.impulses`.
        """
        return tau

    def report(self, num_steps: int) -> SolverSteps | None:
        """Return the solver's results for the first steps."""
        return None

    def step_from(self, time: float, state: FloatArray, tau: FloatArray, dt: float) -> FloatArray:
        """Return the state after one step from another state; the stepper's own state is not changed."""
        here = self.state
        self._go(state)
        there = self.take_one(time, tau, dt)
        self._go(here)
        return there

    def _go(self, state: FloatArray) -> None:
        self.context.q = state[..., : self.nq]
        v = state[..., self.nq :]
        self.context.v = rest_where_locked(self.context, v) if self._has_locks else v


class _CompiledStepper(Stepper):
    def __init__(self, context: Context, method: str) -> None:
        super().__init__(context, method)
        forces = context.applied_forces
        batch = context.batch_shape
        self._held = forces.generalized_forces.copy()
        body_forces = forces.body_forces.reshape(*batch, 6 * context.tree.num_bodies)
        self._with_forces = int(body_forces.any())
        # Arguments of a call: dt, forces on bodies if there are any, forces along velocities.
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
        except SingularityError as error:  # Raised for one state only: it becomes NaN, as in a batch.
            self.reason = str(error)
            states = np.full((integers[1], self.nq + self.nv), np.nan)
        self._go(states[..., -1, :])
        return states


class _StepByStep(Stepper):
    def take(self, times: FloatArray, tau: FloatArray, dt: float) -> FloatArray:
        states = [
            self.take_one(time, tau[..., k, :], dt) for k, time in enumerate(times[: tau.shape[-2]].tolist())
        ]
        return np.stack(states, axis=-2)


class _ImplicitStepper(Stepper):
    def __init__(self, task: Task) -> None:
        from mbt.motion.implicit import ImplicitSteps

        super().__init__(task.context, task.method)
        self._steps = ImplicitSteps(
            task.context.clone(),
            joint_limits=task.joint_limits,
            velocity_limits=task.velocity_limits,
            limit_efforts=task.limit_efforts,
            contacts=task.contacts,
        )
        self._num_limited, self._targets = task.inputs.num_limited, task.inputs.targets
        # Results of the last single steps; of steps whose forces were not read yet; and the solver's results
        # for all others.
        self._block, self._num_written = self._steps.reserve(0), 0
        self._shape = (*task.context.batch_shape, self.nq + self.nv)
        self._size = max(1, min(_STEPS_A_BLOCK, _STATES_A_BLOCK // max(1, math.prod(self._shape[:-1]))))
        self._taken: list[Taken] = []
        self._done: list[SolverSteps] = []
        self._clipped: list[npt.NDArray[np.bool_]] = []

    def exerted(self, first: int, tau: FloatArray) -> FloatArray:
        from mbt.motion.implicit import join_taken

        self._read_block()
        taken = join_taken(self._taken)
        self._taken.clear()
        if not self.context.batch_shape and not math.isfinite(taken.told[-1].sum()):
            # After a failed step, report what acted in the step before.
            taken.told[-1, 1:] = taken.told[-2, 1:] if len(taken.told) > 1 else 0.0
        self._done.append(taken.solver)
        self._clipped.append(taken.is_clipped)
        return np.concatenate([taken.drive, taken.told], axis=-1)[..., : tau.shape[-2], :]

    def report(self, num_steps: int) -> SolverSteps:
        from mbt.motion.implicit import join_steps

        axis = self.context.v.ndim - 1
        self._num_limited += np.concatenate(self._clipped, axis=axis)[..., :num_steps, :].sum(axis=-2)
        return join_steps(self._done).sample((*(slice(None),) * axis, slice(num_steps)))

    def take(self, times: FloatArray, tau: FloatArray, dt: float) -> FloatArray:
        taken = self._move(self._steps.take, tau, dt, times[0])
        self._taken.append(taken)
        states = np.concatenate([taken.q, taken.v], axis=-1)
        self._go(states[..., -1, :])
        return states

    def take_one(self, time: float, tau: FloatArray, dt: float) -> FloatArray:
        block, k = self._block, self._num_written
        if k == len(block):
            self._read_block()
            block, k = self._steps.reserve(self._size), 0
            self._block = block
        self._move(partial(self._steps.write, block, k), tau[..., np.newaxis, :], dt, time)
        self._num_written = k + 1
        state = np.concatenate([block.q[k, :, 0], block.v[k, :, 0]], axis=-1).reshape(self._shape)
        self._go(state)
        state.flags.writeable = False
        return state

    def _read_block(self) -> None:
        if self._num_written:
            self._taken.append(self._block.read(self._num_written))
        self._block, self._num_written = self._steps.reserve(0), 0

    def step_from(self, time: float, state: FloatArray, tau: FloatArray, dt: float) -> FloatArray:
        if not dt > 0.0:
            return state
        here = self.state
        self._go(state)
        taken = self._move(self._steps.take, tau[..., np.newaxis, :], dt, time)
        self._go(here)
        return np.concatenate([taken.q[..., 0, :], taken.v[..., 0, :]], axis=-1)

    def _move(self, take: Callable[..., Any], tau: FloatArray, dt: float, time: float) -> Any:
        context = self.context
        if self._targets is not None:
            self._steps.set_servo_targets(self._targets.q_d, self._targets.v_d)
        try:
            return take(context.q, context.v, tau, dt, time)
        except SingularityError as error:
            self.reason = str(error)
            return take(context.q, context.v * np.nan, tau, dt, time)


class _PythonStepper(_StepByStep):
    def take_one(self, time: float, tau: FloatArray, dt: float) -> FloatArray:
        self.context.time = time
        try:
            take_step(self.context, tau, dt, of_order_four=self._method == METHODS["rk4"])
            state = self.state
        except SingularityError as error:
            self.reason = str(error)
            state = np.full(self.nq + self.nv, np.nan)
            self._go(state)
        state.flags.writeable = False
        return state
