"""Joints held by a limit and saturated servos, named in a line above a moving model."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mbt
from mbt.viewer.films import Film
from mbt.viewer.scene import ModelScene
from mbt.viewer.stage import FIELD_OF_VIEW, place_camera
from support.browser import open_page, project, wait_for
from support.shapes import BODY

BOTH = "at limit: up · at effort limit: pull"


@pytest.fixture(scope="module")
def tree() -> mbt.MultibodyTree:
    """Return a slider that falls onto its limit, and one with a servo that is too weak."""
    tree = mbt.MultibodyTree()
    for name, axis in (("up", [0, 0, 1]), ("along", [1, 0, 0])):
        ball = tree.add_body(mbt.RigidBody(name, BODY)).add_visual(mbt.Shape("sphere", [0.05]))
        tree.add_joint(mbt.PrismaticJoint, name, tree.world_body, None, ball, None, axis=axis)
    tree.get_joint_by_name("up").set_position_limits([0.0], [1.0])
    tree.add_joint_actuator("pull", "along", effort_limit=1.0, stiffness=100.0, damping=10.0)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


@pytest.fixture(scope="module")
def motion(tree: mbt.MultibodyTree) -> mbt.Trajectory:
    return play(tree)


def play(tree: mbt.MultibodyTree, every: int = 1, batch: tuple[int, ...] = ()) -> mbt.Trajectory:
    context = tree.create_default_context(batch)
    context.q = np.broadcast_to([0.05, -0.5], (*batch, 2))
    return mbt.simulate(tree, context, 0.2, 4e-3, method="implicit", every=every)


@pytest.mark.parametrize("every", [1, 5])
def test_what_holds_at_each_moment(tree: mbt.MultibodyTree, every: int) -> None:
    motion = play(tree, every)
    film = Film(tree, motion)
    solver = motion.solver
    assert solver is not None
    for k, t in enumerate(motion.time):
        step = min(every * k, motion.num_steps - 1)
        parts = [
            "at limit: up" if solver.at_limit[step, 0] else "",
            "at effort limit: pull" if solver.saturated[step, 0] else "",
        ]
        assert film.held_at(t) == " · ".join(filter(None, parts))
    assert film.held_at(0.0) == "at effort limit: pull"
    assert film.held_at(0.2) == BOTH


def test_parts_of_trajectories_and_one_of_a_batch(tree: mbt.MultibodyTree, motion: mbt.Trajectory) -> None:
    whole = Film(tree, motion)
    for part in (motion[::4], motion[7:], motion[20:40:3], motion[-1:]):
        film = Film(tree, part)
        # A step follows the last sample of a part, too.
        assert [film.held_at(t - part.time[0]) for t in part.time] == [whole.held_at(t) for t in part.time]
    batch = Film(tree, play(tree, batch=(2, 3)))
    assert [batch.held_at(t) for t in motion.time] == [whole.held_at(t) for t in motion.time]


def test_nothing_is_told_where_nothing_is_known(
    tree: mbt.MultibodyTree, motion: mbt.Trajectory, tmp_path: Path
) -> None:
    motion.save(tmp_path / "motion.npz")
    context = tree.create_default_context()
    explicit = mbt.simulate(tree, context, 0.01, 1e-3, method="rk4")
    for trajectory in (mbt.Trajectory.load(tmp_path / "motion.npz"), explicit):
        film = Film(tree, trajectory)
        assert {film.held_at(t) for t in trajectory.time} == {None}
    assert Film(tree, motion.q, 4e-3).held_at(0.2) is None


def test_of_many_names_some_are_told() -> None:
    tree = mbt.MultibodyTree()
    for name in "abcdef":
        ball = tree.add_body(mbt.RigidBody(name, BODY))
        joint = tree.add_joint(mbt.PrismaticJoint, name, tree.world_body, None, ball, None, axis=[0, 0, 1])
        tree.add_joint_actuator(name, joint, effort_limit=1.0, stiffness=100.0)
    tree.finalize()
    context = tree.create_default_context()
    context.q = np.ones(6)
    motion = mbt.simulate(tree, context, 0.01, 5e-3, method="implicit")
    assert Film(tree, motion).held_at(0.0) == "at effort limit: a, b, c, d and 2 more"


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60.0
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.viewer
def test_the_line_is_played_and_goes_when_a_slider_moves(
    tree: mbt.MultibodyTree, motion: mbt.Trajectory
) -> None:
    with mbt.view(tree, open_browser=False) as viewer:
        drawing = viewer.models[0]._drawing
        assert drawing._line is None
        viewer.play(motion, loop=False)
        wait_until(lambda: drawing._line is not None and drawing._line.text == BOTH)
        assert drawing._line.visible
        viewer.show([0.1, 0.2])
        wait_until(lambda: not drawing._line.visible)


@pytest.mark.viewer
def test_the_line_is_seen_in_a_recorded_page(
    tree: mbt.MultibodyTree, motion: mbt.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cameras = []

    def place_and_tell(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        position, look_at, distance = place_camera(corners)
        cameras.append(SimpleNamespace(position=position, look_at=look_at, fov=FIELD_OF_VIEW))
        return position, look_at, distance

    monkeypatch.setattr("mbt.viewer.stage.place_camera", place_and_tell)
    mbt.record(tree, motion, tmp_path / "told.html", fps=20, speed=0.1)
    mbt.record(tree, motion.q, tmp_path / "silent.html", dt=4e-3, fps=20, speed=0.1)
    [camera, _] = cameras
    up, along = motion.q.mean(axis=0)
    above = np.array([along / 2, 0.0, up + 0.1 * ModelScene(tree).extent])

    def count_dark(picture: np.ndarray) -> int:
        row, column = project(above, camera, picture)
        return int((picture[row - 25 : row + 15, column - 35 : column + 35].max(axis=-1) < 130).sum())

    with open_page(tmp_path / "profile") as page:
        page.goto((tmp_path / "told.html").as_uri())
        page.wait_for_selector("canvas")
        wait_for(page, lambda picture: count_dark(picture) > 50, tmp_path / "told.png")
        page.goto((tmp_path / "silent.html").as_uri())
        page.wait_for_selector("canvas")
        wait_for(page, lambda picture: count_dark(picture) < 5, tmp_path / "silent.png")
