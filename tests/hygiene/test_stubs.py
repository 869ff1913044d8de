"""The stubs that the build writes: docstrings of the compiled modules, signatures of the sources."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "src" / "mbt" / "_core"
STUBS = sorted(str(path.relative_to(CORE)) for path in CORE.rglob("*.pyi"))


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "tools" / "stubs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def written(tool: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stubs")
    tool.write_all(folder)
    return folder


def _docstrings(parent: ast.Module | ast.ClassDef, thing: object) -> Iterator[tuple[str, str, str]]:
    """Each public name, with its docstring in the stub and in the module."""
    seen = set()
    for node in parent.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name not in seen:
            seen.add(node.name)
            found = vars(thing).get(node.name)
            if node.name.startswith("_") or found is None:
                continue
            yield node.name, ast.get_docstring(node) or "", inspect.cleandoc(found.__doc__ or "")
            if isinstance(node, ast.ClassDef):
                yield from _docstrings(node, found)


def _without_docstrings(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Expr(ast.Constant(...))]
    return ast.unparse(tree)


@pytest.mark.parametrize("path", [path for path in STUBS if (CORE / path).with_suffix(".pyx").is_file()])
def test_written_stub_has_the_docstrings_of_its_module(path: str, written: Path) -> None:
    name = ".".join(Path(path).with_suffix("").parts)
    pairs = list(
        _docstrings(ast.parse((written / path).read_text()), importlib.import_module(f"mbt._core.{name}"))
    )
    # Cython writes an empty docstring for the declaration in a `.pxd` file, which no stub shows.
    assert [
        (name, text) for name, text, wanted in pairs if text != wanted.replace('"""', "'''") and text
    ] == []
    assert [name for name, text, wanted in pairs if wanted and not text and name[0].islower()] == []


@pytest.mark.parametrize("path", STUBS)
def test_source_of_a_stub_has_signatures_alone(path: str, written: Path) -> None:
    source = (CORE / path).read_text()
    assert ast.unparse(ast.parse(source)) == _without_docstrings(source)
    assert _without_docstrings((written / path).read_text()) == ast.unparse(ast.parse(source))
