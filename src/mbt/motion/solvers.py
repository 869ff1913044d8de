"""Simulation with SciPy's solvers, which choose the lengths of their steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentValueError, MissingPackageError, SingularityError
from mbt.motion.accelerations import calc_vdot
from mbt.motion.charts import Chart
from mbt.motion.events import EventMonitor
from mbt.motion.recording import NOT_FINITE, Recording

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.motion.events import EventStates
    from mbt.motion.task import Task

__all__ = ["SOLVERS", "simulate_with_solver"]

#: Solvers of `scipy.integrate`.
SOLVERS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")

# This many steps in a row must advance by this fraction of the duration: or a simulation would never end.
_STEPS_IN_A_ROW = 1000
_LEAST_ADVANCE = 1e-5
# After a derivative that is not finite, the solver restarts with this fraction of the step.
_SHORTER = 0.1
# Shortest step, as a fraction of the duration.
_LEAST_STEP = 1e-13


class _NotFiniteError(Exception):
    """A derivative that is not finite, which no solver can handle."""


def simulate_with_solver(task: Task) -> tuple[Recording, tuple[EventStates, ...]]:
    """Run a task with a solver of SciPy; return the recording and the events.

    Raises
    ------
    ArgumentValueError
        If there is more than one state.
    MissingPackageError
        If SciPy is not installed.
    """
    if task.context.batch_shape:
        raise ArgumentValueError(
            f"method: {task.method!r} takes one state, got a batch {task.context.batch_shape}; "
            "'semi_implicit_euler' and 'rk4' take batches"
        )
    try:
        from scipy import integrate
    except ImportError as error:
        raise MissingPackageError(
            f"method: {task.method!r} needs SciPy: pip install 'multibodytree[sim]' ({error})"
        ) from error
    run = _Run(task, getattr(integrate, task.method))
    run.go()
    return run.recording, run.monitor.results()


class _Run:
    """A running task. A state of the solver is ``[u; v]``, of the current chart."""

    def __init__(self, task: Task, solver_type: Any) -> None:
        self.task, self.solver_type = task, solver_type
        context = task.context
        self.nv = task.tree.num_velocities
        self.recording = Recording(task.start, np.concatenate([context.q, context.v]))
        self.monitor = EventMonitor(task.events, task.start, context.q, context.v)
        self.recording.undefined_events = self.monitor.undefined
        # Times of samples.
        steps = np.arange(0, task.num_steps, task.every)
        self.samples = np.append(task.start + task.dt * steps, task.start + task.duration)
        self.num_sampled = 1
        self.reached = task.start
        self.step_size: float | None = None
        # An exception of a control function or of an element in Python, not of the solver; and the caller's
        # handling of arithmetic errors in NumPy.
        self.own_error: Exception | None = None
        self.error_state: Any = np.geterr()
        # The last state that the solver evaluated, and its derivative.
        self.last: tuple[FloatArray, ...] = ()
        # Time at which the current thousand steps began, and their count.
        self.milestone, self.steps_since = task.start, 0
        # Known forces, a row per step, and the forces that act now.
        self.rows = None if task.inputs.is_function else task.inputs.rows(0, task.num_steps)
        self.tau = np.zeros(self.nv)

    def go(self) -> None:
        """Integrate from each change of the forces to the next."""
        task, context = self.task, self.task.context
        q, v = context.q, context.v
        time = task.start
        try:
            self._keep_forces(time, q, v)
            for end, tau in self._pieces():
                self.tau = tau
                while time < end and self.recording.status == "completed":
                    time, q, v = self._integrate(time, q, v, end)
        except SingularityError as error:
            self.recording.fail(self.reached, str(error))

    def _pieces(self) -> list[tuple[float, FloatArray]]:
        """Return the ends of the intervals in which known forces are constant, with these forces."""
        task = self.task
        end = task.start + task.duration
        if self.rows is None:
            return [(end, self.tau)]
        changes = np.flatnonzero((self.rows[1:] != self.rows[:-1]).any(axis=1)) + 1
        ends = np.append(task.start + task.dt * changes, end)
        return list(zip(ends.tolist(), self.rows[np.append(0, changes)], strict=True))

    def _integrate(self, time: float, q: FloatArray, v: FloatArray, end: float) -> tuple[Any, ...]:
        """Integrate to `end`, or until the chart or the simulation ends, or shorter steps are needed."""
        task, nv = self.task, self.nv
        chart = Chart(task.tree, q)
        first_step = None if self.step_size is None else min(self.step_size, end - time)
        try:
            solver = self._call(
                lambda: self.solver_type(
                    lambda t, y: self._rate(chart, t, y),
                    time, np.concatenate([np.zeros(nv), v]), end, first_step=first_step, **task.tolerances,
                )
            )  # fmt: skip
            while True:
                self._call(solver.step)
                if solver.status == "failed":
                    self.recording.fail(solver.t, "the step size became too small")
                    break
                if not np.isfinite(solver.y).all():
                    raise _NotFiniteError
                dense = self._call(solver.dense_output)
                self.step_size, self.reached = solver.step_size, solver.t
                self.recording.refused_tau = None
                self.recording.num_steps += 1
                q, v = chart.q(solver.y[:nv]), solver.y[nv:]
                self._record(chart, solver, dense)
                self._check_advance()
                task.progress.report((solver.t - task.start) / task.duration)
                has_ended = solver.status == "finished" or self.recording.status != "completed"
                if has_ended or chart.is_far(solver.y[:nv]):
                    break
        except _NotFiniteError:
            self._shorten_step(end)
        return self.reached, q, v

    def _call(self, function: Callable[[], Any]) -> Any:
        """Call a solver; raise `_NotFiniteError` for errors that numbers that are not finite cause in it."""
        try:
            with np.errstate(all="ignore"):
                return function()
        except (ValueError, ArithmeticError) as error:
            is_finite = isinstance(error, ValueError) and self._is_finite(getattr(function, "__self__", None))
            if error is self.own_error or is_finite:
                raise
            raise _NotFiniteError from error

    def _is_finite(self, solver: object) -> bool:
        """Whether a solver's numbers are usable: its norms square them, which may overflow."""
        of_solver = [getattr(solver, name, None) for name in ("y", "f", "J")]
        numbers = [x for x in (*self.last, *of_solver) if isinstance(x, np.ndarray)]
        with np.errstate(all="ignore"):
            return all(np.isfinite(x * x).all() for x in numbers)

    def _shorten_step(self, end: float) -> None:
        """Restart with a shorter step from the last state, or fail if that step would be negligible."""
        self.step_size = _SHORTER * min(self.step_size or np.inf, end - self.reached)
        if self.step_size < max(_LEAST_STEP * self.task.duration, 10.0 * math.ulp(self.reached)):
            self.recording.fail(self.reached, NOT_FINITE)

    def _check_advance(self) -> None:
        """Fail if steps have become so short that the end would never be reached."""
        self.steps_since += 1
        if self.steps_since == _STEPS_IN_A_ROW and self.recording.status == "completed":
            if self.reached - self.milestone < _LEAST_ADVANCE * self.task.duration:
                self.recording.fail(self.reached, "the step size became too small")
            self.milestone, self.steps_since = self.reached, 0

    def _rate(self, chart: Chart, time: float, y: FloatArray) -> FloatArray:
        task, nv = self.task, self.nv
        u, v = y[:nv], y[nv:]
        if not np.isfinite(y).all():
            raise _NotFiniteError
        try:
            q = chart.q(u)
            with np.errstate(**self.error_state):
                tau = task.inputs.calc(time, q, v) if self.rows is None else self.tau
            context = task.context
            context.time, context.q, context.v = time, q, v
            rate = np.concatenate([chart.rate(u, v), calc_vdot(context, tau)])
        except Exception as error:
            self.own_error = error
            raise
        if not np.isfinite(rate).all():
            self.recording.refused_tau = np.array(tau)
            raise _NotFiniteError
        self.last = y, rate
        return rate

    def _record(self, chart: Chart, solver: Any, dense: Callable[[float], FloatArray]) -> None:
        """Record the samples within a step, up to an event that ends the simulation."""
        nv = self.nv

        def state_at(time: float) -> tuple[FloatArray, FloatArray]:
            with np.errstate(all="ignore"):
                y = dense(time)
            return chart.q(y[:nv]), y[nv:]

        end, passage = solver.t, None
        if self.task.events:
            passage = self.monitor.advance(end, chart.q(solver.y[:nv]), solver.y[nv:], state_at)
            end = end if passage is None else passage.time
        count = int(np.searchsorted(self.samples, end, side="left" if passage else "right"))
        for time in self.samples[self.num_sampled : count].tolist():
            q, v = state_at(time)
            if not (np.isfinite(q).all() and np.isfinite(v).all()):
                self.recording.fail(time, NOT_FINITE)
                return
            self.recording.add(np.array([time]), np.concatenate([q, v])[np.newaxis])
            self._keep_forces(time, q, v)
        self.num_sampled = max(count, self.num_sampled)
        if passage is not None:
            self.recording.end_at(passage)
            self._keep_forces(passage.time, passage.q, passage.v)

    def _keep_forces(self, time: float, q: FloatArray, v: FloatArray) -> None:
        task = self.task
        if self.rows is None:
            tau = task.inputs.calc(time, q, v)
        else:
            step = int((time - task.start) / task.dt + 1e-6)
            tau = self.rows[min(step, task.num_steps - 1)]
        self.recording.add_forces(np.array(tau)[np.newaxis], tau)
