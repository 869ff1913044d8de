"""Make the C++ sources of the compiled modules: `transpile.py OUTPUT_DIRECTORY MODULE... [--checked]`.

A module is named as in `quantities/kernels`. `cython_utility` has no source: it contains the utility code
that Cython would otherwise repeat in every module: its functions and the reading of their arguments.

Only modules whose sources or options, or whose version of Cython, have changed are transpiled. A file whose
text stays the same keeps its time stamp, so that it is not compiled again.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import multiprocessing
import os
import re
import runpy
import sys
from concurrent.futures import ProcessPoolExecutor
from enum import IntEnum
from importlib.metadata import version
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple

from Cython.Build.SharedModule import generate_shared_module
from Cython.Compiler.CmdLine import parse_command_line
from Cython.Compiler.Main import CompilationOptions, compile_single

import argument_errors
from declarations import Declarations

CORE = Path(__file__).resolve().parent.parent / "src" / "mbt" / "_core"

#: Python enumerations that compiled modules use: class `X` is declared in `enum_x.pxd`.
ENUMERATIONS = [CORE / "quantities" / "names.py", CORE / "model" / "element_types.py"]

#: The types of `T` in a module, if not `double`. Cython processes every fused function that is visible in a
#: module once for each type, whether it is called or not.
SCALARS = {
    "engines/lane_engine": ["Lanes"],
    "engines/dual_engine": ["Dual"],
    "engines/object_engine": ["PyScalar"],
    "solvers/inverse_kinematics": ["Lanes"],
    "solvers/implicit_lanes": ["Lanes"],
    "geometry/distances": ["Lanes"],
    "scalars/probe": ["double", "Lanes", "Dual", "PyScalar"],
}

#: Whether a process may fork. Libraries of macOS may not be used in a fork.
FORKS = "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"

#: The code that all modules share, without memoryviews, which no module uses and which would be three
#: quarters of it.
SHARED = "cython_utility"

#: Modules that repeat this code because their calls are short: keywords then take 36 fewer instructions, of a
#: thousand (`benchmarks/instruction_counts.py`).
ALONE = [
    "api/stateless",
    "api/stateless_kinematics",
    "api/stateless_derivatives",
    "api/tree_dynamics",
    "api/tree_derivatives",
    "api/tree_jacobians",
]


class RefusedError(Exception):
    """Cython did not translate a module."""


def cython_arguments(checked: bool) -> list[str]:
    """Return the options of Cython: the one place for its directives."""
    directives = {
        "boundscheck": checked,
        "initializedcheck": checked,
        "wraparound": False,
        "cdivision": True,
        "binding": True,
        "freethreading_compatible": True,
        "auto_pickle": False,  # a twelfth of the text; a class that may be pickled says how
    }
    arguments = ["--cplus", "-3", "--warning-errors"]
    for name, value in directives.items():
        arguments += ["-X", f"{name}={value}"]
    return [*arguments, "--line-directives"] if checked else arguments


def write_declarations(output: Path, module: str) -> Path:
    """Write the generated declarations, the scalars of `T` and enumerations; return the directory."""
    scalars = SCALARS.get(module, ["double"])
    directory = output / "fused" / "_".join(scalars)
    directory.mkdir(parents=True, exist_ok=True)
    classes = [name for name in scalars if name != "double"]
    lines = [f"from mbt._core.scalars cimport {', '.join(classes)}"] if classes else []
    text = "\n".join([*lines, "ctypedef fused T:", *(f"    {name}" for name in scalars), ""])
    (directory / "fused_scalar.pxd").write_text(text, encoding="utf-8")
    for path in ENUMERATIONS:
        names = runpy.run_path(str(path))
        for enumeration in map(names.get, names["__all__"]):
            name = re.sub("(?<=[a-z])(?=[A-Z])", "_", enumeration.__name__).lower()
            rows = names.get("ROWS", {}).get(enumeration, {})
            (directory / f"enum_{name}.pxd").write_text(
                declare(enumeration, name.upper(), rows), encoding="utf-8"
            )
    return directory


def declare(enumeration: type[IntEnum], name: str, rows: dict[IntEnum, Any]) -> str:
    """Return the declaration of an enumeration and its rows, which are named integers for each member."""
    many = name.removesuffix("Y") + "IES" if name.endswith("Y") else name + "S"
    lines = [
        f"cdef enum {enumeration.__name__}:",
        *(f"    {member.name} = {member.value}" for member in enumeration),
        "cdef enum:",
        f"    NUM_{many} = {len(enumeration)}",
    ]
    if rows:
        columns = rows[next(iter(enumeration))]._fields
        numbers = [", ".join(str(int(x)) for x in rows[member]) for member in enumeration]
        row = f"{enumeration.__name__}Row"
        lines += [
            "cdef extern from *:",
            '    """',
            f"    struct {row} {{ int {', '.join(columns)}; }};",
            f"    static constexpr {row} {many}[] = {{{', '.join(f'{{{x}}}' for x in numbers)}}};",
            '    """',
            f"    struct {row}:",
            *(f"        int {column}" for column in columns),
            f"    const {row}* {many}",
        ]
    return "\n".join([*lines, ""])


