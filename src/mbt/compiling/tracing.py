"""Recording of arithmetic: numbers that record the operations on them, each operation once."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from mbt.compiling.traced_entries import Condition, Number, Symbol
from mbt.errors import ArgumentTypeError
from mbt.symbolic import ScalarType

__all__ = ["BINARY", "UNARY", "Trace", "foreign_error"]

#: An operation: its name and the indices of its operands; for an input its place, for a constant its value.
Operation = tuple[Any, ...]

#: Functions of one number, by their names in C, and NumPy's functions that evaluate them for constants.
UNARY: dict[str, Callable[[float], Any]] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "cbrt": np.cbrt, "fabs": np.fabs,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
}  # fmt: skip

#: The same for functions of two numbers.
BINARY: dict[str, Callable[[float, float], Any]] = {
    "atan2": np.arctan2, "hypot": np.hypot, "pow": np.power, "fmod": np.fmod, "copysign": np.copysign,
}  # fmt: skip

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "equal": lambda a, b: a == b,
}


class Trace:
    """Operations in the order in which they were performed, operands before the operations that use them."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.numbers: list[Symbol] = []
        self._known: dict[Operation, Symbol] = {}
        self.zero = self.constant(0.0)
        self.one = self.constant(1.0)
        self.scalar_type = self._make_scalar_type()
        #: Symmetric positive semidefinite matrices, by the indices of their entries.
        self.semidefinite: set[tuple[int, ...]] = set()
        #: Right-hand sides and solutions of linear systems with such matrices.
        self.solutions: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()

    def record(self, *operation: Any, kind: type[Symbol] | None = None) -> Any:
        """Return the result of an operation, which is recorded unless the same one was recorded before."""
        number = self._known.get(operation)
        if number is None:
            number = (kind or Number)(self, len(self.operations))
            self.operations.append(operation)
            self.numbers.append(number)
            self._known[operation] = number
        return number

    def constant(self, value: float) -> Number:
        """Return a constant. Positive and negative zero are different constants."""
        number: Number = self.record("constant", struct.pack("d", value))
        return number

    def lift(self, operand: Any) -> Number:
        """Return a number, a condition or a plain number as a number."""
        if isinstance(operand, Number):
            self._check_own(operand)
            return operand
        if isinstance(operand, Condition):
            self._check_own(operand)
            return self.select(operand, self.one, self.zero)
        try:
            return self.constant(_PLAIN[type(operand)](operand))
        except KeyError:
            if isinstance(operand, (np.number, np.bool_, float, int)) and not isinstance(
                operand, np.complexfloating
            ):
                return self.constant(float(operand))
            raise ArgumentTypeError(
                f"a traced number cannot be combined with an operand of type {type(operand).__name__}"
            ) from None

    def _check_own(self, operand: Symbol) -> None:
        if operand.trace is not self:
            raise foreign_error()

    def apply(self, name: str, *operands: Any) -> Number:
        """Return a function of one or two numbers, by its name in C."""
        numbers = [self.lift(operand) for operand in operands]
        values = [number.value for number in numbers]
        if None not in values:
            with np.errstate(all="ignore"):
                return self.constant(float((UNARY.get(name) or BINARY[name])(*map(np.float64, values))))
        if name == "fabs" and self.operations[numbers[0].index][0] in ("fabs", "sqrt"):
            return numbers[0]
        number: Number = self.record(name, *(number.index for number in numbers))
        return number

    def compare(self, name: str, a: Any, b: Any) -> Condition | bool:
        """Return whether a is less, less_equal, or equal to b."""
        x, y = self.lift(a), self.lift(b)
        if x.value is not None and y.value is not None:
            return _COMPARISONS[name](x.value, y.value)
        condition: Condition = self.record(name, x.index, y.index, kind=Condition)
        return condition

    def is_true(self, operand: Any) -> Condition | bool:
        """Return a condition, or whether a number is not zero."""
        if isinstance(operand, (bool, np.bool_)):
            return bool(operand)
        if isinstance(operand, Condition):
            self._check_own(operand)
            return operand
        return self.negate(self.compare("equal", operand, 0.0))

    def negate(self, condition: Condition | bool) -> Condition | bool:
        """Return the negation of a condition."""
        if isinstance(condition, bool):
            return not condition
        name, *rest = self.operations[condition.index]
        if name == "negate":
            opposite: Any = self.numbers[rest[0]]
        else:
            opposite = self.record("negate", condition.index, kind=Condition)
        return opposite  # type: ignore[no-any-return]

    def join(self, name: str, a: Any, b: Any) -> Condition | bool:
        """Return whether "both" or "either" of two conditions holds."""
        first, second = self.is_true(a), self.is_true(b)
        for known, other in ((first, second), (second, first)):
            if isinstance(known, bool):
                return other if known == (name == "both") else known
        assert isinstance(first, Condition)
        assert isinstance(second, Condition)
        joined: Condition = self.record(name, *sorted((first.index, second.index)), kind=Condition)
        return joined

    def select(self, condition: Any, x: Any, y: Any) -> Number:
        """Return x if a condition holds, else y."""
        chosen = self.is_true(condition)
        x, y = self.lift(x), self.lift(y)
        if isinstance(chosen, bool):
            return x if chosen else y  # type: ignore[no-any-return]
        if x is y:
            return x  # type: ignore[no-any-return]
        number: Number = self.record("select", chosen.index, x.index, y.index)
        return number

    def _make_scalar_type(self) -> ScalarType:
        """Return the scalar type with which a tree records its computations."""

        def function(name: str) -> Any:
            return lambda *operands: self.apply(name, *operands)

        functions = {name: function(name) for name in ("sin", "cos", "sqrt", "tanh", "atan2", "floor")}
        return ScalarType(
            self.zero,
            self.one,
            from_float=self.constant,
            name="traced",
            digits=16,
            select_lt=lambda a, b, x, y: self.select(self.compare("less", a, b), x, y),
            **functions,
        )


def foreign_error() -> ArgumentTypeError:
    """Return the error to raise for numbers of different traces."""
    return ArgumentTypeError(
        "a traced number from another call of mbt.compile: do not keep traced numbers between calls"
    )


_PLAIN: dict[type, Callable[[Any], float]] = {float: float, int: float, bool: float, np.float64: float}
