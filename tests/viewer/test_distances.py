"""What is near, and deep in one another, in a running viewer without a browser."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

import mbt
from mbt.viewer.scene import ModelScene
from mbt.viewer.snapshots import take_snapshot
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
        # The right one comes near to the wall, the left one not to the right one.
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
        with pytest.raises(mbt.ArgumentTypeError, match=r"scene: expected a mbt\.CollisionModel, got 3"):
            viewer.add(scene.tree, scene=3)
        other = mbt.MultibodyTree()
        other.finalize()
        with pytest.raises(mbt.ArgumentValueError, match="scene: expected one of this tree"):
            viewer.add(other, scene=scene)


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
