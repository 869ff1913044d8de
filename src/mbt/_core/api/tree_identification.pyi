import numpy.typing as npt

from mbt._core.api.tree_mass import TreeMass
from mbt._core.engines.context import ContextCore
from mbt.context.context import A, ContextOf
from mbt.math.arrays import FloatArray

class TreeIdentification(TreeMass):
    def calc_inverse_dynamics_regressor(
        self, context: ContextOf[A], known_vdot: npt.ArrayLike, *, out: A | None = None
    ) -> A: ...
    def calc_momentum_regressor(
        self, context: ContextOf[A], p_WoP_W: npt.ArrayLike, *, out: A | None = None
    ) -> A: ...
    def calc_kinetic_energy_regressor(self, context: ContextOf[A], *, out: A | None = None) -> A: ...
    def calc_potential_energy_regressor(self, context: ContextOf[A], *, out: A | None = None) -> A: ...
    def get_inertial_parameters(self, context: ContextCore | None = None) -> FloatArray: ...
