"""What is drawn, and where: numbers, without a browser, viser or trimesh."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import mbt
from mbt.viewer.scene import LAYERS, ModelScene
from mbt.viewer.snapshots import take_snapshot
from mbt.viewer.stand_ins import ellipsoid_of
from support.build import build_tree
from support.pictures import box_on_the_ground, pendulum
from support.random_trees import random_model

F = mbt.functional


def arm() -> mbt.MultibodyTree:
    return mbt.load_model(mbt.models.model_path("mbt_arm"))


def test_each_visual_is_where_its_frame_is() -> None:
    tree = arm()
    context = tree.create_default_context()
    context.q = [0.5, 0.7, 0.9, 0.3, -0.6, 0.2]
    scene = ModelScene(tree)
    snapshot = take_snapshot(scene, context)
    assert snapshot is not None
    items = [item for item in scene.items if item.layer == "visuals"]
    assert [item.shape for item in items] == [shape for body in tree.bodies for shape in body.visuals]
    for body in tree.bodies:
        for shape in body.visuals:
            [item] = [i for i in items if i.shape is shape]
            X_WG = F.frame_pose(tree, context.q, body) @ shape.X_BG
            np.testing.assert_allclose(snapshot.X_WB[0, item.node] @ item.shape.X_BG, X_WG, atol=1e-14)
            R_WB = mbt.math.quaternion_to_matrix(snapshot.quaternions[0, item.node])
            np.testing.assert_allclose(R_WB, F.frame_pose(tree, context.q, body)[:3, :3], atol=1e-14)


def test_layers_shown_at_first() -> None:
    assert ModelScene(arm()).shown == {"visuals", "contacts"}
    assert ModelScene(box_on_the_ground()).shown == {"skeleton", "inertia", "contacts"}
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    body.add_collision(mbt.Shape("sphere", [0.1], color=[1, 0, 0, 1]))
    tree.finalize()
    scene = ModelScene(tree)
    assert scene.shown == {"collisions", "contacts"}
    assert scene.shown < set(LAYERS)
    [item] = [item for item in scene.items if item.layer == "collisions"]
    assert item.color[3] < 1.0, "what is behind is seen"


def test_colors_of_the_description_are_kept() -> None:
    items = [item for item in ModelScene(pendulum()).items if item.layer == "visuals"]
    assert [(item.color, item.has_color) for item in items] == [
        ((0.85, 0.05, 0.05, 1.0), True),
        ((0.05, 0.75, 0.10, 1.0), True),
    ]
    assert not any(item.has_color for item in ModelScene(arm()).items)


@pytest.mark.parametrize("seed", range(5))
def test_bones_go_from_joint_to_joint(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = build_tree(random_model(seed, 8))
    context = tree.create_default_context()
    context.q = tree.random_positions(rng)
    scene = ModelScene(tree)
    snapshot = take_snapshot(scene, context)
    assert snapshot is not None
    balls, rods = [], []
    for item in scene.items:
        if item.layer == "skeleton":
            X_WG = snapshot.X_WB[0, item.node] @ item.shape.X_BG
            if item.shape.kind == "sphere":
                balls.append(X_WG[:3, 3])
            else:
                half = X_WG[:3, 2] * item.shape.size[1] / 2
                rods.append(np.stack([X_WG[:3, 3] - half, X_WG[:3, 3] + half]))
    expected_balls, expected_rods = [], []
    for mobilizer in tree.mobilizers:
        if mobilizer.num_velocities:
            expected_balls.append(mobilizer.outboard_frame.calc_pose_in_world(context)[:3, 3])
        inner = mobilizer.inboard_body.inboard_mobilizer
        if inner is not None:
            frames = inner.outboard_frame, mobilizer.inboard_frame
            expected_rods.append(np.stack([frame.calc_pose_in_world(context)[:3, 3] for frame in frames]))
    assert len(balls) == len(expected_balls)
    for ball in expected_balls:
        assert min(abs(ball - other).max() for other in balls) < 1e-12
    assert expected_rods
    for rod in expected_rods:
        is_seen = np.linalg.norm(rod[1] - rod[0]) > 1e-3
        assert not is_seen or min(abs(rod - other).max() for other in rods) < 1e-12


def test_an_ellipsoid_turns_as_the_body_does() -> None:
    R = mbt.math.rpy_to_matrix([0.3, -0.5, 0.8])
    a, b, c = 0.1, 0.2, 0.3
    inertia = mbt.SpatialInertia.solid_ellipsoid_with_mass(2.0, a, b, c).re_express(R).shift([-0.1, 0.2, 0.3])
    body = mbt.RigidBody("body", inertia)
    shape = ellipsoid_of(body)
    assert shape is not None
    np.testing.assert_allclose(sorted(shape.size), [a, b, c], rtol=1e-12)
    np.testing.assert_allclose(shape.X_BG[:3, 3], [0.1, -0.2, -0.3], rtol=1e-12)
    # Along its axes, whatever their order and signs, it is as long as the body.
    axes = shape.X_BG[:3, :3]
    order = np.argsort(shape.size)
    np.testing.assert_allclose(abs(R.T @ axes[:, order]), np.eye(3), atol=1e-9)
    assert np.linalg.det(axes) == pytest.approx(1.0)


def test_names_stand_at_mass_centres() -> None:
    tree = arm()
    places = ModelScene(tree).places_of_names
    assert list(places) == list(range(1, tree.num_bodies))
    for body in tree.bodies[1:]:
        centre = body.default_com if body.default_mass else np.zeros(3)
        np.testing.assert_allclose(places[body.node_index], centre, atol=1e-12)
    assert places[tree.get_body_by_name("upper_arm").node_index][2] > 0.1


def test_what_no_body_could_be_is_drawn_all_the_same() -> None:
    assert ellipsoid_of(mbt.RigidBody("point", mbt.SpatialInertia.point_mass(1.0, [0, 0, 1]))) is None
    assert ellipsoid_of(mbt.RigidBody("nothing", mbt.SpatialInertia.zero())) is None
    rod = ellipsoid_of(mbt.RigidBody("rod", mbt.SpatialInertia.thin_rod_with_mass(1.0, 2.0, [0, 0, 1])))
    assert rod is not None
    assert min(rod.size) == pytest.approx(0.02 * max(rod.size)), "thick enough to be seen"


def test_centre_of_mass_contacts_and_forces() -> None:
    tree = box_on_the_ground()
    context = tree.create_default_context()
    context.q = [1, 0, 0, 0, 0.3, 0.4, 0.09]
    snapshot = take_snapshot(ModelScene(tree), context)
    assert snapshot is not None
    np.testing.assert_allclose(snapshot.com, [0.3, 0.4, 0.09], atol=1e-15)
    expected = [[0.3 + x, 0.4 + y, -0.01] for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
    np.testing.assert_allclose(snapshot.contacts, expected, atol=1e-15)
    np.testing.assert_allclose(snapshot.forces, [[0, 0, 5]] * 4, atol=1e-12)


def test_batches_and_states_that_are_nowhere() -> None:
    tree = pendulum()
    scene = ModelScene(tree)
    context = tree.create_default_context(4)
    context.q = [[0.1], [0.2], [np.nan], [0.4]]
    snapshot = take_snapshot(scene, context)
    assert snapshot is not None
    np.testing.assert_allclose(snapshot.X_WB, F.body_poses(tree, [[0.1], [0.2], [0.4]]), atol=1e-15)
    context.q = [[np.nan], [0.2], [0.3], [0.4]]
    assert take_snapshot(scene, context) is None, "the first one is what is drawn solid"


def test_frames_are_those_of_bodies_and_of_users() -> None:
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    X_BF = mbt.math.make_pose([0.1, 0.2, 0.3], rpy=[0.1, 0.2, 0.3])
    tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, X_BF, link, X_BF, axis=[0, 0, 1])
    tree.add_frame(mbt.FixedOffsetFrame("tool", link, X_BF))
    tree.finalize()
    frames = ModelScene(tree).frames
    assert [frame.name for frame in frames] == ["world", "link", "tool"]
    np.testing.assert_array_equal(frames[2].X_BF, X_BF)
    assert frames[2].node == link.node_index


@pytest.mark.parametrize("package", ["viser", "trimesh"])
def test_missing_packages_are_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from mbt.viewer.packages import require

    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        mbt.MissingPackageError, match=rf"view needs {package}: pip install 'multibodytree\[viz\]'"
    ):
        require(package, "view")


def test_without_the_extra_nothing_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    monkeypatch.setitem(sys.modules, "trimesh", None)
    tree = pendulum()
    with pytest.raises(mbt.MissingPackageError, match="viz"):
        mbt.view(tree)
    with pytest.raises(mbt.MissingPackageError, match="viz"):
        mbt.record(tree, [[0.0]], f"{tmp_path}/page.html", dt=0.1)
    assert not list(__import__("pathlib").Path(str(tmp_path)).iterdir())
