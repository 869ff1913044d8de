"""Functions that create an array like another, with the same number of derivatives, zero by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbt.autodiff.array import AutoDiffArray, wrap
from mbt.autodiff.joining import from_nested
from mbt.autodiff.operands import lift
from mbt.autodiff.rules import CREATORS, FUNCTIONS, check_dtype

__all__: list[str] = []


def _as_constant_like(value: Any, prototype: AutoDiffArray) -> Any:
    if value.dtype != np.float64:  # The caller asked for integers or booleans, which have no derivatives.
        return value
    return wrap(value, np.zeros((*value.shape, prototype.num_derivatives)))


def _like(make: Callable[..., Any]) -> Callable[..., Any]:
    def rule(
        a: Any,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
        *,
        device: Any = None,
    ) -> Any:
        return _as_constant_like(make(a.shape if shape is None else shape, dtype=dtype), a)

    return rule


FUNCTIONS[np.zeros_like] = FUNCTIONS[np.empty_like] = _like(np.zeros)
FUNCTIONS[np.ones_like] = _like(np.ones)


def _full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    filled = _as_constant_like(np.zeros(a.shape if shape is None else shape, dtype=dtype), a)
    filled[...] = fill_value
    return filled


FUNCTIONS[np.full_like] = _full_like


# np.zeros(3, like=x)


def _made_like(make: Callable[..., Any]) -> Callable[..., Any]:
    def rule(prototype: AutoDiffArray, *args: Any, **kwargs: Any) -> Any:
        return _as_constant_like(make(*args, **kwargs), prototype)

    return rule


for _make in (np.zeros, np.ones, np.eye, np.identity):
    CREATORS[_make] = _made_like(_make)
CREATORS[np.empty] = _made_like(np.zeros)


def _full(
    prototype: AutoDiffArray,
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "C",
    *,
    device: Any = None,
) -> Any:
    return _full_like(prototype, fill_value, dtype, shape=shape)


CREATORS[np.full] = _full


def _array_like(name: str, always_copies: bool) -> Callable[..., Any]:
    def rule(
        prototype: AutoDiffArray,
        a: Any,
        dtype: Any = None,
        order: str = "K",
        *,
        copy: Any = None,
        device: Any = None,
        subok: bool = True,
        ndmin: int = 0,
    ) -> Any:
        check_dtype(dtype, name)
        array = a
        if not isinstance(a, AutoDiffArray) or always_copies or copy:
            array = from_nested(a, name)
        if array.num_derivatives == 0:
            array = wrap(*lift(array.value, prototype.num_derivatives, name))
        return array.reshape((1,) * (ndmin - array.ndim) + array.shape)

    return rule


CREATORS[np.array] = _array_like("numpy.array", always_copies=True)
CREATORS[np.asarray] = _array_like("numpy.asarray", always_copies=False)
CREATORS[np.asanyarray] = _array_like("numpy.asanyarray", always_copies=False)
CREATORS[np.ascontiguousarray] = _array_like("numpy.ascontiguousarray", always_copies=False)