class Task(NamedTuple):
    """A module to be written, with these options and a digest of everything on which its text depends."""

    module: str
    output: Path
    arguments: list[str]
    digest: str

    @property
    def source(self) -> Path:
        """The file that Cython reads."""
        return CORE / f"{self.module}.pyx"

    @property
    def target(self) -> Path:
        """The file that Cython writes."""
        return self.output / f"{self.module}.cxx"

    @property
    def record(self) -> Path:
        """The file with the digest."""
        return self.output / f"{self.module}.digest"

    def is_done(self) -> bool:
        """Return whether the text is up to date."""
        known = self.target.is_file() and self.record.is_file()
        return known and self.record.read_text(encoding="utf-8") == self.digest


def digest(module: str, arguments: list[str]) -> str:
    """Return a digest of everything on which the text of a module depends: its source, and all declarations.

    The output directory does not matter, so that builds may copy the text from each other. Cython's own list
    of dependencies lacks modules that are cimported from their package.
    """
    scalars = SCALARS.get(module)
    state = hashlib.sha256(repr((version("cython"), version("numpy"), scalars, arguments)).encode())
    state.update(Path(argument_errors.__file__).read_bytes())
    sources = (
        [] if module == SHARED else [CORE / f"{module}.pyx", *ENUMERATIONS, *sorted(CORE.rglob("*.pxd"))]
    )
    for path in sources:
        state.update(str(path.relative_to(CORE)).encode())
        state.update(path.read_bytes())
    return state.hexdigest()


def make_task(module: str, output: Path, arguments: list[str]) -> Task:
    """Return the task to write a module with these options."""
    if module not in ALONE:
        arguments = [*arguments, "--shared", f"mbt._core.{SHARED}"]
    include = ["-I", str(write_declarations(output, module))]
    return Task(module, output, [*arguments, *include], digest(module, arguments))


def write_shared(target: Path) -> None:
    """Write the source of `cython_utility`."""
    name = ["--module-name", f"mbt._core.{SHARED}"]
    options, _ = parse_command_line(
        ["generate-shared", "--cplus", "--exclude", "MemoryView", *name, str(target)]
    )
    generate_shared_module(options)


def write_module(task: Task, target: Path, declarations: Declarations | None) -> None:
    """Write the C++ source of a module from its `.pyx` file."""
    source = str(task.source)
    options, _ = parse_command_line([*task.arguments, "--output-file", str(target), source])
    options = CompilationOptions(defaults=options)
    if declarations:
        declarations.options = options
    if compile_single(source, options, None, context=declarations).num_errors:
        raise RefusedError(f"Cython rejects {source}")


