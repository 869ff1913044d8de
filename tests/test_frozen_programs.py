"""Programs built by PyInstaller with mbt's hook start and compute: `python -m pytest -m frozen`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mbt
from mbt import _core, models

pytestmark = pytest.mark.frozen

PROGRAM = """
import json
import sys

import mbt
from mbt import _core, functional as F, models

tree = mbt.load_model(models.model_path("mbt_arm"))
q = tree.default_positions
tau = F.inverse_dynamics(tree, q, q + 0.1, q + 0.2)
dual = tree.to_autodiff()
variable = dual.create_default_context()
variable.q = mbt.autodiff.initialize(q)
swing = mbt.simulate(tree, tree.create_default_context(), duration=0.1)
print(json.dumps({
    "frozen": getattr(sys, "frozen", False),
    "tau": tau.tolist(),
    "batch": F.inverse_dynamics(tree, [q] * 9, q + 0.1, q + 0.2)[8].tolist(),
    "derivatives": dual.calc_gravity_generalized_forces(variable).derivatives.shape,
    "steps": len(swing.time),
    "isas": _core.usable,
    "isa": _core.isa,
}))
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("PyInstaller")
    folder = tmp_path_factory.mktemp("frozen")
    (folder / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "PyInstaller", "--onedir", "--log-level", "ERROR", "program.py"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "not found" not in run.stderr
    return folder / "dist" / "program" / "program"


def _start(program: Path, **environment: str) -> dict[str, object]:
    run = subprocess.run(
        [program], cwd=program.parent, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_frozen_program_computes_the_same(program: Path) -> None:
    tree = mbt.load_model(models.model_path("mbt_arm"))
    q = tree.default_positions
    tau = mbt.functional.inverse_dynamics(tree, q, q + 0.1, q + 0.2)
    shown = _start(program)
    assert shown["frozen"] is True
    np.testing.assert_array_equal(shown["tau"], tau)
    np.testing.assert_allclose(shown["batch"], tau, rtol=1e-12, atol=1e-12)
    assert shown["derivatives"] == [tree.num_velocities] * 2


def test_frozen_program_has_every_instruction_set(program: Path) -> None:
    assert _start(program)["isas"] == _core.usable
    for isa in _core.usable:
        assert _start(program, MBT_ISA=isa)["isa"] == isa
