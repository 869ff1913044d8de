"""The pictures of `docs/benchmarks.md`, each drawn only from the series of the same name in `stored.py`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

import numpy as np
from matplotlib import pyplot as plt

from plots import STYLES
from stored import rounded

#: Like the values: higher is better, and darker.
COLOURS = "cividis_r"
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7A5195", "#8C564B")
MARKS = "osD^vP*X<"
SETTINGS = {
    "svg.hashsalt": "mbt", "font.size": 9, "axes.titlesize": 10, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "legend.frameon": False, "figure.facecolor": "white",
}  # fmt: skip
SHORT = {
    "gravity generalized forces": "gravity forces",
    "inverse dynamics derivatives": "derivatives of inverse dynamics",
    "forward dynamics derivatives": "derivatives of forward dynamics",
}


def name_of(function: str) -> str:
    """Return the name of a function in a picture."""
    return SHORT.get(function, function)


def plain(axes: Any) -> None:
    """Remove lines that carry no information."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, which="major", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)


def grid_of_numbers(axes: Any, table: dict[str, list[float | None]], columns: list[str], most: float) -> None:
    """Write values on fields coloured by their size, one row per function."""
    values = np.array([[np.nan if x is None else x for x in row] for row in table.values()])
    shown = axes.imshow(
        np.log(values), cmap=COLOURS, vmin=0.0, vmax=np.log(most), aspect="auto", interpolation="nearest"
    )
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            red, green, blue, _ = shown.cmap(shown.norm(np.log(value)))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            axes.text(
                j, i, f"{value:.1f}", ha="center", va="center", fontsize=8,
                color="white" if dark else "black", weight="bold" if j == len(columns) - 1 else "normal",
            )  # fmt: skip
    axes.set_xticks(range(len(columns)), columns, rotation=32, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(table)), [name_of(function) for function in table])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.axvline(len(columns) - 1.5, color="white", linewidth=3)


def ratios_by_model(series: dict[str, Any]) -> Any:
    """Draw four grids, one for each size of a batch."""
    figure, panels = plt.subplots(2, 2, figsize=(9.4, 7.0), sharey=True, sharex=True, layout="constrained")
    most = max(x for table in series["ratios"].values() for row in table.values() for x in row if x)
    for axes, (size, table) in zip(panels.flat, series["ratios"].items(), strict=True):
        grid_of_numbers(axes, table, series["models"], most)
        axes.set_title("one state per call" if size == "1" else f"{size} states per call")
    figure.suptitle("time of the fastest peer relative to mbt.functional, one core", weight="bold")
    return figure


def ratios_by_size(series: dict[str, Any]) -> Any:
    """Draw a panel for each function, with thin lines for the models and thick ones for the means."""
    figure, panels = plt.subplots(3, 3, figsize=(9.0, 7.6), sharex=True, sharey=True, layout="constrained")
    sizes = series["sizes"]
    own, native = STYLES["mbt"], STYLES["mbt.compile"]
    for axes, (function, rows) in zip(panels.flat, series["functions"].items(), strict=True):
        axes.set_xscale("log", base=4)
        axes.set_yscale("log", base=2)
        for row in rows["models"].values():
            axes.plot(sizes, [np.nan if x is None else x for x in row], color="0.75", linewidth=1)
        axes.plot(
            sizes, rows["mbt"], color=own[0], marker=own[1], linewidth=2.2, label="mbt.functional, all models"
        )
        if None not in rows["mbt.compile"]:
            axes.plot(
                sizes, rows["mbt, of these"], color=own[0], linestyle=":", linewidth=1.8,
                label="mbt.functional, compiled models",
            )  # fmt: skip
            axes.plot(
                sizes, rows["mbt.compile"], color=native[0], marker="s", linewidth=2.2, label="mbt.compile"
            )
        axes.axhline(1, color="0.4", linewidth=1, linestyle="--")
        axes.set_title(name_of(function))
        axes.set_xticks(sizes, map(str, sizes))
        axes.yaxis.set_major_formatter(lambda x, _: f"{x:g}")
        plain(axes)
    for axes in panels[-1]:
        axes.set_xlabel("states per call of mbt")
    panels[1, 0].set_ylabel("time of the fastest peer relative to mbt")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    handles.append(plt.Line2D([], [], color="0.75"))
    figure.legend(handles, [*labels, "individual models"], loc="outside upper center", ncols=4)
    return figure


