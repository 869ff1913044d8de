"""The level of the processor by its own word, as Windows builds ask for it, and by the compiler's library."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from mbt._core import cpu

CORE = Path(__file__).parents[2] / "src" / "mbt" / "_core"
PROGRAM = """
#include <stdio.h>
#include "cpu_level.h"
int main(void) { printf("%d", cpu_level()); return 0; }
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="levels are those of x86-64")
@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
@pytest.mark.parametrize("option", ["-DMBT_CPUID", "-UMBT_CPUID"])
def test_both_ways(option: str, tmp_path: Path) -> None:
    (tmp_path / "level.c").write_text(PROGRAM, encoding="utf-8")
    program = tmp_path / "level"
    # Without a library that replaces malloc in this process.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    command = ["cc", option, f"-I{CORE}", str(tmp_path / "level.c"), "-o", str(program)]
    subprocess.run(command, check=True, env=environment)
    run = subprocess.run([str(program)], check=True, capture_output=True, text=True, env=environment)
    level = int(run.stdout)
    assert [f"v{i}" for i in range(level, 1, -1)] == list(cpu.supported())
