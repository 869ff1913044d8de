"""Tasks: the acceleration that each requests, as rows ``J vdot = r``.

Every function here runs on arrays of doubles and of traced numbers alike, so it must not branch on values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt import functional
from mbt.math import as_pose, as_rotation, log_so3
from mbt.math.arrays import FloatArray, as_finite_array

if TYPE_CHECKING:
    from mbt.control.motions import Motion
    from mbt.tree.frame import Frame

__all__ = ["CenterOfMassTask", "FrameTask", "MomentumTask", "PostureTask", "Task"]

_DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class Task:
    """Base class of tasks: a spring and a damper between the actual and the desired motion.

    The requested acceleration is ``acceleration + damping (velocity - now) + stiffness * error``.
    """

    what: str
    shape: tuple[int, ...]  # of a goal
    num_rows: int
    weight: FloatArray  # (num_rows,)
    stiffness: float
    damping: float
    priority: int

    def as_goal(self, value: object, name: str) -> FloatArray:
        """Return a goal as an array, after checking it."""
        if type(value) is np.ndarray and value.dtype is _DOUBLE and value.shape == self.shape:
            return value  # values that are not finite are detected later, in the result
        return as_finite_array(value, name, self.shape)

    def any_goal(self) -> FloatArray:
        """Return an arbitrary valid goal."""
        return np.eye(*self.shape) if len(self.shape) == 2 else np.zeros(self.shape)

    def calc_rows(self, motion: Motion, goal: Any, velocity: Any, acceleration: Any) -> tuple[Any, Any]:
        """Return J, shape (num_rows, num_velocities), and r, shape (num_rows,)."""
        J, bias, error = self._calc_motion(motion, goal)
        r = acceleration + self.damping * (velocity - J @ motion.v) + self.stiffness * error - bias
        return J, r

    def _calc_motion(self, motion: Motion, goal: Any) -> tuple[Any, Any, Any]:
        """Return the Jacobian, the acceleration at vdot = 0, and the error."""
        raise AssertionError(f"{type(self).__name__} must override _calc_motion")


@dataclass(frozen=True, eq=False)
class FrameTask(Task):
    """The pose of a frame, its orientation, or the position of a point of it, in World axes."""

    frame: Frame
    p_FP: FloatArray
    rows: tuple[int, ...]  # of a spatial vector, rotation first

    def as_goal(self, value: object, name: str) -> FloatArray:
        """Return a pose, a rotation or a position."""
        if self.shape == (4, 4):
            return as_pose(value, name)
        if self.shape == (3, 3):
            return as_rotation(value, name)
        return super().as_goal(value, name)

    def _calc_motion(self, motion: Motion, goal: Any) -> tuple[Any, Any, Any]:
        X_WF = motion.frame_pose(self.frame)
        J, bias = motion.point(self.frame, X_WF[:3, :3] @ self.p_FP)
        errors = []
        if self.rows[0] < 3:
            R_WF = X_WF[:3, :3]
            errors.append(R_WF @ log_so3(R_WF.T @ goal[:3, :3]))
        if self.rows[-1] >= 3:
            p_WG = goal[:3, 3] if self.shape == (4, 4) else goal
            p_WP = X_WF[:3, 3] + X_WF[:3, :3] @ self.p_FP
            if self.shape != (4, 4):
                p_WP = p_WP[[row - 3 for row in self.rows]]
            errors.append(p_WG - p_WP)
        rows = list(self.rows)
        return J[rows], bias[rows], np.concatenate(errors)


@dataclass(frozen=True, eq=False)
class CenterOfMassTask(Task):
    """Coordinates of the centre of mass, in World axes."""

    axes: tuple[int, ...]

    def _calc_motion(self, motion: Motion, goal: Any) -> tuple[Any, Any, Any]:
        axes = list(self.axes)
        error = goal - motion.center_of_mass()[axes]
        return motion.center_jacobian()[axes], motion.center_bias()[axes], error


@dataclass(frozen=True, eq=False)
class MomentumTask(Task):
    """The momentum about the centre of mass, in World axes; the error is the difference of momenta."""

    rows: tuple[int, ...]

    def _calc_motion(self, motion: Motion, goal: Any) -> tuple[Any, Any, Any]:
        rows = list(self.rows)
        A = motion.momentum_matrix()[rows]
        return A, motion.momentum_bias()[rows], goal - A @ motion.v


@dataclass(frozen=True, eq=False)
class PostureTask(Task):
    """Positions of joints, driven towards a configuration."""

    velocities: tuple[int, ...]
    default: FloatArray

    def as_goal(self, value: object, name: str) -> FloatArray:
        """Return a configuration; for None, that of the task."""
        return self.default if value is None else super().as_goal(value, name)

    def any_goal(self) -> FloatArray:
        """Return the configuration of the task."""
        return self.default

    def _calc_motion(self, motion: Motion, goal: Any) -> tuple[Any, Any, Any]:
        rows = list(self.velocities)
        error = functional.difference_positions(motion.tree, motion.q, goal)
        return np.eye(len(motion.v))[rows], np.zeros(len(rows)), error[rows]
