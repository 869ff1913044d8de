"""Events are located exactly, reported once, and can end a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from motion.moving_models import falling_body, pendulum
from motion.test_simulate import exact_pendulum

METHODS = ["rk4", "RK45"]


def event(function: Any, terminal: Any = False, direction: float = 0.0) -> Any:
    def own(time: float, q: np.ndarray, v: np.ndarray) -> Any:
        return function(time, q, v)

    own.terminal, own.direction = terminal, direction  # type: ignore[attr-defined]
    return own


@pytest.fixture
def swing() -> tuple[mbt.MultibodyTree, mbt.Context]:
    tree = pendulum()
    context = tree.create_default_context()
    context.q = [1.0]
    return tree, context


@pytest.fixture(params=[False, True], ids=["no control", "control"])
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Known forces and control functions take different code paths."""
    return {"control": lambda t, q, v: 0.0 * v} if request.param else {}


@pytest.mark.parametrize("method", METHODS)
def test_passages_of_a_pendulum(method: str, swing: Any, options: Any) -> None:
    """At a quarter of the period, then every half; alternately from either side."""
    tree, context = swing
    from scipy.special import ellipk

    quarter = float(ellipk(np.sin(0.5) ** 2) / np.sqrt(9.81 / 0.5))
    passages = [event(lambda t, q, v: q[0], direction=d) for d in (0, 1, -1)]
    turns = event(lambda t, q, v: v[0])
    trajectory = mbt.simulate(
        tree, context, 3.0, method=method, events=[*passages, turns], rtol=1e-9, atol=1e-11, **options
    )
    assert trajectory.status == "completed"
    both, rising, falling, turning = trajectory.events
    count = int((3.0 / quarter + 1.0) / 2.0)
    np.testing.assert_allclose(both.time, quarter * (2.0 * np.arange(count) + 1.0), atol=1e-7)
    np.testing.assert_array_equal(falling.time, both.time[::2])
    np.testing.assert_array_equal(rising.time, both.time[1::2])
    assert (falling.v < 0.0).all()
    assert (rising.v > 0.0).all()
    np.testing.assert_allclose(both.q, 0.0, atol=1e-14)
    # The initial rest is not a crossing.
    np.testing.assert_allclose(turning.time, quarter * 2.0 * np.arange(1, turning.time.size + 1), atol=1e-6)
    assert turning.time.size == int(3.0 / quarter / 2.0)
    np.testing.assert_allclose(exact_pendulum(turning.time, 1.0), turning.q[:, 0], atol=1e-7)


@pytest.mark.parametrize("method", ["semi_implicit_euler", *METHODS])
def test_a_terminal_event_ends_the_simulation(method: str, options: Any) -> None:
    tree = falling_body(gravity=10.0)
    context = tree.create_default_context()
    context.v = [0.1, 0.2, 0.3, 0.0, 0.0, 2.0]
    hits = event(lambda t, q, v: q[6] + 1.0, terminal=True)
    trajectory = mbt.simulate(tree, context, 5.0, 0.01, method=method, events=hits, every=7, **options)
    assert (trajectory.status, len(trajectory.events[0].time)) == ("event", 1)
    assert trajectory.message.startswith("events[0] at 0.6")
    end = (2.0 + np.sqrt(24.0)) / 10.0
    assert trajectory.time[-1] == trajectory.events[0].time[0] == pytest.approx(end, abs=0.01)
    if method != "semi_implicit_euler":
        assert trajectory.time[-1] == pytest.approx(end, abs=1e-12)
        np.testing.assert_allclose(trajectory.q[-1, 6], -1.0, atol=1e-13)
        np.testing.assert_allclose(trajectory.v[-1, 5], 2.0 - 10.0 * end, atol=1e-12)
    np.testing.assert_array_equal(trajectory.q[-1], trajectory.events[0].q[0])
    assert trajectory.q[-1, 6] <= -1.0
    np.testing.assert_allclose(trajectory.time[:-1], 0.07 * np.arange(len(trajectory) - 1), atol=1e-15)
    assert trajectory.tau.shape == trajectory.v.shape
    # Continuing from there does not find the same crossing again.
    rest = mbt.simulate(tree, trajectory.final_context, 0.1, 0.01, method=method, events=hits, **options)
    assert (rest.status, rest.events[0].time.size) == ("completed", 0)


@pytest.mark.parametrize("method", METHODS)
def test_a_number_of_passages(method: str, swing: Any, options: Any) -> None:
    tree, context = swing
    third = event(lambda t, q, v: q[0], terminal=np.int64(3))
    trajectory = mbt.simulate(tree, context, 9.0, method=method, events=[third], **options)
    assert trajectory.events[0].time.size == 3
    assert trajectory.time[-1] == trajectory.events[0].time[-1]


@pytest.mark.parametrize("method", METHODS)
def test_the_first_of_several_in_one_step_ends_it(method: str, swing: Any, options: Any) -> None:
    tree, context = swing
    events = [event(lambda t, q, v, at=at: t - at, terminal=at != 0.0107) for at in (0.0115, 0.0107, 0.0112)]
    trajectory = mbt.simulate(tree, context, 1.0, 0.01, method=method, events=events, **options)
    assert trajectory.time[-1] == pytest.approx(0.0112, abs=1e-15)
    assert trajectory.message == "events[2] at 0.0112 s"
    assert [found.time.size for found in trajectory.events] == [0, 1, 1]


def test_nobody_sees_what_lies_behind_the_end(swing: Any) -> None:
    tree, context = swing
    times = []

    def control(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        times.append(time)
        return 0.0 * v

    end = event(lambda t, q, v: t - 0.0305, terminal=True)
    trajectory = mbt.simulate(tree, context, 1.0, control=control, events=end)
    assert trajectory.time[-1] == pytest.approx(0.0305, abs=1e-15)
    assert max(times) == pytest.approx(0.030)
    assert trajectory.num_steps == 31


def test_events_find_nothing(swing: Any) -> None:
    tree, context = swing
    trajectory = mbt.simulate(tree, context, 0.1, events=event(lambda t, q, v: 1.0, terminal=True))
    [found] = trajectory.events
    assert (found.time.shape, found.q.shape, found.v.shape) == ((0,), (0, 1), (0, 1))


@pytest.mark.parametrize("method", ["rk4", "RK45"])
@pytest.mark.parametrize("scale", [1e-170, -1e-300, 1e170])
def test_small_and_large_functions_are_located_as_well(method: str, scale: float) -> None:
    tree = pendulum()
    context = tree.create_default_context()
    context.q = [0.5]
    events = [lambda t, q, v: q[0], lambda t, q, v: scale * q[0]]
    trajectory = mbt.simulate(tree, context, 2.0, 0.05, method=method, events=events)
    one, other = trajectory.events
    assert one.time.size > 1
    np.testing.assert_array_equal(one.time, other.time)
