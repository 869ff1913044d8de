"""Arguments that are not doubles of one state: symbols, fractions, numbers with derivatives, several states.

The code that computes with them depends on this package, so it registers itself here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from mbt.math.arrays import is_foreign
from mbt.math.pose_arguments import has_leading_axes

__all__ = ["bring_numbers", "computing_in", "numbers_among", "numbers_for"]

_present: ContextVar[Any] = ContextVar("present", default=None)
_brought: list[Callable[[Any, Any], Any]] = []


def bring_numbers(find: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Register the function that finds the `Numbers` of some arguments, given those of the current Context.

    Each argument comes with the number of axes that it has for one state.
    """
    _brought[:] = [find]
    return find


@contextmanager
def computing_in(numbers: Any) -> Iterator[None]:
    """Let functions of `mbt.math` compute in these `Numbers`: those of a Context that runs users' code.

    Objects alone do not determine their scalar type: one class can have two, each with its own functions.
    """
    token = _present.set(numbers)
    try:
        yield
    finally:
        _present.reset(token)


def numbers_among(*values: Any) -> Any:
    """Return the `Numbers` of some values; None if all of these are doubles."""
    return _find([(value, 0) for value in values]) if any(map(is_foreign, values)) else None


def numbers_for(*arguments: tuple[Any, int]) -> Any:
    """Return the `Numbers` that compute with some arguments; None if these are doubles of one state.

    Each argument comes with the number of axes that it has for one state.
    """
    if any(is_foreign(value) or has_leading_axes(value, ndim) for value, ndim in arguments):
        return _find(list(arguments))
    return None


def _find(arguments: list[tuple[Any, int]]) -> Any:
    (find,) = _brought
    return find(arguments, _present.get())
