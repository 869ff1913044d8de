"""A tree that computes in another scalar than double."""

from __future__ import annotations

from typing import Any

from mbt.errors import AlreadyFinalizedError
from mbt.scalars import mobilizers
from mbt.scalars.context import ScalarContext
from mbt.scalars.derivatives import ScalarDerivatives
from mbt.scalars.forces import ScalarForces
from mbt.scalars.tangents import derivatives_of, make_context_along
from mbt.symbolic import ScalarType

__all__ = ["ScalarTree"]


class ScalarTree(ScalarDerivatives):
    """A clone of a `MultibodyTree` in another scalar; ``tree.clone_to_scalar(...)`` makes it.

    Its methods are those of the original. What they return, and what its Contexts hold, are arrays of the
    scalar: `AutoDiffArray`, or arrays of objects. They compute one state at a time.
    """

    _mobilizer_motion = mobilizers
    _forces_type = ScalarForces
    _context_type = ScalarContext

    def __init__(self) -> None:
        raise AlreadyFinalizedError(
            "a tree of another scalar is a clone: build a MultibodyTree, finalize it, and use "
            "clone_to_scalar()"
        )

    @property
    def scalar_type(self) -> ScalarType:
        """The scalar that this tree computes in."""
        scalar_type: ScalarType = vars(self)["_scalar_type"]
        return scalar_type

    # What elements written in Python are differentiated with: see `mbt.context.tangents`.

    def _make_context_along(self, context: Any, q_rates: Any, v_rates: Any, time_rates: Any) -> Any:
        """Return a Context like one of another tree, with derivatives of q, v and time."""
        return make_context_along(self, context, q_rates, v_rates, time_rates)

    def _derivatives_of(self, result: Any, count: int) -> Any:
        """Return the derivatives of an array along so many directions."""
        return derivatives_of(self, result, count)

    def __repr__(self) -> str:
        """Return the sizes and the scalar."""
        return super().__repr__()[:-1] + f", in {self.scalar_type.name}>"