def native_code(series: dict[str, Any]) -> Any:
    """Draw two grids: one state, and many."""
    figure, panels = plt.subplots(1, 2, figsize=(9.4, 4.0), sharey=True, layout="constrained")
    most = max(x for table in series["gains"].values() for row in table.values() for x in row if x)
    for axes, (size, table) in zip(panels, series["gains"].items(), strict=True):
        grid_of_numbers(axes, table, series["models"], most)
        axes.set_title("one state per call" if size == "1" else f"{size} states per call")
    figure.suptitle("time of mbt.functional relative to functions of mbt.compile", weight="bold")
    return figure


def latency_and_throughput(series: dict[str, Any]) -> Any:
    """Draw a panel for each model: the time until results are ready, and states per second."""
    figure, panels = plt.subplots(1, 2, figsize=(9.0, 4.2), sharey=True, layout="constrained")
    for axes, (model, libraries) in zip(panels, series["models"].items(), strict=True):
        for name, pairs in libraries.items():
            x, y = zip(*pairs, strict=True)
            colour, mark = STYLES[name]
            own = name.startswith("mbt")
            axes.loglog(
                x,
                y,
                color=colour,
                marker=mark,
                linewidth=2 if own else 1.2,
                label=name,
                zorder=3 if own else 2,
            )
            if name == "mbt":
                for size, a, b in zip(series["sizes"], x, y, strict=True):
                    axes.annotate(
                        f"{size}", (a, b), (6, -12), textcoords="offset points", color=colour, fontsize=8
                    )
        axes.set_title(f"forward dynamics, {model}")
        axes.set_xlabel("time until all results are available [µs]")
        axes.grid(visible=True, which="minor", axis="y", color="0.95", linewidth=0.6)
        plain(axes)
    panels[0].set_ylabel("states per second")
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    return figure


