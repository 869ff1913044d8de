"""Cycles of imports stay small: a module finds what it needs in the layers below.

Imports inside functions and cimports count like those at module level; imports for type checkers do not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from mbt._core.above import above

SOURCES = Path(__file__).parents[2] / "src"
LARGEST_CIRCLE = 3
# Packages of the compiled core, innermost first.
ROOMS = [
    "scalars", "algebra", "model", "joints", "forces", "passes", "door", "quantities", "engines", "geometry",
    "solvers", "api",
]  # fmt: skip

Graph = dict[str, set[str]]


def _module_of(path: Path) -> str:
    parts = path.relative_to(SOURCES).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports_in_python(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each import: the module, and the names imported from it; none for `import module`."""
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", tuple(alias.name for alias in node.names)
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


_TEXTS = re.compile(r'("""|\'\'\').*?\1|#[^\n]*', re.DOTALL)
_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+c?import[ \t]+(\([^)]*\)|[^\n(]+)", re.MULTILINE)
_PLAIN = re.compile(r"^[ \t]*c?import[ \t]+([^\n]+)", re.MULTILINE)


def _imports_in_cython(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The same in Cython, cimports included."""
    code = _TEXTS.sub("", text).replace("\\\n", " ")
    for module, names in _FROM.findall(code):
        yield module, tuple(name.split()[0] for name in names.strip("() \t\n").split(",") if name.strip())
    for modules in _PLAIN.findall(code):
        yield from ((module.split()[0], ()) for module in modules.split(","))


def _graph(sources: dict[Path, str]) -> Graph:
    modules = {_module_of(path) for path in sources}
    graph: Graph = {module: set() for module in modules}
    for path, text in sources.items():
        read = _imports_in_python if path.suffix == ".py" else _imports_in_cython
        for module, names in read(text):
            found = {f"{module}.{name}" if f"{module}.{name}" in modules else module for name in names}
            graph[_module_of(path)] |= (found or {module}) & modules
    return {module: imported - {module} for module, imported in graph.items()}


def _circles(graph: Graph) -> list[list[str]]:
    """The sets of modules that import one another, directly or not, largest first."""
    reach: Graph = {}
    for start in graph:
        reached, waiting = set(), [start]
        while waiting:
            new = graph[waiting.pop()] - reached
            reached |= new
            waiting += new
        reach[start] = reached
    circles = {
        tuple(sorted(other for other in reach[start] if start in reach[other]))
        for start in graph
        if start in reach[start]
    }
    return sorted((list(circle) for circle in circles), key=lambda circle: (-len(circle), circle))


@cache
def _of_mbt() -> Graph:
    paths = sorted(path for path in (SOURCES / "mbt").rglob("*") if path.suffix in (".py", ".pyx", ".pxd"))
    return _graph({path: path.read_text(encoding="utf-8") for path in paths})


def test_circles_of_modules_are_small() -> None:
    too_large = [circle for circle in _circles(_of_mbt()) if len(circle) > LARGEST_CIRCLE]
    lines = (f"{len(circle)} modules import one another: {', '.join(circle)}" for circle in too_large)
    assert not too_large, "\n".join(lines)


def _room_of(module: str) -> int | None:
    parts = module.split(".")
    is_inside = parts[:2] == ["mbt", "_core"] and len(parts) > 2 and parts[2] in ROOMS
    return ROOMS.index(parts[2]) if is_inside else None


def _outwards(graph: Graph) -> list[str]:
    """The imports of a package from one further out."""
    return [
        f"{module} imports {other}"
        for module, imported in graph.items()
        for other in imported
        if None not in (here := _room_of(module), there := _room_of(other)) and there > here
    ]


def test_rooms_of_the_core_import_what_is_further_inside() -> None:
    graph = _of_mbt()
    found = {module.split(".")[2] for module in graph if module.startswith("mbt._core.")}
    assert found == {*ROOMS, "above", "wrong_calls"}
    assert not _outwards(graph), "\n".join(_outwards(graph))


def test_imports_outwards_are_found() -> None:
    graph: Graph = {
        "mbt._core.passes.qdot": {"mbt._core.algebra.spatial", "mbt._core.engines.context", "mbt.errors"},
        "mbt._core.api.stateless": {"mbt._core.passes.qdot"},
        "mbt.tree": {"mbt._core.api.stateless"},
    }
    assert _outwards(graph) == ["mbt._core.passes.qdot imports mbt._core.engines.context"]


def test_rooms_are_documented_in_their_order() -> None:
    page = (SOURCES.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("Rooms of `_core`")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)/` \|", table, re.MULTILINE) == ROOMS


def test_imports_of_every_kind_are_seen() -> None:
    graph = _of_mbt()
    door = graph["mbt._core.engines.leading_axes"]
    assert {"mbt.errors", "mbt.math.read_only"} <= graph["mbt.math.arrays"] | door
    assert "mbt._core.scalars" in graph["mbt._core.algebra.spatial"]
    assert "mbt.tree.multibody_tree" in graph["mbt.tree"]


PYTHON = """
from typing import TYPE_CHECKING
import mbt.errors
if TYPE_CHECKING:
    from mbt.tree import forbidden
def late():
    from mbt.math import poses, Pose
"""

CYTHON = '''
"""from mbt.text import not_code
"""
from mbt._core.scalars cimport (
    Lanes,  # from mbt.remark import not_code
    T,
)
cimport mbt._core.door
from mbt._core cimport spatial
cdef late():
    from mbt.math.arrays import as_float as wanted, other
'''


@pytest.mark.parametrize(
    ("suffix", "text", "imported"),
    [
        (".py", PYTHON, {"mbt.errors", "mbt.math", "mbt.math.poses"}),
        (".pyx", CYTHON, {"mbt._core.scalars", "mbt._core.door", "mbt._core.spatial", "mbt.math.arrays"}),
    ],
)
def test_what_a_file_imports(suffix: str, text: str, imported: set[str]) -> None:
    others = "errors tree tree.forbidden math math.poses math.arrays text remark "
    others += "_core _core.scalars _core.door _core.spatial"
    sources = {SOURCES / "mbt" / f"{name.replace('.', '/')}.py": "" for name in others.split()}
    graph = _graph({**sources, SOURCES / "mbt" / f"example{suffix}": text})
    assert graph["mbt.example"] == imported


def test_circles_are_found_through_several_modules() -> None:
    graph: Graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert _circles(graph) == [["a", "b", "c"], ["d", "e"]]


# Names that inner packages look up in outer ones.


def test_all_that_may_be_asked_for_is_brought() -> None:
    names = set(type(above).__annotations__)
    assert names == set(above._sources)
    for name in names:
        assert getattr(above, name).__name__ == name
        assert vars(above)[name] is getattr(above, name), "kept after the first time"


def test_what_is_not_brought_is_told() -> None:
    with pytest.raises(
        AttributeError, match=r"^raise_nothing: belongs to a room above and is not registered"
    ):
        _ = above.raise_nothing
