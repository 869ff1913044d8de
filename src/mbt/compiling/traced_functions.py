"""NumPy's functions on traced numbers: elementwise ufuncs, and those that NumPy's own code cannot compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbt.compiling.traced_arrays import (
    PRODUCTS,
    UFUNCS,
    as_traced,
    finished,
    implements,
    lifted,
    plain,
)
from mbt.compiling.tracing import Trace
from mbt.compiling.user_code import raise_branch

__all__ = ["key_of", "matmul"]


def _of_c(name: str) -> Callable[..., Any]:
    return lambda t, *operands: t.apply(name, *operands)


def _choose(t: Trace, x: Any, y: Any, is_less: bool) -> Any:
    """Return the smaller or the larger number; NaN if one of them is NaN."""
    x, y = t.lift(x), t.lift(y)
    for a, b in ((x, y), (y, x)):
        # One comparison suffices if one number is a constant: NaN never compares as less, so it is kept.
        if b.value is not None and b.value == b.value:
            return t.select(t.compare("less", *((b, a) if is_less else (a, b))), b, a)
    before = t.compare("less_equal", *((x, y) if is_less else (y, x)))
    return t.select(t.join("either", before, t.negate(t.compare("equal", x, x))), x, y)


def _choose_number(t: Trace, x: Any, y: Any, is_less: bool) -> Any:
    """Return the smaller or the larger number; if one of them is NaN, the other one."""
    x, y = t.lift(x), t.lift(y)
    before = t.compare("less_equal", *((x, y) if is_less else (y, x)))
    return t.select(t.join("either", before, t.negate(t.compare("equal", y, y))), x, y)


def _remainder(t: Trace, x: Any, y: Any) -> Any:
    r, is_across = _divide(t, x, y)
    return t.select(is_across, r + y, r)


def _divide(t: Trace, x: Any, y: Any) -> tuple[Any, Any]:
    """Return the remainder, which has the sign of x, and whether y has the opposite sign."""
    r = t.apply("fmod", x, y)
    is_across = t.join(
        "both",
        t.negate(t.compare("equal", r, 0.0)),
        t.negate(_same(t, t.compare("less", r, 0.0), t.compare("less", y, 0.0))),
    )
    return r, is_across


def _same(t: Trace, a: Any, b: Any) -> Any:
    return t.join("either", t.join("both", a, b), t.join("both", t.negate(a), t.negate(b)))


def _floor_divide(t: Trace, x: Any, y: Any) -> Any:
    x, y = t.lift(x), t.lift(y)
    r, is_across = _divide(t, x, y)
    quotient = (x - r) / y
    whole = t.apply("rint", t.select(is_across, quotient - 1.0, quotient))
    return t.select(t.compare("equal", y, 0.0), x / y, whole)


def _sign(t: Trace, x: Any) -> Any:
    x = t.lift(x)
    return t.select(t.compare("less", 0.0, x), 1.0, t.select(t.compare("less", x, 0.0), -1.0, x))


def _heaviside(t: Trace, x: Any, y: Any) -> Any:
    x = t.lift(x)
    other = t.select(t.compare("equal", x, 0.0), y, x)
    return t.select(t.compare("less", 0.0, x), 1.0, t.select(t.compare("less", x, 0.0), 0.0, other))


def _clip(t: Trace, x: Any, low: Any, high: Any) -> Any:
    if low is not None:
        x = _choose(t, x, low, False)
    return x if high is None else _choose(t, x, high, True)


_RULES: dict[str, Callable[..., Any]] = {
    "add": lambda t, x, y: t.lift(x) + y,
    "subtract": lambda t, x, y: t.lift(x) - y,
    "multiply": lambda t, x, y: t.lift(x) * y,
    "divide": lambda t, x, y: t.lift(x) / y,
    "true_divide": lambda t, x, y: t.lift(x) / y,
    "power": lambda t, x, y: t.lift(x) ** y,
    "float_power": lambda t, x, y: t.lift(x) ** y,
    "positive": lambda t, x: t.lift(x),
    "negative": lambda t, x: -t.lift(x),
    "conjugate": lambda t, x: t.lift(x),
    "real": lambda t, x: t.lift(x),  # used for arrays of objects from NumPy 2.5 on
    "absolute": _of_c("fabs"),
    "fabs": _of_c("fabs"),
    "square": lambda t, x: t.lift(x) * x,
    "reciprocal": lambda t, x: 1.0 / t.lift(x),
    "sign": _sign,
    "heaviside": _heaviside,
    "degrees": lambda t, x: t.lift(x) * (180.0 / np.pi),
    "rad2deg": lambda t, x: t.lift(x) * (180.0 / np.pi),
    "radians": lambda t, x: t.lift(x) * (np.pi / 180.0),
    "deg2rad": lambda t, x: t.lift(x) * (np.pi / 180.0),
    "remainder": _remainder,
    "floor_divide": _floor_divide,
    "divmod": lambda t, x, y: (_floor_divide(t, x, y), _remainder(t, x, y)),
    "maximum": lambda t, x, y: _choose(t, x, y, False),
    "minimum": lambda t, x, y: _choose(t, x, y, True),
    "fmax": lambda t, x, y: _choose_number(t, x, y, False),
    "fmin": lambda t, x, y: _choose_number(t, x, y, True),
    "clip": _clip,
    "less": lambda t, x, y: t.compare("less", x, y),
    "less_equal": lambda t, x, y: t.compare("less_equal", x, y),
    "greater": lambda t, x, y: t.compare("less", y, x),
    "greater_equal": lambda t, x, y: t.compare("less_equal", y, x),
    "equal": lambda t, x, y: t.compare("equal", x, y),
    "not_equal": lambda t, x, y: t.negate(t.compare("equal", x, y)),
    "logical_and": lambda t, x, y: t.join("both", x, y),
    "logical_or": lambda t, x, y: t.join("either", x, y),
    "logical_xor": lambda t, x, y: t.negate(_same(t, t.is_true(x), t.is_true(y))),
    "logical_not": lambda t, x: t.negate(t.is_true(x)),
    "isnan": lambda t, x: t.negate(t.compare("equal", x, x)),
    "isfinite": lambda t, x: t.compare("less", t.apply("fabs", x), np.inf),
    "isinf": lambda t, x: t.compare("equal", t.apply("fabs", x), np.inf),
    "arctan2": _of_c("atan2"),
    "hypot": _of_c("hypot"),
    "fmod": _of_c("fmod"),
    "copysign": _of_c("copysign"),
    "arcsin": _of_c("asin"),
    "arccos": _of_c("acos"),
    "arctan": _of_c("atan"),
    "arcsinh": _of_c("asinh"),
    "arccosh": _of_c("acosh"),
    "arctanh": _of_c("atanh"),
    **{
        name: _of_c(name)
        for name in (
            "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log", "log2", "log10",
            "log1p", "sqrt", "cbrt", "floor", "ceil", "trunc", "rint",
        )
    },
}  # fmt: skip
UFUNCS.update(_RULES)
UFUNCS["bitwise_and"], UFUNCS["bitwise_or"] = UFUNCS["logical_and"], UFUNCS["logical_or"]
UFUNCS["bitwise_xor"], UFUNCS["invert"] = UFUNCS["logical_xor"], UFUNCS["logical_not"]


# Products ---------------------------------------------------------------------------------------------------


def matmul(t: Trace, a: Any, b: Any) -> Any:
    """Return ``a @ b``, summing the terms in order."""
    x, y = lifted(t, a), lifted(t, b)
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError("matmul: expected arrays of at least one axis, got a number")
    rows, columns = x.ndim == 1, y.ndim == 1
    x, y = x[None] if rows else x, y[:, None] if columns else y
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(f"matmul: shapes {np.shape(a)} and {np.shape(b)} do not match")
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = np.broadcast_to(x, (*lead, *x.shape[-2:])), np.broadcast_to(y, (*lead, *y.shape[-2:]))
    result = np.empty((*lead, x.shape[-2], y.shape[-1]), dtype=object)
    for i in np.ndindex(result.shape):
        result[i] = _dot(t, x[(*i[:-2], i[-2])], y[(*i[:-2], slice(None), i[-1])])
    if not rows and not columns and _is_gram(t, x, y, result):
        t.semidefinite.add(key_of(result))
    if columns:
        result = result[..., 0]
    return result[..., 0, :] if rows and not columns else result[..., 0] if rows else result


def _dot(t: Trace, x: Any, y: Any) -> Any:
    total: Any = t.zero
    for a, b in zip(x, y, strict=True):
        total = total + a * b
    return total


def key_of(matrix: Any) -> tuple[int, ...]:
    """Return the indices of the entries of a matrix of numbers."""
    return tuple(entry.index for entry in matrix.flat)


def _is_gram(t: Trace, x: Any, y: Any, result: Any) -> bool:
    """Return whether a product is x x', or x A⁻¹ x' computed as x times the solution of A Y = x'."""
    if result.ndim != 2 or result.shape[0] != result.shape[1]:
        return False
    transposed = key_of(x.T)
    return key_of(y) == transposed or (transposed, key_of(y)) in t.solutions


