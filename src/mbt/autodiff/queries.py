"""Functions that depend only on the values and return plain arrays, numbers or strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbt.autodiff.array import AutoDiffArray
from mbt.autodiff.rules import FUNCTIONS, implements

__all__: list[str] = []

_QUERIES = """shape ndim size argmax argmin argsort lexsort argwhere nonzero flatnonzero count_nonzero
searchsorted digitize any all isclose allclose array_equal array_equiv isin isposinf
isneginf isreal iscomplex isrealobj iscomplexobj"""


def _without_derivatives(argument: Any) -> Any:
    if isinstance(argument, AutoDiffArray):
        return argument.value
    if isinstance(argument, (list, tuple)):
        return type(argument)(_without_derivatives(entry) for entry in argument)
    return argument


def _of_values(function: Callable[..., Any]) -> Callable[..., Any]:
    def rule(*args: Any, **kwargs: Any) -> Any:
        values = {key: _without_derivatives(argument) for key, argument in kwargs.items()}
        return function(*map(_without_derivatives, args), **values)

    return rule


for _name in _QUERIES.split():
    FUNCTIONS[getattr(np, _name)] = _of_values(getattr(np, _name))


@implements("array_repr", "array_str", "array2string")
def _array_repr(a: Any) -> str:
    return repr(a)


@implements("round", "around")
def _round(a: Any, decimals: int = 0) -> Any:
    """Round; the derivatives of this step function are zero."""
    rounded = np.zeros_like(a)
    rounded[...] = np.round(a.value, decimals)
    return rounded


@implements("fix")
def _fix(x: Any) -> Any:
    return np.trunc(x)


@implements("real")
def _real(val: Any) -> Any:
    return val
