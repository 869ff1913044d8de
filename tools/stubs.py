"""Docstrings of the compiled modules in their stubs: editors read these, not the modules.

    python tools/stubs.py           write them into the .pyi files
    python tools/stubs.py --check   exit with 1 where one differs

Signatures are written by hand, docstrings in the `.pyx` file; this copies them, and the members of
enumerations, from the modules as installed; those of quantities from their declaration, into `names.py`.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from enum import IntEnum
from pathlib import Path

STUBS = Path(__file__).resolve().parent.parent / "src" / "mbt" / "_core"

#: Names of quantities in Python, and where they are declared.
NAMES = STUBS / "quantities" / "names.py"

Definition = ast.FunctionDef | ast.ClassDef


def render(path: Path) -> str:
    """Return the text of a stub with the docstrings of its module."""
    text = path.read_text(encoding="utf-8")
    name = ".".join(path.relative_to(STUBS).with_suffix("").parts)
    module = importlib.import_module(f"mbt._core.{name}")
    lines = text.splitlines()
    # From the end, so that what is left to do keeps its place.
    for node in reversed(ast.parse(text).body):
        if isinstance(node, ast.ClassDef) and ast.unparse(node.bases[0] if node.bases else node) == "IntEnum":
            replace_members(lines, node, getattr(module, node.name))
    text = "\n".join(lines)
    for node, thing in sorted(find_definitions(ast.parse(text), module), key=lambda pair: -pair[0].lineno):
        replace_docstring(lines, node, inspect.cleandoc(getattr(thing, "__doc__", None) or ""))
    return "\n".join(lines) + "\n"


def render_names() -> str:
    """Return the text of `names.py` with the members that its declaration has."""
    declared = NAMES.with_suffix(".pxd").read_text(encoding="utf-8").partition("cdef enum Quantity:\n")[2]
    names = re.findall(r"^    (\w+)$", declared, re.MULTILINE)
    head = re.split(r"^    \w+ = \d+$", NAMES.read_text(encoding="utf-8"), maxsplit=1, flags=re.MULTILINE)[0]
    return head + "".join(f"    {name} = {i}\n" for i, name in enumerate(names))


def replace_members(lines: list[str], node: ast.ClassDef, enumeration: Iterable[IntEnum]) -> None:
    """Replace the members of an enumeration, which are all that its body has."""
    assert node.end_lineno is not None
    lines[node.lineno : node.end_lineno] = [f"    {member.name} = {member.value}" for member in enumeration]


def find_definitions(parent: ast.Module | ast.ClassDef, thing: object) -> Iterator[tuple[Definition, object]]:
    """Find all definitions with what they stand for; of overloads only the first."""
    seen = set()
    for node in parent.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name in seen:
            continue
        seen.add(node.name)
        # Not by getattr: a property has the docstring, and what is inherited is documented there.
        found = vars(thing).get(node.name)
        if found is None or node.name.startswith("_"):
            continue
        yield node, found
        if isinstance(node, ast.ClassDef):
            yield from find_definitions(node, found)


def replace_docstring(lines: list[str], node: Definition, text: str) -> None:
    """Replace the docstring of a definition, which is all that the body of a function has."""
    first = node.body[0]
    start = min([first.lineno, *(decorator.lineno for decorator in getattr(first, "decorator_list", []))])
    is_docstring = ast.get_docstring(node, clean=False) is not None
    is_empty = is_docstring or (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant))
    assert first.end_lineno is not None
    if is_empty:
        head = lines[start - 1][: first.col_offset].rstrip()
        rest = lines[first.end_lineno :]
        del lines[start - 1 :]
        if head:
            lines.append(head)
    else:
        rest = lines[start - 1 :]
        del lines[start - 1 :]
    if not text and is_empty and (isinstance(node, ast.FunctionDef) or len(node.body) == 1):
        lines[-1] += " ..."
    elif text:
        lines.extend(indented(text, node.col_offset + 4))
        if rest and rest[0].strip():
            lines.append("")
    lines.extend(rest)


def indented(text: str, width: int) -> list[str]:
    """Return the lines of a docstring."""
    raw = "r" if "\\" in text else ""
    body, *more = text.replace('"""', "'''").splitlines()
    if not more:
        return [f'{" " * width}{raw}"""{body}"""']
    lines = [f'{raw}"""{body}', *more, '"""']
    return [" " * width + line if line else "" for line in lines]


def main() -> int:
    """Write or check all stubs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 where one differs")
    check = parser.parse_args().check
    stale = []
    for path in [*sorted(STUBS.rglob("*.pyi")), NAMES]:
        text = render_names() if path == NAMES else render(path)
        if text != path.read_text(encoding="utf-8"):
            stale.append(str(path.relative_to(STUBS)))
            if not check:
                path.write_text(text, encoding="utf-8")
    if stale:
        print(f"{'out of date, run tools/stubs.py' if check else 'written'}: {', '.join(stale)}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
