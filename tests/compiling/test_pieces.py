"""Long code is split into functions, which pass values and conditions to later ones in memory."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.compiling import assembly, schedule
from mbt.compiling.schedule import Schedule
from mbt.compiling.tracing import Trace
from symbolic.models import load

F = mbt.functional


@pytest.fixture(params=["cc", "llvm"])
def compiler(request: pytest.FixtureRequest) -> str:
    if request.param == "llvm":
        pytest.importorskip("llvmlite")
    elif not shutil.which("cc"):
        pytest.skip("there is no C compiler here")
    return str(request.param)


@pytest.fixture(autouse=True)
def pieces_of_seven(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(schedule, "_PIECE", 7)
    monkeypatch.setattr(assembly, "_WHOLE", 0)
    monkeypatch.setenv("MBT_CACHE_DIR", str(tmp_path / "mbt"))


def many_choices(x: Any, y: Any) -> dict[str, Any]:
    """Conditions, sines and sums of early numbers, used again and again until the end."""
    doubled = 2.0 * x
    is_first, is_both = doubled > y, (x > 0.0) & (y > 0.0)
    sines = np.sin(doubled) + np.cos(y)
    nested = np.sin(sines)
    for _ in range(4):
        nested = np.where(is_first, nested * x + sines, np.where(is_both, nested - y, doubled))
        nested = nested / np.sqrt(1.0 + nested * nested)
    return {"nested": nested, "x": y + nested, "first": is_first, "same": x, "none": np.zeros(2)}


@pytest.mark.usefixtures("optimization")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_conditions_and_numbers_reach_later_pieces(compiler: str, dtype: Any) -> None:
    tree = load("mbt_arm", "fixed")
    fast = mbt.compile(tree, many_choices, arguments={"x": 3, "y": 3}, dtype=dtype, compiler=compiler)
    x, y = np.random.default_rng(0).normal(size=(2, 21, 3)).astype(dtype)
    wanted = many_choices(x.astype(float), y.astype(float))
    tolerance = 50 * np.finfo(dtype).eps
    for i in range(21):
        for name, array in fast(x[i], y[i]).items():
            np.testing.assert_allclose(
                array, wanted[name] if name == "none" else wanted[name][i], atol=tolerance
            )
    for name, array in fast(x, y).items():
        np.testing.assert_allclose(array, np.broadcast_to(wanted[name], array.shape), atol=tolerance)


@pytest.mark.usefixtures("optimization")
def test_a_result_may_replace_an_input(compiler: str) -> None:
    tree = load("mbt_arm", "fixed")
    fast = mbt.compile(tree, "forward_dynamics", compiler=compiler)
    rng = np.random.default_rng(1)
    q, (v, tau) = tree.random_positions(rng), rng.normal(size=(2, tree.num_velocities))
    wanted = F.forward_dynamics(tree, q, v, tau)
    assert fast.forward_dynamics(q, v, tau, out=tau) is tau
    np.testing.assert_allclose(tau, wanted, rtol=1e-9, atol=1e-9 * abs(wanted).max())


def test_pieces_share_memory() -> None:
    """A slot is free again after the last piece that needs it, and not before."""
    trace = Trace()
    x = [trace.record("input", 0, i) for i in range(4)]
    total = x[0] * x[1]
    for i in range(200):
        total = total * x[i % 4] + x[(i + 1) % 4]
    cut = Schedule(trace.operations, [[total.index]])
    assert [len(piece) for piece in cut.pieces][:-1] == [7] * (len(cut.pieces) - 1)
    assert [index for piece in cut.pieces for index in piece] == cut.after
    assert cut.room <= 2 < len(cut.slots)
