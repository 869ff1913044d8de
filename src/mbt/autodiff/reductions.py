"""Functions that reduce or accumulate along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.autodiff.array import AutoDiffArray
from mbt.autodiff.operands import fresh, normalize_axes, normalize_axis
from mbt.autodiff.rules import check_dtype, implements
from mbt.errors import ArgumentValueError
from mbt.math.arrays import FloatArray

__all__: list[str] = []


@implements("sum")
def _sum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    check_dtype(dtype, "numpy.sum")
    axes = normalize_axes(axis, a.ndim)
    return fresh(a.value.sum(axis=axes, keepdims=keepdims), a.derivatives.sum(axis=axes, keepdims=keepdims))


@implements("mean")
def _mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    check_dtype(dtype, "numpy.mean")
    axes = normalize_axes(axis, a.ndim)
    value = a.value.mean(axis=axes, keepdims=keepdims)
    with np.errstate(all="ignore"):
        count = np.float64(np.prod([a.shape[i] for i in axes], initial=1.0))
        return fresh(value, a.derivatives.sum(axis=axes, keepdims=keepdims) / count)


@implements("average")
def _average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    if np.shape(weights) != np.shape(a):
        if np.ndim(weights) != 1 or not isinstance(axis, (int, np.integer)):
            raise ArgumentValueError(
                f"numpy.average: weights of shape {np.shape(weights)} for an array of shape {np.shape(a)}: "
                "expected the same shape, or one weight for each entry along one axis"
            )
        axis = normalize_axis(axis, np.ndim(a))
        weights = np.reshape(weights, [-1 if i == axis else 1 for i in range(np.ndim(a))])
        weights = np.broadcast_to(weights, np.shape(a))
    return np.sum(np.multiply(a, weights), axis=axis, keepdims=keepdims) / np.sum(
        weights, axis=axis, keepdims=keepdims
    )


@implements("var")
def _var(a: Any, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    check_dtype(dtype, "numpy.var")
    deviation = a - _mean(a, axis, keepdims=True)
    count = np.prod([a.shape[i] for i in normalize_axes(axis, a.ndim)], initial=1.0) - ddof
    return _sum(np.square(deviation), axis, keepdims=keepdims) / np.maximum(count, 0.0)


@implements("std")
def _std(a: Any, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    return np.sqrt(_var(a, axis, dtype, ddof=ddof, keepdims=keepdims))


@implements("prod")
def _prod(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    check_dtype(dtype, "numpy.prod")
    x, dx, shape = _gather(a, axis, keepdims)
    # d(prod) = sum_i (product of the others) dx_i, which also holds where factors are zero.
    with np.errstate(all="ignore"):
        others = _products_before(x) * _products_before(x[..., ::-1])[..., ::-1]
        derivatives = (others[..., None, :] @ dx)[..., 0, :]
    return fresh(x.prod(axis=-1).reshape(shape), derivatives.reshape(*shape, a.num_derivatives))


@implements("max", "amax")
def _max(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _select(np.argmax, a, axis, keepdims)


@implements("min", "amin")
def _min(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _select(np.argmin, a, axis, keepdims)


@implements("ptp")
def _ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _max(a, axis, keepdims=keepdims) - _min(a, axis, keepdims=keepdims)


@implements("cumsum")
def _cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    check_dtype(dtype, "numpy.cumsum")
    a, axis = (np.ravel(a), 0) if axis is None else (a, normalize_axis(axis, a.ndim))
    return fresh(a.value.cumsum(axis=axis), a.derivatives.cumsum(axis=axis))


@implements("cumprod")
def _cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    check_dtype(dtype, "numpy.cumprod")
    a, axis = (np.ravel(a), 0) if axis is None else (a, normalize_axis(axis, a.ndim))
    x, dx = np.moveaxis(a.value, axis, -1), np.moveaxis(a.derivatives, axis, -2)
    # others[..., k, i] is the product of the entries up to k without entry i; zero for i > k.
    m = x.shape[-1]
    with np.errstate(all="ignore"):
        factors = np.where(np.eye(m, dtype=bool), 1.0, x[..., None, :])
        others = np.where(np.tri(m, dtype=bool), np.swapaxes(factors.cumprod(axis=-1), -1, -2), 0.0)
        derivatives = others @ dx
    return fresh(np.moveaxis(x.cumprod(axis=-1), -1, axis), np.moveaxis(derivatives, -2, axis))


@implements("diff")
def _diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    axis = normalize_axis(axis, np.ndim(a))
    if n < 0:
        raise ArgumentValueError(f"numpy.diff: n: expected an integer >= 0, got {n}")
    for _ in range(n):
        a = a[(slice(None),) * axis + (slice(1, None),)] - a[(slice(None),) * axis + (slice(None, -1),)]
    return a


def _gather(a: AutoDiffArray, axis: Any, keepdims: bool) -> tuple[FloatArray, FloatArray, tuple[int, ...]]:
    """Return values and derivatives with the reduced axes merged into the last, and the result's shape."""
    axes = normalize_axes(axis, a.ndim)
    kept = [i for i in range(a.ndim) if i not in axes]
    extents = tuple(a.shape[i] for i in kept)
    merged = int(np.prod([a.shape[i] for i in axes], initial=1))
    x = a.value.transpose(*kept, *axes).reshape(*extents, merged)
    dx = a.derivatives.transpose(*kept, *axes, a.ndim).reshape(*extents, merged, a.num_derivatives)
    return x, dx, tuple(1 if i in axes else a.shape[i] for i in range(a.ndim)) if keepdims else extents


def _select(choose: Any, a: AutoDiffArray, axis: Any, keepdims: bool) -> AutoDiffArray:
    """Return the entry that `choose` selects, with its derivatives."""
    x, dx, shape = _gather(a, axis, keepdims)
    index = choose(x, axis=-1, keepdims=True)
    value = np.take_along_axis(x, index, axis=-1)
    derivatives = np.take_along_axis(dx, index[..., None], axis=-2)
    return fresh(value.reshape(shape), derivatives.reshape(*shape, a.num_derivatives))


def _products_before(x: FloatArray) -> FloatArray:
    """Return the product of all earlier entries along the last axis."""
    products = np.ones_like(x)
    products[..., 1:] = x[..., :-1].cumprod(axis=-1)
    return products
