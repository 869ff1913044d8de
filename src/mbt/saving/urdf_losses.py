"""The parts of a model that URDF cannot hold."""

from __future__ import annotations

from mbt.errors import quote

__all__ = ["Losses"]

_SHOWN = 20


class Losses:
    """Losses: what is missing in the text, or differs from the model. False if there are none."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}

    def add(self, what: str, name: str, fate: str) -> None:
        """Add what becomes of an element: ``add("joint", "elbow", "its default position is left out")``."""
        self._lines[f"{what} {quote(name)}: {fate}"] = None

    def add_of_model(self, fate: str) -> None:
        """Add a loss of the model as a whole."""
        self._lines[fate] = None

    def __len__(self) -> int:
        """Return the number of losses."""
        return len(self._lines)

    def describe(self) -> str:
        """Return a text of a few lines."""
        shown = [f"  {line}" for line in list(self._lines)[:_SHOWN]]
        if len(self) > _SHOWN:
            shown.append(f"  and {len(self) - _SHOWN} more")
        return "\n".join(["URDF cannot hold all of this model (JSON can):", *shown])
