"""Velocities and accelerations of frames, from those of their bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mbt.math.arrays import FloatArray
from mbt.tree.element import MultibodyElement, check_element, is_constructed

if TYPE_CHECKING:
    from mbt._core.engines.context import ContextCore
    from mbt.tree.body import RigidBody
    from mbt.tree.frame import Frame

__all__ = ["FrameMotion"]


class FrameMotion(MultibodyElement):
    """The part of `Frame` for velocities and accelerations.

    A spatial velocity is ``[angular; translational]`` [rad/s, m/s]. A Context of another tree raises
    `ContextMismatchError`, a frame of another tree `ForeignElementError`.

    A spatial acceleration is ``[angular; translational]`` [rad/s^2, m/s^2], the latter being the second time
    derivative of a position. All are those of forward dynamics, with all forces that
    ``tree.eval_acceleration_kinematics(context)`` lists: the first call after a change computes them for the
    whole tree; later ones are cheap.
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
        calc = self.parent_tree._calc_frame_velocity
        places = (measured_in_frame, expressed_in_frame, "measured_in_frame", "expressed_in_frame")
        return calc(context, cast("Frame", self), *places) - calc(context, other_frame, *places)

    def calc_spatial_acceleration_in_world(self, context: ContextCore) -> FloatArray:
        """Return the spatial acceleration A_WF of this frame F in World, shape (6,).

        Raises
        ------
        SingularityError
            When a degree of freedom has no inertia.
        ContextMismatchError
            When `context` belongs to another tree.
        """
        W = self.parent_tree.world_frame
        return self._acceleration(context, W, W, "frame_M", "frame_E")

    def calc_spatial_acceleration(
        self, context: ContextCore, measured_in_frame: Frame, expressed_in_frame: Frame
    ) -> FloatArray:
        """Return the spatial acceleration A_MF_E of this frame F in a frame M, expressed in a frame E.

        If M moves, centripetal and Coriolis terms are subtracted:
        ``alpha_MF = alpha_WF - alpha_WM - w_WM x w_MF``, and
        ``a_MFo = a_WFo - (acceleration of the point of M at Fo) - 2 w_WM x v_MFo``.

        Parameters
        ----------
        context : Context
            State, inputs and parameters.
        measured_in_frame : Frame
            The frame M to measure in.
        expressed_in_frame : Frame
            The frame E to express in.

        Returns
        -------
        ndarray, shape (6,)

        Raises
        ------
        SingularityError
            When a degree of freedom has no inertia.
        ContextMismatchError
            When `context` belongs to another tree.
        ForeignElementError
            When a frame belongs to another tree.
        """
        return self._acceleration(
            context, measured_in_frame, expressed_in_frame, "measured_in_frame", "expressed_in_frame"
        )

    def calc_relative_spatial_acceleration_in_world(
        self, context: ContextCore, other_frame: Frame
    ) -> FloatArray:
        """Return A_W_BF = A_WF - A_WB: that of this frame F less that of a frame B, shape (6,)."""
        W = self.parent_tree.world_frame
        return self.calc_relative_spatial_acceleration(context, other_frame, W, W)

    def calc_relative_spatial_acceleration(
        self, context: ContextCore, other_frame: Frame, measured_in_frame: Frame, expressed_in_frame: Frame
    ) -> FloatArray:
        """Return A_M_BF_E = A_MF_E - A_MB_E, measured in a frame M, expressed in a frame E, shape (6,).

        The rotational part is the derivative in M of w_BF. It is not alpha_BF, its derivative in B.
        """
        self._check_frame(other_frame, "other_frame")
        calc = self.parent_tree._calc_frame_acceleration
        places = (measured_in_frame, expressed_in_frame, "measured_in_frame", "expressed_in_frame")
        return calc(context, cast("Frame", self), *places) - calc(context, other_frame, *places)

    def _velocity(
        self, context: ContextCore, frame_M: Frame, frame_E: Frame, name_M: str, name_E: str
    ) -> FloatArray:
        """Return V_MF_E; the names are those of the arguments in messages."""
        return self.parent_tree._calc_frame_velocity(
            context, cast("Frame", self), frame_M, frame_E, name_M, name_E
        )

    def _acceleration(
        self, context: ContextCore, frame_M: Frame, frame_E: Frame, name_M: str, name_E: str
    ) -> FloatArray:
        """Return A_MF_E; the names are those of the arguments in messages."""
        return self.parent_tree._calc_frame_acceleration(
            context, cast("Frame", self), frame_M, frame_E, name_M, name_E
        )

    def _check_frame(self, frame: Frame, argument: str) -> None:
        """Check that an argument is a frame of the same tree."""
        # Only frames have this class. An import would take longer than all else.
        if not is_constructed(frame, FrameMotion):
            from mbt.tree.frame import Frame

            check_element(frame, Frame, argument)
        self.parent_tree._elements.check_is_owned(frame, argument)
