"""The package recipes agree with pyproject.toml."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "packaging"


@pytest.fixture(scope="module")
def project() -> Any:
    tomllib = pytest.importorskip("tomllib", reason="the reader of TOML comes with Python 3.11")
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_conda(project: Any) -> None:
    recipe = (RECIPES / "conda" / "meta.yaml").read_text(encoding="utf-8")
    told, build = project["project"], project["build-system"]
    assert f'{{% set version = "{told["version"]}" %}}' in recipe
    assert f"  name: {told['name']}\n" in recipe
    assert f"  summary: {told['description']}\n" in recipe
    assert f"  license: {told['license']}\n" in recipe
    oldest = told["requires-python"].removeprefix(">=").replace(".", "")
    assert f"skip: true  # [py<{oldest}]" in recipe
    assert requirements(recipe, "run") == {"python", *spaced(told["dependencies"])}
    assert requirements(recipe, "host") == {"python", "pip", *spaced(build["requires"])}
    assert f"    - mbt = {told['scripts']['mbt']}\n" in recipe


def requirements(recipe: str, section: str) -> set[str]:
    """Return the entries of a section of requirements."""
    [lines] = re.findall(rf"^  {section}:\n((?:    - .*\n)+)", recipe, re.MULTILINE)
    return {line.removeprefix("    - ") for line in lines.splitlines()}


def spaced(wanted: list[str]) -> set[str]:
    """Return ``name>=version`` as conda writes it."""
    return {name.replace(">=", " >=") for name in wanted}


def test_debian(project: Any) -> None:
    folder, told = RECIPES / "debian", project["project"]
    control = (folder / "control").read_text(encoding="utf-8")
    version = re.match(r"(\S+) \(([\d.]+)-\d+\) ", (folder / "changelog").read_text(encoding="utf-8"))
    assert version is not None
    assert version.groups() == (told["name"], told["version"])
    assert f"Description: {told['description']}\n" in control
    assert f"python3-dev ({told['requires-python'].replace('>=', '>= ')})" in control
    # For packages whose version has an epoch.
    [numpy] = told["dependencies"]
    assert f"Depends: python3-numpy ({numpy.replace('numpy>=', '>= 1:')})," in control
    rights = (folder / "copyright").read_text(encoding="utf-8").replace("\n .\n", "\n")
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8").partition("developers\n")[2]
    assert rights.partition(f"License: {told['license']}\n")[2].split() == licence.split()


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such bit")
def test_rules_can_be_run() -> None:
    assert (RECIPES / "debian" / "rules").stat().st_mode & 0o111


def test_recipes_are_not_installed(project: Any) -> None:
    installed = metadata.files(project["project"]["name"]) or []
    assert not [path for path in installed if RECIPES.name in path.parts]
