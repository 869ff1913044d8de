"""Ufuncs: the chain rule, with a table of partial derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbt.autodiff.array import AutoDiffArray, key_of_derivatives, take_apart
from mbt.autodiff.operands import common_count, fresh
from mbt.autodiff.products import PRODUCTS
from mbt.autodiff.rules import FUNCTIONS, as_constant, check_dtype, implements_ufuncs
from mbt.errors import ArgumentTypeError
from mbt.math.arrays import FloatArray

__all__ = ["BINARY", "CHOICES", "STEPS", "UNARY", "VALUES_ONLY", "apply_ufunc", "supported_ufuncs"]

Partial = Callable[..., Any]

# f = f(x): df/dx in terms of x and f; a float if it does not depend on x.
UNARY: dict[np.ufunc, Partial] = {
    np.positive: lambda x, f: 1.0,
    np.negative: lambda x, f: -1.0,
    np.conjugate: lambda x, f: 1.0,
    np.absolute: lambda x, f: np.sign(x),
    np.fabs: lambda x, f: np.sign(x),
    np.square: lambda x, f: 2.0 * x,
    np.sqrt: lambda x, f: 0.5 / f,
    np.cbrt: lambda x, f: 1.0 / (3.0 * f * f),
    np.reciprocal: lambda x, f: -f * f,
    np.exp: lambda x, f: f,
    np.exp2: lambda x, f: np.log(2.0) * f,
    np.expm1: lambda x, f: np.exp(x),
    np.log: lambda x, f: 1.0 / x,
    np.log2: lambda x, f: 1.0 / (np.log(2.0) * x),
    np.log10: lambda x, f: 1.0 / (np.log(10.0) * x),
    np.log1p: lambda x, f: 1.0 / (1.0 + x),
    np.sin: lambda x, f: np.cos(x),
    np.cos: lambda x, f: -np.sin(x),
    np.tan: lambda x, f: 1.0 + f * f,
    # (1 - x) (1 + x) does not suffer from cancellation near the ends; 1 - x x does.
    np.arcsin: lambda x, f: 1.0 / np.sqrt((1.0 - x) * (1.0 + x)),
    np.arccos: lambda x, f: -1.0 / np.sqrt((1.0 - x) * (1.0 + x)),
    np.arctan: lambda x, f: 1.0 / (1.0 + x * x),
    np.sinh: lambda x, f: np.cosh(x),
    np.cosh: lambda x, f: np.sinh(x),
    np.tanh: lambda x, f: 1.0 / np.cosh(x) ** 2,
    np.arcsinh: lambda x, f: 1.0 / np.hypot(x, 1.0),
    np.arccosh: lambda x, f: 1.0 / np.sqrt((x - 1.0) * (x + 1.0)),
    np.arctanh: lambda x, f: 1.0 / ((1.0 - x) * (1.0 + x)),
    np.degrees: lambda x, f: 180.0 / np.pi,
    np.rad2deg: lambda x, f: 180.0 / np.pi,
    np.radians: lambda x, f: np.pi / 180.0,
    np.deg2rad: lambda x, f: np.pi / 180.0,
}

# f = f(x, y): df/dx and df/dy in terms of x, y and f.
BINARY: dict[np.ufunc, tuple[Partial, Partial]] = {
    np.add: (lambda x, y, f: 1.0, lambda x, y, f: 1.0),
    np.subtract: (lambda x, y, f: 1.0, lambda x, y, f: -1.0),
    np.multiply: (lambda x, y, f: y, lambda x, y, f: x),
    np.divide: (lambda x, y, f: 1.0 / y, lambda x, y, f: -f / y),
    # x**0 is always 1, and 0**y is 0 for y > 0, although the general formulas give 0 * inf.
    np.power: (
        lambda x, y, f: np.where(y == 0.0, 0.0, y * np.power(x, y - 1.0)),
        lambda x, y, f: np.where((x == 0.0) & (y > 0.0), 0.0, f * np.log(x)),
    ),
    np.arctan2: (
        lambda x, y, f: y / np.hypot(x, y) / np.hypot(x, y),
        lambda x, y, f: -x / np.hypot(x, y) / np.hypot(x, y),
    ),
    np.hypot: (lambda x, y, f: x / f, lambda x, y, f: y / f),
    np.logaddexp: (
        lambda x, y, f: 1.0 / (1.0 + np.exp(y - x)),
        lambda x, y, f: 1.0 / (1.0 + np.exp(x - y)),
    ),
    np.logaddexp2: (
        lambda x, y, f: 1.0 / (1.0 + np.exp2(y - x)),
        lambda x, y, f: 1.0 / (1.0 + np.exp2(x - y)),
    ),
    np.remainder: (lambda x, y, f: 1.0, lambda x, y, f: -np.floor_divide(x, y)),
    np.fmod: (lambda x, y, f: 1.0, lambda x, y, f: -np.trunc(x / y)),
    np.copysign: (lambda x, y, f: np.sign(x) * np.copysign(1.0, y), lambda x, y, f: 0.0),
}
BINARY[np.float_power] = BINARY[np.power]

# f(x, y) is x where this is true, else y. Ties select the first argument; NaN is selected where NumPy does.
CHOICES: dict[np.ufunc, Callable[[FloatArray, FloatArray], Any]] = {
    np.maximum: lambda x, y: (x >= y) | np.isnan(x),
    np.minimum: lambda x, y: (x <= y) | np.isnan(x),
    np.fmax: lambda x, y: (x >= y) | np.isnan(y),
    np.fmin: lambda x, y: (x <= y) | np.isnan(y),
}

# Piecewise constant, so derivatives are zero.
STEPS = {np.floor, np.ceil, np.trunc, np.rint, np.sign, np.floor_divide, np.heaviside}

# Return plain arrays of booleans and depend only on the values.
VALUES_ONLY = {
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.isfinite, np.isinf,
    np.isnan, np.signbit, np.logical_and, np.logical_or, np.logical_xor, np.logical_not,
}  # fmt: skip

_REDUCTIONS = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
    np.logical_and: np.all, np.logical_or: np.any,
}  # fmt: skip
_ACCUMULATIONS = {np.add: np.cumsum, np.multiply: np.cumprod}


def supported_ufuncs() -> set[np.ufunc]:
    """Return all ufuncs that have a rule."""
    return {*UNARY, *BINARY, *CHOICES, *STEPS, *VALUES_ONLY, *PRODUCTS, np.modf, np.divmod}


@implements_ufuncs
def apply_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute ``getattr(ufunc, method)(*inputs, **kwargs)`` where an operand is an AutoDiffArray."""
    if any(_overrides(operand) for operand in inputs):
        return NotImplemented
    what = f"numpy.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    if method != "__call__":
        return _apply_method(ufunc, method, inputs, kwargs, what)
    if ufunc in VALUES_ONLY:
        return _compute_values_only(ufunc, inputs, kwargs, what)
    out = kwargs.pop("out", None)
    if kwargs:
        _check_keywords(kwargs, what)
    result = _compute(ufunc, inputs, what)
    return result if out is None else _store(out, result, what)


