from mbt._core.context import ContextCore, PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.tree_derivatives import TreeDerivatives
from mbt.context.energy_report import EnergyReport
from mbt.context.multibody_forces import MultibodyForces

class TreeCore(TreeDerivatives):
    def calc_potential_energy(self, context: ContextCore) -> float: ...
    def calc_kinetic_energy(self, context: ContextCore) -> float: ...
    def calc_conservative_power(self, context: ContextCore) -> float: ...
    def calc_non_conservative_power(self, context: ContextCore) -> float: ...
    def calc_energy_report(self, context: ContextCore) -> EnergyReport: ...
    def _calc_force_element(
        self,
        context: ContextCore,
        index: int,
        what: str,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> float: ...
    def _add_force_element(
        self,
        context: ContextCore,
        index: int,
        pc: PositionKinematicsCache | None,
        vc: VelocityKinematicsCache | None,
        forces: MultibodyForces,
    ) -> None: ...
    def _add_gravity(
        self, context: ContextCore, pc: PositionKinematicsCache | None, forces: MultibodyForces
    ) -> None: ...
    def _calc_gravity(
        self,
        context: ContextCore,
        what: str,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> float: ...
