"""Height fields: distances against a loop over triangles, and against planes where they are flat."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import mbt
from support.description import Array
from support.random_trees import random_pose
from support.shapes import BODY, random_shape

KINDS = ("sphere", "capsule", "box", "cylinder", "ellipsoid")


def scene_of(shape: mbt.Shape, heights: Array, size: tuple[float, float], X: Array) -> mbt.CollisionModel:
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("body", BODY)).add_collision(shape)
    tree.finalize()
    field = mbt.Shape("height_field", size, X, heights=heights, name="ground")
    return mbt.CollisionModel(tree, obstacles=[field])


def triangles(heights: Array, size: tuple[float, float]) -> Array:
    """Return corners of all triangles, (n, 3, 3)."""
    rows, columns = heights.shape
    x, y = np.linspace(-size[0] / 2, size[0] / 2, columns), np.linspace(-size[1] / 2, size[1] / 2, rows)
    found = []
    for i, j in itertools.product(range(rows - 1), range(columns - 1)):
        a, b, c, d = (
            [x[n], y[m], heights[m, n]] for m, n in ((i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j))
        )
        found += [[a, b, c], [a, c, d]]
    return np.array(found)


def nearest_on(triangle: Array, p: Array) -> Array:
    """Return the nearest point of a triangle: inside, on an edge, or at a corner."""
    a, b, c = triangle
    n = np.cross(b - a, c - a)
    share = np.linalg.solve(np.array([b - a, c - a, n]).T, p - a)
    best = (
        [a + share[0] * (b - a) + share[1] * (c - a)]
        if min(share[0], share[1], 1 - share[:2].sum()) > 0
        else []
    )
    for s, e in ((a, b), (b, c), (c, a)):
        best.append(s + np.clip((p - s) @ (e - s) / ((e - s) @ (e - s)), 0, 1) * (e - s))
    return min(best, key=lambda x: float(np.linalg.norm(p - x)))


def at(p: Array) -> Array:
    return np.concatenate([[1.0, 0, 0, 0], p])


def test_a_ball_is_as_far_away_as_from_the_nearest_triangle() -> None:
    rng = np.random.default_rng(0)
    heights, size, X = 0.3 * rng.normal(size=(4, 6)), (2.0, 1.5), random_pose(rng)
    scene = scene_of(mbt.Shape("sphere", [0.1]), heights, size, X)
    all_of = triangles(heights, size)
    local = rng.uniform([-1.6, -1.2, 0.0], [1.6, 1.2, 1.0], (12, 3))
    # Above the surface.
    local[:, 2] += [surface_at(heights, size, *p[:2]) for p in local]
    q = np.array([at(X[:3, :3] @ p + X[:3, 3]) for p in local])
    d, p_WA, p_WB, n, _J = scene.distances(q, witness=True, jacobian=True)
    for p, one, on_field, point in zip(local, d[:, 0], p_WB[:, 0], q[:, 4:], strict=True):
        best = min((nearest_on(t, p) for t in all_of), key=lambda x: float(np.linalg.norm(p - x)))
        assert abs(one - (np.linalg.norm(p - best) - 0.1)) < 1e-13
        np.testing.assert_allclose(on_field, X[:3, :3] @ best + X[:3, 3], atol=1e-12)
        assert abs(np.linalg.norm(point - on_field) - 0.1 - one) < 1e-13
    np.testing.assert_allclose(p_WB - p_WA, d[..., None] * n, atol=1e-14)


def surface_at(heights: Array, size: tuple[float, float], x: float, y: float) -> float:
    """Return the height of the surface at a point, or at the nearest edge for a point off the field."""
    rows, columns = heights.shape
    u = np.clip((x / size[0] + 0.5) * (columns - 1), 0, columns - 1 - 1e-12)
    w = np.clip((y / size[1] + 0.5) * (rows - 1), 0, rows - 1 - 1e-12)
    i, j, s, t = int(w), int(u), u % 1, w % 1
    a, b, c, d = heights[i, j], heights[i, j + 1], heights[i + 1, j + 1], heights[i + 1, j]
    return float(a + s * (b - a) + t * (c - b) if s > t else a + t * (d - a) + s * (c - d))


@pytest.mark.parametrize("slope", [0.0, 0.5])
def test_a_ball_whose_centre_is_on_the_field_has_a_normal(slope: float) -> None:
    """Even if the centre is on an edge or corner of triangles."""
    x = np.linspace(-1.0, 1.0, 5)
    scene = scene_of(mbt.Shape("sphere", [0.125]), np.tile(slope * x, (5, 1)), (2.0, 2.0), np.eye(4))
    places = np.array(list(itertools.product(np.linspace(-0.5, 0.5, 17), np.linspace(-0.5, 0.5, 17), [0.0])))
    places[:, 2] = slope * places[:, 0]
    q = np.array([at(p) for p in places])
    d, p_WA, p_WB, n_W, J = scene.distances(q, witness=True, jacobian=True)
    down = np.array([slope, 0.0, -1.0]) / np.hypot(slope, 1.0)
    np.testing.assert_allclose(d, -0.125, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(n_W, axis=-1), 1.0, atol=1e-12)
    np.testing.assert_allclose(n_W[:, 0], np.tile(down, (len(places), 1)), atol=1e-7)
    np.testing.assert_allclose(p_WB - p_WA, d[:, :, None] * n_W, atol=1e-12)
    assert np.isfinite(J).all()


def test_a_ball_below_the_surface_goes_out_where_that_is_nearest() -> None:
    """Its depth is its centre's distance from the triangles, so it changes as fast as the ball moves."""
    rng = np.random.default_rng(3)
    heights, size, X, radius = 0.3 * rng.normal(size=(5, 6)), (2.0, 1.5), random_pose(rng), 0.1
    scene = scene_of(mbt.Shape("sphere", [radius]), heights, size, X)
    all_of = triangles(heights, size)
    local = rng.uniform([-0.9, -0.7, 0.0], [0.9, 0.7, 0.6], (40, 3))
    local[:, 2] = [surface_at(heights, size, *p[:2]) - p[2] for p in local]
    # Also below a ridge, a valley and a summit.
    local[:3, :2] = [[0.2, 0.0], [-0.2, 0.375], [0.6, -0.375]]
    q = np.array([at(X[:3, :3] @ p + X[:3, 3]) for p in local])
    d, p_WA, p_WB, n_W, J = scene.distances(q, witness=True, jacobian=True)
    for p, one, on_field, normal in zip(local, d[:, 0], p_WB[:, 0], n_W[:, 0], strict=True):
        best = min((nearest_on(t, p) for t in all_of), key=lambda x: float(np.linalg.norm(p - x)))
        depth = np.linalg.norm(p - best)
        assert abs(one + depth + radius) < 1e-13
        np.testing.assert_allclose(on_field, X[:3, :3] @ best + X[:3, 3], atol=1e-12)
        np.testing.assert_allclose(normal, X[:3, :3] @ (p - best) / depth, atol=1e-10)
    np.testing.assert_allclose(p_WB - p_WA, d[..., None] * n_W, atol=1e-14)
    np.testing.assert_allclose(J[:, 0, 3:], -n_W[:, 0], atol=1e-12)
    # Along straight lines that cross the surface.
    for end in rng.uniform([-0.9, -0.7, -1.0], [0.9, 0.7, 1.0], (20, 3)):
        path = np.linspace(local[0], end, 400)
        along = scene.distances(np.array([at(X[:3, :3] @ p + X[:3, 3]) for p in path]))[:, 0]
        assert abs(np.diff(along)).max() <= np.linalg.norm(path[1] - path[0]) + 1e-9


