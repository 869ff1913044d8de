"""Arrays of a scalar type: how they are made, checked and written, and how kernels compute with them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from mbt._core.door.compiled_model import CompiledModel
from mbt.errors import shape_error
from mbt.math import arrays
from mbt.math.arrays import Shape, check_apart
from mbt.math.leading_axes import entry_of, join
from mbt.math.poses import as_pose, as_rotation, check_each, matrix_of
from mbt.scalars.inertia import ScalarSpatialInertia
from mbt.scalars.pose_arrays import PoseArrays

__all__ = ["ScalarArrays"]


class ScalarArrays(PoseArrays):
    """Arrays of one scalar type. Arrays made from arguments are copies, or are never written into."""

    @abstractmethod
    def writable(self, array: Any) -> Any:
        """Return an array that elements written in Python write into; it takes over the argument."""

    @abstractmethod
    def overwrite(self, target: Any, array: Any) -> None:
        """Replace the contents of an array from `writable` by an array of the same shape."""

    @abstractmethod
    def frozen(self, view: Any) -> Any:
        """Return a read-only array with these entries; it takes over the argument."""

    @abstractmethod
    def add(self, total: Any, addend: Any) -> Any:
        """Return ``total + addend``, in `total` if it can hold that."""

    @abstractmethod
    def add_at(self, array: Any, indices: Sequence[int], addends: Any) -> Any:
        """Return a new array with addends added at some indices of its last axis."""

    @abstractmethod
    def scale(self, array: Any, factor: Any) -> Any:
        """Return ``array * factor``, with one number or an array that broadcasts."""

    @abstractmethod
    def divide(self, array: Any, divisor: Any) -> Any:
        """Return ``array / divisor``, with one number or an array that broadcasts."""

    def ratio(self, array: Any, divisor: Any) -> Any:
        """Return ``array / divisor``, (..., n) and (..., 1), and zero where the divisor is known to be 0."""
        if self.is_zero(self.entry(divisor, 0)):
            return self.zeros(array.shape)
        return self.divide(array, divisor)

    def remainder(self, array: Any, divisor: Any) -> Any:
        """Return the part that `ratio` drops: the array where the divisor is known to be 0, else zero."""
        return array if self.is_zero(self.entry(divisor, 0)) else self.zeros(array.shape)

    @abstractmethod
    def is_zero(self, number: Any) -> bool:
        """Whether a number is known to be zero."""

    @abstractmethod
    def is_identity(self, matrix: Any) -> bool:
        """Whether a matrix is known to be the identity."""

    def write(self, out: Any, result: Any, name: str) -> Any:
        """Write a result into an argument of this name, and return it; without one, return the result."""
        if out is None:
            return result
        self._check_can_hold(out, result, name)
        out[...] = result
        return out

    def write_all(self, *targets: tuple[Any, Any, str]) -> tuple[Any, ...]:
        """Write several results into arguments by name: all are written, or none."""
        for out, result, name in targets:
            if out is not None:
                self._check_can_hold(out, result, name)
        check_apart({name: out for out, _, name in targets})
        return tuple(self.write(*target) for target in targets)

    def _check_can_hold(self, out: Any, result: Any, name: str) -> None:
        self.check_out(out, name, result.shape)

    @abstractmethod
    def make_engine(self, compiled: CompiledModel) -> Any:
        """Return the engine of one Context."""

    @abstractmethod
    def set_engine(self, engine: Any, name: str, array: Any) -> None:
        """Give q, v or parameters to an engine."""

    def make_inertia(self, mass: Any, com: Any, components: Any, massless: Any) -> ScalarSpatialInertia:
        """Return mass properties, unchecked, from components of unit inertia and of inertia without mass."""
        return ScalarSpatialInertia(mass, com, components, massless)

    def inertia_of_composite(self, composite: Any) -> Any:
        """Return mass properties from mass, mass moment, and inertia, xx xy xz yy yz zz, (..., 10)."""
        mass, moment = composite[..., :1], composite[..., 1:4]
        inertia = composite[..., [4, 7, 9, 5, 6, 8]]
        return self.make_inertia(
            entry_of(mass, 0),
            self.ratio(moment, mass),
            self.ratio(inertia, mass),
            self.remainder(inertia, mass),
        )

    def tanh(self, x: Any) -> Any:
        """Return the hyperbolic tangent."""
        return self._functions.tanh(x)

    def select_lt(self, a: Any, b: Any, x: Any, y: Any) -> Any:
        """Return x where a < b, and y elsewhere."""
        return self._functions.select_lt(a, b, x, y)

    def are_equal(self, a: Any, b: Any) -> bool:
        """Return False: unknown for objects, and not worth the effort for derivatives."""
        return False

    def finish(self, result: Any, quantity: int, operands: Iterable[Any]) -> Any:
        """Return a result of `mbt.functional` in the form that its caller receives."""
        return result

    def take_numbers(self, array: Any) -> Any:
        """Convert an array of doubles to one of this scalar type."""
        return self.as_float_array(array, "array")

    def take_parameters(self, compiled: CompiledModel, num_frames: int) -> Any:
        """Return the default parameters of a model."""
        return self.take_numbers(compiled.default_parameters).copy()

    def stack(self, numbers: Sequence[Any]) -> Any:
        """Stack numbers into one array, along its last axis."""
        return self.as_float_array(list(numbers), "numbers")

    def concatenate(self, parts: Sequence[Any]) -> Any:
        """Concatenate arrays along the last axis."""
        return join(parts)

    def as_finite_array(self, value: object, name: str, shape: Shape | None = None) -> Any:
        """Return a copy of an array of numbers that are finite, as far as known."""
        array = self.as_float_array(value, name, shape)
        values = self.values(array)
        if values is not None:
            arrays.as_finite_array(values, name)
        return array.copy()

    def as_nonnegative_array(self, value: object, name: str, shape: Shape) -> Any:
        """Return a copy of an array of numbers that are finite and not negative, as far as known."""
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
        """Return a number that is finite, as far as known."""
        return self._checked_number(value, name, arrays.as_finite)

    def as_nonnegative(self, value: object, name: str) -> Any:
        """Return a number that is finite and not negative, as far as known."""
        return self._checked_number(value, name, arrays.as_nonnegative)

    def as_positive(self, value: object, name: str) -> Any:
        """Return a number that is finite and positive, as far as known."""
        return self._checked_number(value, name, arrays.as_positive)

    def as_positive_or_infinite(self, value: object, name: str) -> Any:
        """Return a number that is positive, as far as known."""
        return self._checked_number(value, name, arrays.as_positive_or_infinite)

    def _checked_number(self, value: object, name: str, check: Any) -> Any:
        number = self.as_float(value, name)
        values = self.values(self.as_float_array(number, name))
        if values is not None:
            check(values[()], name)
        return number

    def as_pose(self, value: object, name: str) -> Any:
        """Return a copy of a pose, (4, 4), checked if its values are known."""
        return self._checked_matrix(value, name, (4, 4), as_pose)

    def as_rotation(self, value: object, name: str) -> Any:
        """Return a copy of a rotation, (3, 3), checked if its values are known."""
        return self._checked_matrix(value, name, (3, 3), as_rotation)

    def as_matrices(self, value: object, name: str, shape: tuple[int, int], check: Any) -> Any:
        """Return a copy of poses or rotations with any leading axes, checked if their values are known."""
        return self._checked_matrix(value, name, (..., *shape), check)

    def _checked_matrix(self, value: object, name: str, shape: Shape, check: Any) -> Any:
        matrix = self.as_float_array(matrix_of(value, shape[-1]), name, shape)
        values = self.values(matrix)
        if values is not None:
            check_each(values, name, check)
        return matrix.copy()
