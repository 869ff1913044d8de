"""Trajectories: quantities derived from the states, parts, files, tables, drawings."""

from __future__ import annotations

import csv
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from motion.moving_models import pendulum, state_of, tumbling_bodies


@pytest.fixture(scope="module")
def driven() -> mbt.Trajectory:
    """A motion with damping, an applied force, and a control that changes each step."""
    tree = tumbling_bodies(0.1)
    context = state_of(tree)
    context.applied_forces.body_forces[2] = [0.1, -0.2, 0.1, 0.3, 0.2, -0.1]
    context.actuation = [0.1]
    return mbt.simulate(tree, context, 0.5, method="rk4", control=lambda t, q, v: np.sin(9.0 * t) - 0.2 * v)


def test_energies_and_accelerations_are_those_of_the_tree(driven: mbt.Trajectory) -> None:
    tree = tumbling_bodies(0.1)
    context = state_of(tree)
    context.applied_forces.body_forces[2] = [0.1, -0.2, 0.1, 0.3, 0.2, -0.1]
    for i in (0, 137, 500):
        sample = driven[i]
        context.q, context.v = sample.q, sample.v
        np.testing.assert_allclose(driven.vdot[i], tree.calc_forward_dynamics(context, sample.tau), rtol=1e-9)
        assert driven.energy.kinetic[i] == pytest.approx(tree.calc_kinetic_energy(context), rel=1e-12)
        assert driven.energy.potential[i] == pytest.approx(tree.calc_potential_energy(context), rel=1e-12)
        context.applied_forces.generalized_forces = sample.tau
        power = tree.calc_energy_report(context).non_conservative_power
        assert driven.power[i] == pytest.approx(power, rel=1e-9)
        context.applied_forces.generalized_forces = np.zeros(10)
    total = driven.energy.kinetic + driven.energy.potential
    np.testing.assert_array_equal(driven.energy.total, total)


def test_work_is_the_change_of_energy() -> None:
    """To second order if forces change each step, and fourth order if not."""
    tree = tumbling_bodies(0.3)
    context = state_of(tree)
    context.applied_forces.body_forces[2] = [0.1, -0.2, 0.1, 0.3, 0.2, -0.1]
    forces: list[tuple[Any, float]] = [
        (lambda t, q, v: np.sin(9.0 * t) - 0.2 * v, 2.0),
        (np.linspace(-0.2, 0.3, 10), 4.0),
    ]
    for control, order in forces:
        drifts = []
        for dt in (0.01, 0.005):
            trajectory = mbt.simulate(tree, context, 0.4, dt, method="rk4", control=control)
            assert np.ptp(trajectory.work) > 0.1
            assert trajectory.work[0] == trajectory.energy_drift[0] == 0.0
            gain = trajectory.energy.total - trajectory.energy.total[0]
            np.testing.assert_allclose(gain - trajectory.work, trajectory.energy_drift, atol=1e-13)
            drifts.append(abs(trajectory.energy_drift).max())
        assert drifts[0] < 1e-3
        assert np.log2(drifts[0] / drifts[1]) == pytest.approx(order, abs=0.5)


def test_work_of_a_solver_that_asks_continuously() -> None:
    tree = tumbling_bodies(0.3)
    trajectory = mbt.simulate(
        tree, state_of(tree), 0.1665, 1e-3, method="DOP853",
        control=lambda t, q, v: np.cos(5.0 * t) - 0.1 * v, rtol=1e-9, atol=1e-11,
    )  # fmt: skip
    assert abs(trajectory.work[-1]) > 0.1
    np.testing.assert_allclose(trajectory.energy_drift[:-1], 0.0, atol=1e-8)
    # The last step is shorter, so its work comes from the trapezoidal rule.
    np.testing.assert_allclose(trajectory.energy_drift[-1], 0.0, atol=1e-6)


@pytest.mark.parametrize(("method", "most"), [("rk4", 1e-9), ("DOP853", 1e-9), ("semi_implicit_euler", 0.3)])
def test_the_energy_of_a_passive_model(method: str, most: float) -> None:
    tree = tumbling_bodies()
    trajectory = mbt.simulate(tree, state_of(tree), 2.0, method=method, rtol=1e-11, atol=1e-12)
    assert not trajectory.work.any()
    drift = abs(trajectory.energy_drift)
    assert drift[0] == 0.0
    assert 1e-16 < drift.max() < most
    if method == "semi_implicit_euler":
        assert drift.max() > 1e-3