def _vecdot(t: Trace, a: Any, b: Any) -> Any:
    return np.sum(as_traced(t, a) * as_traced(t, b), axis=-1)


PRODUCTS[np.matmul] = matmul
for _name, _rule in {
    "vecdot": _vecdot,
    "matvec": lambda t, a, b: matmul(t, a, as_traced(t, b)[..., None])[..., 0],
    "vecmat": lambda t, a, b: matmul(t, as_traced(t, a)[..., None, :], b)[..., 0, :],
}.items():
    if hasattr(np, _name):
        PRODUCTS[getattr(np, _name)] = _rule


@implements("dot")
def _dot_rule(t: Trace, a: Any, b: Any, out: Any = None) -> Any:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return as_traced(t, a) * as_traced(t, b)
    if np.ndim(b) <= 2:
        return matmul(t, a, b)
    return np.tensordot(as_traced(t, a), b, (-1, -2))


@implements("einsum")
def _einsum(t: Trace, *operands: Any, out: Any = None, optimize: Any = False, **options: Any) -> Any:
    # Subscripts are a string, or a list of integers after each operand.
    is_text = isinstance(operands[0], str)
    arrays = [
        lifted(t, x) if (i > 0 if is_text else i % 2 == 0 and i < len(operands) - 1) else x
        for i, x in enumerate(operands)
    ]
    return np.einsum(*arrays, optimize=optimize)


