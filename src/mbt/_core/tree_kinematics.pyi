from typing import Literal

import numpy.typing as npt

from mbt._core.context import (
    AccelerationKinematicsCache,
    ContextCore,
    PositionKinematicsCache,
    VelocityKinematicsCache,
)
from mbt._core.tree_caches import TreeCaches
from mbt.math.arrays import FloatArray
from mbt.tree import Frame, RigidBody

class TreeKinematics(TreeCaches):
    def calc_relative_transform(
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
    def calc_jacobian_spatial_velocity(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody,
        p_BoBp_B: npt.ArrayLike,
        frame_A: Frame | RigidBody,
        frame_E: Frame | RigidBody,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def map_velocity_to_qdot(
        self, context: ContextCore, v: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    def map_qdot_to_velocity(
        self, context: ContextCore, qdot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    def calc_acceleration_kinematics_cache(
        self,
        context: ContextCore,
        known_vdot: npt.ArrayLike,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
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
