"""Check what the compiler does not: kernels are free of Python, and their signatures are self-explanatory.

A kernel is a ``cdef`` function in a ``.pxd`` file of the core. Each is ``noexcept nogil`` and touches no
Python object. A function in one of the `ROOMS` with more than `MAX_PLAIN` pointers has its arguments in the
sections `SECTIONS`, in that order; inputs are const, outputs are not, and every array is followed by its
shape. The shape of an array of numbers is followed by their unit, as in ``(num_bodies, 6) [rad/s, m/s]``:
that of rotation, then that of translation if there are both; ``[SI]`` if there are many different units. No
unit is required for integers, for records, whose definitions contain the units, and for working memory.

Cython calls a template that is declared as ``f[S](...)`` with an explicit argument, ``f<double>(...)``, which
never selects an ordinary function of the same name, however well it matches. So no header may have a function
of the same name as such a template.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

CORE = Path(__file__).parents[1] / "src" / "mbt" / "_core"
FILES = [
    *sorted((CORE / "passes").glob("*.pxd")),
    *(
        CORE / f"{name}.pxd"
        for name in (
            "algebra/rotations",
            "algebra/spatial",
            "forces/bushing",
            "forces/elements_on_dof",
            "forces/force_elements",
            "forces/linear_spring_damper",
            "joints/curvilinear",
            "joints/mobilizers",
            "joints/mobod_joints",
            "quantities/algorithms",
            "quantities/derivative_algorithms",
        )
    ),
]

#: Folders in which signatures are checked, including those in `.pyx` files.
ROOMS = sorted(path.parent.name for path in CORE.glob("*/__init__.pxd"))
SECTIONS = ["Topology", "Parameters", "In", "In, destroyed", "Work", "Out"]
READ_ONLY = {"Topology", "Parameters", "In"}
WITH_UNITS = {"Parameters", "In", "Out"}
MAX_PLAIN = 5

# A function or method with a body. Parentheses in comments nest at most twice.
ARGUMENTS = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"
FUNCTION = re.compile(
    rf"^ *cdef [^(\n=]*?\b(?P<name>\w+)\((?P<arguments>{ARGUMENTS})\)(?P<suffix>[^()\n]*):\n", re.M
)
POINTER = re.compile(r"(?P<const>const )?(?P<type>\w+(?:\[\w+\])?)\* ?(?P<name>\w+)")
NUMBERS = {"T", "double", "Lanes"}
ARRAYS_OF = NUMBERS | {"int"}
# A shape may hold products, as in (6, 10 (num_bodies - 1)).
SHAPE = r"\((?:[^()]|\([^()]*\))*\)"
UNIT = r"\[(?:(?:rad|SI|kg|[mNJs])\b|[1-9 ,/^()])+\]"
SHAPE_AND_UNIT = re.compile(rf"{SHAPE} +{UNIT}")
PYTHON = re.compile(
    r"\b(object|list|dict|tuple|str|bytes|cpdef(?! enum)|def|class|raise|try|lambda|with gil)\b|^import ",
    re.M,
)
TEXT = re.compile(r'""".*?"""|#[^\n]*', re.S)
# A template as declared to Cython, and a function in a header.
TEMPLATE = re.compile(r"\b(\w+)\[(?:A, )?S\]\(")
FUNCTION_OF_HEADER = re.compile(
    r"^(?P<head>template <[^>]*>\n)?(?:static|inline|MBT_\w+) [^\n=;]*?\b(?P<name>\w+)\(", re.M
)


def lint(path: Path) -> Iterator[str]:
    """Yield the problems of a file."""
    source = path.read_text()
    # Blank out comments and docstrings, and keep the line numbers.
    code = TEXT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)
    where = f"{path.relative_to(CORE.parents[2])}:"
    for match in PYTHON.finditer(code):
        yield f"{where}{line_of(source, match.start())}: Python ({match[0].strip()!r}) in a kernel file"
    for match in FUNCTION.finditer(source):
        place = f"{where}{line_of(source, match.start())}: {match['name']}"
        if match["suffix"].strip() != "noexcept nogil":
            yield f"{place}: expected 'noexcept nogil', got {match['suffix'].strip()!r}"


def lint_signatures(path: Path) -> Iterator[str]:
    """Yield the problems in the arguments of all functions of a file."""
    source = path.read_text()
    for match in FUNCTION.finditer(source):
        place = f"{path.relative_to(CORE.parents[2])}:{line_of(source, match.start())}: {match['name']}"
        for problem in lint_signature(match["arguments"]):
            yield f"{place}: {problem}"


def lint_signature(arguments: str) -> Iterator[str]:
    """Yield the problems in the arguments of a function."""
    section, seen = "", []
    pointers = len(POINTER.findall(TEXT.sub("", arguments)))
    for line in arguments.splitlines():
        code, _, comment = (part.strip() for part in line.partition("#"))
        if not code and comment.removesuffix(":") in SECTIONS:
            section = comment.removesuffix(":")
            seen.append(section)
        for pointer in POINTER.finditer(code) if section else ():
            if bool(pointer["const"]) != (section in READ_ONLY):
                yield f"{pointer['name']}: {pointer['const'] or 'not const '}in section {section!r}"
            if pointer["type"] in ARRAYS_OF and not comment.startswith("("):
                yield f"{pointer['name']}: no shape after it"
            elif pointer["type"] in NUMBERS and section in WITH_UNITS and not SHAPE_AND_UNIT.match(comment):
                yield f"{pointer['name']}: no unit after its shape"
    if pointers > MAX_PLAIN and not seen:
        yield f"{pointers} pointers without sections ({', '.join(SECTIONS)})"
    if seen != sorted(set(seen), key=SECTIONS.index):
        yield f"sections in the order {seen}, expected that of {SECTIONS}"


def lint_overloads() -> Iterator[str]:
    """Yield the functions that Cython's calls of templates never select."""
    known = {name for path in CORE.rglob("*.p[xy][dx]") for name in TEMPLATE.findall(path.read_text())}
    for path in sorted(CORE.rglob("*.hpp")):
        source = path.read_text()
        found = list(FUNCTION_OF_HEADER.finditer(source))
        templates = {match["name"] for match in found if match["head"]}
        for match in found:
            if not match["head"] and match["name"] in known & templates:
                place = f"{path.relative_to(CORE.parents[2])}:{line_of(source, match.start())}"
                yield f"{place}: {match['name']}: Cython calls only the template of this name"


def line_of(source: str, position: int) -> int:
    """Return the number of the line at a position."""
    return source.count("\n", 0, position) + 1


def main() -> int:
    """Print the problems, one per line; return 1 if there are any."""
    problems = [problem for path in FILES for problem in lint(path)]
    for room in ROOMS:
        for path in sorted((CORE / room).glob("*.p[xy][dx]")):
            problems += lint_signatures(path)
    problems += lint_overloads()
    functions = sum(len(FUNCTION.findall(path.read_text())) for path in FILES)
    print(*problems, f"{functions} kernels in {len(FILES)} files, {len(problems)} problems", sep="\n")
    return 1 if problems or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
