"""Change the sources in small ways, one at a time, and check whether tests notice: `mutants.py DIRECTORY`.

Everything happens in a copy of the repository in DIRECTORY. Compiled modules come from the installation of
mbt that runs this program, which must have been built from the same sources. Mutants of Python change an
operator, a comparison, a condition or a number; then the tests of their room run, first those that reach the
mutated lines (according to pytest-cov). Mutants of kernels change a sign, an index, a comparison or a factor
in a `.pxd` or `.hpp` file. For these, one module is rebuilt, and those tests run that compare nothing with
the other modules: identities, references in NumPy, and geometry.

`--seed` determines the mutants. Each is killed or survives; survivors are listed at the end, and in
DIRECTORY/survivors.txt.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coverage import CoverageData

from mbt import _core

ROOT = Path(__file__).resolve().parents[1]
#: Seconds for the tests of one mutant. A mutant that never ends counts as killed.
TIMEOUT = 3600

#: The tests of each Python room, by the prefix of its paths in `src/mbt`; the longest matching prefix counts.
TESTS_OF = {
    "topology": ["topology", "tree/test_finalize.py", "tree/test_report.py", "parsing/test_loops.py"],
    "math": ["math", "tree/test_frames.py", "parsing/test_numbers.py"],
    "parsing": ["parsing", "interop/test_mujoco.py", "interop/test_mujoco_equalities.py", "fuzz", "checking"],
    "saving": ["saving", "fuzz"],
    "tree": ["tree", "topology", "context"],
    "context": ["context", "tree", "hygiene/test_concurrent_use.py", "hygiene/test_inputs.py"],
    "motion": ["motion", "plotting"],
    "motion/implicit": ["motion/test_implicit*.py"],
    "checking": ["checking", "cli"],
    "kinematics": ["kinematics"],
    "geometry": ["geometry", "contact/test_shape_contact.py", "checking/test_overlaps.py"],
    "control": ["control"],
    "identification": ["identification"],
    "compiling": ["compiling"],
}
_PASSES = """
    joints/mobilizers joints/mobod_joints forces/force_elements forces/elements_on_dof
    forces/linear_spring_damper forces/bushing forces/point_contact algebra/spatial
    algebra/rotations passes/body_forces passes/body_poses passes/center_of_mass passes/constrained_dynamics
    passes/coriolis passes/element_forces passes/forward_dynamics passes/forward_dynamics_in_parents
    passes/gravity_forces
    passes/inverse_dynamics_in_rows passes/jacobian passes/mass_matrix passes/mass_matrix_inverse
    passes/mass_matrix_of_chains passes/paths passes/position_kinematics passes/velocity_kinematics
"""
_IDENTITIES = """
    textbook random_trees_vs_reference tree_vs_reference caches_vs_reference forward_vs_inverse_dynamics
    mass_matrix_vs_inverse_dynamics mass_matrix_inverse coriolis_matrix_vs_bias_term
    jacobian_vs_velocities jacobian_rates jacobians_of_frames kinetic_energy_vs_mass_matrix
    gravity_forces_vs_potential_energy energy_vs_power reactions_vs_generalized_forces
    integrated_positions_vs_differences regressors_vs_dynamics operational_space mass_of_parts
    constrained_dynamics constraint_physics
    velocities_vs_position_rates accelerations_vs_velocities accelerations_by_forward_dynamics
"""
_DISTANCES = """
    bounds closed_forms convex distances epa gjk height_field height_grid pair_distance polish shapes supports
    witnesses
