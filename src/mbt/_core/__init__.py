"""Compiled kernels. Private: import from `mbt`.

Every module with kernels exists once per instruction set, in `_core/<isa>/`, under one name; the others
exist once, here. The directory of the best set that is both built and supported by this processor goes first
in `__path__`; `MBT_ISA` forces one.
"""

import os
from importlib.machinery import EXTENSION_SUFFIXES

from mbt._core import cpu


def _find_built() -> dict[str, str]:
    """Instruction sets with compiled modules, and their directories."""
    found: dict[str, str] = {}
    for root in __path__:
        for isa in cpu.supported():
            directory = os.path.join(root, isa)
            kernels = (os.path.join(directory, f"kernels{suffix}") for suffix in EXTENSION_SUFFIXES)
            if any(os.path.isfile(path) for path in kernels):
                found.setdefault(isa, directory)
    return found


def _choose(usable: list[str]) -> str:
    forced = os.environ.get("MBT_ISA")
    if forced is not None and forced not in usable:
        raise ImportError(f"MBT_ISA={forced!r}: expected one of {usable}, built and supported here")
    if not usable:
        raise ImportError(f"mbt: no kernels were built for this processor, one of {list(cpu.supported())}")
    return forced or usable[0]


_directories = _find_built()
#: The instruction sets to choose from, best first: built, and supported by this processor.
usable = [name for name in cpu.supported() if name in _directories]
#: The instruction set in use.
isa = _choose(usable)
__path__.insert(0, _directories[isa])
