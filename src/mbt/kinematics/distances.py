"""Distances that solutions and velocities maintain between shapes, computed by an `mbt.CollisionModel`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from mbt._core.api.configuration import difference_positions, integrate_positions
from mbt.errors import ArgumentTypeError, ContextMismatchError, quote
from mbt.math.arrays import FloatArray, as_finite

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mbt.context.context import Context
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = [
    "SPARE",
    "Distance",
    "as_distance",
    "find_free",
    "find_room",
    "prepare",
    "push_apart",
    "sort_by_distance",
]

# The nearest pairs get rows of their own in a step; more rows are added for pairs that are near at its end.
_MOST_ROWS, _MORE_ROWS, _ROUNDS = 16, 8, 2
# Most steps to push a solution out of an overlap, and by how much farther than asked [m].
_STEPS, SPARE = 30, 1e-6


@runtime_checkable
class Scene(Protocol):
    """The interface of `mbt.CollisionModel` that these functions use."""

    @property
    def tree(self) -> MultibodyTree: ...

    @property
    def num_pairs(self) -> int: ...

    def distances(self, q: Any, *, jacobian: bool = False, context: Context | None = None) -> Any: ...

    def is_free(self, q: Any, *, margin: float = 0.0, context: Context | None = None) -> Any: ...

    def _prepare(self, context: Context | None) -> Any: ...


@dataclass(frozen=True)
class Distance:
    """All pairs of a scene shall keep at least this distance [m]."""

    scene: Scene
    at_least: float


def as_distance(tree: MultibodyTree, scene: object, at_least: object) -> Distance:
    """Check the arguments of `InverseKinematics.add_distance`."""
    if not isinstance(scene, Scene):
        raise ArgumentTypeError(f"scene: expected an mbt.CollisionModel, got {quote(scene)}")
    if scene.tree is not tree:
        raise ContextMismatchError("scene: expected one of the tree of this problem")
    return Distance(scene, as_finite(at_least, "at_least"))


def find_free(distances: Sequence[Distance], q: FloatArray, context: Context | None) -> Any:
    """Return which rows of positions keep all distances."""
    free = np.ones(len(q), np.bool_)
    for one in distances:
        free &= one.scene.is_free(q, margin=one.at_least, context=context)
    return free


def find_room(distances: Sequence[Distance], q: FloatArray, context: Context | None) -> FloatArray:
    """Return for each row of positions the least difference between a distance and the one asked for [m]."""
    room: list[FloatArray] = [
        one.scene.distances(q, context=context).min(axis=-1, initial=np.inf) - one.at_least
        for one in distances
    ]
    least: FloatArray = np.array(room).min(axis=0)
    return least


def prepare(distances: Sequence[Distance], context: Context | None) -> tuple[Any, int, int, int]:
    """Return distances as `VelocityCore` takes them: scenes, and the number of rows of them in a step."""
    scenes = [
        (one.scene._prepare(context), one.at_least, one.scene.num_pairs)
        for one in distances
        if one.scene.num_pairs
    ]
    return scenes, _MOST_ROWS, _MORE_ROWS, _ROUNDS


def push_apart(tree: MultibodyTree, step: Callable[[FloatArray], FloatArray], q: FloatArray) -> FloatArray:
    """Return rows of positions after some steps; `step` returns the motion of each."""
    for _ in range(_STEPS):
        q = integrate_positions(tree, q, step(q), 1.0)
    return q


def sort_by_distance(tree: MultibodyTree, start: FloatArray, q: FloatArray) -> FloatArray:
    """Return rows of positions, the nearest to `start` (1, nq) first."""
    far = np.linalg.norm(difference_positions(tree, start, q), axis=-1)
    return q[np.argsort(far, kind="stable")]
