"""Other solutions of inverse kinematics, when the first one is too near to something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.kinematics.distances import SPARE, find_free, find_room, push_apart, sort_by_distance

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbt._core.solvers.inverse_kinematics import InverseCore
    from mbt.context.context import Context
    from mbt.kinematics.inverse_kinematics import InverseKinematics
    from mbt.math.arrays import FloatArray

__all__ = ["find_other_solutions"]

# If no solution keeps all distances, this many are pushed apart: the nearest to the start.
_PUSHED = 16


def find_other_solutions(
    problem: InverseKinematics,
    core: InverseCore,
    goals: tuple[FloatArray, FloatArray, Callable[[], FloatArray]],
    options: tuple[int, int, float, float, int],
    context: Context | None,
    results: tuple[FloatArray, Any, FloatArray],
) -> None:
    """Replace solutions that violate distances; where none keeps them, success becomes False.

    Attempts from all seeds are made, and the nearest solution that keeps the distances is taken. If none
    does, some are pushed apart by steps of differential kinematics. Solutions taken are verified.

    `goals` are rows for the solver, the starts, and a function for rows for velocities; `results` are q,
    success and error, a row for each goal.
    """
    rows, starts, find_velocity_rows = goals
    q, success, error = results
    met = np.flatnonzero(success)
    bad = met[~find_free(problem._distances, q[met], context)]
    if not len(bad):
        return
    velocity_rows = find_velocity_rows()
    for i in bad.tolist():
        goal, start, velocity_goal = (
            x[min(i, len(x) - 1)][np.newaxis] for x in (rows, starts, velocity_rows)
        )
        found, is_met = np.empty((options[0], q.shape[1])), np.zeros(options[0], np.bool_)
        core.try_all(goal, start, *options, found, is_met)
        # The known solution may be the only one.
        found = sort_by_distance(problem.tree, start, np.concatenate([found[is_met], q[i : i + 1]]))
        free = find_free(problem._distances, found, context)
        if not free.any():
            pushed = _push(problem, velocity_goal, found[:_PUSHED], context)
            is_met, _ = _verify(core, goal, options, pushed)
            others = sort_by_distance(problem.tree, start, pushed[is_met])
            found = np.concatenate([others, found])
            free = find_free(problem._distances, found, context)
        success[i] = free.any()
        best = free.argmax() if success[i] else find_room(problem._distances, found, context).argmax()
        q[i] = found[best]
        error[i] = _verify(core, goal, options, q[i : i + 1])[1]


def _verify(
    core: InverseCore, goal: FloatArray, options: tuple[int, int, float, float, int], q: FloatArray
) -> tuple[Any, FloatArray]:
    """Return which positions meet a goal, and their errors."""
    q = np.ascontiguousarray(q)
    met, errors = np.zeros(len(q), np.bool_), np.empty((len(q), core.layout.num_errors))
    core.verify(goal, options[2], options[3], q, met, errors)
    return met, errors


def _push(problem: InverseKinematics, goal: FloatArray, q: FloatArray, context: Context | None) -> FloatArray:
    """Return positions after steps that keep distances and bring tasks as near to their goals as possible."""
    core = problem._find_velocity_core(context)

    def step(q: FloatArray) -> FloatArray:
        return problem._run(core, goal, q, None, len(q), 1.0, 1.0, 1.0, False, SPARE)

    return push_apart(problem.tree, step, q)
