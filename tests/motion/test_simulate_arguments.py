"""What `simulate` refuses, and its messages."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import mbt
from motion.moving_models import pendulum, state_of, tumbling_bodies


def wrong_terminal(time: float, q: Any, v: Any) -> float:
    return 1.0


wrong_terminal.terminal = "yes"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"method": "euler"}, mbt.ArgumentValueError, "method: expected one of 'semi_implicit_euler'"),
        ({"method": []}, mbt.ArgumentValueError, "method: expected one of"),
        ({"method": 4}, mbt.ArgumentValueError, "method: expected one of"),
        ({"duration": 0}, mbt.ArgumentValueError, "duration: expected a finite number > 0, got 0"),
        ({"duration": np.inf}, mbt.ArgumentValueError, "duration: expected a finite number"),
        ({"dt": -0.1}, mbt.ArgumentValueError, "dt: expected a finite number > 0, got -0.1"),
        ({"dt": 1e-300}, mbt.ArgumentValueError, "dt: 1e-300 s is too short for a duration of"),
        ({"dt": True}, mbt.ArgumentTypeError, "dt: expected a number, got True"),
        ({"duration": np.True_}, mbt.ArgumentTypeError, "duration: expected a number, got True"),
        ({"events": lambda t, q, v: q[0] > 1.0}, mbt.ArgumentTypeError, r"events\[0\]: expected a number"),
        ({"every": 0}, mbt.ArgumentValueError, "every: expected an integer >= 1, got 0"),
        ({"rtol": 0.0}, mbt.ArgumentValueError, "rtol: expected a finite number > 0"),
        ({"control": np.zeros((99, 1))}, mbt.ShapeError, r"expected shape \(100, 1\), a row for each step"),
        ({"control": np.zeros(2)}, mbt.ShapeError, r"or \(1,\), got \(2,\)"),
        ({"control": [np.nan]}, mbt.ArgumentValueError, "control: expected finite numbers"),
        ({"control": "hold"}, mbt.ArgumentTypeError, "control"),
        ({"control": lambda t, q, v: [1.0, 2.0]}, mbt.ShapeError, r"of control: expected shape \(1,\)"),
        ({"events": 3}, mbt.ArgumentTypeError, r"events: expected functions event\(time"),
        ({"events": [3]}, mbt.ArgumentTypeError, r"events\[0\]: expected a function event\(time"),
        ({"events": wrong_terminal}, mbt.ArgumentValueError, r"events\[0\].terminal: expected True, False"),
        ({"events": lambda t, q, v: "no"}, mbt.ArgumentTypeError, r"the result of events\[0\]"),
        ({"limit_efforts": 2}, mbt.ArgumentTypeError, "limit_efforts"),
        ({"progress": 1}, mbt.ArgumentTypeError, "progress: expected True, False or a function"),
        ({"context": None}, mbt.ArgumentTypeError, "context: expected a Context"),
        ({"context": pendulum().create_default_context()}, mbt.ContextMismatchError, "expected a Context of"),
        ({"tree": None}, mbt.ArgumentTypeError, "tree: expected a MultibodyTree, got NoneType"),
    ],
)  # fmt: skip
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    tree = pendulum()
    good = {"tree": tree, "context": tree.create_default_context(), "duration": 0.1}
    with pytest.raises(error, match=message):
        mbt.simulate(**{**good, **arguments})


def test_batches_that_are_refused() -> None:
    tree = pendulum()
    batch = tree.create_default_context(3)
    with pytest.raises(mbt.ArgumentValueError, match=r"method: 'RK45' takes one state, got a batch \(3,\)"):
        mbt.simulate(tree, batch, 0.1, method="RK45")
    with pytest.raises(mbt.ArgumentValueError, match="events: expected none in a batch"):
        mbt.simulate(tree, batch, 0.1, events=lambda t, q, v: q[0])
    batch.time = [0.0, 1.0, 2.0]
    with pytest.raises(
        mbt.ArgumentValueError, match=r"context\.time: expected the same in all samples, got 0 to 2"
    ):
        mbt.simulate(tree, batch, 0.1)


def test_states_that_are_refused() -> None:
    tree = pendulum()
    context = tree.create_default_context()
    context.v = [np.nan]
    with pytest.raises(mbt.ArgumentValueError, match=r"context\.v: expected finite numbers, got"):
        mbt.simulate(tree, context, 0.1)
    twin = tree.to_autodiff()
    with pytest.raises(mbt.ArgumentTypeError, match="expected a tree of doubles, got one of 'autodiff'"):
        mbt.simulate(twin, twin.create_default_context(), 0.1)
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("feather", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, body, None, axis=[1, 0, 0])
    tree.finalize()
    with pytest.raises(mbt.SingularityError, match="slide"):
        mbt.simulate(tree, tree.create_default_context(), 0.1)


@pytest.mark.parametrize(
    ("package", "extra", "use"),
    [
        ("scipy", "sim", lambda tree, context: mbt.simulate(tree, context, 0.1, method="RK45")),
        ("matplotlib", "plot", lambda tree, context: mbt.simulate(tree, context, 0.1).plot()),
        ("pandas", "tables", lambda tree, context: mbt.simulate(tree, context, 0.1).to_dataframe()),
        ("xarray", "tables", lambda tree, context: mbt.simulate(tree, context, 0.1).to_xarray()),
    ],
)
def test_packages_that_are_not_there(
    package: str, extra: str, use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    tree = pendulum()
    with pytest.raises(mbt.MissingPackageError, match=rf"pip install 'multibodytree\[{extra}\]'"):
        use(tree, tree.create_default_context())


@pytest.mark.parametrize("method", ["rk4", "RK45"])
def test_an_error_of_a_control_function_reaches_its_author(method: str) -> None:
    tree = tumbling_bodies()
    context = state_of(tree)

    def control(time: float, q: Any, v: Any) -> Any:
        return {}["gain"]

    pytest.importorskip("scipy", reason="needs the extra `sim`: pip install '.[sim]'")
    with pytest.raises(KeyError, match="gain"):
        mbt.simulate(tree, context, 0.1, method=method, control=control)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
@pytest.mark.parametrize(
    "control", [lambda time: 0.0, lambda time, q, v: {}["torque"]], ids=["takes one", "fails"]
)
def test_errors_of_a_control_tell_where_they_are(method: str, control: Any) -> None:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    with pytest.raises((TypeError, KeyError)) as caught:
        mbt.simulate(tree, tree.create_default_context(), 0.01, method=method, control=control)
    assert caught.value.__notes__ == ["in control(time, q, v) at 0 s"]


def test_a_time_that_does_not_move() -> None:
    tree = pendulum()
    context = tree.create_default_context()
    for time in (1e300, -1e14, 1e13):
        context.time = time
        with pytest.raises(
            mbt.ArgumentValueError, match=r"context\.time: expected a time at which steps of dt"
        ):
            mbt.simulate(tree, context, 0.01)
    context.time = 1.7e9  # today's clock time
    trajectory = mbt.simulate(tree, context, 0.01)
    assert (np.diff(trajectory.time) > 0.0).all()


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
@pytest.mark.parametrize("control", [None, lambda t, q, v: 0.0 * v], ids=["none", "function"])
def test_an_empty_batch(shape: tuple[int, ...], control: Any) -> None:
    for tree in (pendulum(), tumbling_bodies(user_written=True)):
        batch = tree.create_default_context(shape)
        trajectory = mbt.simulate(tree, batch, 0.01, control=control)
        assert trajectory.q.shape == (*shape, 11, tree.num_positions)
        assert trajectory.vdot.shape == trajectory.v.shape
        assert trajectory.energy.total.shape == trajectory.work.shape == (*shape, 11)
        assert trajectory.final_context.v.shape == (*shape, tree.num_velocities)


def test_errors_of_a_solver_are_not_taken_for_numbers_that_are_not_finite(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    integrate = pytest.importorskip("scipy.integrate")
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))

    def run(text: str, value: float) -> mbt.Trajectory:
        def step(solver: Any) -> None:
            solver.y = np.full_like(solver.y, value)
            raise ValueError(text)

        monkeypatch.setattr(integrate.RK45, "step", step)
        return mbt.simulate(tree, tree.create_default_context(), 0.1, method="RK45")

    # The values decide, not the message.
    with pytest.raises(ValueError, match="infs or NaNs"):
        run("array must not contain infs or NaNs", 1.0)
    for value in (np.nan, np.inf, 1e200):
        with pytest.warns(mbt.SimulationWarning, match="not finite"):
            assert run("of another kind", value).status == "failed"
