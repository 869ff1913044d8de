from collections.abc import Sequence
from typing import Literal

import numpy.typing as npt

from mbt._core.context import ContextCore
from mbt._core.tree_accelerations import TreeAccelerations
from mbt.math import SpatialInertia
from mbt.math.arrays import FloatArray
from mbt.tree import Frame, RigidBody

class TreeMass(TreeAccelerations):
    def calc_total_mass(
        self,
        context: ContextCore,
        model_instances: int | Sequence[int] | None = None,
    ) -> float: ...
    def calc_center_of_mass_position_in_world(
        self,
        context: ContextCore,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_center_of_mass_translational_velocity_in_world(
        self,
        context: ContextCore,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_center_of_mass_translational_acceleration_in_world(
        self,
        context: ContextCore,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_jacobian_center_of_mass_translational_velocity(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody,
        frame_E: Frame | RigidBody,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_bias_center_of_mass_translational_acceleration(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody,
        frame_E: Frame | RigidBody,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_spatial_momentum_in_world_about_point(
        self,
        context: ContextCore,
        p_WoP_W: npt.ArrayLike,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_centroidal_momentum_matrix(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    def calc_spatial_inertia(
        self, context: ContextCore, frame_F: Frame | RigidBody, body_indexes: Sequence[int | RigidBody]
    ) -> SpatialInertia: ...
    def calc_mass_matrix_inverse(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
