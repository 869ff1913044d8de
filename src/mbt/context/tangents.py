"""Clones of a tree with derivatives as scalars, used to differentiate elements written in Python."""

from __future__ import annotations

import types
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.api.tree_energy import TreeCore
from mbt.symbolic import ScalarType, dual, get_scalar_type
from mbt.tree.element import MultibodyElement
from mbt.tree.parameters import CacheEntry

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.tree import MultibodyTree

__all__ = ["make_tangent_context", "tangent_tree"]


def make_tangent_context(context: Context, q_rates: Any, v_rates: Any, time_rates: Any) -> Any:
    """Return a Context like another one, in which q, v and time have derivatives.

    It belongs to a clone of the tree, whose scalars are the tree's with derivatives.

    Parameters
    ----------
    context : Context
        The values.
    q_rates, v_rates, time_rates : array, shape (num_positions, n), (num_velocities, n), (n,), or None
        Derivatives of q, v and time along n directions; None means zero.
    """
    twin: Any = tangent_tree(context.tree)
    return twin._make_context_along(context, q_rates, v_rates, time_rates)


def tangent_tree(tree: MultibodyTree) -> MultibodyTree:
    """Return a clone with derivatives, reused until an element changes."""
    leaves = list(_leaves_of_elements(tree))
    known = tree._tangent
    if known is None or not _are_same(known[1], leaves):
        known = tree._tangent = (tree.clone_to_scalar(_with_derivatives(tree.scalar_type)), leaves)
    return known[0]


def _with_derivatives(scalar: ScalarType) -> ScalarType:
    return get_scalar_type("autodiff") if scalar.name == "double" else dual(scalar)


def _are_same(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(
        x is y or (type(x) is type(y) and type(x) in _VALUES and x == y) for x, y in zip(a, b, strict=True)
    )


# A clone has copies of the attributes of elements, which users may change even after finalize().

_VALUES = frozenset((int, float, complex, str, bytes, bool))


class _Unknown:
    """Stands for an object whose changes cannot be detected; no two instances are equal."""


def _leaves_of_elements(tree: MultibodyTree) -> Iterator[Any]:
    """Yield the leaves of the attributes of all elements whose classes are defined outside mbt."""
    seen: dict[int, Any] = {}
    for element in tree._elements.in_order():
        if not type(element).__module__.startswith("mbt."):
            yield from _leaves(vars(element), seen)


def _leaves(value: Any, seen: dict[int, Any]) -> Iterator[Any]:
    """Yield the leaves of a value: the same leaves mean the same value."""
    if value is None or type(value) in _VALUES or isinstance(value, _ATOMS):
        yield value
    elif type(value) is np.ndarray and value.dtype != object:
        yield from (value.dtype.str, str(value.shape), value.tobytes())
    elif id(value) in seen:
        yield value
    else:
        # Keep the object, so that no other object gets its id.
        seen[id(value)] = value
        yield type(value)
        for part in _parts(value):
            yield from _leaves(part, seen)


def _parts(value: Any) -> list[Any]:
    """Return the parts from which a copy of a value would be made."""
    kind = type(value)
    if kind in (list, tuple, set, frozenset):
        return [len(value), *value]
    if kind is dict:
        return [len(value), *value, *value.values()]
    if kind is types.MethodType:
        return [value.__func__, value.__self__]
    own_way = [
        name for name in ("__reduce__", "__reduce_ex__") if getattr(kind, name) is not getattr(object, name)
    ]
    if own_way:
        return [_Unknown()]
    try:
        reduced: Any = object.__reduce_ex__(value, 2)
    except TypeError:
        return [_Unknown()]
    _, arguments, state, items, pairs = reduced
    return [arguments, state, list(items or ()), dict(pairs or ())]


_ATOMS = (
    MultibodyElement,
    TreeCore,
    CacheEntry,
    ScalarType,
    Enum,
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.ModuleType,
    np.ufunc,
    _Unknown,
)
