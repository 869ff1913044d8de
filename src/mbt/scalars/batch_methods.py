"""Everything that a tree computes on a Context of many states."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from mbt.scalars.methods import ScalarMethods

__all__ = ["BatchMethods"]


class BatchMethods(ScalarMethods):
    """The methods of a tree for Contexts with a batch shape.

    Kernels of batches run without the GIL, so each method keeps its Context from other threads as a whole.
    """

    __slots__ = ()


def _keeping_others_out(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def run(self: BatchMethods, c: Any, *args: Any, **kwargs: Any) -> Any:
        with c._exclusive():
            return method(self, c, *args, **kwargs)

    return run


for _name, _method in inspect.getmembers(ScalarMethods, inspect.isfunction):
    if list(inspect.signature(_method).parameters)[1:2] == ["c"]:
        setattr(BatchMethods, _name, _keeping_others_out(_method))
