"""The level of the processor as mbt detects it, and as the compiler's library does."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from mbt._core import cpu

CORE = Path(__file__).parents[2] / "src" / "mbt" / "_core"
OURS = """
#include <stdio.h>
#include "cpu_level.h"
int main(void) { printf("%d", cpu_level()); return 0; }
"""
#: Some compilers do not know movbe, f16c and lzcnt by name; every processor with avx2 has them.
LIBRARY = """
#include <stdio.h>
#define HAS __builtin_cpu_supports
int main(void) {
  __builtin_cpu_init();
  int v2 = HAS("sse3") && HAS("ssse3") && HAS("sse4.1") && HAS("sse4.2") && HAS("popcnt");
  int v3 = v2 && HAS("avx") && HAS("avx2") && HAS("fma") && HAS("bmi") && HAS("bmi2");
  int v4 = v3 && HAS("avx512f") && HAS("avx512bw") && HAS("avx512cd") && HAS("avx512dq") && HAS("avx512vl");
  printf("%d", v4 ? 4 : v3 ? 3 : v2 ? 2 : 1);
  return 0;
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="levels are those of x86-64")
@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
@pytest.mark.parametrize("source", [OURS, LIBRARY], ids=["ours", "library"])
def test_both_ways(source: str, tmp_path: Path) -> None:
    (tmp_path / "level.c").write_text(source, encoding="utf-8")
    program = tmp_path / "level"
    # Without a library that replaces malloc in this process.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    command = ["cc", f"-I{CORE}", str(tmp_path / "level.c"), "-o", str(program)]
    subprocess.run(command, check=True, env=environment)
    run = subprocess.run([str(program)], check=True, capture_output=True, text=True, env=environment)
    level = int(run.stdout)
    assert [f"v{i}" for i in range(level, 1, -1)] == list(cpu.supported())
