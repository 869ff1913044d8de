"""Make the C++ sources of the compiled modules: `transpile.py OUTPUT_DIRECTORY MODULE... [--checked]`.

Few processes for many modules, because Cython reads its own utility code once in each; and only modules
whose sources, options or Cython have changed. A file whose text stays the same keeps its time, so that
nothing compiles it again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import Cython
import numpy as np
from Cython.Compiler.CmdLine import parse_command_line
from Cython.Compiler.Main import compile as run_cython

SOURCES = Path(__file__).resolve().parent.parent / "src"

#: What `T` stands for in a module, where that is not `double`. Cython works on every fused function
#: that a module can see, once for each type, whether it is called or not.
SCALARS = {
    "lane_engine": ["Lanes"],
    "dual_engine": ["Dual"],
    "object_engine": ["PyScalar"],
    "scalar_probe": ["double", "Lanes", "Dual", "PyScalar"],
}

#: Cython takes about as long for these as for all others: they start first.
LARGE = ["lane_engine", "dual_engine", "object_engine", "kernels", "derivatives"]


def cython_arguments(checked: bool) -> list[str]:
    """Return the options of Cython: the one place for its directives."""
    directives = {
        "boundscheck": checked,
        "initializedcheck": checked,
        "wraparound": False,
        "cdivision": True,
        "binding": True,
        "freethreading_compatible": False,
    }
    arguments = ["--cplus", "-3", "--warning-errors", "--depfile"]
    for name, value in directives.items():
        arguments += ["-X", f"{name}={value}"]
    return [*arguments, "--line-directives"] if checked else arguments


def write_fused_scalar(output: Path, module: str) -> Path:
    """Write `fused_scalar.pxd`, from which `scalars.pxd` takes `T`; return its directory."""
    scalars = SCALARS.get(module, ["double"])
    directory = output / "fused" / "_".join(scalars)
    directory.mkdir(parents=True, exist_ok=True)
    classes = [name for name in scalars if name != "double"]
    lines = [f"from mbt._core.scalars cimport {', '.join(classes)}"] if classes else []
    text = "\n".join([*lines, "ctypedef fused T:", *(f"    {name}" for name in scalars), ""])
    (directory / "fused_scalar.pxd").write_text(text, encoding="utf-8")
    return directory


def digest(paths: list[str], arguments: list[str]) -> str:
    """Return a digest of everything that the text of a module depends on."""
    state = hashlib.sha256(repr((Cython.__version__, np.__version__, arguments)).encode())
    for path in paths:
        state.update(path.encode())
        state.update((SOURCES / path).read_bytes() if (SOURCES / path).is_file() else b"")
    return state.hexdigest()


def read_dependencies(depfile: Path) -> list[str]:
    """Return the sources of this project that Cython has read, relative to SOURCES; others have a version."""
    _, *lines = depfile.read_text(encoding="utf-8").split("\\\n")
    paths = [Path(os.path.abspath(line.strip().replace("\\ ", " "))) for line in lines]
    sources = sorted(str(path.relative_to(SOURCES)) for path in paths if path.is_relative_to(SOURCES))
    if not sources:
        raise SystemExit(f"{depfile} names no source")
    return sources


def transpile(module: str, output: Path, arguments: list[str]) -> str:
    """Write `module.cxx`, unless it is up to date. Returns what was done."""
    target, record = output / f"{module}.cxx", output / f"{module}.json"
    arguments = [*arguments, "-I", str(write_fused_scalar(output, module))]
    if target.is_file() and record.is_file():
        known = json.loads(record.read_text(encoding="utf-8"))
        if known["digest"] == digest(known["sources"], arguments):
            return "up to date"
    fresh = output / "fresh" / target.name
    fresh.parent.mkdir(exist_ok=True)
    source = str(SOURCES / "mbt" / "_core" / f"{module}.pyx")
    options, _ = parse_command_line([*arguments, "--output-file", str(fresh), source])
    if run_cython(source, options).num_errors:
        raise SystemExit(f"Cython refuses {source}")
    sources = read_dependencies(fresh.with_name(f"{fresh.name}.dep"))
    if target.is_file() and target.read_bytes() == fresh.read_bytes():
        done = "unchanged"
    else:
        fresh.replace(target)
        done = "written"
    record.write_text(
        json.dumps({"digest": digest(sources, arguments), "sources": sources}), encoding="utf-8"
    )
    return done


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
    with ProcessPoolExecutor(int(os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", os.cpu_count() or 1))) as pool:
        arguments = cython_arguments(options.checked)
        tasks = [pool.submit(transpile, module, output, arguments) for module in modules]
        for module, task in zip(modules, tasks, strict=True):
            print(f"{module}: {task.result()}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
