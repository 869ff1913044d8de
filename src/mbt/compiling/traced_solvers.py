"""Linear algebra of small matrices of traced numbers, without branches on values.

Pivots are chosen by selections: rows are exchanged where a later one has a larger entry. Matrices that are
known to be positive semidefinite, such as mass matrices and ``J @ J.T``, need no pivoting: they are factored
as L D L'.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.compiling.traced_arrays import DEFINITE, as_traced, implements, lifted
from mbt.compiling.traced_functions import key_of, matmul
from mbt.compiling.tracing import Trace
from mbt.compiling.user_code import user_line
from mbt.errors import ArgumentValueError, ShapeError, quote

__all__: list[str] = []


def _keep_definiteness(t: Trace, ufunc: np.ufunc, inputs: tuple[Any, ...], result: Any) -> None:
    """Note that sums and positive multiples of positive semidefinite matrices are positive semidefinite."""
    if not t.semidefinite or np.ndim(result) != 2 or len(inputs) != 2:
        return
    if ufunc is np.add:
        is_kept = all(_is_semidefinite(t, x) for x in inputs)
    elif ufunc is np.multiply:
        is_kept = any(_is_semidefinite(t, x) and _is_positive(y) for x, y in (inputs, inputs[::-1]))
    else:
        is_kept = ufunc is np.divide and _is_semidefinite(t, inputs[0]) and _is_positive(inputs[1])
    if is_kept:
        t.semidefinite.add(key_of(lifted(t, result)))


def _is_positive(x: Any) -> bool:
    return isinstance(x, (int, float, np.floating)) and bool(x > 0)


def _is_semidefinite(t: Trace, x: Any) -> bool:
    if np.ndim(x) != 2 or x.shape[0] != x.shape[1]:
        return False
    if x.dtype != object:
        return bool(np.array_equal(x, x.T) and (np.linalg.eigvalsh(x) >= 0.0).all())
    return key_of(lifted(t, x)) in t.semidefinite


def _take_square(t: Trace, a: Any, name: str) -> Any:
    A = lifted(t, a)
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ShapeError(f"{user_line()}: numpy.linalg.{name}: expected a square matrix, got shape {A.shape}")
    return A


@implements("linalg.solve")
def _solve(t: Trace, a: Any, b: Any) -> Any:
    A, B = _take_square(t, a, "solve"), lifted(t, b)
    is_vector = B.ndim == 1
    B = B[:, None] if is_vector else B
    if B.shape[-2] != A.shape[-1]:
        raise ShapeError(
            f"{user_line()}: numpy.linalg.solve: a matrix of shape {A.shape} and right sides of {np.shape(b)}"
        )
    lead = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    A, B = (np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (A, B))
    X = np.empty(B.shape, dtype=object)
    for i in np.ndindex(*lead):
        X[i] = _solve_one(t, A[i], B[i])
    return X[..., 0] if is_vector else X


def _solve_one(t: Trace, A: Any, B: Any) -> Any:
    if key_of(A) not in t.semidefinite:
        return _solve_by_pivots(t, A, B)
    X = _solve_definite(t, A, B)
    t.solutions.add((key_of(B), key_of(X)))
    return X


@implements("linalg.inv")
def _inv(t: Trace, a: Any) -> Any:
    A = _take_square(t, a, "inv")
    identity = lifted(t, np.eye(A.shape[-1]))
    X = np.empty(A.shape, dtype=object)
    for i in np.ndindex(*A.shape[:-2]):
        X[i] = _solve_one(t, A[i], identity)
        if key_of(A[i]) in t.semidefinite:
            # The inverse is symmetric: copy the upper triangle to the lower one.
            lower = np.tril_indices(len(X[i]), -1)
            X[i][lower] = X[i].T[lower]
            t.semidefinite.add(key_of(X[i]))
    return X


@implements("linalg.det")
def _det(t: Trace, a: Any) -> Any:
    A = _take_square(t, a, "det")
    result = np.empty(A.shape[:-2], dtype=object)
    for i in np.ndindex(*A.shape[:-2]):
        U, _, sign = _eliminate(t, A[i], np.empty((len(A[i]), 0), dtype=object))
        product = sign
        for k in range(len(U)):
            product = product * U[k, k]
        result[i] = product
    return result


@implements("linalg.cholesky")
def _cholesky(t: Trace, a: Any, /, *, upper: bool = False) -> Any:
    A = _take_square(t, a, "cholesky")
    L = np.full(A.shape, t.zero, dtype=object)
    for lead in np.ndindex(*A.shape[:-2]):
        M, C = A[lead], L[lead]
        for i in range(len(M)):
            for j in range(i + 1):
                rest = M[i, j]
                for k in range(j):
                    rest = rest - C[i, k] * C[j, k]
                C[i, j] = t.apply("sqrt", rest) if i == j else rest / C[j, j]
    return np.swapaxes(L, -1, -2) if upper else L


def _solve_definite(t: Trace, A: Any, B: Any) -> Any:
    """Return the solution of A X = B using A = L D L', from the lower triangle of A."""
    n, m = B.shape
    L = np.full((n, n), t.zero, dtype=object)
    inverse: list[Any] = []
    for i in range(n):
        row: list[Any] = []
        for j in range(i):
            rest = A[i, j]
            for k in range(j):
                rest = rest - row[k] * L[j, k]
            row.append(rest)
        pivot = A[i, i]
        for j in range(i):
            L[i, j] = row[j] * inverse[j]
            pivot = pivot - row[j] * L[i, j]
        inverse.append(1.0 / pivot)
    X = B.copy()
    for c in range(m):
        for i in range(n):
            for k in range(i):
                X[i, c] = X[i, c] - L[i, k] * X[k, c]
        for i in range(n - 1, -1, -1):
            X[i, c] = X[i, c] * inverse[i]
            for k in range(i + 1, n):
                X[i, c] = X[i, c] - L[k, i] * X[k, c]
    return X


