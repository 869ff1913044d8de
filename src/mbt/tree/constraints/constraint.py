"""Constraints: equations between positions that joints do not already obey."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mbt._core.model.element_types import ConstraintType
from mbt.errors import ArgumentTypeError, NotFinalizedError, quote
from mbt.math.arrays import as_bool
from mbt.tree.compiled_numbers import CompiledNumbers
from mbt.tree.context_access import check_context
from mbt.tree.element import as_name
from mbt.tree.fields import NONNEGATIVE, Vector
from mbt.tree.indices import ConstraintIndex
from mbt.tree.joint_limits import frozen

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore
    from mbt.tree.finalization import FinalizationPlan

__all__ = ["STABILIZATION", "Constraint"]

#: Natural frequency [rad/s] and damping ratio with which errors decay, if they do: see `Constraint`.
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
        Natural frequency omega [rad/s] and damping ratio zeta with which its errors e decay where
        stabilization is on: ``edotdot + 2 zeta omega edot + omega**2 e = 0``. At a frequency of zero they
        do not decay.
    """

    kind: ClassVar[str] = "constraint"
    _adder: ClassVar[str] = "add_constraint"
    _section: ClassVar[str] = "constraint"

    # Its type in the core.
    _type: ClassVar[ConstraintType]

    default_stabilization = Vector(
        "natural frequency and damping ratio", "rad/s, 1", NONNEGATIVE, 2, usual=STABILIZATION
    )
    set_default_stabilization, get_stabilization, set_stabilization = default_stabilization.accessors()

    def __init__(
        self, name: str, model_instance: int, numbers: Iterable[float], stabilization: object
    ) -> None:
        if not hasattr(type(self), "_type"):
            raise ArgumentTypeError(f"{type(self).__name__}: use one of mbt's constraints")
        super().__init__(as_name(name, f"{type(self).__name__}: name"), model_instance)
        pair = self._checked_numbers(f"{self.kind} {quote(name)}", stabilization=stabilization)
        self._defaults = frozen(np.array([*pair, *numbers]))

    @property
    def index(self) -> ConstraintIndex:
        """Index of this constraint in its tree."""
        return ConstraintIndex(self._checked_index())

    @property
    def num_equations(self) -> int:
        """Number of equations."""
        return self._type.row.num_equations

    @property
    def first_equation(self) -> int:
        """Row of its first equation among those of all constraints of its tree, which are in index order."""
        before = self.parent_tree.constraints[: self.index]
        return sum(constraint.num_equations for constraint in before)

    # In one Context.

    def is_enabled_in(self, context: ContextCore) -> bool:
        """Return whether computations with `context` obey this constraint, as they do by default."""
        check_context(self, context)
        return not context._is_disabled(self._placed())

    def set_enabled_in(self, context: ContextCore, enabled: bool) -> Self:
        """Set whether computations with `context` obey this constraint.

        Its equations keep their rows; rows of the Jacobian, errors and multipliers are zero while it is
        disabled.
        """
        check_context(self, context)
        context._set_disabled(self._placed(), not self._checked(as_bool, enabled, "enabled"))
        return self

    @property
    @abstractmethod
    def equation(self) -> str:
        """The constraint as readable text."""

    def _check_direction(self, context: ContextCore) -> None:
        """Raise an error where its Jacobian is undefined."""

    @abstractmethod
    def _places(self, plan: FinalizationPlan) -> tuple[int, int, int, int]:
        """Return where it acts: two frames and -1, -1; or two positions and their velocities."""

    def _placed(self) -> int:
        if not self.parent_tree.is_finalized:
            raise NotFinalizedError(f"{self._label} computes only after tree.finalize().")
        return self._index

    def _repr_details(self) -> str:
        """Return what the representation shows besides the name."""
        return f" {self.equation}"
