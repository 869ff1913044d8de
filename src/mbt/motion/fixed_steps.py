"""Simulation in steps of equal length: many per call, or one for each call of a control function."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.motion.events import EventMonitor
from mbt.motion.recording import Recording
from mbt.motion.stepper import make_stepper

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.motion.events import EventStates
    from mbt.motion.task import Task

__all__ = ["simulate_fixed_steps"]

# Between calls Ctrl-C is handled and the progress bar updated.
_STEPS_A_CALL = 256
_STATES_A_CALL = 1 << 14


def simulate_fixed_steps(task: Task) -> tuple[Recording, tuple[EventStates, ...]]:
    """Run a task with a compiled method; return the recording and the events."""
    run = _Run(task)
    most = max(1, min(_STEPS_A_CALL, _STATES_A_CALL // max(1, math.prod(task.context.batch_shape))))
    done, last = 0, task.num_steps - 1
    while done <= last and run.recording.status == "completed":
        # All steps but the last have the same length.
        count = min(most, last - done) or 1
        run.take(done, count)
        done += count
        task.progress.report(done / task.num_steps)
    run.recording.solver = run.stepper.report(run.recording.num_steps)
    return run.recording, run.monitor.results()


class _Run:
    """A running task."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.stepper = stepper = make_stepper(task)
        self.recording = Recording(task.start, stepper.state)
        self.monitor = EventMonitor(task.events, task.start, task.context.q, task.context.v)
        self.recording.undefined_events = self.monitor.undefined
        self.is_single = not task.context.batch_shape

    def take(self, first: int, count: int) -> None:
        """Take steps of the same length, and record them."""
        recording, every = self.recording, self.task.every
        times, dt = self.task.times(first, first + count), self.task.length_of(first)
        passage: Any
        if self.task.inputs.is_function:
            tau, states, passage = self._take_controlled(times, dt)
        else:
            tau, states, passage = self._take_known(first, times, dt)
        tau = self.stepper.exerted(first, tau)
        num_states = states.shape[-2]
        recording.num_steps += num_states + (passage is not None)
        steps = np.arange(first, first + count)
        # Each state is recorded with the forces of the step that follows it.
        recording.add_forces(tau[..., (steps % every == 0)[: tau.shape[-2]], :], tau[..., -1, :])
        is_kept = ((steps + 1) % every == 0)[:num_states]
        if num_states and (recording.status == "failed" or first + num_states == self.task.num_steps):
            is_kept[-1] = True
        recording.add(times[1 : num_states + 1][is_kept], states[..., is_kept, :])
        if passage is not None:
            recording.end_at(passage)

    def _take_known(self, first: int, times: FloatArray, dt: float) -> tuple[FloatArray, FloatArray, Any]:
        """Take all steps in one call, then look for events in them."""
        start = self.stepper.state
        tau = self.task.inputs.rows(first, times.size - 1)
        states = self.stepper.take(times, tau, dt)
        if self.is_single:
            is_bad = ~np.isfinite(states).all(axis=-1)
            if is_bad.any():
                count = int(np.argmax(is_bad))
                self._fail(times[count])
                tau, states = tau[: count + 1], states[:count]
        if self.task.events:
            before = start
            for k, state in enumerate(states):
                passage = self._watch(times[k], before, tau[k], times[k + 1], state)
                if passage is not None:
                    return tau[: k + 1], states[:k], passage
                before = state
        return tau, states, None

    def _take_controlled(self, times: FloatArray, dt: float) -> tuple[FloatArray, FloatArray, Any]:
        """Call the control function before each step."""
        stepper, calc, is_watched = self.stepper, self.task.inputs.calc, bool(self.task.events)
        clock, passage = times.tolist(), None
        last = len(clock) - 1
        begun = done = 0
        before = stepper.state
        # Time is the first axis, so that rows are filled in order.
        states = np.empty((last, *before.shape))
        taus = np.empty((last, *before.shape[:-1], stepper.nv))
        q, v = stepper.context.q, stepper.context.v
        while done < last and passage is None:
            taus[done] = tau = calc(clock[done], q, v)
            begun = done + 1
            states[done] = state = stepper.take_one(clock[done], tau, dt)
            if self.is_single and not math.isfinite(sum(state.tolist())):
                self._fail(clock[done])
                break
            if is_watched:
                passage = self._watch(clock[done], before, taus[done], clock[begun], state)
            if passage is None:
                before, done = state, begun
                q, v = stepper.context.q, stepper.context.v
        return np.moveaxis(taus[:begun], 0, -2), np.moveaxis(states[:done], 0, -2), passage

    def _watch(self, time: float, before: FloatArray, tau: FloatArray, end: float, after: FloatArray) -> Any:
        """Return the event in a step that ends the simulation, if any; shorter steps locate it."""
        nq = self.stepper.nq

        def state_at(between: float) -> tuple[FloatArray, FloatArray]:
            state = self.stepper.step_from(time, before, tau, between - time)
            return state[:nq], state[nq:]

        return self.monitor.advance(end, after[:nq], after[nq:], state_at)

    def _fail(self, time: float) -> None:
        self.recording.fail(time, self.stepper.reason)