def _solve_by_pivots(t: Trace, A: Any, B: Any) -> Any:
    """Return the solution of A X = B by elimination with partial pivoting."""
    U, Y, _ = _eliminate(t, A, B)
    n, m = B.shape
    X = Y
    for c in range(m):
        for i in range(n - 1, -1, -1):
            for k in range(i + 1, n):
                X[i, c] = X[i, c] - U[i, k] * X[k, c]
            X[i, c] = X[i, c] / U[i, i]
    return X


def _eliminate(t: Trace, A: Any, B: Any) -> tuple[Any, Any, Any]:
    """Return U of P A = L U, inverse(L) P B, and the sign of the permutation P."""
    n = len(A)
    rows = np.concatenate([A, B], axis=1)
    sign: Any = t.one
    for k in range(n):
        for i in range(k + 1, n):
            if rows[i, k] is t.zero:
                continue
            is_larger = t.compare("less", t.apply("fabs", rows[k, k]), t.apply("fabs", rows[i, k]))
            for j in range(k, rows.shape[1]):
                upper, lower = rows[k, j], rows[i, j]
                rows[k, j] = t.select(is_larger, lower, upper)
                rows[i, j] = t.select(is_larger, upper, lower)
            sign = t.select(is_larger, -sign, sign)
        for i in range(k + 1, n):
            factor = rows[i, k] / rows[k, k]
            for j in range(k + 1, rows.shape[1]):
                rows[i, j] = rows[i, j] - factor * rows[k, j]
    return rows[:, :n], rows[:, n:], sign


@implements("linalg.norm")
def _norm(t: Trace, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = as_traced(t, x)
    if axis is None and ord is None:
        return _root_of_squares(x, None, keepdims)
    axes = tuple(range(x.ndim)) if axis is None else tuple(np.atleast_1d(axis).tolist())
    if (len(axes) == 1 and ord in (None, 2)) or (len(axes) == 2 and ord in (None, "fro")):
        return _root_of_squares(x, axes, keepdims)
    if len(axes) == 1 and ord in (1, np.inf):
        return (np.sum if ord == 1 else np.max)(np.abs(x), axis=axes, keepdims=keepdims)
    raise ArgumentValueError(
        f"{user_line()}: numpy.linalg.norm: ord: expected 1, 2 or inf for vectors, or 'fro' for matrices of "
        f"traced numbers, got {quote(ord)}"
    )


@implements("linalg.vector_norm")
def _vector_norm(t: Trace, x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = as_traced(t, x)
    return _norm(t, x.ravel() if axis is None else x, ord, axis, keepdims)


def _root_of_squares(x: Any, axes: Any, keepdims: bool) -> Any:
    return np.sqrt(np.sum(x * x, axis=axes, keepdims=keepdims))


@implements("linalg.multi_dot")
def _multi_dot(t: Trace, arrays: Any, *, out: Any = None) -> Any:
    product, *others = arrays
    for other in others:
        product = matmul(t, product, other)
    return product


DEFINITE[:] = [_keep_definiteness]
