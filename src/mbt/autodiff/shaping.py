"""Functions that rearrange the entries of an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbt.autodiff.array import AutoDiffArray, wrap
from mbt.autodiff.operands import fresh, normalize_axes, normalize_axis
from mbt.autodiff.rules import FUNCTIONS, as_constant, implements
from mbt.errors import ArgumentValueError, quote

__all__ = ["in_shape"]


def in_shape(a: AutoDiffArray, value: Any) -> AutoDiffArray:
    """Return an array with this `value`, which is that of `a` in another shape but in the same order."""
    return wrap(value, a.derivatives.reshape(*value.shape, a.num_derivatives))


def _rearrange(a: AutoDiffArray, arrange: Callable[[Any], Any]) -> AutoDiffArray:
    """Rearrange entries as `arrange` does their indices, which start at 1; index 0 stands for zero."""
    places = arrange(np.arange(1, a.size + 1).reshape(a.shape))
    value = np.concatenate([[0.0], a.value.reshape(-1)])
    derivatives = np.concatenate(
        [np.zeros((1, a.num_derivatives)), a.derivatives.reshape(a.size, a.num_derivatives)]
    )
    return fresh(value[places], derivatives[places])


# Views wherever NumPy returns one


@implements("reshape")
def _reshape(
    a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Any:
    wanted = shape if newshape is None else newshape
    if order != "C":
        return _rearrange(a, lambda places: places.reshape(wanted, order=order))
    reshaped = in_shape(a, a.value.reshape(wanted))
    if copy is False and a.size and not np.shares_memory(reshaped.value, a.value):
        raise ArgumentValueError("numpy.reshape: unable to avoid a copy")
    return reshaped.copy() if copy else reshaped


@implements("ravel")
def _ravel(a: Any, order: str = "C") -> Any:
    return _reshape(a, -1, order)


@implements("transpose")
def _transpose(a: Any, axes: Any = None) -> Any:
    order = range(a.ndim)[::-1] if axes is None else normalize_axes(axes, a.ndim)
    return wrap(a.value.transpose(order), a.derivatives.transpose(*order, a.ndim))


@implements("swapaxes")
def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    first, second = normalize_axis(axis1, a.ndim), normalize_axis(axis2, a.ndim)
    return wrap(a.value.swapaxes(first, second), a.derivatives.swapaxes(first, second))


@implements("matrix_transpose", "linalg.matrix_transpose")
def _matrix_transpose(x: Any, /) -> Any:
    return x.mT


@implements("moveaxis")
def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    value = np.moveaxis(a.value, source, destination)
    places = normalize_axes(source, a.ndim), normalize_axes(destination, a.ndim)
    return wrap(value, np.moveaxis(a.derivatives, *places))


@implements("rollaxis")
def _rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    value = np.rollaxis(a.value, axis, start)
    start = start + a.ndim if start < 0 else start
    return wrap(value, np.rollaxis(a.derivatives, normalize_axis(axis, a.ndim), start))


@implements("expand_dims")
def _expand_dims(a: Any, axis: Any) -> Any:
    return in_shape(a, np.expand_dims(a.value, axis))


@implements("squeeze")
def _squeeze(a: Any, axis: Any = None) -> Any:
    return in_shape(a, np.squeeze(a.value, axis))


def _at_least(function: Callable[[Any], Any]) -> Callable[..., Any]:
    def rule(*arrays: Any) -> Any:
        raised = [
            in_shape(a, function(a.value)) if isinstance(a, AutoDiffArray) else function(a) for a in arrays
        ]
        return raised[0] if len(raised) == 1 else tuple(raised)

    return rule


for _function in (np.atleast_1d, np.atleast_2d, np.atleast_3d):
    FUNCTIONS[_function] = _at_least(_function)


@implements("broadcast_to")
def _broadcast_to(array: Any, shape: Any) -> Any:
    value = np.broadcast_to(array.value, shape)
    return wrap(value, np.broadcast_to(array.derivatives, (*value.shape, array.num_derivatives)))


@implements("broadcast_arrays")
def _broadcast_arrays(*args: Any) -> Any:
    what = "numpy.broadcast_arrays"
    arrays: Any = [x if isinstance(x, AutoDiffArray) else as_constant(x, what) for x in args]
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    return tuple(np.broadcast_to(x, shape) for x in arrays)


@implements("flip")
def _flip(m: Any, axis: Any = None) -> Any:
    axes = normalize_axes(axis, m.ndim)
    return wrap(np.flip(m.value, axes), np.flip(m.derivatives, axes))


@implements("flipud")
def _flipud(m: Any) -> Any:
    return _flip(m, 0)


@implements("fliplr")
def _fliplr(m: Any) -> Any:
    return _flip(m, 1)


@implements("diagonal")
def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    first, second = normalize_axis(axis1, a.ndim), normalize_axis(axis2, a.ndim)
    partials = a.derivatives.diagonal(offset, first, second)
    return wrap(a.value.diagonal(offset, first, second), partials.swapaxes(-1, -2))


@implements("trace")
def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return np.sum(_diagonal(a, offset, axis1, axis2), axis=-1)


# The functions of numpy.linalg use the last two axes, unlike their namesakes.


@implements("linalg.diagonal")
def _linalg_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return _diagonal(x, offset, -2, -1)


@implements("linalg.trace")
def _linalg_trace(x: Any, /, *, offset: int = 0) -> Any:
    return _trace(x, offset, -2, -1)


@implements("array_split")
def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    return _split_by(np.array_split, ary, indices_or_sections, axis)


@implements("split")
def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    return _split_by(np.split, ary, indices_or_sections, axis)


@implements("hsplit")
def _hsplit(ary: Any, indices_or_sections: Any) -> Any:
    return _split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


@implements("vsplit")
def _vsplit(ary: Any, indices_or_sections: Any) -> Any:
    return _split(ary, indices_or_sections, 0)


@implements("dsplit")
def _dsplit(ary: Any, indices_or_sections: Any) -> Any:
    return _split(ary, indices_or_sections, 2)


@implements("unstack")
def _unstack(x: Any, /, *, axis: int = 0) -> Any:
    return tuple(np.moveaxis(x, axis, 0))


def _split_by(split: Any, a: AutoDiffArray, places: Any, axis: int) -> list[AutoDiffArray]:
    axis = normalize_axis(axis, a.ndim)
    parts = zip(split(a.value, places, axis), split(a.derivatives, places, axis), strict=True)
    return [wrap(value, derivatives) for value, derivatives in parts]


# Copies


@implements("copy")
def _copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    return a.copy()


@implements("astype")
def _astype(x: Any, dtype: Any, /, *, copy: bool = True) -> Any:
    return x.astype(dtype, copy=copy)


@implements("take")
def _take(a: Any, indices: Any, axis: Any = None, *, mode: str = "raise") -> Any:
    a, axis = (_ravel(a), 0) if axis is None else (a, normalize_axis(axis, a.ndim))
    return fresh(a.value.take(indices, axis, mode=mode), a.derivatives.take(indices, axis, mode=mode))


@implements("take_along_axis")
def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    arr, axis = (_ravel(arr), 0) if axis is None else (arr, normalize_axis(axis, arr.ndim))
    value = np.take_along_axis(arr.value, indices, axis)
    return fresh(value, np.take_along_axis(arr.derivatives, np.asarray(indices)[..., None], axis))


@implements("sort")
def _sort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Any:
    a, axis = (_ravel(a), 0) if axis is None else (a, axis)
    return _take_along_axis(a, np.argsort(a.value, axis=axis, kind="stable"), axis)


@implements("roll")
def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    return _rearrange(a, lambda places: np.roll(places, shift, axis))


@implements("rot90")
def _rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    return _rearrange(m, lambda places: np.rot90(places, k, axes))


@implements("repeat")
def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    return _rearrange(a, lambda places: np.repeat(places, repeats, axis))


@implements("tile")
def _tile(A: Any, reps: Any) -> Any:
    return _rearrange(A, lambda places: np.tile(places, reps))


@implements("resize")
def _resize(a: Any, new_shape: Any) -> Any:
    return _rearrange(a, lambda places: np.resize(places, new_shape))


@implements("delete")
def _delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    return _rearrange(arr, lambda places: np.delete(places, obj, axis))


@implements("compress")
def _compress(condition: Any, a: Any, axis: Any = None) -> Any:
    return _rearrange(a, lambda places: np.compress(condition, places, axis))


@implements("extract")
def _extract(condition: Any, arr: Any) -> Any:
    return _rearrange(arr, lambda places: np.extract(condition, places))


@implements("tril")
def _tril(m: Any, k: int = 0) -> Any:
    return _rearrange(m, lambda places: np.tril(places, k))


@implements("triu")
def _triu(m: Any, k: int = 0) -> Any:
    return _rearrange(m, lambda places: np.triu(places, k))


@implements("diag")
def _diag(v: Any, k: int = 0) -> Any:
    return _rearrange(v, lambda places: np.diag(places, k))


@implements("diagflat")
def _diagflat(v: Any, k: int = 0) -> Any:
    return _rearrange(v, lambda places: np.diagflat(places, k))


@implements("pad")
def _pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    rearranging = ("constant", "edge", "reflect", "symmetric", "wrap")
    if mode not in rearranging or options.get("reflect_type", "even") != "even":
        raise ArgumentValueError(
            f"numpy.pad: mode: expected one of {', '.join(rearranging)}, got {quote(mode)}"
        )
    if np.any(options.get("constant_values", 0)):
        raise ArgumentValueError("numpy.pad: constant_values: expected 0 for an AutoDiffArray")
    return _rearrange(array, lambda places: np.pad(places, pad_width, mode, **options))
