"""``mbt identify`` as a user sees it: report, files, messages, exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.cli import main
from mbt.identification import design_excitation
from mbt.models import model_path

pytest.importorskip("scipy", reason="needs the extra `sim`: pip install '.[sim]'")

ARM = str(model_path("mbt_arm"))
FITTED = ("--friction", "viscous+coulomb", "--rotors")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Write a log of an arm with a heavier forearm; return its path and that arm."""
    tree = mbt.load_model(ARM)
    real = tree.edit()
    forearm = real.get_body_by_name("forearm")
    M = forearm.default_spatial_inertia
    forearm.set_default_spatial_inertia(mbt.SpatialInertia(1.3 * M.mass, M.com, M.unit_inertia))
    real.finalize()
    design = design_excitation(tree, starts=1, steps=3, rng=0)
    time = np.arange(0.0, design.period, 0.005)
    q, v, vdot = design.evaluate(time)
    context = real.create_default_context(batch_shape=time.shape)
    context.q, context.v = q, v
    tau = real.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    tau += 0.05 * np.random.default_rng(0).normal(size=tau.shape)
    names = ["time", *(f"tau.{x}" for x in tree.velocity_names), *(f"q.{x}" for x in tree.position_names)]
    path = tmp_path_factory.mktemp("log") / "log.csv"
    table = np.column_stack([time, tau, q])
    np.savetxt(path, table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    return path, real


def run(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> tuple[str, str]:
    assert main(["identify", ARM, *map(str, arguments)]) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_a_log(log: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, real = log
    out, err = run(capsys, path, *FITTED, "--save", tmp_path / "found.urdf")
    assert "URDF cannot hold all of this model" in err
    assert "base parameters of" in out
    assert "warning" not in out
    found = mbt.load_model(tmp_path / "found.urdf")
    rng = np.random.default_rng(1)
    q = np.array([real.random_positions(rng) for _ in range(20)])
    weights = [
        mbt.functional.gravity_generalized_forces(tree, q) for tree in (real, found, mbt.load_model(ARM))
    ]
    assert np.abs(weights[1] - weights[0]).max() < 0.03 * np.abs(weights[2] - weights[0]).max()


def test_for_programs(log: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path, real = log
    value = json.loads(run(capsys, path, *FITTED, "--robust", "--json")[0])
    assert value["model"] == "mbt_arm"
    assert list(value["noise"]) == list(real.velocity_names)
    assert all(abs(noise - 0.05) < 0.01 for noise in value["noise"].values())
    assert set(value["friction"]) == {"viscous", "coulomb"}
    assert value["warnings"] == []
    assert {"name", "described", "found", "standard_error"} == set(value["base_parameters"][0])
    assert set(value["masses"]) == {body.name for body in real.bodies[1:]}


def test_a_doubtful_log(log: Any, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, log[0], *FITTED, "--delay", "-0.02", code=1)
    assert "warning: the forces seem to come" in out


def test_a_solver_of_an_extra(
    log: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "clarabel", None)
    _, err = run(capsys, log[0], "--solver", "clarabel", code=2)
    assert "multibodytree[identification]" in err


def test_a_picture(log: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `plot`: pip install '.[plot]'")
    run(capsys, log[0], *FITTED, "--plot", tmp_path / "fit.png")
    assert (tmp_path / "fit.png").read_bytes().startswith(b"\x89PNG")


def test_logs_that_cannot_be_read(log: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = log[0].read_text().splitlines()
    path = tmp_path / "log.csv"
    for lines, message in (
        ([], "has no column 'time', 'q.waist_q', "),
        (
            [text[0].replace("q.elbow_q", "elbow"), *text[1:]],
            "has no column 'q.elbow_q'; expected a first line",
        ),
        (
            [*text[:3], text[3].replace(",", ",x", 1)],
            f"line 4 of '{path}': expected a number in each of 13 columns",
        ),
        ([*text[:3], "1.0,2.0"], f"line 4 of '{path}': expected a number in each of 13 columns"),
        (text[:10], "the log is too short"),
    ):
        path.write_text("\n".join([*lines, "", ""]))
        assert message in run(capsys, path, code=2)[1]
    assert "cannot be read" in run(capsys, tmp_path / "none.csv", code=2)[1]
    assert "friction" in run(capsys, log[0], "--friction", "sticky", code=2)[1]
