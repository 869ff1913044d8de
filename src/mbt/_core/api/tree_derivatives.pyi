from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy.typing as npt

from mbt._core.api.tree_identification import TreeIdentification
from mbt._core.engines.context import ContextCore
from mbt.context import MultibodyForces
from mbt.math.arrays import FloatArray
from mbt.scalars import BatchContext, ScalarContext
from mbt.tree.force_elements import ForceElement

class TreeDerivatives(TreeIdentification):
    @overload
    def calc_inverse_dynamics_derivatives(
        self,
        context: BatchContext,
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        include_force_elements: bool = False,
        out: tuple[FloatArray | None, FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray, FloatArray]: ...
    @overload
    def calc_inverse_dynamics_derivatives(
        self,
        context: ScalarContext,
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        include_force_elements: bool = False,
        out: tuple[Any | None, Any | None, Any | None] | None = None,
    ) -> Any: ...
    @overload
    def calc_inverse_dynamics_derivatives(
        self,
        context: ContextCore,
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        include_force_elements: bool = False,
        out: tuple[FloatArray | None, FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray, FloatArray]: ...
    @overload
    def calc_forward_dynamics_derivatives(
        self,
        context: BatchContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: tuple[FloatArray | None, FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray, FloatArray]: ...
    @overload
    def calc_forward_dynamics_derivatives(
        self,
        context: ScalarContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: tuple[Any | None, Any | None, Any | None] | None = None,
    ) -> Any: ...
    @overload
    def calc_forward_dynamics_derivatives(
        self,
        context: ContextCore,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: tuple[FloatArray | None, FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray, FloatArray]: ...
    @overload
    def calc_constrained_forward_dynamics_derivatives(
        self,
        context: BatchContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        stabilize: bool | Literal[-1] = False,
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]: ...
    @overload
    def calc_constrained_forward_dynamics_derivatives(
        self,
        context: ScalarContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        stabilize: bool | Literal[-1] = False,
    ) -> Any: ...
    @overload
    def calc_constrained_forward_dynamics_derivatives(
        self,
        context: ContextCore,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        stabilize: bool | Literal[-1] = False,
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]: ...
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
