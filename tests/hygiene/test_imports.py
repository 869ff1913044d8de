"""Who may reach the compiled core. Import-linter does the rest: it does not see compiled modules."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "mbt"
SOURCES = sorted(PACKAGE.rglob("*.py"))
MAY_IMPORT_CORE = {"_core", "config", "tree", "context", "functional", "scalars"}


def _imported_modules(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module or "." for node in nodes if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_rooms_that_compute_import_the_core(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    core = {module for module in _imported_modules(path) if module.startswith("mbt._core")}
    assert not core or room in MAY_IMPORT_CORE


def test_the_sources_were_found() -> None:
    assert any("mbt._core.engine" in _imported_modules(path) for path in SOURCES)
