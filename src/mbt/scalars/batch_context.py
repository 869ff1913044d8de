"""A Context of many states."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.engines.caches import SampleVectors
from mbt._core.engines.context import ContextCore
from mbt.context.context import Context
from mbt.context.multibody_forces import MultibodyForces, as_batch_shape
from mbt.context.user_forces import differentiate_user_forces
from mbt.errors import ArgumentValueError, ShapeError, SingularityError, quote
from mbt.scalars.batch_arrays import BatchArrays
from mbt.scalars.context import ScalarContext
from mbt.scalars.sample_validation import find_singularities_of_samples

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.tree.force_elements import ForceElement
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["BatchContext", "make_batch_context"]


def _quietly() -> np.errstate:
    """Return a context manager: NaN and infinity propagate without warnings, as in kernels.

    A bad sample must not stop the others.
    """
    return np.errstate(over="ignore", divide="ignore", invalid="ignore")


class BatchContext(ScalarContext):
    """Times, states, inputs and parameters of many samples: ``tree.create_default_context(batch_shape)``.

    Every array has the axes of the batch in front. An assigned value applies to all samples, or has leading
    axes that broadcast to those of the batch; parameters too may differ from sample to sample. If a sample
    has no result, where a Context of one state raises a `SingularityError`, it is NaN. Locks and exemptions
    from gravity are common to all samples.

    Attributes
    ----------
    tree : MultibodyTree
        The tree of the Context.
    """

    __slots__ = ("_batch_shape", "_vectors")

    def __new__(cls, tree: Any, batch_shape: tuple[int, ...] = ()) -> Any:
        """Make a Context."""
        return ContextCore.__new__(cls, tree)

    def __init__(self, tree: Any, batch_shape: tuple[int, ...]) -> None:
        self._batch_shape = as_batch_shape(batch_shape)
        super().__init__(tree)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Leading axes of every array of this Context."""
        return self._batch_shape

    def _make_numbers(self) -> BatchArrays:
        return BatchArrays(self._batch_shape)

    def _fresh(self) -> BatchContext:
        return BatchContext(self.tree, self._batch_shape)

    def _begin(self, tree: Any) -> None:
        super()._begin(tree)
        self._vectors = {
            name: SampleVectors((*self._batch_shape, size))
            for name, size in (("q", tree.num_positions), ("v", tree.num_velocities))
        }
        self._hold("q", self._q)
        self._hold("v", self._v)
        self._actuation = self._spread(self._actuation, 1)
        self._time = self._spread(np.zeros(()), 0)

    def _spread(self, array: FloatArray, num_axes: int) -> FloatArray:
        """Return a read-only copy of an array, with the axes of the batch before the last ones."""
        core = array.shape[array.ndim - num_axes :]
        spread = np.empty(self._batch_shape + core, array.dtype)
        spread[...] = array
        frozen: FloatArray = self._numbers.frozen(spread)
        return frozen

    # State, inputs and parameters.

    def _take(self, value: object, name: str, shape: tuple[int, ...]) -> FloatArray:
        return self._spread(self._numbers.as_float_array(value, name, shape), len(shape))

    def _hold(self, name: str, array: FloatArray) -> None:
        # Arrays that nobody else holds are reused.
        self._scalars.set_engine(self._engine, name, None)
        setattr(self, "_" + name, None)
        for kept in ("position", "velocity", "acceleration"):
            self._cached.pop(kept, None)
        vectors = self._vectors[name]
        try:
            vectors.set(array)
        finally:
            setattr(self, "_" + name, vectors.array)
            self._stale.add(name)

    def _take_time(self, value: object) -> FloatArray:
        return self._spread(self._numbers.as_finite_array(value, "time", ()), 0)

    def _check_locked(self, v: FloatArray) -> None:
        if self._locked_dofs().any() and v[..., self._locked_dofs()].any():
            super()._check_locked(v)

    def _get_parameter(self, section: str, index: int) -> FloatArray:
        """Copy of the numbers of one element in a section of the parameters."""
        return np.array(self._spread(super()._get_parameter(section, index), 1))

    if TYPE_CHECKING:

        def _set_entries(self, section: str, index: int, first: int, values: FloatArray) -> None: ...

    def _new_forces(self) -> Any:
        return MultibodyForces(self.tree, self._batch_shape)

    def _make_room(self, forces: Any) -> None:
        """Doubles need no more room."""

    def _as_declared_vector(self, value: object, what: str, size: int, *, finite: bool) -> FloatArray:
        """Return a vector that an element declared, of this size; read-only."""
        convert = self._numbers.as_finite_array if finite else self._numbers.as_float_array
        array = self._numbers.as_float_array(value, what)
        # A single number counts as a vector of one.
        if size == 1 and array.shape in ((), self._batch_shape):
            array = array[..., None]
        return self._spread(convert(array, what, (size,)), 1)

    def _roll_out(self, *arguments: Any) -> None:
        """Take steps of time from states given as arguments: see the engine."""
        self._push()
        self._engine.roll_out(self, *arguments)

    # For elements written in Python.

    @contextmanager
    def _running_user_code(self) -> Iterator[None]:
        with super()._running_user_code(), _quietly():
            yield

    @property
    def _zero(self) -> FloatArray:
        return np.zeros(self._batch_shape)

    def _differentiate_user_forces(self) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the forces of elements written in Python, one sample after the other."""
        nv = self.tree.num_velocities
        by_q, by_v = np.empty((2, *self._batch_shape, nv, nv))
        for i in np.ndindex(self._batch_shape):
            try:
                with _quietly():
                    by_q[i], by_v[i] = differentiate_user_forces(self.tree, self._sample(i))
            except SingularityError:
                by_q[i], by_v[i] = np.nan, np.nan
        return by_q, by_v

    def _rate_of_energy(self, element: ForceElement) -> FloatArray:
        """Return the rate of the potential energy of a force element, one sample after the other."""
        rates = np.empty(self._batch_shape)
        for i in np.ndindex(self._batch_shape):
            try:
                with _quietly():
                    rates[i] = self._sample(i)._rate_of_energy(element)
            except SingularityError:
                rates[i] = np.nan
        return rates

    # Copies.

    @classmethod
    def _of_state(cls, tree: Any, state: dict[str, Any]) -> BatchContext:
        """Return a Context from the result of `_get_state`."""
        context: BatchContext = cls.__new__(cls, tree)
        context._batch_shape = state["batch_shape"]
        context._begin(tree)
        context._set_state(state)
        return context

    def _get_state(self) -> dict[str, Any]:
        return {**super()._get_state(), "batch_shape": self._batch_shape}

    def _sample(self, i: tuple[int, ...]) -> Context:
        """Return a Context of one state for one sample."""
        number = int(np.ravel_multi_index(i, self._batch_shape))
        forces = None
        if self._forces is not None:
            forces = self._forces.body_forces[i], self._forces.generalized_forces[i]
        own = super()._get_state()
        declared = own["declared"]
        vectors = {
            kind: [array[i] if array.ndim > 1 else array for array in declared[kind]]
            for kind in ("numeric", "discrete")
        }
        context = Context(self.tree)
        context._set_state(
            {
                "time": self._time[i],
                "q": self._q[i],
                "v": self._v[i],
                "actuation": self._actuation[i],
                "parameters": self._parameters.of_sample(number),
                "locked": own["locked"],
                "weightless": own["weightless"],
                "disabled": own["disabled"],
                "applied_forces": forces,
                "declared": {**vectors, "abstract": declared["abstract"]},
            }
        )
        return context

    def _of_one_state(self) -> Context:
        """Return a Context of one state, with the frame poses and the gravity that all samples share."""
        compiled = self.tree._compiled
        assert compiled is not None
        parameters = self._parameters
        places = [compiled.parameter_slice("gravity", 0)]
        places += [compiled.parameter_slice("frame_pose", i) for i in range(self.tree.num_frames)]
        for i in np.flatnonzero(np.isin(parameters.columns, np.r_[tuple(places)])):
            if (parameters.rows[:, i] != parameters.rows[:1, i]).any():
                raise ArgumentValueError(
                    "context: expected the same poses of frames and the same gravity in all samples of the "
                    f"batch {self._batch_shape}, on which base parameters depend; use a Context of one state"
                )
        context = Context(self.tree)
        own = super()._get_state()
        state = {
            **context._get_state(),
            "parameters": parameters.of_sample(0) if len(parameters.rows) else parameters.common,
            "weightless": own["weightless"],
            "disabled": own["disabled"],
        }
        context._set_state(state)
        return context

    def _find_singularities(self) -> list[str]:
        return find_singularities_of_samples(self)

    def __repr__(self) -> str:
        """Describe the sizes and the axes of the batch."""
        return f"<Context of {self.tree!r}, batch_shape={self._batch_shape}>"


def make_batch_context(tree: MultibodyTree, batch_shape: Any) -> Context:
    """Return a Context with these leading axes.

    Raises
    ------
    ShapeError
        When the scalar type of the tree is not double.
    """
    shape = as_batch_shape(batch_shape)
    if not shape:
        return Context(tree)
    if tree.scalar_type.name != "double":
        raise ShapeError(
            f"batch_shape: expected (), got {shape}: a tree of {quote(tree.scalar_type.name)} "
            "computes one state at a time"
        )
    return BatchContext(tree, shape)