# Choices ----------------------------------------------------------------------------------------------------


@implements("where")
def _where(t: Trace, condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        raise_branch()
    arrays = [plain(as_traced(t, value)) for value in (condition, x, y)]
    return np.frompyfunc(t.select, 3, 1)(*arrays)


@implements("select")
def _select(t: Trace, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    result = default
    for condition, choice in zip(condlist[::-1], choicelist[::-1], strict=True):
        result = _where(t, condition, choice, result)
    return result


@implements("clip")
def _clip_rule(t: Trace, a: Any, a_min: Any = None, a_max: Any = None, **named: Any) -> Any:
    low, high = named.get("min", a_min), named.get("max", a_max)
    result = as_traced(t, a)
    if low is not None:
        result = np.maximum(result, low)
    return result if high is None else np.minimum(result, high)


@implements("copyto")
def _copyto(t: Trace, dst: Any, src: Any, casting: Any = None, where: Any = True) -> None:
    dst[...] = src if where is True else finished(t, _where(t, where, src, dst))


@implements("average")
def _average(t: Trace, a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    array = as_traced(t, a)
    if weights is None:
        return np.mean(array, axis=axis, keepdims=keepdims)
    total: Any = np.sum(weights, axis=axis, keepdims=keepdims)
    return np.sum(array * weights, axis=axis, keepdims=keepdims) / total
