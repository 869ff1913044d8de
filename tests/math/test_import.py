"""Importing mbt.math imports NumPy and nothing else."""

import subprocess
import sys


def test_import_brings_numpy_only():
    code = "import sys, numpy; before = set(sys.modules); import mbt.math; print(*set(sys.modules) - before)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {module.partition(".")[0] for module in run.stdout.split()}
    assert "mbt" in packages
    assert not packages & {"scipy", "matplotlib", "pytest"}
