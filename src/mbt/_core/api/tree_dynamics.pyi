from typing import Any, Literal, overload

import numpy.typing as npt

from mbt._core.api.tree_kinematics import TreeKinematics
from mbt._core.engines.caches import PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.engines.context import ContextCore
from mbt.context import MultibodyForces
from mbt.math.arrays import FloatArray
from mbt.scalars import BatchContext, ScalarContext

class TreeDynamics(TreeKinematics):
    @overload
    def calc_inverse_dynamics(
        self,
        context: BatchContext,
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        include_force_elements: bool = False,
        multipliers: npt.ArrayLike | None = None,
        A_WB_array: FloatArray | None = None,
        F_BMo_W_array: FloatArray | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_inverse_dynamics(
        self,
        context: ScalarContext,
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        include_force_elements: bool = False,
        multipliers: npt.ArrayLike | None = None,
        A_WB_array: Any | None = None,
        F_BMo_W_array: Any | None = None,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_inverse_dynamics(
        self,
        context: ContextCore,
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        include_force_elements: bool = False,
        multipliers: npt.ArrayLike | None = None,
        A_WB_array: FloatArray | None = None,
        F_BMo_W_array: FloatArray | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_bias_term(self, context: BatchContext, *, out: FloatArray | None = None) -> FloatArray: ...
    @overload
    def calc_bias_term(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_bias_term(self, context: ContextCore, *, out: FloatArray | None = None) -> FloatArray: ...
    @overload
    def calc_gravity_generalized_forces(
        self, context: BatchContext, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def calc_gravity_generalized_forces(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_gravity_generalized_forces(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def calc_mass_matrix(self, context: BatchContext, *, out: FloatArray | None = None) -> FloatArray: ...
    @overload
    def calc_mass_matrix(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_mass_matrix(self, context: ContextCore, *, out: FloatArray | None = None) -> FloatArray: ...
    @overload
    def calc_mass_matrix_via_inverse_dynamics(
        self, context: BatchContext, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def calc_mass_matrix_via_inverse_dynamics(
        self, context: ScalarContext, *, out: Any | None = None
    ) -> Any: ...
    @overload
    def calc_mass_matrix_via_inverse_dynamics(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def calc_coriolis_matrix(self, context: BatchContext, *, out: FloatArray | None = None) -> FloatArray: ...
    @overload
    def calc_coriolis_matrix(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_coriolis_matrix(self, context: ContextCore, *, out: FloatArray | None = None) -> FloatArray: ...
    @overload
    def calc_forward_dynamics(
        self,
        context: BatchContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_forward_dynamics(
        self,
        context: ScalarContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_forward_dynamics(
        self,
        context: ContextCore,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_constrained_forward_dynamics(
        self,
        context: BatchContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        stabilize: bool | Literal[-1] = False,
        out: tuple[FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray]: ...
    @overload
    def calc_constrained_forward_dynamics(
        self,
        context: ScalarContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        stabilize: bool | Literal[-1] = False,
        out: tuple[Any | None, Any | None] | None = None,
    ) -> Any: ...
    @overload
    def calc_constrained_forward_dynamics(
        self,
        context: ContextCore,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        stabilize: bool | Literal[-1] = False,
        out: tuple[FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray]: ...
    @overload
    def calc_impulse_dynamics(
        self,
        context: BatchContext,
        restitution: npt.ArrayLike = 0.0,
        *,
        out: tuple[FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray]: ...
    @overload
    def calc_impulse_dynamics(
        self,
        context: ScalarContext,
        restitution: npt.ArrayLike = 0.0,
        *,
        out: tuple[Any | None, Any | None] | None = None,
    ) -> Any: ...
    @overload
    def calc_impulse_dynamics(
        self,
        context: ContextCore,
        restitution: npt.ArrayLike = 0.0,
        *,
        out: tuple[FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray]: ...
    def _calc_inverse_dynamics_with(
        self,
        context: ContextCore,
        known_vdot: npt.ArrayLike,
        multipliers: npt.ArrayLike,
        external_forces: MultibodyForces | None,
    ) -> FloatArray: ...
    def _calc_constrained_dynamics(
        self,
        context: ContextCore,
        tau_applied: npt.ArrayLike | None,
        external_forces: MultibodyForces | None,
        stabilize: int,
    ) -> FloatArray: ...
    def calc_force_elements_contribution(
        self,
        context: ContextCore,
        forces: MultibodyForces,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> MultibodyForces: ...
