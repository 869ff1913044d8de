"""Linear algebra: differentiates the results, not the algorithms that compute them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.autodiff.array import AutoDiffArray, take_apart, wrap
from mbt.autodiff.operands import common_count, fresh, normalize_axes
from mbt.autodiff.products import matmul_derivatives
from mbt.autodiff.rules import implements
from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.math.arrays import FloatArray

__all__: list[str] = []


@implements("linalg.solve")
def _solve(a: Any, b: Any) -> Any:
    what = "numpy.linalg.solve"
    count = common_count((a, b), what)
    A, dA = take_apart(a, count, what)
    B, dB = take_apart(b, count, what)
    X: Any = np.linalg.solve(A, B)
    if B.ndim == 1:
        dX = _solve_derivatives(A, dA, X[..., None], None if dB is None else dB[..., None, :], count)
        return fresh(X, dX[..., 0, :])
    return fresh(X, _solve_derivatives(A, dA, X, dB, count))


def _solve_derivatives(
    A: FloatArray, dA: FloatArray | None, X: FloatArray, dB: FloatArray | None, count: int
) -> FloatArray:
    """Return dX = inv(A) (dB - dA X)."""
    right: Any = np.zeros((*X.shape, count)) if dB is None else dB
    if dA is not None:
        right = right - matmul_derivatives(A, dA, X, None)
    *batch, m, k, n = right.shape
    dX = np.linalg.solve(A, right.reshape(*batch, m, k * n))
    return dX.reshape(*dX.shape[:-1], k, n)


@implements("linalg.inv")
def _inv(a: Any) -> Any:
    inverse = np.linalg.inv(a.value)
    # d(inv A) = -inv(A) dA inv(A)
    left: Any = matmul_derivatives(inverse, None, a.value, a.derivatives)
    return fresh(inverse, -np.asarray(matmul_derivatives(inverse, left, inverse, None)))


@implements("linalg.det")
def _det(a: Any) -> Any:
    # d(det A) = tr(adj(A) dA). The adjugate comes from singular values, so A may be singular.
    determinant = np.linalg.det(a.value)
    U, s, Vh = np.linalg.svd(a.value)
    m = a.shape[-1]
    others = np.where(np.eye(m, dtype=bool), 1.0, s[..., None, :]).prod(axis=-1)
    sign = np.linalg.det(U) * np.linalg.det(Vh)
    cofactors = sign[..., None, None] * ((U * others[..., None, :]) @ Vh)
    return fresh(determinant, _contract(cofactors, a.derivatives))


@implements("linalg.slogdet")
def _slogdet(a: Any) -> Any:
    sign, logarithm = np.linalg.slogdet(a.value)
    # d(log |det A|) = tr(inv(A) dA)
    inverse = np.linalg.inv(a.value)
    derivatives = _contract(np.swapaxes(inverse, -1, -2), a.derivatives)
    zero = np.zeros(derivatives.shape)
    return _SlogdetResult(fresh(sign, zero), fresh(logarithm, derivatives))


_SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))


@implements("linalg.cholesky")
def _cholesky(a: Any, /, *, upper: bool = False) -> Any:
    L = np.linalg.cholesky(a.value)
    inverse = np.linalg.inv(L)
    # dL = L low(inv(L) dA inv(L)^T), where low halves the diagonal of the lower triangle.
    left: Any = matmul_derivatives(inverse, None, a.value, a.derivatives)
    middle: Any = matmul_derivatives(inverse, left, np.swapaxes(inverse, -1, -2), None)
    low = np.tri(a.shape[-1]) - 0.5 * np.eye(a.shape[-1])
    factor = fresh(L, matmul_derivatives(L, None, L, middle * low[..., None]))
    return np.swapaxes(factor, -1, -2) if upper else factor


@implements("linalg.matrix_power")
def _matrix_power(a: Any, n: int) -> Any:
    if not isinstance(n, (int, np.integer)):
        raise ArgumentTypeError(f"numpy.linalg.matrix_power: n: expected an integer, got {quote(n)}")
    if n < 0:
        return _matrix_power(_inv(a), -n)
    power: Any = wrap(
        np.broadcast_to(np.eye(a.shape[-1]), a.shape).copy(), np.zeros((*a.shape, a.num_derivatives))
    )
    while n:
        if n & 1:
            power = np.matmul(power, a)
        n >>= 1
        a = np.matmul(a, a) if n else a
    return power


@implements("linalg.norm")
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is None and ord is None:
        return _two_norm(x, None, keepdims)
    axes = normalize_axes(axis, x.ndim)
    if len(axes) == 1:
        return _vector_norm_along(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm_along(x, "fro" if ord is None else ord, axes, keepdims)
    raise ArgumentValueError(f"numpy.linalg.norm: axis: expected one or two axes, got {len(axes)}")


@implements("linalg.vector_norm")
def _vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    return _vector_norm_along(x, ord, normalize_axes(axis, x.ndim), keepdims)


@implements("linalg.matrix_norm")
def _matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _matrix_norm_along(x, ord, (x.ndim - 2, x.ndim - 1), keepdims)


def _two_norm(x: AutoDiffArray, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    return np.sqrt(np.sum(np.square(x), axis=axes, keepdims=keepdims))


def _vector_norm_along(x: Any, order: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if isinstance(order, str):
        raise ArgumentValueError(
            f"numpy.linalg.norm: ord: expected a number for a vector, got {quote(order)}"
        )
    if order == 2:
        return _two_norm(x, axes, keepdims)
    if order == np.inf:
        return np.max(np.abs(x), axis=axes, keepdims=keepdims)
    if order == -np.inf:
        return np.min(np.abs(x), axis=axes, keepdims=keepdims)
    if order == 0:  # The number of nonzero entries is a step function.
        return np.sum(np.abs(np.sign(x)), axis=axes, keepdims=keepdims)
    total = np.sum(np.abs(x) ** order, axis=axes, keepdims=keepdims)
    return total if order == 1 else total ** (1.0 / order)


def _matrix_norm_along(x: Any, order: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if order == "fro":
        return _two_norm(x, axes, keepdims)
    if order in (1, -1, np.inf, -np.inf) and not isinstance(order, str):
        rows, columns = axes
        summed, sought = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = np.sum(np.abs(x), axis=summed, keepdims=True)
        norm = (np.max if order > 0 else np.min)(sums, axis=sought, keepdims=True)
        return norm if keepdims else np.squeeze(norm, axes)
    raise ArgumentValueError(
        "numpy.linalg.norm: ord: expected 'fro', 1, -1, inf or -inf for a matrix of an AutoDiffArray, "
        f"got {quote(order)}"
    )


def _contract(weights: FloatArray, derivatives: FloatArray) -> Any:
    """Return the sum of weights times derivatives over both axes of the matrix."""
    return np.einsum("...ij,...ijn->...n", weights, derivatives)
