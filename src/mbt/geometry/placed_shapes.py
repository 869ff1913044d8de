"""Shapes in the format of kernels: a kind, three lengths, a pose on a body, and a bounding sphere."""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentValueError, quote
from mbt.geometry.meshes import list_farthest, read_hull
from mbt.tree.coordinate_lookup import distinct_names_of
from mbt.tree.shape import Shape, as_shapes

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from mbt.math.arrays import FloatArray
    from mbt.tree.body import RigidBody
    from mbt.tree.multibody_tree import MultibodyTree
    from mbt.tree.surface import Surface

__all__ = [
    "KINDS",
    "PlacedShape",
    "name_bodies",
    "name_obstacles",
    "open_meshes",
    "place",
    "place_all",
    "places_on",
]

#: Numbers of the kinds of shapes in the core, see `shapes.hpp`.
KINDS = {
    "sphere": 0,
    "capsule": 1,
    "plane": 2,
    "box": 3,
    "cylinder": 4,
    "ellipsoid": 5,
    "mesh": 6,
    "height_field": 7,
}


@dataclass(frozen=True)
class _ClosedMesh:
    """A mesh whose file has not been read: where to look for it, and the argument that it comes from."""

    shape: Shape
    package_paths: tuple[str | os.PathLike[str], ...]
    argument: str


@dataclass(frozen=True, eq=False)
class PlacedShape:
    """A shape on a body.

    Attributes
    ----------
    name : str
        Its name in results.
    owner : str
        The name of its body; for an obstacle its own.
    node : int
        BodyNodeIndex of its body.
    kind : int
        One of `KINDS`.
    size : tuple of three floats
        Radii and half lengths.
    radius : float
        Radius of the bounding sphere about the origin; infinite if there is none. For a height field, its
        largest height.
    pose : ndarray, shape (4, 4)
        Pose in the body frame.
    vertices : ndarray, shape (n, 3), or None
        Vertices of a convex hull; for a height field its heights, shape (rows, columns).
    table : ndarray, shape (m,), or None
        Table of a convex hull, see `list_farthest`.
    contact_bits : tuple of two int, or None
        As for a `Shape`.
    surface : Surface or None
        As for a `Shape`.
    closed : _ClosedMesh or None
        The mesh, if no pair has needed it so far.
    """

    name: str
    owner: str
    node: int
    kind: int
    size: tuple[float, float, float]
    radius: float
    pose: FloatArray
    vertices: FloatArray | None = None
    table: FloatArray | None = None
    contact_bits: tuple[int, int] | None = None
    surface: Surface | None = None
    closed: _ClosedMesh | None = None

    @property
    def arrays(self) -> tuple[FloatArray | None, ...]:
        """Its pose, and its vertices, which also determine its table."""
        return self.pose, self.vertices

    def may_touch(self, other: PlacedShape) -> bool:
        """Return whether the contact bits of two shapes let them form a pair."""
        if self.contact_bits is None or other.contact_bits is None:
            return True
        (kind, affinity), (other_kind, other_affinity) = self.contact_bits, other.contact_bits
        return bool(kind & other_affinity or other_kind & affinity)

    def as_tuple(self) -> tuple[Any, ...]:
        """Return the arguments of the core; a closed mesh, which is in no pair, becomes a point."""
        if self.closed is not None:
            return KINDS["sphere"], self.node, (0.0, 0.0, 0.0), 0.0, self.pose, None, None
        return self.kind, self.node, self.size, self.radius, self.pose, self.vertices, self.table


def name_bodies(tree: MultibodyTree) -> dict[str, RigidBody]:
    """Return all bodies by name."""
    bodies = [tree.get_body(i) for i in range(tree.num_bodies)]
    return dict(zip(distinct_names_of(bodies), bodies, strict=True))


def name_obstacles(obstacles: object, taken: Container[str], argument: str = "obstacles") -> dict[str, Shape]:
    """Return obstacles by name; those without one are named after the first free place."""
    found: dict[str, Shape] = {}
    for i, shape in enumerate(as_shapes(obstacles, argument)):
        places = (f"obstacle[{k}]" for k in itertools.count(i))
        name = shape.name or next(name for name in places if name not in found and name not in taken)
        if name in found or name in taken:
            raise ArgumentValueError(f"{argument}[{i}]: the name {quote(name)} is taken")
        found[name] = shape
    return found


def _list_shapes(named: Mapping[str, RigidBody]) -> list[tuple[Shape, str, str, int]]:
    """Return the shapes of bodies, their names in results, and the names and nodes of their bodies."""
    return [
        (shape, name, owner, body.node_index)
        for owner, body in named.items()
        for shape, name in zip(body.collisions, _names_on(owner, body.collisions), strict=True)
    ]


