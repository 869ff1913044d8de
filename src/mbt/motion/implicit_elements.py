"""What implicit steps make of some elements, with derivatives or without; see `implicit_elements.pxd`."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["calc_bushing", "calc_door_friction", "calc_door_stiffness", "calc_stretch"]

# Where ``2 s (1 - s^2)`` is largest.
_SUMMIT = 1.0 / np.sqrt(3.0)


def calc_door_stiffness(config: Any, angle: Any) -> Any:
    """Return the stiffness of spring and catch at an angle [N m/rad]; none where they drive away."""
    half = config.catch_width / 2.0
    width = np.where(half > 0.0, half, 1.0)
    s = np.tanh((angle - half) / width)
    slope = 2.0 * config.catch_torque * (1.0 - 3.0 * s * s) * (1.0 - s * s) / width
    stiffness = config.spring_constant - np.where(half > 0.0, slope, 0.0)
    return np.where(stiffness > 0.0, stiffness, 0.0)


def calc_door_friction(config: Any, speed: Any) -> Any:
    """Return the largest torque of dry friction at a speed [N m]: of all, where it is slower than that."""
    threshold = config.motion_threshold
    s = np.tanh(np.abs(speed) / np.where(threshold > 0.0, threshold, 1.0))
    s = np.where(s > _SUMMIT, s, _SUMMIT)
    torque = config.dynamic_friction_torque * s + config.static_friction_torque * 2.0 * s * (1.0 - s * s)
    return np.where(threshold > 0.0, torque, 0.0)


def calc_stretch(element: Any, here: Any) -> tuple[Any, Any]:
    """Return how the length of a spring grows with v, (1, nv), and by how much it is too long."""
    tree, world = here.tree, here.tree.world_frame
    ends = []
    for body, p in ((element.bodyA, element.get_p_AP(here)), (element.bodyB, element.get_p_BQ(here))):
        frame, point = body.body_frame, p[:, np.newaxis]
        J = tree.calc_jacobian_translational_velocity(here, "v", frame, point, world, world)
        ends.append((J, tree.calc_points_positions(here, frame, point, world)[:, 0]))
    d = ends[1][1] - ends[0][1]
    length = np.sqrt(np.sum(d * d))
    J = np.einsum("i,ij->j", d / length, ends[1][0] - ends[0][0])
    return J[np.newaxis], (length - element.get_free_length(here))[np.newaxis]


def calc_bushing(element: Any, here: Any) -> tuple[Any, Any]:
    """Return how the coordinates of a bushing change with the velocities, (6, nv), and the coordinates."""
    tree, A, C = here.tree, element.frameA, element.frameC
    X = tree.calc_relative_transform(here, A, C)
    R, p = X[:3, :3], X[:3, 3]
    Jw = tree.calc_jacobian_angular_velocity(here, "v", C, A, A)
    Jv = tree.calc_jacobian_translational_velocity(here, "v", C, np.zeros((3, 1)), A, A)
    cos_pitch = np.sqrt(R[2, 1] ** 2 + R[2, 2] ** 2)
    rpy = np.stack(
        [np.arctan2(R[2, 1], R[2, 2]), np.arctan2(-R[2, 0], cos_pitch), np.arctan2(R[1, 0], R[0, 0])]
    )
    s, c, zero = np.sin(rpy[2]), np.cos(rpy[2]), 0.0 * cos_pitch
    x, y = c / cos_pitch, s / cos_pitch
    N = np.stack([x, y, zero, -s, c, zero, -R[2, 0] * x, -R[2, 0] * y, zero + 1.0]).reshape(3, 3)
    # Half the rotation, from the quaternion of the whole.
    (s0, s1, s2), (c0, c1, c2) = np.sin(rpy / 2.0), np.cos(rpy / 2.0)
    e = np.stack([
        c0 * c1 * c2 + s0 * s1 * s2, s0 * c1 * c2 - c0 * s1 * s2, c0 * s1 * c2 + s0 * c1 * s2,
        c0 * c1 * s2 - s0 * s1 * c2,
    ])  # fmt: skip
    e = e * np.where(e[0] < 0.0, -1.0, 1.0)
    tan = e[1:] / (e[0] + 1.0)  # its length is that of a quarter of the angle
    t2 = np.sum(tan * tan)
    cross = np.stack([zero, -tan[2], tan[1], tan[2], zero, -tan[0], -tan[1], tan[0], zero]).reshape(3, 3)
    outer = tan[:, np.newaxis] * tan
    R_AB = ((1.0 - t2) * np.eye(3) + 2.0 * outer + 2.0 * cross) / (1.0 + t2)
    half = np.cross(p, Jw.T).T / 2.0
    return np.concatenate([N @ Jw, R_AB.T @ (Jv + half)]), np.concatenate([rpy, R_AB.T @ p])
