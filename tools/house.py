"""Measure the sources: what a new thing touches, how long files and functions are, what stands twice.

    python tools/house.py

A figure whose sources cannot be found any more ends the program: a measure that sees nothing is a defect.
"""

from __future__ import annotations

import ast
import re
import statistics
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "mbt"
CORE = PACKAGE / "_core"
TEXT = re.compile(r'""".*?"""|#[^\n]*', re.DOTALL)
FUNCTION = re.compile(
    r"^( *)(?:cdef|cpdef|def)\b[^\n=]*?\b(\w+)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)[^\n()]*:[ \t]*\n",
    re.MULTILINE,
)
COMPONENTS = re.compile(r"\w\[(?:\d+|[ij]|\d+ \+ [ij]|\d\*[ij](?: \+ [\dij])?)\]")


def sources(folder: Path, *endings: str) -> list[Path]:
    """Return the files of a folder; there must be some."""
    found = [path for path in sorted(folder.rglob("*")) if path.suffix in endings]
    if not found:
        raise SystemExit(f"no sources in {folder}: this program must be told where they are now")
    return found


def code(path: Path) -> str:
    """Return a source without comments and docstrings."""
    return TEXT.sub("", path.read_text(encoding="utf-8"))


def count_lines(paths: list[Path]) -> int:
    """Return the number of lines."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def spell(name: str) -> list[str]:
    """Return the files that spell the name of a quantity."""
    paths = sources(CORE, ".pxd", ".pyx", ".py", ".hpp")
    return [str(path.relative_to(CORE)) for path in paths if re.search(rf"\b{name}\b", code(path))]


def lengths_of_functions(folder: Path) -> list[int]:
    """Return the lines of code of the functions, signatures not counted."""
    lengths = []
    for path in sources(folder, ".pxd", ".pyx"):
        text = code(path)
        matches = list(FUNCTION.finditer(text))
        for match, after in zip_longest(matches, matches[1:]):
            body = text[match.end() : after.start() if after else len(text)]
            lengths.append(sum(1 for line in body.splitlines() if line.strip()))
    return lengths


def functions_with_pointers(at_least: int) -> list[str]:
    """Return functions outside of passes/ with so many pointers, without sections in their signature."""
    found = []
    for path in sources(CORE, ".pxd", ".pyx"):
        if path.parent.name == "passes":
            continue
        for match in FUNCTION.finditer(path.read_text(encoding="utf-8")):
            if TEXT.sub("", match[3]).count("*") >= at_least and "# In" not in match[3]:
                found.append(f"{path.name}: {match[2]}")
    return found


def comparisons_by_order() -> int:
    """Return how often code asks whether a quantity is before or behind another one."""
    asks = re.compile(r"\bquantity\s*(?:<|>)|(?:<|>)=?\s*quantity\b")
    lines = (line for path in sources(CORE, ".pxd", ".pyx") for line in code(path).splitlines())
    return sum(1 for line in lines if asks.search(line) and "NUM_QUANTITIES" not in line)


def components() -> int:
    """Return the lines that write vectors out in components, in passes, joints, forces and quantities."""
    folders = ("passes", "joints", "forces", "quantities")
    paths = [path for folder in folders for path in sources(CORE / folder, ".pxd")]
    return sum(1 for path in paths for line in code(path).splitlines() if COMPONENTS.search(line))


def members_of_tree() -> tuple[int, int]:
    """Return the public members of a MultibodyTree, and how many classes they are from."""
    from mbt import MultibodyTree

    names = [name for name in dir(MultibodyTree) if not name.startswith("_")]
    classes = {c for c in MultibodyTree.__mro__ for name in names if name in vars(c)}
    return len(names), len(classes)


def arrows(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the imports between modules of a package, but those for type checkers and within functions."""
    prefix = ".".join(folder.relative_to(PACKAGE.parent).parts)
    for path in sources(folder, ".py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(prefix):
                yield path.stem, str(node.module)


def main() -> None:
    """Print the figures."""
    passes = lengths_of_functions(CORE / "passes")
    largest = max(sources(CORE, ".pxd", ".pyx"), key=lambda path: count_lines([path]))
    pointers = functions_with_pointers(6)
    members, classes = members_of_tree()
    for name in ("FORWARD_DYNAMICS", "MASS_MATRIX", "CENTER_OF_MASS_BIAS"):
        print(f"files that spell {name}: {len(spell(name))}")
    print(f"comparisons by the order of quantities: {comparisons_by_order()}")
    print(f"functions with more than five pointers outside of passes/, without sections: {len(pointers)}")
    print(f"lines of components in passes, joints, forces and quantities: {components()}")
    print(f"functions of passes: median {statistics.median(passes):g} lines, largest {max(passes)}")
    print(f"largest file of the core: {largest.name}, {count_lines([largest])} lines")
    print(f"MultibodyTree: {members} public members of {classes} classes")
    print(f"imports within tree/: {sum(1 for _ in arrows(PACKAGE / 'tree'))}")
    print(f"source lines: {count_lines(sources(PACKAGE, '.py', '.pyx', '.pxd', '.hpp', '.h', '.c'))}")


if __name__ == "__main__":
    main()
