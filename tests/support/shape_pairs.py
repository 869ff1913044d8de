"""Pairs of shapes without bodies: their distances, and support functions to check them with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import mbt
from mbt._core.geometry.distances import DistanceCore
from mbt._core.geometry.scene import Scene
from mbt.geometry.meshes import list_farthest

SPHERE, CAPSULE, PLANE, BOX, CYLINDER, ELLIPSOID, HULL = range(7)
NAMES = ("sphere", "capsule", "plane", "box", "cylinder", "ellipsoid", "hull")
#: Pairs whose distance needs a search, for lack of a closed form.
SEARCHED = (
    (SPHERE, ELLIPSOID), (SPHERE, HULL),
    (CAPSULE, CYLINDER), (CAPSULE, ELLIPSOID), (CAPSULE, HULL),
    (BOX, BOX), (BOX, CYLINDER), (BOX, ELLIPSOID), (BOX, HULL),
    (CYLINDER, CYLINDER), (CYLINDER, ELLIPSOID), (CYLINDER, HULL),
    (ELLIPSOID, ELLIPSOID), (ELLIPSOID, HULL), (HULL, HULL),
)  # fmt: skip
POLYTOPES = (BOX, HULL)


class Shapes(NamedTuple):
    """Shapes of one kind."""

    kind: int
    size: np.ndarray  # (n, 3) radii and half lengths
    X: np.ndarray  # (n, 4, 4) poses in World
    vertices: np.ndarray | None = None  # (m, 3) shared by all

    def at(self, X: np.ndarray) -> Shapes:
        """Return the same shapes at other poses."""
        return self._replace(X=np.ascontiguousarray(X))


class Found(NamedTuple):
    """Results of the core for n pairs."""

    d: np.ndarray  # (n,)
    p_A: np.ndarray  # (n, 3)
    p_B: np.ndarray
    n: np.ndarray


def find(A: Shapes, B: Shapes, *, samples: int = 1) -> Found:
    """Return distances of pairs, all for one state, or with one state per lane."""
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.finalize()
    count = len(A.size)
    shapes = [
        (S.kind, node, tuple(S.size[i]), np.inf, S.X[i], S.vertices, table)
        for S, node in ((A, 0), (B, body.node_index))
        for table in [None if S.vertices is None else list_farthest(S.vertices)]
        for i in range(count)
    ]
    core = DistanceCore(
        Scene(tree._compiled, shapes, [(i, count + i, 0.0) for i in range(count)]),
        tree._compiled.default_parameters,
    )
    q = np.tile([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], (samples, 1))
    d, points = np.empty((samples, count)), [np.empty((samples, count, 3)) for _ in range(3)]
    core.run(q, 1, d, *points, None, None, 0.0)
    return Found(d[0], *(x[0] for x in points))


def poses(rng: np.random.Generator, count: int, reach: float) -> np.ndarray:
    """Return random poses, within a cube."""
    X = np.tile(np.eye(4), (count, 1, 1))
    X[:, :3, :3] = Rotation.random(count, random_state=rng).as_matrix()
    X[:, :3, 3] = rng.uniform(-reach, reach, (count, 3))
    return X


def vertices(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return the corners of a hull, on an ellipsoid."""
    points = rng.normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1)[:, np.newaxis] * [0.1, 0.15, 0.3]


def random_shapes(rng: np.random.Generator, kind: int, count: int, reach: float) -> Shapes:
    """Return shapes of one kind."""
    corners = vertices(rng, 30) if kind == HULL else None
    return Shapes(kind, rng.uniform(0.05, 0.4, (count, 3)), poses(rng, count, reach), corners)


def support(S: Shapes, d: np.ndarray) -> np.ndarray:
    """Return the support of shapes along directions in World: (n, ...) for (n, ..., 3)."""
    size = S.size.reshape(-1, *(1,) * (d.ndim - 2), 3)
    e = np.einsum("nji,n...j->n...i", S.X[:, :3, :3], d)
    along = {
        SPHERE: lambda: size[..., 0] * np.linalg.norm(e, axis=-1),
        CAPSULE: lambda: size[..., 0] * np.linalg.norm(e, axis=-1) + size[..., 1] * np.abs(e[..., 2]),
        BOX: lambda: (size * np.abs(e)).sum(-1),
        CYLINDER: lambda: size[..., 0] * np.hypot(e[..., 0], e[..., 1]) + size[..., 1] * np.abs(e[..., 2]),
        ELLIPSOID: lambda: np.linalg.norm(size * e, axis=-1),
        HULL: lambda: (e @ S.vertices.T).max(-1),
        # Half-spaces reach to infinity along all directions but one.
        PLANE: lambda: np.where(np.linalg.norm(e - [0.0, 0.0, 1.0], axis=-1) < 1e-9, 0.0, np.inf),
    }[S.kind]()
    return along + np.einsum("ni,n...i->n...", S.X[:, :3, 3], d)


def gap(A: Shapes, B: Shapes, n: np.ndarray) -> np.ndarray:
    """Return the gap between planes across unit normals that touch A and B: at most the signed distance."""
    return -support(B, -n) - support(A, n)


def outside(S: Shapes, p: np.ndarray) -> np.ndarray:
    """Return the largest distance of points beyond the surfaces of shapes; 0 or less inside."""
    x, y, z = e = np.einsum("nji,nj->in", S.X[:, :3, :3], p - S.X[:, :3, 3])
    a, b, c = S.size.T
    if S.kind == SPHERE:
        return np.linalg.norm(e, axis=0) - a
    if S.kind == CAPSULE:
        return np.sqrt(x**2 + y**2 + np.maximum(np.abs(z) - b, 0.0) ** 2) - a
    if S.kind == BOX:
        return (np.abs(e) - S.size.T).max(0)
    if S.kind == CYLINDER:
        return np.maximum(np.hypot(x, y) - a, np.abs(z) - b)
    if S.kind == ELLIPSOID:
        return (np.linalg.norm(e / [a, b, c], axis=0) - 1.0) * S.size.max(1)
    if S.kind == PLANE:
        return z
    faces = ConvexHull(S.vertices).equations
    return (faces[:, :3] @ e + faces[:, 3:]).max(0)


def corners(S: Shapes, i: int) -> np.ndarray:
    """Return the corners of a box or hull in World: (n, 3)."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    local = S.vertices if S.kind == HULL else signs * S.size[i]
    return local @ S.X[i, :3, :3].T + S.X[i, :3, 3]
