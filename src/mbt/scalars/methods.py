"""Everything that a tree computes on Contexts of other numbers than one state of doubles."""

from __future__ import annotations

from typing import Any, ClassVar

from mbt.scalars import mobilizers
from mbt.scalars.derivatives import ScalarDerivatives

__all__ = ["ScalarMethods"]


class ScalarMethods(ScalarDerivatives):
    """The methods of a tree for Contexts of some numbers.

    Such a Context brings its own: those of `MultibodyTree` hand over to them. Where the compiled ones have a
    pass, these evaluate a `Quantity` by an engine, and put the results together.
    """

    __slots__ = ()

    #: Functions of one mobilizer.
    mobilizers: ClassVar[Any] = mobilizers
