"""Constraints: equations between positions that joints do not already obey."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mbt.errors import ArgumentTypeError, NotFinalizedError, quote
from mbt.math.arrays import FloatArray, as_nonnegative_array
from mbt.tree.compiled_numbers import CompiledNumbers
from mbt.tree.element import MultibodyElement, as_name
from mbt.tree.indices import ConstraintIndex
from mbt.tree.joint_limits import frozen

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["STABILIZATION", "Constraint"]

#: Natural frequency [rad/s] and damping ratio with which errors die away, where they do: see `Constraint`.
STABILIZATION: tuple[float, float] = (20.0, 1.0)


class Constraint(CompiledNumbers):
    """Equations between positions of a tree. This is the base class of those that mbt has.

    Parameters
    ----------
    name : str
        Name, unique among the constraints of the model instance.
    model_instance : ModelInstanceIndex
        The model instance.
    numbers : sequence of float
        The numbers of its type, in the order of the core.
    stabilization : (frequency, damping ratio), array_like of shape (2,)
        With which natural frequency omega [rad/s] and damping ratio zeta its errors e die away where
        stabilization is on: ``edotdot + 2 zeta omega edot + omega**2 e = 0``. At a frequency of zero they
        stay.
    """

    kind: ClassVar[str] = "constraint"
    _adder: ClassVar[str] = "add_constraint"
    _section: ClassVar[str] = "constraint"

    #: Number of equations.
    num_equations: ClassVar[int]

    # How many numbers it has.
    _num_numbers: ClassVar[int]

    def __init__(
        self, name: str, model_instance: int, numbers: Iterable[float], stabilization: object
    ) -> None:
        if not hasattr(type(self), "num_equations"):
            raise ArgumentTypeError(f"{type(self).__name__}: use one of the constraints that mbt has")
        super().__init__(as_name(name, f"{type(self).__name__}: name"), model_instance)
        pair = as_nonnegative_array(stabilization, f"{self.kind} {quote(name)}: stabilization", (2,))
        self._defaults = frozen(np.array([*pair, *numbers]))

    @property
    def index(self) -> ConstraintIndex:
        """Index of this constraint in its tree."""
        return ConstraintIndex(self._checked_index())

    @property
    def first_equation(self) -> int:
        """Row of its first equation among those of all constraints of its tree, which are in index order."""
        before = self.parent_tree.constraints[: self.index]
        return sum(constraint.num_equations for constraint in before)

    @property
    def default_stabilization(self) -> FloatArray:
        """Natural frequency [rad/s] and damping ratio, shape (2,), read-only."""
        return self._defaults[:2]

    def set_default_stabilization(self, stabilization: object) -> Self:
        """Set the natural frequency [rad/s] and the damping ratio, shape (2,), before ``finalize()``."""
        pair = as_nonnegative_array(stabilization, f"{self._label}: stabilization", (2,))
        return self._set_defaults(0, pair, "set_stabilization")

    @property
    @abstractmethod
    def equation(self) -> str:
        """What the constraint says, for people to read."""

    @abstractmethod
    def _needs(self) -> Iterable[tuple[MultibodyElement, str]]:
        """Return the elements that it refers to, with the names of its arguments."""

    def _set_defaults(self, first: int, values: Any, setter: str) -> Self:
        self._check_not_finalized("the default constants", "Set them before, or on tree.edit().")
        return super()._set_defaults(first, values, setter)

    def _placed(self) -> int:
        if not self.parent_tree.is_finalized:
            raise NotFinalizedError(f"{self._label} computes only after tree.finalize().")
        return self._index

    def _repr_details(self) -> str:
        """Return what the representation tells beyond the name."""
        return f" {self.equation}"
