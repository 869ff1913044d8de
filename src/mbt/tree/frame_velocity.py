"""Velocities of frames, from the velocities of their bodies."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from mbt.math.arrays import FloatArray
from mbt.tree.element import MultibodyElement, check_element

if TYPE_CHECKING:
    from mbt._core.context import ContextCore
    from mbt.tree.body import RigidBody
    from mbt.tree.frame import Frame

__all__ = ["FrameVelocity"]


class FrameVelocity(MultibodyElement):
    """The part of `Frame` that knows velocities.

    A spatial velocity is ``[angular; translational]`` [rad/s, m/s]. A Context of another tree raises
    `ContextMismatchError`, a frame of another tree `ForeignElementError`.
    """

    _body: RigidBody

    @abstractmethod
    def calc_pose_in_world(self, context: ContextCore) -> FloatArray:
        """Return the pose X_WF of this frame in World, shape (4, 4)."""

    def eval_angular_velocity_in_world(self, context: ContextCore) -> FloatArray:
        """Return the angular velocity w_WF of this frame F in World [rad/s], shape (3,)."""
        return self._body.eval_spatial_velocity_in_world(context)[:3]

    def calc_angular_velocity(
        self, context: ContextCore, measured_in_frame: Frame, expressed_in_frame: Frame
    ) -> FloatArray:
        """Return the angular velocity w_MF_E of this frame F in a frame M, expressed in a frame E."""
        self._check_frame(measured_in_frame, "measured_in_frame")
        self._check_frame(expressed_in_frame, "expressed_in_frame")
        w_WF = self.eval_angular_velocity_in_world(context)
        w_WM = measured_in_frame.eval_angular_velocity_in_world(context)
        return _re_express(expressed_in_frame, context, w_WF - w_WM)

    def calc_spatial_velocity_in_world(self, context: ContextCore) -> FloatArray:
        """Return the spatial velocity V_WF of this frame F in World, shape (6,)."""
        V_WB = self._body.eval_spatial_velocity_in_world(context)
        p_BoFo_W = self._origin(context) - self._body.eval_pose_in_world(context)[:3, 3]
        # V_WF = shift(V_WB, p_BoFo_W)
        return _spatial(V_WB[:3], V_WB[3:] + np.cross(V_WB[:3], p_BoFo_W))

    def calc_spatial_velocity(self, context: ContextCore, frame_M: Frame, frame_E: Frame) -> FloatArray:
        """Return the spatial velocity V_MF_E of this frame F in a frame M, expressed in a frame E.

        Parameters
        ----------
        context : Context
            State and parameters.
        frame_M : Frame
            The frame to measure in.
        frame_E : Frame
            The frame to express in.

        Returns
        -------
        ndarray, shape (6,)
        """
        self._check_frame(frame_M, "frame_M")
        self._check_frame(frame_E, "frame_E")
        V_WF = self.calc_spatial_velocity_in_world(context)
        V_WM = frame_M.calc_spatial_velocity_in_world(context)
        p_MoFo_W = self._origin(context) - frame_M._origin(context)
        # V_MF = V_WF - shift(V_WM, p_MoFo)
        w_MF = V_WF[:3] - V_WM[:3]
        v_MFo = V_WF[3:] - V_WM[3:] - np.cross(V_WM[:3], p_MoFo_W)
        return _spatial(_re_express(frame_E, context, w_MF), _re_express(frame_E, context, v_MFo))

    def calc_relative_spatial_velocity_in_world(self, context: ContextCore, other_frame: Frame) -> FloatArray:
        """Return V_W_BF = V_WF - V_WB, the velocity of this frame F less that of a frame B, shape (6,)."""
        self._check_frame(other_frame, "other_frame")
        V_WB = other_frame.calc_spatial_velocity_in_world(context)
        return self.calc_spatial_velocity_in_world(context) - V_WB

    def calc_relative_spatial_velocity(
        self, context: ContextCore, other_frame: Frame, measured_in_frame: Frame, expressed_in_frame: Frame
    ) -> FloatArray:
        """Return V_M_BF_E = V_MF_E - V_MB_E, measured in a frame M, expressed in a frame E, shape (6,)."""
        self._check_frame(other_frame, "other_frame")
        V_MF_E = self.calc_spatial_velocity(context, measured_in_frame, expressed_in_frame)
        return V_MF_E - other_frame.calc_spatial_velocity(context, measured_in_frame, expressed_in_frame)

    def _check_frame(self, frame: Frame, argument: str) -> None:
        """Check that an argument is a frame of the same tree."""
        check_element(frame, FrameVelocity, argument)
        self.parent_tree._elements.check_is_owned(frame, argument)

    def _origin(self, context: ContextCore) -> FloatArray:
        return self.calc_pose_in_world(context)[:3, 3]


def _spatial(w: FloatArray, v: FloatArray) -> FloatArray:
    return np.concatenate([w, v])


def _re_express(frame_E: Frame, context: ContextCore, a_W: FloatArray) -> FloatArray:
    """Return the vector a_E = R_WE^T a_W."""
    R_EW = frame_E.calc_rotation_matrix_in_world(context).T
    a_E: FloatArray = R_EW @ a_W
    return a_E
