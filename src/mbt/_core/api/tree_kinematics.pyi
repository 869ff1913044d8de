from typing import Any, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from mbt._core.api.tree_caches import TreeCaches
from mbt._core.door.compiled_model import CompiledModel, Derived
from mbt._core.engines.caches import (
    AccelerationKinematicsCache,
    PositionKinematicsCache,
    VelocityKinematicsCache,
)
from mbt._core.engines.context import ContextCore
from mbt.math.arrays import FloatArray
from mbt.scalars import BatchContext, ScalarContext
from mbt.tree import Frame, RigidBody

@disjoint_base
class FrameBodyPoseCache:
    """Poses of all frames in their bodies, in FrameIndex order, with the parameters of one Context.

    Read-only, and never changes: after a parameter has changed, ``tree.eval_frame_body_poses(context)`` returns
    another one. To get the pose of one frame: ``frame.get_X_BF(frame_body_poses)``.

    Attributes
    ----------
    X_BF : ndarray, shape (num_frames, 4, 4)
        Pose of each frame in its body.
    """

    def __init__(self, compiled: CompiledModel, derived: Derived) -> None: ...
    def is_of(self, tree: TreeCaches) -> bool:
        """Return whether these are poses of the frames of a tree."""

    @property
    def X_BF(self) -> FloatArray: ...
    @property
    def X_FB(self) -> FloatArray:
        """Pose of each frame's body in the frame, (num_frames, 4, 4)."""

    @property
    def is_X_BF_identity(self) -> npt.NDArray[np.bool_]:
        """Whether each frame is exactly that of its body, (num_frames,)."""