def test_samples_and_parts(driven: mbt.Trajectory) -> None:
    assert len(driven) == 501
    time, q, v, tau = driven[-1]
    assert time == driven.time[-1] == pytest.approx(0.5)
    for array, whole in ((q, driven.q), (v, driven.v), (tau, driven.tau)):
        np.testing.assert_array_equal(array, whole[-1])
    part = driven[100:400:50]
    assert isinstance(part, mbt.Trajectory)
    np.testing.assert_array_equal(part.time, driven.time[100:400:50])
    np.testing.assert_allclose(part.vdot, driven.vdot[100:400:50], rtol=1e-12)
    np.testing.assert_allclose(part.energy.total, driven.energy.total[100:400:50], rtol=1e-13)
    np.testing.assert_array_equal(part.final_context.q, driven.q[350])
    with pytest.raises(mbt.ElementIndexError, match=r"trajectory\[501\]: there are 501 samples"):
        driven[501]
    for wrong in ("q", [1, 2], driven.time > 0.2, 1.0):
        with pytest.raises(mbt.ArgumentTypeError, match=r"trajectory\[\.\.\.\]: expected an int or a slice"):
            driven[wrong]  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        driven.q[0, 0] = 1.0
    assert driven[7:7].energy.total.shape == (0,)
    assert repr(driven[7:7]) == "<Trajectory of 0 samples, rk4, completed>"
    assert repr(driven) == "<Trajectory of 501 samples, 0 to 0.5 s, rk4, completed>"


def test_samples_of_a_batch() -> None:
    tree = tumbling_bodies(0.1)
    batch = tree.create_default_context((2, 2))
    batch.v = np.random.default_rng(0).normal(size=(2, 2, 10))
    trajectory = mbt.simulate(tree, batch, 0.02, method="semi_implicit_euler")
    assert repr(trajectory).endswith("semi_implicit_euler, completed, batch_shape=(2, 2)>")
    assert [len(part) for part in (trajectory, trajectory[::5])] == [21, 5]
    np.testing.assert_array_equal(trajectory.sample((-1, 0)).q, trajectory.q[1, 0])
    np.testing.assert_array_equal(trajectory[::5].sample((1, 0)).q, trajectory.q[1, 0, ::5])
    q, v = trajectory.interpolate([0.0105, 0.02])
    assert (q.shape, v.shape) == ((2, 2, 2, 11), (2, 2, 2, 10))
    one, _ = trajectory.sample((0, 1)).interpolate(0.0105)
    np.testing.assert_allclose(q[0, 1, 0], one, atol=1e-13)
    for index in ((2, 0), (0,), 1, (0, -3)):
        with pytest.raises(mbt.ElementIndexError, match=r"expected an index into the batch \(2, 2\)"):
            trajectory.sample(index)
    for nothing in (None, "a", 1.5, (0, 1.0)):
        with pytest.raises(mbt.ArgumentTypeError, match=r"expected an index into the batch \(2, 2\)"):
            trajectory.sample(nothing)
    for use in (trajectory.to_dataframe, trajectory.plot, lambda: trajectory.save("a.csv")):
        with pytest.raises(mbt.ArgumentValueError, match=r"expected one state, got a batch \(2, 2\)"):
            use()


def test_interpolation() -> None:
    """Fourth order, on the group: half the sample spacing gives a sixteenth of the error."""
    tree = tumbling_bodies()
    fine = mbt.simulate(tree, state_of(tree), 0.96, method="rk4")
    times = fine.time[7:-7]
    errors = []
    for every in (80, 40):
        q, v = fine[::every].interpolate(times)
        errors.append(abs(functional.difference_positions(tree, q, fine.q[7:-7])).max())
        np.testing.assert_allclose(np.linalg.norm(q[:, :4], axis=1), 1.0, atol=1e-13)
        np.testing.assert_allclose(v, fine.v[7:-7], atol=5e-3)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.4)
    for i in (0, 80, 960):
        q, v = fine[::80].interpolate(fine.time[i])
        np.testing.assert_allclose(functional.difference_positions(tree, q, fine.q[i]), 0.0, atol=1e-14)
        np.testing.assert_allclose(v, fine.v[i], atol=1e-14)
    for time in (-0.1, 1.0, np.nan, [[0.1]]):
        with pytest.raises(mbt.ArgumentValueError, match="time: expected"):
            fine.interpolate(time)


