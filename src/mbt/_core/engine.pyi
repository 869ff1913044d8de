from typing import Any, Literal

import numpy.typing as npt
from typing_extensions import disjoint_base

from mbt._core.context import (
    AccelerationKinematicsCache,
    ContextCore,
    PositionKinematicsCache,
    VelocityKinematicsCache,
)
from mbt._core.model import CompiledModel
from mbt.context import Context, MultibodyForces
from mbt.math.arrays import FloatArray
from mbt.tree import Frame, RigidBody

@disjoint_base
class TreeCore:
    @property
    def _compiled(self) -> CompiledModel | None: ...
    def _compile(self, **arrays: Any) -> None: ...

    # Contexts and caches
    def create_default_context(self) -> Context: ...
    def set_default_context(self, context: ContextCore) -> None: ...
    def calc_position_kinematics_cache(
        self, context: ContextCore, pc: PositionKinematicsCache | None = None
    ) -> PositionKinematicsCache: ...
    def calc_velocity_kinematics_cache(
        self,
        context: ContextCore,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> VelocityKinematicsCache: ...
    def calc_acceleration_kinematics_cache(
        self,
        context: ContextCore,
        known_vdot: npt.ArrayLike,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> AccelerationKinematicsCache: ...
    def eval_position_kinematics(self, context: ContextCore) -> PositionKinematicsCache: ...
    def eval_velocity_kinematics(self, context: ContextCore) -> VelocityKinematicsCache: ...
    def eval_body_pose_in_world(self, context: ContextCore, body: RigidBody) -> FloatArray: ...
    def eval_body_spatial_velocity_in_world(self, context: ContextCore, body: RigidBody) -> FloatArray: ...

    # Dynamics
    def calc_inverse_dynamics(
        self,
        context: ContextCore,
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        include_force_elements: bool = False,
        A_WB_array: FloatArray | None = None,
        F_BMo_W_array: FloatArray | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_bias_term(self, context: ContextCore, *, out: FloatArray | None = None) -> FloatArray: ...
    def calc_gravity_generalized_forces(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    def calc_mass_matrix(self, context: ContextCore, *, out: FloatArray | None = None) -> FloatArray: ...
    def calc_mass_matrix_via_inverse_dynamics(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    def calc_coriolis_matrix(self, context: ContextCore, *, out: FloatArray | None = None) -> FloatArray: ...
    def calc_forward_dynamics(
        self,
        context: ContextCore,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_force_elements_contribution(
        self, context: ContextCore, forces: MultibodyForces
    ) -> MultibodyForces: ...

    # Accelerations
    def calc_spatial_accelerations_from_vdot(
        self,
        context: ContextCore,
        known_vdot: npt.ArrayLike,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray: ...

    # Energy and power
    def calc_potential_energy(self, context: ContextCore) -> float: ...
    def calc_kinetic_energy(self, context: ContextCore) -> float: ...
    def calc_conservative_power(self, context: ContextCore) -> float: ...
    def calc_non_conservative_power(self, context: ContextCore) -> float: ...

    # Mass and momentum
    def calc_total_mass(self, context: ContextCore) -> float: ...
    def calc_center_of_mass_position_in_world(self, context: ContextCore) -> FloatArray: ...
    def calc_center_of_mass_translational_velocity_in_world(self, context: ContextCore) -> FloatArray: ...
    def calc_spatial_momentum_in_world_about_point(
        self, context: ContextCore, p_WoP_W: npt.ArrayLike
    ) -> FloatArray: ...

    # Kinematics
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
