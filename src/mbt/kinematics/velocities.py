"""One step of differential kinematics: `InverseKinematics.velocities`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.engines.lane_engine import get_num_threads
from mbt._core.solvers.differential_kinematics import VelocityCore
from mbt.context.checks import compile_copy
from mbt.errors import ArgumentTypeError, ArgumentValueError, ShapeError, quote
from mbt.kinematics.distances import prepare
from mbt.kinematics.samples import check_context, find_common_axes, split_samples
from mbt.kinematics.task_list import TaskList
from mbt.kinematics.tasks import DIRECTION, POSE, Task
from mbt.math.arrays import (
    FloatArray,
    as_bool,
    as_float_array,
    as_nonnegative,
    as_own_array,
    as_positive,
    check_out,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from mbt.context.context import Context

__all__ = ["DifferentialKinematics"]


class DifferentialKinematics(TaskList):
    """Tasks with velocities: the part of `InverseKinematics` that does not solve for positions."""

    # The solver for the default parameters, and the numbers of tasks, postures and distances it was made for.
    _velocities: tuple[tuple[int, bool, int], VelocityCore] | None = None
    # The same for the last context: numbers, locks, disabled constraints, parameters.
    _last_velocities: tuple[Any, Any, Any, FloatArray, VelocityCore] | None = None

    def velocities(
        self,
        q: npt.ArrayLike,
        goals: Sequence[npt.ArrayLike],
        dt: float,
        *,
        gain: float = 1.0,
        velocity_limits: bool = True,
        last: npt.ArrayLike | None = None,
        damping: float = 1.0,
        context: Context | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return velocities that bring tasks nearer to their goals: one step of differential kinematics.

        They minimize ``|W (J d - gain e)|² + damping w (|gain W e| + 1e-6 w) |d|²`` with ``d = v dt``: e are
        the errors of tasks, which a small motion d reduces by ``J d``, W their weights and w the largest of
        them. The velocities obey position, velocity and, with `last`, acceleration limits; constraints
        of the tree come first, then distances, ``J_d d >= gain (at_least - distance)``, then tasks.
        Rows of weight below one, and the posture, use only what others
        leave open.

        Parameters
        ----------
        q : array_like, shape (..., num_positions)
            Current positions. A joint beyond a limit moves back as quickly as its other limits allow.
        goals : sequence of array_like
            One for each task, in their order; leading axes broadcast with those of `q`. If a number is NaN
            or squares of errors are infinite, the velocities of that sample are NaN.
        dt : float
            Time until the next step [s].
        gain : float, optional
            Fraction of an error that one step shall remove, from 0 to 1.
        velocity_limits : bool, optional
            Whether to obey the velocity limits of the tree.
        last : array_like, shape (..., num_velocities), optional
            Velocities of the last step: with them, the step obeys acceleration limits of the tree.
        damping : float, optional
            Keeps velocities small near singular positions, calm if a goal is out of reach [m]: about the
            reach of the arm. 0 gives plain least squares, which only limits restrain.
        context : Context, optional
            Its parameters, locked joints and disabled constraints apply. Axes of a batch broadcast with those
            of `q` and goals.
        out : ndarray, shape (..., num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (..., num_velocities)
            Velocities [rad/s, m/s].

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError
            When an argument is invalid.

        Examples
        --------
        >>> import numpy as np
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
        >>> link = tree.add_body(mbt.RigidBody("link", ball))
        >>> slider = tree.add_joint(
        ...     mbt.PrismaticJoint, "slider", tree.world_body, None, link, None, axis=[1, 0, 0])
        >>> _ = slider.set_velocity_limits([-0.5], [0.5])
        >>> tree.finalize()
        >>> ik = mbt.InverseKinematics(tree)
        >>> ik.add_position("link")
        >>> ik.velocities([0.0], [[0.001, 0, 0]], 0.01).round(3)
        array([0.1])
        >>> ik.velocities([0.0], [[1.0, 0, 0]], 0.01)
        array([0.5])
        """
        if context is not None and check_context(self._tree, context).batch_shape:
            options = {"gain": gain, "velocity_limits": velocity_limits, "damping": damping}
            return self._find_velocities_of_states(q, goals, dt, last, context, out, options)
        core = self._find_velocity_core(context)
        if type(dt) is not float or not 0.0 < dt < math.inf:
            dt = as_positive(dt, "dt")
        if type(gain) is not float or not 0.0 < gain <= 1.0:
            gain = as_positive(gain, "gain")
            if gain > 1.0:
                raise ArgumentValueError(f"gain: expected a number from 0 to 1, got {quote(gain)}")
        if type(damping) is not float or not 0.0 <= damping < math.inf:
            damping = as_nonnegative(damping, "damping")
        limits = as_bool(velocity_limits, "velocity_limits")
        if type(goals) is list:
            v = core.step(q, goals, dt, gain, damping, limits, last, out)
            if v is not None:
                return v
        rows, states, before, batch = _take(self._tasks, core, self._tree, q, goals, last)
        shape = (*batch, self._tree.num_velocities)
        result = np.empty(shape) if out is None else check_out(out, "out", shape)
        if math.prod(batch):
            v = self._run(core, rows, states, before, math.prod(batch), dt, gain, damping, limits, 0.0)
            result[...] = v.reshape(shape)
        return result

    def _find_velocities_of_states(
        self,
        q: Any,
        goals: Any,
        dt: float,
        last: Any,
        context: Context,
        out: FloatArray | None,
        options: dict[str, Any],
    ) -> FloatArray:
        """Return velocities with the parameters of each state."""
        nv = self._tree.num_velocities
        lead = context.batch_shape
        if last is not None:
            last = as_float_array(last, "last", (..., nv))
            lead = find_common_axes({"context": lead, "last": last.shape[:-1]})
        samples, batch = split_samples(self._tree, self._tasks, goals, q, "q", context, lead=lead)
        result = np.empty((*batch, nv)) if out is None else check_out(out, "out", (*batch, nv))
        if last is not None:
            last = np.broadcast_to(last, (*batch, nv))
        if len(samples) == 1:
            own, states, state = samples[0]
            result[...] = self.velocities(states, own, dt, last=last, context=state, **options)
            return result
        # Into a new array: an error may occur in one of them.
        rows = np.empty((len(samples), nv))
        befores = [None] * len(rows) if last is None else last.reshape(-1, nv)
        for row, (own, state_q, state), before in zip(rows, samples, befores, strict=True):
            row[:] = self.velocities(state_q, own, dt, last=before, context=state, **options)
        result[...] = rows.reshape(result.shape)
        return result

    def _run(
        self,
        core: VelocityCore,
        goals: FloatArray,
        q: FloatArray,
        last: FloatArray | None,
        count: int,
        dt: float,
        gain: float,
        damping: float,
        limits: bool,
        spare: float,
    ) -> FloatArray:
        """Return velocities (count, nv) for rows of goals, positions and last velocities."""
        v = np.empty((count, self._tree.num_velocities))
        core.run(goals, q, last, dt, gain, damping, limits, spare, get_num_threads(), v)
        return v

    def _find_velocity_goals(self, goals: Any, q: FloatArray, context: Context | None) -> FloatArray:
        """Return goals in the solver's form, a row for each sample of q, or one."""
        return _take(self._tasks, self._find_velocity_core(context), self._tree, q, goals, None)[0]

    def _find_velocity_core(self, context: Context | None) -> VelocityCore:
        """Return the solver for the current tasks, and the parameters of a context of one state."""
        number = len(self._tasks), self._posture is not None, len(self._distances)
        known = self._velocities
        if context is None and known is not None and known[0] == number:
            return known[1]
        return self._make_velocity_core(number, context)

    def _make_velocity_core(self, number: tuple[int, bool, int], context: Context | None) -> VelocityCore:
        """Return a new solver, or that of the last context. Separate, as its comprehensions create cells."""
        tree = self._tree
        compile_copy(tree)
        if not self._tasks and self._posture is None:
            raise ArgumentValueError("goals: this problem has no task; add_pose, for example, adds one")
        assert tree._compiled is not None
        vector: FloatArray = tree._compiled.default_parameters
        locked: Sequence[Any] = [False] * tree.num_velocities
        disabled = [False] * tree.num_constraints
        if context is not None:
            vector, locked = context._parameter_vector, context._locked_dofs().tolist()
            disabled = [context._is_disabled(i) for i in range(tree.num_constraints)]
            last = self._last_velocities
            if (
                last is not None
                and last[:3] == (number, locked, disabled)
                and (last[3] is vector or np.array_equal(last[3], vector))
            ):
                return last[4]
        limits = (
            tree.position_lower_limits,
            tree.position_upper_limits,
            tree.velocity_lower_limits,
            tree.velocity_upper_limits,
            tree.acceleration_lower_limits,
            tree.acceleration_upper_limits,
        )
        tasks = [task.as_tuple() for task in self._tasks]
        core = VelocityCore(
            tree._compiled,
            np.array(vector) if context is not None else vector,
            tasks,
            limits,
            locked,
            disabled,
            self._posture,
            prepare(self._distances, context),
        )
        # Threads may share a problem: they see either all of these or none.
        if context is None:
            self._velocities = number, core
        else:
            self._last_velocities = number, locked, disabled, vector, core
        return core


