"""The result of inverse kinematics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mbt.math.arrays import FloatArray

__all__ = ["InverseKinematicsResult"]


@dataclass(frozen=True, eq=False, repr=False)
class InverseKinematicsResult:
    """Result of `InverseKinematics.solve`.

    Attributes
    ----------
    q : ndarray, shape (..., num_positions)
        Positions; without success, the best that were found.
    success : ndarray of bool, shape (...,)
        Whether all tasks of weight one or more are within tolerance, and limits, constraints and distances
        hold.
    error : ndarray, shape (..., rows)
        Errors of the tasks in their order, without weights [rad, m]; for a pose the rotation vector first.
    num_steps : ndarray of int, shape (...,)
        Steps of the attempt that found them.
    start_moved : ndarray of bool, shape (...,)
        Whether the start was outside position limits: the search then began at the limits.
    """

    q: FloatArray
    success: Any
    error: FloatArray
    num_steps: Any
    start_moved: Any

    def __repr__(self) -> str:
        """Describe which goals were reached, and the solution if there is one goal."""
        name = type(self).__name__
        if np.ndim(self.success):
            return f"<{name}: {np.count_nonzero(self.success)} of {np.size(self.success)} goals reached>"
        errors = np.abs(self.error)
        reached = "reached" if self.success else f"not reached, largest error {errors.max(initial=0.0):.2g}"
        q = np.array2string(self.q, precision=4, separator=", ", max_line_width=1000, threshold=50)
        return f"<{name}: {reached}, {self.num_steps} steps, q = {q}>"
