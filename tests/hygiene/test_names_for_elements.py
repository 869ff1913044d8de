"""Every public argument that takes a frame, a body or a joint also takes its name."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import mbt

# All modules of the first package are public; of the others, only the names in `mbt` or in the package.
ROOMS = ("interop", "motion", "viewer", "plotting")
SHOWN = {*mbt.__all__, *(n for room in ROOMS[1:] for n in importlib.import_module(f"mbt.{room}").__all__)}
FILES = [path for room in ROOMS for path in sorted((Path(mbt.__file__).parent / room).rglob("*.py"))]


def public_functions(module: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions in `__all__`, and the public methods of the classes in it."""
    exported = {
        name.value
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for name in getattr(node.value, "elts", [])
        if isinstance(name, ast.Constant)  # Other entries repeat the list of another file of the package.
    }
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name in exported:
            yield node.name, node
        elif isinstance(node, ast.ClassDef) and node.name in exported:
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and re.match(r"__init__$|[^_]", method.name):
                    yield f"{node.name}.{method.name}", method


def arguments_of_elements() -> Iterator[tuple[str, str]]:
    """Yield every argument that takes a frame, a body or a joint, with its annotation."""
    for path in FILES:
        for name, function in public_functions(ast.parse(path.read_text(encoding="utf-8"))):
            if path.parent.name != "interop" and name.split(".")[0] not in SHOWN:
                continue  # Lists of files in a package also contain names for internal use.
            given = function.args
            for argument in [*given.posonlyargs, *given.args, *given.kwonlyargs]:
                kind = ast.unparse(argument.annotation) if argument.annotation else ""
                if re.search(r"\b(Frame|RigidBody|Joint)\b", kind):
                    yield f"{path.name}: {name}({argument.arg})", kind


def test_arguments_that_take_an_element_take_its_name() -> None:
    found = dict(arguments_of_elements())
    assert "crocoddyl.py: ResidualModelFramePose.__init__(frame)" in found
    assert [argument for argument, kind in found.items() if not re.search(r"\bstr\b", kind)] == []
