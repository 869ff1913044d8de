"""``mbt ik`` as a user sees it: report, messages, exit codes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.cli import main
from mbt.models import model_path

ARM = str(model_path("mbt_arm"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert main(["ik", ARM, "--frame", "tool", *arguments]) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    return dict(json.loads(run(capsys, *arguments, "--json", code=code)[0]))


def test_a_pose(capsys: pytest.CaptureFixture[str]) -> None:
    goal = ("--goal", "0.45", "-0.2", "0.6", "0", "2.5", "0.4")
    out, err = run(capsys, *goal)
    assert err == ""
    lines = out.splitlines()
    assert lines[0].startswith("mbt_arm · ")
    assert lines[1].startswith("solved: error ")
    assert "waist_q" in out
    value = as_json(capsys, *goal, "--all")
    assert value["success"]
    assert value["distance_error"] <= 1e-4
    assert value["rotation_error"] <= 1e-3
    assert len(value["solutions"]) > 1
    tree = mbt.load_model(ARM)
    wanted = mbt.math.make_pose([0.45, -0.2, 0.6], rpy=[0, 2.5, 0.4])
    for positions in (value["positions"], *value["solutions"]):
        there = functional.frame_pose(tree, [positions[name] for name in tree.position_names], "tool")
        assert np.abs(there - wanted).max() < 1.5e-3
    out, _ = run(capsys, *goal, "--all")
    assert f"{len(value['solutions'])} solutions: error " in out


def test_a_position_from_a_start(capsys: pytest.CaptureFixture[str]) -> None:
    tree = mbt.load_model(ARM)
    start = tree.q_from_dict({"elbow": 1.0, "waist": 0.5})
    there = functional.frame_pose(tree, start, "tool")[:3, 3]
    goal = [f"{x:.17g}" for x in there]
    value = as_json(capsys, "--position=elbow=1", "--position=waist=0.5", "--goal", *goal)
    np.testing.assert_allclose(list(value["positions"].values()), start, atol=1e-12)
    assert "rotation_error" not in value


def test_out_of_reach(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "--goal", "9", "0", "0", code=1)
    assert "not reached: error " in out
    value = as_json(capsys, "--goal", "9", "0", "0", code=1)
    assert not value["success"]
    assert value["solutions"] == []
    assert value["distance_error"] > 5.0


def test_wrong_options(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = run(capsys, "--goal", "9", "0", code=2)
    assert "--goal: expected X Y Z, or X Y Z ROLL PITCH YAW, got 2 numbers" in err
    _, err = run(capsys, "--goal", "nan", "0", "1", code=2)
    assert "--goal: expected finite numbers, got nan 0.0 1.0" in err
    assert main(["ik", ARM, "--frame", "nothing", "--goal", "1", "2", "3"]) == 2
    assert "nothing" in capsys.readouterr().err
    _, err = run(capsys, "--goal", "9", "0", "1", "--seeds=0", code=2)
    assert "seeds" in err
