"""Distances of random pairs of shapes: what proves them, and what Coal and MuJoCo say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import mbt
from support.shapes import Array, excess, random_q, random_shape, scene_of, separation, sides_of


@dataclass
class Findings:
    """The worst of all pairs [m]."""

    pairs: int = 0
    apart: int = 0
    #: How far planes across the normal, which touch both shapes, are from the distance.
    gap: float = 0.0
    #: How far witness points are from the surfaces.
    surface: float = 0.0
    #: Of pairs that are apart, how much less others find, which would be a shorter way; and how much more.
    coal_less: float = 0.0
    coal_more: float = 0.0
    mujoco_less: float = 0.0
    mujoco_more: float = 0.0
    #: Of pairs that overlap, by how much others find a shorter way out.
    coal_shallower: float = 0.0
    mujoco_shallower: float = 0.0

    def raise_to(self, **numbers: float) -> None:
        """Keep the larger ones."""
        for name, number in numbers.items():
            setattr(self, name, max(getattr(self, name), float(number)))


def prove(kinds: tuple[str, str], count: int, rng: np.random.Generator, *, per_shape: int = 200) -> Findings:
    """Compare random pairs of these kinds: `per_shape` poses of two shapes, then two others."""
    found = Findings()
    while found.pairs < count:
        scene = scene_of(*(random_shape(kind, rng) for kind in kinds))
        q = random_q(scene, rng, min(per_shape, count - found.pairs), 1.5)
        d, p_WA, p_WB, n = (x[:, 0] for x in scene.distances(q, witness=True))
        sides = sides_of(scene, q)
        (a, X_WA), (b, X_WB) = sides
        found.pairs += len(q)
        found.apart += int((d > 0.0).sum())
        for i in range(len(q)):
            found.raise_to(gap=abs(separation(a, X_WA[i], b, X_WB[i], n[i]) - d[i]))
            for shape, X, p in ((a, X_WA[i], p_WA[i]), (b, X_WB[i], p_WB[i])):
                found.raise_to(surface=abs(float(excess(shape, X[:3, :3].T @ (p - X[:3, 3])))))
        for name, others in (("coal", coal_distances(sides)), ("mujoco", mujoco_distances(sides))):
            known = np.isfinite(others)
            apart, deep = known & (d > 1e-6), known & (d < -1e-6)
            found.raise_to(
                **{
                    f"{name}_less": (d - others)[apart].max(initial=0.0),
                    f"{name}_more": (others - d)[apart].max(initial=0.0),
                    f"{name}_shallower": (others - d)[deep & (others < 0.0)].max(initial=0.0),
                }
            )
    return found


def of_coal(coal: Any, shape: mbt.Shape) -> Any:
    """Return a geometry of Coal."""
    make = {
        "sphere": coal.Sphere,
        "capsule": coal.Capsule,
        "box": coal.Box,
        "cylinder": coal.Cylinder,
        "ellipsoid": coal.Ellipsoid,
        "plane": lambda: coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0),
    }
    return make[shape.kind](*shape.size)


def coal_distances(sides: list[tuple[mbt.Shape, Array]]) -> Array:
    """Return the distances that Coal finds."""
    import coal

    request = coal.DistanceRequest()
    request.gjk_tolerance = request.epa_tolerance = 1e-12
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    (a, X_WA), (b, X_WB) = sides
    first, second = of_coal(coal, a), of_coal(coal, b)
    found = np.empty(len(X_WA))
    for i in range(len(found)):
        result = coal.DistanceResult()
        pose_a, pose_b = (coal.Transform3s(X[i, :3, :3], X[i, :3, 3]) for X in (X_WA, X_WB))
        coal.distance(first, pose_a, second, pose_b, request, result)
        found[i] = result.min_distance
    return found


def geom_of(shape: mbt.Shape, name: str) -> str:
    """Return a geometry of MJCF."""
    X = shape.X_BG
    w = mbt.math.matrix_to_quaternion(X[:3, :3])
    size = {
        "sphere": shape.size,
        "ellipsoid": shape.size,
        "box": [0.5 * x for x in shape.size],
        "plane": [1, 1, 1],
    }.get(shape.kind) or [shape.size[0], 0.5 * shape.size[1]]

    def text(numbers: Any) -> str:
        return " ".join(repr(float(x)) for x in numbers)

    pose = f'pos="{text(X[:3, 3])}" quat="{text(w)}"'
    return f'<geom name="{name}" type="{shape.kind}" {pose} size="{text(size)}"/>'


def mujoco_distances(sides: list[tuple[mbt.Shape, Array]]) -> Array:
    """Return what `mj_geomDistance` finds."""
    import mujoco

    geoms = "".join(geom_of(shape, f"g{i}") for i, (shape, _) in enumerate(sides))
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{geoms}</worldbody></mujoco>")
    data, ends = mujoco.MjData(model), np.zeros(6)
    found = np.empty(len(sides[0][1]))
    for i in range(len(found)):
        for g, (_, X) in enumerate(sides):
            data.geom_xpos[g], data.geom_xmat[g] = X[i, :3, 3], X[i, :3, :3].ravel()
        found[i] = mujoco.mj_geomDistance(model, data, 0, 1, 100.0, ends)
    found[found >= 100.0] = np.nan
    return found
