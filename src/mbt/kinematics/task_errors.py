"""Errors of tasks, and their derivatives by positions and goals, for many states at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.kinematics.tasks import CENTER, DIRECTION, POSE, Task
from mbt.math import exp_so3, log_so3
from mbt.math.arrays import FloatArray

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["calc_task_errors", "goal_size", "move_goal"]


def goal_size(task: Task) -> int:
    """Return the size of a small change of a goal: for a pose, rotation and translation."""
    if task.kind == POSE:
        return 6 if task.shape == (4, 4) else 3
    return len(task.axes)


def move_goal(task: Task, goal: FloatArray, change: FloatArray) -> FloatArray:
    """Return goals after small changes; rotations change by rotation vectors from the left."""
    if task.kind != POSE:
        return goal + change
    moved = np.array(np.broadcast_to(goal, (*change.shape[:-1], *goal.shape[-2:])))
    moved[..., :3, :3] = exp_so3(change[..., :3]) @ goal[..., :3, :3]
    if change.shape[-1] == 6:
        moved[..., :3, 3] += change[..., 3:]
    return moved


def calc_task_errors(
    tree: MultibodyTree, task: Task, context: Any, goal: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the error of a task without weights, (n, rows), and its derivatives.

    Parameters
    ----------
    tree, task
        The task, and its tree.
    context : Context
        n states.
    goal : ndarray, shape (n, ...) or (1, ...)

    Returns
    -------
    error : ndarray, shape (n, rows)
    by_v, by_goal : ndarray, shapes (n, rows, num_velocities) and (n, rows, goal_size)
        Its derivatives; rotations of goals act from the left.
    """
    if task.kind == CENTER:
        axes, world = list(task.axes), tree.world_frame
        J = tree.calc_jacobian_center_of_mass_translational_velocity(context, "v", world, world)[:, axes]
        error = goal - tree.calc_center_of_mass_position_in_world(context)[:, axes]
        return error, -J, np.broadcast_to(np.eye(len(axes)), (len(error), len(axes), len(axes)))
    if task.kind == POSE:
        return _calc_pose_errors(tree, task, context, goal)
    X_WF, J = _calc_frame(tree, task.frame, context)
    arm = X_WF[:, :3, :3] @ np.array(task.point)
    eye = np.broadcast_to(np.eye(3), (len(arm), 3, 3))
    turned = np.cross(J[:, :3], arm[:, :, None], axis=1)
    if task.kind == DIRECTION:
        length = np.linalg.norm(goal, axis=-1)[..., None]
        unit = goal / length
        across = (eye - unit[:, :, None] * unit[:, None, :]) / length[..., None]
        return unit - arm, -turned, across
    return goal - X_WF[:, :3, 3] - arm, -J[:, 3:] - turned, eye


def _calc_frame(tree: MultibodyTree, index: int, context: Any) -> tuple[FloatArray, FloatArray]:
    frame, world = tree.get_frame(index), tree.world_frame
    X_WF = frame.calc_pose_in_world(context)
    return X_WF, tree.calc_jacobian_spatial_velocity(context, "v", frame, np.zeros(3), world, world)


def _calc_pose_errors(
    tree: MultibodyTree, task: Task, context: Any, goal: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log(X_FG), rotation first, and its derivatives; for a rotation only that part."""
    X_WF, J = _calc_frame(tree, task.frame, context)
    X_WA, J_A = _calc_frame(tree, task.base, context)
    goal = goal if task.shape == (4, 4) else _with_rotation(X_WA, X_WF, goal)
    X_WG = X_WA @ goal
    R_FW = np.swapaxes(X_WF[:, :3, :3], 1, 2)
    p_FG_W = X_WG[:, :3, 3] - X_WF[:, :3, 3]
    R_FG, p_FG = R_FW @ X_WG[:, :3, :3], (R_FW @ p_FG_W[..., None])[..., 0]
    w = log_so3(R_FG)
    A, c, slope = _rotation_rates(w)
    u = (A @ p_FG[..., None])[..., 0]
    B = _rotation_rates_along(w, u, c, slope)
    # From the rigid motion of G, with the velocity of the point at the origin of F, to the error.
    of_twist = np.zeros((len(w), 6, 6))
    of_twist[:, :3, :3] = of_twist[:, 3:, 3:] = A @ R_FW
    of_twist[:, 3:, :3] = B @ R_FW
    # The base carries the goal along.
    J_A = J_A.copy()
    J_A[:, 3:] += np.cross(J_A[:, :3], (X_WF[:, :3, 3] - X_WA[:, :3, 3])[..., None], axis=1)
    carried = np.zeros((len(w), 6, 6))
    R_WA = X_WA[:, :3, :3]
    carried[:, :3, :3] = carried[:, 3:, 3:] = R_WA
    carried[:, 3:, :3] = np.cross(R_WA, -p_FG_W[..., None], axis=1)
    rows = [k for k, weight in enumerate(task.weights) if weight > 0.0]
    rows = [3 * k + i for k in rows for i in range(3)]
    size = goal_size(task)
    by_goal = of_twist @ carried[..., :size]
    return np.concatenate([w, u], -1)[:, rows], (of_twist @ (J_A - J))[:, rows], by_goal[:, rows]


def _with_rotation(X_WA: FloatArray, X_WF: FloatArray, R_AG: FloatArray) -> FloatArray:
    """Return poses with this rotation at the position of the frame."""
    X_AG = np.linalg.inv(X_WA) @ X_WF
    X_AG[:, :3, :3] = R_AG
    return X_AG


def _rotation_rates(w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return A = 1 - [w]/2 + c [w]^2, c, and c'(a)/a, where c = (1 - a/2 cot(a/2)) / a^2 with the angle a."""
    square = np.sum(w * w, axis=-1)
    a = np.sqrt(square)
    safe = np.where(a < 0.05, 1.0, a)
    half = 0.5 * safe
    g = half / np.tan(half)
    c = np.where(a < 0.05, 1 / 12 + square / 720 + square**2 / 30240, (1.0 - g) / safe**2)
    far = (0.25 / np.sin(half) ** 2 - g / safe**2) / safe**2 - 2.0 * (1.0 - g) / safe**4
    slope = np.where(a < 0.05, 1 / 360 + square * (4 / 30240), far)
    S = _skew(w)
    return np.eye(3) - 0.5 * S + c[..., None, None] * (S @ S), c, slope


def _rotation_rates_along(w: FloatArray, u: FloatArray, c: FloatArray, slope: FloatArray) -> FloatArray:
    """Return the derivative of A along u."""
    S, U = _skew(w), _skew(u)
    rate = (slope * np.sum(w * u, axis=-1))[..., None, None]
    change: FloatArray = -0.5 * U + c[..., None, None] * (S @ U + U @ S) + rate * (S @ S)
    return change


def _skew(w: FloatArray) -> FloatArray:
    S: FloatArray = np.cross(w[..., None, :], np.eye(3)).swapaxes(-1, -2)
    return S
