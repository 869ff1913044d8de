from collections.abc import Sequence
from typing import Literal

import numpy.typing as npt

from mbt._core.api.tree_identification import TreeIdentification
from mbt._core.engines.context import ContextCore
from mbt.context import MultibodyForces
from mbt.context.context import A, ContextOf
from mbt.math.arrays import FloatArray
from mbt.tree.force_elements import ForceElement

class TreeDerivatives(TreeIdentification):
    def calc_inverse_dynamics_derivatives(
        self,
        context: ContextOf[A],
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        include_force_elements: bool = False,
        out: tuple[A | None, A | None, A | None] | None = None,
    ) -> tuple[A, A, A]: ...
    def calc_forward_dynamics_derivatives(
        self,
        context: ContextOf[A],
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: tuple[A | None, A | None, A | None] | None = None,
    ) -> tuple[A, A, A]: ...
    def calc_constrained_forward_dynamics_derivatives(
        self,
        context: ContextOf[A],
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        stabilize: bool | Literal[-1] = False,
    ) -> tuple[A, A, A, A, A, A]: ...
    def _calc_constrained_dynamics_rates(
        self,
        context: ContextCore,
        tau_applied: npt.ArrayLike | None,
        external_forces: MultibodyForces | None,
        stabilize: int,
    ) -> tuple[FloatArray, FloatArray, FloatArray]: ...
    def _calc_user_generalized_forces(
        self, context: ContextCore, elements: Sequence[ForceElement] | None = None
    ) -> FloatArray: ...