def _take(
    tasks: list[Task], core: VelocityCore, tree: Any, q: Any, goals: Any, last: Any
) -> tuple[FloatArray, FloatArray, FloatArray | None, tuple[int, ...]]:
    """Return goals, positions and last velocities as rows, one or one per sample, and the batch shape."""
    wanted = ", ".join(f"{task.what} {task.shape}" for task in tasks)
    if not isinstance(goals, (list, tuple)):
        raise ArgumentTypeError(f"goals: expected a list, one goal per task ({wanted}), got {quote(goals)}")
    if len(goals) != len(tasks):
        raise ShapeError(f"goals: expected {len(tasks)}, one per task ({wanted}), got {len(goals)}")
    # Copies: converting a goal may run code of its class, which may change the others.
    states = as_own_array(q, "q", (..., tree.num_positions))
    before = None if last is None else as_own_array(last, "last", (..., tree.num_velocities))
    parts = [
        _as_numbers(task, as_own_array(goal, f"goals[{i}]", (..., *task.shape)))
        for i, (task, goal) in enumerate(zip(tasks, tuple(goals), strict=True))
    ]
    leads = [part.shape[:-1] for part in (*parts, states, *([] if before is None else [before]))]
    try:
        batch = np.broadcast_shapes(*leads)
    except ValueError:
        raise ShapeError(
            f"q, goals, last: leading axes do not broadcast: {', '.join(map(str, leads))}"
        ) from None
    lead = np.broadcast_shapes(*(part.shape[:-1] for part in parts)) if parts else ()
    numbers = np.concatenate(
        [np.zeros((*lead, 0)), *(np.broadcast_to(p, (*lead, p.shape[-1])) for p in parts)], -1
    )
    rows = _as_rows(numbers, batch)
    bad = core.find_bad_goal(rows)
    if bad >= 0:
        problem = (
            "a direction, got a vector of length zero"
            if tasks[bad].kind == DIRECTION
            else "poses with [0, 0, 0, 1] as their last row and a rotation matrix"
            if len(tasks[bad].shape) == 2 and tasks[bad].shape[0] == 4
            else "rotation matrices; R R' differs from 1, or det R is -1"
        )
        raise ArgumentValueError(f"goals[{bad}]: expected {problem}")
    return rows, _as_rows(states, batch), None if before is None else _as_rows(before, batch), batch


def _as_numbers(task: Task, goal: FloatArray) -> FloatArray:
    """Return goals in the solver's form, rotations as poses, with one axis of samples."""
    if task.kind != POSE:
        return goal
    lead = goal.shape[:-2]
    if task.shape == (3, 3):
        pose = np.zeros((*lead, 4, 4))
        pose[..., :3, :3] = goal
        pose[..., 3, 3] = 1.0
        goal = pose
    return goal.reshape(*lead, 16)


def _as_rows(values: FloatArray, batch: tuple[int, ...]) -> FloatArray:
    """Return a row for each sample of the batch, or one that all share."""
    size = values.shape[-1]
    if math.prod(values.shape[:-1]) == 1:
        return values.reshape(1, size)
    return np.ascontiguousarray(np.broadcast_to(values, (*batch, size))).reshape(math.prod(batch), size)