def transpile(task: Task, declarations: Declarations | None = None) -> None:
    """Write `module.cxx`, and print that."""
    fresh = task.output / "fresh" / f"{task.module}.cxx"
    for path in (task.target, fresh):
        path.parent.mkdir(parents=True, exist_ok=True)
    if task.module == SHARED:
        write_shared(fresh)
    else:
        write_module(task, fresh, declarations)
    if task.target.is_file() and task.target.read_bytes() == fresh.read_bytes():
        done = "unchanged"
    else:
        fresh.replace(task.target)
        done = "written"
    task.record.write_text(task.digest, encoding="utf-8")
    print(f"{task.module}: {done}", flush=True)


def make_context(task: Task) -> Declarations:
    """Return a context of Cython for this module and others with the same scalars."""
    options, _ = parse_command_line([*task.arguments, str(task.source)])
    return Declarations.from_options(CompilationOptions(defaults=options))


def read_declarations(tasks: list[Task]) -> Declarations | None:
    """Return the declarations for the modules, or None on failure; each module then reads its own."""
    try:
        declarations = make_context(tasks[0])
        complete = declarations.read([task.source for task in tasks if task.source.is_file()])
    except Exception as error:  # with another version of Cython: this is not a public interface
        print(f"declarations are not shared: {error!r}", flush=True)
        return None
    return declarations if complete else None


def transpile_in_forks(tasks: list[Task], processes: int) -> list[Task]:
    """Transpile each module in a fork of this process. Returns those that were rejected.

    Reading declarations is most of Cython's work: this process does it once for modules with the same
    scalars.
    """
    context = multiprocessing.get_context("fork")
    running: dict[int, tuple[multiprocessing.process.BaseProcess, Task]] = {}
    refused = []

    def wait_until_less_than(most: int) -> None:
        while len(running) >= most:
            for sentinel in wait(list(running)):
                process, task = running.pop(sentinel)
                process.join()
                if process.exitcode:
                    refused.append(task)

    gc.disable()  # as below; a process for one module does not need it
    common = [task for task in tasks if task.module not in SCALARS]
    others = [task for task in tasks if task.module in SCALARS]
    declarations = read_declarations(common) if len(common) > 1 else None
    for task in [*others, *common]:  # the others take longest
        own = declarations if task in common else make_context(task) if declarations else None
        wait_until_less_than(processes)
        process = context.Process(target=transpile, args=(task, own))
        process.start()
        running[process.sentinel] = process, task
    wait_until_less_than(1)
    return refused


def transpile_in_pool(tasks: list[Task], processes: int) -> list[Task]:
    """Transpile the modules in a pool of processes. Returns those that were rejected."""
    refused = []
    # Python collects garbage whenever several hundred objects have been created. Cython creates millions that
    # stay, so this would take a third to half of its time.
    with ProcessPoolExecutor(processes, initializer=gc.set_threshold, initargs=(2_000_000,)) as pool:
        for task, done in [(task, pool.submit(transpile, task)) for task in tasks]:
            try:
                done.result()
            except RefusedError:
                refused.append(task)
    return refused


def transpile_alone(task: Task) -> None:
    """Transpile in a new process, without remains of other modules."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            pool.submit(transpile, task).result()
        except RefusedError as error:
            raise SystemExit(str(error)) from None


def main() -> None:
    """Transpile the modules, on all processors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("modules", nargs="+")
    parser.add_argument("--checked", action="store_true", help="bounds checks, and .pyx lines in reports")
    options = parser.parse_args()
    output = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    arguments = cython_arguments(options.checked)
    tasks = [make_task(module, output, arguments) for module in options.modules]
    tasks = [task for task in tasks if not task.is_done()]
    processes = int(os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", os.cpu_count() or 1))
    for task in (transpile_in_forks if FORKS else transpile_in_pool)(tasks, processes):
        # Cython 3.3.1 crashed once in several hundred builds, on a module that it had always accepted. An
        # error in the source occurs again.
        print(f"{task.module}: rejected, trying again in a process of its own", flush=True)
        transpile_alone(task)
    sys.stdout.flush()
    os._exit(0)  # without freeing everything that was read, object by object


if __name__ == "__main__":
    main()
