"""Trees of doubles whose arrays have axes of a batch in front: one state computed after the other.

The engine knows one state. All that is made of its numbers, the same code makes of one state and of many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mbt
from mbt.autodiff.array import wrap
from mbt.math import arrays
from mbt.math.leading_axes import join
from mbt.scalars import ScalarTree
from mbt.scalars.autodiff_arrays import AutoDiffArrays
from mbt.scalars.context import ScalarContext
from mbt.scalars.forces import ScalarForces
from mbt.scalars.scalar_arrays import ScalarArrays
from mbt.symbolic import ScalarType

# Sizes that nothing else in these trees has by accident at that place, and more than one axis.
BATCH = (3, 2)


def _select_lt(a: Any, b: Any, x: Any, y: Any) -> Any:
    return np.where(np.less(a, b), x, y)


STACKED = ScalarType(
    0.0, 1.0, np.sin, np.cos, np.sqrt, np.tanh, np.arctan2, np.floor, _select_lt, name="stacked"
)


class Engine:
    """What computes for each state of a Context."""

    def __init__(self, compiled: Any) -> None:
        self.numbers = AutoDiffArrays()
        self.engine = self.numbers.make_engine(compiled)
        self.inputs: dict[str, Any] = {}

    def evaluate(self, context: Any, quantity: Any, index: int, x: Any) -> Any:
        inputs = {name: _spread(array) for name, array in self.inputs.items()}
        x = None if x is None else _spread(np.asarray(x))
        results = []
        for i in np.ndindex(BATCH):
            for name, array in inputs.items():
                self.numbers.set_engine(self.engine, name, _constant(array[i]))
            own = None if x is None else _constant(x[i])
            results.append(self.numbers.evaluate(self.engine, context, quantity, index, own).value)
        return np.stack(results).reshape(*BATCH, -1)


def _spread(array: Any) -> Any:
    return np.broadcast_to(array, (*BATCH, array.shape[-1]))


def _constant(array: Any) -> Any:
    return wrap(np.ascontiguousarray(array), np.zeros((*array.shape, 0)))


class StackedArrays(ScalarArrays):
    """Arrays of doubles, of one shape or with the axes of the batch in front of it."""

    def as_float_array(self, value: object, name: str, shape: Any = None) -> Any:
        array = arrays.as_float_array(value, name)
        if shape is not None and not arrays.has_shape(array.shape, shape):
            return arrays.as_float_array(array, name, (*BATCH, *shape))
        return array

    def as_float(self, value: object, name: str) -> Any:
        return self.as_float_array(value, name, ())[()]

    def values(self, array: Any) -> None:
        return

    def scalar(self, entry: Any) -> Any:
        return entry

    def is_less(self, a: Any, b: Any) -> bool:
        return False

    @property
    def _functions(self) -> ScalarType:
        return STACKED

    def check_out(self, out: Any, name: str, shape: tuple[int, ...]) -> Any:
        assert out.shape == shape
        return out

    def apply(self, function: Callable[..., Any], *operands: Any) -> Any:
        return np.asarray(function(*operands))

    def stack(self, numbers: Any) -> Any:
        return np.stack(np.broadcast_arrays(*numbers), -1)

    def replaced(self, array: Any, part: Any, values: Any) -> Any:
        size = array.shape[-1]
        changed = np.array(
            np.broadcast_to(array, (*np.broadcast_shapes(array.shape[:-1], values.shape[:-1]), size))
        )
        changed[..., part] = values
        return changed

    def zeros(self, shape: tuple[int, ...], *like: Any) -> Any:
        return np.zeros(shape)

    def writable(self, array: Any) -> Any:
        return array[...]

    def frozen(self, view: Any) -> Any:
        view = view[...]
        view.flags.writeable = False
        return view

    def add(self, total: Any, addend: Any) -> Any:
        total += addend
        return total

    def add_at(self, array: Any, indices: Any, addends: Any) -> Any:
        result = np.array(array)
        for i, index in enumerate(indices):
            result[..., index] += addends[..., i]
        return result

    def scale(self, array: Any, factor: Any) -> Any:
        return array * factor

    def divide(self, array: Any, divisor: Any) -> Any:
        return array / divisor

    def is_zero(self, number: Any) -> bool:
        return bool(np.all(number == 0.0))

    def is_identity(self, matrix: Any) -> bool:
        return bool((matrix == np.eye(matrix.shape[-1])).all())

    def make_engine(self, compiled: Any) -> Engine:
        return Engine(compiled)

    def set_engine(self, engine: Engine, name: str, array: Any) -> None:
        engine.inputs[name] = array

    def evaluate(self, engine: Engine, context: Any, quantity: Any, index: int, x: Any) -> Any:
        return engine.evaluate(context, quantity, index, x)


class StackedContext(ScalarContext):
    """States, each of the batch with its own q, v and inputs."""

    __slots__ = ()

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return BATCH

    def _as_declared_vector(self, value: object, what: str, size: int, *, finite: bool) -> Any:
        return self._numbers.frozen(self._numbers.as_float_array(value, what, (size,)).copy())


class StackedForces(ScalarForces):
    """Forces on each state."""

    __slots__ = ()

    def __init__(self, tree: Any, batch_shape: Any = BATCH) -> None:
        self._begin(tree, BATCH)


class StackedTree(ScalarTree):
    """A tree that computes one state after the other, and puts their numbers together."""

    _forces_type = StackedForces
    _context_type = StackedContext

    @property
    def _numbers(self) -> StackedArrays:
        return StackedArrays()


def stacked_clone(tree: mbt.MultibodyTree) -> Any:
    """A clone whose Contexts hold a batch of states."""
    twin: Any = tree.clone_to_scalar(STACKED)
    twin.__class__ = StackedTree
    return twin


def stack(entries: Any) -> Any:
    """Results of single states, in C order, with the axes of the batch in front."""
    first = np.asarray(entries[0])
    return join([np.stack([np.ravel(entry) for entry in entries])]).reshape(*BATCH, *first.shape)
