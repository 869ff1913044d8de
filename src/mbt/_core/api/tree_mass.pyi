from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy.typing as npt

from mbt._core.api.tree_accelerations import TreeAccelerations
from mbt._core.engines.context import ContextCore
from mbt.math import SpatialInertia
from mbt.math.arrays import FloatArray
from mbt.scalars import BatchContext, ScalarContext
from mbt.tree import Frame, RigidBody

class TreeMass(TreeAccelerations):
    @overload
    def calc_total_mass(  # type: ignore[overload-overlap]
        self, context: BatchContext, model_instances: int | Sequence[int] | None = None
    ) -> FloatArray: ...
    @overload
    def calc_total_mass(
        self, context: ScalarContext, model_instances: int | Sequence[int] | None = None
    ) -> Any: ...
    @overload
    def calc_total_mass(
        self, context: ContextCore, model_instances: int | Sequence[int] | None = None
    ) -> float: ...
    @overload
    def calc_center_of_mass_position_in_world(
        self,
        context: BatchContext,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_center_of_mass_position_in_world(
        self,
        context: ScalarContext,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_center_of_mass_position_in_world(
        self,
        context: ContextCore,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_center_of_mass_translational_velocity_in_world(
        self,
        context: BatchContext,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_center_of_mass_translational_velocity_in_world(
        self,
        context: ScalarContext,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_center_of_mass_translational_velocity_in_world(
        self,
        context: ContextCore,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_center_of_mass_translational_acceleration_in_world(
        self,
        context: BatchContext,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_center_of_mass_translational_acceleration_in_world(
        self,
        context: ScalarContext,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_center_of_mass_translational_acceleration_in_world(
        self,
        context: ContextCore,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_jacobian_center_of_mass_translational_velocity(
        self,
        context: BatchContext,
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_jacobian_center_of_mass_translational_velocity(
        self,
        context: ScalarContext,
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_jacobian_center_of_mass_translational_velocity(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_bias_center_of_mass_translational_acceleration(
        self,
        context: BatchContext,
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_bias_center_of_mass_translational_acceleration(
        self,
        context: ScalarContext,
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_bias_center_of_mass_translational_acceleration(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_spatial_momentum_in_world_about_point(
        self,
        context: BatchContext,
        p_WoP_W: npt.ArrayLike,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_spatial_momentum_in_world_about_point(
        self,
        context: ScalarContext,
        p_WoP_W: npt.ArrayLike,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_spatial_momentum_in_world_about_point(
        self,
        context: ContextCore,
        p_WoP_W: npt.ArrayLike,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_centroidal_momentum_matrix(
        self, context: BatchContext, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def calc_centroidal_momentum_matrix(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_centroidal_momentum_matrix(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    def calc_spatial_inertia(
        self, context: ContextCore, frame_F: Frame | RigidBody | str, body_indexes: Sequence[int | RigidBody]
    ) -> SpatialInertia: ...
    @overload
    def calc_operational_space_inverse_inertia(
        self,
        context: BatchContext,
        frame_F: Frame | RigidBody | str,
        *,
        expressed_in: Frame | RigidBody | str | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_operational_space_inverse_inertia(
        self,
        context: ScalarContext,
        frame_F: Frame | RigidBody | str,
        *,
        expressed_in: Frame | RigidBody | str | None = None,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_operational_space_inverse_inertia(
        self,
        context: ContextCore,
        frame_F: Frame | RigidBody | str,
        *,
        expressed_in: Frame | RigidBody | str | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_operational_space_inertia(
        self,
        context: BatchContext,
        frame_F: Frame | RigidBody | str,
        *,
        expressed_in: Frame | RigidBody | str | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_operational_space_inertia(
        self,
        context: ScalarContext,
        frame_F: Frame | RigidBody | str,
        *,
        expressed_in: Frame | RigidBody | str | None = None,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_operational_space_inertia(
        self,
        context: ContextCore,
        frame_F: Frame | RigidBody | str,
        *,
        expressed_in: Frame | RigidBody | str | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_mass_matrix_inverse(
        self, context: BatchContext, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def calc_mass_matrix_inverse(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_mass_matrix_inverse(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
