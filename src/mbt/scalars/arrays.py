"""Arrays of a scalar: how they are made, checked and written, and how kernels compute with them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from mbt._core.context import ContextCore
from mbt._core.dual_engine import DualEngine
from mbt._core.model import CompiledModel
from mbt._core.object_engine import ObjectEngine
from mbt._core.variants import Quantity
from mbt.autodiff.array import AutoDiffArray, wrap
from mbt.errors import ArgumentTypeError, ArgumentValueError, shape_error
from mbt.math import arrays
from mbt.math.arrays import FloatArray, Shape
from mbt.math.numbers import Numbers
from mbt.math.poses import as_pose, as_rotation
from mbt.scalars.inertia import ScalarSpatialInertia
from mbt.symbolic import ScalarType, get_scalar_type

__all__ = ["AutoDiffArrays", "ObjectArrays", "ScalarArrays", "arrays_of"]


@cache
def arrays_of(scalar_type: ScalarType) -> ScalarArrays:
    """Return what handles the arrays of a scalar."""
    return AutoDiffArrays() if scalar_type.name == "autodiff" else ObjectArrays(scalar_type)


class ScalarArrays(Numbers):
    """Arrays of one scalar. What is made of arguments is a copy, or is never written into."""

    @abstractmethod
    def zeros(self, shape: tuple[int, ...], *like: Any) -> Any:
        """Return zeros, with as many derivatives as the arrays `like`."""

    @abstractmethod
    def frozen(self, view: Any) -> Any:
        """Return a read-only array with these entries; the argument is given away."""

    @abstractmethod
    def add(self, total: Any, addend: Any) -> Any:
        """Return ``total + addend``, in `total` if it can hold that."""

    @abstractmethod
    def add_at(self, array: Any, indices: Sequence[int], addends: Any) -> Any:
        """Return a new array with addends at some indices of its first axis."""

    @abstractmethod
    def scale(self, array: Any, factor: Any) -> Any:
        """Return ``array * factor``, with one number."""

    @abstractmethod
    def divide(self, array: Any, divisor: Any) -> Any:
        """Return ``array / divisor``, with one number."""

    @abstractmethod
    def is_zero(self, number: Any) -> bool:
        """Whether a number is known to be zero."""

    @abstractmethod
    def is_identity(self, matrix: Any) -> bool:
        """Whether a matrix is known to be the identity."""

    @abstractmethod
    def write(self, out: Any, result: Any, name: str) -> Any:
        """Write a result into an argument of this name, and return it; without one return the result."""

    @abstractmethod
    def make_engine(self, compiled: CompiledModel) -> Any:
        """Return what computes for one Context."""

    @abstractmethod
    def set_engine(self, engine: Any, name: str, array: Any) -> None:
        """Give q, v or parameters to an engine."""

    @abstractmethod
    def evaluate(self, engine: Any, context: ContextCore, quantity: Quantity, index: int, x: Any) -> Any:
        """Return a quantity, (n,)."""

    @abstractmethod
    def values(self, array: Any) -> FloatArray | None:
        """Return the values as doubles; None where there are none."""

    def make_inertia(self, mass: Any, com: Any, components: Any) -> ScalarSpatialInertia:
        """Return mass properties, unchecked."""
        return ScalarSpatialInertia(mass, com, components)

    def inverse_pose(self, X: Any) -> Any:
        """Return the inverse of a pose."""
        R = X[:3, :3].T
        return np.concatenate([np.concatenate([R, -(R @ X[:3, 3:])], 1), X[3:]], 0)

    def quaternion_to_matrix(self, q: Any) -> Any:
        """Return the rotation of a quaternion, which need not be of unit length."""
        w, x, y, z = (self.scalar(q[i]) for i in range(4))
        norm = w * w + x * x + y * y + z * z
        rows = [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
        return self.stack([entry / norm for row in rows for entry in row]).reshape(3, 3)

    @property
    @abstractmethod
    def _functions(self) -> ScalarType:
        """The scalar."""

    def matrix_to_quaternion(self, R: Any) -> Any:
        """Return the quaternion ``(w, x, y, z)`` of a rotation, with ``w >= 0``."""
        t = self._functions
        xx, yy, zz = R[0, 0], R[1, 1], R[2, 2]
        wx, wy, wz = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
        xy, yz, zx = R[0, 1] + R[1, 0], R[1, 2] + R[2, 1], R[2, 0] + R[0, 2]
        # Row i is four times the product of entry i with all: the one of the largest entry is far from zero.
        rows = [
            [1 + xx + yy + zz, wx, wy, wz],
            [wx, 1 + xx - yy - zz, xy, zx],
            [wy, xy, 1 + yy - xx - zz, yz],
            [wz, zx, yz, 1 + zz - xx - yy],
        ]
        largest, q = rows[0][0], rows[0]
        for i, row in enumerate(rows[1:], 1):
            q = [t.select_lt(largest, row[i], new, old) for new, old in zip(row, q, strict=True)]
            largest = t.select_lt(largest, row[i], row[i], largest)
        w, x, y, z = q
        norm = t.sqrt(w * w + x * x + y * y + z * z)
        scale = t.select_lt(w, 0.0, -1 / norm, 1 / norm)
        return self.stack([entry * scale for entry in q])

    def matrix_to_rpy(self, R: Any) -> Any:
        """Return roll, pitch and yaw of a rotation."""
        t = self._functions
        cos_pitch = t.sqrt(R[0, 0] * R[0, 0] + R[1, 0] * R[1, 0])
        return self.stack(
            [t.atan2(R[2, 1], R[2, 2]), t.atan2(-R[2, 0], cos_pitch), t.atan2(R[1, 0], R[0, 0])]
        )

    def tanh(self, x: Any) -> Any:
        """Return the hyperbolic tangent."""
        return self._functions.tanh(x)

    def select_lt(self, a: Any, b: Any, x: Any, y: Any) -> Any:
        """Return x where a < b, and y elsewhere."""
        return self._functions.select_lt(a, b, x, y)

    def are_equal(self, a: Any, b: Any) -> bool:
        """Return False: that is not known of objects, and of derivatives not worth the while."""
        return False

    def take_numbers(self, array: Any) -> Any:
        """Return an array of doubles as one of this scalar."""
        return self.as_float_array(array, "array")

    def take_parameters(self, compiled: CompiledModel, num_frames: int) -> Any:
        """Return the default parameters of a model."""
        return self.take_numbers(compiled.default_parameters).copy()

    def stack(self, numbers: Sequence[Any]) -> Any:
        """Return one array of several numbers."""
        return self.as_float_array(list(numbers), "numbers")

    def concatenate(self, parts: Sequence[Any]) -> Any:
        """Return one array of several with one axis."""
        return np.concatenate(parts)

    def as_finite_array(self, value: object, name: str, shape: Shape | None = None) -> Any:
        """Return a copy of an array of numbers that are finite, where that is known."""
        array = self.as_float_array(value, name, shape)
        values = self.values(array)
        if values is not None:
            arrays.as_finite_array(values, name)
        return array.copy()

    def as_nonnegative_array(self, value: object, name: str, shape: Shape) -> Any:
        """Return a copy of an array of numbers that are finite and not negative, where that is known."""
        array = self.as_finite_array(value, name, shape)
        values = self.values(array)
        if values is not None:
            arrays.as_nonnegative_array(values, name, shape)
        return array

    def as_float(self, value: object, name: str) -> Any:
        """Return a number."""
        array = self.as_float_array(value, name)
        if array.ndim:
            raise shape_error(name, (), array.shape)
        return array[()]

    def as_finite(self, value: object, name: str) -> Any:
        """Return a number that is finite, where that is known."""
        return self._checked_number(value, name, arrays.as_finite)

    def as_nonnegative(self, value: object, name: str) -> Any:
        """Return a number that is finite and not negative, where that is known."""
        return self._checked_number(value, name, arrays.as_nonnegative)

    def as_positive(self, value: object, name: str) -> Any:
        """Return a number that is finite and positive, where that is known."""
        return self._checked_number(value, name, arrays.as_positive)

    def _checked_number(self, value: object, name: str, check: Any) -> Any:
        number = self.as_float(value, name)
        values = self.values(self.as_float_array(number, name))
        if values is not None:
            check(values[()], name)
        return number

    def as_pose(self, value: object, name: str) -> Any:
        """Return a copy of a pose, (4, 4), checked where its values are known."""
        return self._checked_matrix(value, name, (4, 4), as_pose)

    def as_rotation(self, value: object, name: str) -> Any:
        """Return a copy of a rotation, (3, 3), checked where its values are known."""
        return self._checked_matrix(value, name, (3, 3), as_rotation)

    def _checked_matrix(self, value: object, name: str, shape: Shape, check: Any) -> Any:
        as_matrix = getattr(value, "as_matrix", None)
        matrix = self.as_float_array(as_matrix() if callable(as_matrix) else value, name, shape)
        values = self.values(matrix)
        if values is not None:
            check(values, name)
        return matrix.copy()


class AutoDiffArrays(ScalarArrays):
    """Values with derivatives."""

    array_type = AutoDiffArray

    def as_float_array(self, value: object, name: str, shape: Shape | None = None) -> Any:
        """Return an array; plain numbers are constants."""
        array = _autodiff_of(value, name)
        if shape is not None and not arrays.has_shape(array.shape, shape):
            raise shape_error(name, shape, array.shape)
        return array

    def values(self, array: Any) -> FloatArray:
        """Return the values."""
        return array.value if isinstance(array, AutoDiffArray) else np.asarray(array, dtype=np.float64)

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
        """Return an array that can be written into."""
        if not isinstance(out, AutoDiffArray):
            raise ArgumentTypeError(f"{name}: expected an AutoDiffArray, got {type(out).__name__}")
        if out.shape != shape:
            raise shape_error(name, shape, out.shape)
        return out

    def replaced(self, array: Any, part: Any, values: Any) -> Any:
        """Return a copy of an array with other values in a part of its last axis.

        If those of the others are zero, the number of derivatives is that of the new values.
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

    def frozen(self, view: Any) -> Any:
        """Return a read-only view."""
        value, derivatives = np.ascontiguousarray(view.value), np.ascontiguousarray(view.derivatives)
        value = value.reshape(view.shape)
        value.flags.writeable = derivatives.flags.writeable = False
        return wrap(value, derivatives)

    def add(self, total: Any, addend: Any) -> Any:
        """Return the sum."""
        count = addend.num_derivatives if isinstance(addend, AutoDiffArray) else 0
        if count in (0, total.num_derivatives):
            total += addend
            return total
        return total + addend

    def add_at(self, array: Any, indices: Sequence[int], addends: Any) -> Any:
        """Return a new array with addends at some indices."""
        spread: AutoDiffArray = self.zeros(array.shape, addends)
        for i, index in enumerate(indices):
            spread[index] = spread[index] + addends[i]
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

    def write(self, out: Any, result: Any, name: str) -> Any:
        """Write a result into an AutoDiffArray."""
        if out is None:
            return result
        if not isinstance(out, AutoDiffArray):
            raise ArgumentTypeError(f"{name}: expected an AutoDiffArray, got {type(out).__name__}")
        if out.shape != result.shape:
            raise shape_error(name, result.shape, out.shape)
        out[...] = result
        return out

    def make_engine(self, compiled: CompiledModel) -> DualEngine:
        """Return what computes for one Context."""
        return DualEngine(compiled)

    def set_engine(self, engine: DualEngine, name: str, array: AutoDiffArray) -> None:
        """Give q, v or parameters to an engine."""
        getattr(engine, "set_" + name)(array.value, array.derivatives)

    def evaluate(
        self, engine: DualEngine, context: ContextCore, quantity: Quantity, index: int, x: Any
    ) -> Any:
        """Return a quantity."""
        if x is None:
            return wrap(*engine.evaluate(context, quantity, index, None, None))
        if not isinstance(x, AutoDiffArray):
            return wrap(*engine.evaluate(context, quantity, index, x, None))
        value, derivatives = np.ascontiguousarray(x.value), np.ascontiguousarray(x.derivatives)
        return wrap(*engine.evaluate(context, quantity, index, value, derivatives))


