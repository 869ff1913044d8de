from typing import Any, Literal, overload

import numpy.typing as npt

from mbt._core.api.tree_dynamics import TreeDynamics
from mbt._core.engines.context import ContextCore
from mbt.math.arrays import FloatArray
from mbt.scalars import BatchContext, ScalarContext
from mbt.tree import Frame, RigidBody

class TreeJacobians(TreeDynamics):
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
    ) -> FloatArray: ...
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
    ) -> FloatArray: ...
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
    ) -> FloatArray: ...
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
    ) -> FloatArray: ...
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
    ) -> FloatArray: ...
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
    ) -> FloatArray: ...
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
    ) -> FloatArray: ...
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
    ) -> FloatArray: ...
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
