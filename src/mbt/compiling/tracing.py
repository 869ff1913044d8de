"""Records arithmetic: numbers that write down what is done with them, each operation once."""

from __future__ import annotations

import math
import struct
from typing import Any

from mbt.symbolic import ScalarType

__all__ = ["Number", "Trace"]

#: An operation: its name, and the indices of its operands; of an input its place, of a constant its value.
Operation = tuple[Any, ...]


class Trace:
    """Operations in the order in which they were done, operands before what uses them."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.numbers: list[Number] = []
        self._known: dict[Operation, Number] = {}
        self.zero = self.constant(0.0)
        self.one = self.constant(1.0)

    def record(self, *operation: Any) -> Number:
        """Return the number that an operation gives, which was recorded already if it was done before."""
        number = self._known.get(operation)
        if number is None:
            number = Number(self, len(self.operations))
            self.operations.append(operation)
            self.numbers.append(number)
            self._known[operation] = number
        return number

    def constant(self, value: float) -> Number:
        """Return a number that is known. Zeros of either sign are told apart."""
        return self.record("constant", struct.pack("d", value))

    def scalar_type(self) -> ScalarType:
        """Return what a tree computes with."""

        def function(name: str) -> Any:
            return lambda *operands: self.record(name, *(operand.index for operand in operands))

        names = ("sin", "cos", "sqrt", "tanh", "atan2", "floor", "select_lt")
        functions = {name: function(name) for name in names}
        return ScalarType(self.zero, self.one, from_float=self.constant, name="traced", **functions)


class Number:
    """The result of an operation."""

    __slots__ = ("index", "trace")

    def __init__(self, trace: Trace, index: int) -> None:
        self.trace = trace
        self.index = index

    @property
    def value(self) -> float | None:
        """The value of a constant."""
        name, *rest = self.trace.operations[self.index]
        return float(struct.unpack("d", rest[0])[0]) if name == "constant" else None

    @property
    def opposite(self) -> Number | None:
        """What this is minus of."""
        name, *rest = self.trace.operations[self.index]
        return self.trace.numbers[rest[0]] if name == "negative" else None

    def __neg__(self) -> Number:
        if (value := self.value) is not None:
            return self.trace.constant(-value)
        return self.opposite or self.trace.record("negative", self.index)

    def __add__(self, other: Number) -> Number:
        a, b = self.value, other.value
        if a is not None and b is not None:
            return self.trace.constant(a + b)
        if a == 0.0 or b == 0.0:
            return other if a == 0.0 else self
        if minus := other.opposite:
            return self - minus
        if minus := self.opposite:
            return other - minus
        return self.trace.record("add", *sorted((self.index, other.index)))

    def __sub__(self, other: Number) -> Number:
        a, b = self.value, other.value
        if a is not None and b is not None:
            return self.trace.constant(a - b)
        if b == 0.0:
            return self
        if a == 0.0:
            return -other
        if minus := other.opposite:
            return self + minus
        if minus := self.opposite:
            return -(minus + other)
        return self.trace.record("subtract", self.index, other.index)

    def __mul__(self, other: Number) -> Number:
        a, b = self.value, other.value
        if a is not None and b is not None:
            return self.trace.constant(a * b)
        for value, number in ((a, other), (b, self)):
            if value == 0.0:
                return self.trace.zero
            if value is not None and abs(value) == 1.0:
                return number if value > 0.0 else -number
        if minus := self.opposite:
            return -(minus * other)
        if minus := other.opposite:
            return -(self * minus)
        if a is not None and a < 0.0:
            return -(self.trace.constant(-a) * other)
        if b is not None and b < 0.0:
            return -(self * self.trace.constant(-b))
        return self.trace.record("multiply", *sorted((self.index, other.index)))

    def __truediv__(self, other: Number) -> Number:
        a, b = self.value, other.value
        if a is not None and b:
            return self.trace.constant(a / b)
        if a == 0.0:
            return self.trace.zero
        if b is not None and abs(b) == 1.0:
            return self if b > 0.0 else -self
        if b and math.frexp(b)[0] == 0.5:
            return self * self.trace.constant(1.0 / b)
        if minus := self.opposite:
            return -(minus / other)
        return self.trace.record("divide", self.index, other.index)
