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


@cache
def _imported_modules(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module or "." for node in nodes if isinstance(node, ast.ImportFrom)}


def test_only_some_rooms_import_the_core() -> None:
    paths = {str(path.relative_to(PACKAGE)): path for path in SOURCES}
    importing = [
        name
        for name, path in paths.items()
        if any(module.startswith("mbt._core") for module in _imported_modules(path))
    ]
    assert not [name for name in importing if Path(name).parts[0].removesuffix(".py") not in MAY_IMPORT_CORE]


def test_the_sources_were_found() -> None:
    assert any("mbt._core.api.tree_energy" in _imported_modules(path) for path in SOURCES)


# The table of docs/architecture.md.

PAGE = PACKAGE.parents[1] / "docs" / "architecture.md"
ENTRANCES = ("__init__.py", "__main__.py")


def _imports_in_python(path: Path) -> set[str]:
    """Modules that a file imports anywhere but for type checkers."""

    class Visitor(ast.NodeVisitor):
        modules: set[str]

        def visit_If(self, node: ast.If) -> None:
            if ast.unparse(node.test) != "TYPE_CHECKING":
                self.generic_visit(node)

        def visit_Import(self, node: ast.Import) -> None:
            self.modules |= {alias.name for alias in node.names}

        def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
            self.modules |= {f"{node.module}.{alias.name}" for alias in node.names}

    visitor = Visitor()
    visitor.modules = set()
    visitor.visit(ast.parse(path.read_text(encoding="utf-8")))
    return visitor.modules


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
        modules = _imports_in_python(path) if path.suffix == ".py" else _imports_in_cython(path)
        rooms[room] |= {module.split(".")[1] for module in modules if module.startswith("mbt.")} - {room}
    return dict(rooms)


def test_the_table_of_rooms_says_what_the_code_imports() -> None:
    page = PAGE.read_text(encoding="utf-8").partition("Rooms of `_core`")[0]
    rows = re.findall(r"^\| `(\w+)(?:/|\.py)` \|[^|]*\| ([^|]*) \|$", page, re.MULTILINE)
    table = {room: set(re.findall(r"\w+", cell)) - {"nothing", "lazily"} for room, cell in rows}
    assert table == _rooms_by_code()
