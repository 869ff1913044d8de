"""Fixtures of the tests of motion."""

from __future__ import annotations

from functools import partial

import pytest

from mbt._core.solvers.implicit_steps import ImplicitCore
from mbt.motion import implicit


@pytest.fixture(params=["matrices", "sweeps"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Implicit steps in this form where both are possible, whatever is quicker."""
    core = partial(ImplicitCore, sweeps=request.param == "sweeps")
    monkeypatch.setattr(implicit, "ImplicitCore", core)
    return request.param
