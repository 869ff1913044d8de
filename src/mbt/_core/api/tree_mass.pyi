from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy.typing as npt

from mbt._core.api.tree_accelerations import TreeAccelerations
from mbt._core.engines.context import ContextCore
from mbt.context.context import A, ContextOf
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
    def calc_center_of_mass_position_in_world(
        self,
        context: ContextOf[A],
        model_instances: int | Sequence[int] | None = None,
        *,
        out: A | None = None,
    ) -> A: ...
    def calc_center_of_mass_translational_velocity_in_world(
        self,
        context: ContextOf[A],
        model_instances: int | Sequence[int] | None = None,
        *,
        out: A | None = None,
    ) -> A: ...
    def calc_center_of_mass_translational_acceleration_in_world(
        self,
        context: ContextOf[A],
        model_instances: int | Sequence[int] | None = None,
        *,
        out: A | None = None,
    ) -> A: ...
    def calc_jacobian_center_of_mass_translational_velocity(
        self,
        context: ContextOf[A],
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: A | None = None,
    ) -> A: ...
    def calc_bias_center_of_mass_translational_acceleration(
        self,
        context: ContextOf[A],
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: A | None = None,
    ) -> A: ...
    def calc_spatial_momentum_in_world_about_point(
        self,
        context: ContextOf[A],
        p_WoP_W: npt.ArrayLike,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: A | None = None,
    ) -> A: ...
    def calc_centroidal_momentum_matrix(self, context: ContextOf[A], *, out: A | None = None) -> A: ...
    def calc_spatial_inertia(
        self, context: ContextCore, frame_F: Frame | RigidBody | str, body_indexes: Sequence[int | RigidBody]
    ) -> SpatialInertia: ...
    def calc_operational_space_inverse_inertia(
        self,
        context: ContextOf[A],
        frame_F: Frame | RigidBody | str,
        *,
        expressed_in: Frame | RigidBody | str | None = None,
        out: A | None = None,
    ) -> A: ...
    def calc_operational_space_inertia(
        self,
        context: ContextOf[A],
        frame_F: Frame | RigidBody | str,
        *,
        expressed_in: Frame | RigidBody | str | None = None,
        out: A | None = None,
    ) -> A: ...
    def calc_mass_matrix_inverse(self, context: ContextOf[A], *, out: A | None = None) -> A: ...
