"""States between the samples of a trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt._core.api.configuration import difference_positions, integrate_positions
from mbt.errors import ArgumentValueError
from mbt.math.arrays import as_finite_array
from mbt.motion.charts import rate_of_tangent

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.math.arrays import FloatArray
    from mbt.motion.trajectory import Trajectory
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["interpolate"]


def interpolate(
    trajectory: Trajectory, tree: MultibodyTree, time: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return positions and velocities at some times; see ``Trajectory.interpolate``."""
    times = as_finite_array(time, "time")
    first, last = trajectory.time[0], trajectory.time[-1]
    if times.ndim > 1 or (times.size and not (first <= times.min() and times.max() <= last)):
        raise ArgumentValueError(f"time: expected times from {first:g} to {last:g} s, got {time!r}")
    if len(trajectory) == 1:
        index = np.zeros(times.shape, dtype=np.intp)
        return trajectory.q[..., index, :], trajectory.v[..., index, :]
    k = np.clip(np.searchsorted(trajectory.time, times, side="right") - 1, 0, len(trajectory) - 2)
    h = np.diff(trajectory.time)[k][..., np.newaxis]
    s = (times[..., np.newaxis] - trajectory.time[k][..., np.newaxis]) / h
    q0, q1, v0, v1, a0, a1 = (
        np.ascontiguousarray(array[..., i, :])
        for array in (trajectory.q, trajectory.v, trajectory.vdot)
        for i in (k, k + 1)
    )
    u = difference_positions(tree, q0, q1)
    step = _hermite(s, np.zeros_like(u), v0 * h, u, rate_of_tangent(tree, u, v1) * h)
    q: FloatArray = integrate_positions(tree, q0, step, 1.0)
    return q, _hermite(s, v0, a0 * h, v1, a1 * h)


def _hermite(s: FloatArray, y0: FloatArray, m0: FloatArray, y1: FloatArray, m1: FloatArray) -> FloatArray:
    """Cubic with these values and slopes at s = 0 and s = 1."""
    r = 1.0 - s
    value: FloatArray = (1 + 2 * s) * r * r * y0 + s * r * r * m0 + s * s * (3 - 2 * s) * y1 - s * s * r * m1
    return value
