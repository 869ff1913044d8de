"""The instruction sets of this installation, and programs that run with each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from mbt import _core

TESTS = Path(__file__).resolve().parents[1]


def usable_isas() -> list[str]:
    """Return the instruction sets that are built and that this processor supports; best first."""
    return list(_core.usable)


def run_with(isa: str, *arguments: str) -> None:
    """Run Python with an instruction set; the program can import modules of the tests."""
    environment = {**os.environ, "MBT_ISA": isa, "PYTHONPATH": str(TESTS)}
    subprocess.run([sys.executable, *arguments], env=environment, check=True)
