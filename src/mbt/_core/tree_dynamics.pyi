import numpy.typing as npt

from mbt._core.context import ContextCore, PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.tree_kinematics import TreeKinematics
from mbt.context import MultibodyForces
from mbt.math.arrays import FloatArray

class TreeDynamics(TreeKinematics):
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
        self,
        context: ContextCore,
        forces: MultibodyForces,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> MultibodyForces: ...
