"""Products: linear in each factor, so the derivative is a sum of products with one factor differentiated."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

import numpy as np

from mbt.autodiff.array import AutoDiffArray, take_apart
from mbt.autodiff.operands import common_count, fresh, lift, normalize_axis
from mbt.autodiff.rules import implements
from mbt.errors import ArgumentTypeError, ArgumentValueError, shape_error
from mbt.math.arrays import FloatArray

__all__ = ["PRODUCTS", "matmul_derivatives"]


def matmul_derivatives(
    a: FloatArray, da: FloatArray | None, b: FloatArray, db: FloatArray | None
) -> FloatArray | float:
    """Return the derivatives of ``a @ b``, da b + a db, for matrices and stacks of them.

    The axis of derivatives is merged with an axis of the matrix, so that each term is one matrix product.
    """
    terms: list[FloatArray] = []
    if da is not None:
        # (..., i, n, j) @ (..., j, k)
        terms.append(np.swapaxes(np.swapaxes(da, -1, -2) @ b[..., None, :, :], -1, -2))
    if db is not None:
        # (..., i, j) @ (..., j, k n)
        *batch, j, k, n = db.shape
        product = a @ db.reshape(*batch, j, k * n)
        terms.append(product.reshape(*product.shape[:-1], k, n))
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


def _matmul(a: object, b: object) -> AutoDiffArray:
    count = common_count((a, b), "numpy.matmul")
    x, dx = take_apart(a, count, "numpy.matmul")
    y, dy = take_apart(b, count, "numpy.matmul")
    product = np.matmul(x, y)
    if dx is None and dy is None:
        return fresh(product, np.zeros((*np.shape(product), count)))
    # A vector is a matrix of one row or one column.
    rows, columns = x.ndim == 1, y.ndim == 1
    if rows:
        x, dx = x[None], None if dx is None else dx[None]
    if columns:
        y, dy = y[:, None], None if dy is None else dy[:, None]
    derivatives: Any = matmul_derivatives(x, dx, y, dy)
    if columns:
        derivatives = derivatives[..., 0, :]
    if rows:
        derivatives = derivatives[..., 0, :] if columns else derivatives[..., 0, :, :]
    return fresh(product, derivatives)


def _vecdot(a: Any, b: Any, axis: int = -1) -> Any:
    return np.sum(np.multiply(a, b), axis=axis)


def _as_operand(x: Any, what: str) -> Any:
    return x if isinstance(x, AutoDiffArray) else lift(x, 0, what)[0]


def _matvec(a: Any, b: Any) -> Any:
    return np.matmul(a, _as_operand(b, "numpy.matvec")[..., None])[..., 0]


def _vecmat(a: Any, b: Any) -> Any:
    return np.matmul(_as_operand(a, "numpy.vecmat")[..., None, :], b)[..., 0, :]


# Ufuncs of whole vectors and matrices, if this version of NumPy has them.
PRODUCTS: dict[np.ufunc, Callable[..., Any]] = {np.matmul: _matmul}
for _name, _rule in {"vecdot": _vecdot, "matvec": _matvec, "vecmat": _vecmat}.items():
    if hasattr(np, _name):
        PRODUCTS[getattr(np, _name)] = _rule


@implements("linalg.matmul")
def _linalg_matmul(x1: Any, x2: Any, /) -> Any:
    return _matmul(x1, x2)


@implements("linalg.vecdot")
def _linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return _vecdot(x1, x2, axis)


@implements("dot")
def _dot(a: Any, b: Any) -> Any:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return np.multiply(a, b)
    if np.ndim(b) <= 2 or np.ndim(a) == np.ndim(b) == 1:
        return _matmul(a, b)
    return _tensordot(a, b, (-1, -2))


@implements("vdot")
def _vdot(a: Any, b: Any, /) -> Any:
    return _matmul(np.ravel(a), np.ravel(b))


@implements("inner")
def _inner(a: Any, b: Any, /) -> Any:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return np.multiply(a, b)
    return _tensordot(a, b, (-1, -1))


@implements("outer")
def _outer(a: Any, b: Any) -> Any:
    return np.multiply(np.ravel(a)[:, None], np.ravel(b))


@implements("linalg.outer")
def _linalg_outer(x1: Any, x2: Any, /) -> Any:
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ArgumentValueError(
            f"numpy.linalg.outer: expected two vectors, got shapes {np.shape(x1)} and {np.shape(x2)}"
        )
    return _outer(x1, x2)


@implements("tensordot", "linalg.tensordot")
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    if np.ndim(axes) == 0:
        pair = list(range(np.ndim(a) - axes, np.ndim(a))), list(range(axes))
    else:
        pair = tuple([int(i) for i in np.atleast_1d(entry)] for entry in axes)  # type: ignore[assignment]
    what = "numpy.tensordot"
    count = common_count((a, b), what)
    x, dx = take_apart(a, count, what)
    y, dy = take_apart(b, count, what)
    product = np.tensordot(x, y, pair)
    of_a = [normalize_axis(axis, x.ndim) for axis in pair[0]]
    of_b = [normalize_axis(axis, y.ndim) for axis in pair[1]]
    derivatives: Any = np.zeros((*product.shape, count))
    if dx is not None:
        derivatives = derivatives + np.moveaxis(np.tensordot(dx, y, (of_a, of_b)), x.ndim - len(of_a), -1)
    if dy is not None:
        derivatives = derivatives + np.tensordot(x, dy, (of_a, of_b))
    return fresh(product, derivatives)


@implements("einsum")
def _einsum(*operands: Any, dtype: Any = None, optimize: Any = False) -> Any:
    what = "numpy.einsum"
    if dtype is not None and np.dtype(dtype) != np.float64:
        raise ArgumentTypeError(f"{what}: an AutoDiffArray holds float64 only, got dtype {np.dtype(dtype)}")
    terms, result, factors = _read_einsum(operands)
    count = common_count(factors, what)
    parts = [take_apart(factor, count, what) for factor in factors]
    values = [value for value, _ in parts]
    # Copied, because einsum of one operand may return a view.
    product = np.array(np.einsum(f"{','.join(terms)}->{result}", *values, optimize=optimize))
    free = next(letter for letter in string.ascii_letters if letter not in "".join([*terms, result]))
    derivatives: Any = np.zeros((*np.shape(product), count))
    for i, (_, partial) in enumerate(parts):
        if partial is not None:
            subscripts = ",".join([*terms[:i], terms[i] + free, *terms[i + 1 :]]) + f"->{result}{free}"
            factors_i = [*values[:i], partial, *values[i + 1 :]]
            derivatives = derivatives + np.einsum(subscripts, *factors_i, optimize=optimize)
    return fresh(product, derivatives)


def _read_einsum(operands: tuple[Any, ...]) -> tuple[list[str], str, list[Any]]:
    """Return the subscripts of each factor and of the result, and the factors."""
    if isinstance(operands[0], str):
        left, arrow, result = operands[0].replace(" ", "").partition("->")
        terms, factors = left.split(","), list(operands[1:])
    else:  # einsum(A, [0, 1], B, [1, 2], [0, 2])
        factors = list(operands[0 : 2 * (len(operands) // 2) : 2])
        terms = [_letters(sublist) for sublist in operands[1::2]]
        arrow, result = ("->", _letters(operands[-1])) if len(operands) % 2 else ("", "")
    if len(terms) != len(factors):
        raise ArgumentValueError(
            f"numpy.einsum: subscripts of {len(terms)} operands, but {len(factors)} operands were given"
        )
    if not arrow:
        together = "".join(terms).replace("...", "")
        once = sorted(letter for letter in set(together) if together.count(letter) == 1)
        result = ("..." if any("..." in term for term in terms) else "") + "".join(once)
    return terms, result, factors


def _letters(sublist: Any) -> str:
    return "".join("..." if entry is Ellipsis else string.ascii_letters[entry] for entry in sublist)


@implements("cross")
def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    what = "numpy.cross"
    count = common_count((a, b), what)
    x, dx = lift(np.moveaxis(a, axisa, -1), count, what)
    y, dy = lift(np.moveaxis(b, axisb, -1), count, what)
    for name, vectors in (("a", x), ("b", y)):
        if vectors.shape[-1] != 3:
            raise shape_error(f"{what}: {name}", (..., 3), vectors.shape)
    derivatives = np.cross(np.swapaxes(dx, -1, -2), y[..., None, :]) + np.cross(
        x[..., None, :], np.swapaxes(dy, -1, -2)
    )
    product: Any = fresh(np.cross(x, y), np.swapaxes(derivatives, -1, -2))
    return np.moveaxis(product, -1, axisc)


@implements("linalg.cross")
def _linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return _cross(x1, x2, axis=axis)


@implements("kron")
def _kron(a: Any, b: Any) -> Any:
    ndim = max(np.ndim(a), np.ndim(b))
    shape_a = (1,) * (ndim - np.ndim(a)) + np.shape(a)
    shape_b = (1,) * (ndim - np.ndim(b)) + np.shape(b)
    # Each axis of the result merges an axis of a with one of b: (i, 1) times (1, j).
    rows = np.reshape(a, [extent for i in shape_a for extent in (i, 1)])
    columns = np.reshape(b, [extent for j in shape_b for extent in (1, j)])
    return np.reshape(np.multiply(rows, columns), [i * j for i, j in zip(shape_a, shape_b, strict=True)])


@implements("linalg.multi_dot")
def _multi_dot(arrays: Any) -> Any:
    product, *others = arrays
    for other in others:
        product = _matmul(product, other) if np.ndim(product) or np.ndim(other) else product * other
    return product
