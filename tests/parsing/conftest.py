"""What tests of MJCF have in common."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the models of a test are: far from the working directory, where MuJoCo may write a file."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    models = tmp_path / "models"
    models.mkdir()
    return models
