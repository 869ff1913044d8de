"""Compiled kernels. Private: import from `mbt`.

Modules with kernels exist once per instruction set, in `_core/<isa>/<room>/`, under one name; the others
exist once, in `_core/<room>/`. The directory of the best set that is both built and supported by this
processor goes first in the path of a room; `MBT_ISA` forces one. Where a set would not speed up a module,
the next lower one serves. An ordinary build has one set: the best of the processor it was built on.
"""

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES

from mbt._core import cpu

#: Every instruction set of every platform, best first.
_ISAS = ("v4", "v3", "v2", "base")


def _find_built() -> dict[str, str]:
    """Find the instruction sets with compiled modules, best first, and their directories."""
    found: dict[str, str] = {}
    for isa in _ISAS:
        for root in __path__:
            directory = os.path.join(root, isa)
            stem = os.path.join(directory, "quantities", "kernels")
            kernels = (stem + suffix for suffix in EXTENSION_SUFFIXES)
            if any(os.path.isfile(path) for path in kernels):
                found.setdefault(isa, directory)
    return found


def cannot_start(message: str) -> BaseException:
    """Return what ends `import mbt`: an error; on the command line an exit with code 2, after the message."""
    program = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""
    # While `python -m` imports the package, argv[0] is no more than "-m".
    is_module = program == "-m" and not {"mbt", "mbt.__main__", "-mmbt"}.isdisjoint(sys.orig_argv)
    if is_module or program in ("mbt", "mbt.exe"):
        print(f"mbt: {message}", file=sys.stderr)
        return SystemExit(2)
    return ImportError(message)


def _choose(built: list[str], usable: list[str]) -> str:
    forced = os.environ.get("MBT_ISA")
    if not usable:
        runs = ", ".join(cpu.supported()) or "none of v2, v3, v4"
        raise cannot_start(
            f"mbt was built for x86-64 instruction sets that this processor does not support: built for "
            f"{', '.join(built) or 'none'}, this processor runs {runs}. Build it here, or build all sets: "
            f"pip install . --config-settings=cmake.define.MBT_ISA=all"
        )
    if forced and forced not in usable:
        if forced not in _ISAS:
            why = "is not an instruction set that mbt supports"
        elif forced not in built:
            why = "is not built"
        else:
            why = "is not supported by this processor"
        raise cannot_start(
            f"environment variable MBT_ISA: {forced!r} {why}; expected {' or '.join(usable)}, "
            "or unset it for the best"
        )
    return forced or usable[0]


#: The instruction sets with compiled modules, best first, and the directories of their rooms.
directories = _find_built()
#: The instruction sets to choose from, best first: built, and supported by this processor.
usable = [name for name in directories if name in cpu.supported()]
#: The instruction set in use.
isa = _choose(list(directories), usable)


def add_kernels(package: str, path: list[str]) -> None:
    """Put the directories of a room's modules with kernels into its path, the set in use first."""
    room = package.rpartition(".")[2]
    first = usable.index(isa)
    path[:0] = [os.path.join(directories[name], room) for name in usable[first : first + 2]]
