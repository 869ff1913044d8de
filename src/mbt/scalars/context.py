"""A Context in a scalar type other than double."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.engines.context import ContextCore
from mbt.context.context import Context
from mbt.context.user_forces import differentiate_user_forces
from mbt.errors import ArgumentTypeError, ArgumentValueError, ShapeError, quote, shape_error
from mbt.math.arrays import as_bool
from mbt.math.leading_axes import cut, entry_of
from mbt.scalars.arrays import AutoDiffArrays, ScalarArrays
from mbt.scalars.batch_inertia import check_inertial_parameters
from mbt.scalars.cached_context import CachedContext
from mbt.scalars.forces import ScalarForces
from mbt.scalars.hints import running_in

if TYPE_CHECKING:
    from mbt.scalars.tree import ScalarTree
    from mbt.tree.indices import FrameIndex

__all__ = ["ScalarContext"]


class ScalarContext(CachedContext):
    """Time, positions, velocities, inputs and parameters in arrays of the scalar type of a tree.

    ``create_default_context()`` of a tree from `clone_to_scalar` creates it. Initially all values are
    constants.
    """

    __slots__ = (
        "_actuation",
        "_forces",
        "_has_actuation",
        "_is_dual",
        "_parameters",
        "_q",
        "_scalars",
        "_stale",
        "_takes_doubles",
        "_time",
        "_v",
    )

    if TYPE_CHECKING:
        tree: ScalarTree

    def __init__(self, tree: ScalarTree) -> None:
        self._begin(tree)
        super().__init__(tree)

    @classmethod
    def _of_state(cls, tree: Any, state: dict[str, Any]) -> ScalarContext:
        """Return a Context from the result of `_get_state`."""
        context: ScalarContext = cls.__new__(cls, tree)
        context._begin(tree)
        context._set_state(state)
        return context

    def _begin(self, tree: ScalarTree) -> None:
        """Set the defaults of all values except those that elements declare."""
        numbers = self._scalars = self._make_numbers()
        compiled = tree._compiled
        assert compiled is not None
        self._engine = numbers.make_engine(compiled)
        # Engines with derivatives keep q and v themselves; these become arrays only when accessed.
        self._is_dual = isinstance(numbers, AutoDiffArrays)
        # For all but objects, an array of doubles is an array of constants.
        self._takes_doubles = numbers.has_values
        self._cached: dict[str, tuple[Any, Any]] = {}
        # Values that the engine does not have yet.
        self._stale: set[str] = {"q", "v", "parameters"}
        self._q: Any = numbers.frozen(numbers.take_numbers(compiled.default_q).copy())
        self._v: Any = numbers.frozen(numbers.zeros((tree.num_velocities,)))
        self._actuation = numbers.frozen(numbers.zeros((len(tree.joint_actuators),)))
        self._parameters = numbers.frozen(numbers.take_parameters(compiled, tree.num_frames))
        self._time: Any = 0.0
        # Inputs that were never set are zero and cost nothing.
        self._has_actuation = False
        self._forces: ScalarForces | None = None

    def _make_numbers(self) -> ScalarArrays:
        return self.tree._numbers

    # State and inputs.

    @property
    def _numbers(self) -> ScalarArrays:
        return self._scalars

    @property
    def q(self) -> Any:
        """Generalized positions, (num_positions,); read-only, write with ``context.q = ...``."""
        q = self._q
        if q is None:
            with self._exclusive():
                q = self._q = self._scalars.frozen(self._engine.get_q())
        return q

    @q.setter
    def q(self, value: object) -> None:
        if self._is_dual and self._engine.take_q(self, value):
            self._q = None
            if self._stale:
                self._stale.discard("q")
            return
        array = self._scalars.as_float_array(value, "q", (self.tree.num_positions,))
        with self._exclusive():
            self._set_core("q", array)
            self._hold("q", array)

    @property
    def v(self) -> Any:
        """Generalized velocities, (num_velocities,); read-only, write with ``context.v = ...``."""
        v = self._v
        if v is None:
            with self._exclusive():
                v = self._v = self._scalars.frozen(self._engine.get_v())
        return v

    @v.setter
    def v(self, value: object) -> None:
        if self._is_dual and self._engine.take_v(self, value):
            self._v = None
            if self._stale:
                self._stale.discard("v")
            return
        array = self._scalars.as_float_array(value, "v", (self.tree.num_velocities,))
        with self._exclusive():
            if self._scalars.values(array) is None:
                self._check_locked(array)
            self._set_core("v", array)
            self._hold("v", array)

    @property
    def time(self) -> Any:
        """Time [s]; finite, as far as known."""
        return self._time

    @time.setter
    def time(self, value: object) -> None:
        time = self._take_time(value)
        # A dummy value, which invalidates whatever depends on time.
        ContextCore.time.__set__(self, 0.0)  # type: ignore[attr-defined]
        self._time = time

    @property
    def actuation(self) -> Any:
        """Force or torque of each actuator, (num_actuators,); read-only, written as a whole."""
        return self._actuation

    @actuation.setter
    def actuation(self, value: object) -> None:
        actuation = self._take(value, "actuation", (len(self.tree.joint_actuators),))
        self._note_change("inputs")
        self._actuation = actuation
        self._has_actuation = bool(actuation.shape[-1])

    @property
    def applied_forces(self) -> Any:
        """Forces on bodies and joints that forward dynamics includes; write into its arrays."""
        if self._forces is None:
            with self._exclusive():
                self._forces = self._new_forces()
        self._make_room(self._forces)
        return self._forces

    @applied_forces.setter
    def applied_forces(self, value: Any) -> None:
        F, tau = self._external(value, "applied_forces")
        self._note_change("inputs")
        if value is not self._forces:
            forces = self.applied_forces
            forces.body_forces, forces.generalized_forces = F, tau

    @property
    def _has_applied_forces(self) -> bool:
        return self._forces is not None

    def _hold(self, name: str, array: Any) -> None:
        """Store a copy of positions or velocities."""
        setattr(self, "_" + name, self._scalars.frozen(array.copy()))
        self._stale.add(name)

    def _take(self, value: object, name: str, shape: tuple[int, ...]) -> Any:
        """Return a copy of an argument, read-only."""
        return self._scalars.frozen(self._scalars.as_float_array(value, name, shape).copy())

    def _take_time(self, value: object) -> Any:
        return self._scalars.as_finite(value, "time")

    def _set_core(self, name: str, array: Any) -> None:
        """Let the compiled base class check and keep values, if there are any, for other checks."""
        attribute: Any = getattr(ContextCore, name)
        values = self._scalars.values(array)
        # Without values, set the old ones again: this invalidates results all the same.
        attribute.__set__(self, attribute.__get__(self) if values is None else values)

    def _check_locked(self, v: Any) -> None:
        for k in np.flatnonzero(self._locked_dofs()):
            entry = entry_of(v, int(k))
            if not self._scalars.is_zero(entry):
                raise ArgumentValueError(f"v: velocity {k} is locked, so v[{k}] must be zero, got {entry}")

    def _set_locked(self, start: int, count: int, locked: bool) -> None:
        """Lock or unlock dofs; locked dofs are at rest."""
        super()._set_locked(start, count, locked)
        if locked and count:
            zeros = self._scalars.zeros((count,))
            v = self._scalars.concatenate([self.v[..., :start], zeros, self.v[..., start + count :]])
            self._v = self._scalars.frozen(v)
            self._stale.add("v")

    # Parameters.

    def _get_parameter(self, section: str, index: int) -> Any:
        """Copy of the numbers of one element in a section of the parameters."""
        part = self.tree._compiled.parameter_slice(section, index)  # type: ignore[union-attr]
        return self._parameters[..., part].copy()

    def _get_number(self, section: str, index: int, entry: int = 0) -> Any:
        """Return one of the numbers of an element in a section of the parameters."""
        return self._numbers.entry(self._get_parameter(section, index), entry)

    def _set_number(self, section: str, index: int, entry: int, value: Any) -> None:
        """Write one of the numbers of an element in a section; the caller has checked it."""
        self._set_entries(section, index, entry, self._numbers.stack([value]))

    def _set_entries(self, section: str, index: int, first: int, values: Any) -> None:
        """Write some of the numbers of an element in a section; the caller has checked them."""
        part = slice(first, first + values.shape[-1])
        changed = self._numbers.replaced(self._get_parameter(section, index), part, values)
        self._set_parameter(section, index, changed)

    def _set_parameters(self, index: int, sections: dict[str, Any]) -> None:
        """Write the numbers of elements from `index` on, section by section; the caller has checked them."""
        self._write_parameters([(name, index, values) for name, values in sections.items()])

    def _set_frame_poses(self, poses: dict[FrameIndex, Any]) -> None:
        """Write the poses of some frames, all or none; the caller has checked them."""
        self._write_parameters(
            [("frame_pose", index, self._as_row("frame_pose", index, X)) for index, X in poses.items()]
        )

    def _write_parameters(self, parts: list[tuple[str, int, Any]]) -> None:
        """Write numbers, (..., n), at sections and indices of elements."""
        for name, index, _ in parts:
            self._check_thawed(name, index)
        scalars = self._scalars
        compiled = self.tree._compiled
        assert compiled is not None
        arrays = [scalars.as_float_array(values, name) for name, _, values in parts]
        places = [
            np.arange(array.shape[-1]) + compiled.parameter_slice(name, index).start
            for (name, index, _), array in zip(parts, arrays, strict=True)
        ]
        # Steps that may fail come first: all parameters must have the same number of derivatives.
        changed = scalars.replaced(self._parameters, np.concatenate(places), scalars.concatenate(arrays))
        for (name, index, _), array in zip(parts, arrays, strict=True):
            values = scalars.values(array)
            if values is not None:
                super()._set_parameters(index, {name: values})
        self._note_change("parameters")
        self._parameters = scalars.frozen(changed)
        self._stale.add("parameters")

    def _set_parameter(self, section: str, index: int, values: Any) -> None:
        """Write the numbers of one element; the caller has checked them."""
        self._set_parameters(index, {section: self._as_row(section, index, values)})

    def _as_row(self, section: str, index: int, values: Any) -> Any:
        """Return the numbers of one element, of any shape, along the last axis."""
        part = self.tree._compiled.parameter_slice(section, index)  # type: ignore[union-attr]
        size = part.stop - part.start
        array = self._scalars.as_float_array(values, section)
        # One for all samples, or one for each.
        shape = (size,) if array.size == size else (*self.batch_shape, size)
        if array.size != math.prod(shape):
            raise ShapeError(f"{section}: expected {size} numbers, got {array.size}")
        return array.reshape(shape)

    def _set_inertial_parameters(self, pi: Any, skip_validity_check: bool) -> None:
        """Set the inertial parameters of all bodies; see `MultibodyTree.set_inertial_parameters`."""
        numbers = self._scalars
        bodies = self.tree._moving_bodies()
        array = numbers.as_float_array(pi, "pi", (10 * len(bodies),))
        if self.batch_shape:
            check_inertial_parameters(
                array,
                [body._label for body in bodies],
                not as_bool(skip_validity_check, "skip_validity_check"),
            )
        values = numbers.values(array)
        if values is not None:
            # Rejects what trees of doubles reject.
            twin = self.tree.clone_to_scalar("double")
            twin.set_inertial_parameters(
                twin.create_default_context(), values.copy(), skip_validity_check=skip_validity_check
            )
        parts: dict[str, list[Any]] = {"mass": [], "com": [], "unit_inertia": [], "massless_inertia": []}
        for x in cut(array, 10):
            mass, inertia = x[..., :1], x[..., [4, 6, 9, 5, 7, 8]]
            parts["mass"].append(mass)
            parts["com"].append(numbers.ratio(x[..., [1, 2, 3]], mass))
            parts["unit_inertia"].append(numbers.ratio(inertia, mass))
            parts["massless_inertia"].append(numbers.remainder(inertia, mass))
        if bodies:
            self._set_parameters(1, {section: numbers.concatenate(rows) for section, rows in parts.items()})

    def _of_one_state(self) -> Context:
        """Return a Context of one state of doubles, in another tree, with the values of this one."""
        tree = self.tree.clone_to_scalar("double")
        if self._scalars.values(self.q) is None:
            raise ArgumentTypeError(
                f"context: base parameters follow from a rank, unknown to "
                f"{quote(self.tree.scalar_type.name)}: use a Context of clone_to_scalar('double')"
            )
        own = tree.create_default_context()
        own._set_state({**own._get_state(), **ContextCore._get_state(self), "applied_forces": None})
        return own

    # Computing.

    def _push(self) -> None:
        """Pass changed values to the engine, while no other thread changes them."""
        with self._exclusive():
            for name in ("q", "v", "parameters"):
                if name in self._stale:
                    array = self._parameters if name == "parameters" else getattr(self, name)
                    self._scalars.set_engine(self._engine, name, array)
                    self._stale.discard(name)

    def _fresh(self) -> ScalarContext:
        """Return a new default Context."""
        return type(self)(self.tree)

    def _reset_declared(self, reset: Callable[[Context], None]) -> None:
        """Reset this Context, and the values that elements declared."""
        fresh = self._fresh()
        super()._reset_declared(reset)
        self._set_state(fresh._get_state())

    # For force elements written in Python.

    def _running_user_code(self) -> AbstractContextManager[None]:
        return running_in(self)

    @property
    def _zero(self) -> Any:
        return self._scalars.scalar(0.0)

    def _count_like(self) -> list[Any]:
        """Return arrays among which one has the largest number of derivatives in this Context."""
        return [
            self.q,
            self.v,
            self._parameters,
            self._actuation,
            self._time,
            *self.parameters._numeric,
            *self._declared.discrete_state,
        ]

    def _new_forces(self) -> ScalarForces:
        """Return zero forces in the scalar type of this Context."""
        forces = self.tree._forces_type(self.tree)
        self._make_room(forces)
        return forces

    def _make_room(self, forces: Any) -> None:
        """Make room in forces for the largest number of derivatives in this Context."""
        forces._make_room(self._count_like())

    def _differentiate_user_forces(self) -> tuple[Any, Any]:
        """Return the derivatives of the forces of elements written in Python."""
        return differentiate_user_forces(self.tree, self)

    def _as_number(self, value: object, what: str) -> Any:
        return self._scalars.as_float(value, what)

    def _as_declared_vector(self, value: object, what: str, size: int, *, finite: bool) -> Any:
        """Return a vector that an element declared, of this size; read-only."""
        convert = self._scalars.as_finite_array if finite else self._scalars.as_float_array
        array = convert(value, what)
        if size == 1 and array.ndim == 0:
            array = array.reshape(1)
        if array.shape not in ((size,), (*self.batch_shape, size)):
            raise ShapeError(f"{what}: expected shape ({size},), got {array.shape}")
        return self._scalars.frozen(array.copy())

    # Copies.

    def clone(self) -> ScalarContext:
        """Return an independent Context of the same tree with the same values."""
        return self._of_state(self.tree, self._get_state())

    def _get_state(self) -> dict[str, Any]:
        forces = self._forces
        return {
            **super()._get_state(),
            "time": 0.0,
            "scalars": {
                name: getattr(self, name) for name in ("q", "v", "_actuation", "_parameters", "_time")
            },
            "scalar_forces": None if forces is None else (forces.body_forces, forces.generalized_forces),
        }

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state({**state, "time": 0.0})
        numbers, scalars = self._scalars, state["scalars"]
        for name in ("q", "v", "_actuation", "_parameters", "_time"):
            own = name if name.startswith("_") else "_" + name
            value, present = scalars[name], getattr(self, own)
            if present is not None and _axes(value) != _axes(present):
                raise shape_error(name.lstrip("_"), _axes(present), _axes(value))
            setattr(self, own, value if name == "_time" else numbers.frozen(value.copy()))
        self._stale = {"q", "v", "parameters"}
        self._cached = {}
        self._has_actuation = bool(self._actuation.shape[-1])
        # Others may hold the forces object, so it stays the same.
        if state["scalar_forces"] is not None:
            forces = self.applied_forces
            forces.body_forces, forces.generalized_forces = state["scalar_forces"]
        elif self._forces is not None:
            self._forces.set_zero()

    def _move_to(self, tree: Any) -> None:
        """Attach to a copy of its tree."""
        if self._forces is not None:
            self._forces._move_to(tree)
        super()._move_to(tree)
        self._engine = self._scalars.make_engine(tree._compiled)

    def __repr__(self) -> str:
        """Show the sizes and the time."""
        return f"<Context of {self.tree!r}, time={self.time}>"


def _axes(numbers: Any) -> tuple[int, ...]:
    """Return the shape of an array; () for anything else, such as a number of another package."""
    return tuple(numbers.shape) if hasattr(numbers, "ndim") else ()
