"""Arrays of Python objects: symbols, fractions, numbers with many digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import mul, truediv
from typing import Any

import numpy as np

from mbt._core.door.compiled_model import CompiledModel
from mbt._core.engines.object_engine import ObjectEngine
from mbt.autodiff.array import AutoDiffArray
from mbt.errors import ArgumentTypeError, ArgumentValueError, quote, shape_error
from mbt.math import arrays
from mbt.math.arrays import FloatArray, Shape, check_nesting
from mbt.math.read_only import ReadOnlyArray
from mbt.scalars.scalar_arrays import ScalarArrays
from mbt.symbolic import ScalarType

__all__ = ["ObjectArrays"]


class EntryArray(np.ndarray[Any, np.dtype[np.object_]]):
    """An array of objects where ``a[..., i]`` is an object, like ``a[i]``; NumPy would return an array.

    So ``a[..., i] += x`` uses the objects' own addition: some packages cannot add theirs to arrays.
    """

    def __getitem__(self, key: Any) -> Any:
        """Return an object, or an array."""
        entry = super().__getitem__(key)
        return entry.item() if type(entry) is EntryArray and entry.ndim == 0 else entry

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write an object, or an array."""
        plain = self.view(np.ndarray)
        entry = plain[key]
        if isinstance(entry, np.ndarray) and entry.ndim == 0 and not isinstance(value, np.ndarray):
            entry[()] = value  # NumPy would unpack an object that is a sequence.
        else:
            plain[key] = value


