"""Everything that a tree computes on a Context of many states."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from mbt.scalars.methods import ScalarMethods

__all__ = ["BatchMethods", "quiet"]


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function in which NaN and infinity propagate without warnings, as they do in kernels."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return function(*args, **kwargs)

    return call


class BatchMethods(ScalarMethods):
    """The methods of a tree for Contexts with a batch shape.

    Kernels of batches run without the GIL, so each method keeps its Context from other threads as a whole.
    One bad sample must not end the others: it raises no warning.
    """

    __slots__ = ()

    mobilizers: ClassVar[Any] = SimpleNamespace(
        **{name: quiet(f) for name, f in inspect.getmembers(ScalarMethods.mobilizers, inspect.isfunction)}
    )


def _keeping_others_out(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of a Context `c` that other threads cannot use meanwhile."""

    @wraps(method)
    def call(self: BatchMethods, c: Any, *args: Any, **kwargs: Any) -> Any:
        with c._exclusive():
            return method(self, c, *args, **kwargs)

    return call


for _name, _method in inspect.getmembers(ScalarMethods, inspect.isfunction):
    if list(inspect.signature(_method).parameters)[1:2] == ["c"]:
        setattr(BatchMethods, _name, quiet(_keeping_others_out(_method)))
