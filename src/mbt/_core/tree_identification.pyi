import numpy.typing as npt

from mbt._core.context import ContextCore
from mbt._core.tree_mass import TreeMass
from mbt.math.arrays import FloatArray

class TreeIdentification(TreeMass):
    def calc_inverse_dynamics_regressor(
        self, context: ContextCore, known_vdot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    def calc_kinetic_energy_regressor(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    def calc_potential_energy_regressor(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    def get_inertial_parameters(self, context: ContextCore | None = None) -> FloatArray: ...
