"""Optimization level of compiled code that is only compared with the same in Python."""

from __future__ import annotations

import pytest

from mbt.compiling import compiler


@pytest.fixture(params=["-O0", pytest.param("-O2", marks=pytest.mark.exhaustive)])
def optimization(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Users get -O2, which compiles four times as long: only some tests use it, and all exhaustive ones."""
    flags = [request.param if flag == "-O2" else flag for flag in compiler._COMMON]
    assert request.param in flags
    monkeypatch.setattr(compiler, "_COMMON", flags)
