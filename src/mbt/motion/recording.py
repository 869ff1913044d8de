"""The states and forces that a simulation records, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.motion.events import Passage
    from mbt.motion.implicit import SolverSteps

__all__ = ["NOT_FINITE", "Recording"]

#: Reason of most failures.
NOT_FINITE = "the state is not finite"


class Recording:
    """The states that are kept, and the forces after each of them.

    Parameters
    ----------
    time : float
        Time of the first state [s].
    state : ndarray, shape (..., num_positions + num_velocities)
        The first state.

    Attributes
    ----------
    num_steps : int
        Number of steps taken.
    status : str
        "completed", "event" or "failed".
    message : str
        Why it ended.
    undefined_events : dict of int to float
        When an event function returned NaN for the first time [s], by its number.
    solver : SolverSteps or None
        Of implicit steps: the solver's results for each step.
    refused_tau : ndarray, shape (num_velocities,), or None
        Forces for which a solver with variable steps found accelerations that were not finite.
    """

    def __init__(self, time: float, state: FloatArray) -> None:
        self._times = [np.array([time])]
        self._states = [state[..., np.newaxis, :]]
        self._taus: list[FloatArray] = []
        self.num_steps = 0
        self.undefined_events: dict[int, float] = {}
        self.solver: SolverSteps | None = None
        self.refused_tau: FloatArray | None = None
        self.status = "completed"
        self.message = "the duration is over"

    def add(self, times: FloatArray, states: FloatArray) -> None:
        """Keep states, (..., n, num_positions + num_velocities)."""
        self._times.append(times)
        self._states.append(states)

    def add_forces(self, tau: FloatArray, last: FloatArray) -> None:
        """Keep the forces after states, (..., n, k), from the first on; and those of the last step."""
        self._taus.append(tau)
        self._last_tau = last

    def end_at(self, passage: Passage) -> None:
        """Keep the state of an event as the last one."""
        self.status = "event"
        self.message = f"events[{passage.number}] at {passage.time:.9g} s"
        self.add(np.array([passage.time]), np.concatenate([passage.q, passage.v])[np.newaxis])

    def fail(self, time: float, reason: str) -> None:
        """End the simulation early, as failed."""
        self.status, self.message = "failed", f"after {time:.9g} s: {reason}"

    def assemble(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return times (n,), states (..., n, nq + nv) and forces (..., n, k)."""
        times, states = np.concatenate(self._times), np.concatenate(self._states, axis=-2)
        # Unless a failed step followed the last state, repeat the forces of the last step there.
        tau = np.concatenate([*self._taus, self._last_tau[..., np.newaxis, :]], axis=-2)
        return times, states, tau[..., : times.size, :]
