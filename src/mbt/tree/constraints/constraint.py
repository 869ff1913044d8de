"""Constraints: equations between positions that joints do not already obey."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from mbt.errors import ArgumentTypeError
from mbt.tree.element import MultibodyElement, as_name
from mbt.tree.indices import ConstraintIndex

__all__ = ["Constraint"]


class Constraint(MultibodyElement):
    """Equations between positions of a tree. This is the base class of those that mbt has.

    Parameters
    ----------
    name : str
        Name, unique among the constraints of the model instance.
    model_instance : ModelInstanceIndex
        The model instance.
    """

    kind: ClassVar[str] = "constraint"
    _adder: ClassVar[str] = "add_constraint"

    #: Number of equations.
    num_equations: ClassVar[int]

    def __init__(self, name: str, model_instance: int) -> None:
        if not hasattr(type(self), "num_equations"):
            raise ArgumentTypeError(f"{type(self).__name__}: use one of the constraints that mbt has")
        super().__init__(as_name(name, f"{type(self).__name__}: name"), model_instance)

    @property
    def index(self) -> ConstraintIndex:
        """Index of this constraint in its tree."""
        return ConstraintIndex(self._checked_index())

    @property
    @abstractmethod
    def equation(self) -> str:
        """What the constraint says, for people to read."""

    @abstractmethod
    def _needs(self) -> Iterable[tuple[MultibodyElement, str]]:
        """Return the elements that it refers to, with the names of its arguments."""
