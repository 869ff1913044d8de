"""Sliders, films, the clock and the camera: numbers, without a browser."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mbt
from mbt.viewer.clock import Clock
from mbt.viewer.controls import make_controls
from mbt.viewer.films import Film
from mbt.viewer.stage import FIELD_OF_VIEW, find_ground, place_camera, round_down
from support.pictures import LIMIT, pendulum

# Sliders.


def test_controls_are_the_coordinates_with_their_limits() -> None:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    controls = make_controls(tree, 1.0)
    assert [c.label for c in controls] == [
        "waist",
        "shoulder",
        "elbow",
        "wrist_roll",
        "wrist_pitch",
        "tool_roll",
    ]
    lower, upper = tree.position_lower_limits[:5], tree.position_upper_limits[:5]
    np.testing.assert_array_equal([c.lower for c in controls[:5]], lower)
    np.testing.assert_array_equal([c.upper for c in controls[:5]], upper)
    assert (controls[5].lower, controls[5].upper) == (-math.pi, math.pi), "no limits: a turn"
    assert {c.unit for c in controls} == {"rad"}
    q = np.zeros(6)
    for i, control in enumerate(controls):
        control.put(q, 0.1 * i)
        assert control.get(q) == 0.1 * i
    np.testing.assert_array_equal(q, 0.1 * np.arange(6))


def test_a_free_body_is_turned_by_roll_pitch_and_yaw() -> None:
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 1, 1, 1)))
    tree.finalize()
    controls = make_controls(tree, 2.0)
    assert [c.label for c in controls] == [f"box {c}" for c in ("roll", "pitch", "yaw", "x", "y", "z")]
    assert [c.upper for c in controls] == [math.pi, math.pi / 2, math.pi, 2.0, 2.0, 2.0]
    q = np.array(tree.default_positions)
    values = [0.3, -0.4, 0.5, 1.0, 2.0, -1.0]
    for control, value in zip(controls, values, strict=True):
        control.put(q, value)
    np.testing.assert_allclose([control.get(q) for control in controls], values, atol=1e-14)
    expected = mbt.math.make_pose(values[3:], rpy=values[:3])
    np.testing.assert_allclose(mbt.functional.frame_pose(tree, q, tree.bodies[1]), expected, atol=1e-14)


def test_sliders_stay_within_limits_and_have_steps_that_can_be_read() -> None:
    [control] = make_controls(pendulum(), 1.0)
    assert control.digits == 3
    assert [control.round(value) for value in (-9.0, 9.0, 0.12345)] == [-LIMIT, LIMIT, 0.123]
    arm = make_controls(mbt.load_model(mbt.models.model_path("mbt_arm")), 1.0)[5]
    assert arm.round(math.pi) == 3.141 <= arm.upper


# Films.


def test_a_film_is_the_trajectory_at_its_samples_and_goes_straight_between() -> None:
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 1, 1, 1)))
    tree.finalize()
    start = [1, 0, 0, 0, 0, 0, 0]
    half_turn = [math.cos(0.5), 0, 0, math.sin(0.5), 2, 0, 0]
    film = Film(tree, [start, half_turn], dt=2.0)
    assert film.duration == 2.0
    for elapsed, angle in ((0.0, 0.0), (0.5, 0.25), (1.0, 0.5), (2.0, 1.0), (-1.0, 0.0), (9.0, 1.0)):
        q, v = film.at(elapsed)
        expected = [math.cos(angle / 2), 0, 0, math.sin(angle / 2), 2 * angle, 0, 0]
        np.testing.assert_allclose(q, expected, atol=1e-14)
        np.testing.assert_allclose(v, [0, 0, 0.5, 1, 0, 0], atol=1e-14)


def test_a_film_of_a_trajectory(tmp_path: object) -> None:
    tree = pendulum()
    context = tree.create_default_context()
    context.q, context.time = [0.5], 3.0
    trajectory = mbt.simulate(tree, context, 0.2, 0.01)
    film = Film(tree, trajectory)
    for i in range(len(trajectory)):
        q, v = film.at(trajectory.time[i] - 3.0)
        np.testing.assert_allclose(q, trajectory.q[i], atol=1e-12)
        np.testing.assert_allclose(v, trajectory.v[i], atol=1e-12)
    trajectory.save(f"{tmp_path}/swing.npz")
    loaded = Film(tree, mbt.Trajectory.load(f"{tmp_path}/swing.npz"))
    np.testing.assert_array_equal(loaded.at(0.055)[0], film.at(0.055)[0])


def test_films_of_batches_and_of_one_moment() -> None:
    tree = pendulum()
    q = np.arange(6.0).reshape(2, 3, 1)
    np.testing.assert_allclose(Film(tree, q, dt=1.0).at(1.5)[0], [[1.5], [4.5]])
    still = Film(tree, [[0.3]], dt=1.0)
    assert (still.duration, still.at(5.0)[0].tolist(), still.at(0.0)[1].tolist()) == (0.0, [0.3], [0.0])


def test_films_that_cannot_be() -> None:
    tree = pendulum()
    trajectory = mbt.simulate(tree, tree.create_default_context(), 0.1)
    with pytest.raises(mbt.ArgumentTypeError, match=r"expected an mbt\.Trajectory, or an array"):
        Film(tree, [[0.0]])
    with pytest.raises(mbt.ArgumentValueError, match="has its own times"):
        Film(tree, trajectory, 0.1)
    with pytest.raises(mbt.ShapeError, match="trajectory: expected shape"):
        Film(tree, [[0.0, 1.0]], 0.1)
    with pytest.raises(mbt.ShapeError, match="one sample or more"):
        Film(tree, np.empty((0, 1)), 0.1)
    for batch in ((0,), (2, 0)):
        nothing = mbt.simulate(tree, tree.create_default_context(batch), 0.1, method="implicit")
        for arguments in ((nothing,), (nothing.q, 0.1)):
            with pytest.raises(mbt.ShapeError, match="one sample or more"):
                Film(tree, *arguments)
    with pytest.raises(mbt.ArgumentValueError, match="dt"):
        Film(tree, [[0.0]], 0.0)
    with pytest.raises(mbt.ArgumentValueError, match="one of this tree"):
        Film(mbt.load_model(mbt.models.model_path("mbt_arm")), trajectory)


# The clock.


def test_the_clock_loops_or_stops() -> None:
    clock = Clock()
    clock.duration, clock.speed = 2.0, 0.5
    assert clock.advance(0.0) is None
    clock.start(10.0)
    assert clock.advance(11.0) == 0.5
    assert clock.advance(15.0) == 0.5, "of 2.5 s, 2 are over"
    clock.loops = False
    assert clock.advance(99.0) == 2.0
    assert not clock.is_running
    assert clock.advance(100.0) is None, "nothing new to draw"
    clock.start(100.0)
    assert clock.advance(101.0) == 0.5, "from the beginning"
    clock.set(9.0)
    assert clock.elapsed == 2.0


# Ground and camera.


def test_the_ground_is_at_zero_unless_a_model_hangs_below_it() -> None:
    cube = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0.0, 1.0)])
    assert find_ground(cube, has_contacts=False) == 0.0
    assert find_ground(cube + np.array([0, 0, 5]), has_contacts=False) == 0.0
    assert find_ground(cube - np.array([0, 0, 0.4]), has_contacts=False) == -0.4
    assert find_ground(cube - np.array([0, 0, 0.4]), has_contacts=True) == 0.0


@pytest.mark.parametrize(
    ("length", "cell"), [(1.0, 1.0), (0.99, 0.5), (0.21, 0.2), (4.9, 2.0), (0.0012, 0.001)]
)
def test_cells_of_the_ground_are_round(length: float, cell: float) -> None:
    assert round_down(length) == pytest.approx(cell)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("shape", [(1.0, 1.0, 1.0), (0.1, 0.1, 2.0), (5.0, 1.0, 0.1), (0.2, 4.0, 0.2)])
def test_everything_is_in_the_picture_and_fills_it(size: float, shape: tuple[float, float, float]) -> None:
    corners = size * np.array(shape) * [[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)] + [1, 2, 3]
    position, look_at, distance = place_camera(corners)
    z = (position - look_at) / distance
    assert np.linalg.norm(z) == pytest.approx(1.0)
    assert z[2] > 0.2, "from above"
    x = np.cross([0, 0, 1], z)
    x /= np.linalg.norm(x)
    seen = (corners - position) @ np.stack([x, np.cross(z, x), z]).T
    places = abs(seen[:, :2]) / -seen[:, 2:] / math.tan(FIELD_OF_VIEW / 2)
    assert (seen[:, 2] < 0).all()
    assert 0.6 < places.max() < 1.0
