"""Shapes in NumPy: their support functions, and whether they contain a point."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import mbt
from mbt import functional
from mbt._core.geometry.distances import is_known
from mbt.geometry.placed_shapes import KINDS as NUMBERS
from support.random_trees import random_pose

Array = np.ndarray[Any, np.dtype[np.float64]]

BODY = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
#: Kinds that can move, and the half-space, which must stand still.
KINDS = ("sphere", "capsule", "plane", "box", "cylinder", "ellipsoid")


def random_shape(kind: str, rng: np.random.Generator, scale: float = 1.0) -> mbt.Shape:
    """Return a shape of random size, in a random pose on its body."""
    count = {"sphere": 1, "capsule": 2, "cylinder": 2, "plane": 0}.get(kind, 3)
    X = random_pose(rng, 0.3)
    X[:3, 3] *= scale
    return mbt.Shape(kind, scale * rng.uniform(0.2, 1.0, count), X)


def reach(shape: mbt.Shape, n: Array) -> Array:
    """Return the largest n . x of all points x of a shape, n (..., 3) in its axes: its support function."""
    size = np.array(shape.size)
    x, y, z = np.moveaxis(n, -1, 0)
    if shape.kind == "sphere":
        return size[0] * np.linalg.norm(n, axis=-1)
    if shape.kind == "capsule":
        return size[0] * np.linalg.norm(n, axis=-1) + 0.5 * size[1] * abs(z)
    if shape.kind == "cylinder":
        return size[0] * np.hypot(x, y) + 0.5 * size[1] * abs(z)
    if shape.kind == "box":
        return 0.5 * abs(n) @ size
    if shape.kind == "ellipsoid":
        return np.linalg.norm(n * size, axis=-1)
    assert shape.kind == "plane"
    return np.where(np.linalg.norm(n - [0, 0, 1], axis=-1) < 1e-9, 0.0, np.inf)


def excess(shape: mbt.Shape, p: Array) -> Array:
    """Return a measure of how far points (..., 3) in its axes are outside a shape: zero on its surface."""
    size = np.array(shape.size)
    x, y, z = np.moveaxis(p, -1, 0)
    if shape.kind == "sphere":
        return np.linalg.norm(p, axis=-1) - size[0]
    if shape.kind == "capsule":
        return np.sqrt(x**2 + y**2 + np.maximum(abs(z) - 0.5 * size[1], 0.0) ** 2) - size[0]
    if shape.kind == "cylinder":
        return np.maximum(np.hypot(x, y) - size[0], abs(z) - 0.5 * size[1])
    if shape.kind == "box":
        return (abs(p) - 0.5 * size).max(axis=-1)
    if shape.kind == "ellipsoid":
        return (np.linalg.norm(p / size, axis=-1) - 1.0) * size.min()
    assert shape.kind == "plane"
    return z


def separation(a: mbt.Shape, X_WA: Array, b: mbt.Shape, X_WB: Array, n: Array) -> Array:
    """Return the gap between planes across n (..., 3) that touch a and b: at most their distance.

    Its maximum over all directions is the distance; for shapes that overlap, minus their depth.
    """
    return n @ (X_WB[:3, 3] - X_WA[:3, 3]) - reach(a, n @ X_WA[:3, :3]) - reach(b, -n @ X_WB[:3, :3])


def pairs_known() -> list[tuple[str, str]]:
    """Return the pairs of kinds whose distance can be computed."""
    return [
        pair
        for pair in itertools.combinations_with_replacement(KINDS, 2)
        if pair != ("plane", "plane") and is_known(NUMBERS[pair[0]], NUMBERS[pair[1]])
    ]


def scene_of(*shapes: mbt.Shape) -> mbt.CollisionModel:
    """Return a scene of floating bodies, each with a shape; planes stand still."""
    tree = mbt.MultibodyTree()
    for i, shape in enumerate(shapes):
        if shape.kind != "plane":
            tree.add_body(mbt.RigidBody(f"b{i}", BODY)).add_collision(shape)
    tree.finalize()
    return mbt.CollisionModel(tree, obstacles=[shape for shape in shapes if shape.kind == "plane"])


def sides_of(scene: mbt.CollisionModel, q: Array) -> list[tuple[mbt.Shape, Array]]:
    """Return the two shapes of the only pair, and their poses in World, (n, 4, 4)."""
    X_WB = functional.body_poses(scene.tree, q)
    found = []
    for name in scene.pairs[0]:
        if name.startswith("b"):
            body = scene.tree.get_body_by_name(name)
            shape = body.collisions[0]
            found.append((shape, X_WB[:, body.node_index] @ shape.X_BG))
        else:
            X_WG = scene._shapes[-1].pose
            found.append((mbt.Shape("plane", [], X_WG), np.broadcast_to(X_WG, (len(q), 4, 4))))
    return found


def random_q(scene: mbt.CollisionModel, rng: np.random.Generator, count: int, far: float) -> Array:
    """Return positions of floating bodies, many of which overlap."""
    q = rng.normal(size=(count, scene.tree.num_positions // 7, 7))
    q[..., :4] /= np.linalg.norm(q[..., :4], axis=-1, keepdims=True)
    q[..., 4:] = rng.uniform(-far, far, q[..., 4:].shape) * rng.choice([0.2, 0.6, 1.2], (count, 1, 1))
    return q.reshape(count, -1)
