"""Access of joints and mobilizers to their own positions q and velocities v."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from mbt.errors import NotFinalizedError
from mbt.math.arrays import FloatArray
from mbt.tree.context_access import check_context, numbers_of, replace_slice
from mbt.tree.element import MultibodyElement, check_arguments
from mbt.tree.indices import ModelInstanceIndex
from mbt.tree.samples import number_of_each_sample

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore

__all__ = ["CoordinateOwner"]


class CoordinateOwner(MultibodyElement):
    """An element with `num_positions` entries of q and `num_velocities` entries of v."""

    # Where they begin in q and v; known once the tree is finalized. Here for pickles of trees that were not.
    _position_start = -1
    _velocity_start = -1

    def _begin(self, name: str | None, model_instance: ModelInstanceIndex) -> None:
        super()._begin(name, model_instance)
        # Not known yet. Attributes added later can cost each element a dictionary.
        self._position_start = self._velocity_start = -1

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Wrap each constructor: errors about its arguments then name the class that was called."""
        super().__init_subclass__(**kwargs)
        constructor = cls.__dict__.get("__init__")
        if constructor is not None:
            cls.__init__ = _naming_class(constructor)  # type: ignore[method-assign]

    @property
    @abstractmethod
    def num_positions(self) -> int:
        """Number of positions."""

    @property
    @abstractmethod
    def num_velocities(self) -> int:
        """Number of velocities."""

    @property
    def position_start(self) -> int:
        """Index in q of the first position. Known after ``finalize()``."""
        return self._known_start(self._position_start, "position_start")

    @property
    def velocity_start(self) -> int:
        """Index in v of the first velocity. Known after ``finalize()``."""
        return self._known_start(self._velocity_start, "velocity_start")

    def get_positions(self, context: ContextCore) -> FloatArray:
        """Return the present positions, shape (num_positions,), read-only.

        It is a snapshot: later writes to the Context do not change it.
        """
        check_context(self, context)
        start = self._position_start
        return context.q[..., start : start + self.num_positions]

    def set_positions(self, context: ContextCore, q: object) -> Self:
        """Set the positions, shape (num_positions,)."""
        return self._set_position_part(context, slice(0, self.num_positions), q, "q")

    def get_velocities(self, context: ContextCore) -> FloatArray:
        """Return the present velocities, shape (num_velocities,), read-only.

        It is a snapshot: later writes to the Context do not change it.
        """
        check_context(self, context)
        start = self._velocity_start
        return context.v[..., start : start + self.num_velocities]

    def set_velocities(self, context: ContextCore, v: object) -> Self:
        """Set the velocities, shape (num_velocities,)."""
        return self._set_velocity_part(context, slice(0, self.num_velocities), v, "v")

    def get_positions_from_array(self, q_array: object) -> FloatArray:
        """Return this element's part of `q_array`, shape (..., tree.num_positions), a read-only view."""
        return self._read_only(self._position_slice(q_array, "q_array"))

    def get_velocities_from_array(self, v_array: object) -> FloatArray:
        """Return this element's part of `v_array`, shape (..., tree.num_velocities), a read-only view."""
        return self._read_only(self._velocity_slice(v_array, "v_array"))

    def get_accelerations_from_array(self, vdot_array: object) -> FloatArray:
        """Return this element's part of `vdot_array`, shape (..., tree.num_velocities), a read-only view."""
        return self._read_only(self._velocity_slice(vdot_array, "vdot_array"))

    def get_generalized_forces_from_array(self, tau_array: object) -> FloatArray:
        """Return this element's part of `tau_array`, shape (..., tree.num_velocities), a read-only view."""
        return self._read_only(self._velocity_slice(tau_array, "tau_array"))

    def get_mutable_positions_from_array(self, q_array: FloatArray) -> FloatArray:
        """Return a writable view of this element's part of `q_array`."""
        return self._position_slice(self._writeable(q_array, "q_array"), "q_array")

    def get_mutable_velocities_from_array(self, v_array: FloatArray) -> FloatArray:
        """Return a writable view of this element's part of `v_array`."""
        return self._velocity_slice(self._writeable(v_array, "v_array"), "v_array")

    def get_mutable_accelerations_from_array(self, vdot_array: FloatArray) -> FloatArray:
        """Return a writable view of this element's part of `vdot_array`."""
        return self._velocity_slice(self._writeable(vdot_array, "vdot_array"), "vdot_array")

    def get_mutable_generalized_forces_from_array(self, tau_array: FloatArray) -> FloatArray:
        """Return a writable view of this element's part of `tau_array`."""
        return self._velocity_slice(self._writeable(tau_array, "tau_array"), "tau_array")

    def lock(self, context: ContextCore) -> Self:
        """Hold the present positions: the velocities become zero, and stay so until `unlock`.

        Forward dynamics gives no acceleration there; the mass matrix and inverse dynamics ignore locks. A
        nonzero velocity is rejected while the lock holds. An element without velocities cannot be locked.
        """
        return self._set_locked(context, True)

    def unlock(self, context: ContextCore) -> Self:
        """Undo `lock`."""
        return self._set_locked(context, False)

    def is_locked(self, context: ContextCore) -> bool:
        """Return whether all velocities are locked."""
        check_context(self, context)
        return context._is_locked(self.velocity_start, self.num_velocities)

    def _set_locked(self, context: ContextCore, locked: bool) -> Self:
        check_context(self, context)
        context._set_locked(self.velocity_start, self.num_velocities, locked)
        return self

    # The coordinate of a joint that has only one.

    @number_of_each_sample
    def _get_position(self, context: ContextCore) -> float:
        position: float = numbers_of(self, context).entry(context.q, self._position_start)
        return position

    def _set_position(self, context: ContextCore, value: object, argument: str) -> Self:
        check_context(self, context)
        if isinstance(value, float) and context._write_part(False, self._position_start, 1, value):
            return self
        numbers = context._numbers
        return self.set_positions(context, numbers.stack([self._checked(numbers.as_float, value, argument)]))

    @number_of_each_sample
    def _get_velocity(self, context: ContextCore) -> float:
        velocity: float = numbers_of(self, context).entry(context.v, self._velocity_start)
        return velocity

    def _set_velocity(self, context: ContextCore, value: object, argument: str) -> Self:
        check_context(self, context)
        if isinstance(value, float) and context._write_part(True, self._velocity_start, 1, value):
            return self
        numbers = context._numbers
        return self.set_velocities(context, numbers.stack([self._checked(numbers.as_float, value, argument)]))

    # A part of the coordinates, counted from the first one of this element.

    def _set_position_part(self, context: ContextCore, part: slice, values: object, argument: str) -> Self:
        check_context(self, context)
        start = self.position_start
        # A number alone is not a vector.
        if type(values) is not float and context._write_part(
            False, start + part.start, part.stop - part.start, values
        ):
            return self
        context.q = replace_slice(
            context._numbers,
            context.q,
            start + part.start,
            start + part.stop,
            values,
            f"{self._label}: {argument}",
        )
        return self

    def _set_velocity_part(self, context: ContextCore, part: slice, values: object, argument: str) -> Self:
        check_context(self, context)
        start = self.velocity_start
        # A number alone is not a vector.
        if type(values) is not float and context._write_part(
            True, start + part.start, part.stop - part.start, values
        ):
            return self
        context.v = replace_slice(
            context._numbers,
            context.v,
            start + part.start,
            start + part.stop,
            values,
            f"{self._label}: {argument}",
        )
        return self

    def _position_slice(self, array: object, argument: str) -> FloatArray:
        start = self.position_start
        tree = self.parent_tree
        q: FloatArray = tree._numbers.as_float_array(array, argument, (..., tree.num_positions))
        return q[..., start : start + self.num_positions]

    def _velocity_slice(self, array: object, argument: str) -> FloatArray:
        start = self.velocity_start
        tree = self.parent_tree
        v: FloatArray = tree._numbers.as_float_array(array, argument, (..., tree.num_velocities))
        return v[..., start : start + self.num_velocities]

    def _read_only(self, view: FloatArray) -> FloatArray:
        """Return a read-only view; for a list or integers, a view of a copy."""
        frozen: FloatArray = self.parent_tree._numbers.frozen(view)
        return frozen

    def _writeable(self, array: FloatArray, argument: str) -> FloatArray:
        checked: FloatArray = self.parent_tree._numbers.check_out(
            array, argument, getattr(array, "shape", ())
        )
        return checked

    def _known_start(self, start: int, what: str) -> int:
        if start < 0:
            raise NotFinalizedError(f"{self._label} has no {what} yet: call tree.finalize() first.")
        return start

    def _position_range(self) -> range:
        return range(self.position_start, self.position_start + self.num_positions)

    def _velocity_range(self) -> range:
        return range(self.velocity_start, self.velocity_start + self.num_velocities)

    def _place(self, position_start: int, velocity_start: int) -> None:
        """Take the place in q and v that ``finalize()`` assigned."""
        self._position_start = position_start
        self._velocity_start = velocity_start


def _naming_class(constructor: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor whose errors about its arguments name the class that was called."""

    @wraps(constructor)
    def construct(self: CoordinateOwner, *args: Any, **kwargs: Any) -> None:
        try:
            constructor(self, *args, **kwargs)
        except TypeError:
            check_arguments(type(self).__name__, constructor.__get__(self), args, kwargs)
            raise

    return construct