def _compute(ufunc: np.ufunc, inputs: tuple[Any, ...], what: str) -> Any:
    if ufunc is np.modf:
        whole = np.trunc(inputs[0])
        return inputs[0] - whole, whole
    if ufunc is np.divmod:
        return np.floor_divide(*inputs), np.remainder(*inputs)
    count = common_count(inputs, what)
    if ufunc in PRODUCTS:
        return PRODUCTS[ufunc](*inputs)
    if ufunc in STEPS:
        f = ufunc(*(take_apart(operand, count, what)[0] for operand in inputs))
        return fresh(f, np.zeros((*np.shape(f), count)))
    if ufunc in UNARY:
        x, dx = take_apart(inputs[0], count, what)
        f = ufunc(x)
        if dx is None:
            return fresh(f, np.zeros((*np.shape(f), count)))
        with np.errstate(all="ignore"):
            return fresh(f, _scale(UNARY[ufunc](x, f), dx))
    if ufunc in BINARY or ufunc in CHOICES:
        return _compute_binary(ufunc, inputs, count, what)
    raise ArgumentTypeError(
        f"{what} is not supported for an AutoDiffArray: use supported functions, "
        "or take the values alone, x.value"
    )


def _compute_binary(ufunc: np.ufunc, inputs: tuple[Any, ...], count: int, what: str) -> AutoDiffArray:
    x, dx = take_apart(inputs[0], count, what)
    y, dy = take_apart(inputs[1], count, what)
    if ufunc is np.power and dy is None and y.ndim == 0 and y == 2.0:
        ufunc, y, dy = np.multiply, x, dx  # x**2 as a product: faster, and without a logarithm.
    f = ufunc(x, y)
    if dx is None and dy is None:
        return fresh(f, np.zeros((*np.shape(f), count)))
    with np.errstate(all="ignore"):
        if ufunc in CHOICES:
            chosen = np.asarray(CHOICES[ufunc](x, y))[..., None]
            return fresh(f, np.where(chosen, 0.0 if dx is None else dx, 0.0 if dy is None else dy))
        partial_x, partial_y = BINARY[ufunc]
        if dy is None:
            return fresh(f, _scale(partial_x(x, y, f), dx))
        if dx is None:
            return fresh(f, _scale(partial_y(x, y, f), dy))
        if ufunc is np.add or ufunc is np.subtract:
            return fresh(f, ufunc(dx, dy))
        terms = _scale(partial_x(x, y, f), dx), _scale(partial_y(x, y, f), dy)
        # Reuse a term as output: allocating a large array takes as long as adding two.
        whole = next((term for term in terms if term.shape[:-1] == np.shape(f)), None)
        return fresh(f, np.add(*terms, out=whole))


