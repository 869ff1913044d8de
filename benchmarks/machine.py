"""The machine at hand: its description, and the peak rates of one of its cores.

    python benchmarks/machine.py

Operations, loads and stores per second with registers of four and of eight doubles, and bytes per second of
plain memory fills and reads: the best of many short runs of `roofs.c`, built with the C compiler of the
machine.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
#: By vendor, family and model of the processor: the name of its cores.
CORES = {
    ("AuthenticAMD", 25, 1): "Zen 3",
    ("AuthenticAMD", 25, 17): "Zen 4",
    ("AuthenticAMD", 26, 2): "Zen 5",
    ("GenuineIntel", 6, 143): "Sapphire Rapids",
}
WIDTHS = {
    "v3": (4, ["-mavx2", "-mfma"]),
    "v4": (8, ["-mavx512f", "-mavx2", "-mfma", "-mprefer-vector-width=512"]),
}
NEAR = 1024  # doubles that fit into the nearest cache
FAR = 2**25  # doubles far beyond all caches, 256 MiB


def processor() -> str:
    """Return the name of the processor, with that of its cores if known."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    said = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", text, flags=re.MULTILINE))
    if "model name" not in said:
        return platform.processor() or platform.machine()
    core = CORES.get((said["vendor_id"], int(said["cpu family"]), int(said["model"])))
    return said["model name"] + (f" ({core})" if core else "")


def caches() -> dict[str, int]:
    """Return the sizes [bytes] of the caches of the first processor, by name; empty if unknown."""
    sizes = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            sizes[f"L{level}"] = int(size.removesuffix("K")) * 1024
    return sizes


def description() -> dict[str, Any]:
    """Return the conditions of a measurement: machine, versions, and how busy the machine is."""
    import mbt
    from instruction_counts import compiler_of
    from mbt._core.quantities import kernels

    versions = {}
    for name in ("numpy", "pin", "dynibo", "mujoco", "drake", "distributed"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "processor": processor(),
        "processors": os.cpu_count(),
        "caches": caches(),
        "system": platform.system(),
        "python": platform.python_version(),
        "compiler": compiler_of(Path(kernels.__file__)),
        "isa": Path(kernels.__file__).parent.parent.name,
        "mbt": mbt.__version__,
        "versions": versions,
        "month": time.strftime("%B %Y"),
        "load": round(os.getloadavg()[0], 1),
    }


def compile_roofs(isa: str, folder: Path) -> ctypes.CDLL:
    """Compile `roofs.c` for an instruction set."""
    width, flags = WIDTHS[isa]
    library = folder / f"roofs_{isa}.so"
    compiler = shlex.split(os.environ.get("CC") or "cc")
    options = ["-O3", "-shared", "-fPIC", f"-DWIDTH={width}", *flags]
    subprocess.run([*compiler, *options, str(HERE / "roofs.c"), "-o", str(library)], check=True)
    loaded = ctypes.CDLL(str(library))
    for name in ("multiply_and_add", "load", "store", "store_past_caches"):
        getattr(loaded, name).restype = ctypes.c_double
    return loaded


def best_rate(rounds: int, function: Any, *arguments: Any) -> float:
    """Return the highest rate of a function per second of CPU time."""
    rates = []
    for _ in range(rounds):
        start = time.thread_time_ns()
        done = function(*arguments)
        rates.append(done / (time.thread_time_ns() - start) * 1e9)
    return max(rates)


def roofs(rounds: int = 200) -> dict[str, dict[str, float]]:
    """Return, by instruction set, operations, loads and stores per second, and memory bytes per second."""
    integer, few = ctypes.c_int64, max(3, rounds // 12)
    near, far = aligned(NEAR), aligned(FAR)
    small = near.ctypes.data_as(ctypes.c_void_p), integer(NEAR), integer(400)
    large = far.ctypes.data_as(ctypes.c_void_p), integer(FAR), integer(1)
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        for isa in usable():
            c, size = compile_roofs(isa, Path(name)), 8 * WIDTHS[isa][0]
            found[isa] = {
                "operations": best_rate(rounds, c.multiply_and_add, integer(20000)),
                "loads": best_rate(rounds, c.load, *small) / size,
                "stores": best_rate(rounds, c.store, *small) / size,
                "bytes read": best_rate(few, c.load, *large),
                "bytes written": best_rate(few, c.store, *large),
                "bytes written past caches": best_rate(few, c.store_past_caches, *large),
            }
    return {isa: {kind: float(f"{x:.4g}") for kind, x in row.items()} for isa, row in found.items()}


def usable() -> list[str]:
    """Return the instruction sets of `WIDTHS` that this mbt is built for and this processor runs."""
    from mbt import _core

    return [isa for isa in WIDTHS if isa in _core.usable]


def aligned(size: int) -> Any:
    """Return doubles that start at a cache line and have been written."""
    block = np.zeros(size + 8)
    start = -block.ctypes.data // 8 % 8
    block[:] = 1.0
    return block[start : start + size]


def main() -> None:
    """Print a description of this machine, and its peak rates."""
    json.dump({"machine": description(), "roofs": roofs()}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
