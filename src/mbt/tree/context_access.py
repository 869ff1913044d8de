"""How elements read and write their own part of a Context."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt.errors import ArgumentTypeError, ContextMismatchError, shape_error
from mbt.math.arrays import FloatArray, as_float_array

if TYPE_CHECKING:
    from mbt._core.context import ContextCore
    from mbt.tree.element import MultibodyElement

__all__ = ["check_context", "get_parameter", "get_scalar_parameter", "replace_slice", "set_parameter"]

_MISSING = object()


def check_context(element: MultibodyElement, context: ContextCore) -> None:
    """Check that `context` belongs to the tree that owns `element`.

    Raises
    ------
    ArgumentTypeError
        When it is no Context.
    ContextMismatchError
        When it belongs to another tree.
    """
    tree = element.parent_tree
    context_tree = getattr(context, "tree", _MISSING)
    if context_tree is tree:
        return
    if context_tree is _MISSING:
        raise ArgumentTypeError(
            f"context: expected a Context (see tree.create_default_context()), got {type(context).__name__}"
        )
    raise ContextMismatchError(
        f"context: expected a Context of the tree of {element._label}, got one of another tree"
    )


def get_parameter(element: MultibodyElement, context: ContextCore, section: str, index: int) -> FloatArray:
    """Return a copy of the numbers that one element has in a section of the parameters."""
    check_context(element, context)
    return context._get_parameter(section, index)


def get_scalar_parameter(element: MultibodyElement, context: ContextCore, section: str, index: int) -> float:
    """Return the one number that an element has in a section of the parameters."""
    return float(get_parameter(element, context, section, index).item())


def set_parameter(
    element: MultibodyElement, context: ContextCore, section: str, index: int, values: FloatArray | float
) -> None:
    """Write the numbers of one element; they were checked before."""
    check_context(element, context)
    context._set_parameter(section, index, np.asarray(values, dtype=np.float64))


def replace_slice(array: FloatArray, start: int, stop: int, values: object, argument: str) -> FloatArray:
    """Return a copy of `array` with other values in ``[..., start:stop]``.

    Parameters
    ----------
    array : ndarray, shape (..., n)
        Positions or velocities of a Context, batch axes in front.
    start, stop : int
        Where the values go.
    values : array_like, shape (stop - start,) or (..., stop - start)
        One set of values for all samples of a batch, or one for each.
    argument : str
        Name of `values` in error messages.
    """
    new = as_float_array(values, argument, (..., stop - start))
    if new.ndim > 1 and new.shape[:-1] != array.shape[:-1]:
        raise shape_error(argument, (*array.shape[:-1], stop - start), new.shape)
    changed = array.copy()
    changed[..., start:stop] = new
    return changed
