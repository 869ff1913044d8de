"""Tests of compiled code."""

from __future__ import annotations

import importlib

try:
    importlib.import_module("mbt._core.scalars.probe")
except ModuleNotFoundError:
    # Wheels for others lack the probe (MBT_PROBE of CMakeLists.txt); `.ci/run isas` builds it for each set.
    collect_ignore_glob = ["test_scalar_*.py"]
