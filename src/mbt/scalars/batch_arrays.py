"""Arrays of doubles for the samples of a batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mbt._core.api.poses import of_good_states
from mbt._core.api.poses import rotation_about_axis as rotation_about_unit_vector
from mbt._core.door.compiled_model import CompiledModel
from mbt._core.engines.lane_engine import LaneEngine
from mbt.errors import ArgumentValueError, ShapeError, SingularityError, shape_error
from mbt.math import arrays, poses
from mbt.math.arrays import FloatArray, Shape
from mbt.math.leading_axes import fold
from mbt.math.pose_arguments import as_coordinates
from mbt.math.read_only import ReadOnlyArray
from mbt.math.spatial_inertia import SpatialInertia
from mbt.scalars.batch_inertia import BatchSpatialInertia
from mbt.scalars.sample_parameters import SampleParameters
from mbt.scalars.scalar_arrays import ScalarArrays
from mbt.symbolic import ScalarType

__all__ = ["BatchArrays"]


def _select_lt(a: Any, b: Any, x: Any, y: Any) -> Any:
    return np.where(np.less(a, b), x, y)


_DOUBLES = ScalarType(
    0.0,
    1.0,
    np.sin,
    np.cos,
    np.sqrt,
    np.tanh,
    np.arctan2,
    np.floor,
    _select_lt,
    name="batch of double",
    digits=16,
)


_MATRICES = {"log_so3": (3, 3), "log_se3": (4, 4)}


class BatchArrays(ScalarArrays):
    """Doubles: an array is shared by all samples, or has the axes of the batch in front."""

    def __init__(self, batch_shape: tuple[int, ...]) -> None:
        self.batch_shape = batch_shape
        self.count = math.prod(batch_shape)

    def as_float_array(self, value: object, name: str, shape: Shape | None = None) -> Any:
        """Return an array of this shape, or with all axes of the batch in front; leading axes broadcast."""
        array = arrays.as_float_array(value, name)
        if shape is None or array.shape == shape or array.shape == (*self.batch_shape, *shape):
            return array
        lead = array.ndim - len(shape)
        # A leading Ellipsis stands for any axes.
        if ... in shape and arrays.has_shape(array.shape, shape):
            return array
        if lead > 0 and arrays.has_shape(array.shape[lead:], shape):
            try:
                return np.ascontiguousarray(np.broadcast_to(array, self.batch_shape + array.shape[lead:]))
            except ValueError:
                pass
        raise shape_error(name, (*self.batch_shape, *shape), array.shape)

    def as_finite_array(self, value: object, name: str, shape: Shape | None = None) -> Any:
        """Return a copy of an array of finite numbers."""
        return arrays.as_finite_array(self.as_float_array(value, name, shape), name)

    def as_nonnegative_array(self, value: object, name: str, shape: Shape) -> Any:
        """Return a copy of an array of finite numbers that are not negative."""
        array = self.as_float_array(value, name, shape)
        return arrays.as_nonnegative_array(array, name, array.shape)

    def as_float(self, value: object, name: str) -> Any:
        """Return a number, or one for each sample."""
        return self.as_float_array(value, name, ())[()]

    def as_finite(self, value: object, name: str) -> Any:
        """Return a finite number, or one for each sample."""
        return self.as_finite_array(value, name, ())[()]

    def as_nonnegative(self, value: object, name: str) -> Any:
        """Return a finite number that is not negative, or one for each sample."""
        return self.as_nonnegative_array(value, name, ())[()]

    def as_positive(self, value: object, name: str) -> Any:
        """Return a finite positive number, or one for each sample."""
        return self.as_positive_or_infinite(self.as_finite_array(value, name, ()), name)

    def as_positive_or_infinite(self, value: object, name: str) -> Any:
        """Return a positive number, or one for each sample."""
        array = self.as_float_array(value, name, ())
        if not (array > 0.0).all():
            got = array[~(array > 0.0)][:3].tolist()
            raise ArgumentValueError(f"{name}: expected positive numbers, got {got}")
        return array[()]

    def as_pose(self, value: object, name: str) -> Any:
        """Return a copy of a pose, or of one for each sample."""
        return self.as_matrices(value, name, (4, 4), poses.check_pose)

    def as_rotation(self, value: object, name: str) -> Any:
        """Return a copy of a rotation, or of one for each sample."""
        return self.as_matrices(value, name, (3, 3), poses.check_rotation)

    def as_matrices(self, value: object, name: str, shape: tuple[int, int], check: Any) -> Any:
        """Return a copy of poses or rotations with any leading axes, checked."""
        matrices = self.as_float_array(poses.matrix_of(value, shape[-1]), name, shape)
        poses.check_each(matrices, name, check)
        return matrices.copy()

    def make_inertia(self, mass: Any, com: Any, components: Any, massless: Any) -> BatchSpatialInertia:
        """Return mass properties of each sample, unchecked."""
        return BatchSpatialInertia(mass, com, components, massless)

    def as_inertia(self, value: object, name: str) -> SpatialInertia:
        """Return mass properties: one for all samples, or those of each."""
        if isinstance(value, (list, tuple, np.ndarray)):
            array = np.array(value, dtype=object)
            for entry in array.ravel():
                super().as_inertia(entry, name)
            value = BatchSpatialInertia.stack(array)
        if not isinstance(value, BatchSpatialInertia):
            return super().as_inertia(value, name)
        try:
            return value.broadcast_to(self.batch_shape)
        except ValueError:
            raise ShapeError(
                f"{name}: expected mass properties of batch shape {self.batch_shape}, got {value.batch_shape}"
            ) from None

    # Functions of poses.

    def as_coordinates(self, value: Any, name: str, shape: tuple[int, ...]) -> Any:
        """Return finite numbers, (..., *shape), also from a list of coordinates, each of them an array."""
        return as_coordinates(value, name, shape)

    def _as_rotations(self, R: Any) -> Any:
        """Return rotations (..., 3, 3), checked."""
        matrices = as_coordinates(R, "R", (3, 3))
        poses.check_each(matrices, "R", poses.check_rotation)
        return matrices

    def rotation_about_axis(self, axis: Any, angle: Any) -> Any:
        """Return rotations by angles about nonzero vectors."""
        vectors = as_coordinates(axis, "axis", (3,))
        if not vectors.any(-1).all():
            raise ArgumentValueError("axis: expected nonzero vectors, got zero")
        angles = np.asarray(self.as_finite(angle, "angle"))
        lead = np.broadcast_shapes(vectors.shape[:-1], angles.shape)
        return rotation_about_unit_vector(
            np.ascontiguousarray(np.broadcast_to(vectors, (*lead, 3))), np.broadcast_to(angles, lead).copy()
        )

    def quaternion_to_matrix(self, q: Any) -> Any:
        """Return the rotations of quaternions, none of which is zero."""
        is_zero = ~np.any(q, -1)
        if is_zero.any():
            i = np.argwhere(is_zero)[0].tolist()
            raise SingularityError(f"quaternion{i}: expected a nonzero quaternion (w, x, y, z), got zero")
        return of_good_states("quaternion_to_matrix", q)

    def rpy_to_matrix(self, rpy: Any) -> Any:
        """Return ``Rz(yaw) Ry(pitch) Rx(roll)``."""
        return of_good_states("rpy_to_matrix", rpy)

    def skew(self, p: Any) -> Any:
        """Return the matrices ``[p]x``."""
        return of_good_states("skew", p)

    def inverse_pose(self, X: Any) -> Any:
        """Return the inverses of poses."""
        return of_good_states("inverse_pose", X)

    def matrix_to_quaternion(self, R: Any) -> Any:
        """Return the quaternions ``(w, x, y, z)`` of rotations, with ``w >= 0``."""
        return of_good_states("matrix_to_quaternion", R)

    def matrix_to_rpy(self, R: Any) -> Any:
        """Return roll, pitch and yaw of rotations."""
        return of_good_states("matrix_to_rpy", R)

    def map_entries(self, name: str, vectors: Any, shape: tuple[int, ...]) -> Any:
        """Apply a function to vectors, or to matrices entry by entry, (..., n): (..., *shape)."""
        is_log = name.startswith("log")
        return of_good_states(name, fold(vectors, *_MATRICES[name]) if is_log else vectors)

    def _each(self, function: Callable[[Any], Any], vectors: Any, shape: tuple[int, ...]) -> Any:
        """Apply a function to whole arrays."""
        return function(vectors)

    def ratio(self, array: Any, divisor: Any) -> Any:
        """Return the quotient, zero where the divisor is zero."""
        return np.where(divisor == 0.0, 0.0, self.divide(array, divisor))

    def remainder(self, array: Any, divisor: Any) -> Any:
        """Return the array where the divisor is zero, and zero elsewhere."""
        return np.where(divisor == 0.0, array, 0.0)

    def values(self, array: Any) -> None:
        """Return None: there are many states."""
        return

    def scalar(self, entry: Any) -> Any:
        """Return one number for each sample, or one for all."""
        return entry

    def is_less(self, a: Any, b: Any) -> bool:
        """Whether a < b in all samples."""
        return bool(np.all(np.less(a, b)))

    @property
    def _functions(self) -> ScalarType:
        return _DOUBLES

    def check_out(self, out: object, name: str, shape: tuple[int, ...]) -> FloatArray:
        """Return `out` if results can be written into it."""
        return arrays.check_out(out, name, shape)

    def apply(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Apply a function to whole arrays."""
        try:
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                return np.asarray(function(*operands))
        except ValueError:
            shapes = ", ".join(str(np.shape(operand)) for operand in operands)
            raise ShapeError(
                f"expected arrays that broadcast with the batch shape {self.batch_shape}, got {shapes}"
            ) from None

    def stack(self, numbers: Sequence[Any]) -> Any:
        """Return one array of several numbers, along its last axis."""
        if not numbers:
            return np.zeros((*self.batch_shape, 0))
        return np.stack(np.broadcast_arrays(*numbers), -1)

    def replaced(self, array: Any, part: Any, values: Any) -> Any:
        """Return a copy of an array in which a part of its last axis has other values."""
        if isinstance(array, SampleParameters):
            return array.replaced(part, values)
        lead = np.broadcast_shapes(array.shape[:-1], values.shape[:-1])
        changed = np.array(np.broadcast_to(array, (*lead, array.shape[-1])))
        changed[..., part] = values
        return changed

    def zeros(self, shape: tuple[int, ...], *like: Any) -> Any:
        """Return zeros."""
        return np.zeros(shape)

    def writable(self, array: Any) -> Any:
        """Return a view."""
        return array[...]

    def overwrite(self, target: Any, array: Any) -> None:
        """Overwrite such a view."""
        target[...] = array

    def frozen(self, view: Any) -> Any:
        """Return a read-only array."""
        if isinstance(view, SampleParameters):
            return view
        array = np.ascontiguousarray(view)
        # With its owner: otherwise the flag could be set again.
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        owner.flags.writeable = False
        array.flags.writeable = False
        return array.view(ReadOnlyArray)

    def write(self, out: Any, result: Any, name: str) -> Any:
        """Write a result into an argument of this name, and return it; without one, return the result."""
        return np.ascontiguousarray(result) if out is None else super().write(out, result, name)

    def add(self, total: Any, addend: Any) -> Any:
        """Add in place, if the axes allow it."""
        if np.ndim(addend) > np.ndim(total):
            return total + addend
        total += addend
        return total

    def add_at(self, array: Any, indices: Sequence[int], addends: Any) -> Any:
        """Return a new array with addends added at some indices of its last axis."""
        lead = np.broadcast_shapes(array.shape[:-1], addends.shape[:-1])
        result = np.array(np.broadcast_to(array, (*lead, array.shape[-1])))
        for i, index in enumerate(indices):
            result[..., index] += addends[..., i]
        return result

    def scale(self, array: Any, factor: Any) -> Any:
        """Return the product."""
        return array * factor

    def divide(self, array: Any, divisor: Any) -> Any:
        """Return the quotient, without a warning for bodies without mass, which have no mass centre."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return array / divisor

    def is_zero(self, number: Any) -> bool:
        """Whether a number is zero in all samples of a nonempty batch."""
        return bool(np.size(number)) and not np.any(number)

    def is_identity(self, matrix: Any) -> bool:
        """Whether a matrix is the identity in all samples."""
        return bool((matrix == np.eye(matrix.shape[-1])).all())

    def are_equal(self, a: Any, b: Any) -> bool:
        """Whether arrays have the same numbers in all samples."""
        return a.size == b.size and bool(np.array_equal(a.ravel(), b.ravel()))

    def take_parameters(self, compiled: CompiledModel, num_frames: int) -> Any:
        """Return the default parameters of a model."""
        return SampleParameters.all_equal(compiled.default_parameters, self.batch_shape)

    # Functions for the lane engine.

    def make_engine(self, compiled: CompiledModel) -> LaneEngine:
        """Return the engine of one Context."""
        return LaneEngine(compiled, self.batch_shape)

    def set_engine(self, engine: LaneEngine, name: str, array: Any) -> None:
        """Give q, v or parameters to an engine."""
        if name == "q":
            engine.set_q(array)
        elif name == "v":
            engine.set_v(array)
        elif array.columns.size:
            engine.set_parameters(array.common, array.columns, array.rows)
        else:
            engine.set_parameters(array.common, None, None)
