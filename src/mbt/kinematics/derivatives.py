"""Derivatives of solutions of inverse kinematics by goals and parameters: implicit functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.api.configuration import difference_positions, integrate_positions
from mbt.context.owned_parameters import get_parameter, parameter_shape, set_parameter
from mbt.kinematics.samples import split_samples
from mbt.kinematics.task_errors import calc_task_errors, goal_size, move_goal
from mbt.kinematics.tasks import CENTER, Task
from mbt.math import exp_so3
from mbt.math.arrays import FloatArray
from mbt.scalars.repeated_context import repeat_context

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.kinematics.distances import Distance
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["InverseKinematicsDerivatives", "differentiate_solutions"]

# Steps of finite differences, for curvatures and for parameters; singular values that count as zero, relative
# to the largest; distance below which a position is on its limit, or a pair at its least distance [m].
_STEP, _FINE_STEP, _RANK, _ON_LIMIT, _AT_LEAST = 1e-4, 1e-5, 1e-8, 1e-9, 1e-5


@dataclass(frozen=True)
class InverseKinematicsDerivatives:
    """Result of `InverseKinematics.solution_derivatives`.

    Attributes
    ----------
    goals : tuple of ndarray, shape (..., num_velocities, k)
        For each task, the derivatives of the positions by its goal, along velocities. k is 6 for poses, the
        rotation vector first, and 3 for rotations; both turn the goal from the left, about axes of World, or
        of the base of a relative pose. For other tasks k is the size of the goal.
    parameters : tuple of ndarray, shape (..., num_velocities, k)
        For each owner of parameters. k is 1 for masses, 6 for poses of frames, which change in their parents
        as goals do, 3 for gravity, and 10 (num_bodies - 1) for the tree.
    """

    goals: tuple[FloatArray, ...]
    parameters: tuple[FloatArray, ...]


@dataclass
class _Problem:
    """One solution, and the levels of its rows: equations that hold, and rows whose squares are minimal."""

    tree: MultibodyTree
    tasks: list[Task]
    posture: tuple[FloatArray, float] | None
    goals: list[FloatArray]
    is_met: bool
    touching: list[tuple[Distance, npt.NDArray[np.intp]]]

    def evaluate(self, context: Any, goals: Sequence[FloatArray]) -> tuple[FloatArray, ...]:
        """Return equations (n, m) and rows (n, r) for n states, each with its Jacobian."""
        tree = self.tree
        equations = [(tree.calc_constraint_errors(context), tree.calc_constraint_jacobian(context))]
        rows: list[tuple[FloatArray, FloatArray]] = []
        for task, goal in zip(self.tasks, goals, strict=True):
            error, J, _ = calc_task_errors(tree, task, context, goal)
            weights = row_weights(task)
            primary = weights >= 1.0
            own, J = weights * error, weights[:, None] * J
            (equations if self.is_met else rows).append((own[:, primary], J[:, primary]))
            if self.is_met:
                rows.append((own[:, ~primary], J[:, ~primary]))
        for one, pairs in self.touching:
            d, J = one.scene.distances(context.q, jacobian=True, context=context)
            equations.append((d[:, pairs] - one.at_least, J[:, pairs]))
        if self.posture is not None and self.is_met:
            rows.append(self._calc_posture(context.q))
        count = context.batch_shape[0]
        return (*_stack(equations, count, tree), *_stack(rows, count, tree))

    def _calc_posture(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        assert self.posture is not None
        tree, (q0, weight) = self.tree, self.posture
        nv = tree.num_velocities
        if tree.is_velocity_equal_to_qdot:
            J = np.broadcast_to(-np.eye(nv), (len(q), nv, nv))
        else:
            moves, at = np.eye(nv), q[:, None]
            J = _difference(
                lambda h: difference_positions(tree, integrate_positions(tree, at, moves, h), q0), _STEP
            ).swapaxes(1, 2)
        return weight * difference_positions(tree, q, q0), weight * J


def row_weights(task: Task) -> FloatArray:
    """Return the weight of each row of the error of a task."""
    return np.repeat([weight for weight in task.weights if weight > 0.0], len(task.axes))


def _stack(
    parts: list[tuple[FloatArray, FloatArray]], count: int, tree: MultibodyTree
) -> tuple[FloatArray, FloatArray]:
    if not parts:
        return np.zeros((count, 0)), np.zeros((count, 0, tree.num_velocities))
    return np.concatenate([e for e, _ in parts], 1), np.concatenate([J for _, J in parts], 1)


def _differentiate_solution(
    tree: MultibodyTree,
    tasks: list[Task],
    posture: tuple[FloatArray, float] | None,
    distances: Sequence[Distance],
    q: FloatArray,
    goals: list[FloatArray],
    owners: Sequence[Any],
    context: Context,
    tolerance: tuple[float, float],
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the derivatives of one solution q, (num_positions,), by goals and by parameters.

    dq of the dofs that are neither at a limit nor locked solves the linearized equations, including those
    of pairs at their least distance. What these leave
    open solves the derivative of the condition that the gradient of the squares vanishes there, with its
    curvature; of what is still open, the solution is the least.
    """
    nv = tree.num_velocities
    goals = [goal[None] for goal in goals]
    sizes = [goal_size(task) for task in tasks]
    counts = [parameter_size(tree, owner) for owner in owners]
    if not (np.isfinite(q).all() and all(np.isfinite(goal).all() for goal in goals)):
        return [np.full((nv, k), np.nan) for k in sizes], [np.full((nv, k), np.nan) for k in counts]
    is_met = _is_met(tree, tasks, _at(context, q[None]), goals, tolerance)
    problem = _Problem(tree, tasks, posture, goals, is_met, list(_find_touching(distances, q, context)))
    free = np.flatnonzero(~_find_held(tree, q, context))
    c, C, r, J = (part[0] for part in problem.evaluate(_at(context, q[None]), goals))
    C, J = C[:, free], J[:, free]
    inverse, null = _split(C)
    multipliers = -inverse.T @ (J.T @ r)

    def gradient(parts: tuple[FloatArray, ...]) -> FloatArray:
        slope: FloatArray = np.einsum("nrv,r->nv", parts[1], multipliers)
        slope += np.einsum("nrv,nr->nv", parts[3], parts[2])
        return slope[:, free]

    bends = r.size > 0 and null.shape[1] > 0
    if bends:
        moves = np.zeros((len(free), nv))
        moves[np.arange(len(free)), free] = 1.0
        H = _difference(
            lambda h: gradient(problem.evaluate(_at(context, integrate_positions(tree, q, moves, h)), goals)),
            _STEP,
        )
        H = 0.5 * (H + H.T)
        curvature = np.linalg.pinv(null.T @ H @ null, _RANK, hermitian=True)

    def respond(of_equations: FloatArray, of_gradient: FloatArray | None) -> FloatArray:
        motion = np.zeros((nv, of_equations.shape[1]))
        motion[free] = -inverse @ of_equations
        if bends and of_gradient is not None:
            motion[free] -= null @ (curvature @ (null.T @ (of_gradient + H @ motion[free])))
        return motion

    by_goals = []
    start = tree.num_constraint_equations
    for i, (task, size) in enumerate(zip(tasks, sizes, strict=True)):
        weights = row_weights(task)
        primary = weights >= 1.0
        change = np.zeros((c.size, size))
        if is_met:
            by_goal = calc_task_errors(tree, task, _at(context, q[None]), goals[i])[2][0]
            own = start + int(np.count_nonzero(primary))
            change[start:own] = (weights[:, None] * by_goal)[primary]
            start = own
        slope = None
        if bends:
            where = _at(context, np.tile(q, (size, 1)))

            def at_goals(h: float, i: int = i, task: Task = task, where: Any = where) -> FloatArray:
                moved = move_goal(task, goals[i], h * np.eye(goal_size(task)))
                return gradient(problem.evaluate(where, [*goals[:i], moved, *goals[i + 1 :]]))

            slope = _difference(at_goals, _STEP).T
        by_goals.append(respond(change, slope))
    by_parameters = []
    here = problem.evaluate(_at(context, q[None]), goals)
    for owner in owners:
        rates = np.zeros((nv, parameter_size(tree, owner)))
        for k, move in _moves_of(tree, tasks, context, owner):
            # One-sided differences: masses are not negative.
            near, far = (
                problem.evaluate(_at(move(h), q[None]), goals) for h in (_FINE_STEP, 2.0 * _FINE_STEP)
            )
            of_equations = (4.0 * near[0] - far[0] - 3.0 * here[0])[0] / (2.0 * _FINE_STEP)
            slopes = 4.0 * gradient(near) - gradient(far) - 3.0 * gradient(here)
            rates[:, [k]] = respond(of_equations[:, None], slopes[0][:, None] / (2.0 * _FINE_STEP))
        by_parameters.append(rates)
    return by_goals, by_parameters