def _scale(partial: Any, dx: Any) -> Any:
    return partial * dx if type(partial) is float else partial[..., None] * dx


def _compute_values_only(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any], what: str) -> Any:
    # Arrays with unrelated derivatives may be compared.
    if any(isinstance(out, AutoDiffArray) for out in kwargs.get("out", ())):
        raise ArgumentTypeError(
            f"{what}: the result is an array of truth values: out cannot be an AutoDiffArray"
        )
    return ufunc(
        *(x.value if isinstance(x, AutoDiffArray) else as_constant(x, what) for x in inputs), **kwargs
    )


def _apply_method(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any], what: str
) -> Any:
    if method in ("reduce", "accumulate"):
        functions: Any = _REDUCTIONS if method == "reduce" else _ACCUMULATIONS
        if ufunc in functions:
            options = {key: option for key, option in kwargs.items() if option is not None or key == "axis"}
            x, *positions = inputs
            options.setdefault("axis", positions[0] if positions else 0)
            if len(positions) > 1 or "out" in options:
                raise ArgumentTypeError(f"{what}: dtype and out are not supported for an AutoDiffArray")
            return FUNCTIONS[functions[ufunc]](x, **options)
    elif method == "outer":
        x, y = (x if isinstance(x, AutoDiffArray) else as_constant(x, what) for x in inputs)
        return ufunc(np.reshape(x, x.shape + (1,) * y.ndim), y, **kwargs)
    elif method == "at" and ufunc in (np.add, np.subtract) and isinstance(inputs[0], AutoDiffArray):
        x, key, y = inputs
        return _accumulate_at(ufunc, x, key, y, what)
    raise ArgumentTypeError(f"{what} is not supported for an AutoDiffArray")


def _accumulate_at(ufunc: np.ufunc, x: AutoDiffArray, key: Any, y: Any, what: str) -> None:
    x._check_writeable()
    x._check_holds(y, what)
    value, derivatives = take_apart(y, x.num_derivatives, what)
    ufunc.at(x.value, key, value)
    if derivatives is not None:
        ufunc.at(x.derivatives, key_of_derivatives(key), derivatives)


def _check_keywords(kwargs: dict[str, Any], what: str) -> None:
    for name, option in kwargs.items():
        if name == "dtype":
            check_dtype(option, what)
        elif name == "where" and option is True:
            pass
        elif name == "where":
            raise ArgumentTypeError(f"{what}: where= is not supported for an AutoDiffArray: use numpy.where")
        elif name not in ("casting", "order", "subok"):
            raise ArgumentTypeError(f"{what}: {name}= is not supported for an AutoDiffArray")


def _store(out: tuple[Any, ...], result: Any, what: str) -> Any:
    if isinstance(result, tuple):
        raise ArgumentTypeError(f"{what}: out= is not supported for an AutoDiffArray")
    if not isinstance(out[0], AutoDiffArray):
        raise ArgumentTypeError(
            f"{what}: out must be an AutoDiffArray, as a plain array cannot hold derivatives, "
            f"got {type(out[0]).__name__}"
        )
    return out[0]._write(result, what)


def _overrides(operand: Any) -> bool:
    """Return whether an operand is of a foreign type that implements this itself."""
    if isinstance(operand, (AutoDiffArray, np.ndarray, float, int, np.generic)):
        return False
    theirs = getattr(type(operand), "__array_ufunc__", None)
    return theirs is not None and theirs is not np.ndarray.__array_ufunc__
