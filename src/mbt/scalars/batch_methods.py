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

    mobilizers: ClassVar[Any] = SimpleNamespace()


def _keeping_others_out(function: Callable[..., Any], place: int) -> Callable[..., Any]:
    """Return a function during which other threads cannot use the Context at this place of its arguments."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with args[place]._exclusive():
            return function(*args, **kwargs)

    return call


for _of, _to in ((ScalarMethods, BatchMethods), (ScalarMethods.mobilizers, BatchMethods.mobilizers)):
    for _name, _function in inspect.getmembers(_of, inspect.isfunction):
        _parameters = list(inspect.signature(_function).parameters)
        if "c" in _parameters[:2] and _function.__module__.startswith("mbt.scalars"):
            setattr(_to, _name, quiet(_keeping_others_out(_function, _parameters.index("c"))))
