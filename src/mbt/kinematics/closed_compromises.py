"""Positions that miss their goals but satisfy the constraints of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.api.configuration import integrate_positions

if TYPE_CHECKING:
    from mbt._core.solvers.inverse_kinematics import InverseCore
    from mbt.context.context import Context
    from mbt.kinematics.inverse_kinematics import InverseKinematics
    from mbt.math.arrays import FloatArray

__all__ = ["close_compromises"]

# Most steps, and the motion in a step below which iteration stops [rad, m].
_STEPS, _LEAST_MOTION = 100, 1e-10


def close_compromises(
    problem: InverseKinematics,
    core: InverseCore,
    goals: tuple[FloatArray, FloatArray],
    tolerance: tuple[float, float],
    context: Context | None,
    results: tuple[FloatArray, Any, FloatArray],
) -> None:
    """Make solutions that miss their goals satisfy the constraints, which the search only weighs.

    Steps of differential kinematics close the constraints, then get as near to the goals as they can. `goals`
    are rows for the solver, and rows for velocities; `results` are q, success and error, a row for each goal.
    """
    rows, velocity_rows = goals
    q, success, error = results
    missed = np.flatnonzero(~success & np.isfinite(q).all(axis=1) & np.isfinite(rows).all(axis=1))
    if not len(missed):
        return
    steps = problem._find_velocity_core(context)
    along = velocity_rows if len(velocity_rows) == 1 else velocity_rows[missed]
    closed = q[missed]
    for _ in range(_STEPS):
        motion = problem._run(steps, along, closed, None, len(missed), 1.0, 1.0, 1.0, False, 0.0)
        closed = integrate_positions(problem.tree, closed, motion, 1.0)
        if not np.abs(motion).max() > _LEAST_MOTION:
            break
    for i, found in zip(missed.tolist(), closed, strict=True):
        q[i] = found
        goal = rows[min(i, len(rows) - 1)][np.newaxis]
        core.verify(goal, *tolerance, q[i : i + 1], success[i : i + 1], error[i : i + 1])
