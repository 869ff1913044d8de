"""A tree in a scalar type other than double."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbt._core.quantities.names import Quantity
from mbt.errors import AlreadyFinalizedError
from mbt.scalars.arrays import ScalarArrays, arrays_of
from mbt.scalars.context import ScalarContext
from mbt.scalars.forces import ScalarForces
from mbt.scalars.tangents import derivatives_of, lift, make_context_along
from mbt.symbolic import ScalarType
from mbt.tree import MultibodyTree

__all__ = ["ScalarTree"]


class ScalarTree(MultibodyTree):
    """A clone of a `MultibodyTree` in another scalar type; ``tree.clone_to_scalar(...)`` creates it.

    Its methods are those of the original. Their results, and the values in its Contexts, are arrays of the
    scalar type: `AutoDiffArray`, or arrays of objects. They compute one state at a time.
    """

    _forces_type = ScalarForces
    _context_type = ScalarContext

    def __init__(self) -> None:
        raise AlreadyFinalizedError(
            "a tree of another scalar type is a clone: build a MultibodyTree, finalize it, and use "
            "clone_to_scalar()"
        )

    @property
    def scalar_type(self) -> ScalarType:
        """The scalar type of this tree."""
        scalar_type: ScalarType = vars(self)["_scalar_type"]
        return scalar_type

    @property
    def _numbers(self) -> ScalarArrays:
        return arrays_of(self.scalar_type)

    if TYPE_CHECKING:

        def create_default_context(self) -> ScalarContext: ...  # type: ignore[override]

    # Methods that need no Context.

    def calc_base_parameters(self, context: Any = None, **options: Any) -> Any:
        if context is None:
            return self.clone_to_scalar("double").calc_base_parameters(**options)
        return super().calc_base_parameters(context, **options)

    def integrate_positions(self, q: Any, v: Any, dt: Any, *, out: Any = None) -> Any:
        step = self._numbers.as_float_array(v, "v", (self.num_velocities,))
        time = self._numbers.as_finite_array(dt, "dt", ())[..., None]
        x = self._numbers.concatenate([step, time])
        return self._evaluate_at(Quantity.INTEGRATED_POSITIONS, q, "q", x, out)

    def difference_positions(self, q0: Any, q1: Any, *, out: Any = None) -> Any:
        x = self._numbers.as_float_array(q1, "q1", (self.num_positions,))
        return self._evaluate_at(Quantity.POSITION_DIFFERENCE, q0, "q0", x, out)

    def normalize_positions(self, q: Any, *, out: Any = None) -> Any:
        return self._evaluate_at(Quantity.NORMALIZED_POSITIONS, q, "q", None, out)

    def _evaluate_at(self, quantity: Quantity, q: Any, name: str, x: Any, out: Any) -> Any:
        context: Any = self.create_default_context()
        context.q = self._numbers.as_float_array(q, name, (self.num_positions,))
        return context._evaluate(quantity, (), x, out)

    # Functions to differentiate elements written in Python: see `mbt.context.tangents`.

    def _make_context_along(self, context: Any, q_rates: Any, v_rates: Any, time_rates: Any) -> Any:
        """Return a Context like one of another tree, with derivatives of q, v and time."""
        return make_context_along(self, context, q_rates, v_rates, time_rates)

    def _lift(self, array: Any, rates: Any) -> Any:
        """Add derivatives, (n, count), along some directions to numbers of another tree, (n,)."""
        return lift(self, array, rates)

    def _derivatives_of(self, result: Any, count: int) -> Any:
        """Return the derivatives of an array along `count` directions."""
        return derivatives_of(self, result, count)

    def __repr__(self) -> str:
        """Show the sizes and the scalar type."""
        return super().__repr__()[:-1] + f", in {self.scalar_type.name}>"
