"""Distances that solutions and velocities keep: between shapes, as a `mbt.CollisionModel` computes them."""

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
    "count_rows",
    "find_free",
    "find_room",
    "find_velocities",
    "push_apart",
    "sort_by_distance",
]

# Pairs that get rows of their own in a step, the nearest; and how often others, of where it leads.
_MOST_ROWS, _MORE_ROWS, _ROUNDS = 16, 8, 2
# Steps that push a solution out of what it overlaps, and how much farther than asked [m].
_STEPS, SPARE = 30, 1e-6


@runtime_checkable
class Scene(Protocol):
    """What a `mbt.CollisionModel` is to these functions."""

    @property
    def tree(self) -> MultibodyTree: ...

    @property
    def num_pairs(self) -> int: ...

    def distances(self, q: Any, *, jacobian: bool = False, context: Context | None = None) -> Any: ...

    def is_free(self, q: Any, *, margin: float = 0.0, context: Context | None = None) -> Any: ...


@dataclass(frozen=True)
class Distance:
    """All pairs of a scene shall be at least so far apart [m]."""

    scene: Scene
    at_least: float


def as_distance(tree: MultibodyTree, scene: object, at_least: object) -> Distance:
    """Check the arguments of `InverseKinematics.add_distance`."""
    if not isinstance(scene, Scene):
        raise ArgumentTypeError(f"scene: expected a mbt.CollisionModel, got {quote(scene)}")
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
    """Return by how much the distance that lacks most is larger than asked, of each row of positions [m]."""
    room: list[FloatArray] = [
        one.scene.distances(q, context=context).min(axis=-1, initial=np.inf) - one.at_least
        for one in distances
    ]
    least: FloatArray = np.array(room).min(axis=0)
    return least


def count_rows(distances: Sequence[Distance]) -> int:
    """Return how many rows a step has for distances."""
    count = sum(one.scene.num_pairs for one in distances)
    return min(_MOST_ROWS, count) + _ROUNDS * min(_MORE_ROWS, count)


def _evaluate(
    distances: Sequence[Distance], q: FloatArray, context: Context | None
) -> tuple[FloatArray, FloatArray]:
    """Return by how much distances are larger than asked, (count, pairs), and their Jacobians."""
    rooms, rows = [], []
    for one in distances:
        d, J = one.scene.distances(q, jacobian=True, context=context)
        rooms.append(d - one.at_least)
        rows.append(J)
    return np.concatenate(rooms, axis=1), np.concatenate(rows, axis=1)


def find_velocities(
    tree: MultibodyTree,
    distances: Sequence[Distance],
    run: Callable[[FloatArray, FloatArray], FloatArray],
    q: FloatArray,
    dt: float,
    gain: float,
    spare: float,
    context: Context | None,
) -> FloatArray:
    """Return velocities, (count, nv), of states q, (count, nq), so that distances shrink by what they may.

    `run` returns velocities for rows of distances, (count, rows, nv), and their least values. A distance has
    kinks where other points become the nearest: so rows of where velocities lead are added, and once more.
    """
    num_rows = count_rows(distances)
    rows = np.zeros((len(q), num_rows, tree.num_velocities))
    least = np.full((len(q), num_rows), -np.inf)
    room, J = _evaluate(distances, q, context)
    # The room that shall be left.
    wanted = room - gain * (room - spare)
    motion = np.zeros((len(q), tree.num_velocities))
    at = 0
    for turn in range(1 + _ROUNDS):
        most = min(_MORE_ROWS if turn else _MOST_ROWS, room.shape[1])
        chosen = np.argsort(room - wanted if turn else room, axis=1, kind="stable")[:, :most]
        new = np.take_along_axis(J, chosen[..., np.newaxis], 1)
        rows[:, at : at + most] = new
        least[:, at : at + most] = np.take_along_axis(wanted - room, chosen, 1) + np.einsum(
            "skv,sv->sk", new, motion
        )
        at += most
        v = run(rows, least)
        if turn < _ROUNDS:
            motion = v * dt
            room, J = _evaluate(distances, integrate_positions(tree, q, v, dt), context)
    return v


def push_apart(tree: MultibodyTree, step: Callable[[FloatArray], FloatArray], q: FloatArray) -> FloatArray:
    """Return rows of positions after some steps, whose motions `step` returns."""
    for _ in range(_STEPS):
        q = integrate_positions(tree, q, step(q), 1.0)
    return q


def sort_by_distance(tree: MultibodyTree, start: FloatArray, q: FloatArray) -> FloatArray:
    """Return rows of positions, those nearest to `start` (1, nq) first."""
    far = np.linalg.norm(difference_positions(tree, start, q), axis=-1)
    return q[np.argsort(far, kind="stable")]
