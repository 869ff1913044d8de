"""Derivatives of recorded arithmetic, recorded in turn by forward differentiation of each operation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mbt.compiling.traced_entries import Number
from mbt.compiling.tracing import Trace

__all__ = ["differentiate"]

Rates = dict[int, Number]

# f = f(x): df/dx in terms of the trace, x and f. Step functions are absent: their derivative is zero.
_OF_ONE: dict[str, Callable[[Trace, Any, Any], Any]] = {
    "sin": lambda t, x, f: t.apply("cos", x),
    "cos": lambda t, x, f: -t.apply("sin", x),
    "tan": lambda t, x, f: 1.0 + f * f,
    "asin": lambda t, x, f: 1.0 / t.apply("sqrt", (1.0 - x) * (1.0 + x)),
    "acos": lambda t, x, f: -1.0 / t.apply("sqrt", (1.0 - x) * (1.0 + x)),
    "atan": lambda t, x, f: 1.0 / (1.0 + x * x),
    "sinh": lambda t, x, f: t.apply("cosh", x),
    "cosh": lambda t, x, f: t.apply("sinh", x),
    "tanh": lambda t, x, f: 1.0 - f * f,
    "asinh": lambda t, x, f: 1.0 / t.apply("hypot", x, 1.0),
    "acosh": lambda t, x, f: 1.0 / t.apply("sqrt", (x - 1.0) * (x + 1.0)),
    "atanh": lambda t, x, f: 1.0 / ((1.0 - x) * (1.0 + x)),
    "exp": lambda t, x, f: f,
    "exp2": lambda t, x, f: math.log(2.0) * f,
    "expm1": lambda t, x, f: t.apply("exp", x),
    "log": lambda t, x, f: 1.0 / x,
    "log2": lambda t, x, f: 1.0 / (math.log(2.0) * x),
    "log10": lambda t, x, f: 1.0 / (math.log(10.0) * x),
    "log1p": lambda t, x, f: 1.0 / (1.0 + x),
    "sqrt": lambda t, x, f: 0.5 / f,
    "cbrt": lambda t, x, f: 1.0 / (3.0 * f * f),
    "fabs": lambda t, x, f: t.select(x < 0.0, -1.0, t.select(x > 0.0, 1.0, 0.0)),
}

# f = f(x, y): df/dx and df/dy in terms of the trace, x, y and f.
_OF_TWO: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "multiply": (lambda t, x, y, f: y, lambda t, x, y, f: x),
    "divide": (lambda t, x, y, f: 1.0 / y, lambda t, x, y, f: -f / y),
    "atan2": (
        lambda t, x, y, f: y / (x * x + y * y),
        lambda t, x, y, f: -x / (x * x + y * y),
    ),
    "hypot": (lambda t, x, y, f: x / f, lambda t, x, y, f: y / f),
    # 0**y is 0 for all y > 0, although log(0) is infinite.
    "pow": (
        lambda t, x, y, f: t.select(y.trace.compare("equal", y, 0.0), 0.0, y * t.apply("pow", x, y - 1.0)),
        lambda t, x, y, f: t.select(
            t.join("both", t.compare("equal", x, 0.0), t.compare("less", 0.0, y)), 0.0, f * t.apply("log", x)
        ),
    ),
    "fmod": (lambda t, x, y, f: t.one, lambda t, x, y, f: -t.apply("trunc", x / y)),
    "copysign": (
        lambda t, x, y, f: t.apply("copysign", _OF_ONE["fabs"](t, x, f), _OF_ONE["fabs"](t, x, f) * y),
        lambda t, x, y, f: t.zero,
    ),
}


def differentiate(trace: Trace, outputs: list[int], inputs: dict[int, int]) -> list[list[Number]]:
    """Return the derivatives of some operations with respect to inputs, along the given directions.

    Parameters
    ----------
    trace : Trace
        The recorded operations, to which those of the derivatives are added.
    outputs : list of int
        Indices of operations.
    inputs : dict of int to int
        Maps the index of each input to its direction.

    Returns
    -------
    list of list of Number
        For each output, its derivative along each direction.
    """
    rates: dict[int, Rates] = {index: {direction: trace.one} for index, direction in inputs.items()}
    for index in range(max(outputs, default=-1) + 1):
        if index not in rates and (found := _rates_of(trace, index, rates)):
            rates[index] = found
    return [
        [rates.get(output, {}).get(direction, trace.zero) for direction in range(len(inputs))]
        for output in outputs
    ]


def _rates_of(t: Trace, index: int, rates: dict[int, Rates]) -> Rates:
    """Return the nonzero derivatives of one operation, by direction."""
    name, *operands = t.operations[index]
    if name in ("constant", "input"):
        return {}
    own = [rates.get(operand, {}) for operand in operands]
    if not any(own):
        return {}
    f, numbers = t.numbers[index], [t.numbers[operand] for operand in operands]
    directions = sorted({direction for rate in own for direction in rate})
    if name == "select":
        condition, *_ = numbers
        found = {i: t.select(condition, own[1].get(i, t.zero), own[2].get(i, t.zero)) for i in directions}
    elif name == "negative":
        found = {i: -own[0][i] for i in directions}
    elif name in ("add", "subtract"):
        sign = 1 if name == "add" else -1
        found = {i: own[0].get(i, t.zero) + sign * own[1].get(i, t.zero) for i in directions}
    elif name in _OF_ONE:
        partial = _OF_ONE[name](t, numbers[0], f)
        found = {i: partial * own[0][i] for i in directions}
    elif name in _OF_TWO:
        found = {}
        for (
            rule,
            rate,
        ) in zip(_OF_TWO[name], own, strict=True):
            partial = rule(t, *numbers, f) if rate else t.zero
            for i in rate:
                found[i] = found.get(i, t.zero) + partial * rate[i]
    else:  # A step function or a condition.
        found = {}
    return {i: rate for i, rate in found.items() if rate is not t.zero}
