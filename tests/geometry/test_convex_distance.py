"""Distances of convex shapes without a closed form, proved or compared with another method."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import mbt
from mbt.geometry.meshes import list_farthest
from support.shape_pairs import (
    BOX,
    CAPSULE,
    CYLINDER,
    ELLIPSOID,
    HULL,
    NAMES,
    POLYTOPES,
    SEARCHED,
    SPHERE,
    Found,
    Shapes,
    corners,
    find,
    gap,
    outside,
    poses,
    random_shapes,
    vertices,
)

COUNT = 150
each_pair = pytest.mark.parametrize(
    ("kind_A", "kind_B"), SEARCHED, ids=[f"{NAMES[a]}-{NAMES[b]}" for a, b in SEARCHED]
)


def prove(A: Shapes, B: Shapes, found: Found, tolerance: float = 1e-12, points: float = 1e-11) -> None:
    """Planes across n, and points of A and B, are d apart; for d > 0 this proves the distance.

    Where d < 0, moving by -d along n is enough to part the shapes; other tests show that less is not.
    Tolerances are relative to the lengths involved.
    """
    scale = np.linalg.norm(B.X[:, :3, 3] - A.X[:, :3, 3], axis=1) + largest(A) + largest(B)
    assert np.isfinite(found.d).all()
    assert np.abs(np.linalg.norm(found.n, axis=1) - 1.0).max() < 1e-14
    assert (np.abs(gap(A, B, found.n) - found.d) <= tolerance * scale).all()
    apart = found.p_B - found.p_A - found.d[:, np.newaxis] * found.n
    assert (np.linalg.norm(apart, axis=1) <= tolerance * scale).all()
    assert (outside(A, found.p_A) <= points * scale).all()
    assert (outside(B, found.p_B) <= points * scale).all()


def largest(S: Shapes) -> np.ndarray:
    return np.abs(S.vertices).max() * np.ones(len(S.size)) if S.kind == HULL else S.size.max(axis=1)


def shift(S: Shapes, by: np.ndarray) -> Shapes:
    X = S.X.copy()
    X[:, :3, 3] += by
    return S.at(X)


def random_pair(
    kind_A: int, kind_B: int, *, seed: int, reach: float, count: int = COUNT
) -> tuple[Shapes, Shapes]:
    rng = np.random.default_rng(seed)
    return random_shapes(rng, kind_A, count, 0.1), random_shapes(rng, kind_B, count, reach)


@each_pair
@pytest.mark.parametrize("reach", [0.3, 1.0])
def test_distance_is_proved(kind_A: int, kind_B: int, reach: float) -> None:
    """Points on the shapes, and planes equally far apart: the distance can be neither more nor less."""
    A, B = random_pair(kind_A, kind_B, seed=1, reach=reach)
    prove(A, B, find(A, B))


@pytest.mark.parametrize(("kind_A", "kind_B"), [(BOX, BOX), (BOX, HULL), (HULL, HULL)])
@pytest.mark.parametrize("reach", [0.02, 0.2])
def test_depth_of_polytopes_is_that_of_their_difference(kind_A: int, kind_B: int, reach: float) -> None:
    """The depth is the distance to the nearest face of the hull of all corner differences."""
    A, B = random_pair(kind_A, kind_B, seed=2, reach=reach, count=40)
    found = find(A, B)
    for i in range(40):
        difference = (corners(B, i)[:, np.newaxis] - corners(A, i)).reshape(-1, 3)
        inside = ConvexHull(difference).equations[:, 3].max()
        if inside < 0.0:
            assert found.d[i] == pytest.approx(inside, abs=1e-12)
        else:
            assert found.d[i] > -1e-12


@pytest.mark.parametrize("count", [15, 16, 63, 64, 200])
@pytest.mark.parametrize("reach", [0.05, 0.6])
def test_hulls_of_few_and_many_vertices(count: int, reach: float) -> None:
    """Planes that touch all vertices prove distances, and the hull of all differences proves depths."""
    rng = np.random.default_rng(count)
    A, B = (S._replace(vertices=vertices(rng, count)) for S in random_pair(HULL, HULL, seed=22, reach=reach))
    found = find(A, B)
    prove(A, B, found)
    deep = np.flatnonzero(found.d < 0.0)
    assert len(deep) > 5
    for i in deep[:5]:
        difference = (corners(B, i)[:, np.newaxis] - corners(A, i)).reshape(-1, 3)
        assert found.d[i] == pytest.approx(ConvexHull(difference).equations[:, 3].max(), abs=1e-12)


def test_depth_of_hulls_that_are_almost_balls() -> None:
    """Many directions are nearly optimal, so the polytope needs many corners."""
    rng = np.random.default_rng(23)
    ball = rng.normal(size=(60, 3))
    ball *= 0.2 / np.linalg.norm(ball, axis=1, keepdims=True)
    A, B = (Shapes(HULL, np.zeros((16, 3)), poses(rng, 16, 0.01), ball) for _ in range(2))
    found = find(A, B)
    for i in range(16):
        difference = (corners(B, i)[:, np.newaxis] - corners(A, i)).reshape(-1, 3)
        assert found.d[i] == pytest.approx(ConvexHull(difference).equations[:, 3].max(), abs=1e-12)


@pytest.mark.parametrize("count", [15, 16, 200])
@pytest.mark.parametrize("shape", ["ellipsoid", "grid", "flat", "needle"])
def test_lists_hold_what_is_farthest(count: int, shape: str) -> None:
    """For any direction, the list of its part has a farthest vertex, even on a border of two parts."""
    rng = np.random.default_rng(23)
    points = vertices(rng, count)
    if shape == "grid":
        points = np.round(20.0 * points)
    elif shape != "ellipsoid":
        points *= [1.0, 1.0, 0.0] if shape == "flat" else [1e-6, 1.0, 1e-3]
    table = list_farthest(points)
    assert np.array_equal(table[: 3 * count], points.ravel())
    if count < 16:
        assert table.size == 3 * count
        return
    ends, lists = table[3 * count : 3 * count + 25].astype(int), table[3 * count + 25 :]
    assert ends[0] == 0
    assert 3 * ends[-1] == lists.size
    assert not (np.diff(ends) % 8).any()
    directions = np.concatenate([rng.normal(size=(2000, 3)), rng.integers(-2, 3, (500, 3))])
    for d in directions:
        # If two coordinates are equally large, either part contains the direction.
        for longest in np.flatnonzero(abs(d) == abs(d).max()):
            part = 8 * longest + int((d < 0.0) @ [1, 2, 4])
            listed = lists[3 * ends[part] : 3 * ends[part + 1]].reshape(3, -1)
            assert (d @ listed).max() == pytest.approx((points @ d).max(), rel=1e-14, abs=1e-14)


@each_pair
def test_depth_is_the_least_of_all_directions(kind_A: int, kind_B: int) -> None:
    """SLSQP, from many directions, finds no plane across which a smaller move is enough."""
    A, B = random_pair(kind_A, kind_B, seed=3, reach=0.05, count=4)
    found = find(A, B)
    assert (found.d < 0.0).any()
    directions = np.random.default_rng(4).normal(size=(400, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, np.newaxis]
    for i in np.flatnonzero(found.d < 0.0):
        a, b = (S._replace(size=S.size[i : i + 1], X=S.X[i : i + 1]) for S in (A, B))
        gaps = gap(a, b, directions[np.newaxis])[0]
        for start in directions[np.argsort(-gaps)[:2]]:
            best = minimize(
                lambda n, a=a, b=b: -gap(a, b, n[np.newaxis] / np.linalg.norm(n))[0], start, method="SLSQP",
                options={"ftol": 1e-12},
            )  # fmt: skip
            assert -best.fun <= found.d[i] + 1e-9
        assert gaps.max() <= found.d[i] + 1e-12


def test_hulls_overlap_where_no_plane_parts_them() -> None:
    """A linear programme looks for a plane that separates the corners of two hulls."""
    A, B = random_pair(HULL, HULL, seed=5, reach=0.35, count=60)
    found = find(A, B)
    assert 10 < (found.d < 0.0).sum() < 50
    for i in range(60):
        # n . a + c <= -1 and n . b + c >= 1 for all corners a and b.
        a, b = corners(A, i), corners(B, i)
        rows = np.vstack([np.c_[a, np.ones(len(a))], -np.c_[b, np.ones(len(b))]])
        plane = linprog(np.zeros(4), rows, -np.ones(len(rows)), bounds=(None, None))
        assert plane.success == (found.d[i] > 0.0)


@each_pair
def test_distance_changes_as_normal_and_points_say(kind_A: int, kind_B: int) -> None:
    """As B moves a little, the distance changes by n . (v + w x p), by central differences."""
    A, B = random_pair(kind_A, kind_B, seed=6, reach=0.6)
    rng = np.random.default_rng(7)
    v, w = rng.normal(size=(2, COUNT, 3))

    def moved(s: float) -> np.ndarray:
        X = B.X.copy()
        X[:, :3, :3] = Rotation.from_rotvec(s * w).as_matrix() @ X[:, :3, :3]
        X[:, :3, 3] += s * v
        return find(A, B.at(X)).d

    found, h = find(A, B), 1e-6
    forward, here, backward = moved(h), found.d, moved(-h)
    expected = (found.n * (v + np.cross(w, found.p_B - B.X[:, :3, 3]))).sum(1)
    # If another face takes over within a step, the one-sided slopes differ.
    smooth = np.abs(forward - 2.0 * here + backward) < 1e-9
    assert smooth.mean() > 0.95
    assert np.abs((forward - backward) / (2.0 * h) - expected)[smooth].max() < 1e-6


@each_pair
def test_distance_passes_through_zero(kind_A: int, kind_B: int) -> None:
    """Pulled together along the normal, shapes get closer by as much, and then overlap by as much."""
    A, B = random_pair(kind_A, kind_B, seed=8, reach=0.8, count=60)
    found = find(A, B)
    apart = found.d > 0.02
    A, B = (S._replace(size=S.size[apart], X=S.X[apart]) for S in (A, B))
    n, d = found.n[apart], found.d[apart]
    assert len(d) > 20
    for wanted in (1e-3, 1e-6, 1e-9, 1e-12, 0.0, -1e-12, -1e-9, -1e-6, -1e-4):
        near = shift(B, -n * (d - wanted)[:, np.newaxis])
        touching = find(A, near)
        # Another direction may give a smaller depth, but hardly.
        assert (touching.d >= wanted - 1e-10).all()
        assert (touching.d <= wanted + 1e-10 + (abs(wanted) if wanted < 0.0 else 0.0)).all()
        assert np.abs(gap(A, near, touching.n) - touching.d).max() < 1e-12


@each_pair
def test_order_and_place_do_not_matter(kind_A: int, kind_B: int) -> None:
    A, B = random_pair(kind_A, kind_B, seed=9, reach=0.5, count=60)
    found, swapped = find(A, B), find(B, A)
    assert np.allclose(found.d, swapped.d, rtol=0.0, atol=1e-12)
    X = poses(np.random.default_rng(10), 1, 2.0)[0]
    moved = find(A.at(X @ A.X), B.at(X @ B.X))
    assert np.allclose(found.d, moved.d, rtol=0.0, atol=1e-12)
    # If the nearest pair of points is unique, it is found in either order.
    only = found.d > 1e-3
    for name, sign in (("n", -1.0), ("p_A", 1.0), ("p_B", 1.0)):
        other = {"n": "n", "p_A": "p_B", "p_B": "p_A"}[name]
        assert np.allclose(
            getattr(found, name)[only], sign * getattr(swapped, other)[only], rtol=0.0, atol=1e-7
        )
    assert np.allclose(found.n[only] @ X[:3, :3].T, moved.n[only], rtol=0.0, atol=1e-7)


@each_pair
def test_state_has_the_same_distances_alone_and_in_a_batch(kind_A: int, kind_B: int) -> None:
    A, B = random_pair(kind_A, kind_B, seed=11, reach=0.4, count=21)
    for x, y in zip(find(A, B), find(A, B, samples=9), strict=True):
        assert np.array_equal(x, y)


CUBE = 0.1 * np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def on_a_grid(rng: np.random.Generator, count: int, reach: int) -> np.ndarray:
    X = np.tile(np.eye(4), (count, 1, 1))
    X[:, :3, :3] = Rotation.create_group("O").as_matrix()[rng.integers(24, size=count)]
    X[:, :3, 3] = 0.1 * rng.integers(-reach, reach + 1, (count, 3))
    return X


@each_pair
def test_faces_that_are_parallel(kind_A: int, kind_B: int) -> None:
    """On a grid, so that faces, edges and corners lie on one another, touch and coincide."""
    rng = np.random.default_rng(12)
    A = Shapes(kind_A, np.full((COUNT, 3), 0.1), on_a_grid(rng, COUNT, 1), CUBE if kind_A == HULL else None)
    size = 0.1 * rng.integers(1, 3, (COUNT, 3))
    B = Shapes(kind_B, size, on_a_grid(rng, COUNT, 3), CUBE * [1.0, 2.0, 1.0] if kind_B == HULL else None)
    found = find(A, B)
    # Along an edge that touches a rim, distances are quadratic in the positions of points.
    prove(A, B, found, points=1e-11 if kind_A in POLYTOPES and kind_B in POLYTOPES else 1e-5)
    if kind_A in POLYTOPES and kind_B in POLYTOPES:
        # Along the axes of the grid: the largest gap between intervals.
        low_A, high_A, low_B, high_B = (
            np.array([getattr(corners(S, i), side)(0) for i in range(COUNT)])
            for S in (A, B)
            for side in ("min", "max")
        )
        gaps = np.maximum(low_B - high_A, low_A - high_B)
        inside = gaps.max(1)
        expected = np.where(inside > 0.0, np.linalg.norm(np.maximum(gaps, 0.0), axis=1), inside)
        assert np.abs(found.d - expected).max() < 1e-12


@each_pair
def test_shapes_that_coincide(kind_A: int, kind_B: int) -> None:
    """With coincident centres and axes, many directions are equally good; one of them is found."""
    A, B = random_pair(kind_A, kind_B, seed=13, reach=0.1, count=24)
    B = B.at(A.X)
    found = find(A, B)
    assert (found.d < 0.0).all()
    prove(A, B, found, points=1e-6)
    directions = np.random.default_rng(14).normal(size=(1, 2000, 3))
    directions /= np.linalg.norm(directions, axis=-1)[..., np.newaxis]
    assert (gap(A, B, np.repeat(directions, 24, axis=0)).max(1) <= found.d + 1e-12).all()


@each_pair
@pytest.mark.parametrize("case", ["needles", "millimetres and kilometres", "far from the origin", "touching"])
def test_shapes_of_odd_sizes(kind_A: int, kind_B: int, case: str) -> None:
    rng = np.random.default_rng(15)
    A, B = random_pair(kind_A, kind_B, seed=16, reach=0.8)
    tolerance = 1e-12
    if case == "needles":
        A, B = (
            S._replace(
                size=10.0 ** rng.uniform(-3.0, 0.0, (COUNT, 3)),
                vertices=None if S.vertices is None else S.vertices * [1.0, 1e-2, 1e-3],
            )
            for S in (A, B)
        )
        tolerance = 1e-9
    elif case == "millimetres and kilometres":
        A = A._replace(size=1e-3 * A.size, vertices=None if A.vertices is None else 1e-3 * A.vertices)
        B = B._replace(size=1e3 * B.size, vertices=None if B.vertices is None else 1e3 * B.vertices)
        B = shift(B, 999.0 * B.X[:, :3, 3])
    elif case == "far from the origin":
        A, B = shift(A, np.full(3, 1e4)), shift(B, np.full(3, 1e4))
        tolerance = 1e-10
    else:
        found = find(A, B)
        B = shift(B, -found.n * found.d[:, np.newaxis])
    # For curved shapes that touch, distances hardly depend on the positions of points.
    prove(A, B, find(A, B), tolerance, points=1e-5)


@pytest.mark.parametrize("kind", [SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID, HULL])
def test_flat_hull(kind: int) -> None:
    """A hull of zero thickness: shapes that cross it are moved to one side, or off its rim."""
    rng = np.random.default_rng(17)
    A = random_shapes(rng, kind, 60, 0.1)
    B = random_shapes(rng, HULL, 60, 0.4)
    assert B.vertices is not None
    B = B._replace(vertices=B.vertices * [1.0, 1.0, 0.0])
    found = find(A, B)
    assert np.isfinite(found.d).all()
    assert np.abs(gap(A, B, found.n) - found.d).max() < 1e-9


@each_pair
def test_nan_stays_nan(kind_A: int, kind_B: int) -> None:
    A, B = random_pair(kind_A, kind_B, seed=18, reach=0.5, count=8)
    expected = find(A, B)
    X = B.X.copy()
    X[3, 0, 3] = np.nan
    found = find(A, B.at(X))
    assert np.isnan(found.d[3])
    rest = np.arange(8) != 3
    for x, y in zip(found, expected, strict=True):
        assert np.array_equal(x[rest], y[rest])


def test_jacobian_is_the_derivative() -> None:
    """A scene of boxes, cylinders and ellipsoids on two floating bodies."""
    rng = np.random.default_rng(21)
    tree = mbt.MultibodyTree()
    for name in "ab":
        body = tree.add_body(mbt.RigidBody(name, mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        for kind, size in (
            ("box", [0.2, 0.3, 0.4]),
            ("cylinder", [0.1, 0.5]),
            ("ellipsoid", [0.1, 0.2, 0.3]),
        ):
            body.add_collision(mbt.Shape(kind, size, poses(rng, 1, 0.3)[0]))
    tree.finalize()
    scene = mbt.CollisionModel(tree, obstacles=[mbt.Shape("box", [0.5, 0.5, 0.1], name="slab")])
    assert scene.num_pairs == 15
    q = random_states(tree, rng, 40)
    v, h = rng.normal(size=(40, tree.num_velocities)), 1e-6
    d, J = scene.distances(q, jacobian=True)
    assert (d < 0.0).any()
    later, before = (scene.distances(mbt.functional.integrate_positions(tree, q, v, s)) for s in (h, -h))
    smooth = np.abs(later - 2.0 * d + before) < 1e-9
    assert smooth.mean() > 0.95
    rates = (later - before) / (2.0 * h)
    assert np.abs(np.einsum("npi,ni->np", J, v) - rates)[smooth].max() < 1e-6


def random_states(tree: mbt.MultibodyTree, rng: np.random.Generator, count: int) -> np.ndarray:
    q = np.empty((count, tree.num_positions))
    for i in range(0, tree.num_positions, 7):
        q[:, i : i + 4] = Rotation.random(count, random_state=rng).as_quat(scalar_first=True)
        q[:, i + 4 : i + 7] = rng.uniform(-0.4, 0.4, (count, 3))
    return q


def test_depth_where_corners_are_almost_on_one_plane() -> None:
    """A capsule deep in a cylinder, with crossing axes: the way out is perpendicular to both."""
    A = Shapes(CAPSULE, np.array([[0.14455724158500202, 0.3159462682377295, 0.0]]), np.eye(4)[np.newaxis])
    B = Shapes(CYLINDER, np.array([[0.37506637084839567, 0.3352861647216818, 0.0]]), np.eye(4)[np.newaxis])
    A.X[0, :3] = [
        [-0.44104405402771785, 0.13877670751741927, -0.8866911344190944, -0.04123373167078877],
        [-0.8965830314133019, -0.02383561065746742, 0.4422337972682776, 0.017361350267845733],
        [0.04023692568437576, 0.9900368120000441, 0.13493739547012062, -0.009528113673919258],
    ]
    B.X[0, :3] = [
        [0.11218818543057975, -0.5587353299995779, 0.8217229716029951, -0.04655739358196387],
        [-0.5212791338681213, -0.7371141208759902, -0.43003585594566124, 0.039394048782681185],
        [0.845979831700198, -0.38010209656811816, -0.37395256456003323, 0.07055400925648934],
    ]
    n = np.cross(A.X[0, :3, 2], B.X[0, :3, 2])
    n /= np.linalg.norm(n)
    skins = A.size[0, 0] + B.size[0, 0]
    depth = skins - abs(n @ (B.X[0, :3, 3] - A.X[0, :3, 3]))
    found = find(A, B)
    assert found.d[0] == pytest.approx(-depth, abs=1e-12)
    prove(A, B, found)
