"""Measure the sources: what an addition touches, how long files and functions are, what is duplicated.

    python tools/house.py

The program ends if the sources for a figure cannot be found any more: a measure that sees nothing is a
defect.
"""

from __future__ import annotations

import ast
import re
import statistics
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path

# The imports of a module, by its name.
Arrows = dict[str, set[str]]

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "mbt"
CORE = PACKAGE / "_core"
TEXT = re.compile(r'""".*?"""|#[^\n]*', re.DOTALL)
FUNCTION = re.compile(
    r"^( *)(?:cdef|cpdef|def)\b[^\n=]*?\b(\w+)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)[^\n()]*:[ \t]*\n",
    re.MULTILINE,
)
OTHERS = re.compile(
    r"cdef (?:const )?\w+(?:\[\d+\])+|integers\[\d\]|&[\w.]+\[[ij]\]|\w+\[[ij]\](?=\.)"
    r"|\w+_(?:start|node|mobod|of_node)\[[ij]\]|(?:parent|mobods|constraints|root|places?|through)\[[ij]\]"
)
COMPONENTS = re.compile(r"\w\[(?:\d+|[ij]|\d+ \+ [ij]|\d\*[ij](?: \+ [\dij])?)\]")


def sources(folder: Path, *endings: str) -> list[Path]:
    """Return the files in a folder; there must be some."""
    found = [path for path in sorted(folder.rglob("*")) if path.suffix in endings]
    if not found:
        raise SystemExit(f"no sources in {folder}: this program must be updated")
    return found


def code(path: Path) -> str:
    """Return a source without comments and docstrings."""
    return TEXT.sub("", path.read_text(encoding="utf-8"))


def count_lines(paths: list[Path]) -> int:
    """Return the number of lines."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def spell(name: str) -> list[str]:
    """Return the files that contain the name of a quantity."""
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
    """Return functions outside passes/ with at least this many pointers, without signature sections."""
    found = []
    for path in sources(CORE, ".pxd", ".pyx"):
        if path.parent.name == "passes":
            continue
        for match in FUNCTION.finditer(path.read_text(encoding="utf-8")):
            if TEXT.sub("", match[3]).count("*") >= at_least and "# In" not in match[3]:
                found.append(f"{path.name}: {match[2]}")
    return found


def comparisons_by_order() -> int:
    """Return how often code tests whether a quantity comes before or after another one."""
    asks = re.compile(r"\bquantity\s*(?:<|>)|(?:<|>)=?\s*quantity\b")
    lines = (line for path in sources(CORE, ".pxd", ".pyx") for line in code(path).splitlines())
    return sum(1 for line in lines if asks.search(line) and "NUM_QUANTITIES" not in line)


def components() -> tuple[int, int]:
    """Return the lines that write vectors out in components, in passes, joints, forces and quantities.

    Also return how many of them compute; the others declare arrays, or read an integer of a call or a record
    of a list.
    """
    folders = ("passes", "joints", "forces", "quantities")
    paths = [path for folder in folders for path in sources(CORE / folder, ".pxd")]
    lines = [line for path in paths for line in code(path).splitlines() if COMPONENTS.search(line)]
    return len(lines), sum(1 for line in lines if COMPONENTS.search(OTHERS.sub("", line)))


def members_of_tree() -> tuple[int, int]:
    """Return the number of public members of MultibodyTree, and of classes that define them."""
    from mbt import MultibodyTree

    names = [name for name in dir(MultibodyTree) if not name.startswith("_")]
    classes = {c for c in MultibodyTree.__mro__ for name in names if name in vars(c)}
    return len(names), len(classes)


def module_of(path: Path) -> str:
    """Return the name of the module in a file."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def arrows(folder: Path) -> tuple[Arrows, Arrows]:
    """Return the imports between modules of a package, and those for type checkers or within functions."""
    modules = {
        module_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in sources(folder, ".py")
    }

    def imported(nodes: Iterable[ast.AST]) -> set[str]:
        found = [
            (f"{node.module}.{name.name}", str(node.module))
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for name in node.names
        ]
        return {one if one in modules else other for one, other in found} & set(modules)

    first = {name: imported(tree.body) for name, tree in modules.items()}
    return first, {name: imported(ast.walk(tree)) - first[name] for name, tree in modules.items()}


def arrows_back_up(first: Arrows, late: Arrows) -> int:
    """Return how many late imports are of modules that themselves depend on the importing one."""

    def reached(module: str) -> set[str]:
        found: set[str] = set()
        left = [module]
        while left:
            new = first[left.pop()] - found
            found |= new
            left += new
        return found

    return sum(1 for name, modules in late.items() for module in modules if name in reached(module))


def files_of_type(name: str, classes: str) -> list[str]:
    """Return the files, except for file formats, that contain a type of elements: its row or its classes."""
    spelled = re.compile(rf"\b(?:{name}|{classes})\b")
    return [
        str(path.relative_to(PACKAGE))
        for path in sources(PACKAGE, ".pxd", ".pyx", ".py", ".hpp")
        if path.parent.name not in ("parsing", "saving") and spelled.search(code(path))
    ]


def main() -> None:
    """Print the figures."""
    passes = lengths_of_functions(CORE / "passes")
    largest = max(sources(CORE, ".pxd", ".pyx"), key=lambda path: count_lines([path]))
    long_files = sum(1 for path in sources(CORE, ".pxd", ".pyx") if count_lines([path]) > 500)
    pointers = functions_with_pointers(6)
    members, classes = members_of_tree()
    for name in ("FORWARD_DYNAMICS", "MASS_MATRIX", "CENTER_OF_MASS_BIAS"):
        print(f"files that contain {name}: {len(spell(name))}")
    print(f"comparisons by the order of quantities: {comparisons_by_order()}")
    print(f"functions with more than five pointers outside passes/, without sections: {len(pointers)}")
    lines, computing = components()
    print(f"lines of components in passes, joints, forces and quantities: {lines}; computing: {computing}")
    print(f"functions of passes: median {statistics.median(passes):g} lines, largest {max(passes)}")
    print(f"largest file of the core: {largest.name}, {count_lines([largest])} lines")
    print(f"MultibodyTree: {members} public members from {classes} classes")
    print(f"files of the core with more than 500 lines: {long_files}")
    first, late = arrows(PACKAGE / "tree")
    print(f"imports within tree/: {sum(map(len, first.values()))}; back up: {arrows_back_up(first, late)}")
    for name, classes in (
        ("PLANAR", "Planar(?:Joint|Mobilizer)"),
        ("LINEAR_BUSHING_RPY", "LinearBushing\\w+"),
    ):
        print(f"files that contain {name}, except file formats: {len(files_of_type(name, classes))}")
    print(f"source lines: {count_lines(sources(PACKAGE, '.py', '.pyx', '.pxd', '.hpp', '.h', '.c'))}")


if __name__ == "__main__":
    main()
