"""Functions that join arrays, choose between them, or write into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbt.autodiff.array import AutoDiffArray, take_apart
from mbt.autodiff.operands import common_count, fresh, lift, normalize_axis
from mbt.autodiff.rules import as_constant, check_dtype, implements
from mbt.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["from_nested"]


@implements("concatenate")
def _concatenate(arrays: Any, /, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    what = "numpy.concatenate"
    check_dtype(dtype, what)
    arrays = list(arrays)
    count = common_count(arrays, what)
    parts = [lift(a, count, what) for a in arrays]
    value = np.concatenate([x for x, _ in parts], axis)
    if axis is None:
        return fresh(value, np.concatenate([dx.reshape(x.size, count) for x, dx in parts]))
    return fresh(value, np.concatenate([dx for _, dx in parts], normalize_axis(axis, value.ndim)))


@implements("stack")
def _stack(arrays: Any, axis: int = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    what = "numpy.stack"
    check_dtype(dtype, what)
    arrays = list(arrays)
    count = common_count(arrays, what)
    parts = [lift(a, count, what) for a in arrays]
    value = np.stack([x for x, _ in parts], axis)
    return fresh(value, np.stack([dx for _, dx in parts], normalize_axis(axis, value.ndim)))


@implements("vstack")
def _vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    return _concatenate([np.atleast_2d(a) for a in tup], 0, dtype=dtype)


@implements("hstack")
def _hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    arrays = [np.atleast_1d(a) for a in tup]
    return _concatenate(arrays, 0 if arrays[0].ndim == 1 else 1, dtype=dtype)


@implements("dstack")
def _dstack(tup: Any) -> Any:
    return _concatenate([np.atleast_3d(a) for a in tup], 2)


@implements("column_stack")
def _column_stack(tup: Any) -> Any:
    return _concatenate([np.reshape(a, (-1, 1)) if np.ndim(a) < 2 else a for a in tup], 1)


@implements("append")
def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    return _concatenate([arr, values], axis)


@implements("block")
def _block(arrays: Any) -> Any:
    depth, ndim = _measure(arrays)
    return _join_block(arrays, depth, max(depth, ndim))


def _measure(nested: Any) -> tuple[int, int]:
    """Return the depth of nested lists, and the largest number of axes in them."""
    if not isinstance(nested, list):
        return 0, np.ndim(nested)
    if not nested:
        raise ArgumentValueError("numpy.block: a list is empty")
    measures = [_measure(entry) for entry in nested]
    if len({depth for depth, _ in measures}) > 1:
        raise ArgumentValueError("numpy.block: lists of different depths")
    return measures[0][0] + 1, max(ndim for _, ndim in measures)


def _join_block(nested: Any, depth: int, ndim: int) -> Any:
    if not isinstance(nested, list):
        return np.reshape(nested, (1,) * (ndim - np.ndim(nested)) + np.shape(nested))
    return _concatenate([_join_block(entry, depth - 1, ndim) for entry in nested], ndim - depth)


def from_nested(entries: Any, what: str) -> AutoDiffArray:
    """Return one array made from nested lists and tuples of arrays and numbers."""
    if isinstance(entries, AutoDiffArray):
        return entries.copy()
    if isinstance(entries, (list, tuple)) and _holds_derivatives(entries):
        stacked: AutoDiffArray = _stack([from_nested(entry, what) for entry in entries])
        return stacked
    value = as_constant(entries, what)
    return fresh(value.copy(), np.zeros((*value.shape, 0)))


def _holds_derivatives(entries: Sequence[Any]) -> bool:
    return any(
        isinstance(entry, AutoDiffArray) or (isinstance(entry, (list, tuple)) and _holds_derivatives(entry))
        for entry in entries
    )


# Choices


@implements("where")
def _where(condition: Any, *choices: Any) -> Any:
    truth = np.asarray(condition.value if isinstance(condition, AutoDiffArray) else condition) != 0
    if not choices:
        return np.where(truth)
    if len(choices) != 2:
        raise ArgumentTypeError("numpy.where: expected either both or neither of x and y")
    count = common_count(choices, "numpy.where")
    x, dx = take_apart(choices[0], count, "numpy.where")
    y, dy = take_apart(choices[1], count, "numpy.where")
    if dx is None and dy is None:
        dx = np.zeros(count)
    derivatives = np.where(truth[..., None], 0.0 if dx is None else dx, 0.0 if dy is None else dy)
    return fresh(np.where(truth, x, y), derivatives)


@implements("select")
def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist) or not condlist:
        raise ArgumentValueError(
            f"numpy.select: expected as many choices as conditions, got {len(choicelist)} and {len(condlist)}"
        )
    chosen = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        chosen = _where(condition, choice, chosen)
    return chosen


@implements("clip")
def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    lower, upper = min if a_min is None else a_min, max if a_max is None else a_max
    if lower is not None:
        a = np.maximum(a, lower)
    if upper is not None:
        a = np.minimum(a, upper)
    return np.positive(a)


# In place


@implements("copyto")
def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, AutoDiffArray):
        raise ArgumentTypeError(
            f"numpy.copyto: dst must be an AutoDiffArray, as a plain array cannot hold derivatives, "
            f"got {type(dst).__name__}"
        )
    dst[...] = src if where is True else _where(where, src, dst)


@implements("fill_diagonal")
def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    if not isinstance(a, AutoDiffArray):
        raise ArgumentTypeError(
            f"numpy.fill_diagonal: a must be an AutoDiffArray, as a plain array cannot hold derivatives, "
            f"got {type(a).__name__}"
        )
    if a.ndim != 2 or wrap:
        raise ArgumentValueError(
            f"numpy.fill_diagonal: expected a matrix and wrap=False, got shape {a.shape}"
        )
    i = np.arange(min(a.shape))
    val = val if isinstance(val, AutoDiffArray) else as_constant(val, "numpy.fill_diagonal")
    a[i, i] = val if val.ndim == 0 else np.ravel(val)[: len(i)]
