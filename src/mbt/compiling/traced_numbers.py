"""Arrays of traced numbers as arguments and results of `mbt.math` and `mbt.functional`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from mbt._core.quantities.names import Quantity
from mbt.compiling.traced_arrays import TracedArray, as_traced, lifted, plain
from mbt.compiling.traced_entries import Number, Symbol
from mbt.compiling.traced_functions import key_of
from mbt.compiling.tracing import Trace
from mbt.math.arrays import Shape
from mbt.scalars.object_arrays import ObjectArrays

__all__ = ["TracedNumbers"]

# Positive semidefinite matrices.
_SEMIDEFINITE = {
    Quantity.MASS_MATRIX,
    Quantity.MASS_MATRIX_INVERSE,
    Quantity.OPERATIONAL_SPACE_INERTIA,
    Quantity.OPERATIONAL_SPACE_INVERSE_INERTIA,
}


class TracedNumbers(ObjectArrays):
    """Traced numbers in arrays that work with NumPy."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace.scalar_type)
        self.trace = trace

    def as_float_array(self, value: object, name: str, shape: Shape | None = None) -> Any:
        """Return an array of traced numbers."""
        if isinstance(value, TracedArray):
            value = lifted(self.trace, value)
        return as_traced(self.trace, super().as_float_array(value, name, shape))

    def scalar(self, entry: Any) -> Any:
        """Return one entry as a number."""
        return self.trace.lift(entry) if isinstance(entry, Symbol) else super().scalar(entry)

    def known_values(self, array: Any) -> Any:
        """Return the values of constants and zero for all other numbers."""
        entries = plain(np.asarray(array, dtype=object))
        values = [entry.value or 0.0 if type(entry) is Number else _value_of(entry) for entry in entries.flat]
        return np.array(values, dtype=float).reshape(entries.shape)

    def apply(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Return a function of the entries of arrays."""
        return as_traced(self.trace, super().apply(function, *operands))

    def stack(self, numbers: Any) -> Any:
        """Return one array of several numbers."""
        return as_traced(self.trace, super().stack(numbers))

    def zeros(self, shape: tuple[int, ...], *like: Any) -> Any:
        """Return zeros."""
        return as_traced(self.trace, super().zeros(shape))

    def scale(self, array: Any, factor: Any) -> Any:
        """Return the product."""
        return as_traced(self.trace, super().scale(array, factor))

    def divide(self, array: Any, divisor: Any) -> Any:
        """Return the quotient."""
        return as_traced(self.trace, super().divide(array, divisor))

    def write(self, out: Any, result: Any, name: str) -> Any:
        """Write a result into `out` and return it; without `out`, return the result."""
        written = super().write(out, result, name)
        return as_traced(self.trace, written) if isinstance(written, np.ndarray) else written

    def check_out(self, out: object, name: str, shape: tuple[int, ...]) -> Any:
        """Return an array that can be written into."""
        return super().check_out(plain(out) if isinstance(out, TracedArray) else out, name, shape)

    def finish(self, result: Any, quantity: int, operands: Iterable[Any]) -> Any:
        """Return a result of `mbt.functional`: floats if all operands are floats."""
        if not any(_is_traced(operand) for operand in operands):
            return np.array(self.known_values(result))
        traced = as_traced(self.trace, result)
        if quantity in _SEMIDEFINITE:
            for i in np.ndindex(*traced.shape[:-2]):
                self.trace.semidefinite.add(key_of(lifted(self.trace, traced[i])))
        return traced


def _is_traced(operand: Any) -> bool:
    if isinstance(operand, Symbol):
        return True
    if isinstance(operand, np.ndarray):
        return operand.dtype == object and any(isinstance(entry, Symbol) for entry in operand.flat)
    return isinstance(operand, (list, tuple)) and any(map(_is_traced, operand))


def _value_of(entry: Any) -> float:
    return 0.0 if isinstance(entry, Symbol) else float(entry)
