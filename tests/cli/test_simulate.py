"""``mbt simulate`` as a user sees it: report, files, messages, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.cli import main
from mbt.models import model_path
from support.urdf_texts import joint, link, robot

ARM = str(model_path("mbt_arm"))


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert main(["simulate", ARM, *arguments]) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "--duration", "0.5", "--position", "elbow=0.4")
    assert err == ""
    lines = out.splitlines()
    assert lines[0].startswith("mbt_arm · ")
    assert lines[1] == "0.5 s in 500 steps (implicit): the duration is over"
    assert "times as fast as real time" in lines[2]
    assert lines[3].startswith("energy 74.1465 J → ")
    assert max(map(len, lines)) <= 100
    rows = {line.split()[0]: line.split()[1:] for line in lines[6:]}
    assert list(rows)[:2] == ["waist_q", "shoulder_q"]
    assert (rows["elbow_q"][0], rows["elbow_q"][-1]) == ("0.4", "rad")


def test_it_is_what_simulate_computes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "fall.npz"
    out, err = run(
        capsys, "--duration=0.3", "--dt=0.002", "--method=semi_implicit_euler", "--position=elbow=0.4",
        "--velocity=waist=-1", "--torque=waist=2.5", "--torque=shoulder=-3", "--save", str(target), "--json",
    )  # fmt: skip
    assert err == ""
    tree = mbt.load_model(ARM)
    context = tree.create_default_context()
    context.q = tree.q_from_dict({"elbow": 0.4})
    context.v = tree.v_from_dict({"waist": -1.0})
    control = tree.v_from_dict({"waist": 2.5, "shoulder": -3.0})
    trajectory = mbt.simulate(tree, context, 0.3, 0.002, method="semi_implicit_euler", control=control)
    saved = mbt.Trajectory.load(target)
    np.testing.assert_array_equal(saved.q, trajectory.q)
    report = json.loads(out)
    assert report["positions"] == dict(zip(tree.position_names, trajectory.q[-1].tolist(), strict=True))
    assert report["velocities"] == dict(zip(tree.velocity_names, trajectory.v[-1].tolist(), strict=True))
    assert report["work"] == trajectory.work[-1]
    assert report["energy_drift"] == abs(trajectory.energy_drift).max()
    assert (report["num_steps"], report["status"], report["method"]) == (
        150,
        "completed",
        "semi_implicit_euler",
    )
    assert report["duration"] == pytest.approx(0.3)
    assert report["real_time_factor"] == pytest.approx(report["duration"] / report["wall_time"])


def test_limits(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--duration=0.1", "--torque=waist=500")
    assert "clipped" not in run(capsys, *arguments, "--no-limit-efforts")[0]
    assert "clipped" not in run(capsys, *arguments, "--method=rk4")[0]
    for options in ((), ("--method=rk4", "--limit-efforts")):
        assert "effort of waist_w clipped in 100 steps" in run(capsys, *arguments, *options)[0]
    out, _ = run(capsys, *arguments, "--json")
    assert json.loads(out)["num_limited"] == {"waist_w": 100}


def test_a_free_base(capsys: pytest.CaptureFixture[str]) -> None:
    position = "--position=base=1,0,0,0,0,0,2"
    out, _ = run(capsys, "--base=floating", "--duration=0.2", position, "--method=rk4", "--json")
    assert json.loads(out)["positions"]["base_z"] == pytest.approx(2.0 - 0.5 * 9.81 * 0.04)


def test_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `plot`: pip install '.[plot]'")
    table, drawing = tmp_path / "fall.csv", tmp_path / "fall.png"
    run(capsys, "--duration=0.1", "--save", str(table), "--plot", str(drawing))
    assert len(table.read_text().splitlines()) == 102
    assert drawing.read_bytes().startswith(b"\x89PNG")
    _, err = run(capsys, "--duration=0.1", "--plot", str(tmp_path / "fall.abc"), code=2)
    assert err.startswith("mbt: --plot: ")
    assert "cannot be written" in err


def test_a_simulation_that_cannot_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--duration=3", "--dt=0.3", "--torque=waist=1e12", "--method=rk4")
    out, err = run(capsys, *arguments, code=2)
    assert "(rk4): after " in out
    assert err.startswith("mbt: after ")
    assert " s: the state is not finite: steps of 0.3 s are too long for body '" in err
    out, _ = run(capsys, *arguments, "--json", code=2)
    assert json.loads(out)["status"] == "failed"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--position", "elbo=1"], "There is no joint named 'elbo'. Did you mean 'elbow'?"),
        (["--position", "elbow"], "--position: expected JOINT=VALUE or JOINT=VALUE,VALUE,..., got 'elbow'"),
        (["--torque", "elbow=much"], "--torque: expected JOINT=VALUE or JOINT=VALUE,VALUE,..., got"),
        (["--torque=elbow=1", "--torque=elbow=2"], "--torque: expected each joint once, got 'elbow' twice"),
        (["--velocity", "elbow=1,2"], "elbow"),
        (["--duration", "0"], "duration: expected a finite number > 0, got 0"),
        (["--method", "euler"], "method: expected one of 'semi_implicit_euler', 'rk4'"),
        (["--save", "fall.txt"], "path: expected an .npz or .csv file, got 'fall.txt'"),
    ],
)  # fmt: skip
def test_messages(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, *arguments, code=2)
    assert out == ""
    assert err.startswith("mbt: ")
    assert message in err
    out, err = run(capsys, *arguments, "--json", code=2)
    assert message in json.loads(out)["error"]["message"]


def test_progress_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    _, err = run(capsys, "--duration=1")
    assert "26%" in err
    assert err.endswith("\r")


def test_a_model_that_cannot_move(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "stone.urdf"
    path.write_text("<robot name='stone'><link name='stone'/></robot>")
    assert main(["simulate", str(path)]) == 0
    assert "1 s in 1000 steps" in capsys.readouterr().out


def test_joints_that_mimic_others(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "gripper.urdf"
    mimic = '<axis xyz="0 0 1"/><mimic joint="left" multiplier="-2"/>'
    fingers = joint("left", "palm", "a"), joint("right", "palm", "b", inside=mimic)
    path.write_text(robot(link("palm"), link("a"), link("b"), *fingers))
    assert main(["simulate", str(path), "--torque", "left=0.1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["positions"]["right_q"] == pytest.approx(-2.0 * report["positions"]["left_q"], abs=1e-6)
    assert report["positions"]["left_q"] > 0.01
    q = report["positions"]
    error = abs(q["right_q"] + 2.0 * q["left_q"])
    assert error <= report["constraint_error"] + 1e-15 < 1e-6  # It is the largest of all steps.
    assert main(["simulate", str(path), "--torque", "left=0.1"]) == 0
    assert "largest error of a constraint " in capsys.readouterr().out


def test_missing_matplotlib(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    modules: dict[str, Any] = {"matplotlib": None, "matplotlib.figure": None}
    for name, module in modules.items():
        monkeypatch.setitem(__import__("sys").modules, name, module)
    _, err = run(capsys, "--plot", "fall.png", code=2)
    assert "--plot needs matplotlib: pip install 'multibodytree[plot]'" in err


def test_shapes_that_touch(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, target = tmp_path / "box.urdf", tmp_path / "rest.npz"
    file.write_text(
        '<robot name="box"><link name="box"><inertial><mass value="1"/>'
        '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'
        '<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link></robot>'
    )
    options = ["--base=floating", "--dt=0.005", "--save", str(target), "--contacts"]
    assert main(["simulate", str(file), *options, "--floor=-0.11"]) == 0
    assert "(implicit)" in capsys.readouterr().out
    depth = 9.81 / (4 * 1e5)
    assert mbt.Trajectory.load(target).q[-1, 6] == pytest.approx(-0.01 - depth, abs=1e-7)
    assert main(["simulate", str(file), *options]) == 2
    assert "--floor Z adds a floor" in capsys.readouterr().err
    assert main(["simulate", str(file), *options, "--floor=-0.11", "--method=rk4"]) == 2
    assert "method='implicit'" in capsys.readouterr().err
    for option in ("--floor=0", "--friction=0.5"):
        assert main(["simulate", str(file), option]) == 2
        assert f"{option[:7]}" in (err := capsys.readouterr().err)
        assert "expected --contacts" in err


@pytest.mark.parametrize(("options", "friction"), [([], 0.25), (["--friction=0.5"], 0.5)])
def test_friction_of_the_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], friction: float
) -> None:
    file = tmp_path / "box.sdf"
    file.write_text(
        """<sdf version="1.9"><model name="box"><link name="box">
        <inertial><mass>1</mass><inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia></inertial>
        <collision name="c"><geometry><box><size>0.2 0.2 0.2</size></box></geometry>
        <surface><friction><ode><mu>0.25</mu></ode></friction></surface></collision></link></model></sdf>"""
    )
    options = ["--contacts", "--floor=-0.1", "--dt=0.005", "--velocity=box=0,0,0,1,0,0", *options]
    assert main(["simulate", str(file), *options, "--json", "--duration=1"]) == 0
    report = capsys.readouterr().out
    assert json.loads(report)["positions"]["box_x"] == pytest.approx(1.0 / (2 * friction * 9.81), abs=3e-3)
