"""Arrays of values with derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mbt._core.door.compiled_model import CompiledModel
from mbt._core.engines.dual_engine import DualEngine
from mbt.autodiff.array import AutoDiffArray, wrap
from mbt.errors import ArgumentTypeError, ArgumentValueError, shape_error
from mbt.math import arrays
from mbt.math.arrays import FloatArray, Shape
from mbt.scalars.scalar_arrays import ScalarArrays
from mbt.symbolic import ScalarType, get_scalar_type

__all__ = ["AutoDiffArrays", "GrowingArray"]


class GrowingArray(AutoDiffArray):
    """Values with derivatives whose number grows to that of what is written into them.

    It can grow while its own derivatives are zero or none: so forces can be created before it is known what
    depends on what. Views of a part do not grow.
    """

    __slots__ = ()

    def make_room(self, count: int) -> None:
        """Make room for this many derivatives, unless some are nonzero."""
        if count != self.num_derivatives and not self._derivatives.any():
            self._derivatives = np.zeros((*self.shape, count))

    def overwrite(self, array: AutoDiffArray) -> None:
        """Replace values and derivatives by those of an array of the same shape."""
        derivatives = array.derivatives.copy()
        self._value[...] = array.value
        self._derivatives = derivatives

    def __setitem__(self, key: Any, entries: Any) -> None:
        """Write values and derivatives."""
        self._make_room_for(entries)
        super().__setitem__(key, entries)

    def _write(self, result: AutoDiffArray, what: str) -> AutoDiffArray:
        self._make_room_for(result)
        return super()._write(result, what)

    def _make_room_for(self, entries: Any) -> None:
        if isinstance(entries, AutoDiffArray) and entries.num_derivatives:
            self.make_room(entries.num_derivatives)

    def _check_holds(self, entries: object, what: str) -> None:
        if self._derivatives.any():
            super()._check_holds(entries, what)


class AutoDiffArrays(ScalarArrays):
    """Values with derivatives."""

    array_type = AutoDiffArray

    def as_float_array(self, value: object, name: str, shape: Shape | None = None) -> Any:
        """Return a contiguous array; plain numbers are constants."""
        array = _contiguous(_autodiff_of(value, name)) if _may_hold(value) else _constant(value, name)
        if shape is not None and not arrays.has_shape(array.shape, shape):
            raise shape_error(name, shape, array.shape)
        return array

    def stack(self, numbers: Sequence[Any]) -> Any:
        """Return one array of several numbers, or of arrays that broadcast, along its last axis."""
        if not any(map(np.ndim, numbers)):
            return super().stack(numbers)
        shape = np.broadcast_shapes(*map(np.shape, numbers))
        return np.stack([np.broadcast_to(self.scalar(x), shape) for x in numbers], -1)

    def _each(self, function: Callable[[Any], Any], vectors: Any, shape: tuple[int, ...]) -> Any:
        """Apply a function to whole arrays."""
        return function(vectors)

    def values(self, array: Any) -> FloatArray:
        """Return the values."""
        return array.value if isinstance(array, AutoDiffArray) else np.asarray(array, dtype=np.float64)

    def known_values(self, array: Any) -> FloatArray:
        """Return the values."""
        return self.values(array)

    def scalar(self, entry: Any) -> Any:
        """Return one entry."""
        return entry if isinstance(entry, AutoDiffArray) else _autodiff_of(entry, "entry")

    def is_less(self, a: Any, b: Any) -> bool:
        """Whether a < b."""
        return bool(a < b)

    @property
    def _functions(self) -> ScalarType:
        return get_scalar_type("autodiff")

    def check_out(self, out: object, name: str, shape: tuple[int, ...]) -> Any:
        """Return `out` if results can be written into it."""
        if not isinstance(out, AutoDiffArray):
            raise ArgumentTypeError(f"{name}: expected an AutoDiffArray, got {type(out).__name__}")
        if out.shape != shape:
            raise shape_error(name, shape, out.shape)
        if not (out.value.flags.writeable and out.derivatives.flags.writeable):
            raise ArgumentValueError(f"{name}: expected an array to write into, got a read-only one")
        return out

    def replaced(self, array: Any, part: Any, values: Any) -> Any:
        """Return a copy of an array in which a part of its last axis has other values.

        If the derivatives of the other entries are zero, the result has as many as the new values.
        """
        derivatives = array.derivatives.copy()
        derivatives[..., part, :] = 0.0
        rest = wrap(array.value, derivatives if derivatives.any() else derivatives[..., :0])
        changed: AutoDiffArray = self.zeros(array.shape, rest, values)
        changed[...] = rest
        changed[..., part] = values
        return changed

    def zeros(self, shape: tuple[int, ...], *like: Any) -> Any:
        """Return zeros, with as many derivatives as the arrays `like`."""
        count = max((x.num_derivatives for x in like if isinstance(x, AutoDiffArray)), default=0)
        return wrap(np.zeros(shape), np.zeros((*shape, count)))

    def writable(self, array: Any) -> Any:
        """Return an array that makes room for derivatives when needed."""
        return GrowingArray(array.value, array.derivatives)

    def overwrite(self, target: Any, array: Any) -> None:
        """Overwrite such an array."""
        target.overwrite(array)

    def frozen(self, view: Any) -> Any:
        """Return a read-only view."""
        value, derivatives = np.ascontiguousarray(view.value), np.ascontiguousarray(view.derivatives)
        value = value.reshape(view.shape)
        value.flags.writeable = derivatives.flags.writeable = False
        return wrap(value, derivatives)

    def add(self, total: Any, addend: Any) -> Any:
        """Return the sum."""
        count = addend.num_derivatives if isinstance(addend, AutoDiffArray) else 0
        if count in (0, total.num_derivatives) or isinstance(total, GrowingArray):
            total += addend
            return total
        return total + addend

    def add_at(self, array: Any, indices: Sequence[int], addends: Any) -> Any:
        """Return a new array with addends added at some indices."""
        spread: AutoDiffArray = self.zeros(array.shape, addends)
        for i, index in enumerate(indices):
            spread[..., index] = spread[..., index] + addends[..., i]
        return array + spread

    def scale(self, array: Any, factor: Any) -> Any:
        """Return the product."""
        return array * factor

    def divide(self, array: Any, divisor: Any) -> Any:
        """Return the quotient."""
        return array / divisor

    def is_zero(self, number: Any) -> bool:
        """Whether the value is zero."""
        return bool(number == 0.0)

    def is_identity(self, matrix: AutoDiffArray) -> bool:
        """Whether a matrix is the identity."""
        return np.array_equal(matrix.value, np.eye(len(matrix.value)))

    def _check_can_hold(self, out: Any, result: Any, name: str) -> None:
        super()._check_can_hold(out, result, name)
        out._check_holds(result, name)

    def make_engine(self, compiled: CompiledModel) -> DualEngine:
        """Return the engine of one Context."""
        return DualEngine(compiled, self)

    def set_engine(self, engine: DualEngine, name: str, array: AutoDiffArray) -> None:
        """Give q, v or parameters to an engine."""
        getattr(engine, "set_" + name)(array.value, array.derivatives)


def _contiguous(array: AutoDiffArray) -> AutoDiffArray:
    value, derivatives = array.value, array.derivatives
    if value.flags.c_contiguous and derivatives.flags.c_contiguous:
        return array
    return wrap(value.copy(), derivatives.copy())


def _autodiff_of(value: Any, name: str, depth: int = 0) -> AutoDiffArray:
    if isinstance(value, AutoDiffArray):
        return value
    if _has_derivatives(value, name, depth):
        entries = [_autodiff_of(entry, name, depth + 1) for entry in value]
        if any(entry.shape != entries[0].shape for entry in entries):
            raise ArgumentTypeError(f"{name}: expected a regular array, got ragged lists")
        return np.stack(entries)  # type: ignore[return-value]
    return _constant(value, name)


def _constant(value: Any, name: str) -> AutoDiffArray:
    array = arrays.as_float_array(value, name)
    return wrap(array, np.zeros((*array.shape, 0)))


def _may_hold(value: Any) -> bool:
    """Whether a value may contain derivatives: a plain array of numbers does not."""
    return type(value) is not np.ndarray or value.dtype == object


def _has_derivatives(value: Any, name: str, depth: int) -> bool:
    arrays.check_nesting(depth, name)
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.dtype == object):
        return any(
            isinstance(entry, AutoDiffArray) or _has_derivatives(entry, name, depth + 1) for entry in value
        )
    return False
