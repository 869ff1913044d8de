"""`mbt.selftest` passes on models of every kind, and a wrong kernel makes the right row fail."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import _core, functional
from mbt.checking.selftest_report import SelftestReport
from support.case import get_case
from support.constraints import tree_with_every_constraint
from support.force_element_types import make_everything
from support.linkages import delta, four_bar
from support.random_trees import CATALOGUE


def _tied() -> mbt.MultibodyTree:
    """One ball ties bodies that are welded together, one a body to its own axle: neither can be violated."""
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    M = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    base, hand = (tree.add_body(mbt.RigidBody(name, M)) for name in ("base", "hand"))
    tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, base, None, [0, 1, 0])
    at = mbt.math.make_pose([0.1, 0.2, 0.3], rpy=[0.1, 0.2, 0.3])
    tree.add_joint(mbt.WeldJoint, "weld", base, at, hand, None)
    tree.add_constraint(
        mbt.BallConstraint("ball", tree.add_frame(mbt.FixedOffsetFrame("end", base, at)), hand)
    )
    tree.add_constraint(mbt.BallConstraint("axle", tree.world_body, base))
    tree.finalize()
    return tree


TREES: dict[str, Callable[[], mbt.MultibodyTree]] = {
    **{name: (lambda name=name: get_case(name).tree) for name in CATALOGUE},  # type: ignore[misc]
    "everything": lambda: make_everything(user_written=True),
    "every constraint": tree_with_every_constraint,
    "four-bar linkage": four_bar,
    "delta": delta,
    "bodies that cannot move": _tied,
}
NUM_ROWS = 12


def _arm() -> mbt.MultibodyTree:
    return mbt.load_model(mbt.models.model_path("mbt_arm"))


@pytest.mark.parametrize("name", TREES)
def test_models(name: str) -> None:
    report = mbt.selftest(TREES[name](), num_samples=4)
    assert report.ok, str(report)
    assert len(report.rows) >= NUM_ROWS


@pytest.mark.parametrize("seed", range(3))
def test_tolerances_hold_at_other_states(seed: int) -> None:
    for name in ("humanoid", "every_joint", "star"):
        assert mbt.selftest(get_case(name).tree, num_samples=20, seed=seed).ok


def test_tolerances_have_no_room_for_errors() -> None:
    """For a robot arm, tolerances lie a few digits above rounding, far below one."""
    report = mbt.selftest(_arm())
    for row in report.rows:
        assert row.tolerance < 1e-6, row
        assert row.error is None or row.error <= row.tolerance


# The quantity, its relative error, and the rows that must fail.
WRONG: dict[str, tuple[str, float, set[str]]] = {
    "mass matrix": (
        "mass_matrix",
        1e-7,
        {"mass matrix against inverse dynamics", "Mdot - 2C is skew", "Contexts against functions"},
    ),
    "forward dynamics with constraints": (
        "constrained_forward_dynamics",
        1e-5,
        {"forward against inverse dynamics"},
    ),
    "forward dynamics": (
        "forward_dynamics",
        1e-5,
        {"forward against inverse dynamics", "Contexts against functions"},
    ),
    "bias term": ("bias_term", 1e-7, {"bias term against the Coriolis matrix"}),
    "inverse dynamics": ("inverse_dynamics", 1e-5, {"Contexts against functions"}),
    "gravity": ("gravity_generalized_forces", 1e-7, {"gravity against its potential"}),
    "Jacobian": ("frame_jacobian", 1e-7, {"Jacobians against differences", "velocities against Jacobians"}),
    "poses": ("body_poses", 1e-7, {"Jacobians against differences", "Contexts against functions"}),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("model", ["arm", "humanoid"])
def test_wrong_kernels_are_found(model: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, error, rows = WRONG[what]
    right = getattr(functional, name)

    def wrong(*args: Any, **options: Any) -> Any:
        result = right(*args, **options)
        if isinstance(result, tuple):
            return tuple(part * (1 + error) for part in result)
        return result * (1 + error)

    monkeypatch.setattr(functional, name, wrong)
    report = mbt.selftest(_arm() if model == "arm" else get_case("humanoid").tree)
    assert not report.ok
    assert rows <= {row.name for row in report.failures}, str(report)


def test_wrong_methods_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = mbt.MultibodyTree.calc_coriolis_matrix

    def wrong(tree: Any, context: Any) -> Any:
        C = right(tree, context).copy()
        C[0, 1] += 1e-6
        return C

    monkeypatch.setattr(mbt.MultibodyTree, "calc_coriolis_matrix", wrong)
    failures = [row.name for row in mbt.selftest(_arm()).failures]
    assert failures == ["bias term against the Coriolis matrix", "Mdot - 2C is skew"]


@pytest.mark.parametrize("place", [0, 41, 74])
def test_every_body_of_many_is_tried(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many bodies only some are tried at each sample, but over all samples every one."""
    tree = mbt.MultibodyTree()
    for i in range(75):
        body = tree.add_body(mbt.RigidBody(f"b{i}", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        near = tree.world_body if i % 5 == 0 else tree.bodies[i]
        tree.add_joint(
            mbt.RevoluteJoint, f"j{i}", near, mbt.math.make_pose([0.1, 0, 0]), body, None, [0, 1, 0]
        )
    tree.finalize()
    right = functional.frame_jacobian

    def wrong(tree: Any, q: Any, frame: Any, **options: Any) -> Any:
        return right(tree, q, frame, **options) * (1.001 if frame.body.name == f"b{place}" else 1.0)

    monkeypatch.setattr(functional, "frame_jacobian", wrong)
    failures = {row.name for row in mbt.selftest(tree).failures}
    assert failures == {"Jacobians against differences", "velocities against Jacobians"}


def test_wrong_batches_and_nan_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sample of a batch, and one number that is not finite."""
    right = functional.bias_term

    def wrong(tree: Any, q: Any, v: Any) -> Any:
        result = right(tree, q, v)
        if result.ndim == 2:
            result[-1, 0] = np.nan
        return result

    monkeypatch.setattr(functional, "bias_term", wrong)
    # The row is followed by those of other instruction sets, where these are installed.
    row = mbt.selftest(_arm()).failures[0]
    assert row.name == "batches against single states"
    assert row.error == np.inf
    assert row.note == "worst at sample 9"


def test_energy_that_comes_from_nowhere_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mbt.MultibodyTree, "calc_conservative_power", lambda tree, context: 0.0, raising=True)
    right = mbt.UniformGravityFieldElement.calc_conservative_power
    monkeypatch.setattr(
        mbt.UniformGravityFieldElement,
        "calc_conservative_power",
        lambda *args, **options: 1.001 * right(*args, **options),
    )
    assert [row.name for row in mbt.selftest(_arm()).failures] == ["balance of powers"]


def test_threads_that_differ_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = functional.inverse_dynamics

    def wrong(tree: Any, q: Any, v: Any, vdot: Any, **options: Any) -> Any:
        result = right(tree, q, v, vdot, **options)
        if mbt.get_num_threads() > 1 and len(q) > 1000:
            result[700] = np.nextafter(result[700], np.inf)
        return result

    monkeypatch.setattr(functional, "inverse_dynamics", wrong)
    before = mbt.get_num_threads()
    (row,) = mbt.selftest(_arm()).failures
    assert (row.name, row.tolerance) == ("one thread against several", 0.0)
    assert mbt.get_num_threads() == before


def _pretend_another_set(monkeypatch: pytest.MonkeyPatch) -> str:
    """Make this process report another instruction set; a process that it starts reports the real one."""
    real = _core.isa
    monkeypatch.setattr(_core, "usable", [real])
    monkeypatch.setattr(_core, "isa", "pretended")
    return f"pretended against {real}"


def test_other_instruction_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    name = _pretend_another_set(monkeypatch)
    report = mbt.selftest(_arm(), num_samples=3)
    assert report[name].error == 0.0
    right = functional.mass_matrix
    monkeypatch.setattr(functional, "mass_matrix", lambda tree, q: right(tree, q) * (1 + 1e-7))
    assert not mbt.selftest(_arm(), num_samples=3)[name].ok


def test_processes_that_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other process, one that fails, one that crashes: only the crash is an error of mbt."""
    name = _pretend_another_set(monkeypatch)
    monkeypatch.setattr(sys, "executable", "")
    row = mbt.selftest(_arm(), num_samples=1)[name]
    assert (row.error, row.note) == (None, "there is no interpreter to start")
    for program, error in (("raise OSError('no')", None), ("import os; os.abort()", np.inf)):
        monkeypatch.undo()
        name = _pretend_another_set(monkeypatch)
        monkeypatch.setattr("mbt.checking.identities._CHILD", program)
        row = mbt.selftest(_arm(), num_samples=1)[name]
        assert row.error == error
        assert row.note == ("the other process failed: OSError: no" if error is None else
                            "the other process ended with signal 6")  # fmt: skip


def test_singular_mass_matrix_is_said() -> None:
    """The rest of the model is still tested."""
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(1.0, [0, 0, -1.0])))
    ghost = tree.add_body(mbt.RigidBody("ghost", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.RevoluteJoint, "a", tree.world_body, None, rod, None, axis=[0, 1, 0])
    tree.add_joint(mbt.RevoluteJoint, "b", rod, None, ghost, None, axis=[0, 1, 0])
    tree.finalize()
    report = mbt.selftest(tree)
    assert report.ok, str(report)
    assert any("singular" in note for note in report.notes)
    assert report["forward against inverse dynamics"].error is None
    assert report["mass matrix against inverse dynamics"].error is not None


def test_reports_show_themselves() -> None:
    report = mbt.selftest(_arm(), num_samples=2, seed=7)
    again = pickle.loads(pickle.dumps(report))
    assert str(again) == str(report)
    lines = str(report).splitlines()
    assert re.match(r"selftest of MultibodyTree.*: ok \(2 states, seed 7, \w+, \d+\.\d\d s\)$", lines[0])
    assert lines[1].split() == ["identity", "error", "tolerance"]
    assert len({line.index("  ok") for line in lines if line.endswith("  ok")}) == 1
    assert "<table" in report._repr_html_()
    assert repr(report).endswith("ok>")
    data = json.loads(report.to_json())
    assert data["ok"] is True
    assert len(data["rows"]) == len(report.rows)
    with pytest.raises(mbt.UnknownNameError, match="balance of powers"):
        report["balance of power"]
    bad = SelftestReport("x", 1, 0, "v4", 0.1, (mbt.checking.SelftestRow("y", float("inf"), 0.0),))
    assert not bad.ok
    assert json.loads(bad.to_json())["rows"][0]["error"] == "inf"
    assert "FAILED: y" in repr(bad)
    assert "1 row FAILED" in str(bad)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((None,), mbt.ArgumentTypeError, "tree: expected a MultibodyTree"),
        ((mbt.MultibodyTree(),), mbt.NotFinalizedError, "finalize"),
    ],
)
def test_arguments(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        mbt.selftest(*arguments)


def test_options() -> None:
    with pytest.raises(mbt.ArgumentValueError, match="num_samples: expected an integer >= 1, got 0"):
        mbt.selftest(_arm(), num_samples=0)
    with pytest.raises(mbt.ArgumentValueError, match="seed: expected an integer >= 0, got -1"):
        mbt.selftest(_arm(), seed=-1)
    with pytest.raises(mbt.ArgumentTypeError, match="a tree of doubles"):
        mbt.selftest(_arm().to_autodiff())


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mbt", "check", "--selftest", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_command_line(tmp_path: Path) -> None:
    path = str(mbt.models.model_path("mbt_arm"))
    done = _run(path)
    assert done.returncode == 0, done.stderr
    assert "balance of powers" in done.stdout
    done = _run(path, "--json")
    value = json.loads(done.stdout)
    assert [test["ok"] for test in value["selftests"]] == [True]
    broken = tmp_path / "broken.urdf"
    broken.write_text("<robot")
    done = _run(str(broken), "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["selftests"] == []


def test_exit_code_of_a_failure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from mbt.cli import main

    right = functional.mass_matrix
    monkeypatch.setattr(functional, "mass_matrix", lambda tree, q: right(tree, q) * (1 + 1e-7))
    assert main(["check", "--selftest", str(mbt.models.model_path("mbt_arm"))]) == 1
    assert "FAILED" in capsys.readouterr().out
