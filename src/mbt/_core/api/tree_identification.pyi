from typing import Any, overload

import numpy.typing as npt

from mbt._core.api.tree_mass import TreeMass
from mbt._core.engines.context import ContextCore
from mbt.math.arrays import FloatArray
from mbt.scalars import BatchContext, ScalarContext

class TreeIdentification(TreeMass):
    @overload
    def calc_inverse_dynamics_regressor(
        self, context: BatchContext, known_vdot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def calc_inverse_dynamics_regressor(
        self, context: ScalarContext, known_vdot: npt.ArrayLike, *, out: Any | None = None
    ) -> Any: ...
    @overload
    def calc_inverse_dynamics_regressor(
        self, context: ContextCore, known_vdot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def calc_momentum_regressor(
        self, context: BatchContext, p_WoP_W: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def calc_momentum_regressor(
        self, context: ScalarContext, p_WoP_W: npt.ArrayLike, *, out: Any | None = None
    ) -> Any: ...
    @overload
    def calc_momentum_regressor(
        self, context: ContextCore, p_WoP_W: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def calc_kinetic_energy_regressor(
        self, context: BatchContext, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def calc_kinetic_energy_regressor(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_kinetic_energy_regressor(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def calc_potential_energy_regressor(
        self, context: BatchContext, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def calc_potential_energy_regressor(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_potential_energy_regressor(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    def get_inertial_parameters(self, context: ContextCore | None = None) -> FloatArray: ...
