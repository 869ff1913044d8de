"""Cores that compute the distances of a collision model with the parameters of Contexts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.geometry.distances import DistanceCore
from mbt._core.geometry.scene import Scene
from mbt.context.checks import compile_copy
from mbt.context.context import Context
from mbt.errors import ArgumentTypeError, ArgumentValueError, ContextMismatchError, ShapeError, quote

if TYPE_CHECKING:
    from mbt.geometry.placed_shapes import PlacedShape
    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["DistanceCores"]


class DistanceCores:
    """Cores for the default parameters, for the last ones of a Context, and for each sample of a batch."""

    def __init__(
        self, tree: MultibodyTree, shapes: Sequence[PlacedShape], pairs: list[tuple[int, int, float]]
    ) -> None:
        self._tree = tree
        self._shapes = shapes
        self._pairs = pairs
        self._core: DistanceCore | None = None
        self._last: tuple[FloatArray, DistanceCore] | None = None

    def join(self, batch: tuple[int, ...], context: Context | None) -> tuple[int, ...]:
        """Return the broadcast leading axes of q and a Context."""
        if context is None:
            return batch
        self._check(context)
        try:
            return np.broadcast_shapes(batch, context.batch_shape)
        except ValueError:
            raise ShapeError(
                f"expected leading axes that broadcast, got {batch} of q and {context.batch_shape} of context"
            ) from None

    def share(self, batch: tuple[int, ...], context: Context | None) -> Iterator[tuple[DistanceCore, slice]]:
        """Yield cores, and the samples of a batch that each computes."""
        count = math.prod(batch)
        if context is None or not context.batch_shape:
            if count:
                yield self.prepare(context), slice(0, count)
            return
        of_batch: Any = context
        numbers = np.arange(math.prod(context.batch_shape)).reshape(context.batch_shape)
        for i, number in enumerate(np.broadcast_to(numbers, batch).ravel().tolist()):
            yield self._make(np.array(of_batch._parameters.of_sample(number))), slice(i, i + 1)

    def prepare(self, context: Context | None) -> DistanceCore:
        """Return the core with the parameters of a Context of one state, or with the default ones."""
        if context is None and self._core is not None:
            return self._core
        compile_copy(self._tree)
        compiled = self._tree._compiled
        assert compiled is not None
        if context is None:
            self._core = self._make(compiled.default_parameters)
            return self._core
        self._check(context)
        if context.batch_shape:
            raise ArgumentValueError(f"context: expected one state, got a batch {context.batch_shape}")
        vector = np.array(context._parameter_vector)
        last = self._last
        if last is None or not np.array_equal(last[0], vector):
            # Threads may share a model, so replace both parts in a single assignment.
            self._last = last = (vector, self._make(vector))
        return last[1]

    def _check(self, context: object) -> None:
        if not isinstance(context, Context):
            raise ArgumentTypeError(f"context: expected a Context, got {quote(context)}")
        if context.tree is not self._tree:
            raise ContextMismatchError(
                "context: expected a Context of the tree of this model, got one of another tree"
            )

    def _make(self, vector: FloatArray) -> DistanceCore:
        shapes = [shape.as_tuple() for shape in self._shapes]
        assert self._tree._compiled is not None
        return DistanceCore(Scene(self._tree._compiled, shapes, self._pairs), vector)
