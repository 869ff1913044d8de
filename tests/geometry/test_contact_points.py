"""Contact points of two shapes, against formulas in NumPy."""

import itertools

import numpy as np
import pytest

import mbt
from mbt.geometry.meshes import list_farthest
from mbt.geometry.placed_shapes import PlacedShape
from support.shapes import pairs_known, random_q, random_shape, scene_of


def make_scene(shape, obstacle, vertices=None):
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    body.add_collision(shape)
    tree.finalize()
    scene = mbt.CollisionModel(tree, obstacles=[obstacle])
    if vertices is not None:  # as if read from a mesh
        own, other = scene._shapes[0], scene._shapes[1]
        radius = np.linalg.norm(vertices, axis=1).max()
        numbers = vertices, list_farthest(vertices)
        hull = PlacedShape("body", "body", own.node, 6, (0.0, 0.0, 0.0), radius, own.pose, *numbers)
        scene._set(tree, [hull, other], scene._pairs, scene._obstacles, hulls=True)
    return mbt.ShapeContact(scene)


def q_of(X):
    return np.concatenate([mbt.math.matrix_to_quaternion(X[:3, :3]), X[:3, 3]])


def points_on(shape, X, obstacle, margin=0.0, vertices=None):
    return make_scene(shape, obstacle, vertices).points(q_of(X), margin=margin)


def as_set(points):
    return {tuple(p) for p in np.round(points, 9) + 0.0}


PLANE = mbt.Shape("plane", [], mbt.math.make_pose([0.1, 0.2, -0.3], rpy=[0.3, -0.2, 0.4]))
CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def over_plane(x, y, z, rpy):
    """Return a pose given in the frame of the plane."""
    return PLANE.X_BG @ mbt.math.make_pose([x, y, z], rpy=rpy)


def on_plane(corners_W):
    """Return heights above the plane, and points halfway between corners and the plane."""
    height = (corners_W - PLANE.X_BG[:3, 3]) @ PLANE.X_BG[:3, 2]
    return height, corners_W - 0.5 * height[:, None] * PLANE.X_BG[:3, 2]


BOX = mbt.Shape("box", [0.2, 0.3, 0.4])
CAPSULE = mbt.Shape("capsule", [0.1, 0.4])
ENDS = [[0, 0, 0.2], [0, 0, -0.2]]


@pytest.mark.parametrize(
    ("shape", "z", "rpy", "local", "skin"),
    [
        (mbt.Shape("sphere", [0.1]), 0.09, [0.5, 0.1, 0], [[0, 0, 0]], 0.1),
        (CAPSULE, 0.098, [np.pi / 2 + 0.003, 0, 0.7], ENDS, 0.1),
        (CAPSULE, 0.28, [0.4, 0, 0.7], [[0, 0, -0.2]], 0.1),
        (BOX, 0.199, [0.002, 0.001, 0.3], CORNERS[CORNERS[:, 2] < 0] * [0.1, 0.15, 0.2], 0),
        (BOX, 0.247, [0.5, 0.0, 0.3], [[0.1, -0.15, -0.2], [-0.1, -0.15, -0.2]], 0),
        (BOX, 0.26, [0.5, 0.4, 0.3], [[0.1, -0.15, -0.2]], 0),
        (mbt.Shape("cylinder", [0.1, 0.4]), 0.099, [np.pi / 2, 0, 0.7], [[0, -0.1, 0.2], [0, -0.1, -0.2]], 0),
        (mbt.Shape("ellipsoid", [0.1, 0.2, 0.3]), 0.29, [0, 0, 0.7], [[0, 0, -0.3]], 0),
    ],
)  # fmt: skip
def test_points_over_a_plane(shape, z, rpy, local, skin):
    X = over_plane(0.3, -0.2, z, rpy)
    corners = np.array(local) @ X[:3, :3].T + X[:3, 3] - skin * PLANE.X_BG[:3, 2]
    height, middle = on_plane(corners)
    found = points_on(shape, X, PLANE)
    assert as_set(found.p_W) == as_set(middle)
    order = [int(np.argmin(np.linalg.norm(middle - p, axis=1))) for p in found.p_W]
    np.testing.assert_allclose(found.gap, height[order], atol=1e-12)
    np.testing.assert_allclose(found.n_W, np.broadcast_to(-PLANE.X_BG[:3, 2], found.n_W.shape), atol=1e-12)
    if shape.kind == "box":
        assert as_set(points_on(shape, X, PLANE, vertices=CORNERS * np.array(shape.size) / 2).p_W) == as_set(
            middle
        )


def test_a_cylinder_that_stands_has_four_points_on_its_rim():
    X = over_plane(0.0, 0.0, 0.199, [1e-4, 0, 0.3])
    found = points_on(mbt.Shape("cylinder", [0.1, 0.4]), X, PLANE)
    assert len(found.pair) == 4
    in_B = (found.p_W + 0.5 * found.gap[:, None] * -found.n_W - X[:3, 3]) @ X[:3, :3]
    np.testing.assert_allclose(np.hypot(in_B[:, 0], in_B[:, 1]), 0.1, atol=1e-9)
    np.testing.assert_allclose(in_B[:, 2], -0.2, atol=1e-9)
    np.testing.assert_allclose(in_B[:, :2].sum(axis=0), 0.0, atol=1e-9)
    assert found.gap.min() == pytest.approx(-0.001 - 0.1e-4, abs=2e-9)