"""


@dataclass(frozen=True)
class Kernels:
    """A module that is rebuilt, its sources, and its tests."""

    module: str
    files: list[str]
    tests: list[str]


#: Kernels for one state of doubles, for distances, and for the points of contact of shapes.
KERNELS = {
    "dynamics": Kernels(
        "quantities/kernels",
        [f"{name}.pxd" for name in _PASSES.split()],
        [
            *(f"identities/test_{name}.py" for name in _IDENTITIES.split()),
            "tree/test_force_elements.py",
            "tree/test_constraints_between_frames.py",
            "contact",
        ],
    ),
    "distances": Kernels(
        "geometry/distances",
        [f"geometry/{name}.hpp" for name in _DISTANCES.split()],
        ["geometry", "kinematics/test_distances.py"],
    ),
    "contacts": Kernels(
        "solvers/shape_contact",
        [f"geometry/{name}.hpp" for name in ("contacts", "field_spots", "manifold", "outlines")],
        ["geometry", "contact"],
    ),
}


@dataclass(frozen=True)
class Mutant:
    """A piece of a file, and its replacement."""

    path: str
    start: int
    end: int
    replacement: str

    def apply(self, text: str) -> str:
        """Return the mutated text."""
        return text[: self.start] + self.replacement + text[self.end :]

    def describe(self, text: str) -> str:
        """Return a line with the place, the original and the replacement."""
        line = text.count("\n", 0, self.start) + 1
        shown = " ".join(text[self.start : self.end].split())
        whole = text.splitlines()[line - 1].strip()
        return f"{self.path}:{line}: {shown} -> {self.replacement} in: {whole}"


# Python -------------------------------------------------------------------------------------------------

_BINARY = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
_COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


def mutate_node(node: ast.AST) -> ast.AST | None:
    """Return a node with another value, or None if there is no useful one."""
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        # Concatenated text is a message.
        if any(isinstance(part, ast.JoinedStr) or _is_text(part) for part in (node.left, node.right)):
            return None
        return ast.BinOp(node.left, _BINARY[type(node.op)](), node.right)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return ast.Compare(node.left, [_COMPARED[type(node.ops[0])]()], node.comparators)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        return node.operand
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return ast.Constant(node.value + 1)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        return ast.Constant(not node.value)
    return None


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _computing_nodes(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that run: no annotations, and nothing that is only for type checkers."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_comment", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_for_type_checkers(child):
                continue
            if isinstance(child, ast.expr):
                yield child
            if not isinstance(child, ast.JoinedStr):
                yield from _computing_nodes(child)


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def mutants_of_python(path: str, text: str) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    if not text.isascii():
        # Positions of nodes count bytes.
        return
    for node in _computing_nodes(ast.parse(text)):
        changed = mutate_node(node)
        if changed is None or node.end_lineno is None or node.end_col_offset is None:
            continue
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        yield Mutant(path, start, end, f"({ast.unparse(ast.fix_missing_locations(changed))})")


# Kernels ------------------------------------------------------------------------------------------------

_SIGNS = [
    (re.compile(r" \+ "), " - "), (re.compile(r" - "), " + "), (re.compile(r" \+= "), " -= "),
    (re.compile(r" -= "), " += "), (re.compile(r"(?<== )-(?=\w)"), ""), (re.compile(r"(?<=\()-(?=\w)"), ""),
    (re.compile(r"\b0\.5\b"), "0.25"), (re.compile(r"\b2\.0\b"), "1.0"), (re.compile(r"\[0\]"), "[1]"),
    (re.compile(r"\[1\]"), "[2]"), (re.compile(r"\[2\]"), "[1]"), (re.compile(r"\[3\]"), "[4]"),
    (re.compile(r"\[4\]"), "[5]"), (re.compile(r"\[5\]"), "[4]"), (re.compile(r" == "), " != "),
    (re.compile(r" < "), " <= "), (re.compile(r" > "), " >= "), (re.compile(r" and "), " or "),
    (re.compile(r" && "), " || "), (re.compile(r" \|\| "), " && "),
]  # fmt: skip


#: In Cython: a declaration, or a line of a signature or of a call.
_DECLARATION = re.compile(r"\s*(cdef|cimport|from|const)|.*,\s*$")


def mutants_of_kernel(path: str, text: str) -> Iterator[Mutant]:
    """Yield every mutant of the code in a `.pxd` or `.hpp` file, without declarations, comments and text."""
    position, in_docstring = 0, False
    is_cpp = path.endswith(".hpp")
    for line in text.splitlines(keepends=True):
        code = line.partition("//" if is_cpp else "#")[0]
        quotes = code.count('"""')
        is_text = in_docstring or quotes > 0
        in_docstring ^= quotes == 1
        is_code = line.startswith("  ") and (is_cpp or not _DECLARATION.match(code))
        if is_code and not is_text:
            for pattern, replacement in _SIGNS:
                for match in pattern.finditer(code):
                    yield Mutant(path, position + match.start(), position + match.end(), replacement)
        position += len(line)


# The copy -----------------------------------------------------------------------------------------------


