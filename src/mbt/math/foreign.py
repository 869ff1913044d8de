"""Numbers of other scalars than double among arguments: symbols, fractions, numbers with derivatives.

What computes with them is built on top of this room, so it is brought in from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from mbt.math.arrays import is_foreign

__all__ = ["bring_numbers", "computing_in", "numbers_among"]

_present: ContextVar[Any] = ContextVar("present", default=None)
_brought: list[Callable[[Any, Any], Any]] = []


def bring_numbers(find: Callable[[Any, Any], Any]) -> None:
    """Take the function that finds the `Numbers` of some arguments, given those of the present Context."""
    _brought[:] = [find]


@contextmanager
def computing_in(numbers: Any) -> Iterator[None]:
    """Let functions of this room compute in these `Numbers`: those of a Context that runs code of users.

    Objects alone do not tell their scalar: one class can have two, with functions of their own.
    """
    token = _present.set(numbers)
    try:
        yield
    finally:
        _present.reset(token)


def numbers_among(*values: Any) -> Any:
    """Return the `Numbers` that compute with some arguments; None where all of these are doubles."""
    if not any(map(is_foreign, values)):
        return None
    (find,) = _brought
    return find(values, _present.get())