def test_a_box_on_a_box_touches_where_their_faces_overlap():
    below = mbt.Shape("box", [0.4, 0.4, 0.2])
    X = mbt.math.make_pose([0.15, 0.1, 0.199])
    found = points_on(mbt.Shape("box", [0.2, 0.3, 0.2]), X, below)
    wanted = [(x, y, 0.0995) for x in (0.05, 0.2) for y in (-0.05, 0.2)]
    assert as_set(found.p_W) == {tuple(np.round(p, 9)) for p in wanted}
    np.testing.assert_allclose(found.gap, -0.001, atol=1e-12)
    # Of eight corners, the four that span the largest area are kept.
    turned = points_on(
        mbt.Shape("box", [0.4, 0.4, 0.2]), mbt.math.make_pose([0, 0, 0.199], rpy=[0, 0, np.pi / 4]), below
    )
    assert len(turned.pair) == 4
    reach = 0.4 / np.sqrt(2)
    for p in turned.p_W:
        assert np.abs(p[:2]).max() == pytest.approx(0.2, abs=1e-9)
        assert np.abs(p[:2]).sum() == pytest.approx(reach, abs=1e-9)


def test_parallel_capsules_touch_twice_and_crossed_ones_once():
    lying = mbt.Shape("capsule", [0.05, 0.6], mbt.math.make_pose([0, 0, 0], rpy=[np.pi / 2, 0, 0]))
    capsule = mbt.Shape("capsule", [0.05, 0.4])
    along = mbt.math.make_pose([0, 0.2, 0.099], rpy=[np.pi / 2, 0, 0])
    found = points_on(capsule, along, lying)
    assert as_set(found.p_W) == {(0.0, 0.0, 0.0495), (0.0, 0.3, 0.0495)}
    np.testing.assert_allclose(found.gap, -0.001, atol=1e-12)
    found = points_on(capsule, mbt.math.make_pose([0.05, 0.1, 0.099], rpy=[0, np.pi / 2, 0]), lying)
    assert as_set(found.p_W) == {(0.0, 0.1, 0.0495)}


def test_a_capsule_on_a_box_is_clipped_at_its_edge():
    box = mbt.Shape("box", [0.2, 0.2, 0.2])
    X = mbt.math.make_pose([0.08, 0.02, 0.149], rpy=[0, np.pi / 2, 0])
    found = points_on(mbt.Shape("capsule", [0.05, 0.2]), X, box)
    assert as_set(found.p_W) == {(-0.02, 0.02, 0.0995), (0.1, 0.02, 0.0995)}


@pytest.mark.parametrize("kinds", [("box", "box"), ("hull", "box"), ("cylinder", "box"), ("capsule", "box")])
def test_points_lie_on_both_shapes(kinds):
    """The smallest gap is the distance between the shapes."""
    rng = np.random.default_rng(3)
    box = mbt.Shape("box", [0.3, 0.4, 0.5])
    shape = {
        "box": mbt.Shape("box", [0.2, 0.3, 0.25]), "hull": mbt.Shape("box", [0.2, 0.3, 0.25]),
        "cylinder": mbt.Shape("cylinder", [0.1, 0.3]), "capsule": mbt.Shape("capsule", [0.1, 0.3]),
    }[kinds[0]]  # fmt: skip
    vertices = CORNERS * [0.1, 0.15, 0.125] if kinds[0] == "hull" else None
    contacts = make_scene(shape, box, vertices)
    several = 0
    for i in range(60):
        tilt = [0.0, 1e-3, 1.0][i % 3]
        turn = rng.normal(size=3) * tilt + [0, 0, rng.uniform(-3, 3)]
        q = q_of(mbt.math.make_pose(rng.uniform([-0.3, -0.3, 0.05], [0.3, 0.3, 0.65]), rpy=turn))
        d, _, _, n = contacts.scene.distances(q, witness=True)
        found = contacts.points(q, margin=d[0] + 2e-3)
        again = contacts.points(q, margin=d[0] + 2e-3)
        assert all(np.array_equal(a, b) for a, b in zip(found, again, strict=True))
        assert 1 <= len(found.pair) <= 4
        several += len(found.pair) > 1
        assert found.gap.min() == pytest.approx(d[0], abs=1e-5)
        assert found.gap.min() >= d[0] - 1e-12
        np.testing.assert_allclose(found.n_W, np.broadcast_to(n[0], found.n_W.shape), atol=1e-12)
        # On the surface of the fixed box.
        on_box = found.p_W + 0.5 * found.gap[:, None] * n
        outside = np.abs(on_box) - [0.15, 0.2, 0.25]
        np.testing.assert_allclose(outside.max(axis=1), 0.0, atol=2e-5)
    assert several > 10


def test_padding_belongs_to_the_surface():
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    body.add_collision(mbt.Shape("sphere", [0.1]))
    tree.finalize()
    scene = mbt.CollisionModel(tree, obstacles=[mbt.Shape("plane")], padding=0.01)
    found = mbt.ShapeContact(scene).points([1, 0, 0, 0, 0, 0, 0.105])
    np.testing.assert_allclose(found.gap, [0.105 - 0.1 - 0.02], atol=1e-12)


@pytest.mark.parametrize("kinds", pairs_known())
def test_no_pair_that_is_near_is_passed_over(kinds):
    rng = np.random.default_rng(7)
    for _ in range(20):
        scene = scene_of(*(random_shape(kind, rng) for kind in kinds))
        contacts = mbt.ShapeContact(scene)
        q = random_q(scene, rng, 10, 2.0)
        for one, d in zip(q, scene.distances(q)[:, 0], strict=True):
            for margin in (d + 1e-9, d + 0.3):
                assert len(contacts.points(one, margin=margin).pair), (d, margin)
            assert not len(contacts.points(one, margin=d - 1e-9).pair)
