"""States at any time from a trajectory or an array of positions."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, ShapeError
from mbt.functional import difference_positions, integrate_positions
from mbt.math.arrays import as_float_array, as_positive
from mbt.motion.trajectory import Trajectory

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.geometry import CollisionModel
    from mbt.math.arrays import FloatArray
    from mbt.motion.implicit import SolverSteps
    from mbt.motion.shape_contacts import ContactSample, ContactsOverTime
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Film", "touching_of"]

# The most names in a line: more would be wider than the picture.
_MOST_NAMES = 4


def touching_of(tree: MultibodyTree, trajectory: object) -> CollisionModel | None:
    """Return the shapes that touch in a trajectory of this tree; None if it has no contact."""
    if not isinstance(trajectory, Trajectory) or trajectory._contact is None:
        return None
    contact: Any = trajectory._contact
    return contact.scene if contact.tree is tree else None


class Film:
    """The motion of a model.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    trajectory : Trajectory or array_like, shape (..., n, num_positions)
        A trajectory of this tree, or from a file of a tree with the same positions; or only positions.
    dt : float, optional
        For only positions: the time from one to the next [s].

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError
        When the trajectory is something else, of another tree, or empty.
    """

    def __init__(self, tree: MultibodyTree, trajectory: object, dt: float | None = None) -> None:
        self._tree = tree
        self._velocities: FloatArray | None = None
        self._contacts: ContactsOverTime | None = None
        self._solver: SolverSteps | None = None
        self.context: Context = tree.create_default_context()
        if isinstance(trajectory, Trajectory):
            self._take(trajectory, dt)
        elif dt is None:
            got = type(trajectory).__name__
            raise ArgumentTypeError(
                "trajectory: expected an mbt.Trajectory, or an array of positions together with dt, "
                f"got {got}"
            )
        else:
            self.q = as_float_array(trajectory, "trajectory", (..., None, tree.num_positions)).copy()
            with np.errstate(over="ignore"):
                self.time = as_positive(dt, "dt") * np.arange(self.q.shape[-2])
            _check_is_some(self.q)

    def _take(self, trajectory: Trajectory, dt: float | None) -> None:
        if dt is not None:
            raise ArgumentValueError("dt: an mbt.Trajectory has its own times")
        if trajectory.position_names != self._tree.position_names:
            raise ArgumentValueError("trajectory: expected one of this tree, got one with other positions")
        self.time, self.q, self._velocities = trajectory.time, trajectory.q, trajectory.v
        _check_is_some(self.q)
        with suppress(ArgumentValueError):  # A trajectory from a file has no Context.
            context = trajectory.final_context
            self.context = context if context.tree is self._tree else self.context
            if touching_of(self._tree, trajectory) is not None and self.q.ndim == 2:
                self._contacts = trajectory.contacts
            if context.tree is self._tree and trajectory.solver is not None and trajectory.num_steps:
                self._solver = _steps_behind(trajectory)

    def touching_at(self, elapsed: float) -> ContactSample | None:
        """Return which shapes push each other in the sample nearest to a time, if that is known."""
        return None if self._contacts is None else self._contacts[self._nearest(elapsed)]

    def held_at(self, elapsed: float) -> str | None:
        """Name the joints held by position limits, and the servos at their effort limits; None if unknown.

        In the sample nearest to a time; for a batch, in the first state, which is drawn solid.
        """
        if self._solver is None:
            return None
        k = self._nearest(elapsed)
        at_limit, saturated = self._solver.at_limit[k], self._solver.saturated[k]
        joints = [
            joint.name
            for joint in self._tree.joints
            if at_limit[joint.velocity_start : joint.velocity_start + joint.num_velocities].any()
        ]
        servos = [
            servo.name
            for servo, is_full in zip(self._tree.joint_actuators, saturated, strict=True)
            if is_full
        ]
        parts = (("at limit", joints), ("at effort limit", servos))
        return " · ".join(f"{label}: {_list_some(names)}" for label, names in parts if names)

    def _nearest(self, elapsed: float) -> int:
        """Return the index of the sample nearest to a time."""
        time = self.time[0] + min(max(elapsed, 0.0), self.duration)
        return int(abs(self.time - time).argmin())

    @property
    def duration(self) -> float:
        """[s]."""
        return float(self.time[-1] - self.time[0])

    def at(self, elapsed: float) -> tuple[FloatArray, FloatArray]:
        """Return positions and velocities some time after the beginning [s], interpolated between samples.

        The interpolation has constant velocity, and takes the shortest way for rotations.
        """
        time = self.time[0] + min(max(elapsed, 0.0), self.duration)
        if self.time.size == 1:
            only: FloatArray = self.q[..., 0, :]
            return only, self._velocity(0, np.zeros((*only.shape[:-1], self._tree.num_velocities)))
        k = min(int(np.searchsorted(self.time, time, side="right")) - 1, self.time.size - 2)
        h = self.time[k + 1] - self.time[k]
        q0, q1 = self.q[..., k, :], self.q[..., k + 1, :]
        step = difference_positions(self._tree, q0, q1)
        share = (time - self.time[k]) / h if h > 0.0 else 0.0
        q: FloatArray = integrate_positions(self._tree, q0, step, share)
        near = k if share < 0.5 else k + 1
        with np.errstate(over="ignore"):
            mean = step / h if h > 0.0 else np.zeros_like(step)
        return q, self._velocity(near, mean)

    def _velocity(self, k: int, mean: FloatArray) -> FloatArray:
        """Return the velocity of a sample, or the mean velocity if it is not known."""
        return mean if self._velocities is None else self._velocities[..., k, :]


def _check_is_some(q: FloatArray) -> None:
    if 0 in q.shape[:-1]:
        raise ShapeError("trajectory: expected one sample or more, got none")


def _steps_behind(trajectory: Trajectory) -> SolverSteps:
    """Return what the solver did in the step after each sample; for the last one, in the step before it.

    For a batch, this is the first state. The solver has all steps, the trajectory perhaps only a few samples.
    All steps except the last have the same length.
    """
    context: Any = trajectory._context
    moved: Any = trajectory._moved
    solver: Any = trajectory.solver
    steps = (trajectory.time - np.max(context.time)) / np.nanmax(moved[..., 0])
    places = np.clip(np.rint(steps), 0, trajectory.num_steps - 1).astype(int)
    first = (0,) * (trajectory.q.ndim - 2)
    behind: SolverSteps = solver.sample((*first, places))
    return behind


def _list_some(names: list[str]) -> str:
    """Return a list of names: if there are many, the first ones and the number of the others."""
    more = len(names) - _MOST_NAMES
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:_MOST_NAMES])} and {more} more"
