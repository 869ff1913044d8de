"""Programs that run with another malloc, in C, which replaces that of the C library."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


def compile_malloc(folder: Path, source: str) -> Path:
    """Return the library; skip the test if it cannot be built."""
    compiler = next((path for path in map(shutil.which, ("cc", "gcc", "clang")) if path), None)
    if platform.system() != "Linux" or platform.libc_ver()[0] != "glibc":
        pytest.skip("puts functions in front of glibc's malloc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    if os.environ.get("LD_PRELOAD"):
        pytest.skip("another library has replaced malloc already")
    text, library = folder / "malloc.c", folder / "malloc.so"
    text.write_text(source)
    subprocess.run([compiler, "-std=c11", "-O1", "-shared", "-fPIC", text, "-o", library], check=True)
    return library


def run_with_malloc(library: Path, *arguments: str, **environment: str) -> str:
    """Run Python without its own pools, which would hide small objects, and return its output.

    It uses one thread: each further one takes working memory of its own.
    """
    own = {"LD_PRELOAD": str(library), "PYTHONMALLOC": "malloc", "MBT_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **own, "PYTHONPATH": str(TESTS), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
