"""Inverse kinematics: problems of several tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.api.configuration import difference_positions
from mbt._core.engines.lane_engine import get_num_threads
from mbt._core.solvers.inverse_kinematics import InverseCore
from mbt._core.solvers.inverse_layout import InverseLayout
from mbt.context.checks import compile_copy
from mbt.errors import ArgumentValueError, quote
from mbt.kinematics.closed_compromises import close_compromises
from mbt.kinematics.distances import find_free
from mbt.kinematics.free_solutions import find_other_solutions
from mbt.kinematics.result import InverseKinematicsResult
from mbt.kinematics.samples import check_context, split_samples, take_samples
from mbt.kinematics.solution_derivatives import SolutionDerivatives
from mbt.kinematics.tasks import TOLERANCE
from mbt.math.arrays import FloatArray, as_count, as_finite_array, as_positive
from mbt.tree.coordinate_names import as_generator

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.kinematics.distances import Distance
    from mbt.kinematics.tasks import Task
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["InverseKinematics"]


class InverseKinematics(SolutionDerivatives):
    """A problem of inverse kinematics: tasks, for which `solve` finds positions.

    A task whose weight is less than one is secondary: missing its goal is still a success. Distances of
    `add_distance` must be kept.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree of doubles.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, NotFinalizedError
        When `tree` is not such a tree.

    Examples
    --------
    The tool of an arm shall reach a position and point down; it may turn about its axis:

    >>> import mbt
    >>> from mbt.models import model_path
    >>> tree = mbt.load_model(model_path("mbt_arm"))
    >>> ik = mbt.InverseKinematics(tree)
    >>> ik.add_position("tool")
    >>> ik.add_direction("tool", axis=[0, 0, 1])
    >>> ik
    <InverseKinematics: position, direction>
    >>> found = ik.solve([[0.5, 0.1, 0.3], [0, 0, -1]])
    >>> bool(found.success)
    True
    >>> pose = mbt.functional.frame_pose(tree, found.q, "tool")
    >>> bool(abs(pose[:3, 3] - [0.5, 0.1, 0.3]).max() < 1e-4)
    True
    """

    def __init__(self, tree: MultibodyTree) -> None:
        compile_copy(tree)
        if tree.scalar_type.name != "double":
            raise ArgumentValueError(f"tree: expected a tree of doubles, got one of {tree.scalar_type.name}")
        super().__init__(tree)
        self._core: InverseCore | None = None
        # For the last context: parameters, locks, disabled constraints, and their solver.
        self._last: tuple[Any, list[bool], list[bool], InverseCore] | None = None

    def solve(
        self,
        goals: Sequence[npt.ArrayLike],
        start: npt.ArrayLike | None = None,
        *,
        seeds: int = 64,
        rng: int | np.random.Generator | None = 0,
        tolerance: tuple[float, float] = TOLERANCE,
        max_steps: int = 100,
        context: Context | None = None,
    ) -> InverseKinematicsResult:
        """Find positions at which all tasks meet their goals.

        Parameters
        ----------
        goals : sequence of array_like
            One for each task, in their order; leading axes broadcast. A sample whose goals contain NaN has no
            success; other samples of the batch are not affected.
        start : array_like, shape (..., num_positions), optional
            Where to begin. Positions beyond limits are first moved to them, and quaternions are normalized.
            By default, positions of the context, or the default positions of the tree.
        seeds : int, optional
            Most attempts for a goal: the first one begins at `start`, others at random positions.
        rng : int or Generator, optional
            Source of random numbers. The same int gives the same positions on any number of threads.
        tolerance : tuple of two floats, optional
            Angle of rotation [rad], and distance [m].
        max_steps : int, optional
            Most steps of an attempt. If no attempt succeeds, the best ones may take four times as many.
        context : Context, optional
            Its parameters, locked joints and disabled constraints apply. The axes of a batch broadcast with
            those of goals and start.

        Returns
        -------
        InverseKinematicsResult

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError
            When an argument is invalid, or no joint moves the frames of the tasks.
        SingularityError
            When a quaternion of `start` is zero.

        Examples
        --------
        A batch of two goals, of which the second is out of reach:

        >>> import numpy as np
        >>> import mbt
        >>> from mbt.models import model_path
        >>> ik = mbt.InverseKinematics(mbt.load_model(model_path("mbt_arm")))
        >>> ik.add_position("tool")
        >>> found = ik.solve([[[0.5, 0.1, 0.4], [5.0, 0.0, 0.0]]], start=np.zeros(6))
        >>> found.q.shape, found.success.tolist()
        ((2, 6), [True, False])
        >>> bool(np.linalg.norm(found.error[1]) > 3.0)
        True
        """
        if context is not None and check_context(self._tree, context).batch_shape:
            return self._solve_states(
                goals, start, context, seeds=seeds, rng=rng, tolerance=tolerance, max_steps=max_steps
            )
        core = self._prepare(context)
        rows, starts, moved, batch = self._take(core, goals, start, context)
        options = self._take_options(seeds, rng, tolerance, max_steps)
        count, nq = math.prod(batch), self._tree.num_positions
        q, error = np.empty((*batch, nq)), np.empty((*batch, core.layout.num_errors))
        success, steps = np.zeros(batch, np.bool_), np.zeros(batch, np.intc)
        if count:
            core.solve(rows, starts, *options, get_num_threads(), count, q, success, steps, error)
            results = q.reshape(count, nq), success.reshape(count), error.reshape(count, error.shape[-1])
            if self._tree.num_constraints and not success.all():
                velocity_rows = self._find_velocity_goals(goals, q, context)
                close_compromises(self, core, (rows, velocity_rows), options[2:4], context, results)
            if self._distances:
                find_other_solutions(
                    self,
                    core,
                    (rows, starts, lambda: self._find_velocity_goals(goals, q, context)),
                    options,
                    context,
                    results,
                )
        if not batch:
            return InverseKinematicsResult(q, success[()], error, steps[()], moved[0])
        moved = moved.reshape(batch) if len(moved) == count else np.broadcast_to(moved, batch)
        return InverseKinematicsResult(q, success, error, steps, moved)

    def _solve_states(
        self, goals: Any, start: Any, context: Context, *, rng: Any, **options: Any
    ) -> InverseKinematicsResult:
        """Solve with the parameters of each state."""
        start = context.q if start is None else start
        samples, batch = split_samples(self._tree, self._tasks, goals, start, "start", context)
        seed = as_seed(rng)
        found = [self.solve(g, q, context=state, rng=seed, **options) for g, q, state in samples]
        if len(found) == 1 and found[0].success.shape == batch:
            return found[0]
        if not found:
            rows = self.rows[-1].stop if self.rows else 0
            nothing = np.zeros((*batch, self._tree.num_positions)), np.zeros(batch), np.zeros((*batch, rows))
            success, steps = nothing[1].astype(np.bool_), nothing[1].astype(np.intc)
            return InverseKinematicsResult(nothing[0], success, nothing[2], steps, success.copy())
        names = [field.name for field in fields(InverseKinematicsResult)]
        arrays = [np.array([getattr(one, name) for one in found]) for name in names]
        return InverseKinematicsResult(*(x.reshape(*batch, *x.shape[1:]) for x in arrays))

    def solve_all(
        self,
        goals: Sequence[npt.ArrayLike],
        start: npt.ArrayLike | None = None,
        *,
        seeds: int = 4096,
        rng: int | np.random.Generator | None = 0,
        tolerance: tuple[float, float] = TOLERANCE,
        max_steps: int = 100,
        context: Context | None = None,
        apart: float = 0.01,
    ) -> FloatArray | list[FloatArray]:
        """Return the distinct solutions that the attempts find, the nearest to `start` first.

        An arm with more joints than its tasks need has infinitely many solutions; then these are samples.

        Parameters
        ----------
        goals : sequence of array_like
            One for each task, in their order.
        start : array_like, shape (..., num_positions), optional
            As in `solve`.
        seeds : int, optional
            Number of attempts: one from `start`, others from random positions.
        rng, tolerance, max_steps, context
            As in `solve`.
        apart : float, optional
            Solutions are distinct if they differ by more than this [rad, m].

        Returns
        -------
        ndarray, shape (k, num_positions), or list of ndarray
            A list, one for each sample in C order, if goals, `start` or the Context have leading axes.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError, SingularityError
            As `solve`.

        Examples
        --------
        >>> import mbt
        >>> from mbt.models import model_path
        >>> tree = mbt.load_model(model_path("mbt_arm"))
        >>> ik = mbt.InverseKinematics(tree)
        >>> ik.add_pose("tool")
        >>> goal = mbt.math.make_pose([0.45, 0.2, 0.6], rpy=[0.0, 2.5, 0.4])
        >>> len(ik.solve_all([goal], seeds=512)) > 1
        True
        """
        distance = as_positive(apart, "apart")
        if context is not None and check_context(self._tree, context).batch_shape:
            batch: tuple[int, ...] = context.batch_shape
        else:
            core = self._prepare(context)
            rows, starts, _, batch = self._take(core, goals, start, context)
        if batch:
            if start is None:
                start = self._tree.default_positions if context is None else context.q
            samples, _ = split_samples(self._tree, self._tasks, goals, start, "start", context, True)
            alike: dict[str, Any] = {"seeds": seeds, "tolerance": tolerance, "max_steps": max_steps}
            alike |= {"rng": as_seed(rng), "apart": distance}
            return [
                self.solve_all(g, q, context=state, **alike)  # type: ignore[misc]
                for g, q, state in samples
            ]
        options = self._take_options(seeds, rng, tolerance, max_steps)
        q, success = np.empty((options[0], self._tree.num_positions)), np.zeros(options[0], np.bool_)
        core.try_all(rows, starts, *options, q, success)
        q = q[success]
        q = q[find_free(self._distances, q, context)]
        far = np.linalg.norm(difference_positions(self._tree, starts, q), axis=-1)
        left, found = q[np.argsort(far, kind="stable")], []
        while len(left):
            found.append(left[0])
            away = np.linalg.norm(difference_positions(self._tree, left[:1], left), axis=-1)
            left = left[away > distance]
        return np.array(found).reshape(-1, self._tree.num_positions)

    def _is_closed(self) -> bool:
        return self._core is not None or self._last is not None

    def _prepare(self, context: Context | None) -> InverseCore:
        """Return the solver for the parameters, locks and constraints of a state, or the default ones."""
        if context is None and self._core is not None:
            return self._core
        tree = self._tree
        if not self._tasks:
            raise ArgumentValueError("goals: this problem has no task; add_pose, for example, adds one")
        compile_copy(tree)
        if context is None:
            self._core = self._make(tree._compiled.default_parameters, None, None)  # type: ignore[union-attr]
            return self._core
        vector = np.array(context._parameter_vector)
        locked = context._locked_dofs().tolist()
        disabled = [context._is_disabled(i) for i in range(tree.num_constraints)]
        last = self._last
        if last is None or not (
            last[1] == locked and last[2] == disabled and np.array_equal(last[0], vector)
        ):
            # Threads may share a problem: they see either all of this or none.
            self._last = last = (vector, locked, disabled, self._make(vector, locked, disabled))
        return last[3]

    def _make(self, vector: Any, locked: Any, disabled: Any) -> InverseCore:
        tree = self._tree
        tasks = [task.as_tuple() for task in self._tasks]
        limits = tree.position_lower_limits, tree.position_upper_limits
        assert tree._compiled is not None
        layout = InverseLayout(tree._compiled, tasks, *limits, locked, self._posture)
        if layout.num_columns == 0:
            raise ArgumentValueError("goals: no joint that can move affects the tasks")
        return InverseCore(layout, vector, disabled)

    def _take(
        self, core: InverseCore, goals: Any, start: Any, context: Context | None
    ) -> tuple[FloatArray, FloatArray, Any, tuple[int, ...]]:
        """Return rows of goals; starts (one, or one per goal), and which were moved; and the batch shape."""
        if start is None:
            start = self._tree.default_positions if context is None else context.q
        lead = () if context is None else context.batch_shape
        parts, q, batch = take_samples(self._tree, self._tasks, goals, start, "start", lead)
        count = math.prod(batch)
        rows = core.layout.take_goals(
            [
                np.ascontiguousarray(part).reshape(
                    1 if part.ndim == len(task.shape) else count, math.prod(task.shape)
                )
                for part, task in zip(parts, self._tasks, strict=True)
            ],
            count,
        )
        starts, moved = core.layout.take_starts(q.reshape(1 if q.ndim == 1 else count, q.shape[-1]))
        return rows, starts, moved, batch

    @staticmethod
    def _take_options(
        seeds: Any, rng: Any, tolerance: Any, max_steps: Any
    ) -> tuple[int, int, float, float, int]:
        count, most = as_count(seeds, "seeds"), as_count(max_steps, "max_steps")
        if tolerance is not TOLERANCE:
            tolerance = as_finite_array(tolerance, "tolerance", (2,))
            if not tolerance.min() > 0.0:
                raise ArgumentValueError(f"tolerance: expected numbers > 0, got {quote(tolerance)}")
        key = _key_of_seed(rng) if type(rng) is int else _draw_key(rng)
        return count, key, float(tolerance[0]), float(tolerance[1]), most

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._tree, tuple(self._tasks), self._posture, tuple(self._distances))


def _draw_key(rng: object) -> int:
    return int(as_generator(rng).integers(2**64, dtype=np.uint64))


def as_seed(rng: object) -> int:
    """Return an int in place of a generator, so that all samples get the same random numbers."""
    return rng if type(rng) is int else int(as_generator(rng).integers(2**63))


# Making a generator takes longer than solving.
_key_of_seed = lru_cache(_draw_key)


def _restore(
    tree: MultibodyTree, tasks: tuple[Task, ...], posture: Any, distances: tuple[Distance, ...] = ()
) -> InverseKinematics:
    ik = InverseKinematics(tree)
    ik._tasks, ik._posture, ik._distances = list(tasks), posture, list(distances)
    return ik
