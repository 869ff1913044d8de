"""Force elements whose forces are computed in the compiled core."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mbt.errors import NotFinalizedError
from mbt.math.arrays import FloatArray
from mbt.tree.context_access import check_context, get_parameter, numbers_of, set_parameter
from mbt.tree.element import MultibodyElement
from mbt.tree.force_elements.force_element import ForceElement
from mbt.tree.joint_limits import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore, PositionKinematicsCache, VelocityKinematicsCache
    from mbt._core.forces.force_elements import ForceElementType
    from mbt.tree.finalization import FinalizationPlan

__all__ = ["CompiledForceElement"]


class CompiledForceElement(ForceElement):
    """A force element of the compiled core: its numbers are parameters of each Context.

    Parameters
    ----------
    model_instance : ModelInstanceIndex
        The model instance.
    defaults : ndarray, shape (num_parameters,)
        The numbers of a new Context.
    """

    # What it is, for the core.
    _type: ClassVar[ForceElementType]

    def __init__(self, model_instance: int, defaults: FloatArray) -> None:
        super().__init__(model_instance)
        self._defaults = frozen(defaults)

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
        return self.parent_tree._calc_force_element(context, self._core_index, what, pc, vc)

    # For the tree.

    @property
    def _is_user_defined(self) -> bool:
        return False

    @abstractmethod
    def _needs(self) -> Iterator[tuple[MultibodyElement, str]]:
        """Yield the elements that must be of the same tree, each with the name it has here."""

    @abstractmethod
    def _places(self, plan: FinalizationPlan) -> tuple[int, int]:
        """Return where it acts, as its type in the core defines."""

    def _default_parameters(self) -> FloatArray:
        """Return the numbers of a new Context, in the order of the core."""
        return self._defaults

    def _describe_singularity(self) -> str:
        """Return why there are positions in which the force is undefined."""
        raise AssertionError(f"{self!r} is never singular")

    def _get_numbers(self, context: ContextCore) -> FloatArray:
        """Return the numbers that `context` has, in the order of the core; a copy."""
        check_context(self, context)
        return get_parameter(self, context, "force_element", self._placed())

    def _set_number(self, context: ContextCore, index: int, value: float) -> None:
        """Write one of the numbers; it was checked before."""
        self._set_numbers(context, index, numbers_of(self, context).stack([value]))

    def _set_numbers(self, context: ContextCore, first: int, values: FloatArray) -> None:
        """Write some of the numbers, from entry `first` on; they were checked before."""
        part = slice(first, first + values.shape[-1])
        changed = numbers_of(self, context).replaced(self._get_numbers(context), part, values)
        set_parameter(self, context, "force_element", self._placed(), changed)

    def _set_defaults(self, first: int, values: Any, setter: str) -> Self:
        """Write some of the numbers of a new Context, which were checked; `setter` is for those of one."""
        self._check_not_finalized("the default constants", f"Set those of a Context with {setter}().")
        defaults = self._defaults.copy()
        defaults[first : first + np.size(values)] = values
        self._defaults = frozen(defaults)
        return self

    def _placed(self) -> int:
        if self._core_index < 0:
            raise NotFinalizedError(f"{self._label} computes only after tree.finalize().")
        return self._core_index