def test_a_capsule_is_as_deep_as_its_skin_while_its_axis_is_above() -> None:
    """Its depth is its radius minus the distance of its axis from the triangles."""
    rng = np.random.default_rng(8)
    heights, size, radius = 0.3 * rng.normal(size=(5, 6)), (2.0, 1.5), 0.2
    scene = scene_of(mbt.Shape("capsule", [radius, 0.3]), heights, size, np.eye(4))
    all_of = triangles(heights, size)
    q = rng.normal(size=(30, 7))
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
    q[:, 4:] = rng.uniform([-0.6, -0.4, 0.0], [0.6, 0.4, 0.5], (30, 3))
    d, J = scene.distances(q, jacobian=True)
    above = np.zeros(len(q), bool)
    for i, (row, depth) in enumerate(zip(q, d[:, 0], strict=True)):
        axis = mbt.math.quaternion_to_matrix(row[:4])[:, 2]
        points = row[4:] + np.linspace(-0.15, 0.15, 25)[:, np.newaxis] * axis
        above[i] = 0.02 - radius < depth < 0.0 and all(
            p[2] > surface_at(heights, size, *p[:2]) for p in points
        )
        if above[i]:
            nearest = min(np.linalg.norm(p - nearest_on(t, p)) for p in points for t in all_of)
            # Points are 12.5 mm apart: between them, the axis may be nearer by 6.25^2 / (2 20) mm.
            assert -1e-3 < depth - (nearest - radius) < 1e-13
    assert above.sum() > 4
    assert_slopes(scene, q, d, J, above)


