"""Positions, velocities and inputs of model instances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from mbt._core.engines.context import ContextCore
from mbt.errors import ArgumentTypeError, MbtError
from mbt.math.arrays import FloatArray
from mbt.math.leading_axes import entries_of
from mbt.math.numbers import DOUBLES, Numbers
from mbt.tree.context_access import raise_context_mismatch
from mbt.tree.state_layout import StateLayout

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["InstanceState"]

IndexArray = np.ndarray[tuple[Any, ...], np.dtype[np.intp]]


class _Missing:
    """Stands for an argument that was not given, where None has a meaning."""

    def __repr__(self) -> str:
        return "<not given>"


_MISSING: Any = _Missing()


class InstanceState(StateLayout):
    """The part of `MultibodyTree` for positions, velocities and inputs of model instances.

    The part of an instance keeps the order of the whole array. A `ModelInstance`, or its name, may stand for
    its index.
    """

    @property
    def _numbers(self) -> Numbers:
        """Checks and conversions of numbers of this tree."""
        return DOUBLES

    # Sizes.

    def get_num_positions(self, model_instance: int | str) -> int:
        """Return the number of positions of a model instance."""
        return len(self._position_indices(model_instance))

    def get_num_velocities(self, model_instance: int | str) -> int:
        """Return the number of velocities of a model instance."""
        return len(self._velocity_indices(model_instance))

    def get_num_states(self, model_instance: int | str) -> int:
        """Return the number of positions and velocities of a model instance."""
        return self.get_num_positions(model_instance) + self.get_num_velocities(model_instance)

    def get_num_actuated_dofs(self, model_instance: int | str) -> int:
        """Return the number of inputs of the actuators of a model instance."""
        return self.get_num_actuators(model_instance)

    # From arrays, and into them.

    def get_positions_from_array(self, model_instance: int | str, q: object) -> FloatArray:
        """Return the positions of a model instance, a copy.

        Parameters
        ----------
        model_instance : ModelInstanceIndex or str
            The model instance.
        q : array_like, shape (..., num_positions)
            Positions of the whole tree.

        Returns
        -------
        ndarray, shape (..., get_num_positions(model_instance))
        """
        indices = self._position_indices(model_instance)
        whole = self._numbers.as_float_array(q, "q", (..., self.num_positions))
        part: FloatArray = entries_of(whole, indices)
        return part

    def set_positions_in_array(self, model_instance: int | str, q_instance: object, q: FloatArray) -> None:
        """Write the positions of a model instance into those of the whole tree.

        Parameters
        ----------
        model_instance : ModelInstanceIndex or str
            The model instance.
        q_instance : array_like, shape (..., get_num_positions(model_instance))
            Positions of the model instance, with the leading axes of `q`.
        q : ndarray, shape (..., num_positions), float64, C-contiguous
            Positions of the whole tree. The others are left as they are.
        """
        _write(
            self._numbers,
            q_instance,
            "q_instance",
            q,
            "q",
            self.num_positions,
            self._position_indices(model_instance),
        )

    def get_velocities_from_array(self, model_instance: int | str, v: object) -> FloatArray:
        """Return the velocities of a model instance, a copy; `v` has the shape (..., num_velocities)."""
        indices = self._velocity_indices(model_instance)
        whole = self._numbers.as_float_array(v, "v", (..., self.num_velocities))
        part: FloatArray = entries_of(whole, indices)
        return part

    def set_velocities_in_array(self, model_instance: int | str, v_instance: object, v: FloatArray) -> None:
        """Write the velocities of a model instance into `v`, like `set_positions_in_array`."""
        _write(
            self._numbers,
            v_instance,
            "v_instance",
            v,
            "v",
            self.num_velocities,
            self._velocity_indices(model_instance),
        )

    def get_actuation_from_array(self, model_instance: int | str, u: object) -> FloatArray:
        """Return the inputs of a model instance, a copy; `u` has the shape (..., num_actuated_dofs)."""
        indices = self._input_indices(model_instance)
        whole = self._numbers.as_float_array(u, "u", (..., len(self._elements.actuators)))
        part: FloatArray = entries_of(whole, indices)
        return part

    def set_actuation_in_array(self, model_instance: int | str, u_instance: object, u: FloatArray) -> None:
        """Write the inputs of a model instance into `u`, like `set_positions_in_array`."""
        size = len(self._elements.actuators)
        _write(self._numbers, u_instance, "u_instance", u, "u", size, self._input_indices(model_instance))

    # From a Context, and into it.

    def get_positions(self, context: ContextCore, model_instance: int | str | None = None) -> FloatArray:
        """Return the positions that a Context holds.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        model_instance : ModelInstanceIndex or str, optional
            Whose positions; by default those of the whole tree.

        Returns
        -------
        ndarray, shape (num_positions,)
            ``context.q``, which is read-only; a copy of the part of the model instance when one is given.

        Raises
        ------
        ContextMismatchError
            When `context` belongs to another tree.
        """
        q = self._own(context).q
        return q if model_instance is None else self.get_positions_from_array(model_instance, q)

    @overload
    def set_positions(self, context: ContextCore, q: npt.ArrayLike, /) -> None: ...
    @overload
    def set_positions(self, context: ContextCore, model_instance: int | str, q: npt.ArrayLike) -> None: ...

    def set_positions(self, context: ContextCore, model_instance: Any = None, q: Any = _MISSING) -> None:
        """Set the positions of a Context: ``set_positions(context, q)``, or those of one model instance.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        model_instance : ModelInstanceIndex or str, optional
            Whose positions, by default those of the whole tree; all others remain.
        q : array_like, shape (num_positions,) or (get_num_positions(model_instance),)
            The positions.

        Raises
        ------
        ContextMismatchError
            When `context` belongs to another tree.
        ShapeError
            When `q` has another shape.
        SingularityError
            When a quaternion is zero.
        """
        instance, values = _split("set_positions", "q", model_instance, q)
        context = self._own(context)
        context.q = self._replaced(context, context.q, instance, values, "q", self._position_indices)

    def get_velocities(self, context: ContextCore, model_instance: int | str | None = None) -> FloatArray:
        """Return the velocities that a Context holds, like `get_positions`."""
        v = self._own(context).v
        return v if model_instance is None else self.get_velocities_from_array(model_instance, v)

    @overload
    def set_velocities(self, context: ContextCore, v: npt.ArrayLike, /) -> None: ...
    @overload
    def set_velocities(self, context: ContextCore, model_instance: int | str, v: npt.ArrayLike) -> None: ...

    def set_velocities(self, context: ContextCore, model_instance: Any = None, v: Any = _MISSING) -> None:
        """Set the velocities of a Context: all, or those of one model instance, like `set_positions`."""
        instance, values = _split("set_velocities", "v", model_instance, v)
        context = self._own(context)
        context.v = self._replaced(context, context.v, instance, values, "v", self._velocity_indices)

    def get_positions_and_velocities(
        self, context: ContextCore, model_instance: int | str | None = None
    ) -> FloatArray:
        """Return positions and velocities in one array, a copy, shape (num_states,): first q, then v.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        model_instance : ModelInstanceIndex or str, optional
            Whose state; by default that of the whole tree.
        """
        q = self.get_positions(context, model_instance)
        return np.concatenate([q, self.get_velocities(context, model_instance)], axis=-1)

    @overload
    def set_positions_and_velocities(self, context: ContextCore, q_v: npt.ArrayLike, /) -> None: ...
    @overload
    def set_positions_and_velocities(
        self, context: ContextCore, model_instance: int | str, q_v: npt.ArrayLike
    ) -> None: ...

    def set_positions_and_velocities(
        self, context: ContextCore, model_instance: Any = None, q_v: Any = _MISSING
    ) -> None:
        """Set positions and velocities from one array, shape (num_states,): first q, then v.

        ``set_positions_and_velocities(context, q_v)`` is for the whole tree,
        ``set_positions_and_velocities(context, model_instance, q_v)`` for one model instance. When it fails,
        nothing changes.
        """
        instance, values = _split("set_positions_and_velocities", "q_v", model_instance, q_v)
        context = self._own(context)
        if instance is None:
            num_positions, num_velocities = self.num_positions, self.num_velocities
        else:
            num_positions, num_velocities = (
                self.get_num_positions(instance),
                self.get_num_velocities(instance),
            )
        state = context._numbers.as_float_array(values, "q_v", (num_positions + num_velocities,))
        q, v = state[..., :num_positions], state[..., num_positions:]
        before = context.v
        context.v = self._replaced(context, before, instance, v, "q_v", self._velocity_indices)
        try:
            context.q = self._replaced(context, context.q, instance, q, "q_v", self._position_indices)
        except MbtError:
            # A zero quaternion: restore the velocities, so that nothing changes.
            context.v = before
            raise

    def get_actuation(self, context: ContextCore, model_instance: int | str | None = None) -> FloatArray:
        """Return the inputs that a Context holds, a copy: all, or those of a model instance."""
        u = self._own(context).actuation
        return u.copy() if model_instance is None else self.get_actuation_from_array(model_instance, u)

    @overload
    def set_actuation(self, context: ContextCore, u: npt.ArrayLike, /) -> None: ...
    @overload
    def set_actuation(self, context: ContextCore, model_instance: int | str, u: npt.ArrayLike) -> None: ...

    def set_actuation(self, context: ContextCore, model_instance: Any = None, u: Any = _MISSING) -> None:
        """Set the inputs of a Context: of all actuators, or of one model instance, like `set_positions`."""
        instance, values = _split("set_actuation", "u", model_instance, u)
        context = self._own(context)
        context.actuation = self._replaced(
            context, context.actuation, instance, values, "u", self._input_indices
        )

    def _own(self, context: ContextCore) -> ContextCore:
        if not isinstance(context, ContextCore) or context.tree is not self:
            tree: MultibodyTree = self  # type: ignore[assignment]
            raise_context_mismatch(tree, context)
        return context

    def _replaced(
        self,
        context: ContextCore,
        array: FloatArray,
        model_instance: int | str | None,
        values: object,
        argument: str,
        indices_of: Any,
    ) -> FloatArray:
        """Return `values`, or a copy of `array` with them in place of the part of a model instance."""
        numbers = context._numbers
        if model_instance is None:
            whole: FloatArray = numbers.as_float_array(values, argument, array.shape[-1:])
            return whole
        indices = indices_of(model_instance)
        part = numbers.as_float_array(values, argument, (len(indices),))
        changed: FloatArray = numbers.replaced(array, indices, part)
        return changed

    def _position_indices(self, model_instance: int | str) -> IndexArray:
        return self._known_indices("The layout of the positions", model_instance)[0]

    def _velocity_indices(self, model_instance: int | str) -> IndexArray:
        return self._known_indices("The layout of the velocities", model_instance)[1]

    def _known_indices(self, what: str, model_instance: int | str) -> tuple[IndexArray, IndexArray]:
        """Return where the positions and the velocities of a model instance are."""
        instance = self._known_instance(model_instance)

        def make() -> tuple[IndexArray, IndexArray]:
            own = [m for m in self._finalized(what).mobilizer_of_node if m.model_instance == instance]
            return (
                _concatenate([m._position_range() for m in own]),
                _concatenate([m._velocity_range() for m in own]),
            )

        indices: tuple[IndexArray, IndexArray] = self._fact(what, make, ("indices", instance))
        return indices

    def _input_indices(self, model_instance: int | str) -> IndexArray:
        actuators = self._elements.actuators.in_instance(self._known_instance(model_instance))
        return np.array([actuator.input_start for actuator in actuators], dtype=np.intp)


def _split(method: str, name: str, model_instance: Any, values: Any) -> tuple[int | None, Any]:
    """Return model instance and values of a method whose middle argument may be left out."""
    if values is not _MISSING:
        return model_instance, values
    if model_instance is None:
        raise ArgumentTypeError(
            f"{method}: expected {method}(context, {name}) or {method}(context, model_instance, {name}), "
            f"but {name} is missing"
        )
    return None, model_instance


def _write(
    numbers: Numbers,
    values: object,
    name: str,
    whole: FloatArray,
    whole_name: str,
    size: int,
    indices: IndexArray,
) -> None:
    batch = getattr(whole, "shape", ())[:-1]
    part = numbers.as_float_array(values, name, (*batch, len(indices)))
    # Without the ellipsis, one vector takes a tenth of the time.
    numbers.check_out(whole, whole_name, (*batch, size))[(..., indices) if batch else indices] = part


def _concatenate(ranges: list[range]) -> IndexArray:
    joined = np.array([index for indices in ranges for index in indices], dtype=np.intp)
    joined.flags.writeable = False
    return joined
