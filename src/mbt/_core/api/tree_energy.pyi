from typing import Any, overload

from mbt._core.api.tree_derivatives import TreeDerivatives
from mbt._core.engines.caches import PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.engines.context import ContextCore
from mbt.context.energy_report import EnergyReport
from mbt.context.multibody_forces import MultibodyForces
from mbt.math.arrays import FloatArray
from mbt.scalars import BatchContext, ScalarContext

class TreeCore(TreeDerivatives):
    @overload
    def calc_potential_energy(self, context: BatchContext) -> FloatArray: ...  # type: ignore[overload-overlap]
    @overload
    def calc_potential_energy(self, context: ScalarContext) -> Any: ...
    @overload
    def calc_potential_energy(self, context: ContextCore) -> float: ...
    @overload
    def calc_kinetic_energy(self, context: BatchContext) -> FloatArray: ...  # type: ignore[overload-overlap]
    @overload
    def calc_kinetic_energy(self, context: ScalarContext) -> Any: ...
    @overload
    def calc_kinetic_energy(self, context: ContextCore) -> float: ...
    @overload
    def calc_conservative_power(self, context: BatchContext) -> FloatArray: ...  # type: ignore[overload-overlap]
    @overload
    def calc_conservative_power(self, context: ScalarContext) -> Any: ...
    @overload
    def calc_conservative_power(self, context: ContextCore) -> float: ...
    @overload
    def calc_non_conservative_power(self, context: BatchContext) -> FloatArray: ...  # type: ignore[overload-overlap]
    @overload
    def calc_non_conservative_power(self, context: ScalarContext) -> Any: ...
    @overload
    def calc_non_conservative_power(self, context: ContextCore) -> float: ...
    def calc_energy_report(self, context: ContextCore) -> EnergyReport: ...
    def _calc_force_element(
        self,
        context: ContextCore,
        index: int,
        what: str,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> Any: ...
    def _calc_forces_of_element(self, context: ContextCore, index: int) -> FloatArray: ...
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
