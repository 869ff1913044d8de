"""Shared fixtures of the MJCF tests."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a test's models: not the working directory, where MuJoCo may write a file."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    models = tmp_path / "models"
    models.mkdir()
    return models
