import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from mbt._core.context import (
    AccelerationKinematicsCache,
    ContextCore,
    PositionKinematicsCache,
    VelocityKinematicsCache,
)
from mbt._core.model import CompiledModel, Derived
from mbt._core.tree_caches import TreeCaches
from mbt.math.arrays import FloatArray
from mbt.tree import Frame, RigidBody

@disjoint_base
class FrameBodyPoseCache:
    def __init__(self, compiled: CompiledModel, derived: Derived) -> None: ...
    def is_of(self, tree: TreeCaches) -> bool: ...
    @property
    def X_BF(self) -> FloatArray: ...
    @property
    def X_FB(self) -> FloatArray: ...
    @property
    def is_X_BF_identity(self) -> npt.NDArray[np.bool_]: ...

class TreeKinematics(TreeCaches):
    def calc_relative_transform(
        self,
        context: ContextCore,
        frame_A: Frame | RigidBody,
        frame_B: Frame | RigidBody,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_relative_rotation_matrix(
        self,
        context: ContextCore,
        frame_A: Frame | RigidBody,
        frame_B: Frame | RigidBody,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_points_positions(
        self,
        context: ContextCore,
        frame_B: Frame | RigidBody,
        p_BQi: npt.ArrayLike,
        frame_A: Frame | RigidBody,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def _calc_frame_velocity(
        self,
        context: ContextCore,
        frame_F: Frame | RigidBody,
        frame_M: Frame | RigidBody,
        frame_E: Frame | RigidBody,
        name_M: str,
        name_E: str,
    ) -> FloatArray: ...
    def eval_frame_body_poses(self, context: ContextCore) -> FrameBodyPoseCache: ...
    def map_velocity_to_qdot(
        self, context: ContextCore, v: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    def map_qdot_to_velocity(
        self, context: ContextCore, qdot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @property
    def is_velocity_equal_to_qdot(self) -> bool: ...
    def map_acceleration_to_qddot(
        self, context: ContextCore, vdot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    def map_qddot_to_acceleration(
        self, context: ContextCore, qddot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    def make_velocity_to_qdot_map(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
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
    ) -> AccelerationKinematicsCache: ...
    def calc_spatial_accelerations_from_vdot(
        self,
        context: ContextCore,
        known_vdot: npt.ArrayLike,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
