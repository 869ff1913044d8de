"""The picture of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

if TYPE_CHECKING:
    from compare import Result

mpl.use("Agg")

import matplotlib.pyplot as plt

# Colours that colour-blind readers can tell apart (Okabe and Ito), and markers, by contender.
STYLES = {
    "mbt": ("#D55E00", "o"),
    "mbt Context": ("#E69F00", "D"),
    "mbt.compile": ("#56B4E9", "*"),
    "pin": ("#0072B2", "s"),
    "dynibo": ("#009E73", "^"),
    "mujoco": ("#CC79A7", "v"),
    "drake": ("#555555", "P"),
}
# Drawn above the others, the last on top.
OWN = ("mbt Context", "mbt.compile", "mbt")


def plot_times(kinds: Mapping[str, list[Result]], path: Path) -> None:
    """Draw one column of panels per kind and one row per function; models are ordered from top to bottom."""
    results = [result for some in kinds.values() for result in some if result.agrees]
    functions = list(dict.fromkeys(result.function for result in results))
    models = list(dict.fromkeys(f"{r.model} ({r.nv})" for r in sorted(results, key=lambda r: r.nv)))
    height = 0.5 + 0.19 * len(models)
    figure, axes = plt.subplots(
        len(functions), len(kinds), squeeze=False, sharex="row", sharey=True, layout="constrained",
        figsize=(5.2 * len(kinds) + 1.0, height * len(functions) + 0.8),
    )  # fmt: skip
    handles: dict[str, Any] = {}
    for column, (kind, some) in zip(axes.T, kinds.items(), strict=True):
        sizes = sorted({result.size for result in some})
        title = kind if sizes[-1] == 1 else f"batches of {' or '.join(map(str, sizes))} states"
        column[0].annotate(
            title, (0.5, 1), (0, 22), xycoords="axes fraction", textcoords="offset points", ha="center",
            fontsize=11, weight="bold",
        )  # fmt: skip
        for panel, function in zip(column, functions, strict=True):
            own = [result for result in some if result.function == function and result.agrees]
            panel.set_title(function, loc="left", fontsize=9)
            draw(panel, own, models, handles)
            panel.set_visible(bool(own))
        last = next(panel for panel in reversed(column) if panel.get_visible())
        last.set_xlabel("microseconds per state")
    names = [name for name in STYLES if name in handles]
    marks, columns = [handles[name] for name in names], 3 * len(kinds)
    figure.legend(marks, names, loc="outside upper center", ncols=columns, frameon=False, fontsize=9)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw(panel: Any, results: list[Result], models: list[str], handles: dict[str, Any]) -> None:
    """Draw the times of one function, with a line from the fastest to the slowest for each model."""
    panel.set_xscale("log")
    panel.set_yticks(range(len(models)), models, fontsize=8)
    panel.set_ylim(len(models) - 0.4, -0.6)
    panel.grid(axis="x", which="major", color="0.88", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.tick_params(axis="y", length=0)
    panel.tick_params(axis="x", labelsize=8)
    panel.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    for side in ("top", "right", "left"):
        panel.spines[side].set_visible(False)
    for y, model in enumerate(models):
        row = [r for r in results if f"{r.model} ({r.nv})" == model]
        if row:
            times = [r.minimum for r in row]
            panel.plot([min(times), max(times)], [y, y], color="0.8", linewidth=1.5, zorder=1)
        for r in row:
            colour, mark = STYLES[r.contender]
            own = OWN.index(r.contender) + 1 if r.contender in OWN else 0
            handles[r.contender] = panel.scatter(
                r.minimum, y, s=44 if own else 28, color=colour, marker=mark, zorder=2 + own,
                edgecolors="white", linewidths=0.6,
            )  # fmt: skip
