"""All instruction sets give the same: every quantity, single and in batches; each in a process of its own.

A processor that supports none of the sets that were built gets an exception that says so.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from support.isa_results import NUM_STATES
from support.isas import run_with, usable_isas

OLDEST = usable_isas()[-1]  # without fused multiplications, so it rounds unlike all others
NEWER = usable_isas()[:-1] or [
    pytest.param("none", marks=pytest.mark.skip(reason="one instruction set is built and runs here"))
]
# Inverses amplify rounding by the condition of the mass matrix.
AMPLIFIED = (
    "constrained_forward_dynamics",
    "constrained_forward_dynamics_derivatives",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "impulse_dynamics",
    "mass_matrix_inverse",
    "operational_space_inertia",
    "operational_space_inverse_inertia",
    "rollout",
    "step",
    "step_derivatives",
)
# Relative to one plus the largest entry of a state. Other libraries agree to ten times this or more.
TOLERANCE = 1e-13


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("isas")
    for isa in usable_isas():
        run_with(isa, "-m", "support.isa_results", str(folder / f"{isa}.npz"))
    return {isa: dict(np.load(folder / f"{isa}.npz")) for isa in usable_isas()}


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", NEWER)
def test_sets_agree(isa: str, results: dict[str, Any]) -> None:
    actual, desired = results[isa], results[OLDEST]
    assert (actual.pop("isa"), desired["isa"]) == (isa, OLDEST)
    assert actual.keys() | {"isa"} == desired.keys()
    assert len(actual) > 1000
    for key, numbers in actual.items():
        tree, quantity, way = key.split(" ")[:3]
        if quantity == "condition":
            continue
        factors = np.ones(NUM_STATES)
        if quantity in AMPLIFIED:
            own = way in ("single", "lanes", "dual")
            factors = desired[f"{tree} condition {'own' if own else 'default'}"]
        if quantity == "operational_space_inertia":
            factors = factors * desired[f"{tree} condition operational"]
        assert numbers.shape == desired[key].shape, key
        for a, b, factor in zip(numbers, desired[key], factors, strict=False):
            assert np.isfinite(b).all(), key
            error = np.abs(a - b).max(initial=0.0) / (1.0 + np.abs(b).max(initial=0.0))
            assert error <= TOLERANCE * factor, f"{key}: off by {error:.3g}, allowed {TOLERANCE * factor:.3g}"


PRETEND = """
import sys, types
cpu = sys.modules["mbt._core.cpu"] = types.ModuleType("mbt._core.cpu")
cpu.supported = lambda: {runs}
import mbt
"""


@pytest.mark.parametrize(("runs", "named"), [((), "none of v2, v3, v4"), (("v1",), "v1")])
def test_a_processor_without_any_built_set_gets_an_import_error(runs: tuple[str, ...], named: str) -> None:
    """As after a move to an older machine: not a crash on an illegal instruction."""
    done = subprocess.run(
        [sys.executable, "-c", PRETEND.format(runs=runs)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: mbt was built for ")
    assert f"this processor runs {named}. Build it here" in last
    assert all(isa in last for isa in usable_isas())