def scaling(series: dict[str, Any]) -> Any:
    """Draw the speedup on more threads, and that on dask relative to one process."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.8, 4.6), layout="constrained")
    labels, bars = [], []
    for model, functions in series["threads"].items():
        for function, gains in functions.items():
            labels.append(f"{name_of(function)}, {model.split(',')[0]}")
            bars.append(list(gains.items())[-1])
    y = np.arange(len(bars))[::-1]
    left.barh(y, [gain for _, gain in bars], color=STYLES["mbt"][0], height=0.65)
    left.bar_label(left.containers[0], [f"{gain:.2f}" for _, gain in bars], padding=3)
    left.set_yticks(y, labels)
    number = bars[0][0]
    left.axvline(1, color="0.4", linewidth=1, linestyle="--")
    left.set_xlim(0, 1.15 * max(*(gain for _, gain in bars), float(number)))
    left.set_title(f"speedup on {number} threads")
    runs = list(next(iter(series["dask"].values())))
    for i, run in enumerate(runs):
        shares = [sweep[run] for sweep in series["dask"].values()]
        bars = right.barh(-np.arange(len(shares)) - 0.2 * i, shares, color=LINES[i], height=0.18, label=run)
        right.bar_label(bars, [f"{share:.2f}" for share in shares], padding=3)
    names = [name.split(",")[0].replace(" of ", "\nof ") for name in series["dask"]]
    right.set_yticks(-np.arange(len(names)) - 0.1 * (len(runs) - 1), names)
    right.axvline(1, color="0.4", linewidth=1, linestyle="--")
    right.margins(x=0.14)
    right.set_title("dask, relative to one process")
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=len(runs))
    for axes in (left, right):
        plain(axes)
        axes.grid(visible=False, axis="y")
    return figure


def roofline(series: dict[str, Any]) -> Any:
    """Draw operations per second under the roofs, and each bound of a function relative to its time."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10.4, 5.6), layout="constrained", width_ratios=[1, 1.15]
    )
    roofs = series["roofs"]
    x = np.geomspace(0.3, 300, 200)
    peak = roofs["operations"] / 1e9
    lines = [
        left.loglog(x, np.minimum(peak, x * roofs[kind] / 1e9), color="0.35", linestyle=style, linewidth=1.5)[
            0
        ]
        for kind, style in (("bytes written past caches", "-"), ("bytes written", "--"))
    ]
    past = roofs["bytes written past caches"] / 1e9
    titles = [
        f"{past:.0f} GB/s past caches, {peak:.0f} billion operations/s",
        f"{roofs['bytes written'] / 1e9:.0f} GB/s by plain stores",
    ]
    left.add_artist(left.legend(lines, titles, loc="upper right", fontsize=8))
    for fill, points in zip(("full", "none"), series["points"].values(), strict=True):
        for i, (function, (intensity, rate)) in enumerate(points.items()):
            left.plot(
                intensity, rate, MARKS[i], color=LINES[i], fillstyle=fill, markersize=8, markeredgewidth=1.6,
                label=name_of(function) if fill == "full" else None,
            )  # fmt: skip
    left.set_ylim(2, 2.2 * peak)
    left.set_xlim(0.3, 300)
    left.set_xlabel("operations per byte of arguments and results")
    left.set_ylabel("billion operations per second")
    left.set_title("rooflines (filled: arm7; hollow: humanoid)")
    left.legend(loc="lower right", fontsize=7.5)
    plain(left)
    kinds = ("arithmetic", "loads", "stores", "memory")
    colours = dict(zip(kinds, ("#0072B2", "#E69F00", "#009E73", "#CC79A7"), strict=True))
    place, ticks, labels = 0.0, [], []
    for model, functions in series["bounds"].items():
        for function, row in functions.items():
            for k, kind in enumerate(kinds):
                right.barh(place + 0.2 * k, 100 * row[kind] / row["time"], 0.2, color=colours[kind],
                           label=kind if not ticks else None)  # fmt: skip
            ticks.append(place + 0.3)
            labels.append(f"{name_of(function)}, {model.split(',')[0]}")
            place += 1.0
    right.set_yticks(ticks, labels, fontsize=8)
    right.invert_yaxis()
    right.set_ylim(place - 0.1, -0.25)
    right.set_xlim(0, 100)
    right.set_xlabel("each bound alone, in % of the function's time")
    right.set_title("bounds")
    right.legend(loc="lower right", fontsize=8)
    plain(right)
    right.grid(visible=False, axis="y")
    return figure


def history(series: dict[str, Any]) -> Any:
    """Draw a panel for each model: instructions of each version relative to the first."""
    models = series["instructions"]
    figure, panels = plt.subplots(1, len(models), figsize=(9.4, 5.2), sharey=True, layout="constrained")
    versions = series["versions"]
    ways = {"mbt": "-", "mbt Context": ":", "mbt, 64 states": "--"}
    for axes, (model, calls) in zip(panels, models.items(), strict=True):
        functions = list(dict.fromkeys(call.partition(": ")[2] for call in calls))
        for call, row in calls.items():
            way, _, function = call.partition(": ")
            k = functions.index(function)
            axes.plot(
                range(len(versions)), [np.nan if x is None else x for x in row], color=LINES[k],
                marker=MARKS[k], linestyle=ways[way], markersize=5, linewidth=1.6,
                label=f"{function}, {way.replace('mbt, ', '')}",
            )  # fmt: skip
        axes.set_title(model)
        axes.set_xticks(range(len(versions)), versions, rotation=90, fontsize=7.5)
        axes.margins(x=0.06)
        plain(axes)
    panels[0].set_ylabel("instructions relative to the first version")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8, handlelength=5)
    return figure


PICTURES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "ratios_by_model": ratios_by_model,
    "ratios_by_size": ratios_by_size,
    "native_code": native_code,
    "latency_and_throughput": latency_and_throughput,
    "scaling": scaling,
    "roofline": roofline,
    "history": history,
}


def draw(name: str, series: dict[str, Any], folder: Path, kind: str = "svg") -> None:
    """Write a picture; an SVG has its data in the metadata, as JSON."""
    with plt.rc_context(SETTINGS):
        figure = PICTURES[name](series)
        metadata = {"Date": None, "Description": json.dumps(rounded(series))} if kind == "svg" else {}
        figure.savefig(folder / f"{name}.{kind}", metadata=metadata, dpi=110)
        plt.close(figure)
