"""Make the C++ sources of the compiled modules: `transpile.py OUTPUT_DIRECTORY MODULE... [--checked]`.

A module is named as `quantities/kernels`. `cython_utility` has no source: it is what Cython would repeat in
each of the others, its functions and the reading of their arguments.

Few processes for many modules, because Cython reads its own utility code once in each; and only modules
whose sources, options or Cython have changed. A file whose text stays the same keeps its time, so that
nothing compiles it again.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import Cython
import numpy as np
from Cython.Build.SharedModule import generate_shared_module
from Cython.Compiler.CmdLine import parse_command_line
from Cython.Compiler.Main import compile as run_cython

CORE = Path(__file__).resolve().parent.parent / "src" / "mbt" / "_core"

#: What `T` stands for in a module, where that is not `double`. Cython works on every fused function
#: that a module can see, once for each type, whether it is called or not.
SCALARS = {
    "engines/lane_engine": ["Lanes"],
    "engines/dual_engine": ["Dual"],
    "engines/object_engine": ["PyScalar"],
    "scalars/probe": ["double", "Lanes", "Dual", "PyScalar"],
}

#: Cython takes about as long for these as for all others: they start first.
LARGE = [
    "engines/lane_engine",
    "engines/dual_engine",
    "engines/object_engine",
    "quantities/kernels",
    "quantities/derivatives",
]

#: What all modules share. Without views of memory, which none uses: three quarters of it.
SHARED = "cython_utility"

#: Modules that repeat it, for their calls are short: keywords take 36 instructions less, of a thousand
#: (`benchmarks/instruction_counts.py`).
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
    }
    arguments = ["--cplus", "-3", "--warning-errors"]
    for name, value in directives.items():
        arguments += ["-X", f"{name}={value}"]
    return [*arguments, "--line-directives"] if checked else arguments


def write_fused_scalar(output: Path, module: str) -> Path:
    """Write `fused_scalar.pxd`, from which `scalars/__init__.pxd` takes `T`; return its directory."""
    scalars = SCALARS.get(module, ["double"])
    directory = output / "fused" / "_".join(scalars)
    directory.mkdir(parents=True, exist_ok=True)
    classes = [name for name in scalars if name != "double"]
    lines = [f"from mbt._core.scalars cimport {', '.join(classes)}"] if classes else []
    text = "\n".join([*lines, "ctypedef fused T:", *(f"    {name}" for name in scalars), ""])
    (directory / "fused_scalar.pxd").write_text(text, encoding="utf-8")
    return directory


def digest(module: str, arguments: list[str]) -> str:
    """Return a digest of what the text of a module depends on: its own source, and every declaration.

    Cython's own list of dependencies lacks modules that are cimported from their package.
    """
    state = hashlib.sha256(repr((Cython.__version__, np.__version__, arguments)).encode())
    sources = [] if module == SHARED else [CORE / f"{module}.pyx", *sorted(CORE.rglob("*.pxd"))]
    for path in sources:
        state.update(str(path.relative_to(CORE)).encode())
        state.update(path.read_bytes())
    return state.hexdigest()


def write_shared(target: Path) -> None:
    """Write the source of `cython_utility`."""
    name = ["--module-name", f"mbt._core.{SHARED}"]
    options, _ = parse_command_line(
        ["generate-shared", "--cplus", "--exclude", "MemoryView", *name, str(target)]
    )
    generate_shared_module(options)


def write_module(module: str, target: Path, arguments: list[str]) -> None:
    """Write the source of a module, of its `.pyx` file."""
    source = str(CORE / f"{module}.pyx")
    options, _ = parse_command_line([*arguments, "--output-file", str(target), source])
    if run_cython(source, options).num_errors:
        raise RefusedError(f"Cython refuses {source}")


def transpile(module: str, output: Path, arguments: list[str]) -> str:
    """Write `module.cxx`, unless it is up to date. Returns what was done."""
    target, record = output / f"{module}.cxx", output / f"{module}.digest"
    arguments = [*arguments, "-I", str(write_fused_scalar(output, module))]
    if module not in ALONE:
        arguments += ["--shared", f"mbt._core.{SHARED}"]
    wanted = digest(module, arguments)
    if target.is_file() and record.is_file() and record.read_text(encoding="utf-8") == wanted:
        return "up to date"
    fresh = output / "fresh" / f"{module}.cxx"
    for path in (target, fresh):
        path.parent.mkdir(parents=True, exist_ok=True)
    if module == SHARED:
        write_shared(fresh)
    else:
        write_module(module, fresh, arguments)
    if target.is_file() and target.read_bytes() == fresh.read_bytes():
        done = "unchanged"
    else:
        fresh.replace(target)
        done = "written"
    record.write_text(wanted, encoding="utf-8")
    return done


def transpile_alone(module: str, output: Path, arguments: list[str]) -> str:
    """Transpile in a process of its own, where nothing is left of other modules."""
    with ProcessPoolExecutor(1) as pool:
        try:
            return pool.submit(transpile, module, output, arguments).result()
        except RefusedError as error:
            raise SystemExit(str(error)) from None


def main() -> None:
    """Transpile the modules, on all processors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("modules", nargs="+")
    parser.add_argument("--checked", action="store_true", help="bounds checks, and lines of .pyx in reports")
    options = parser.parse_args()
    output = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    modules = sorted(options.modules, key=lambda name: LARGE.index(name) if name in LARGE else len(LARGE))
    processes = int(os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", os.cpu_count() or 1))
    # Python looks for garbage each time that some hundred objects are new. Cython makes millions that stay:
    # a third to half of its time.
    with ProcessPoolExecutor(processes, initializer=gc.set_threshold, initargs=(2_000_000,)) as pool:
        arguments = cython_arguments(options.checked)
        tasks = [pool.submit(transpile, module, output, arguments) for module in modules]
        for module, task in zip(modules, tasks, strict=True):
            try:
                done = task.result()
            except RefusedError:
                # Cython 3.3.1 crashed once in some hundred builds, on a module that it had always taken. An
                # error of the source comes again.
                print(f"{module}: refused, once more in a process of its own", flush=True)
                done = transpile_alone(module, output, arguments)
            print(f"{module}: {done}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
