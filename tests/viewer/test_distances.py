"""Shapes near to or deep in one another, in a running viewer without a browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.motion.shape_contacts import ContactSample
from mbt.viewer.drawing import Drawing
from mbt.viewer.films import Film, touching_of
from mbt.viewer.scene import ModelScene
from mbt.viewer.snapshots import Snapshot, take_snapshot
from support.shapes import BODY

YELLOW, VERMILION = (240, 228, 66), (213, 94, 0)


@pytest.fixture
def scene() -> mbt.CollisionModel:
    """Two balls on sliders along x, one metre apart, and a wall beyond them."""
    tree = mbt.MultibodyTree()
    for name in ("left", "right"):
        ball = tree.add_body(mbt.RigidBody(name, BODY)).add_collision(mbt.Shape("sphere", [0.1]))
        X = mbt.math.make_pose([float(name == "right"), 0, 0])
        tree.add_joint(mbt.PrismaticJoint, name, tree.world_body, X, ball, None, axis=[1, 0, 0])
    tree.finalize()
    wall = mbt.Shape("box", [0.2, 1, 1], mbt.math.make_pose([2, 0, 0]), name="wall", color=[0, 0, 1, 1])
    return mbt.CollisionModel(tree, obstacles=[wall])


def test_obstacles_and_distances_are_layers(scene: mbt.CollisionModel) -> None:
    drawn = ModelScene(scene.tree, scene)
    assert drawn.shown == {"collisions", "contacts", "obstacles", "distances"}
    names = [item.shape.kind for item in drawn.items_of_collisions]
    assert names == ["sphere", "sphere", "box"]
    [wall] = [item for item in drawn.items if item.layer == "obstacles"]
    assert (wall.node, wall.color, wall.has_color) == (0, (0, 0, 1, 1), True)
    context = scene.tree.create_default_context()
    context.q = [0.3, 0.2]
    snapshot = take_snapshot(drawn, context)
    assert snapshot is not None
    np.testing.assert_allclose(snapshot.distances, [0.7, 1.5, 0.6], atol=1e-15)
    np.testing.assert_allclose(snapshot.witnesses[0], [[0.4, 0, 0], [1.1, 0, 0]], atol=1e-15)
    plain = ModelScene(scene.tree)
    assert [plain.has(layer) for layer in ("obstacles", "distances", "contacts", "frames")] == [
        False,
        False,
        False,
        True,
    ]


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60.0
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.viewer
def test_what_is_near_has_a_colour_and_a_line(scene: mbt.CollisionModel) -> None:
    with mbt.view(scene.tree, open_browser=False, scene=scene) as viewer:
        drawing = viewer.models[0]._drawing
        near, touching = drawing._handles["distances"]
        balls, [wall] = drawing._handles["collisions"], drawing._handles["obstacles"]
        own = [tuple(ball.color) for ball in balls]
        assert not near.visible
        assert not touching.visible
        # The right ball comes near the wall; the left ball is not near the right one.
        viewer.show([0.0, 0.75])
        wait_until(lambda: near.visible)
        np.testing.assert_allclose(near.points, [[[1.85, 0, 0], [1.9, 0, 0]]], atol=1e-6)
        assert [tuple(x.color) for x in (*balls, wall)] == [own[0], YELLOW, YELLOW]
        viewer.show([0.95, 0.0])
        wait_until(lambda: touching.visible)
        assert not near.visible
        assert [tuple(x.color) for x in (*balls, wall)] == [VERMILION, VERMILION, (0, 0, 255)]
        drawing.show_layer("distances", False, viewer.models[0]._snapshot)
        assert [tuple(x.color) for x in balls] == own
        assert not touching.visible
        drawing.show_layer("distances", True, viewer.models[0]._snapshot)
        assert touching.visible
        assert not near.visible
        with pytest.raises(mbt.ArgumentTypeError, match=r"scene: expected an mbt\.CollisionModel, got 3"):
            viewer.add(scene.tree, scene=3)
        other = mbt.MultibodyTree()
        other.finalize()
        with pytest.raises(mbt.ArgumentValueError, match="scene: expected one of this tree"):
            viewer.add(other, scene=scene)


@pytest.mark.viewer
def test_what_is_near_is_recorded(
    scene: mbt.CollisionModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawings = []

    def keep(*arguments: Any) -> Drawing:
        drawings.append(Drawing(*arguments))
        return drawings[-1]

    monkeypatch.setattr("mbt.viewer.recording.Drawing", keep)
    page = tmp_path / "near.html"
    # The last picture shows what is near.
    mbt.record(scene.tree, [[0.0, 0.0], [0.0, 0.75]], page, dt=0.1, fps=10, scene=scene)
    [drawing] = drawings
    near, touching = drawing._handles["distances"]
    np.testing.assert_allclose(near.points, [[[1.85, 0, 0], [1.9, 0, 0]]], atol=1e-6)
    assert (near.visible, touching.visible) == (True, False)
    assert tuple(drawing._handles["obstacles"][0].color) == YELLOW
    with pytest.raises(mbt.ArgumentTypeError, match=r"scene: expected an mbt\.CollisionModel, got 3"):
        mbt.record(scene.tree, [[0.0, 0.0]], page, dt=0.1, scene=3)


@pytest.mark.viewer
def test_height_fields_are_drawn() -> None:
    tree = mbt.MultibodyTree()
    heights = np.array([[0, 0.1, 0.2], [0.3, 0.2, 0.1]])
    tree.world_body.add_visual(mbt.Shape("height_field", [2, 1], heights=heights))
    tree.finalize()
    with mbt.view(tree, open_browser=False) as viewer:
        [handle] = viewer.models[0]._drawing._handles["visuals"]
        found = {tuple(p) for p in np.round(handle.vertices.astype(float), 6).tolist()}
        wanted = {(x, y, heights[i, j]) for i, y in enumerate((-0.5, 0.5)) for j, x in enumerate((-1, 0, 1))}
        assert found == wanted
        a, b, c = np.moveaxis(handle.vertices[handle.faces].astype(float), 1, 0)
        assert (np.cross(b - a, c - a)[:, 2] > 0.0).all()
        assert len(handle.faces) == 4


@pytest.fixture
def fall() -> mbt.Trajectory:
    """A ball that falls on a floor; nothing else pushes it."""
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", BODY)).add_collision(mbt.Shape("sphere", [0.1]))
    tree.add_joint(mbt.PrismaticJoint, "up", tree.world_body, None, ball, None, axis=[0, 0, 1])
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    scene = mbt.CollisionModel(tree, obstacles=[mbt.Shape("plane", name="floor")])
    context = tree.create_default_context()
    context.q = [0.15]
    contacts = mbt.ShapeContact(scene)
    return mbt.simulate(tree, context, 0.3, 5e-3, method="implicit", contacts=contacts)


def test_points_where_shapes_push(fall: mbt.Trajectory) -> None:
    tree = fall.final_context.tree
    scene = touching_of(tree, fall)
    assert scene is not None
    drawn = ModelScene(tree, touching=scene)
    assert drawn.shown == {"collisions", "contacts", "obstacles"}
    assert [drawn.has(layer) for layer in ("obstacles", "distances", "contacts")] == [True, False, True]
    film = Film(tree, fall)
    above = take_snapshot(drawn, fall.final_context, film.touching_at(0.0))
    assert above is not None
    assert above.contacts.shape == above.forces.shape == (0, 3)
    snapshot = take_snapshot(drawn, fall.final_context, film.touching_at(1.0))
    assert snapshot is not None
    weight = 9.81 * tree.get_body_by_name("ball").default_mass
    # The force on the ball, which can move: the floor is the second of the pair.
    np.testing.assert_allclose(snapshot.forces, [[0, 0, weight]], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(snapshot.contacts, [[0, 0, 0]], atol=1e-4)
    assert Film(tree, fall.q, 5e-3).touching_at(1.0) is None


@pytest.mark.viewer
def test_forces_between_shapes_are_played(
    fall: mbt.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = fall.final_context.tree
    with mbt.view(tree, fall, open_browser=False) as viewer:
        drawing = viewer.models[0]._drawing
        assert [item.layer for item in drawing._scene.items if item.layer == "obstacles"] == ["obstacles"]
        points, arrows = drawing._handles["contacts"]
        wait_until(lambda: arrows.visible)
        assert len(points.points) == 1
    seen = []

    def look(scene: ModelScene, context: mbt.Context, touching: ContactSample | None) -> Snapshot | None:
        seen.append(snapshot := take_snapshot(scene, context, touching))
        return snapshot

    monkeypatch.setattr("mbt.viewer.model.take_snapshot", look)
    mbt.record(tree, fall, tmp_path / "fall.html", fps=20)
    assert (tmp_path / "fall.html").stat().st_size > 1e5
    *_, last = (len(snapshot.contacts) for snapshot in seen if snapshot is not None)
    assert last == 1
