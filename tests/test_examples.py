"""The programs in `examples/` run, started as a reader would."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

#: First output of each program, with little to do.
PROGRAMS = [
    pytest.param(
        "reach.py", ["--seconds=0.4"], r"in 900 steps, energy drift .*\nwaist_w +100% of its torque"
    ),
    pytest.param(
        "four_bar.py", ["--seconds=1"], r"the crank has turned 0\.\d times\nthe rocker swings from \d"
    ),
    pytest.param(
        "quadruped_landing.py",
        ["--seconds=0.5"],
        r"touches the ground after 0\.2\d+ s at 2\.\d+ m/s\nlargest force \d+\.\d",
    ),
    pytest.param(
        "quadruped_on_servos.py",
        ["--seconds=3"],
        r"trunk between 0\.3\d+ and 0\.3\d+ m after 1\.0 s\ntilts by \d+\.\d .*\nhas gone .*\ndid not fall",
    ),
    pytest.param(
        "linkage_from_sdf.py",
        ["--seconds=0.2"],
        r"Constraints\n(.*\n)+ *6 equations, of which 2 are independent; 3 velocities, .* 1 are left\n\n"
        r"the crank makes 0\.\d+ turns, .*\nthe loop stays closed to \de-(09|1\d) m\nits pin bears up to \d+",
    ),
    pytest.param(
        "delta_robot.py",
        ["--steps=200"],
        r"arms turn from .* N m\nthe platform keeps to the circle within \d\d?\.\d um\nthe rods",
    ),
    pytest.param(
        "grasp_a_box.py",
        [],
        r"closed: .* 7\.\d N, the box is -?0 mm up\nlifted: .* 10\.0 N, the box is 8\d mm up\n"
        r"it tilts by 0\.\d+ degrees, and touches left and right",
    ),
    pytest.param("ilqr.py", [], r"cost 494\.96 -> 1\.3\d, ends at \[ *-?0\. +3\.14 "),
    pytest.param(
        "sampling_mpc.py", ["--seconds=0.2", "--samples=64"], r"after 0\.2 s: cart -?\d\.\d+ m, pole"
    ),
    pytest.param(
        "cart_pole_policy.py",
        ["--generations=3", "--policies=128"],
        r"(generation \d: +\d+\.\d of 250 .*\n)+the mean policy .* balances (9\d|100)% of 128 poles",
        marks=pytest.mark.engine,
    ),
    pytest.param(
        "dask_sweep.py", ["--samples=60000", "--workers=1"], r"waist +0.00 Nm", marks=pytest.mark.engine
    ),
]
NEEDS: dict[str, tuple[str, str]] = {
    "cart_pole_policy.py": ("gymnasium", "gymnasium"),
    "dask_sweep.py": ("distributed", "engines"),
}


@pytest.mark.parametrize(("name", "arguments", "start"), PROGRAMS)
def test_example_runs(name: str, arguments: list[str], start: str, tmp_path: Path) -> None:
    if name in NEEDS:
        package, extra = NEEDS[name]
        pytest.importorskip(package, reason=f"needs the extra `{extra}`: pip install '.[{extra}]'")
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert (run.returncode, run.stderr) == (0, "")
    assert re.match(start, run.stdout), run.stdout


def test_every_example_is_run() -> None:
    assert {param.values[0] for param in PROGRAMS} == {path.name for path in EXAMPLES.glob("*.py")}