def assert_slopes(scene: mbt.CollisionModel, q: Array, d: Array, J: Array, where: Array) -> None:
    """Check derivatives by differences, in all directions, away from ties."""
    h = 1e-6
    for v in np.eye(6):
        after, before = (
            scene.distances(mbt.functional.integrate_positions(scene.tree, q, np.tile(v, (len(q), 1)), s))
            for s in (h, -h)
        )
        smooth = where & (np.abs(after - 2.0 * d + before)[:, 0] < 1e-9)
        assert smooth.sum() > 0.9 * where.sum()
        assert np.abs((after - before)[:, 0] / (2.0 * h) - J[:, 0] @ v)[smooth].max() < 1e-6


@pytest.mark.parametrize("kind", ["box", "cylinder", "ellipsoid"])
def test_depths_on_triangles_have_derivatives(kind: str) -> None:
    """On rough ground, J is the derivative of the depth where the normal is a triangle's."""
    rng = np.random.default_rng(9)
    heights, size = rng.uniform(-0.1, 0.1, (7, 9)), (2.0, 1.5)
    scene = scene_of(random_shape(kind, rng, 0.4), heights, size, np.eye(4))
    a, b, c = np.moveaxis(triangles(heights, size), 1, 0)
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    q = rng.normal(size=(600, 7))
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
    q[:, 4:] = rng.uniform([-0.5, -0.4, -0.1], [0.5, 0.4, 0.2], (600, 3))
    d, _, _, n, J = scene.distances(q, witness=True, jacobian=True)
    flat = (np.abs(n[:, 0] @ normals.T) > 1.0 - 1e-10).any(axis=1) & (d[:, 0] < 0.0)
    assert flat.sum() > 20
    assert_slopes(scene, q, d, J, flat)


