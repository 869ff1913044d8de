"""Distances of two shapes of all kinds, checked by planes between them and by points on them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

import mbt
from mbt import functional
from support.random_trees import random_pose
from support.shapes import excess, pairs_known, random_q, random_shape, scene_of, separation, sides_of

BODY = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)


def unit(n: np.ndarray) -> np.ndarray:
    return n / np.linalg.norm(n, axis=-1, keepdims=True)


TIGHT = 1e-9


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kinds", pairs_known(), ids="-".join)
def test_planes_and_points_bound_distances(kinds: tuple[str, str], scale: float) -> None:
    """A plane across the normal separates them by the distance, and points on both are that far apart."""
    rng = np.random.default_rng(len(kinds[0]) * 100 + len(kinds[1]))
    small = TIGHT * scale
    overlaps = 0
    for _ in range(4):
        scene = scene_of(*(random_shape(kind, rng, scale) for kind in kinds))
        q = random_q(scene, rng, 101, 1.5 * scale)
        d, p_WA, p_WB, n_W = (x[:, 0] for x in scene.distances(q, witness=True))
        np.testing.assert_allclose(np.linalg.norm(n_W, axis=-1), 1.0, atol=1e-12)
        np.testing.assert_allclose(p_WB - p_WA, d[:, np.newaxis] * n_W, atol=1e-13 * scale)
        overlaps += (d < 0.0).sum()
        (a, X_WA), (b, X_WB) = sides_of(scene, q)
        for k in range(len(q)):
            R_A, R_B = X_WA[k, :3, :3], X_WB[k, :3, :3]
            n = n_W[k]
            if "plane" in kinds:
                n = R_A[:, 2] if a.kind == "plane" else -R_B[:, 2]
                np.testing.assert_allclose(n_W[k], n, atol=1e-12)
            assert abs(separation(a, X_WA[k], b, X_WB[k], n) - d[k]) <= small
            # Both points are on surfaces.
            assert abs(excess(a, (p_WA[k] - X_WA[k, :3, 3]) @ R_A)) <= small
            assert abs(excess(b, (p_WB[k] - X_WB[k, :3, 3]) @ R_B)) <= small
            # For overlaps, no other direction is a shorter way out: neither random ones nor close ones.
            if d[k] < 0.0 and "plane" not in kinds:
                others = rng.normal(size=(300, 3))
                others = unit(
                    np.vstack(
                        [others, n + 0.2 * others, n + 1e-2 * others, np.eye(3), -np.eye(3), R_A.T, R_B.T]
                    )
                )
                assert separation(a, X_WA[k], b, X_WB[k], others).max() <= d[k] + small
    assert overlaps >= 20


@pytest.mark.parametrize("kinds", pairs_known(), ids="-".join)
def test_one_state_and_the_order_of_bodies_change_nothing(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(5)
    a, b = (random_shape(kind, rng) for kind in kinds)
    scene = scene_of(a, b)
    q = random_q(scene, rng, 9, 1.5)
    together = scene.distances(q, witness=True, jacobian=True)
    for k, x in enumerate(q):
        for one, many in zip(scene.distances(x, witness=True, jacobian=True), together, strict=True):
            np.testing.assert_array_equal(one, many[k])
    # Distances alone use other, faster code.
    np.testing.assert_allclose(scene.distances(q), together[0], rtol=0.0, atol=1e-14)
    np.testing.assert_array_equal(scene.distances(q[0]), scene.distances(q)[0])
    if "plane" not in kinds:
        other = scene_of(b, a)
        d, p_WA, p_WB, n_W = other.distances(np.roll(q, 7, axis=1), witness=True)
        np.testing.assert_allclose(d, together[0], atol=10 * TIGHT)
        if kinds[0] != kinds[1]:
            np.testing.assert_array_equal(p_WA, together[2])
            np.testing.assert_array_equal(p_WB, together[1])
            np.testing.assert_array_equal(n_W, -together[3])


AT_ONE_PLACE = {
    "spheres at one place": (("sphere", [0.1]), ("sphere", [0.2]), np.eye(4), -0.3),
    "a point in a point": (("sphere", [0.0]), ("sphere", [0.0]), np.eye(4), 0.0),
    "a sphere on the axis of a capsule": (("sphere", [0.1]), ("capsule", [0.2, 1.0]), np.eye(4), -0.3),
    "capsules on one line": (("capsule", [0.1, 1.0]), ("capsule", [0.2, 1.0]), np.eye(4), -0.3),
    "capsules side by side": (
        ("capsule", [0.1, 1.0]), ("capsule", [0.2, 1.0]), mbt.math.make_pose([0.5, 0, 0.3]), 0.2,
    ),
    "capsules that cross": (
        ("capsule", [0.1, 1.0]), ("capsule", [0.2, 1.0]), mbt.math.make_pose(rpy=[np.pi / 2, 0, 0]), -0.3,
    ),
    "capsules end to end": (
        ("capsule", [0.1, 1.0]), ("capsule", [0.2, 1.0]), mbt.math.make_pose([0, 0, 2.0]), 0.7,
    ),
    "capsules almost on one line": (
        ("capsule", [0.1, 1.0]), ("capsule", [0.2, 1.0]), mbt.math.make_pose(rpy=[1e-9, 0, 0]), -0.3,
    ),
    "a sphere in the middle of a box": (("sphere", [0.1]), ("box", [2.0, 1.0, 3.0]), np.eye(4), -0.6),
    "a sphere at a corner of a box": (
        ("sphere", [0.0]), ("box", [2.0, 2.0, 2.0]), mbt.math.make_pose([1.0, 1.0, 1.0]), 0.0,
    ),
    "a capsule through a box": (("capsule", [0.1, 9.0]), ("box", [1.0, 2.0, 3.0]), np.eye(4), -0.6),
    "a capsule within a box": (("capsule", [0.1, 0.5]), ("box", [2.0, 2.0, 1.0]), np.eye(4), -0.85),
    "a capsule along an edge": (
        ("capsule", [0.1, 0.5]), ("box", [2.0, 2.0, 1.0]), mbt.math.make_pose([1.0, 1.0, 0.0]), -0.1,
    ),
    "a capsule flat above a box": (
        ("capsule", [0.1, 0.5]), ("box", [2.0, 2.0, 2.0]),
        mbt.math.make_pose([0, 0, -1.5], rpy=[0, np.pi / 2, 0]), 0.4,
    ),
    "a capsule without length in a box": (("capsule", [0.1, 0.0]), ("box", [2.0, 1.0, 3.0]), np.eye(4), -0.6),
    "a sphere on the axis of a cylinder": (("sphere", [0.1]), ("cylinder", [0.5, 4.0]), np.eye(4), -0.6),
    "a sphere on the face of a cylinder": (
        ("sphere", [0.1]), ("cylinder", [0.5, 4.0]), mbt.math.make_pose([0, 0, 2.0]), -0.1,
    ),
    "a plate in a sphere": (("sphere", [0.5]), ("box", [2.0, 2.0, 0.0]), np.eye(4), -0.5),
}  # fmt: skip


@pytest.mark.parametrize("case", AT_ONE_PLACE.values(), ids=AT_ONE_PLACE)
def test_normals_are_units_where_several_are_right(case: tuple) -> None:
    (kind_a, size_a), (kind_b, size_b), X_BA, wanted = case
    scene = scene_of(mbt.Shape(kind_a, size_a, X_BA), mbt.Shape(kind_b, size_b))
    q = np.tile([1.0, 0, 0, 0, 0, 0, 0], 2)
    d, p_WA, p_WB, n_W, J = scene.distances(q, witness=True, jacobian=True)
    np.testing.assert_allclose(d, [wanted], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(n_W, axis=-1), 1.0, atol=1e-12)
    np.testing.assert_allclose(p_WB - p_WA, d[:, np.newaxis] * n_W, atol=1e-12)
    assert np.isfinite(J).all()
    # Moved apart along the normal by their overlap, they touch.
    q[11:14] -= d[0] * n_W[0]
    np.testing.assert_allclose(scene.distances(q), [0.0], atol=1e-8)


@pytest.mark.parametrize("kinds", pairs_known(), ids="-".join)
def test_distances_are_continuous_through_contact(kinds: tuple[str, str]) -> None:
    """Along a line through both, the distance changes no faster than the position."""
    rng = np.random.default_rng(8)
    scene = scene_of(*(random_shape(kind, rng) for kind in kinds))
    s = np.linspace(-2.5, 2.5, 2001)
    q = np.tile(random_q(scene, rng, 1, 0.3), (len(s), 1))
    step = unit(rng.normal(size=3))
    if "plane" in kinds:
        step = unit(step + 2.0 * scene._shapes[-1].pose[:3, 2])
    q[:, 4:7] += s[:, np.newaxis] * step
    d = scene.distances(q)[:, 0]
    assert d.min() < 0.0 < d.max()
    assert abs(np.diff(d)).max() <= (s[1] - s[0]) * (1.0 + 1e-9) + TIGHT


def test_half_spaces_measure_hulls() -> None:
    """The distance is that of the lowest vertex, wherever the body is."""
    pytest.importorskip("trimesh")
    pytest.importorskip("scipy")
    rng = np.random.default_rng(9)
    points = rng.uniform(-1.0, 1.0, (40, 3))
    with tempfile.TemporaryDirectory() as folder:
        faces = [(i, (i + 7) % 40, (i + 19) % 40) for i in range(40)]
        lines = [f"v {x} {y} {z}" for x, y, z in points.tolist()] + [
            f"f {i + 1} {j + 1} {k + 1}" for i, j, k in faces
        ]
        Path(folder, "stone.obj").write_text("\n".join(lines), encoding="utf-8")
        tree = mbt.MultibodyTree()
        stone = mbt.Shape("mesh", [0.1, -0.2, 0.3], random_pose(rng), mesh="stone.obj", folder=folder)
        tree.add_body(mbt.RigidBody("stone", BODY)).add_collision(stone)
        tree.finalize()
        floor = mbt.Shape("plane", [], random_pose(rng), name="floor")
        with pytest.raises(mbt.MbtError, match="hulls=True"):
            mbt.CollisionModel(tree, obstacles=[floor])
        scene = mbt.CollisionModel(tree, obstacles=[floor], hulls=True)
    q = random_q(scene, rng, 20, 2.0)
    d = scene.distances(q)[:, 0]
    scaled = points * [0.1, -0.2, 0.3] @ stone.X_BG[:3, :3].T + stone.X_BG[:3, 3]
    X_WB = functional.body_poses(tree, q)[:, 1]
    in_world = np.einsum("nij,kj->nki", X_WB[:, :3, :3], scaled) + X_WB[:, np.newaxis, :3, 3]
    heights = (in_world - floor.X_BG[:3, 3]) @ floor.X_BG[:3, 2]
    np.testing.assert_allclose(d, heights.min(axis=1), atol=1e-6)  # OBJ has single precision in trimesh
    np.testing.assert_array_equal(scene.is_free(q), d >= 0.0)
