"""Errors and Jacobians of constraints in NumPy, from poses of frames and their Jacobians alone."""

from __future__ import annotations

import numpy as np

import mbt
from mbt.math.arrays import FloatArray

__all__ = ["constraint_errors", "constraint_jacobian"]


def constraint_errors(tree: mbt.MultibodyTree, context: mbt.Context) -> FloatArray:
    """Return the errors of all constraints of one state, in the order of their equations."""
    return np.concatenate([np.zeros(0), *(_errors(each, context) for each in tree.constraints)])


def constraint_jacobian(tree: mbt.MultibodyTree, context: mbt.Context) -> FloatArray:
    """Return what the velocities are multiplied by to give the rates of the errors."""
    rows = [np.zeros((0, tree.num_velocities)), *(_rows(each, tree, context) for each in tree.constraints)]
    return np.concatenate(rows)


def _errors(constraint: mbt.Constraint, context: mbt.Context) -> FloatArray:
    if isinstance(constraint, mbt.CouplerConstraint):
        q0, q1 = (context.q[j.position_start] for j in (constraint.joint0, constraint.joint1))
        return np.array([q0 - constraint.default_gear_ratio * q1 - constraint.default_offset])
    X_AB = np.linalg.inv(constraint.frame_A.calc_pose_in_world(context)) @ (
        constraint.frame_B.calc_pose_in_world(context)
    )
    if isinstance(constraint, mbt.DistanceConstraint):
        r = X_AB[:3, :3] @ constraint.default_p_BQ + X_AB[:3, 3] - constraint.default_p_AP
        return np.array([np.linalg.norm(r) - constraint.default_distance])
    turn = mbt.math.log_so3(X_AB[:3, :3]) if isinstance(constraint, mbt.WeldConstraint) else np.zeros(0)
    return np.concatenate([turn, X_AB[:3, 3]])


def _rows(constraint: mbt.Constraint, tree: mbt.MultibodyTree, context: mbt.Context) -> FloatArray:
    if isinstance(constraint, mbt.CouplerConstraint):
        row = np.zeros((1, tree.num_velocities))
        row[0, constraint.joint0.velocity_start] = 1.0
        row[0, constraint.joint1.velocity_start] -= constraint.default_gear_ratio
        return row
    A, B = constraint.frame_A, constraint.frame_B
    if isinstance(constraint, mbt.DistanceConstraint):
        p_AP, p_BQ = constraint.default_p_AP, constraint.default_p_BQ
        p_AQ = tree.calc_points_positions(context, B, p_BQ, A)
        J = tree.calc_jacobian_translational_velocity(context, "v", B, p_BQ, A, A)
        r = p_AQ - p_AP
        return (r / np.linalg.norm(r) @ J)[None]
    J = tree.calc_jacobian_spatial_velocity(context, "v", B, np.zeros(3), A, A)
    return J if isinstance(constraint, mbt.WeldConstraint) else J[3:]
