"""Fast `import mbt`: names are imported when first used, without garbage collection."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["CollectorAtRest", "late_names"]


def late_names(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package that imports each name from its home, a module of the package."""

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return get


class CollectorAtRest:
    """A context in which the garbage collector does not run."""

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *error: object) -> None:
        # Imported objects stay, so move them to the oldest generation: scanning them takes a millisecond or
        # two.
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if self._was_enabled:
            gc.enable()
