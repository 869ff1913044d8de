"""Distances of random pairs of shapes: their proof, and the results of Coal and MuJoCo."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

import mbt
from mbt._core.geometry.distances import is_known
from support.shape_pairs import (
    BOX,
    CAPSULE,
    CYLINDER,
    ELLIPSOID,
    HULL,
    NAMES,
    PLANE,
    SPHERE,
    Found,
    Shapes,
    find,
    gap,
    outside,
    poses,
    vertices,
)  # fmt: skip

Array = np.ndarray[Any, np.dtype[np.float64]]

#: Kinds with random pairs, which both other libraries have.
PAIRS = [pair for pair in itertools.combinations_with_replacement(range(7), 2) if is_known(*pair)]
#: Shapes with a smaller distance or depth are neither apart nor deep [m].
TOUCHING = 1e-6


def tolerance_of(kinds: tuple[int, int], *, single: bool = False) -> float:
    """Return the allowed error of others [m]: larger if they search on curves, or compute in `single`."""
    closed = kinds == (SPHERE, CYLINDER) or PLANE in kinds
    if {CYLINDER, ELLIPSOID} & set(kinds) and not closed:
        return 1e-6
    return 1e-7 if single else 1e-9


@dataclass
class Peer:
    """Errors of another library, for pairs that are apart and those that are deep [m]."""

    compared: int = 0
    #: No distance, or one of more than a kilometre.
    given_up: int = 0
    #: Errors beyond `tolerance_of`.
    apart_off: int = 0
    apart_worst: float = 0.0
    deep_off: int = 0
    deep_worst: float = 0.0


@dataclass
class Findings:
    """The largest errors of all pairs [m]."""

    pairs: int = 0
    apart: int = 0
    #: Difference between the distance and the gap of planes across the normal that touch both shapes.
    gap: float = 0.0
    #: How far witness points are outside the shapes.
    surface: float = 0.0
    #: For pairs that overlap, by how much a direction of another library is a shorter way out.
    shallower: float = 0.0
    coal: Peer = field(default_factory=Peer)
    mujoco: Peer = field(default_factory=Peer)


def random_side(kind: int, rng: np.random.Generator, count: int, far: tuple[float, ...]) -> Shapes:
    """Return shapes of one kind, each with its own size; hulls are all the same."""
    X = poses(rng, count, 1.0)
    X[:, :3, 3] *= rng.choice(far, (count, 1))
    corners = vertices(rng, int(rng.integers(8, 60))) if kind == HULL else None
    return Shapes(kind, rng.uniform(0.05, 0.4, (count, 3)), X, corners)


def prove(kinds: tuple[int, int], count: int, rng: np.random.Generator, *, at_once: int = 1000) -> Findings:
    """Compare random pairs of these kinds."""
    found = Findings()
    while found.pairs < count:
        n = min(at_once, count - found.pairs)
        A = random_side(kinds[0], rng, n, (0.1,))
        B = random_side(kinds[1], rng, n, (0.1, 0.4, 1.0))
        ours = find(A, B)
        found.pairs += n
        found.apart += int((ours.d > 0.0).sum())
        found.gap = max(found.gap, float(np.abs(gap(A, B, ours.n) - ours.d).max()))
        for S, p in ((A, ours.p_A), (B, ours.p_B)):
            found.surface = max(found.surface, float(outside(S, p).max()))
        # Meshes of MuJoCo are in single precision.
        for peer, ask, single in ((found.coal, ask_coal, False), (found.mujoco, ask_mujoco, HULL in kinds)):
            d, normals = ask(A, B)
            compare(peer, ours, d, tolerance_of(kinds, single=single))
            deep = (ours.d < -TOUCHING) & np.isfinite(normals).all(axis=1)
            shorter = (gap(A, B, normals) - ours.d)[deep]
            found.shallower = max(found.shallower, float(shorter.max(initial=0.0)))
    return found


def add(total: Any, found: Any) -> None:
    """Add the counts of other pairs to these, and keep the larger errors."""
    for name, x in vars(found).items():
        if isinstance(x, Peer):
            add(getattr(total, name), x)
        else:
            setattr(
                total, name, getattr(total, name) + x if isinstance(x, int) else max(getattr(total, name), x)
            )


def compare(peer: Peer, ours: Found, d: Array, tolerance: float) -> None:
    """Count where another library's distances differ."""
    known = np.abs(np.nan_to_num(d, nan=np.inf)) < 1e3
    peer.given_up += int((~known).sum())
    off = np.abs(np.where(known, d, 0.0) - ours.d)
    apart, deep = off[known & (ours.d > TOUCHING)], off[known & (ours.d < -TOUCHING)]
    peer.compared += len(apart) + len(deep)
    peer.apart_off += int((apart > tolerance).sum())
    peer.deep_off += int((deep > tolerance).sum())
    peer.apart_worst = max(peer.apart_worst, float(apart.max(initial=0.0)))
    peer.deep_worst = max(peer.deep_worst, float(deep.max(initial=0.0)))


