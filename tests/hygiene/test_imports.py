"""Who imports whom, compiled modules and imports inside functions included: import-linter sees neither."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "mbt"
SOURCES = sorted(PACKAGE.rglob("*.py"))
MAY_IMPORT_CORE = {
    "_core",
    "_pyinstaller",
    "config",
    "tree",
    "compiling",
    "context",
    "functional",
    "interop",
    "math",
    "scalars",
    "wiring",
    "geometry",
    "kinematics",
    "motion",
    "parsing",
}


class _Imports(ast.NodeVisitor):
    """Modules that a file imports anywhere, except imports for type checkers only."""

    def __init__(self, path: Path) -> None:
        self.modules: set[str] = set()
        self.at_run_time: set[str] = set()
        self._is_for_checkers = False
        self.visit(ast.parse(path.read_text(encoding="utf-8")))

    def visit_If(self, node: ast.If) -> None:
        before = self._is_for_checkers
        self._is_for_checkers |= isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        self.generic_visit(node)
        self._is_for_checkers = before

    def visit_Import(self, node: ast.Import) -> None:
        self._add({alias.name for alias in node.names}, {alias.name for alias in node.names})

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._add({node.module or "."}, {f"{node.module}.{alias.name}" for alias in node.names})

    def _add(self, modules: set[str], names: set[str]) -> None:
        self.modules |= modules
        if not self._is_for_checkers:
            self.at_run_time |= names

    # Expressions contain no statements.
    def visit_Expr(self, node: ast.Expr) -> None: ...
    def visit_Assign(self, node: ast.Assign) -> None: ...
    def visit_Return(self, node: ast.Return) -> None: ...


_imports = cache(_Imports)


def test_only_some_rooms_import_the_core() -> None:
    paths = {str(path.relative_to(PACKAGE)): path for path in SOURCES}
    importing = [
        name
        for name, path in paths.items()
        if any(module.startswith("mbt._core") for module in _imports(path).modules)
    ]
    assert not [name for name in importing if Path(name).parts[0].removesuffix(".py") not in MAY_IMPORT_CORE]


def test_the_sources_were_found() -> None:
    assert any("mbt._core.api.tree_energy" in _imports(path).modules for path in SOURCES)


# The table of docs/architecture.md.

PAGE = PACKAGE.parents[1] / "docs" / "architecture.md"
ENTRANCES = ("__init__.py", "__main__.py")


def _imports_in_cython(path: Path) -> set[str]:
    text = path.read_text(encoding="utf-8")
    found = re.findall(r"^\s*from (mbt[\w.]*) c?import (\w+)|^\s*c?import (mbt[\w.]*)", text, re.MULTILINE)
    return {f"{module}.{name}" if module else plain for module, name, plain in found}


def _rooms_by_code() -> dict[str, set[str]]:
    rooms: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix not in (".py", ".pyx", ".pxd") or (path.parent == PACKAGE and path.name in ENTRANCES):
            continue
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        modules = _imports(path).at_run_time if path.suffix == ".py" else _imports_in_cython(path)
        rooms[room] |= {module.split(".")[1] for module in modules if module.startswith("mbt.")} - {room}
    return dict(rooms)


def test_the_table_of_rooms_says_what_the_code_imports() -> None:
    page = PAGE.read_text(encoding="utf-8").partition("Rooms of `_core`")[0]
    rows = re.findall(r"^\| `(\w+)(?:/|\.py)` \|[^|]*\| ([^|]*) \|$", page, re.MULTILINE)
    table = {room: set(re.findall(r"\w+", cell)) - {"nothing", "lazily"} for room, cell in rows}
    assert table == _rooms_by_code()


def test_the_page_is_read_in_one_sitting() -> None:
    assert len(PAGE.read_text(encoding="utf-8").splitlines()) <= 150
