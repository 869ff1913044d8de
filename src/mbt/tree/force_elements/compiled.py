"""Force elements whose forces are computed in the compiled core."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mbt.errors import NotFinalizedError
from mbt.tree.compiled_numbers import CompiledNumbers
from mbt.tree.context_access import check_context
from mbt.tree.force_elements.force_element import ForceElement
from mbt.tree.joint_limits import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbt._core.engines.caches import PositionKinematicsCache, VelocityKinematicsCache
    from mbt._core.engines.context import ContextCore
    from mbt._core.model.element_types import ForceElementType
    from mbt.tree.finalization import FinalizationPlan

__all__ = ["CompiledForceElement"]


class CompiledForceElement(CompiledNumbers, ForceElement):
    """A force element of the compiled core: its numbers are parameters of each Context.

    Parameters
    ----------
    model_instance : ModelInstanceIndex
        The model instance.
    defaults : array_like, shape (num_parameters,)
        The numbers of a new Context.
    """

    _section: ClassVar[str] = "force_element"

    # Its type in the core.
    _type: ClassVar[ForceElementType]

    def __init__(self, model_instance: int, defaults: Sequence[float]) -> None:
        super().__init__(model_instance)
        self._defaults = frozen(np.array(defaults, dtype=np.float64))

    def calc_and_add_force_contribution(
        self,
        context: ContextCore,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        forces: Any = None,
    ) -> None:
        """Add the forces of this element alone to `forces`; see `ForceElement`."""
        check_context(self, context)
        self.parent_tree._add_force_element(context, self._core_index, pc, vc, forces)

    def calc_potential_energy(self, context: ContextCore, pc: PositionKinematicsCache | None = None) -> float:
        """Return the potential energy that this element stores [J]; see `ForceElement`."""
        return self._calc("potential_energy", context, pc, None)

    def calc_conservative_power(
        self,
        context: ContextCore,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> float:
        """Return the power of conservative forces [W]: minus the rate of the energy; see `ForceElement`."""
        return self._calc("conservative_power", context, pc, vc)

    def calc_non_conservative_power(
        self,
        context: ContextCore,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> float:
        """Return the power of the other forces [W]; see `ForceElement`."""
        return self._calc("non_conservative_power", context, pc, vc)

    def _calc(
        self,
        what: str,
        context: ContextCore,
        pc: PositionKinematicsCache | None,
        vc: VelocityKinematicsCache | None,
    ) -> float:
        check_context(self, context)
        number: float = self.parent_tree._calc_force_element(context, self._core_index, what, pc, vc)
        return number

    # For the tree.

    @property
    def _is_user_defined(self) -> bool:
        return False

    @abstractmethod
    def _places(self, plan: FinalizationPlan) -> tuple[int, int]:
        """Return where it acts, as its type in the core defines."""

    def _describe_singularity(self) -> str:
        """Return why there are positions in which the force is undefined."""
        raise AssertionError(f"{self!r} is never singular")

    def _placed(self) -> int:
        if self._core_index < 0:
            raise NotFinalizedError(f"{self._label} computes only after tree.finalize().")
        return self._core_index
