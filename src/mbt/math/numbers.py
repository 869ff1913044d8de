"""Conversion of the arguments of a Context. Scalar types other than double have their own `Numbers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mbt.errors import ArgumentTypeError, ShapeError, quote
from mbt.math import arrays, poses
from mbt.math.arrays import FloatArray, Shape
from mbt.math.leading_axes import join
from mbt.math.spatial_inertia import SpatialInertia
from mbt.math.unit_inertia import UnitInertia

__all__ = ["DOUBLES", "Numbers"]


_FLOAT = frozenset((float,))


class Numbers:
    """Checks and conversions of arguments for Contexts of doubles; see the functions of the same names.

    Attributes
    ----------
    array_type : type
        The class of arrays of these numbers.
    has_values : bool
        Whether the value of each number is known; symbols have none.
    """

    array_type: ClassVar[type[Any]] = np.ndarray
    has_values: ClassVar[bool] = True

    # The functions themselves: methods that call them would take half as long again.
    if TYPE_CHECKING:

        def as_float_array(self, value: object, name: str, shape: Shape | None = None) -> FloatArray:
            """Return an array of any numbers."""

    else:
        as_float_array = staticmethod(arrays.as_float_array)
    as_finite_array = staticmethod(arrays.as_finite_array)
    as_nonnegative_array = staticmethod(arrays.as_nonnegative_array)
    as_float = staticmethod(arrays.as_float)
    as_finite = staticmethod(arrays.as_finite)
    as_nonnegative = staticmethod(arrays.as_nonnegative)
    as_positive = staticmethod(arrays.as_positive)
    as_positive_or_infinite = staticmethod(arrays.as_positive_or_infinite)
    as_pose = staticmethod(poses.as_pose)
    as_rotation = staticmethod(poses.as_rotation)

    def known_values(self, array: Any) -> FloatArray:
        """Return an array of doubles: the values, and zero for entries without one."""
        values: FloatArray = np.asarray(array, dtype=np.float64)
        return values

    def scalar(self, entry: Any) -> float:
        """Return one entry of an array as a scalar."""
        return float(entry)

    def entry(self, vector: Any, i: int) -> float:
        """Return entry `i` of the last axis as a scalar, or for all leading axes as an array."""
        return self.scalar(vector[i]) if vector.ndim == 1 else vector[..., i].copy()

    def is_less(self, a: Any, b: Any) -> bool:
        """Whether a < b, as far as known."""
        return bool(a < b)

    def stack(self, numbers: Sequence[Any]) -> FloatArray:
        """Stack numbers into one array, along its last axis."""
        return np.array(numbers, dtype=np.float64)

    def concatenate(self, parts: Sequence[Any]) -> FloatArray:
        """Concatenate arrays along the last axis."""
        joined: FloatArray = join(parts)
        return joined

    def add_at(self, array: Any, indices: Sequence[int], addends: Any) -> Any:
        """Return a new array with addends added at some indices of its last axis."""
        result = array.copy()
        for i, index in enumerate(indices):
            result[..., index] += addends[..., i]
        return result

    def replaced(self, array: Any, part: Any, values: Any) -> FloatArray:
        """Return a copy of an array in which a part of its last axis has other values."""
        changed = np.array(array, dtype=np.float64)
        changed[..., part] = values
        return changed

    def frozen(self, view: FloatArray) -> FloatArray:
        """Make an array read-only and return it."""
        view.setflags(write=False)
        return view

    def check_out(self, out: object, name: str, shape: tuple[int, ...]) -> FloatArray:
        """Return `out` if results can be written into it."""
        return arrays.check_out(out, name, shape)

    def as_broadcast_arrays(self, **values: object) -> tuple[Any, ...]:
        """Return the arguments, given by name, as arrays broadcast to a common shape."""
        arrays_ = tuple(self.as_float_array(value, name) for name, value in values.items())
        return arrays.broadcast_together(dict(zip(values, arrays_, strict=True)))

    def apply(self, function: Callable[..., Any], *operands: Any) -> FloatArray:
        """Apply a function to the entries of arrays, which broadcast; it also takes whole arrays."""
        if all(type(operand) is np.ndarray and not operand.ndim for operand in operands):
            # A single number: Python takes a third of the time of arrays.
            operands = tuple(map(float, operands))
        return self.as_float_array(function(*operands), "result")

    def apply_to(self, function: Callable[..., Any], **values: object) -> FloatArray:
        """Apply a function to the entries of arguments, given by name, which broadcast; see `apply`."""
        if type(self) is Numbers and _FLOAT.issuperset(map(type, values.values())):
            return np.array(function(*values.values()), dtype=np.float64)
        return self.apply(function, *self.as_broadcast_arrays(**values))

    def tanh(self, x: Any) -> Any:
        """Return the hyperbolic tangent of an operand of `apply`."""
        # For a single number a float, with which Python computes in a third of the time.
        return float(np.tanh(x)) if type(x) is float else np.tanh(x)

    def select_lt(self, a: Any, b: Any, x: Any, y: Any) -> Any:
        """Return x where a < b, which are numbers, and y elsewhere."""
        return x if a < b else y

    def make_inertia(self, mass: Any, com: Any, components: Any, massless: Any) -> SpatialInertia:
        """Return mass properties, unchecked, from components of unit inertia and of inertia without mass.

        The inertia takes over the arrays.
        """
        com.setflags(write=False)
        massless.setflags(write=False)
        return SpatialInertia._of_own(mass, com, UnitInertia._of_components(components), massless)

    def as_inertia(self, value: object, name: str) -> SpatialInertia:
        """Return mass properties."""
        if not isinstance(value, SpatialInertia):
            raise ArgumentTypeError(f"{name}: expected an mbt.SpatialInertia, got {type(value).__name__}")
        if value.com.ndim != 1:
            raise ShapeError(f"{name}: expected mass properties of one state, got {quote(value)}")
        return value

    def inertia_of_parts(self, mass: float, parts: FloatArray) -> SpatialInertia:
        """Return mass properties from mass centre and unit inertia, xx yy zz xy xz yz, (9,), read-only.

        Without mass, the components are those of the rotational inertia.
        """
        return SpatialInertia._of_arrays(mass, parts[:3], parts[3:])

    def write_all(self, *targets: tuple[Any, Any, str]) -> tuple[Any, ...]:
        """Write results into arguments of these names, all or none; return these, or the results."""
        for out, result, name in targets:
            if out is not None:
                self.check_out(out, name, result.shape)
        arrays.check_apart({name: out for out, _, name in targets})
        return tuple(self.write(*target) for target in targets)

    def write(self, out: Any, result: Any, name: str) -> Any:
        """Write a result into an argument of this name, and return it; without one, return the result."""
        if out is None:
            return result
        self.check_out(out, name, result.shape)[...] = result
        return out

    def inverse_pose(self, X: Any) -> FloatArray:
        """Return the inverse of a pose."""
        return poses.inverse_pose(X)

    def matrix_to_quaternion(self, R: Any) -> FloatArray:
        """Return the quaternion ``(w, x, y, z)`` of a rotation."""
        return poses.matrix_to_quaternion(R)

    def matrix_to_rpy(self, R: Any) -> FloatArray:
        """Return roll, pitch and yaw of a rotation."""
        return poses.matrix_to_rpy(R)

    def quaternion_to_matrix(self, q: Any) -> FloatArray:
        """Return the rotation of a quaternion."""
        return poses.quaternion_to_matrix(q)

    def is_zero(self, number: Any) -> bool:
        """Whether a number is known to be zero."""
        return bool(number == 0.0)

    def are_equal(self, a: Any, b: Any) -> bool:
        """Whether arrays have the same numbers, in C order."""
        return bool(np.array_equal(a.ravel(), b.ravel()))


#: The numbers of every Context of doubles.
DOUBLES = Numbers()
