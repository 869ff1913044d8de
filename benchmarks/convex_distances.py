"""Distances between convex hulls in batches, beside Pinocchio with Coal.

    python benchmarks/convex_distances.py [--batch 512] [--rounds 9]

Four floating bodies among seven obstacles, 28 pairs, all of them hulls with the same number of vertices. One
thread. Contenders take turns in one process; a time is the minimum CPU time of the rounds, which other
programs do not disturb. Pinocchio has no batches: its time includes a Python loop.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import mbt
from models import Array

BODIES, OBSTACLES = 4, 7


def write_hull(points: Array, path: Path) -> Array:
    """Write a hull as OBJ, and return its faces, counterclockwise as seen from outside."""
    hull = ConvexHull(points)
    faces = np.array(
        [
            face if np.linalg.det(points[face] - points.mean(0)) > 0.0 else face[::-1]
            for face in hull.simplices
        ]
    )
    rows = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
    rows += [f"f {i} {j} {k}" for i, j, k in (faces + 1).tolist()]
    path.write_text("\n".join(rows), encoding="utf-8")
    return faces


def scene_of_mbt(folder: str, places: Array) -> mbt.CollisionModel:
    """Return floating bodies and obstacles."""
    tree = mbt.MultibodyTree()
    for i in range(BODIES):
        body = tree.add_body(mbt.RigidBody(f"body{i}", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        body.add_collision(mbt.Shape("mesh", mesh="hull.obj", folder=folder))
    tree.finalize()
    stones = [
        mbt.Shape("mesh", X_BG=X, mesh="hull.obj", folder=folder, name=f"stone{i}")
        for i, X in enumerate(places)
    ]
    pairs = [(f"body{i}", f"stone{j}") for i in range(BODIES) for j in range(OBSTACLES)]
    return mbt.CollisionModel(tree, pairs, obstacles=stones, hulls=True)


def scene_of_pinocchio(
    pairs: tuple[tuple[str, str], ...], points: Array, faces: Array, places: Array
) -> tuple[object, object]:
    """Return a model and its shapes, with these pairs."""
    corners, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for point in points:
        corners.append(point)
    for face in faces.tolist():
        triangles.append(coal.Triangle(*face))
    hull = coal.Convex(corners, triangles)
    model, shapes = pin.Model(), pin.GeometryModel()
    for i in range(BODIES):
        joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), f"body{i}")
        shapes.addGeometryObject(pin.GeometryObject(f"body{i}", joint, pin.SE3.Identity(), hull))
    for i, X in enumerate(places):
        shapes.addGeometryObject(pin.GeometryObject(f"stone{i}", 0, pin.SE3(X), hull))
    for a, b in pairs:
        shapes.addCollisionPair(pin.CollisionPair(shapes.getGeometryId(a), shapes.getGeometryId(b)))
    return model, shapes


def compare(vertices: int, reach: float, batch: int, rounds: int) -> None:
    """Measure and print microseconds per pair."""
    rng = np.random.default_rng(vertices)
    points = rng.normal(size=(vertices, 3))
    points *= [0.1, 0.15, 0.3] / np.linalg.norm(points, axis=1, keepdims=True)
    places = np.tile(np.eye(4), (OBSTACLES, 1, 1))
    places[:, :3, :3] = Rotation.random(OBSTACLES, random_state=rng).as_matrix()
    places[:, :3, 3] = rng.uniform(-reach, reach, (OBSTACLES, 3))
    q = np.empty((batch, BODIES, 7))
    q[..., :4] = rng.normal(size=(batch, BODIES, 4))
    q[..., :4] /= np.linalg.norm(q[..., :4], axis=-1, keepdims=True)
    q[..., 4:] = rng.uniform(-reach, reach, (batch, BODIES, 3))
    rows = q[..., [4, 5, 6, 1, 2, 3, 0]].reshape(batch, -1)
    q = q.reshape(batch, -1)
    with tempfile.TemporaryDirectory() as folder:
        faces = write_hull(points, Path(folder, "hull.obj"))
        scene = scene_of_mbt(folder, places)
    model, shapes = scene_of_pinocchio(scene.pairs, points, faces, places)
    data, found = model.createData(), shapes.createData()
    for request in found.distanceRequests:
        request.enable_signed_distance = True

    def theirs() -> list[Array]:
        distances = []
        for row in rows:
            pin.computeDistances(model, data, shapes, found, row)
            distances.append(np.array([result.min_distance for result in found.distanceResults]))
        return distances

    ours = scene.distances(q)
    off = np.abs(np.array(theirs()) - ours)
    calls = {
        "mbt": lambda: scene.distances(q),
        "mbt, with witness points": lambda: scene.distances(q, witness=True),
        "pin": lambda: [pin.computeDistances(model, data, shapes, found, row) for row in rows],
    }
    best = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time()
            call()
            best[name] = min(best[name], time.process_time() - start)
    print(
        f"{vertices:4} vertices, {100 * (ours < 0).mean():3.0f} % overlap, "
        f"median difference {np.median(off):.0e}: "
        + ", ".join(f"{name} {1e6 * seconds / ours.size:.2f}" for name, seconds in best.items())
        + f" us per pair; {best['pin'] / best['mbt']:.1f} times as fast"
    )


def main() -> None:
    """Compare small and large hulls: far apart, close, and mostly overlapping."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    mbt.set_num_threads(1)
    for vertices in (20, 60, 200):
        for reach in (2.0, 0.6, 0.1):
            compare(vertices, reach, arguments.batch, arguments.rounds)


if __name__ == "__main__":
    main()
