"""Stubs of compiled modules: `.pyi` files contain signatures, `.pyx` files docstrings.

python tools/stubs.py                 update the copied parts: members of enumerations
python tools/stubs.py --check         exit with 1 if a stub differs
python tools/stubs.py --write FOLDER  write stubs with docstrings, as the build does: editors read these
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from enum import IntEnum
from pathlib import Path

CORE = Path(__file__).resolve().parent.parent / "src" / "mbt" / "_core"

#: The module through which tests call scalar types; it is not part of wheels.
OF_TESTS = CORE / "scalars" / "probe.pyi"

Definition = ast.FunctionDef | ast.ClassDef

_DEFINITION = re.compile(r"^( *)(?:def|cpdef \w+|(?:cdef )?class) (\w+)", re.MULTILINE)
_DOCSTRING = re.compile(r'\s*(r?"""(?:[^\\]|\\.)*?""")', re.DOTALL)


def render(path: Path) -> str:
    """Return the text of a stub with the members that enumerations of its module have."""
    text = path.read_text(encoding="utf-8")
    name = "mbt._core." + ".".join(path.relative_to(CORE).with_suffix("").parts)
    if path == OF_TESTS and importlib.util.find_spec(name) is None:
        return text
    module = importlib.import_module(name)
    lines = text.splitlines()
    # From the end, so that the positions of the remaining nodes stay valid.
    for node in reversed(ast.parse(text).body):
        if isinstance(node, ast.ClassDef) and ast.unparse(node.bases[0] if node.bases else node) == "IntEnum":
            replace_members(lines, node, getattr(module, node.name))
    return "\n".join(lines) + "\n"


def replace_members(lines: list[str], node: ast.ClassDef, enumeration: Iterable[IntEnum]) -> None:
    """Replace the members of an enumeration, which are its whole body."""
    assert node.end_lineno is not None
    lines[node.lineno : node.end_lineno] = [f"    {member.name} = {member.value}" for member in enumeration]


def find_docstrings(source: str) -> dict[str, str]:
    """Return the docstrings of a `.pyx` file, by name, as `function`, `Class` and `Class.function`."""
    found = {}
    path: list[tuple[int, str]] = []
    for match in _DEFINITION.finditer(source):
        indent = len(match.group(1))
        path = [*(outer for outer in path if outer[0] < indent), (indent, match.group(2))]
        docstring = _DOCSTRING.match(source, find_body(source, match.end()))
        if docstring is not None:
            text = inspect.cleandoc(ast.literal_eval(docstring.group(1)))
            found[".".join(name for _, name in path)] = text
    return found


def find_body(source: str, position: int) -> int:
    """Return where the body begins: after the first colon outside brackets."""
    depth = 0
    while source[position] != ":" or depth:
        depth += (source[position] in "([{") - (source[position] in ")]}")
        position += 1
    return position + 1


def add_docstrings(text: str, docstrings: dict[str, str]) -> str:
    """Return the text of a stub with docstrings, which become the whole body of functions."""
    lines = text.splitlines()
    # From the end, so that the positions of the remaining nodes stay valid.
    for node, name in sorted(find_definitions(ast.parse(text)), key=lambda pair: -pair[0].lineno):
        if name in docstrings and not node.name.startswith("_"):
            add_docstring(lines, node, docstrings[name])
    return "\n".join(lines) + "\n"


def find_definitions(parent: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[Definition, str]]:
    """Find all definitions with their names; of overloads only the first."""
    seen = set()
    for node in parent.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name not in seen:
            seen.add(node.name)
            yield node, prefix + node.name
            if isinstance(node, ast.ClassDef):
                yield from find_definitions(node, f"{prefix}{node.name}.")


def add_docstring(lines: list[str], node: Definition, text: str) -> None:
    """Replace a body of dots by a docstring, or insert it before the members of a class."""
    first = node.body[0]
    start = min([first.lineno, *(decorator.lineno for decorator in getattr(first, "decorator_list", []))]) - 1
    if is_ellipsis(first):
        head, rest = lines[start][: first.col_offset].rstrip(), lines[start][first.end_col_offset :].rstrip()
        lines[start] = head + rest
        start += 1
    docstring = indented(text, node.col_offset + 4)
    lines[start:start] = [*docstring, ""] if lines[start : start + 1] != [""] else docstring


def is_ellipsis(statement: ast.stmt) -> bool:
    """Return whether a statement is `...`."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is ...
    )


def indented(text: str, width: int) -> list[str]:
    """Return the lines of a docstring."""
    raw = "r" if "\\" in text else ""
    body, *more = text.replace('"""', "'''").splitlines()
    if not more:
        return [f'{" " * width}{raw}"""{body}"""']
    lines = [f'{raw}"""{body}', *more, '"""']
    return [" " * width + line if line else "" for line in lines]


def write_all(folder: Path) -> None:
    """Write all stubs, with the docstrings of their modules, to a folder with the layout of `_core`."""
    for path in CORE.rglob("*.pyi"):
        source = path.with_suffix(".pyx")
        docstrings = find_docstrings(source.read_text(encoding="utf-8")) if source.is_file() else {}
        target = folder / path.relative_to(CORE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(add_docstrings(path.read_text(encoding="utf-8"), docstrings), encoding="utf-8")


def main() -> int:
    """Write or check all stubs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 if a stub differs")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write stubs with docstrings there")
    arguments = parser.parse_args()
    if arguments.write is not None:
        write_all(arguments.write)
        return 0
    stale = []
    for path in sorted(CORE.rglob("*.pyi")):
        text = render(path)
        if text != path.read_text(encoding="utf-8"):
            stale.append(str(path.relative_to(CORE)))
            if not arguments.check:
                path.write_text(text, encoding="utf-8")
    if stale:
        print(f"{'out of date, run tools/stubs.py' if arguments.check else 'written'}: {', '.join(stale)}")
    return int(arguments.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
