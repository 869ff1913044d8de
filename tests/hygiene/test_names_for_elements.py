"""Whatever takes a frame, a body or a joint from a user takes its name as well."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import mbt

# Modules of the first are public themselves, of the others what `mbt` or the room shows.
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
        if isinstance(name, ast.Constant)  # Others name what another file of the room has in its own list.
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
                continue  # Files of a room have lists of what they show one another.
            given = function.args
            for argument in [*given.posonlyargs, *given.args, *given.kwonlyargs]:
                kind = ast.unparse(argument.annotation) if argument.annotation else ""
                if re.search(r"\b(Frame|RigidBody|Joint)\b", kind):
                    yield f"{path.name}: {name}({argument.arg})", kind


def test_arguments_that_take_an_element_take_its_name() -> None:
    found = dict(arguments_of_elements())
    assert "crocoddyl.py: ResidualModelFramePose.__init__(frame)" in found
    assert [argument for argument, kind in found.items() if not re.search(r"\bstr\b", kind)] == []
