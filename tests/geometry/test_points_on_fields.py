"""Contact points of shapes on height fields, against formulas in NumPy; and bodies coming to rest there."""

import itertools

import numpy as np
import pytest

import mbt

GRID = np.linspace(-2.0, 2.0, 17)
X, Y = np.meshgrid(GRID, GRID)
X_WF = mbt.math.make_pose([0.3, -0.2, 0.5], rpy=[0.1, -0.2, 0.7])
BOX = mbt.Shape("box", [0.4, 0.3, 0.1])
CAPSULE = mbt.Shape("capsule", [0.05, 0.4])
CORNERS = np.array(list(itertools.product((-0.2, 0.2), (-0.15, 0.15), (-0.05,))))


def on_field(shape, heights, X_WF=None):
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.solid_box_with_mass(1.0, 0.4, 0.3, 0.1)
    tree.add_body(mbt.RigidBody("body", inertia).add_collision(shape))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    field = mbt.Shape("height_field", [4.0, 4.0], X_WF, heights=heights, name="field")
    return mbt.ShapeContact(mbt.CollisionModel(tree, obstacles=[field]))


def points_in_field(shape, heights, X_FB, margin=0.0):
    """Return points, normals and gaps in the frame of the field, sorted by position."""
    pose = X_WF @ X_FB
    q = np.concatenate([mbt.math.matrix_to_quaternion(pose[:3, :3]), pose[:3, 3]])
    found = on_field(shape, heights, X_WF).points(q, margin=margin)
    p, n = (found.p_W - X_WF[:3, 3]) @ X_WF[:3, :3], found.n_W @ X_WF[:3, :3]
    order = np.lexsort(np.round(p.T, 6))
    return p[order], n[order], found.gap[order]


def sorted_points(p):
    return p[np.lexsort(np.round(p.T, 6))]


@pytest.mark.parametrize("slope", [(0.0, 0.0), (0.3, -0.1)])
@pytest.mark.parametrize("tilt", [0.0, 1e-6])
def test_a_box_has_four_points_far_from_the_middle(slope, tilt):
    up = np.array([-slope[0], -slope[1], 1.0]) / np.sqrt(1.0 + slope[0] ** 2 + slope[1] ** 2)
    x = np.cross([0.0, 1.0, 0.0], up)
    R = np.stack([x / np.linalg.norm(x), np.cross(up, x / np.linalg.norm(x)), up], axis=1)
    X_FB = np.eye(4)
    X_FB[:3, :3] = R @ mbt.math.make_pose(rpy=[tilt, -tilt, 0.4])[:3, :3]
    at = np.array([1.31, -1.27])
    X_FB[:3, 3] = [*at, slope @ at + (0.05 - 0.001) / up[2]]
    p, n, gap = points_in_field(BOX, slope[0] * X + slope[1] * Y, X_FB, margin=0.01)
    corners = CORNERS @ X_FB[:3, :3].T + X_FB[:3, 3]
    height = corners @ up  # above the plane, which goes through the origin
    np.testing.assert_allclose(p, sorted_points(corners - 0.5 * height[:, None] * up), atol=1e-9)
    np.testing.assert_allclose(n, np.tile(-up, (4, 1)), atol=1e-9)
    order = np.lexsort(np.round((corners - 0.5 * height[:, None] * up).T, 6))
    np.testing.assert_allclose(gap, height[order], atol=1e-9)


def test_a_peak_under_a_face():
    heights = np.zeros_like(X)
    heights[10, 11] = 0.1  # at x = 0.75, y = 0.5
    X_FB = mbt.math.make_pose([0.77, 0.53, 0.149], rpy=[0.02, 0.01, 0.3])
    [p], [n], [gap] = points_in_field(BOX, heights, X_FB)
    down = -X_FB[:3, 2]
    peak = np.array([0.75, 0.5, 0.1])
    wanted = (peak - X_FB[:3, 3]) @ down - 0.05
    assert wanted < 0.0
    np.testing.assert_allclose(n, down, atol=1e-9)
    np.testing.assert_allclose(gap, wanted, atol=1e-9)
    np.testing.assert_allclose(p, peak - 0.5 * gap * down, atol=1e-9)


def test_edges_over_ridges():
    heights = np.where(np.arange(17) % 4 == 0, 0.1, 0.0) * np.ones_like(X)  # ridges at x = -1, 0 and 1
    long = mbt.Shape("box", [1.6, 0.3, 0.1])
    X_FB = mbt.math.make_pose([0.1 + 0.4, 0.6, 0.149])
    p, n, gap = points_in_field(long, heights, X_FB)
    wanted = [[x, y, 0.1 - 0.5 * 0.001] for x in (0.0, 1.0) for y in (0.45, 0.75)]
    np.testing.assert_allclose(p, sorted_points(np.array(wanted)), atol=1e-9)
    np.testing.assert_allclose(n, np.tile([0.0, 0.0, -1.0], (4, 1)), atol=1e-9)
    np.testing.assert_allclose(gap, -0.001, atol=1e-9)


def test_a_capsule_in_a_valley_touches_both_walls():
    R = mbt.math.make_pose(rpy=[np.pi / 2, 0, 0])
    X_FB = mbt.math.make_pose([0.0, 1.1, 0.0537]) @ R
    p, n, gap = points_in_field(CAPSULE, 0.4 * abs(X), X_FB)
    walls = [np.array([s * 0.4, 0.0, -1.0]) / np.hypot(0.4, 1.0) for s in (-1, 1)]
    middles = [np.array([0.0, 1.1 + s * 0.2, 0.0537]) for s in (-1, 1)]
    distance = 0.0537 / np.hypot(0.4, 1.0) - 0.05
    assert distance < 0.0
    wanted = np.array([c + (0.05 + 0.5 * distance) * w for c in middles for w in walls])
    np.testing.assert_allclose(p, sorted_points(wanted), atol=1e-9)
    np.testing.assert_allclose(gap, distance, atol=1e-9)
    assert {tuple(x) for x in np.round(n, 6)} == {tuple(x) for x in np.round(walls, 6)}


@pytest.mark.parametrize("seed", [4, 7])
def test_a_box_comes_to_rest_on_hills(seed):
    rng = np.random.default_rng(seed)
    a, b, c = rng.uniform(1, 6, 4), rng.uniform(1, 6, 4), rng.uniform(0, 6, 4)
    grid = np.linspace(-2.0, 2.0, 41)
    x, y = grid[None, :, None], grid[:, None, None]
    contacts = on_field(BOX, (0.03 * np.sin(a * x + b * y + c)).sum(axis=-1))
    context = contacts.tree.create_default_context()
    context.q = [1, 0, 0, 0, 0.3, -0.7, 0.2]
    motion = mbt.simulate(contacts.tree, context, 2.5, 5e-3, method="implicit", contacts=contacts)
    last = motion.contacts[-1]
    assert len(last.pair) >= 3
    np.testing.assert_allclose(last.force_W.sum(axis=0), [0, 0, -9.81], atol=1e-3)
    assert abs(motion.v[-1]).max() < 1e-4
    assert -1e-3 < last.gap.min() < 0.0
