"""The robots of the package example-robot-data."""

from __future__ import annotations

import warnings
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import mbt

__all__ = ["FOLDER", "SHARE", "load_robot"]

try:
    SHARE = Path(str(metadata.distribution("example-robot-data").locate_file("cmeel.prefix/share")))
except metadata.PackageNotFoundError:
    pytest.skip("needs the `oracle` extra: example-robot-data", allow_module_level=True)

FOLDER = SHARE / "example-robot-data" / "robots"


def load_robot(path: Path, **options: Any) -> mbt.MultibodyTree:
    """Load a robot; parts that are not supported do not matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbt.ModelWarning)
        return mbt.load_model(path, **options)
