"""``mbt bench``: measures on this machine, of the right model; the figures themselves are not checked."""

from __future__ import annotations

import json
import sys

import pytest

import mbt
from mbt.cli import main
from mbt.cli.bench_peers import FUNCTIONS, load_peers
from mbt.models import model_path
from support.urdf_texts import joint, link, robot

ARM = str(model_path("mbt_arm"))


def test_figures_for_programs(capsys):
    assert main(["bench", ARM, "--alone", "--rounds", "3", "--batch", "50", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["model"], value["num_velocities"], value["batch"], value["rounds"]) == ("mbt_arm", 6, 50, 3)
    assert list(value["seconds"]) == list(FUNCTIONS)
    for figures in value["seconds"].values():
        assert list(figures) == ["mbt", "mbt, 50 states"]
        for one in figures.values():
            assert 0.0 < one["minimum"] <= one["median"]
        own = figures["mbt"]
        assert own["ratio_of_minima"] == own["median_ratio"] == 1.0
        batch = figures["mbt, 50 states"]
        assert batch["ratio_of_minima"] == pytest.approx(batch["minimum"] / own["minimum"])
    assert value["libraries"] == {}


def test_libraries_that_are_not_there_are_named(capsys, monkeypatch):
    for module in ("pinocchio", "mujoco", "pydrake.all"):
        monkeypatch.setitem(sys.modules, module, None)
    assert main(["bench", ARM, "--rounds", "1", "--batch", "4"]) == 0
    out = capsys.readouterr().out
    for name in ("pin", "mujoco", "drake"):
        assert f"  {name}: not installed" in out
    for function in FUNCTIONS:
        assert f"  {function}" in out


@pytest.mark.parametrize("option", ["--rounds", "--batch"])
def test_options(option, capsys):
    assert main(["bench", ARM, option, "0"]) == 2
    assert f"{option}: expected at least 1, got 0" in capsys.readouterr().err


MIMIC = (
    link("a"), link("b"), link("c"), joint("j", "a", "b"),
    joint("k", "b", "c", inside='<axis xyz="0 1 0"/><mimic joint="j"/>'),
)  # fmt: skip


def test_constraints_are_measured_apart(tmp_path, capsys):
    path = tmp_path / "follower.urdf"
    path.write_text(robot(*MIMIC), encoding="utf-8")
    with pytest.warns(mbt.ModelWarning, match="mimics"):
        mbt.load_model(path)
    assert main(["bench", str(path), "--alone", "--rounds", "1", "--batch", "4"]) == 0
    assert "  with constraints" in capsys.readouterr().out
    assert main(["bench", str(path), "--alone", "--rounds", "1", "--batch", "4", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert list(value["seconds"]) == [*FUNCTIONS, "with constraints"]
    assert list(value["seconds"]["with constraints"]) == ["mbt", "mbt, 4 states"]


@pytest.mark.oracle
def test_the_other_libraries_take_models_with_constraints(tmp_path, capsys):
    for module in ("pinocchio", "mujoco", "pydrake"):
        pytest.importorskip(module, reason="needs the `oracle` extra")
    path = tmp_path / "follower.urdf"
    path.write_text(robot(*MIMIC), encoding="utf-8")
    assert main(["bench", str(path), "--rounds", "1", "--batch", "4", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert all(value["libraries"][name]["is_measured"] for name in ("pin", "mujoco", "drake")), value
    assert list(value["seconds"]["forward dynamics"]) == ["mbt", "mbt, 4 states", "pin", "mujoco", "drake"]


def test_what_does_not_move(tmp_path, capsys):
    path = tmp_path / "rock.urdf"
    path.write_text(robot(link("rock")), encoding="utf-8")
    assert main(["bench", str(path), "--json"]) == 2
    assert "nothing moves" in json.loads(capsys.readouterr().out)["error"]["message"]


@pytest.mark.oracle
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_the_other_libraries_have_the_same_model(base, capsys):
    for module in ("pinocchio", "mujoco", "pydrake"):
        pytest.importorskip(module, reason="needs the `oracle` extra")
    assert main(["bench", ARM, "--base", base, "--rounds", "1", "--batch", "4", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    for name in ("pin", "mujoco", "drake"):
        assert value["libraries"][name]["is_measured"], value["libraries"][name]
        assert all(figures[name]["minimum"] > 0.0 for figures in value["seconds"].values())


@pytest.mark.oracle
def test_a_library_that_refuses_is_told():
    pytest.importorskip("mujoco", reason="needs the `oracle` extra")
    peers = {peer.name: peer for peer in load_peers("<nonsense", floating=False)}
    assert peers["mujoco"].calls is None
    assert peers["mujoco"].reason.startswith("refuses the model: ")


def test_the_model_is_not_changed_by_it(capsys):
    tree = mbt.load_model(ARM)
    assert main(["bench", ARM, "--rounds", "1", "--batch", "2", "--alone"]) == 0
    assert [len(body.visuals) for body in tree.bodies] == [len(b.visuals) for b in mbt.load_model(ARM).bodies]