class Copy:
    """A copy of the repository, with an environment in which it is installed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self.source = self.directory / "source"
        self.site = self.directory / "site"
        self.build = self.directory / "build"
        self.python = self.directory / "venv" / "bin" / "python"
        if not self.python.exists():
            self._make_environment()
        files = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        shutil.rmtree(self.source, ignore_errors=True)
        for name in files.splitlines():
            target = self.source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        shutil.copytree(self.source / "src" / "mbt", self.site / "mbt", dirs_exist_ok=True)
        # The compiled modules of the installation that runs this program.
        self.isa = _core.isa
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        for path in map(Path, _core.__path__):
            for library in path.rglob(f"*{suffix}"):
                target = self.site / "mbt" / "_core" / library.relative_to(path)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(library, target)

    def original(self, path: str) -> str:
        """Return the unmutated text of a file."""
        return (self.source / path).read_text(encoding="utf-8")

    def prepare_kernels(self, modules: list[str]) -> None:
        """Generate the C++ of some unmutated modules."""
        self._configure()
        self.built = {}
        for module in modules:
            self._transpile(module)
            self.built[module] = self._text_of(module)

    def _make_environment(self) -> None:
        # Without the import hooks of an editable installation.
        venv.create(self.directory / "venv")
        purelib = Path(
            subprocess.run(
                [self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                capture_output=True, text=True, check=True,
            ).stdout.strip()
        )  # fmt: skip
        outer = [path for path in sys.path if path.endswith("site-packages")]
        (purelib / "outer.pth").write_text("\n".join([str(self.site), *outer]) + "\n", encoding="utf-8")

    def _configure(self) -> None:
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        self._run(
            [
                *("cmake", "-S", self.source, "-B", self.build, "-G", "Ninja", f"-DMBT_ISA={self.isa}"),
                *(f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_INSTALL_PREFIX={self.site}"),
                *("-DCMAKE_CXX_FLAGS_RELEASE=-O0", *launcher),
            ],
            quiet=True,
        )

    def _run(self, command: list[object], quiet: bool = False) -> None:
        print("+", *command, flush=True)
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        subprocess.run(
            list(map(str, command)), check=True, env=environment, stdout=subprocess.DEVNULL if quiet else None
        )

    def _core(self, module: str) -> Path:
        return self.build / "src" / "mbt" / "_core" / f"{module}.cxx"

    def _text_of(self, module: str) -> str:
        return self._core(module).read_text(encoding="utf-8")

    def _transpile(self, module: str) -> bool:
        output = self.build / "src" / "mbt" / "_core"
        command = [sys.executable, self.source / "tools" / "transpile.py", output, module]
        return subprocess.run(list(map(str, command)), capture_output=True, check=False).returncode == 0

    def build_kernels(self, mutant: Mutant, module: str) -> str:
        """Rebuild a module: `built`, `refused` by a compiler, or `same` as without the mutant."""
        if not self._transpile(module):
            return "refused"
        if mutant.path.endswith(".pxd") and self._text_of(module) == self.built[module]:
            return "same"
        library = self.library_of(module)
        name = Path(module).name
        target = f"{name}_{self.isa}" if self.isa in library.parts else name
        commands = subprocess.run(
            ["ninja", "-C", str(self.build), "-t", "commands", target],
            capture_output=True, text=True, check=True,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        ).stdout.splitlines()  # fmt: skip
        for command in commands:
            if "transpile.py" in command or command.startswith("ninja:"):
                continue
            if subprocess.run(
                command, shell=True, cwd=self.build, capture_output=True, check=False
            ).returncode:
                return "refused"
        shutil.copy(self.build / "src" / "mbt" / "_core" / target / library.name, library)
        return "built"

    def library_of(self, module: str) -> Path:
        """Return the library that is imported for a module."""
        path = f"{module}{sysconfig.get_config_var('EXT_SUFFIX')}"
        core = self.site / "mbt" / "_core"
        # Modules with kernels are built for each instruction set.
        library = core / self.isa / path
        return library if library.exists() else core / path

    def write(self, path: str, text: str) -> None:
        """Write a text to the copy, and to the place from which it is imported."""
        (self.source / path).write_text(text, encoding="utf-8")
        inside = Path(path).relative_to("src")
        (self.site / inside).write_text(text, encoding="utf-8")

    def find_tests_of_lines(self, tests: list[str]) -> dict[tuple[str, int], set[str]]:
        """Run some tests; return which of them reach each line, by file and line."""
        data = self.directory / "coverage"
        if not self.test(
            tests, f"--cov={self.site / 'mbt'}", "--cov-context=test", "--cov-report=", data=data
        ):
            raise SystemExit(f"without a mutant, some of these tests fail: {' '.join(tests)}")
        covered = CoverageData(data)
        covered.read()
        reached: dict[tuple[str, int], set[str]] = {}
        for path in covered.measured_files():
            name = (Path("src") / Path(path).relative_to(self.site)).as_posix()
            for line, contexts in covered.contexts_by_lineno(path).items():
                for context in filter(None, contexts):
                    test, _, phase = context.rpartition("|")
                    # Other tests of the file use the results of a fixture.
                    found = test if phase == "run" else test.partition("::")[0]
                    reached.setdefault((name, line), set()).add(found)
        return reached

    def test(self, tests: list[str], *options: str, data: Path | None = None) -> bool:
        """Run some tests; return whether all passed."""
        present = [
            path
            for name in tests
            for path in ([name] if name.startswith("tests/") else sorted(self.source.glob(f"tests/{name}")))
        ]
        command = [
            *(self.python, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header"),
            *options,
            *present,
        ]
        environment = {**os.environ, "MBT_ISA": self.isa, "PYTHONDONTWRITEBYTECODE": "1"}
        environment["OPENBLAS_NUM_THREADS"] = "1"
        environment.pop("PYTHONPATH", None)
        if data is not None:
            environment["COVERAGE_FILE"] = str(data)
        try:
            run = subprocess.run(
                list(map(str, command)),
                cwd=self.source,
                env=environment,
                timeout=TIMEOUT,
                check=False,
                capture_output=True,
            )
        except subprocess.TimeoutExpired:
            return False
        return run.returncode == 0


def room_of(path: str) -> str:
    """Return the room of a file, or an empty string if it has none."""
    inside = path.removeprefix("src/mbt/")
    return max((room for room in TESTS_OF if inside.startswith(room)), key=len, default="")


def candidates(
    copy: Copy, rooms: list[str], kernel_rooms: list[str]
) -> tuple[list[Mutant], list[tuple[Mutant, Kernels]]]:
    """Return every mutant of Python in some rooms, and every mutant of some kernels."""
    python: list[Mutant] = []
    for path in sorted((copy.source / "src" / "mbt").rglob("*.py")):
        name = path.relative_to(copy.source).as_posix()
        if room_of(name) in rooms:
            python += mutants_of_python(name, copy.original(name))
    kernels: list[tuple[Mutant, Kernels]] = []
    for room in map(KERNELS.__getitem__, kernel_rooms):
        for file in room.files:
            name = f"src/mbt/_core/{file}"
            kernels += [(mutant, room) for mutant in mutants_of_kernel(name, copy.original(name))]
    return python, kernels


def main() -> None:
    """Make mutants, and report the survivors."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument("--python", type=int, default=44, help="how many mutants of Python")
    parser.add_argument("--kernels", type=int, default=24, help="how many mutants of kernels")
    parser.add_argument("--rooms", nargs="*", default=sorted(TESTS_OF), choices=sorted(TESTS_OF))
    parser.add_argument("--kernel-rooms", nargs="*", default=sorted(KERNELS), choices=sorted(KERNELS))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    copy = Copy(options.directory)
    rng = random.Random(options.seed)
    python, kernels = candidates(copy, options.rooms, options.kernel_rooms)
    print(f"{len(python)} mutants of Python, {len(kernels)} of kernels to choose from", flush=True)
    chosen = rng.sample(python, min(options.python, len(python)))
    rng.shuffle(kernels)
    survivors: list[str] = []
    counts = {"killed": 0, "survived": 0, "refused": 0}

    def judge(mutant: Mutant, text: str, tests: list[str], first: set[str]) -> None:
        survived = (not first or copy.test(sorted(first))) and copy.test(tests)
        verdict = "survived" if survived else "killed"
        counts[verdict] += 1
        print(f"{verdict:8}  {mutant.describe(text)}", flush=True)
        if survived:
            survivors.append(mutant.describe(text))

    tests_of_lines: dict[str, dict[tuple[str, int], set[str]]] = {}
    for mutant in chosen:
        room, text = room_of(mutant.path), copy.original(mutant.path)
        if room not in tests_of_lines:
            tests_of_lines[room] = copy.find_tests_of_lines(TESTS_OF[room])
        lines = range(text.count("\n", 0, mutant.start) + 1, text.count("\n", 0, mutant.end) + 2)
        first = set[str]().union(*(tests_of_lines[room].get((mutant.path, line), ()) for line in lines))
        copy.write(mutant.path, mutant.apply(text))
        try:
            judge(mutant, text, TESTS_OF[room], first)
        finally:
            copy.write(mutant.path, text)
    made = 0
    if options.kernels:
        copy.prepare_kernels([KERNELS[room].module for room in options.kernel_rooms])
    for mutant, group in kernels:
        if made == options.kernels:
            break
        text, library = copy.original(mutant.path), copy.library_of(group.module)
        unchanged = library.read_bytes()
        copy.write(mutant.path, mutant.apply(text))
        try:
            built = copy.build_kernels(mutant, group.module)
            if built == "built":
                made += 1
                judge(mutant, text, group.tests, set())
            elif built == "refused":
                counts["refused"] += 1
        finally:
            copy.write(mutant.path, text)
            library.write_bytes(unchanged)
    (options.directory / "survivors.txt").write_text("\n".join(survivors) + "\n", encoding="utf-8")
    print(*survivors, sep="\n")
    print(
        f"{counts['killed']} killed, {counts['survived']} survived, {counts['refused']} rejected by compiler"
    )


if __name__ == "__main__":
    main()