def same(a: mbt.Trajectory, b: mbt.Trajectory) -> None:
    for name in ("time", "q", "v", "tau", "vdot", "power", "work", "num_limited", "energy"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for name in ("position_names", "velocity_names", "position_units", "velocity_units"):
        assert getattr(a, name) == getattr(b, name)
    for name in ("method", "status", "message", "num_steps"):
        assert getattr(a, name) == getattr(b, name)
    assert len(a.events) == len(b.events)
    for one, other in zip(a.events, b.events, strict=True):
        for array, peer in zip(one, other, strict=True):
            np.testing.assert_array_equal(array, peer)


def test_files(tmp_path: Path) -> None:
    tree = pendulum()
    context = tree.create_default_context()
    context.q = [1.0]
    events = [lambda t, q, v: q[0], lambda t, q, v: 1.0]
    trajectory = mbt.simulate(tree, context, 2.0, 0.01, events=events)
    path = tmp_path / "swing.npz"
    trajectory.save(path)
    loaded = mbt.Trajectory.load(path)
    same(loaded, trajectory)
    same(loaded[3:70].sample(()), trajectory[3:70])
    assert loaded.events[0].time.size > 1
    with pytest.raises(mbt.ArgumentValueError, match="final_context: a trajectory from a file has no tree"):
        _ = loaded.final_context
    loaded.save(tmp_path / "again.npz")
    same(mbt.Trajectory.load(tmp_path / "again.npz"), trajectory)
    same(pickle.loads(pickle.dumps(trajectory)), trajectory)
    with np.load(path) as file:
        np.testing.assert_array_equal(file["q"], trajectory.q)


def test_files_of_batches(tmp_path: Path) -> None:
    tree = pendulum()
    trajectory = mbt.simulate(tree, tree.create_default_context(3), 0.01)
    trajectory.save(tmp_path / "many.npz")
    same(mbt.Trajectory.load(tmp_path / "many.npz"), trajectory)


def test_tables_of_text(driven: mbt.Trajectory, tmp_path: Path) -> None:
    path = tmp_path / "driven.csv"
    driven[::100].save(path)
    header, *rows = csv.reader(path.read_text().splitlines())
    assert header[:3] == ["time", "q.first_qw", "q.first_qx"]
    assert header[-4:] == ["tau.hinge_w", "energy.kinetic", "energy.potential", "energy.total"]
    values = np.array(rows, dtype=float)
    np.testing.assert_array_equal(values[:, 0], driven.time[::100])
    np.testing.assert_array_equal(values[:, header.index("v.hinge_w")], driven.v[::100, 9])
    np.testing.assert_array_equal(values[:, -1], driven.energy.total[::100])


def test_files_that_cannot_be(driven: mbt.Trajectory, tmp_path: Path) -> None:
    with pytest.raises(mbt.ArgumentValueError, match=r"path: expected an \.npz or .csv file, got 'a.txt'"):
        driven.save("a.txt")
    with pytest.raises(mbt.ArgumentValueError, match="cannot be written"):
        driven.save(tmp_path / "no folder" / "a.npz")
    with pytest.raises(mbt.ArgumentTypeError, match="path: expected the path of a file, got int"):
        driven.save(3)
    with pytest.raises(mbt.ArgumentValueError, match="cannot be read: No such file"):
        mbt.Trajectory.load(tmp_path / "none.npz")
    good = tmp_path / "good.npz"
    driven[:3].save(good)
    with np.load(good) as file:
        arrays = dict(file)
    spoiled: list[dict[str, Any]] = [
        {**arrays, "format": np.array("mbt trajectory 0")},
        {**arrays, "q": arrays["q"][:, :-1]},
        {**arrays, "v": arrays["v"][:-1]},
        {name: array for name, array in arrays.items() if name != "tau"},
        {**arrays, "method": np.array([{}])},
    ]
    for i, content in enumerate(spoiled):
        np.savez(tmp_path / f"{i}.npz", **content)
    (tmp_path / "5.npz").write_text("no archive")
    (tmp_path / "6.npz").write_bytes(good.read_bytes()[:900])
    for i in range(7):
        with pytest.raises(mbt.ArgumentValueError, match=r"cannot be read: save\(\) did not write it"):
            mbt.Trajectory.load(tmp_path / f"{i}.npz")


def test_pandas(driven: mbt.Trajectory) -> None:
    pytest.importorskip("pandas", reason="needs the extra `tables`: pip install '.[tables]'")
    table = driven.to_dataframe()
    assert table.shape == (501, 11 + 3 * 10 + 3)
    assert table.index.name == "time"
    np.testing.assert_array_equal(table.index, driven.time)
    np.testing.assert_array_equal(table["q"], driven.q)
    np.testing.assert_array_equal(table["vdot", "hinge_w"], driven.vdot[:, 9])
    np.testing.assert_array_equal(table["energy"]["total"], driven.energy.total)


def test_xarray(driven: mbt.Trajectory) -> None:
    pytest.importorskip("xarray", reason="needs the extra `tables`: pip install '.[tables]'")
    data = driven.to_xarray()
    assert data.q.dims == ("time", "position")
    np.testing.assert_array_equal(data.q, driven.q)
    np.testing.assert_array_equal(data.tau.sel(velocity="hinge_w"), driven.tau[:, 9])
    assert data.position_unit.sel(position=["first_qw", "first_x", "hinge_q"]).values.tolist() == [
        "",
        "m",
        "rad",
    ]
    assert data.effort_unit.sel(velocity=["first_vx", "hinge_w"]).values.tolist() == ["N", "N m"]
    tree = pendulum()
    batch = mbt.simulate(tree, tree.create_default_context((2, 3)), 0.01).to_xarray()
    assert batch.v.dims == ("sample_0", "sample_1", "time", "velocity")
    assert batch.kinetic_energy.shape == (2, 3, 11)


def test_drawings(driven: mbt.Trajectory) -> None:
    figures = pytest.importorskip("matplotlib.figure", reason="needs the extra `plot`: pip install '.[plot]'")
    figure = driven.plot(figures.Figure())
    labels = ["quaternion", "position [m]", "angle [rad]", "velocity [rad/s]", "velocity [m/s]",
              "torque [N m]", "force [N]", "energy [J]"]  # fmt: skip
    assert [axes.get_ylabel() for axes in figure.axes] == labels
    assert figure.axes[-1].get_xlabel() == "time [s]"
    line = figure.axes[3].get_lines()[-1]
    assert line.get_label() == "hinge_w"
    np.testing.assert_array_equal(line.get_ydata(), driven.v[:, 9])
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == [
        "first_qw", "first_qx", "first_qy", "first_qz",
    ]  # fmt: skip
    tree = pendulum()
    passive = mbt.simulate(tree, tree.create_default_context(), 0.1).plot(figures.Figure())
    assert [axes.get_ylabel() for axes in passive.axes] == ["angle [rad]", "velocity [rad/s]", "energy [J]"]
    with pytest.raises(mbt.ArgumentTypeError, match="figure: expected one of matplotlib, got int"):
        driven.plot(3)


def test_a_notebook_shows_energies_that_nobody_has_asked_for(driven: mbt.Trajectory) -> None:
    """Energies are computed on display if there is a Context."""
    shown = driven._repr_html_()
    assert "[J]" in shown
    assert replace(driven, _known={})._repr_html_() == shown
    assert "[J]" not in replace(driven, _known={}, _context=None)._repr_html_()


def test_trees_without_motion() -> None:
    tree = mbt.MultibodyTree()
    tree.finalize()
    trajectory = mbt.simulate(tree, tree.create_default_context(), 0.01, method="rk4")
    assert (trajectory.q.shape, trajectory.vdot.shape, trajectory.energy.total.tolist()) == (
        (11, 0), (11, 0), [0.0] * 11,
    )  # fmt: skip
