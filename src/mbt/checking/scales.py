"""Sizes of the terms that dynamics adds up at a state, to which rounding errors are relative."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt.context.multibody_forces import MultibodyForces

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray

__all__ = ["Scales"]

# Rounding in a step from body to body, in units in the last place: a rotation and a shift of a spatial
# vector, about ten operations in sequence, outwards and inwards.
_ROUNDING_PER_BODY = 20


class Scales:
    """Bounds at the state of a Context, with absolute values, so that nothing cancels.

    Positions are relative to World, and so is their rounding: every lever arm is the reach of the model.

    Parameters
    ----------
    context : Context
        A Context with one state of doubles.

    Attributes
    ----------
    rounding : float
        A bound of the relative errors.
    extent : float
        The reach of the model from the origin of World [m].
    weight : float
        Mass times gravity [N].
    """

    def __init__(self, context: Context) -> None:
        tree = context.tree
        self.rounding = _ROUNDING_PER_BODY * (tree.tree_height + 2) * np.finfo(float).eps
        kinematics = tree.eval_position_kinematics(context)
        X_WB, H, nb = kinematics.X_WB, kinematics.H_PB_W, tree.num_bodies
        mass, inertia, arm = np.zeros(nb), np.zeros(nb), 0.0
        for body in tree.bodies[1:]:
            node, M = body.node_index, body.get_mass(context)
            own = body.calc_spatial_inertia_in_body_frame(context)
            mass[node] = M
            inertia[node] = np.abs(own.calc_rotational_inertia()).max()
            com = np.linalg.norm(own.com) if M > 0 else 0.0
            arm = max(arm, float(np.linalg.norm(X_WB[node, :3, 3]) + com))
        frames = kinematics.X_BF[:, :3, 3]
        self.extent = arm + float(np.max(np.linalg.norm(frames, axis=1), initial=0.0)) or 1.0
        gravity = (
            0.0
            if tree.gravity_field is None
            else float(np.linalg.norm(tree.gravity_field.get_gravity_vector(context)))
        )
        self.weight = float(mass.sum()) * gravity
        # A unit of a velocity rotates and translates everything behind it by at most this much.
        self.turn, self.shift = np.linalg.norm(H[:, :3], axis=1), np.linalg.norm(H[:, 3:], axis=1)
        self._reach = self.shift + 2 * self.extent * self.turn
        behind, turned = self._sums_behind(context, mass), self._sums_behind(context, inertia)
        D = behind * self._reach**2 + turned * self.turn**2
        # Motion without inertia has size zero; a tiny one avoids division by zero.
        self.D = np.sqrt(np.where(D > 0, D, np.finfo(float).tiny))
        self._pull = np.sqrt(behind) * gravity
        # Forces of elements, as if all of them acted on the bodies behind a joint.
        zeros = np.zeros(tree.num_velocities)
        inertial = tree.calc_inverse_dynamics(context, zeros)
        tau = tree.calc_inverse_dynamics(context, zeros, include_force_elements=True) - inertial
        forces = tree.calc_force_elements_contribution(context, MultibodyForces(tree)).body_forces
        self._elements = np.abs(tau) + self._reach * np.linalg.norm(forces, axis=1).sum()

    @staticmethod
    def _sums_behind(context: Context, values: FloatArray) -> FloatArray:
        """Return, for each velocity, the sum over the bodies that it moves."""
        tree = context.tree
        sums = values.copy()
        for mobilizer in reversed(tree.mobilizers):
            sums[mobilizer.inboard_body.node_index] += sums[mobilizer.outboard_body.node_index]
        behind = np.zeros(tree.num_velocities)
        for mobilizer in tree.mobilizers:
            behind[mobilizer._velocity_range()] = sums[mobilizer.outboard_body.node_index]
        return behind

    def normalized(self, M: FloatArray) -> FloatArray:
        """Return a matrix (nv, nv) relative to the sizes of the terms of inertia."""
        relative: FloatArray = M / np.outer(self.D, self.D)
        return relative

    def rate(self, v: FloatArray) -> float:
        """Return the rate at which something in the model changes by its own size [1/s]; one at rest."""
        return float(np.abs(v) @ (self.turn + self.shift / self.extent)) or 1.0

    def tau(self, v: FloatArray, vdot: FloatArray) -> FloatArray:
        """Return the sizes of the terms of inverse dynamics, (nv,)."""
        size: FloatArray = self._elements + self.D * (
            self.D @ np.abs(vdot) + self.rate(v) * (self.D @ np.abs(v)) + self._pull
        )
        return np.where(size > 0, size, 1.0)

    def vdot(self, v: FloatArray, vdot: FloatArray) -> FloatArray:
        """Return the sizes of the accelerations that forces of the size `tau` cause, (nv,)."""
        size: FloatArray = np.linalg.norm(self.tau(v, vdot) / self.D) / self.D
        return size

    def of_poses(self, X: FloatArray) -> FloatArray:
        """Return errors of poses, (n, 4, 4): rotations relative to one, positions to the extent."""
        relative = X.copy()
        relative[:, :3, 3] /= self.extent
        return relative
