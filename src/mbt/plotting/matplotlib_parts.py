"""Common parts of all drawings: importing matplotlib on demand, and distinguishable line styles."""

from __future__ import annotations

from typing import Any

from mbt.errors import ArgumentTypeError, MissingPackageError
from mbt.tree.pictures.colours import CYCLE

__all__ = ["axes_for", "import_matplotlib", "line_style"]

# A number of dashes with which the combinations with colours repeat as late as possible.
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (9, 3)))


def import_matplotlib(method: str) -> Any:
    """Return matplotlib.

    Raises
    ------
    MissingPackageError
        When it is not installed.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise MissingPackageError(
            f"{method} needs matplotlib: pip install 'multibodytree[plot]' ({error})"
        ) from error
    return matplotlib


def line_style(i: int) -> dict[str, Any]:
    """Return colour and dashes of line i: the first 30 all differ, and neighbours differ in both.

    In print without colours, and for colour-blind people, the dashes distinguish the lines.
    """
    return {"color": CYCLE[i % len(CYCLE)], "linestyle": _DASHES[i % len(_DASHES)]}


def axes_for(ax: Any, method: str, *, size: tuple[float, float]) -> Any:
    """Return two-dimensional axes: those given, or new ones of ``matplotlib.pyplot``."""
    import_matplotlib(method)
    if ax is None:
        from matplotlib import pyplot

        return pyplot.subplots(figsize=size, layout="constrained")[1]
    if not hasattr(ax, "plot") or not hasattr(ax, "transData"):
        raise ArgumentTypeError(f"ax: expected axes of matplotlib, got {type(ax).__name__}")
    return ax