def parameter_size(tree: MultibodyTree, owner: Any) -> int:
    """Return the size of a small change of a parameter."""
    shape = parameter_shape(tree, owner)
    return 6 if shape == (4, 4) else math.prod(shape)


def _at(context: Context, q: FloatArray) -> Any:
    """Return a Context with the states q, (n, num_positions)."""
    many = repeat_context(context, len(q))
    many.q = q
    return many


def _difference(at: Callable[[float], FloatArray], step: float) -> FloatArray:
    return (at(step) - at(-step)) / (2.0 * step)


def _split(C: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the pseudoinverse of a matrix, and its null space as orthonormal columns."""
    if not C.size:
        return np.zeros(C.shape[::-1]), np.eye(C.shape[1])
    left, sizes, right = np.linalg.svd(C)
    rank = int(np.count_nonzero(sizes > _RANK * max(sizes[0], 1e-300)))
    return right[:rank].T / sizes[:rank] @ left[:, :rank].T, right[rank:].T


def _find_held(tree: MultibodyTree, q: FloatArray, context: Context) -> Any:
    """Return which dofs are locked, or have their position at a limit."""
    held = np.array(context._locked_dofs(), np.bool_)
    lower, upper = tree.position_lower_limits, tree.position_upper_limits
    on_limit = (q <= lower + _ON_LIMIT) | (q >= upper - _ON_LIMIT)
    for mobilizer in tree.mobilizers:
        if mobilizer.is_velocity_equal_to_qdot:
            first, at, n = mobilizer.velocity_start, mobilizer.position_start, mobilizer.num_velocities
            held[first : first + n] |= on_limit[at : at + n]
    return held


def _find_touching(
    distances: Sequence[Distance], q: FloatArray, context: Context
) -> Iterator[tuple[Distance, npt.NDArray[np.intp]]]:
    """Return the pairs of each scene that are at their least distance."""
    for one in distances:
        pairs = np.flatnonzero(one.scene.distances(q, context=context) <= one.at_least + _AT_LEAST)
        if pairs.size:
            yield one, pairs


def _is_met(
    tree: MultibodyTree, tasks: list[Task], context: Any, goals: list[FloatArray], tolerance: Any
) -> bool:
    """Return whether the rows of weight one or more are within tolerance."""
    for task, goal in zip(tasks, goals, strict=True):
        error = calc_task_errors(tree, task, context, goal)[0][0]
        n, at = len(task.axes), 0
        for k in range(2):
            if task.weights[k] > 0.0:
                if task.weights[k] >= 1.0 and not np.linalg.norm(error[at : at + n]) <= tolerance[k]:
                    return False
                at += n
    return True


def _moves_of(
    tree: MultibodyTree, tasks: list[Task], context: Context, owner: Any
) -> Iterator[tuple[int, Callable[[float], Context]]]:
    """Yield the index of each parameter that matters, and a function for a Context where it is h larger."""
    value = np.array(get_parameter(tree, context, owner))
    is_pose = value.shape == (4, 4)
    if not is_pose and all(task.kind != CENTER for task in tasks):
        return  # masses move nothing else
    for k in range(parameter_size(tree, owner)):
        if owner is tree and k % 10 > 3:
            continue  # moments of inertia

        def move(h: float, k: int = k) -> Context:
            if is_pose:
                change = h * np.eye(6)[k]
                changed = value.copy()
                changed[:3, :3] = exp_so3(change[:3]) @ value[:3, :3]
                changed[:3, 3] += change[3:]
            else:
                changed = value + h * np.eye(value.size)[k].reshape(value.shape)
            other = context.clone()
            if owner is tree:
                # Without mass a first moment makes no sense.
                changed[k - k % 10] = max(changed[k - k % 10], 1e-12)
                tree.set_inertial_parameters(other, changed, skip_validity_check=True)
            else:
                set_parameter(tree, other, owner, changed)
            return other

        yield k, move


def differentiate_solutions(
    tree: MultibodyTree,
    tasks: list[Task],
    posture: tuple[FloatArray, float] | None,
    distances: Sequence[Distance],
    q: Any,
    goals: Any,
    owners: Sequence[Any],
    context: Context | None,
    tolerance: tuple[float, float],
) -> InverseKinematicsDerivatives:
    """Return the derivatives of solutions: see `InverseKinematics.solution_derivatives`."""
    samples, batch = split_samples(tree, tasks, goals, q, "q", context, each=True)
    sizes = [goal_size(task) for task in tasks], [parameter_size(tree, owner) for owner in owners]
    nv = tree.num_velocities
    results = [[np.empty((len(samples), nv, k)) for k in each] for each in sizes]
    default = tree.create_default_context() if context is None else None
    for i, (own, state_q, state) in enumerate(samples):
        where = default if state is None else state
        assert where is not None
        parts = _differentiate_solution(
            tree, tasks, posture, distances, state_q, own, owners, where, tolerance
        )
        for arrays, part in zip(results, parts, strict=True):
            for array, one in zip(arrays, part, strict=True):
                array[i] = one
    shaped = [tuple(x.reshape(*batch, *x.shape[1:]) for x in arrays) for arrays in results]
    return InverseKinematicsDerivatives(*shaped)