@pytest.mark.parametrize("kind", KINDS)
def test_a_slope_has_no_edges(kind: str) -> None:
    """Deep shapes at corners and diagonals of the grid get the normal of the slope."""
    y, x = np.meshgrid(np.linspace(-2, 2, 9), np.linspace(-2, 2, 9), indexing="ij")
    rng = np.random.default_rng(4)
    places = np.array([[0.0, 0.0], [0.25, 0.25], [0.5, 0.125], [-0.375, -0.375], [0.1, 0.0], [0.0, -0.5]])
    for slope in ([0.5, 0.0], [0.0, -0.7], [0.4, 0.3]):
        scene = scene_of(random_shape(kind, rng, 0.3), slope[0] * x + slope[1] * y, (4.0, 4.0), np.eye(4))
        up = np.array([-slope[0], -slope[1], 1.0]) / np.hypot(1.0, np.hypot(*slope))
        for depth in (0.0, 0.1, 0.3):
            points = np.column_stack([places, places @ slope - depth])
            d, _, _, n_W = scene.distances(np.array([at(p) for p in points]), witness=True)
            np.testing.assert_allclose(n_W[:, 0], np.tile(-up, (len(points), 1)), atol=1e-6)
            np.testing.assert_allclose(d[:, 0], d[0, 0], atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_slope_is_a_plane(kind: str) -> None:
    """Where no shape reaches beyond its edges; compare depths and all other results."""
    rng = np.random.default_rng(1)
    X, slope = random_pose(rng), np.array([0.3, -0.2])
    y, x = np.meshgrid(np.linspace(-20, 20, 11), np.linspace(-30, 30, 22), indexing="ij")
    heights = slope[0] * x + slope[1] * y
    shape = random_shape(kind, rng, 0.5)
    scene = scene_of(shape, heights, (60.0, 40.0), X)
    up = np.array([-slope[0], -slope[1], 1.0])
    tilted = np.eye(4)
    tilted[:3, 2] = up / np.linalg.norm(up)
    tilted[:3, 0] = np.cross([0, 1, 0], tilted[:3, 2])
    tilted[:3, 0] /= np.linalg.norm(tilted[:3, 0])
    tilted[:3, 1] = np.cross(tilted[:3, 2], tilted[:3, 0])
    plane = mbt.CollisionModel(scene.tree, obstacles=[mbt.Shape("plane", [], X @ tilted)])
    q = rng.normal(size=(16, 7))
    local = rng.uniform(-3, 3, (16, 3))
    local[:, 2] = slope @ local[:, :2].T + rng.uniform(-0.8, 1.5, 16)
    q[:, 4:] = local @ X[:3, :3].T + X[:3, 3]
    got, wanted = (each.distances(q, witness=True, jacobian=True) for each in (scene, plane))
    assert (wanted[0] < -0.1).any()
    for x, y, tolerance in zip(got, wanted, (1e-9, 1e-7, 1e-7, 1e-7, 1e-7), strict=True):
        if kind == "cylinder":
            tolerance *= 10
        np.testing.assert_allclose(x, y, atol=tolerance)
    free = scene.is_free(q, margin=0.3)
    np.testing.assert_array_equal(free, got[0][:, 0] >= 0.3)
    np.testing.assert_array_equal([scene.distances(one) for one in q], got[0])


@pytest.mark.parametrize("kind", KINDS)
def test_distances_go_through_zero_without_a_jump(kind: str) -> None:
    """Down into a rough field; while outside, at the rate that the Jacobian gives."""
    rng = np.random.default_rng(2)
    heights = 0.1 * rng.normal(size=(20, 17))
    scene = scene_of(random_shape(kind, rng, 0.3), heights, (3.0, 4.0), np.eye(4))
    for _ in range(2):
        start = np.concatenate([rng.normal(size=4), rng.uniform(-0.8, 0.8, 2), [0.0]])
        q = np.tile(start, (120, 1))
        q[:, 6] = np.linspace(0.8, -0.4, 120)
        d, n = (scene.distances(q, witness=True)[i][:, 0] for i in (0, 3))
        step = 1.2 / 119
        assert d[0] > 0.0 > d[-1]
        assert (np.diff(d) < 0.0).all()
        assert abs(np.diff(d)).max() < 3.0 * step
        outside = d > 0.0
        assert abs(np.diff(d[outside])).max() < step * (1.0 + 1e-9)
        np.testing.assert_allclose(np.linalg.norm(n, axis=-1), 1.0, atol=1e-13)
        J = scene.distance_jacobian(q[outside])
        h = 1e-6
        rates = (
            scene.distances(q[outside] + h * np.eye(7)[6]) - scene.distances(q[outside] - h * np.eye(7)[6])
        ) / (2 * h)
        is_smooth = abs(rates - J[..., 5]) < 1e-5
        assert is_smooth.mean() > 0.9


def test_a_shape_below_ground_is_deep() -> None:
    """At any depth: the depth is how far it has to rise along the normal there."""
    scene = scene_of(mbt.Shape("box", [0.2, 0.2, 0.2]), np.zeros((30, 30)), (6.0, 6.0), np.eye(4))
    d, _, p_WB, n = scene.distances(at(np.array([0.31, 0.2, -2.0])), witness=True)
    np.testing.assert_allclose(d, [-2.1], atol=1e-9)
    np.testing.assert_allclose(p_WB[0, 2], 0.0, atol=1e-9)
    np.testing.assert_allclose(n, [[0, 0, -1]], atol=1e-9)
    # Outside the field, nothing counts as below it.
    assert scene.distances(at(np.array([4.0, 0.0, -2.0])))[0] > 2.0


def test_what_a_height_field_takes() -> None:
    heights = [[0.0, 0.1, 0.2], [0.3, 0.4, 0.5]]
    shape = mbt.Shape("height_field", [2, 1], heights=heights)
    assert not shape.heights.flags.writeable
    assert pickle.loads(pickle.dumps(shape)) == shape
    assert shape != mbt.Shape("height_field", [2, 1], heights=np.zeros((2, 3)))
    for arguments, message in (
        ({"heights": None}, "heights: a height field needs them"),
        ({"heights": [[0.0, 1.0]]}, "expected two rows and two columns at least"),
        ({"heights": [[0.0, np.inf], [0, 0]]}, "heights: expected finite numbers"),
        ({"heights": heights, "size": [1, 0]}, "cannot have length along y = 0"),
    ):
        with pytest.raises(mbt.ArgumentValueError, match=message):
            mbt.Shape("height_field", **{"size": [2, 1], **arguments})
    with pytest.raises(mbt.ArgumentValueError, match="heights: a box has none"):
        mbt.Shape("box", [1, 1, 1], heights=heights)


def test_files_hold_height_fields() -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", BODY))
    body.add_collision(
        mbt.Shape("height_field", [2, 1], heights=[[0.0, 0.1], [0.25, 1 / 3]], contact_bits=(3, 4))
    )
    tree.finalize()
    again = mbt.load_model(mbt.save_model(tree, format="json"))
    assert again.get_body_by_name("body").collisions == body.collisions
    q = tree.create_default_context().q
    ball = mbt.Shape("sphere", [0.1], mbt.math.make_pose([0, 0, 2]))
    one, two = (mbt.CollisionModel(t, obstacles=[ball]) for t in (tree, again))
    np.testing.assert_array_equal(one.distances(q), two.distances(q))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).distances(q), one.distances(q))


def test_a_nan_is_a_nan() -> None:
    scene = scene_of(mbt.Shape("box", [0.2, 0.2, 0.2]), np.zeros((3, 3)), (6.0, 6.0), np.eye(4))
    q = np.tile(at(np.array([0.0, 0.0, 1.0])), (3, 1))
    q[1, 5] = np.nan
    q[2, 6] = np.inf
    d = scene.distances(q)
    assert np.isfinite(d[0]).all()
    assert np.isnan(d[1:]).all()
    assert scene.is_free(q).tolist()[:2] == [True, False]


def test_fields_have_no_distance_from_planes_and_fields() -> None:
    tree = mbt.MultibodyTree()
    field = mbt.Shape("height_field", [2, 1], heights=np.zeros((2, 2)))
    tree.add_body(mbt.RigidBody("body", BODY)).add_collision(field)
    tree.finalize()
    with pytest.raises(mbt.ArgumentValueError, match="no distance is known between a height field"):
        mbt.CollisionModel(tree, obstacles=[mbt.Shape("plane", [])])
