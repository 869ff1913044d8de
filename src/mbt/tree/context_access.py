"""Access of elements to their own part of a Context."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from mbt._core.engines.context import ContextCore
from mbt.errors import ArgumentTypeError, ContextMismatchError, ForeignElementError
from mbt.math.arrays import FloatArray
from mbt.math.numbers import Numbers
from mbt.tree.element import check_constructed

if TYPE_CHECKING:
    from mbt.tree.element import MultibodyElement

__all__ = [
    "Forces",
    "check_context",
    "check_forces",
    "get_parameter",
    "get_scalar_parameter",
    "numbers_of",
    "raise_context_mismatch",
    "raise_foreign_element",
    "replace_slice",
    "set_parameter",
]


class Forces:
    """Base class of `MultibodyForces` with the members that elements use."""

    # Not a Protocol: isinstance would look up every member at each call.
    __slots__ = ()

    @property
    @abstractmethod
    def tree(self) -> object:
        """The tree that they act on."""

    @property
    @abstractmethod
    def batch_shape(self) -> tuple[int, ...]:
        """Leading axes of both arrays."""

    @property
    @abstractmethod
    def body_forces(self) -> FloatArray:
        """Force on each body at its origin, in World, (..., num_bodies, 6)."""

    @property
    @abstractmethod
    def generalized_forces(self) -> FloatArray:
        """Force along each velocity, (..., num_velocities)."""

    @abstractmethod
    def _add_to_body(self, node: int, F_Bo_W: FloatArray) -> None:
        """Add a force on one body, (..., 6)."""

    @abstractmethod
    def _add_to_dof(self, dof: int, tau: FloatArray | float) -> None:
        """Add a force along one velocity, (...)."""

    @abstractmethod
    def _add_to_dofs(self, start: int, tau: FloatArray) -> None:
        """Add forces along the velocities from `start` on, (..., n)."""


class Related(Protocol):
    """The part of a tree that messages about another one need."""

    def _relation_to(self, other: Any) -> str: ...


def check_forces(element: MultibodyElement, forces: object) -> None:
    """Check that `forces` are for the tree that owns `element`.

    Raises
    ------
    ArgumentTypeError
        When they are not MultibodyForces.
    ContextMismatchError
        When they are for another tree.
    """
    tree = element.parent_tree
    if not isinstance(forces, Forces):
        raise ArgumentTypeError(f"forces: expected a MultibodyForces, got {type(forces).__name__}")
    if forces.tree is not tree:
        raise ContextMismatchError(
            f"forces: expected forces of the tree of {element._label}, got those of another tree"
        )


def check_context(element: MultibodyElement, context: object) -> None:
    """Check that `context` belongs to the tree that owns `element`.

    Raises
    ------
    ArgumentTypeError
        When it is not a Context.
    ContextMismatchError
        When it belongs to another tree.
    """
    # An element without a tree shares none with any Context; `parent_tree` raises the error.
    if not isinstance(context, ContextCore) or context.tree is not element._tree:
        raise_context_mismatch(element.parent_tree, context, f"the tree of {element._label}")


def raise_context_mismatch(tree: Related, context: object, wanted: str = "this tree") -> NoReturn:
    """Raise the error for a value that is not a Context of `tree`; messages call the tree `wanted`."""
    if not isinstance(context, ContextCore):
        raise ArgumentTypeError(
            f"context: expected a Context made by tree.create_default_context(), got {type(context).__name__}"
        )
    raise ContextMismatchError(
        f"context: expected a Context of {wanted}, got one of {tree._relation_to(context.tree)}; "
        "make it with create_default_context() of the tree that you call."
    )


def raise_foreign_element(tree: Related, element: MultibodyElement, expected: str) -> NoReturn:
    """Raise the error for an element of another tree or none; for clones, say how to find its own."""
    if element._tree is None:
        check_constructed(element, expected.partition(":")[0])
        raise ForeignElementError(
            f"{expected} of this tree, got {element._label}, which belongs to no tree yet: "
            f"add it with tree.{element._adder}()"
        )
    relation = tree._relation_to(element.parent_tree)
    hint = "" if relation == "another tree" else "; get_variant() of this tree gives its own"
    raise ForeignElementError(f"{expected} of this tree, got {element._label} of {relation}{hint}")


def numbers_of(element: MultibodyElement, context: ContextCore) -> Numbers:
    """Check that `context` belongs to the tree; return the checks and conversions of its numbers."""
    check_context(element, context)
    return context._numbers


def get_parameter(element: MultibodyElement, context: ContextCore, section: str, index: int) -> FloatArray:
    """Return a copy of the numbers of one element in a section of the parameters."""
    check_context(element, context)
    return context._get_parameter(section, index)


def get_scalar_parameter(element: MultibodyElement, context: ContextCore, section: str, index: int) -> float:
    """Return the only number of an element in a section of the parameters."""
    check_context(element, context)
    return context._get_number(section, index)


def set_parameter(
    element: MultibodyElement, context: ContextCore, section: str, index: int, values: FloatArray | float
) -> None:
    """Write the numbers of one element; they were checked before."""
    check_context(element, context)
    context._set_parameter(section, index, values)


def replace_slice(
    numbers: Numbers, array: FloatArray, start: int, stop: int, values: object, argument: str
) -> FloatArray:
    """Return a copy of `array` with other values in ``[start:stop]``.

    Parameters
    ----------
    numbers : Numbers
        Those of the Context.
    array : ndarray, shape (n,)
        Positions or velocities of a Context.
    start, stop : int
        Where the values go.
    values : array_like, shape (stop - start,)
        The new values.
    argument : str
        Name of `values` in error messages.
    """
    new = numbers.as_float_array(values, argument, (stop - start,))
    changed: FloatArray = numbers.replaced(array, slice(start, stop), new)
    return changed