def places_on(tree: MultibodyTree) -> dict[tuple[RigidBody, int], int]:
    """Return the places of bodies' shapes in a result of `place_all`, by body and place on it."""
    keys = [
        (tree.get_body(i), k) for i in range(tree.num_bodies) for k in range(len(tree.get_body(i).collisions))
    ]
    return {key: i for i, key in enumerate(keys)}


def _names_on(owner: str, shapes: tuple[Shape, ...]) -> list[str]:
    """Return the names of a body's shapes in results."""
    if len(shapes) == 1:
        return [owner]
    own = [shape.name for shape in shapes]
    return [f"{owner}/{x}" if x and own.count(x) == 1 else f"{owner}[{i}]" for i, x in enumerate(own)]


def place(
    shape: Shape,
    name: str,
    owner: str,
    node: int,
    package_paths: Sequence[str | os.PathLike[str]] = (),
    argument: str = "tree",
) -> PlacedShape:
    """Return a shape of a body in the format of the core; a mesh stays closed."""
    size, radius, closed = (0.0, 0.0, 0.0), 0.0, None
    if shape.kind == "mesh":
        closed = _ClosedMesh(shape, tuple(package_paths), argument)
    else:
        size, radius = _measure(shape.kind, shape.size, shape.heights)
    own = shape.heights, None, shape.contact_bits, shape.surface
    return PlacedShape(name, owner, node, KINDS[shape.kind], size, radius, shape.X_BG, *own, closed)


def place_all(
    bodies: Mapping[str, RigidBody],
    obstacles: Mapping[str, Shape],
    package_paths: Sequence[str | os.PathLike[str]] = (),
) -> list[PlacedShape]:
    """Return the shapes of bodies, followed by obstacles; meshes are closed."""
    shapes = [place(*one, package_paths) for one in _list_shapes(bodies)]
    for name, shape in obstacles.items():
        shapes.append(place(shape, name, name, 0, package_paths, "obstacles"))
    return shapes


def open_meshes(
    shapes: Sequence[PlacedShape], pairs: Iterable[tuple[int, int, float]], hulls: bool
) -> list[PlacedShape]:
    """Return the shapes, with all meshes in pairs replaced by their hulls.

    Raises
    ------
    ArgumentValueError
        When a mesh is in a pair, and `hulls` is false.
    MissingPackageError, ParseError
        When a mesh cannot be read.
    """
    # Hulls of the same mesh share their vertices.
    known: dict[Any, FloatArray] = {}
    needed = {i for a, b, _ in pairs for i in (a, b)}
    return [_open(shape, hulls, known) if i in needed else shape for i, shape in enumerate(shapes)]


def _open(placed: PlacedShape, hulls: bool, known: dict[Any, FloatArray]) -> PlacedShape:
    closed = placed.closed
    if closed is None:
        return placed
    shape = closed.shape
    if not hulls:
        raise ArgumentValueError(
            f"{closed.argument}: {placed.name} is a mesh ({quote(shape.mesh)}): hulls=True reads meshes and "
            "uses their convex hulls"
        )
    key = shape.mesh, shape.folder, shape.size
    if key not in known:
        known[key] = read_hull(shape, closed.package_paths)
    # Move the origin to the middle for a small bounding sphere.
    center = 0.5 * (known[key].min(axis=0) + known[key].max(axis=0))
    centered, listed = (*key, "centered"), (*key, "listed")
    if centered not in known:
        known[centered] = np.ascontiguousarray(known[key] - center)
        known[listed] = list_farthest(known[centered])
    vertices, table = known[centered], known[listed]
    pose = shape.X_BG.copy()
    pose[:3, 3] += pose[:3, :3] @ center
    radius = float(np.linalg.norm(vertices, axis=1).max())
    return replace(placed, radius=radius, pose=pose, vertices=vertices, table=table, closed=None)


def _measure(
    kind: str, size: tuple[float, ...], heights: FloatArray | None
) -> tuple[tuple[float, float, float], float]:
    """Return radii and half lengths, and the radius of the bounding sphere."""
    if kind == "plane":
        return (0.0, 0.0, 0.0), math.inf
    if kind == "height_field":
        assert heights is not None
        return (0.5 * size[0], 0.5 * size[1], 0.0), float(heights.max())
    if kind == "sphere":
        return (size[0], 0.0, 0.0), size[0]
    if kind == "ellipsoid":
        return (size[0], size[1], size[2]), max(size)
    if kind == "box":
        return (0.5 * size[0], 0.5 * size[1], 0.5 * size[2]), 0.5 * math.hypot(*size)
    half = 0.5 * size[1]
    return (size[0], half, 0.0), size[0] + half if kind == "capsule" else math.hypot(size[0], half)
