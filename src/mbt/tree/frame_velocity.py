"""Velocities of frames, from the velocities of their bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mbt.math.arrays import FloatArray
from mbt.tree.element import MultibodyElement, check_element

if TYPE_CHECKING:
    from mbt._core.engines.context import ContextCore
    from mbt.tree.body import RigidBody
    from mbt.tree.frame import Frame

__all__ = ["FrameVelocity"]


class FrameVelocity(MultibodyElement):
    """The part of `Frame` for velocities.

    A spatial velocity is ``[angular; translational]`` [rad/s, m/s]. A Context of another tree raises
    `ContextMismatchError`, a frame of another tree `ForeignElementError`.
    """

    _body: RigidBody

    def eval_angular_velocity_in_world(self, context: ContextCore) -> FloatArray:
        """Return the angular velocity w_WF of this frame F in World [rad/s], shape (3,), read-only."""
        return self._body.eval_spatial_velocity_in_world(context)[..., :3]

    def calc_angular_velocity(
        self, context: ContextCore, measured_in_frame: Frame, expressed_in_frame: Frame
    ) -> FloatArray:
        """Return the angular velocity w_MF_E of this frame F in a frame M, expressed in a frame E."""
        V_MF_E = self._velocity(
            context, measured_in_frame, expressed_in_frame, "measured_in_frame", "expressed_in_frame"
        )
        return V_MF_E[..., :3].copy()

    def calc_spatial_velocity_in_world(self, context: ContextCore) -> FloatArray:
        """Return the spatial velocity V_WF of this frame F in World, shape (6,)."""
        W = self.parent_tree.world_frame
        return self._velocity(context, W, W, "frame_M", "frame_E")

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
        return self._velocity(context, frame_M, frame_E, "frame_M", "frame_E")

    def calc_relative_spatial_velocity_in_world(self, context: ContextCore, other_frame: Frame) -> FloatArray:
        """Return V_W_BF = V_WF - V_WB, the velocity of this frame F less that of a frame B, shape (6,)."""
        W = self.parent_tree.world_frame
        return self.calc_relative_spatial_velocity(context, other_frame, W, W)

    def calc_relative_spatial_velocity(
        self, context: ContextCore, other_frame: Frame, measured_in_frame: Frame, expressed_in_frame: Frame
    ) -> FloatArray:
        """Return V_M_BF_E = V_MF_E - V_MB_E, measured in a frame M, expressed in a frame E, shape (6,)."""
        self._check_frame(other_frame, "other_frame")
        names = ("measured_in_frame", "expressed_in_frame")
        V_MF_E = self._velocity(context, measured_in_frame, expressed_in_frame, *names)
        return V_MF_E - other_frame._velocity(context, measured_in_frame, expressed_in_frame, *names)

    def _velocity(
        self, context: ContextCore, frame_M: Frame, frame_E: Frame, name_M: str, name_E: str
    ) -> FloatArray:
        """Return V_MF_E; the names are those of the arguments in messages."""
        return self.parent_tree._calc_frame_velocity(
            context, cast("Frame", self), frame_M, frame_E, name_M, name_E
        )

    def _check_frame(self, frame: Frame, argument: str) -> None:
        """Check that an argument is a frame of the same tree."""
        check_element(frame, FrameVelocity, argument)
        self.parent_tree._elements.check_is_owned(frame, argument)
