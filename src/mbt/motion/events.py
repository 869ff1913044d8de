"""Events of a simulation: functions of the state that pass through zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError
from mbt.math.arrays import as_float

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray

    StateAt: TypeAlias = Callable[[float], tuple[FloatArray, FloatArray]]

__all__ = ["Event", "EventMonitor", "EventStates", "Passage", "as_events"]


class EventStates(NamedTuple):
    """The zero crossings of one event function, in the order of time.

    Attributes
    ----------
    time : ndarray, shape (n,)
        Times [s].
    q : ndarray, shape (n, num_positions)
        Positions there.
    v : ndarray, shape (n, num_velocities)
        Velocities there.
    """

    time: FloatArray
    q: FloatArray
    v: FloatArray


class Event(NamedTuple):
    """A function, the number of crossings that end the simulation (0: none do), and the counted direction."""

    function: Callable[[float, FloatArray, FloatArray], Any]
    terminal: int
    direction: float


class Passage(NamedTuple):
    """The state and time at which an event function crossed zero, and which one."""

    time: float
    number: int
    q: FloatArray
    v: FloatArray


def as_events(events: object) -> tuple[Event, ...]:
    """Return the events of one function or of several.

    Raises
    ------
    ArgumentTypeError
        If one of them is not a function.
    ArgumentValueError
        If its attribute `terminal` or `direction` is invalid.
    """
    functions = (events,) if callable(events) else events
    if not isinstance(functions, Sequence):
        raise ArgumentTypeError(f"events: expected functions event(time, q, v), got {type(events).__name__}")
    return tuple(_as_event(function, i) for i, function in enumerate(functions))


def _as_event(function: object, i: int) -> Event:
    if not callable(function):
        raise ArgumentTypeError(
            f"events[{i}]: expected a function event(time, q, v), got {type(function).__name__}"
        )
    terminal, direction = getattr(function, "terminal", False), getattr(function, "direction", 0)
    if not isinstance(terminal, (bool, np.bool_, int, np.integer)) or terminal < 0:
        raise ArgumentValueError(
            f"events[{i}].terminal: expected True, False or a number of passages, got {terminal!r}"
        )
    return Event(function, int(terminal), as_float(direction, f"events[{i}].direction"))


class EventMonitor:
    """Watches all events of a simulation from one state to the next.

    A sign change between two states is located by bisection, to the last bits of the time, on the states
    that the method of integration gives in between. The state returned is the first one after the crossing,
    so that continuing from there does not find it again.

    Parameters
    ----------
    events : sequence of Event
        The events to watch.
    time, q, v
        The state at the beginning. A function that is zero there does not count as crossing.

    Attributes
    ----------
    undefined : dict of int to float
        When an event was NaN for the first time [s], by its number.
    """

    def __init__(self, events: Sequence[Event], time: float, q: FloatArray, v: FloatArray) -> None:
        self.events = events
        self.found: list[list[Passage]] = [[] for _ in events]
        self.undefined: dict[int, float] = {}
        self._sizes = q.size, v.size
        self._time = time
        self._values = [self._value_at(i, time, q, v) for i in range(len(events))]

    def advance(self, time: float, q: FloatArray, v: FloatArray, state_at: StateAt) -> Passage | None:
        """Go to the next state; return the crossing that ends the simulation, if there is one.

        Parameters
        ----------
        time, q, v
            The next state.
        state_at : callable
            Returns the state at a time between this one and the next.
        """
        before = self._values
        values = [self._value_at(i, time, q, v) for i in range(len(self.events))]
        # NaN is not a crossing: the last known sign is kept.
        values = [last if math.isnan(value) else value for value, last in zip(values, before, strict=True)]
        passages = [
            self._locate(i, before[i], time, (q, v), state_at)
            for i, event in enumerate(self.events)
            if _passes(event, before[i], values[i])
        ]
        self._time, self._values = time, values
        for passage in sorted(passages):
            own = self.found[passage.number]
            own.append(passage)
            if len(own) == self.events[passage.number].terminal:
                return passage
        return None

    def results(self) -> tuple[EventStates, ...]:
        """Return all crossings of each event."""
        return tuple(_stack(passages, *self._sizes) for passages in self.found)

    def _value_at(self, i: int, time: float, q: FloatArray, v: FloatArray) -> float:
        value = as_float(self.events[i].function(time, q, v), f"the result of events[{i}]")
        if math.isnan(value):
            self.undefined[i] = min(time, self.undefined.get(i, math.inf))
        return value

    def _locate(
        self, i: int, before: float, end: float, at_end: tuple[FloatArray, FloatArray], state_at: StateAt
    ) -> Passage:
        begin, state = self._time, at_end
        while abs(end - begin) > 4.0 * math.ulp(max(abs(end), abs(begin))):
            middle = begin + 0.5 * (end - begin)
            q, v = state_at(middle)
            value = self._value_at(i, middle, q, v)
            # Compare signs, as a product may underflow. NaN is not yet after the crossing.
            if math.isnan(value) or (value > 0.0 if before > 0.0 else value < 0.0):
                begin = middle
            else:
                end, state = middle, (q, v)
        return Passage(end, i, *(np.array(part) for part in state))


def _passes(event: Event, before: float, after: float) -> bool:
    """Whether the sign changes, in the direction that counts. Zero belongs to the side after it."""
    rises = before < 0.0 <= after and event.direction >= 0.0
    falls = before > 0.0 >= after and event.direction <= 0.0
    return rises or falls


def _stack(passages: list[Passage], nq: int, nv: int) -> EventStates:
    return EventStates(
        np.array([passage.time for passage in passages]),
        np.array([passage.q for passage in passages]).reshape(-1, nq),
        np.array([passage.v for passage in passages]).reshape(-1, nv),
    )
