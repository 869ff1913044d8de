"""Tasks: the acceleration that each asks for, as rows ``J vdot = r``.

Every function here runs on arrays of doubles and on tracing numbers alike, so it must not branch on values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt import functional
from mbt.math import as_pose, as_rotation, log_so3, skew
from mbt.math.arrays import FloatArray, as_finite_array

if TYPE_CHECKING:
    from mbt.tree.frame import Frame
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["CenterOfMassTask", "FrameTask", "MomentumTask", "PostureTask", "Task"]


@dataclass(frozen=True, eq=False)
class Task:
    """What all tasks have: a spring and a damper between what is and what is wanted.

    The wanted acceleration is ``acceleration + damping (velocity - now) + stiffness * error``.
    """

    what: str
    shape: tuple[int, ...]  # of a goal
    num_rows: int
    weight: FloatArray  # (num_rows,)
    stiffness: float
    damping: float
    priority: int

    def as_goal(self, value: object, name: str) -> FloatArray:
        """Return a goal as an array, once it is seen to be one."""
        if type(value) is np.ndarray and value.dtype == np.float64 and value.shape == self.shape:
            return np.ascontiguousarray(value)  # that its numbers are finite is seen in the result
        return as_finite_array(value, name, self.shape)

    def calc_rows(
        self, tree: MultibodyTree, q: Any, v: Any, goal: Any, velocity: Any, acceleration: Any
    ) -> tuple[Any, Any]:
        """Return J, shape (num_rows, num_velocities), and r, shape (num_rows,)."""
        J, bias, error = self._calc_motion(tree, q, v, goal)
        r = acceleration + self.damping * (velocity - J @ v) + self.stiffness * error - bias
        return J, r

    def _calc_motion(self, tree: MultibodyTree, q: Any, v: Any, goal: Any) -> tuple[Any, Any, Any]:
        """Return the Jacobian, the acceleration at vdot = 0, and the error."""
        raise AssertionError(f"{type(self).__name__} does not say how it moves")


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

    def _calc_motion(self, tree: MultibodyTree, q: Any, v: Any, goal: Any) -> tuple[Any, Any, Any]:
        X_WF = functional.frame_pose(tree, q, self.frame)
        J, bias = motion_of_point(tree, q, v, self.frame, X_WF[:3, :3] @ self.p_FP)
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
    mass: float

    def _calc_motion(self, tree: MultibodyTree, q: Any, v: Any, goal: Any) -> tuple[Any, Any, Any]:
        axes = list(self.axes)
        J = functional.center_of_mass_jacobian(tree, q)
        bias = functional.centroidal_momentum_bias(tree, q, v)[3:] / self.mass
        return J[axes], bias[axes], goal - functional.center_of_mass(tree, q)[axes]


@dataclass(frozen=True, eq=False)
class MomentumTask(Task):
    """The momentum about the centre of mass, in World axes; the error is that of the momentum itself."""

    rows: tuple[int, ...]

    def _calc_motion(self, tree: MultibodyTree, q: Any, v: Any, goal: Any) -> tuple[Any, Any, Any]:
        rows = list(self.rows)
        A = functional.centroidal_momentum_matrix(tree, q)[rows]
        return A, functional.centroidal_momentum_bias(tree, q, v)[rows], goal - A @ v


@dataclass(frozen=True, eq=False)
class PostureTask(Task):
    """Velocities of joints towards those that lead to a configuration."""

    velocities: tuple[int, ...]
    default: FloatArray

    def as_goal(self, value: object, name: str) -> FloatArray:
        """Return a configuration; that of the task for None."""
        return self.default if value is None else super().as_goal(value, name)

    def _calc_motion(self, tree: MultibodyTree, q: Any, v: Any, goal: Any) -> tuple[Any, Any, Any]:
        rows = list(self.velocities)
        return np.eye(len(v))[rows], np.zeros(len(rows)), functional.difference_positions(tree, q, goal)[rows]


def motion_of_point(tree: MultibodyTree, q: Any, v: Any, frame: Frame, p_FP_W: Any) -> tuple[Any, Any]:
    """Return the Jacobian of a frame moved to a point, (6, nv), and its acceleration at vdot = 0."""
    J = functional.frame_jacobian(tree, q, frame)
    bias = functional.frame_bias_acceleration(tree, q, v, frame)
    shift = skew(p_FP_W)
    w = J[:3] @ v
    at_point = np.concatenate([J[:3], J[3:] - shift @ J[:3]])
    centripetal = np.cross(w, np.cross(w, p_FP_W))
    return at_point, np.concatenate([bias[:3], bias[3:] - shift @ bias[:3] + centripetal])
