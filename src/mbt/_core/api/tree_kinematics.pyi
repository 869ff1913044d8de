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
from mbt.context.context import A, ContextOf
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
        context: ContextOf[A],
        frame_A: Frame | RigidBody | str,
        frame_B: Frame | RigidBody | str,
        *,
        out: A | None = None,
    ) -> A: ...
    def calc_relative_rotation_matrix(
        self,
        context: ContextOf[A],
        frame_A: Frame | RigidBody | str,
        frame_B: Frame | RigidBody | str,
        *,
        out: A | None = None,
    ) -> A: ...
    def calc_points_positions(
        self,
        context: ContextOf[A],
        frame_B: Frame | RigidBody | str,
        p_BQi: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        *,
        out: A | None = None,
    ) -> A: ...
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
    def map_velocity_to_qdot(self, context: ContextOf[A], v: npt.ArrayLike, *, out: A | None = None) -> A: ...
    def map_qdot_to_velocity(
        self, context: ContextOf[A], qdot: npt.ArrayLike, *, out: A | None = None
    ) -> A: ...
    @property
    def is_velocity_equal_to_qdot(self) -> bool: ...
    def map_acceleration_to_qddot(
        self, context: ContextOf[A], vdot: npt.ArrayLike, *, out: A | None = None
    ) -> A: ...
    def map_qddot_to_acceleration(
        self, context: ContextOf[A], qddot: npt.ArrayLike, *, out: A | None = None
    ) -> A: ...
    def make_velocity_to_qdot_map(self, context: ContextOf[A], *, out: A | None = None) -> A: ...
    def make_qdot_to_velocity_map(self, context: ContextOf[A], *, out: A | None = None) -> A: ...
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
        context: ContextOf[A],
        known_vdot: npt.ArrayLike,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        out: A | None = None,
    ) -> A: ...
