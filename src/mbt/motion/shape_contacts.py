"""The shapes that touched over time, in implicit steps with contact of shapes."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, SupportsIndex, runtime_checkable

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, ElementIndexError, quote
from mbt.motion.impulses import middle_velocities

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt._core.solvers.shape_contact import ContactCore
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.motion.trajectory import Trajectory
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = [
    "ContactSample",
    "ContactsOverTime",
    "TouchingShapes",
    "calc_contacts",
    "calc_power",
    "check_contacts",
    "find_touches",
]


@runtime_checkable
class TouchingShapes(Protocol):
    """The interface of `mbt.ShapeContact` that a simulation uses."""

    @property
    def tree(self) -> MultibodyTree:
        """The tree."""

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Names of the pairs."""

    @property
    def stiffness(self) -> FloatArray:
        """Stiffness of a contact point of each pair [N/m], (num_pairs,)."""

    def core(self) -> ContactCore:
        """Return the compiled contact that steps use."""

    def nodes_of_pairs(self) -> npt.NDArray[np.intp]:
        """Return the nodes of the bodies of each pair, (num_pairs, 2)."""


class ContactSample(NamedTuple):
    """The points where shapes pushed each other in one step, n of them.

    Attributes
    ----------
    names : tuple of pairs of str
        The pair of shapes of each point.
    pair : ndarray of int, shape (n,)
        Index of the pair in ``scene.pairs``.
    p_W : ndarray, shape (n, 3)
        Points in World [m].
    n_W : ndarray, shape (n, 3)
        Unit normals from the first to the second shape of the pair, in World.
    force_W : ndarray, shape (n, 3)
        Forces on the second shape, with friction, in World [N]; the first one gets the opposite.
    gap : ndarray, shape (n,)
        Distance of the surfaces at the beginning of the step [m], negative where they overlap.
    """

    names: tuple[tuple[str, str], ...]
    pair: npt.NDArray[np.intp]
    p_W: FloatArray
    n_W: FloatArray
    force_W: FloatArray
    gap: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class ContactsOverTime:
    """The points where shapes pushed each other, K points in all samples of a trajectory.

    ``contacts[i]`` is the `ContactSample` of sample i, in the step after it; ``len`` is the number of
    samples.

    Attributes
    ----------
    pairs : tuple of pairs of str
        The pairs of the scene.
    num_samples : int
        Number of samples of the trajectory.
    sample : ndarray of int, shape (K,)
        The sample that each point belongs to, in ascending order.
    pair, p_W, n_W, force_W, gap
        As in `ContactSample`, for all samples.
    """

    pairs: tuple[tuple[str, str], ...]
    num_samples: int
    sample: npt.NDArray[np.intp]
    pair: npt.NDArray[np.intp]
    p_W: FloatArray
    n_W: FloatArray
    force_W: FloatArray
    gap: FloatArray

    def __len__(self) -> int:
        """Return the number of samples."""
        return self.num_samples

    def __getitem__(self, i: SupportsIndex) -> ContactSample:
        """Return the contacts of one sample."""
        try:
            index = operator.index(i)
        except TypeError:
            raise ArgumentTypeError(f"contacts[...]: expected an int, got {quote(i)}") from None
        k = index + self.num_samples if index < 0 else index
        if not 0 <= k < self.num_samples:
            raise ElementIndexError(f"contacts[{index}]: there are {self.num_samples} samples")
        first, last = np.searchsorted(self.sample, (k, k + 1))
        own = slice(first, last)
        names = tuple(self.pairs[j] for j in self.pair[own])
        return ContactSample(
            names, self.pair[own], self.p_W[own], self.n_W[own], self.force_W[own], self.gap[own]
        )

    def __iter__(self) -> Iterator[ContactSample]:
        """Iterate over the samples."""
        return (self[i] for i in range(self.num_samples))

    def __repr__(self) -> str:
        """Return the number of points."""
        return f"<contacts of {self.num_samples} samples: {self.sample.size} points>"


def check_contacts(contacts: object, tree: MultibodyTree, method: object) -> None:
    """Raise for contacts that cannot act in a simulation.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If it is not a `ShapeContact`, or one of another tree, or the method is not the implicit one.
    """
    if not isinstance(contacts, TouchingShapes):
        raise ArgumentTypeError(f"contacts: expected an mbt.ShapeContact, got {quote(contacts)}")
    if contacts.tree is not tree:
        raise ArgumentValueError(
            "contacts: expected contacts of this tree, got those of another one; for an edited tree "
            "create mbt.ShapeContact(mbt.CollisionModel(tree, obstacles=...))"
        )
    if method != "implicit":
        raise ArgumentValueError(
            f"contacts: contact of shapes needs method='implicit', got method={quote(method)}"
        )


def find_touches(
    trajectory: Trajectory, context: Context, along: FloatArray
) -> list[tuple[FloatArray, FloatArray]]:
    """Return what happened in each sample of the batch: rows of points, and powers."""
    from mbt.motion.implicit import make_core

    moved: Any = trajectory._moved
    nv, shape = trajectory.v.shape[-1], (math.prod(trajectory.batch_shape), len(trajectory))
    v1 = trajectory.v + moved[..., :1] * moved[..., 1 : 1 + nv]
    rows = [
        np.ascontiguousarray(x).reshape(*shape, x.shape[-1]) for x in (trajectory.q, trajectory.v, v1, along)
    ]
    lengths = np.ascontiguousarray(moved[..., 0]).reshape(shape)
    core = make_core(context, contacts=trajectory._contact)
    q, v, end, middle = rows
    return [core.touch(i, q[i], v[i], end[i], middle[i], lengths[i]) for i in range(len(q))]


def calc_contacts(trajectory: Trajectory, context: Context, contact: TouchingShapes) -> ContactsOverTime:
    """Return the contacts of a trajectory of one state."""
    ((rows, _),) = find_touches(trajectory, context, trajectory.v)
    for array in (sample := rows[:, 0].astype(np.intp), pair := rows[:, 1].astype(np.intp), rows):
        array.flags.writeable = False
    return ContactsOverTime(
        contact.pairs,
        len(trajectory),
        sample,
        pair,
        rows[:, 2:5],
        rows[:, 5:8],
        rows[:, 8:11],
        rows[:, 11],
    )


def calc_power(trajectory: Trajectory, context: Context) -> FloatArray:
    """Return the power of contact of shapes in each step [W], (..., n)."""
    power = np.array([x for _, x in find_touches(trajectory, context, middle_velocities(trajectory))])
    return power.reshape(trajectory.q.shape[:-1])
