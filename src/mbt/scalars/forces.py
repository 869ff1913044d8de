"""Forces on all bodies and joints in arrays of a scalar type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.autodiff.array import AutoDiffArray
from mbt.context.multibody_forces import MultibodyForces
from mbt.errors import ArgumentTypeError, ArgumentValueError, ShapeError, quote
from mbt.scalars.autodiff_arrays import GrowingArray

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt.scalars.tree import ScalarTree

__all__ = ["ScalarForces"]


class ScalarForces(MultibodyForces):
    """Forces on a tree of a scalar type other than double: ``mbt.MultibodyForces(tree)`` creates them."""

    __slots__ = ("_numbers",)
    _body_forces: Any
    _generalized_forces: Any

    def __init__(self, tree: ScalarTree, batch_shape: int | Sequence[int] = ()) -> None:
        if batch_shape not in ((), []):
            raise ShapeError(
                f"batch_shape: expected (), got {batch_shape}: a tree of {quote(tree.scalar_type.name)} "
                "computes one state at a time"
            )
        numbers = self._numbers = tree._numbers
        self._tree = tree
        # Always the same two arrays, so that holders of them see all changes.
        self._generalized_forces = numbers.writable(numbers.zeros((tree.num_velocities,)))
        self._body_forces = numbers.writable(numbers.zeros((tree.num_bodies, 6)))

    def _make_room(self, like: list[Any]) -> None:
        """Let both arrays hold as many derivatives as others, unless they hold nonzero ones themselves."""
        for array in (self._body_forces, self._generalized_forces):
            if isinstance(array, GrowingArray):
                array.make_room(self._numbers.zeros((), *like).num_derivatives)

    @property
    def body_forces(self) -> Any:
        """Force on each body at its origin, in World: [torque; force], (num_bodies, 6) [N m, N]."""
        return self._body_forces

    @body_forces.setter
    def body_forces(self, value: object) -> None:
        shape = self._body_forces.shape
        self._numbers.overwrite(self._body_forces, self._numbers.as_float_array(value, "body_forces", shape))

    @property
    def generalized_forces(self) -> Any:
        """Force along each velocity, (num_velocities,) [N m or N]."""
        return self._generalized_forces

    @generalized_forces.setter
    def generalized_forces(self, value: object) -> None:
        shape = self._generalized_forces.shape
        self._numbers.overwrite(
            self._generalized_forces, self._numbers.as_float_array(value, "generalized_forces", shape)
        )

    def set_zero(self) -> Self:
        """Set all forces to zero."""
        for array in (self._body_forces, self._generalized_forces):
            array[...] = self._numbers.scalar(0.0)
        return self

    def add_in_forces(self, addend: MultibodyForces) -> Self:
        """Add the forces of another object for the same tree; see `MultibodyForces`."""
        if not isinstance(addend, ScalarForces):
            raise ArgumentTypeError(
                f"addend: expected MultibodyForces of this scalar, got {type(addend).__name__}"
            )
        self._check_fits(addend, "addend")
        self._add_arrays(addend._body_forces, addend._generalized_forces)
        return self

    def _add_arrays(self, F_Bo_W: Any, tau: Any = None) -> None:
        """Add forces on all bodies, (num_bodies, 6), and on all dofs, (num_velocities,)."""
        self._numbers.add(self._body_forces, F_Bo_W)
        if tau is not None:
            self._numbers.add(self._generalized_forces, tau)

    def _add_to_body(self, node: int, F_Bo_W: Any) -> None:
        self._make_room([self._body_forces, F_Bo_W])
        self._numbers.add(self._body_forces[node], F_Bo_W)

    def _add_to_dofs(self, start: int, tau: Any) -> None:
        self._make_room([self._generalized_forces, tau])
        self._numbers.add(self._generalized_forces[start : start + tau.shape[0]], tau)

    def __isub__(self, other: MultibodyForces) -> Self:
        """Subtract other forces from these."""
        if not isinstance(other, ScalarForces):
            return NotImplemented
        return self.add_in_forces(other * -1.0)

    def __imul__(self, factor: Any) -> Self:  # type: ignore[misc]
        """Multiply these forces by a number."""
        if isinstance(factor, MultibodyForces):
            return NotImplemented
        s = self._numbers.as_float(factor, "factor")
        for array in (self._body_forces, self._generalized_forces):
            self._numbers.overwrite(array, self._numbers.scale(array, s))
        return self

    def __itruediv__(self, divisor: Any) -> Self:  # type: ignore[misc]
        """Divide these forces by a number."""
        if isinstance(divisor, MultibodyForces):
            return NotImplemented
        s = self._numbers.as_float(divisor, "divisor")
        if self._numbers.is_zero(s):
            raise ArgumentValueError("divisor: forces cannot be divided by zero")
        for array in (self._body_forces, self._generalized_forces):
            self._numbers.overwrite(array, self._numbers.divide(array, s))
        return self

    def __eq__(self, other: object) -> bool:
        """Return whether `other` holds the same forces for the same tree."""
        if not isinstance(other, ScalarForces):
            return NotImplemented
        return other._tree is self._tree and all(
            _same(a, b)
            for a, b in (
                (self._body_forces, other._body_forces),
                (self._generalized_forces, other._generalized_forces),
            )
        )

    __hash__ = None  # type: ignore[assignment]

    def clone(self) -> ScalarForces:
        """Return independent forces for the same tree with the same values."""
        other = ScalarForces(self._tree)  # type: ignore[arg-type]
        other.body_forces, other.generalized_forces = self._body_forces, self._generalized_forces
        return other

    def check_invariants(self) -> None:
        """Verify the shapes of both arrays."""
        if not self.check_has_right_size_for_model(self._tree):
            raise AssertionError("MultibodyForces: violated: the sizes are those of the tree")


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, AutoDiffArray):
        return np.array_equal(a.value, b.value) and np.array_equal(a.derivatives, b.derivatives)
    return np.array_equal(a, b)
