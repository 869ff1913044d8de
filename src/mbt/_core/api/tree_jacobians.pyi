from typing import Any, Literal, overload

import numpy.typing as npt

from mbt._core.api.tree_dynamics import TreeDynamics
from mbt._core.engines.context import ContextCore
from mbt.math.arrays import FloatArray
from mbt.scalars import BatchContext, ScalarContext
from mbt.tree import Frame, RigidBody

class TreeJacobians(TreeDynamics):
    """Jacobians and bias accelerations of frames, and of points fixed to them.

    With s = v or s = qdot, a velocity is ``V = J s`` and an acceleration ``A = J sdot + bias``.
    """

    @overload
    def calc_jacobian_spatial_velocity(
        self,
        context: BatchContext,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBp_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the Jacobian of the spatial velocity of a point Bp fixed to frame B, in frame A, expressed in E.

        ``V_ABp_E = J s``, with s = v or s = qdot.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            The variables of the columns.
        frame_B : Frame, RigidBody or str
            The frame that carries the point.
        p_BoBp_B : array_like, shape (3,)
            The point, from B's origin, in B [m].
        frame_A : Frame, RigidBody or str
            The frame in which the velocity is measured.
        frame_E : Frame, RigidBody or str
            The frame in which it is expressed.
        out : ndarray, shape (6, num_velocities) or (6, num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6, num_velocities) or (6, num_positions)
            Angular rows first.
        """

    @overload
    def calc_jacobian_spatial_velocity(
        self,
        context: ScalarContext,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBp_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_jacobian_spatial_velocity(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBp_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_jacobian_spatial_velocity_rate(
        self,
        context: BatchContext,
        frame_B: Frame | RigidBody | str,
        p_BoBp_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the time derivative of the Jacobian, with respect to v, of the spatial velocity of a point Bp.

        ``A_ABp_E = J vdot + Jdot v``, with J of `calc_jacobian_spatial_velocity`: the derivative is taken in frame A,
        and expressed in frame E. ``Jdot v`` is `calc_bias_spatial_acceleration` with respect to v.

        Parameters
        ----------
        context : Context
            Of this tree.
        frame_B : Frame, RigidBody or str
            The frame that carries the point.
        p_BoBp_B : array_like, shape (3,)
            The point, from B's origin, in B [m].
        frame_A : Frame, RigidBody or str
            The frame in which the velocity is measured, and its Jacobian differentiated.
        frame_E : Frame, RigidBody or str
            The frame in which it is expressed.
        out : ndarray, shape (6, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6, num_velocities)
            Angular rows first [1/s, m/s].

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0, 0, -0.5])))
        >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> context.v = [2.0]
        >>> W = tree.world_frame
        >>> tree.calc_jacobian_spatial_velocity_rate(context, rod.body_frame, [0, 0, -1], W, W).ravel() + 0.0
        array([0., 0., 0., 0., 0., 2.])
        """

    @overload
    def calc_jacobian_spatial_velocity_rate(
        self,
        context: ScalarContext,
        frame_B: Frame | RigidBody | str,
        p_BoBp_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_jacobian_spatial_velocity_rate(
        self,
        context: ContextCore,
        frame_B: Frame | RigidBody | str,
        p_BoBp_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_jacobian_angular_velocity(
        self,
        context: BatchContext,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the Jacobian of the angular velocity of frame B in frame A, expressed in frame E.

        ``w_AB_E = J s``, with s = v or s = qdot.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            The variables of the columns.
        frame_B : Frame, RigidBody or str
            The frame that turns; a body stands for its body frame.
        frame_A : Frame, RigidBody or str
            The frame in which the velocity is measured.
        frame_E : Frame, RigidBody or str
            The frame in which it is expressed.
        out : ndarray, shape (3, num_velocities) or (3, num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3, num_velocities) or (3, num_positions)
        """

    @overload
    def calc_jacobian_angular_velocity(
        self,
        context: ScalarContext,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_jacobian_angular_velocity(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_jacobian_translational_velocity(
        self,
        context: BatchContext,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBi_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the Jacobian of the velocities of points Bi fixed to frame B, in frame A, expressed in frame E.

        ``v_ABi_E = J[3*i:3*i + 3] s``, with s = v or s = qdot.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            The variables of the columns.
        frame_B : Frame, RigidBody or str
            The frame that carries the points.
        p_BoBi_B : array_like, shape (3, n) or (3,)
            The points from B's origin, in B, one per column, or one point [m].
        frame_A : Frame, RigidBody or str
            The frame in which the velocities are measured.
        frame_E : Frame, RigidBody or str
            The frame in which they are expressed.
        out : ndarray, shape of the result, float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3 n, num_velocities) or (3 n, num_positions)
            Three rows per point; those of the first point come first.
        """

    @overload
    def calc_jacobian_translational_velocity(
        self,
        context: ScalarContext,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBi_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_jacobian_translational_velocity(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBi_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_jacobian_position_vector(
        self,
        context: BatchContext,
        frame_B: Frame | RigidBody | str,
        p_BoBi_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the Jacobian with respect to q of the positions of points Bi fixed to frame B.

        ``J[3*i:3*i + 3]`` is the partial derivative in frame A of ``p_AoBi``, expressed in frame E. It equals
        `calc_jacobian_translational_velocity` with respect to qdot.

        Parameters
        ----------
        context : Context
            Of this tree.
        frame_B : Frame, RigidBody or str
            The frame that carries the points.
        p_BoBi_B : array_like, shape (3, n) or (3,)
            The points from B's origin, in B, one per column, or one point [m].
        frame_A : Frame, RigidBody or str
            The frame from whose origin the positions are measured.
        frame_E : Frame, RigidBody or str
            The frame in which they are expressed.
        out : ndarray, shape (3 n, num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3 n, num_positions)
            Three rows per point; those of the first point come first.
        """

    @overload
    def calc_jacobian_position_vector(
        self,
        context: ScalarContext,
        frame_B: Frame | RigidBody | str,
        p_BoBi_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_jacobian_position_vector(
        self,
        context: ContextCore,
        frame_B: Frame | RigidBody | str,
        p_BoBi_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_bias_spatial_acceleration(
        self,
        context: BatchContext,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBp_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the part of the acceleration of a point Bp fixed to frame B that `J sdot` does not explain.

        ``A_ABp_E = J sdot + bias``, with J of `calc_jacobian_spatial_velocity` and s = v or s = qdot. It includes
        centripetal and Coriolis terms of a moving frame A.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            The variables s: the bias is Jdot v, or Jdot_qdot qdot.
        frame_B : Frame, RigidBody or str
            The frame that carries the point.
        p_BoBp_B : array_like, shape (3,)
            The point, from B's origin, in B [m].
        frame_A : Frame, RigidBody or str
            The frame in which the acceleration is measured.
        frame_E : Frame, RigidBody or str
            The frame in which it is expressed.
        out : ndarray, shape (6,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6,)
            ``[alpha; a]`` [rad/s^2, m/s^2].
        """

    @overload
    def calc_bias_spatial_acceleration(
        self,
        context: ScalarContext,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBp_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_bias_spatial_acceleration(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBp_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_bias_angular_acceleration(
        self,
        context: BatchContext,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the part of the angular acceleration of frame B in frame A that `J sdot` does not explain.

        ``alpha_AB_E = J sdot + bias``, with J of `calc_jacobian_angular_velocity` and s = v or s = qdot.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            The variables s.
        frame_B : Frame, RigidBody or str
            The frame that turns.
        frame_A : Frame, RigidBody or str
            The frame in which the acceleration is measured.
        frame_E : Frame, RigidBody or str
            The frame in which it is expressed.
        out : ndarray, shape (3,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3,)
            [rad/s^2].
        """

    @overload
    def calc_bias_angular_acceleration(
        self,
        context: ScalarContext,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_bias_angular_acceleration(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_bias_translational_acceleration(
        self,
        context: BatchContext,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBi_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the part of the accelerations of points Bi fixed to frame B that `J sdot` does not explain.

        ``a_ABi_E = J[3*i:3*i + 3] sdot + bias[:, i]``, with J of `calc_jacobian_translational_velocity` and s = v or
        s = qdot. It includes centripetal and Coriolis terms of a moving frame A.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            The variables s.
        frame_B : Frame, RigidBody or str
            The frame that carries the points.
        p_BoBi_B : array_like, shape (3, n) or (3,)
            The points from B's origin, in B, one per column, or one point [m].
        frame_A : Frame, RigidBody or str
            The frame in which the accelerations are measured.
        frame_E : Frame, RigidBody or str
            The frame in which they are expressed.
        out : ndarray of the shape of `p_BoBi_B`, float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3, n) or (3,)
            [m/s^2], one point per column.
        """

    @overload
    def calc_bias_translational_acceleration(
        self,
        context: ScalarContext,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBi_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_bias_translational_acceleration(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBi_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
