"""Motion of bodies in World, and of their mass centres."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from mbt._core.api.poses import motion_of_point
from mbt.errors import ArgumentTypeError, shape_error
from mbt.math.arrays import FloatArray
from mbt.math.leading_axes import cut, rotate
from mbt.tree.element import MultibodyElement
from mbt.tree.indices import BodyNodeIndex

if TYPE_CHECKING:
    from mbt._core.engines.context import ContextCore

__all__ = ["BodyMotion"]

# The slice `:`, as one object: faster than a new one.
_ALL = slice(None)


class BodyMotion(MultibodyElement):
    """The part of `RigidBody` for the motion of the body B in World.

    Accelerations are those of forward dynamics. A Context of another tree raises `ContextMismatchError`.
    """

    # Its row in all per-body arrays; -1 until the tree is finalized.
    _node_index: BodyNodeIndex

    @property
    @abstractmethod
    def node_index(self) -> BodyNodeIndex:
        """The row of this body in all per-body arrays."""

    def eval_pose_in_world(self, context: ContextCore) -> FloatArray:
        """Return the pose X_WB of this body, shape (4, 4)."""
        kinematics = self.parent_tree.eval_position_kinematics(context)
        X_WB: FloatArray = kinematics.X_WB[..., self._node_index, _ALL, _ALL]
        return X_WB

    def eval_spatial_velocity_in_world(self, context: ContextCore) -> FloatArray:
        """Return the velocity V_WB of this body in World [rad/s, m/s], shape (6,)."""
        kinematics = self.parent_tree.eval_velocity_kinematics(context)
        V_WB: FloatArray = kinematics.V_WB[..., self._node_index, _ALL]
        return V_WB

    def eval_spatial_acceleration_in_world(self, context: ContextCore) -> FloatArray:
        """Return the acceleration A_WB of this body by forward dynamics [rad/s^2, m/s^2], shape (6,).

        The forces are those of ``tree.eval_acceleration_kinematics(context)``.
        """
        kinematics = self.parent_tree.eval_acceleration_kinematics(context)
        A_WB: FloatArray = kinematics.A_WB[..., self._node_index, _ALL]
        return A_WB

    def get_from_spatial_acceleration_array(self, A_WB_array: FloatArray) -> FloatArray:
        """Return the row of this body in an array of spatial accelerations.

        Parameters
        ----------
        A_WB_array : ndarray, shape (..., num_bodies, 6)
            One row per body, in BodyNodeIndex order.

        Returns
        -------
        ndarray, shape (..., 6)
            A view: writing into it writes into `A_WB_array`.

        Raises
        ------
        ArgumentTypeError
            When `A_WB_array` is not a NumPy array.
        ShapeError
            When it has another shape.
        """
        wanted = (..., self.parent_tree.num_bodies, 6)
        array_type = self.parent_tree._numbers.array_type
        # Plain numbers are constants of any scalar.
        if not isinstance(A_WB_array, (np.ndarray, array_type)):
            wanted_type = f"{array_type.__module__}.{array_type.__name__}"
            raise ArgumentTypeError(f"A_WB_array: expected a {wanted_type}, got {type(A_WB_array).__name__}")
        if A_WB_array.ndim < 2 or A_WB_array.shape[-2:] != wanted[1:]:
            raise shape_error("A_WB_array", wanted, A_WB_array.shape)
        row: FloatArray = A_WB_array[..., self.node_index, :]
        return row

    def get_angular_velocity_in_world(self, context: ContextCore) -> FloatArray:
        """Return the angular velocity w_WB [rad/s], shape (3,), read-only."""
        return self.eval_spatial_velocity_in_world(context)[..., :3]

    def get_origin_velocity_in_world(self, context: ContextCore) -> FloatArray:
        """Return the velocity v_WBo of the body origin [m/s], shape (3,), read-only."""
        return self.eval_spatial_velocity_in_world(context)[..., 3:]

    def get_angular_acceleration_in_world(self, context: ContextCore) -> FloatArray:
        """Return the angular acceleration alpha_WB [rad/s^2], shape (3,), read-only."""
        return self.eval_spatial_acceleration_in_world(context)[..., :3]

    def get_origin_acceleration_in_world(self, context: ContextCore) -> FloatArray:
        """Return the acceleration a_WBo of the body origin [m/s^2], shape (3,), read-only."""
        return self.eval_spatial_acceleration_in_world(context)[..., 3:]

    def calc_center_of_mass_translational_velocity_in_world(self, context: ContextCore) -> FloatArray:
        """Return the velocity v_WBcm of the mass centre [m/s], shape (3,)."""
        X_WB, V_WB = self.eval_pose_in_world(context), self.eval_spatial_velocity_in_world(context)
        p_BoBcm_B = context._get_parameter("com", self._node_index)
        v_WBcm = motion_of_point(X_WB, p_BoBcm_B, V_WB)
        if v_WBcm is None:
            w_WB, v_WBo = cut(V_WB, 3)
            # v_WBcm = v_WBo + w_WB × p_BoBcm_W
            with np.errstate(over="ignore", invalid="ignore"):
                v_WBcm = v_WBo + np.cross(w_WB, rotate(X_WB[..., :3, :3], p_BoBcm_B))
        return v_WBcm

    def calc_center_of_mass_translational_acceleration_in_world(self, context: ContextCore) -> FloatArray:
        """Return the acceleration a_WBcm of the mass centre [m/s^2], shape (3,)."""
        X_WB, V_WB = self.eval_pose_in_world(context), self.eval_spatial_velocity_in_world(context)
        A_WB, p_BoBcm_B = (
            self.eval_spatial_acceleration_in_world(context),
            context._get_parameter("com", self._node_index),
        )
        a_WBcm = motion_of_point(X_WB, p_BoBcm_B, V_WB, A_WB)
        if a_WBcm is None:
            (alpha_WB, a_WBo), w_WB = cut(A_WB, 3), V_WB[..., :3]
            # a_WBcm = a_WBo + alpha_WB × p_BoBcm_W + w_WB × (w_WB × p_BoBcm_W)
            with np.errstate(over="ignore", invalid="ignore"):
                p_BoBcm_W = rotate(X_WB[..., :3, :3], p_BoBcm_B)
                a_BoBcm = np.cross(alpha_WB, p_BoBcm_W) + np.cross(w_WB, np.cross(w_WB, p_BoBcm_W))
                a_WBcm = a_WBo + a_BoBcm
        return a_WBcm