def units(x: Array) -> Array:
    """Return unit vectors (n, 3), NaN for vectors without a direction."""
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return np.where(length > 0.0, x, np.nan) / np.where(length > 0.0, length, 1.0)


def ask_coal(A: Shapes, B: Shapes) -> tuple[Array, Array]:
    """Return the distances that Coal finds, and its normals."""
    import coal

    request = coal.DistanceRequest()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = 1e-12
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    result = coal.DistanceResult()
    d, n = np.empty(len(A.X)), np.empty((len(A.X), 3))
    hulls = [hull_of_coal(coal, S.vertices) if S.kind == HULL else None for S in (A, B)]
    for i in range(len(d)):
        ends: list[Any] = []
        for S, hull in zip((A, B), hulls, strict=True):
            X = S.X[i]
            ends += hull or shape_of_coal(coal, S.kind, S.size[i]), coal.Transform3s(X[:3, :3], X[:3, 3])
        result.clear()
        d[i] = coal.distance(*ends, request, result)
        n[i] = result.normal
    return d, units(n)


def shape_of_coal(coal: Any, kind: int, size: Array) -> Any:
    """Return a geometry of Coal."""
    if kind == SPHERE:
        return coal.Sphere(size[0])
    if kind == CAPSULE:
        return coal.Capsule(size[0], 2.0 * size[1])
    if kind == PLANE:
        return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    if kind == BOX:
        return coal.Box(*(2.0 * size))
    if kind == CYLINDER:
        return coal.Cylinder(size[0], 2.0 * size[1])
    return coal.Ellipsoid(*size)


def hull_of_coal(coal: Any, corners: Array) -> Any:
    """Return a convex geometry of Coal."""
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for face in ConvexHull(corners).simplices.tolist():
        a, b, c = corners[face]
        inward = np.cross(b - a, c - a) @ (a - corners.mean(axis=0)) < 0.0
        triangles.append(coal.Triangle(*(face[::-1] if inward else face)))
    for point in corners:
        points.append(point)
    return coal.Convex(points, triangles)


def ask_mujoco(A: Shapes, B: Shapes) -> tuple[Array, Array]:
    """Return the results of `mj_geomDistance`, NaN if it finds none; and normals through its two points."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.option.ccd_tolerance, spec.option.ccd_iterations = 1e-12, 1000
    for i, S in enumerate((A, B)):
        kind = "MESH" if S.kind == HULL else NAMES[S.kind].upper()
        geom = spec.worldbody.add_geom(type=getattr(mujoco.mjtGeom, f"mjGEOM_{kind}"), size=[1, 1, 1])
        if S.kind == HULL:
            mesh = spec.add_mesh(name=f"hull{i}", uservert=S.vertices.ravel())
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
            geom.meshname = mesh.name
    model = spec.compile()
    data, ends = mujoco.MjData(model), np.zeros(6)
    # The axes of a mesh are its principal axes, in single precision.
    R, p, radius = [], [], []
    for i, S in enumerate((A, B)):
        is_hull = S.kind == HULL
        R_offset = mbt.math.quaternion_to_matrix(model.geom_quat[i]) if is_hull else np.eye(3)
        R.append((S.X[:, :3, :3] @ R_offset).reshape(-1, 9))
        p.append(S.X[:, :3, 3] + (S.X[:, :3, :3] @ model.geom_pos[i] if is_hull else 0.0))
        radius.append(0.0 if S.kind == PLANE else 2.0 * np.linalg.norm(S.size, axis=1).max())
    model.geom_rbound[:] = radius
    d, n = np.empty(len(A.X)), np.empty((len(A.X), 3))
    for i in range(len(d)):
        model.geom_size[:] = A.size[i], B.size[i]
        data.geom_xpos[:] = p[0][i], p[1][i]
        data.geom_xmat[:] = R[0][i], R[1][i]
        d[i] = mujoco.mj_geomDistance(model, data, 0, 1, 100.0, ends)
        n[i] = (ends[3:] - ends[:3]) * np.sign(d[i])
    d[d >= 100.0] = np.nan
    return d, units(n)