class TreeKinematics(TreeCaches):
    """Motion of the bodies and frames of a tree."""

    @overload
    def calc_relative_transform(
        self,
        context: BatchContext,
        frame_A: Frame | RigidBody | str,
        frame_B: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the pose X_AB of frame B in frame A.

        Parameters
        ----------
        context : Context
            Of this tree.
        frame_A, frame_B : Frame, RigidBody or str
            Frames of this tree; a body stands for its body frame.
        out : ndarray, shape (4, 4), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """

    @overload
    def calc_relative_transform(
        self,
        context: ScalarContext,
        frame_A: Frame | RigidBody | str,
        frame_B: Frame | RigidBody | str,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_relative_transform(
        self,
        context: ContextCore,
        frame_A: Frame | RigidBody | str,
        frame_B: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_relative_rotation_matrix(
        self,
        context: BatchContext,
        frame_A: Frame | RigidBody | str,
        frame_B: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the rotation R_AB of frame B in frame A.

        Parameters
        ----------
        context : Context
            Of this tree.
        frame_A, frame_B : Frame, RigidBody or str
            Frames of this tree; a body stands for its body frame.
        out : ndarray, shape (3, 3), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """

    @overload
    def calc_relative_rotation_matrix(
        self,
        context: ScalarContext,
        frame_A: Frame | RigidBody | str,
        frame_B: Frame | RigidBody | str,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_relative_rotation_matrix(
        self,
        context: ContextCore,
        frame_A: Frame | RigidBody | str,
        frame_B: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_points_positions(
        self,
        context: BatchContext,
        frame_B: Frame | RigidBody | str,
        p_BQi: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the positions in frame A of points given in frame B: ``p_AQi = X_AB p_BQi``.

        Parameters
        ----------
        context : Context
            Of this tree.
        frame_B : Frame, RigidBody or str
            The frame in which the points are given.
        p_BQi : array_like, shape (3, n) or (3,)
            One point per column, or one point [m].
        frame_A : Frame, RigidBody or str
            The frame in which their positions are returned.
        out : ndarray of the shape of `p_BQi`, float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3, n) or (3,)
            Positions [m].
        """

    @overload
    def calc_points_positions(
        self,
        context: ScalarContext,
        frame_B: Frame | RigidBody | str,
        p_BQi: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_points_positions(
        self,
        context: ContextCore,
        frame_B: Frame | RigidBody | str,
        p_BQi: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def _calc_frame_velocity(
        self,
        context: ContextCore,
        frame_F: Frame | RigidBody | str,
        frame_M: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        name_M: str,
        name_E: str,
    ) -> FloatArray: ...
    def eval_frame_body_poses(self, context: ContextCore) -> FrameBodyPoseCache:
        """Return the poses of all frames in their bodies, cached until a parameter of the Context changes.

        Parameters
        ----------
        context : Context
            Of this tree.

        Returns
        -------
        FrameBodyPoseCache
        """

    @overload
    def map_velocity_to_qdot(
        self, context: BatchContext, v: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return ``qdot = N(q) v``.

        Parameters
        ----------
        context : Context
            Of this tree.
        v : array_like, shape (num_velocities,)
            Generalized velocities [rad/s, m/s].
        out : ndarray, shape (num_positions,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Raises
        ------
        SingularityError
            At gimbal lock, |cos(pitch)| < 1e-3 of a joint with roll-pitch-yaw angles, where N is undefined.
        """

    @overload
    def map_velocity_to_qdot(
        self, context: ScalarContext, v: npt.ArrayLike, *, out: Any | None = None
    ) -> Any: ...
    @overload
    def map_velocity_to_qdot(
        self, context: ContextCore, v: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def map_qdot_to_velocity(
        self, context: BatchContext, qdot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return ``v = N+(q) qdot``, exact when qdot = N(q) v for some v.

        Parameters
        ----------
        context : Context
            Of this tree.
        qdot : array_like, shape (num_positions,)
            Time derivatives of the positions.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """

    @overload
    def map_qdot_to_velocity(
        self, context: ScalarContext, qdot: npt.ArrayLike, *, out: Any | None = None
    ) -> Any: ...
    @overload
    def map_qdot_to_velocity(
        self, context: ContextCore, qdot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @property
    def is_velocity_equal_to_qdot(self) -> bool:
        """Whether qdot = v for every mobilizer of the tree: N(q) is the identity."""

    @overload
    def map_acceleration_to_qddot(
        self, context: BatchContext, vdot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return ``qddot = N(q) vdot + Ndot(q, v) v``, with the q and v of the Context.

        Parameters
        ----------
        context : Context
            Of this tree.
        vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        out : ndarray, shape (num_positions,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Raises
        ------
        SingularityError
            At gimbal lock.
        """

    @overload
    def map_acceleration_to_qddot(
        self, context: ScalarContext, vdot: npt.ArrayLike, *, out: Any | None = None
    ) -> Any: ...
    @overload
    def map_acceleration_to_qddot(
        self, context: ContextCore, vdot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def map_qddot_to_acceleration(
        self, context: BatchContext, qddot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return ``vdot = N+(q) qddot + N+dot(q, v) qdot``, with the q and v of the Context and ``qdot = N(q) v``.

        Exact when ``qddot = N vdot + Ndot v`` for some vdot.

        Parameters
        ----------
        context : Context
            Of this tree.
        qddot : array_like, shape (num_positions,)
            Second time derivatives of the positions.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Raises
        ------
        SingularityError
            At gimbal lock.
        """

    @overload
    def map_qddot_to_acceleration(
        self, context: ScalarContext, qddot: npt.ArrayLike, *, out: Any | None = None
    ) -> Any: ...
    @overload
    def map_qddot_to_acceleration(
        self, context: ContextCore, qddot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def make_velocity_to_qdot_map(
        self, context: BatchContext, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return N(q), with ``qdot = N(q) v``.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_positions, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_positions, num_velocities)
            Block diagonal, one block per mobilizer.

        Raises
        ------
        SingularityError
            At gimbal lock.
        """

    @overload
    def make_velocity_to_qdot_map(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def make_velocity_to_qdot_map(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def make_qdot_to_velocity_map(
        self, context: BatchContext, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return N+(q), with ``v = N+(q) qdot`` and ``N+ N = 1``.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_velocities, num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities, num_positions)
            Block diagonal, one block per mobilizer.
        """

    @overload
    def make_qdot_to_velocity_map(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def make_qdot_to_velocity_map(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    def calc_acceleration_kinematics_cache(
        self,
        context: ContextCore,
        known_vdot: npt.ArrayLike,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        ac: AccelerationKinematicsCache | None = None,
    ) -> AccelerationKinematicsCache:
        """Return the body accelerations that belong to `known_vdot`.

        Parameters
        ----------
        context : Context
            Of this tree.
        known_vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        pc, vc : PositionKinematicsCache, VelocityKinematicsCache, optional
            Kinematics of the same state; those of the Context by default.
        ac : AccelerationKinematicsCache, optional
            Filled and returned instead of a new one. Not one that `eval_acceleration_kinematics` returned.

        Returns
        -------
        AccelerationKinematicsCache
            With `A_WB` and `vdot`.
        """

    @overload
    def calc_spatial_accelerations_from_vdot(
        self,
        context: BatchContext,
        known_vdot: npt.ArrayLike,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the spatial acceleration A_WB of each body in World.

        Parameters
        ----------
        context : Context
            Of this tree.
        known_vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        pc, vc : PositionKinematicsCache, VelocityKinematicsCache, optional
            Kinematics of the same state; those of the Context by default.
        out : ndarray, shape (num_bodies, 6), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_bodies, 6)
            ``[alpha; a]`` in BodyNodeIndex order, `a` the classical acceleration of Bo [rad/s^2, m/s^2].
        """

    @overload
    def calc_spatial_accelerations_from_vdot(
        self,
        context: ScalarContext,
        known_vdot: npt.ArrayLike,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_spatial_accelerations_from_vdot(
        self,
        context: ContextCore,
        known_vdot: npt.ArrayLike,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
