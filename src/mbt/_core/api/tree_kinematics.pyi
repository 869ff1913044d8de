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
    def __init__(self, compiled: CompiledModel, derived: Derived) -> None: ...
    def is_of(self, tree: TreeCaches) -> bool: ...
    @property
    def X_BF(self) -> FloatArray: ...
    @property
    def X_FB(self) -> FloatArray: ...
    @property
    def is_X_BF_identity(self) -> npt.NDArray[np.bool_]: ...

class TreeKinematics(TreeCaches):
    @overload
    def calc_relative_transform(
        self,
        context: BatchContext,
        frame_A: Frame | RigidBody | str,
        frame_B: Frame | RigidBody | str,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
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
    ) -> FloatArray: ...
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
    ) -> FloatArray: ...
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
    def eval_frame_body_poses(self, context: ContextCore) -> FrameBodyPoseCache: ...
    @overload
    def map_velocity_to_qdot(
        self, context: BatchContext, v: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
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
    ) -> FloatArray: ...
    @overload
    def map_qdot_to_velocity(
        self, context: ScalarContext, qdot: npt.ArrayLike, *, out: Any | None = None
    ) -> Any: ...
    @overload
    def map_qdot_to_velocity(
        self, context: ContextCore, qdot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @property
    def is_velocity_equal_to_qdot(self) -> bool: ...
    @overload
    def map_acceleration_to_qddot(
        self, context: BatchContext, vdot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
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
    ) -> FloatArray: ...
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
    ) -> FloatArray: ...
    @overload
    def make_velocity_to_qdot_map(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def make_velocity_to_qdot_map(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def make_qdot_to_velocity_map(
        self, context: BatchContext, *, out: FloatArray | None = None
    ) -> FloatArray: ...
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
    ) -> AccelerationKinematicsCache: ...
    @overload
    def calc_spatial_accelerations_from_vdot(
        self,
        context: BatchContext,
        known_vdot: npt.ArrayLike,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
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
