from collections.abc import Sequence

import numpy.typing as npt

from mbt._core.context import ContextCore
from mbt._core.tree_identification import TreeIdentification
from mbt.context import MultibodyForces
from mbt.math.arrays import FloatArray
from mbt.tree.force_elements import ForceElement

class TreeDerivatives(TreeIdentification):
    def calc_inverse_dynamics_derivatives(
        self,
        context: ContextCore,
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        include_force_elements: bool = True,
        out: tuple[FloatArray | None, FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray, FloatArray]: ...
    def calc_forward_dynamics_derivatives(
        self,
        context: ContextCore,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: tuple[FloatArray | None, FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray, FloatArray]: ...
    def _calc_user_generalized_forces(
        self, context: ContextCore, elements: Sequence[ForceElement] | None = None
    ) -> FloatArray: ...
