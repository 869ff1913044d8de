"""Batches on Ray, in a process of its own, since Ray leaves processes behind of which pytest would warn."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.engine
def test_blocks_on_workers_are_what_one_call_gives(tmp_path: Path) -> None:
    """Ray keeps a token in the home folder."""
    pytest.importorskip("ray", reason="needs the extra `engines`: pip install '.[engines]'")
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(TESTS)}
    environment.pop("OMP_NUM_THREADS", None)  # Ray sets it, unless it is set already
    program = [sys.executable, str(TESTS / "support" / "on_ray.py")]
    run = subprocess.run(program, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
