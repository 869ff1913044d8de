import numpy.typing as npt

from mbt._core.api.tree_kinematics import TreeKinematics
from mbt._core.engines.caches import PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.engines.context import ContextCore
from mbt.context import MultibodyForces
from mbt.context.context import A, ContextOf
from mbt.math.arrays import FloatArray

class TreeDynamics(TreeKinematics):
    def calc_inverse_dynamics(
        self,
        context: ContextOf[A],
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        include_force_elements: bool = False,
        multipliers: npt.ArrayLike | None = None,
        A_WB_array: A | None = None,
        F_BMo_W_array: A | None = None,
        out: A | None = None,
    ) -> A: ...
    def calc_bias_term(self, context: ContextOf[A], *, out: A | None = None) -> A: ...
    def calc_gravity_generalized_forces(self, context: ContextOf[A], *, out: A | None = None) -> A: ...
    def calc_mass_matrix(self, context: ContextOf[A], *, out: A | None = None) -> A: ...
    def calc_mass_matrix_via_inverse_dynamics(self, context: ContextOf[A], *, out: A | None = None) -> A: ...
    def calc_coriolis_matrix(self, context: ContextOf[A], *, out: A | None = None) -> A: ...
    def calc_forward_dynamics(
        self,
        context: ContextOf[A],
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: A | None = None,
    ) -> A: ...
    def _calc_inverse_dynamics_with(
        self,
        context: ContextCore,
        known_vdot: npt.ArrayLike,
        multipliers: npt.ArrayLike,
        external_forces: MultibodyForces | None,
    ) -> FloatArray: ...
    def calc_force_elements_contribution(
        self,
        context: ContextCore,
        forces: MultibodyForces,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> MultibodyForces: ...