class ObjectArrays(ScalarArrays):
    """Arrays of Python objects.

    Internally, the zero and the one of the scalar type are Python floats, which kernels fold.
    """

    has_values = False

    def __init__(self, scalar_type: ScalarType) -> None:
        self.scalar_type = scalar_type

    def as_float_array(self, value: object, name: str, shape: Shape | None = None) -> Any:
        """Return an array of objects."""
        entries: list[Any] = []
        extent = self._collect(value, name, entries)
        array = np.empty(len(entries), dtype=object)
        for i, entry in enumerate(entries):
            array[i] = entry
        if shape is not None and not arrays.has_shape(extent, shape):
            # Some packages have no vectors but matrices of one column.
            core = shape[1:] if shape[:1] == (...,) else shape
            if core == (len(entries),) and self._entries(value) is not None:
                extent = (len(entries),)
            else:
                raise shape_error(name, shape, extent)
        return array.reshape(extent)

    def take_parameters(self, compiled: CompiledModel, num_frames: int) -> Any:
        """Return the default parameters of a model; entries of rotations near 0, 1, -1 are rounded to these.

        The cosine of a right angle is 6e-17 in doubles, which would appear in all expressions.
        """
        parameters = compiled.default_parameters.copy()
        first = compiled.parameter_slice("frame_pose", 0).start
        R = parameters[first : first + 16 * num_frames].reshape(num_frames, 4, 4)[:, :3, :3]
        whole = np.round(R)
        R[...] = np.where(np.abs(R - whole) <= 4 * np.finfo(float).eps, whole, R)
        return self.take_numbers(parameters)

    def take_numbers(self, array: FloatArray) -> Any:
        """Convert an array of doubles to one of objects."""
        taken = np.empty(array.size, dtype=object)
        for i, number in enumerate(array.ravel().tolist()):
            taken[i] = self.scalar_type.lift(number)
        return taken.reshape(array.shape)

    def _entries(self, value: Any) -> list[Any] | None:
        return None if self.scalar_type.entries is None else self.scalar_type.entries(value)

    def _collect(self, value: Any, name: str, entries: list[Any], depth: int = 0) -> tuple[int, ...]:
        """Append the entries of nested sequences, and return the shape."""
        check_nesting(depth, name)
        try:
            own = self._entries(value)
        except ArgumentTypeError as error:
            raise ArgumentTypeError(f"{name}: {error}") from None
        if own is not None:
            entries.extend(own)
            return tuple(int(n) for n in value.shape)
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        elif isinstance(value, np.ndarray) and value.size == 0:
            return tuple(value.shape)
        if isinstance(value, (list, tuple, np.ndarray)):
            shapes = [self._collect(entry, name, entries, depth + 1) for entry in value]
            if any(shape != shapes[0] for shape in shapes):
                raise ArgumentTypeError(f"{name}: expected a regular array, got ragged lists")
            return (len(shapes), *(shapes[0] if shapes else ()))
        if value is None or isinstance(value, (str, bytes, dict, set, AutoDiffArray)):
            raise ArgumentTypeError(
                f"{name}: expected objects of the scalar {quote(self.scalar_type.name)}, "
                f"got {type(value).__name__}"
            )
        entries.append(self.scalar(value))
        return ()

    def apply(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Apply a function to each entry of arrays."""
        return _map(lambda *entries: self.scalar(function(*entries)), *operands)

    def values(self, array: Any) -> None:
        """Return None: objects need not have values."""
        return

    def known_values(self, array: Any) -> FloatArray:
        """Return the values of numbers, and zero for each symbol."""
        entries = _operand(array)
        values = np.array([_value_of(entry) for entry in entries.flat])
        return values.reshape(entries.shape)

    def _checked_number(self, value: object, name: str, check: Any) -> Any:
        # A plain number has a known value.
        if isinstance(value, (int, float, np.number)):
            check(value, name)
        return self.as_float(value, name)

    def scalar(self, entry: Any) -> Any:
        """Return one entry; plain numbers become objects of the scalar."""
        if isinstance(entry, (float, np.floating)):
            return self.scalar_type.lift(float(entry))
        # Integers that are not exact in doubles stay as they are.
        if isinstance(entry, (int, np.integer)) and abs(int(entry)) <= 2**53:
            return self.scalar_type.lift(float(entry))
        return entry

    def is_less(self, a: Any, b: Any) -> bool:
        """Return False: objects need not have values."""
        return False

    @property
    def _functions(self) -> ScalarType:
        return self.scalar_type

    def check_out(self, out: object, name: str, shape: tuple[int, ...]) -> Any:
        """Return `out` if results can be written into it."""
        kinds = (np.ndarray, EntryArray)
        if not (isinstance(out, np.ndarray) and type(out) in kinds and out.dtype == object):
            got = f"dtype {out.dtype}" if type(out) is np.ndarray else type(out).__name__
            raise ArgumentTypeError(f"{name}: expected a numpy.ndarray of objects, got {got}")
        if out.shape != shape:
            raise shape_error(name, shape, out.shape)
        if not out.flags.writeable:
            raise ArgumentValueError(f"{name}: expected an array to write into, got a read-only one")
        return out

    def replaced(self, array: Any, part: Any, values: Any) -> Any:
        """Return a copy of an array in which a part of its last axis has other values."""
        changed = array.copy()
        changed[..., part] = values
        return changed

    def zeros(self, shape: tuple[int, ...], *like: Any) -> Any:
        """Return zeros."""
        array = np.empty(shape, dtype=object)
        array.fill(self.scalar_type.zero)
        return array

    def writable(self, array: Any) -> Any:
        """Return a view for elements written in Python."""
        return array.view(EntryArray)

    def overwrite(self, target: Any, array: Any) -> None:
        """Overwrite such a view."""
        target[...] = array.copy()

    def frozen(self, view: Any) -> Any:
        """Return a read-only array."""
        view.flags.writeable = False
        return view.view(ReadOnlyArray)

    def add(self, total: Any, addend: Any) -> Any:
        """Add in place."""
        total[...] = _map(self._sum, total, addend)
        return total

    def _sum(self, a: Any, b: Any) -> Any:
        if self.is_zero(a):
            return b
        return a if self.is_zero(b) else a + b

    def add_at(self, array: Any, indices: Sequence[int], addends: Any) -> Any:
        """Return a new array with addends added at some indices."""
        result = array.copy()
        for i, index in enumerate(indices):
            result[..., index] = _map(self._sum, result[..., index], addends[..., i])
        return result

    def scale(self, array: Any, factor: Any) -> Any:
        """Return the product."""
        return _map(mul, array, _operand(factor))

    def divide(self, array: Any, divisor: Any) -> Any:
        """Return the quotient."""
        return _map(truediv, array, _operand(divisor))

    def is_zero(self, number: Any) -> bool:
        """Whether a number is the zero of the scalar type itself."""
        return number is self.scalar_type.zero

    def is_identity(self, matrix: Any) -> bool:
        """Whether the entries are the one and the zero of the scalar type."""
        zero, one = self.scalar_type.zero, self.scalar_type.one
        return all(entry is (one if i == j else zero) for (i, j), entry in np.ndenumerate(matrix))

    def make_engine(self, compiled: CompiledModel) -> ObjectEngine:
        """Return the engine of one Context."""
        t = self.scalar_type
        return ObjectEngine(compiled, t.functions, t.zero, t.one, self)

    def set_engine(self, engine: ObjectEngine, name: str, array: Any) -> None:
        """Give q, v or parameters to an engine."""
        getattr(engine, "set_" + name)(array)


def _value_of(entry: Any) -> float:
    """Return the value of a number, and zero for a symbol."""
    try:
        return float(entry)
    except MemoryError:
        raise
    except Exception:  # Each package has its own errors for symbols.
        return 0.0


def _operand(value: Any) -> Any:
    """Return an array, also for a number: NumPy would unpack an object that is a sequence."""
    if isinstance(value, np.ndarray):
        return value
    array = np.empty((), dtype=object)
    array[()] = value
    return array


def _map(function: Any, *arrays_: Any) -> Any:
    """Apply a function to all entries; NumPy would unpack objects that are sequences."""
    operands = np.broadcast_arrays(*arrays_)
    result = np.empty(operands[0].shape, dtype=object)
    for i in np.ndindex(result.shape):
        result[i] = function(*(operand[i] for operand in operands))
    return result
