"""The collector of garbage, at rest while mbt is imported: nothing is left over there to be found."""

from __future__ import annotations

import gc

__all__ = ["CollectorAtRest"]


class CollectorAtRest:
    """A context in which no garbage is looked for."""

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *error: object) -> None:
        # What came meanwhile stays: it becomes old here. To look through it takes a millisecond or two.
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if self._was_enabled:
            gc.enable()
