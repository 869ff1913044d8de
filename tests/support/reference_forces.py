"""Independent NumPy formulas of the force elements, derived from mechanics, not from the kernels.

A force between two bodies is given as functions of poses and velocities in World; it returns the forces on
both bodies at their origins. Rotations go through the matrix exponential and the matrix logarithm here, where
the kernels use quaternions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from support.description import Array
from support.reference_kinematics import cross_matrix

__all__ = ["Motion", "bushing_displacements", "bushing_forces", "central_difference", "spring_forces"]


class Motion(NamedTuple):
    """Pose and spatial velocity of a frame in World."""

    X: Array
    V: Array

    def point(self, p: Array) -> tuple[Array, Array]:
        """Position and velocity in World of a point of the frame."""
        arm = self.X[:3, :3] @ p
        return self.X[:3, 3] + arm, self.V[3:] + np.cross(self.V[:3], arm)

    def of_frame(self, X_BF: Array) -> Motion:
        """Motion of a frame F fixed to this one at X_BF."""
        _, v = self.point(X_BF[:3, 3])
        return Motion(self.X @ X_BF, np.concatenate([self.V[:3], v]))

    def after(self, dt: float) -> Motion:
        """The motion after a short time at this velocity."""
        X = self.X.copy()
        X[:3, :3] = rotation_of_vector(self.V[:3] * dt) @ self.X[:3, :3]
        X[:3, 3] += self.V[3:] * dt
        return Motion(X, self.V)


def spring_forces(
    A: Motion, p_AP: Array, B: Motion, p_BQ: Array, free_length: float, stiffness: float, damping: float
) -> tuple[Array, Array]:
    """Forces of a LinearSpringDamper on A at Ao and on B at Bo."""
    p_P, v_P = A.point(p_AP)
    p_Q, v_Q = B.point(p_BQ)
    length = np.linalg.norm(p_Q - p_P)
    direction = (p_Q - p_P) / length
    tension = stiffness * (length - free_length) + damping * direction @ (v_Q - v_P)
    return _at_origin(A, p_P, tension * direction), _at_origin(B, p_Q, -tension * direction)


def bushing_forces(A: Motion, C: Motion, constants: Array) -> tuple[Array, Array]:
    """Forces of a LinearBushingRollPitchYaw on frame A at Ao and on frame C at Co."""
    k, d, k_xyz, d_xyz = constants.reshape(4, 3)
    R_WA = A.X[:3, :3]
    R_AC = R_WA.T @ C.X[:3, :3]
    roll, pitch, yaw = rpy_of(R_AC)
    # w_AC = roll rate about the x axis turned by pitch and yaw, pitch rate about y turned by yaw, yaw rate.
    z, y = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
    R_yaw = rotation_of_vector(yaw * z)
    axes = np.column_stack([R_yaw @ rotation_of_vector(pitch * y) @ [1.0, 0.0, 0.0], R_yaw @ y, z])
    w_AC = R_WA.T @ (C.V[:3] - A.V[:3])
    rates = np.linalg.solve(axes, w_AC)
    tau = -(k * np.array([roll, pitch, yaw]) + d * rates)
    # Power of the torque: tau·rates = t·w for every w.
    torque_A = np.linalg.solve(axes.T, tau)

    p_W = C.X[:3, 3] - A.X[:3, 3]
    R_AB = rotation_of_vector(vector_of_rotation(R_AC) / 2)
    v_AC = R_WA.T @ (C.V[3:] - A.V[3:] - np.cross(A.V[:3], p_W))
    p_A = R_WA.T @ p_W
    rate = R_AB.T @ (v_AC - np.cross(w_AC / 2, p_A))
    force_W = R_WA @ R_AB @ -(k_xyz * (R_AB.T @ p_A) + d_xyz * rate)
    torque_W = R_WA @ torque_A
    middle = (A.X[:3, 3] + C.X[:3, 3]) / 2
    couple = np.concatenate([torque_W, np.zeros(3)])
    return _at_origin(A, middle, -force_W) - couple, _at_origin(C, middle, force_W) + couple


def bushing_displacements(A: Motion, C: Motion) -> tuple[Array, Array]:
    """Roll, pitch, yaw of C in A, and the displacement of Co from Ao in the frame midway."""
    R_AC = A.X[:3, :3].T @ C.X[:3, :3]
    R_WB = A.X[:3, :3] @ rotation_of_vector(vector_of_rotation(R_AC) / 2)
    return np.array(rpy_of(R_AC)), R_WB.T @ (C.X[:3, 3] - A.X[:3, 3])


def central_difference(function: Callable[[float], float], step: float = 1e-5) -> float:
    """The derivative of a function at zero."""
    near = (function(step) - function(-step)) / (2 * step)
    far = (function(2 * step) - function(-2 * step)) / (4 * step)
    return (4 * near - far) / 3


def rotation_of_vector(r: Array) -> Array:
    """The rotation exp(r×)."""
    K = cross_matrix(np.asarray(r))
    angle = np.linalg.norm(r)
    if angle < 1e-12:
        return np.asarray(np.eye(3) + K)
    return np.asarray(np.eye(3) + np.sin(angle) / angle * K + (1 - np.cos(angle)) / angle**2 * K @ K)


def vector_of_rotation(R: Array) -> Array:
    """The vector of a rotation by less than half a turn."""
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    sine, cosine = np.linalg.norm(axis), (np.trace(R) - 1) / 2
    return axis * (np.arctan2(sine, cosine) / sine)


def rpy_of(R: Array) -> tuple[float, float, float]:
    """Angles of R = Rz(yaw) Ry(pitch) Rx(roll)."""
    return (
        float(np.arctan2(R[2, 1], R[2, 2])),
        float(np.arcsin(-R[2, 0])),
        float(np.arctan2(R[1, 0], R[0, 0])),
    )


def _at_origin(frame: Motion, point: Array, force: Array) -> Array:
    return np.concatenate([np.cross(point - frame.X[:3, 3], force), force])