class ObjectArrays(ScalarArrays):
    """Python objects, in arrays of objects.

    The zero and the one of the scalar are Python floats inside, which kernels fold.
    """

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
            # A matrix of one column is a vector, where packages have no other ones.
            if len(shape) == 1 and shape[0] == len(entries) and self._entries(value) is not None:
                extent = (len(entries),)
            else:
                raise shape_error(name, shape, extent)
        return array.reshape(extent)

    def take_parameters(self, compiled: CompiledModel, num_frames: int) -> Any:
        """Return the default parameters of a model; of rotations, what is 0, 1 or -1 but for rounding is so.

        The cosine of a right angle is 6e-17 in doubles, and would run through all expressions.
        """
        parameters = compiled.default_parameters.copy()
        for i in range(num_frames):
            X = parameters[compiled.parameter_slice("frame_pose", i)].reshape(4, 4)
            R = X[:3, :3]
            whole = np.round(R)
            R[...] = np.where(np.abs(R - whole) <= 4 * np.finfo(float).eps, whole, R)
        return self.take_numbers(parameters)

    def _entries(self, value: Any) -> list[Any] | None:
        return None if self.scalar_type.entries is None else self.scalar_type.entries(value)

    def _collect(self, value: Any, name: str, entries: list[Any]) -> tuple[int, ...]:
        """Append the entries of nested sequences, and return the shape."""
        try:
            own = self._entries(value)
        except ArgumentTypeError as error:
            raise ArgumentTypeError(f"{name}: {error}") from None
        if own is not None:
            entries.extend(own)
            return tuple(int(n) for n in value.shape)
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if isinstance(value, (list, tuple, np.ndarray)):
            shapes = [self._collect(entry, name, entries) for entry in value]
            if any(shape != shapes[0] for shape in shapes):
                raise ArgumentTypeError(f"{name}: expected a regular array, got ragged lists")
            return (len(shapes), *(shapes[0] if shapes else ()))
        if value is None or isinstance(value, (str, bytes, dict, set, AutoDiffArray)):
            raise ArgumentTypeError(
                f"{name}: expected objects of the scalar {self.scalar_type.name!r}, "
                f"got {type(value).__name__}"
            )
        entries.append(self.scalar(value))
        return ()

    def apply(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Return a function of the entries of arrays: it is called for each."""
        return _map(lambda *entries: self.scalar(function(*entries)), *operands)

    def values(self, array: Any) -> None:
        """Return nothing: objects need not have a value."""
        return

    def scalar(self, entry: Any) -> Any:
        """Return one entry; plain numbers become objects of the scalar."""
        if isinstance(entry, (float, np.floating)):
            return self.scalar_type.lift(float(entry))
        # Integers that no double holds stay what they are.
        if isinstance(entry, (int, np.integer)) and abs(int(entry)) <= 2**53:
            return self.scalar_type.lift(float(entry))
        return entry

    def is_less(self, a: Any, b: Any) -> bool:
        """Return False: objects need not have a value."""
        return False

    @property
    def _functions(self) -> ScalarType:
        return self.scalar_type

    def check_out(self, out: object, name: str, shape: tuple[int, ...]) -> Any:
        """Return an array that can be written into."""
        if type(out) is not np.ndarray or out.dtype != object or out.shape != shape:
            raise ArgumentTypeError(f"{name}: expected a numpy.ndarray of objects, of shape {shape}")
        return out

    def replaced(self, array: Any, part: Any, values: Any) -> Any:
        """Return a copy of an array with other values in a part of its last axis."""
        changed = array.copy()
        changed[..., part] = values
        return changed

    def zeros(self, shape: tuple[int, ...], *like: Any) -> Any:
        """Return zeros."""
        array = np.empty(shape, dtype=object)
        array.fill(self.scalar_type.zero)
        return array

    def frozen(self, view: Any) -> Any:
        """Return a read-only array."""
        view.flags.writeable = False
        return view

    def add(self, total: Any, addend: Any) -> Any:
        """Add in place."""
        total[...] = _map(self._sum, total, addend)
        return total

    def _sum(self, a: Any, b: Any) -> Any:
        if self.is_zero(a):
            return b
        return a if self.is_zero(b) else a + b

    def add_at(self, array: Any, indices: Sequence[int], addends: Any) -> Any:
        """Return a new array with addends at some indices."""
        result = array.copy()
        for i, index in enumerate(indices):
            result[index] = _map(self._sum, result[index], addends[i])[()]
        return result

    def scale(self, array: Any, factor: Any) -> Any:
        """Return the product."""
        return _map(lambda entry: entry * factor, np.asarray(array, dtype=object))

    def divide(self, array: Any, divisor: Any) -> Any:
        """Return the quotient."""
        return _map(lambda entry: entry / divisor, np.asarray(array, dtype=object))

    def is_zero(self, number: Any) -> bool:
        """Whether a number is the zero of the scalar itself."""
        return number is self.scalar_type.zero

    def is_identity(self, matrix: Any) -> bool:
        """Whether the entries are the one and the zero of the scalar."""
        zero, one = self.scalar_type.zero, self.scalar_type.one
        return all(entry is (one if i == j else zero) for (i, j), entry in np.ndenumerate(matrix))

    def write(self, out: Any, result: Any, name: str) -> Any:
        """Write a result into an array of objects."""
        if out is None:
            return result
        if type(out) is not np.ndarray or out.dtype != object:
            got = type(out).__name__ if not isinstance(out, np.ndarray) else f"dtype {out.dtype}"
            raise ArgumentTypeError(f"{name}: expected a numpy.ndarray of objects, got {got}")
        if out.shape != np.shape(result):
            raise shape_error(name, np.shape(result), out.shape)
        if not out.flags.writeable:
            raise ArgumentValueError(f"{name}: expected an array to write into, got a read-only one")
        out[...] = result
        return out

    def make_engine(self, compiled: CompiledModel) -> ObjectEngine:
        """Return what computes for one Context."""
        t = self.scalar_type
        return ObjectEngine(compiled, t.functions, t.zero, t.one)

    def set_engine(self, engine: ObjectEngine, name: str, array: Any) -> None:
        """Give q, v or parameters to an engine."""
        getattr(engine, "set_" + name)(array)

    def evaluate(
        self, engine: ObjectEngine, context: ContextCore, quantity: Quantity, index: int, x: Any
    ) -> Any:
        """Return a quantity."""
        return engine.evaluate(context, quantity, index, x)


def _map(function: Any, *arrays_: Any) -> Any:
    """Apply a function to all entries; NumPy would look into objects that are sequences."""
    operands = np.broadcast_arrays(*arrays_)
    result = np.empty(operands[0].shape, dtype=object)
    for i in np.ndindex(result.shape):
        result[i] = function(*(operand[i] for operand in operands))
    return result


def _autodiff_of(value: Any, name: str) -> AutoDiffArray:
    if isinstance(value, AutoDiffArray):
        return value
    if _has_derivatives(value):
        entries = [_autodiff_of(entry, name) for entry in value]
        if any(entry.shape != entries[0].shape for entry in entries):
            raise ArgumentTypeError(f"{name}: expected a regular array, got ragged lists")
        return np.stack(entries)  # type: ignore[return-value]
    array = arrays.as_float_array(value, name)
    return wrap(array, np.zeros((*array.shape, 0)))


def _has_derivatives(value: Any) -> bool:
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.dtype == object):
        return any(isinstance(entry, AutoDiffArray) or _has_derivatives(entry) for entry in value)
    return False
