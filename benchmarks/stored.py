"""Tables and series to draw for `docs/benchmarks.md`, computed from `benchmarks/results`.

Needs nothing but Python, so that a test can compare the page, its pictures and the results on any machine.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import geometric_mean
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
OWN = ("mbt", "mbt Context", "mbt.compile")
PEERS = ("pin", "dynibo", "mujoco", "drake")
FUNCTIONS = (
    "inverse dynamics",
    "mass matrix",
    "forward dynamics",
    "bias term",
    "gravity generalized forces",
    "body poses",
    "frame jacobian",
    "inverse dynamics derivatives",
    "forward dynamics derivatives",
)
GRADIENTS = ("inverse dynamics gradient", "forward dynamics gradient")
SIZES = ("1", "16", "256", "4096")
#: Models of the tables and of the first pages, which can be made without files.
MADE = ("arm7", "chain30", "chain100", "humanoid")
NAMES = {
    "ur10": "UR10",
    "iiwa14": "iiwa14",
    "solo12": "Solo 12, floating",
    "h1": "H1, floating",
    "humanoid": "humanoid, floating",
}
HISTORY_MODELS = ("arm7", "chain30", "humanoid")
HISTORY = tuple(
    f"{way}: {function}"
    for way in ("mbt", "mbt Context", "mbt, 64 states")
    for function in ("inverse dynamics", "mass matrix", "forward dynamics", "body poses", "frame jacobian")
)
PERCENTILES = ("p50", "p99", "p99.9", "max")
#: Possible limits of a batch; each needs a part of the time [ns] that follows from counts and peak rates.
BOUNDS = ("arithmetic", "loads", "stores", "memory")


#: Machines other than the first, which the pictures and most tables are from; each has a folder of results.
OTHERS = {"Intel": "intel", "Zen 4": "zen4"}


@functools.cache
def results(part: str, machine: str = "") -> Any:
    """Return the stored results of a part, from `record.py` or `history.py`."""
    return json.loads((RESULTS / machine / f"{part}.json").read_text(encoding="utf-8"))


def model_name(model: str) -> str:
    """Return the name of a model on the page."""
    return NAMES.get(model, model)


# Ratios -------------------------------------------------------------------------------------------------


def times(model: str, function: str, size: str, machine: str = "") -> dict[str, float]:
    """Return the minimum times [us] per state, by library; empty if nothing was measured."""
    row = results("calls", machine)["models"][model]["times"].get(function, {}).get(size, {})
    return {name: pair[0] for name, pair in row.items()}


def ratio(model: str, function: str, size: str, own: str = "mbt", machine: str = "") -> float | None:
    """Return the time of the fastest peer over that of mbt."""
    row = times(model, function, size, machine)
    peers = [time for name, time in row.items() if name in PEERS]
    return min(peers) / row[own] if peers and own in row else None


def models() -> list[str]:
    """Return all models, small ones first."""
    known = results("calls")["models"]
    return sorted(known, key=lambda name: known[name]["nv"])


def mean(values: list[float | None]) -> float | None:
    """Return the geometric mean of the values that are known."""
    known = [value for value in values if value is not None]
    return geometric_mean(known) if known else None


def rounded(value: Any) -> Any:
    """Return a value with its floats rounded to four digits, in lists and dictionaries too."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


# Series to draw -----------------------------------------------------------------------------------------


def ratios_by_model() -> dict[str, Any]:
    """Return, for each size and function, a row of ratios, one per model, followed by their mean."""
    table = {}
    for size in SIZES:
        rows = {function: [ratio(model, function, size) for model in models()] for function in FUNCTIONS}
        table[size] = {function: [*row, mean(row)] for function, row in rows.items()}
    return {"models": [*map(model_name, models()), "geometric mean"], "ratios": table}


def ratios_by_size() -> dict[str, Any]:
    """Return, for each function, ratios over sizes: of each model, and means for mbt and native code."""
    found = {}
    for function in FUNCTIONS:
        by_model = {model: [ratio(model, function, size) for size in SIZES] for model in models()}
        native = {
            model: [ratio(model, function, size, "mbt.compile") for size in SIZES] for model in models()
        }
        native = {model: row for model, row in native.items() if None not in row}
        found[function] = {
            "models": {model_name(model): row for model, row in by_model.items()},
            "mbt": [mean([row[i] for row in by_model.values()]) for i in range(len(SIZES))],
            # Over the models of the native code.
            "mbt, of these": [mean([by_model[model][i] for model in native]) for i in range(len(SIZES))],
            "mbt.compile": [mean([row[i] for row in native.values()]) for i in range(len(SIZES))],
        }
    return {"sizes": [int(size) for size in SIZES], "functions": found}


def native_code() -> dict[str, Any]:
    """Return times of `mbt.functional` over those of compiled functions, for one state and for many."""
    known = [model for model in models() if any("mbt.compile" in times(model, f, "1") for f in FUNCTIONS)]
    table: dict[str, Any] = {}
    for size in ("1", "4096"):
        for function in FUNCTIONS:
            rows = [times(model, function, size) for model in known]
            gains = [row["mbt"] / row["mbt.compile"] if "mbt.compile" in row else None for row in rows]
            table.setdefault(size, {})[function] = [*gains, mean(gains)]
    return {"models": [*map(model_name, known), "geometric mean"], "gains": table}


def latency_and_throughput() -> dict[str, Any]:
    """Return, over sizes, the time until all results of a call are ready [us], and states per second."""
    found: dict[str, Any] = {}
    for model in ("arm7", "humanoid"):
        for size in SIZES:
            for name, time in times(model, "forward dynamics", size).items():
                if name in ("mbt", "mbt.compile", "pin", "dynibo", "mujoco"):
                    pair = [time * int(size), 1e6 / time]
                    found.setdefault(model_name(model), {}).setdefault(name, []).append(pair)
    return {"sizes": [int(size) for size in SIZES], "models": found}


def scaling() -> dict[str, Any]:
    """Return the speedups of threads, and of sweeps on dask, over one thread of one process."""
    threads: dict[str, Any] = {}
    for model, functions in results("threads")["models"].items():
        for function, row in functions.items():
            one = row["times"]["1"][0]
            gains = {number: one / pair[0] for number, pair in row["times"].items() if number != "1"}
            threads.setdefault(model_name(model), {})[function] = gains
    dask: dict[str, Any] = {}
    for name, sweep in results("dask")["sweeps"].items():
        one, *rest = sweep["runs"].items()
        dask[name] = {run: row["rate"] / one[1]["rate"] for run, row in rest}
    return {"threads": threads, "dask": dask}


def bounds(model: str, function: str) -> dict[str, float]:
    """Return the time [ns] of a state, and its lower bounds by operations, loads, stores and memory.

    All are for x86-64-v3, as the counts are.
    """
    roofs = results("roofline")["roofs"]["v3"]
    counts = results("operations")["models"][model][function]
    measured = results("roofline")["models"]["v3"][model][function]
    return {
        "arithmetic": 1e9 * counts["operations"] / roofs["operations"],
        "loads": 1e9 * counts["loads"] / roofs["loads"],
        "stores": 1e9 * counts["stores"] / roofs["stores"],
        "memory": measured["fill"],
        "time": measured["time"],
    }


def roofline() -> dict[str, Any]:
    """Return operations per byte and per nanosecond of each function, roofs, and bounds of each function."""
    found: dict[str, Any] = {}
    points: dict[str, Any] = {}
    measured = results("roofline")["models"]["v3"]
    for model in ("arm7", "humanoid"):
        for function in FUNCTIONS:
            counts = results("operations")["models"][model][function]
            row = measured[model][function]
            found.setdefault(model_name(model), {})[function] = bounds(model, function)
            pair = [counts["operations"] / row["bytes"], counts["operations"] / row["time"]]
            points.setdefault(model_name(model), {})[function] = pair
    return {"bounds": found, "points": points, "roofs": results("roofline")["roofs"]["v3"]}


def history() -> dict[str, Any]:
    """Return instructions of each version relative to the first, by model and call."""
    versions = results("history")["versions"]
    first = versions[0]["counts"]
    found: dict[str, Any] = {}
    for call in HISTORY:
        for model in HISTORY_MODELS:
            row = [version["counts"][call].get(model) for version in versions]
            found.setdefault(model_name(model), {})[call] = [n and n / first[call][model] for n in row]
    return {"versions": [version["name"] for version in versions], "instructions": found}


#: Series to draw, by the name of the picture.
SERIES: dict[str, Callable[[], dict[str, Any]]] = {
    "ratios_by_model": ratios_by_model,
    "ratios_by_size": ratios_by_size,
    "native_code": native_code,
    "latency_and_throughput": latency_and_throughput,
    "scaling": scaling,
    "roofline": roofline,
    "history": history,
}


# Tables -------------------------------------------------------------------------------------------------


def figure(value: float | None) -> str:
    """Return a time or a ratio, with fewer decimals if it is large."""
    if value is None:
        return ""
    return f"{value:.{3 if value < 10 else 2 if value < 100 else 1}f}"


def short(value: float | None) -> str:
    """Return a ratio."""
    return "" if value is None else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def as_table(head: list[str], rows: list[list[str]], words: int) -> str:
    """Return a Markdown table whose first `words` columns are text."""
    lines = [" | ".join(head), "|".join(["---"] * words + ["--:"] * (len(head) - words))]
    lines += [" | ".join(row) for row in rows]
    return "\n".join(f"|{line}|" if line.startswith("---") else f"| {line} |" for line in lines)


def table_of_times(size: str, names: tuple[str, ...], functions: tuple[str, ...], machine: str = "") -> str:
    """Return times [us] per state by function and model, for the models of `MADE`."""
    rows = []
    for function in functions:
        for model in MADE:
            if row := times(model, function, size, machine):
                ratios = (ratio(model, function, size, own, machine) for own in ("mbt", "mbt Context"))
                best = next((one for one in ratios if one is not None), None)
                cells = [figure(row.get(name)) for name in names]
                rows.append([function, model, *cells, short(best)])
    return as_table(["function", "model", *names, "fastest peer / mbt"], rows, 2)


def single_calls(machine: str = "") -> str:
    """Return the table of single calls."""
    return table_of_times("1", ("mbt", "mbt Context", *PEERS), (*FUNCTIONS, *GRADIENTS), machine)


def batches() -> str:
    """Return the table of batches."""
    return table_of_times("4096", ("mbt", "mbt Context", "pin", "dynibo", "mujoco"), FUNCTIONS)


def means(machine: str = "") -> str:
    """Return geometric means over all models, by function: for functions and for Contexts."""
    rows = []
    for function in FUNCTIONS:
        cells = []
        for size, own in [(size, "mbt") for size in SIZES] + [("1", "mbt Context"), ("4096", "mbt Context")]:
            cells.append(short(mean([ratio(model, function, size, own, machine) for model in models()])))
        rows.append([function, *cells])
    head = [f"{size} state{'s' if size != '1' else ''}" for size in SIZES]
    return as_table(["fastest peer / mbt", *head, "Context, 1", "Context, 4096"], rows, 1)


def machine_of(part: str) -> str:
    """Return a sentence on where and when a part was measured."""
    m = results(part)["machine"]
    before, after = m["load"]
    return (
        f"{m['processor']}, {m['processors']} virtual processors, {m['month']}, x86-64-{m['isa']}, "
        f"load {before:.1f} to {after:.1f}"
    )


def machines() -> str:
    """Return the table of machines that each part was measured on."""
    titles = {
        "calls": "single calls, batches, native code",
        "roofline": "roofline: times and roofs",
        "operations": "roofline: counts",
        "threads": "threads",
        "dask": "dask",
        "latency": "latency",
        "rollouts": "rollouts",
        "history": "history",
    }
    kept = [(part, "", title) for part, title in titles.items()]
    kept[1:1] = [("calls", folder, titles["calls"]) for folder in OTHERS.values()]
    rows = []
    for part, machine, title in kept:
        m = results(part, machine)["machine"]
        before, after = m["load"]
        load = f"{before:.1f}, {after:.1f}" if part != "operations" else "does not matter"
        isa = {"roofline": "v3, v4", "operations": "v3"}.get(part, m["isa"])
        where = f"{m['processor']}, {m['processors']} virtual processors"
        rows.append([title, where, f"x86-64: {isa}", m["month"], load, f"{m['seconds']} s"])
    return as_table(
        ["part", "processor", "instruction set", "when", "load before, after", "duration"], rows, 4
    )


def versions() -> str:
    """Return the versions that were compared."""
    m = results("calls")["machine"]
    libraries = ", ".join(f"{name} {v}" for name, v in m["versions"].items() if name in PEERS)
    return (
        f"mbt built with {m['compiler']}; {m['system']}, Python {m['python']}, "
        f"NumPy {m['versions']['numpy']}; {libraries} from their wheels. "
        f"{results('calls')['rounds']} interleaved rounds."
    )


def roofs() -> str:
    """Return the peak rates of one core."""
    found = results("roofline")["roofs"]
    rows = []
    for isa, row in found.items():
        rows.append([
            f"x86-64-{isa}", f"{row['operations'] / 1e9:.1f}", f"{row['loads'] / 1e9:.2f}",
            f"{row['stores'] / 1e9:.2f}",
            *(f"{row[k] / 1e9:.1f}" for k in ("bytes read", "bytes written", "bytes written past caches")),
        ])  # fmt: skip
    head = [
        "one core, billions per second", "operations", "loads", "stores", "bytes read", "bytes written",
        "bytes written past caches",
    ]  # fmt: skip
    return as_table(head, rows, 1)


def table_of_bounds() -> str:
    """Return the bounds of each function in a batch, beside its times."""
    rows = []
    wide = results("roofline")["models"].get("v4", {})
    for model in results("operations")["models"]:
        for function in FUNCTIONS:
            row, counts = bounds(model, function), results("operations")["models"][model][function]
            cells = [f"{counts[kind]:.0f}" for kind in ("operations", "loads", "stores")]
            cells += [f"{row[name]:.0f}" for name in BOUNDS]
            most = max(BOUNDS, key=row.__getitem__)
            share = f"{most} {100 * row[most] / row['time']:.0f} %"
            other = wide.get(model, {}).get(function)
            cells += [f"{row['time']:.0f}", f"{other['time']:.0f}" if other else "", share]
            rows.append([function, model_name(model), *cells])
    head = [
        "function", "model", "operations", "loads", "stores", *(f"{name}, ns" for name in BOUNDS), "v3, ns",
        "v4, ns", "largest bound, v3",
    ]  # fmt: skip
    rows.sort(key=lambda row: FUNCTIONS.index(row[0]))
    return as_table(head, rows, 2)


def threads() -> str:
    """Return times of batches on several threads."""
    rows, head = [], []
    for model, functions in results("threads")["models"].items():
        for function, row in functions.items():
            head = [f"{number} thread{'s' if number != '1' else ''}" for number in row["times"]]
            least = [pair[0] / 1e3 for pair in row["times"].values()]
            cells = [str(row["states"]), *map(figure, least), f"{least[0] / least[-1]:.2f}"]
            rows.append([function, model, *cells])
    return as_table(["function", "model", "states", *head, "speedup"], rows, 2)


def dask() -> str:
    """Return the throughput of sweeps on dask."""
    rows = [
        [name, run, figure(row["rate"] / 1e3), figure(row["cpu"])]
        for name, sweep in results("dask")["sweeps"].items()
        for run, row in sweep["runs"].items()
    ]
    return as_table(["sweep", "", "thousands per second", "CPU time, µs each"], rows, 2)


def latency() -> str:
    """Return percentiles of the times of single calls."""
    found = results("latency")
    kinds = ("collection on", "collection off, frozen")
    rows = [[name, *(figure(x) for kind in kinds for x in found[kind][name])] for name in found[kinds[0]]]
    head = [
        f"GC on: {PERCENTILES[0]}",
        *PERCENTILES[1:],
        f"GC off, frozen: {PERCENTILES[0]}",
        *PERCENTILES[1:],
    ]
    return as_table(["", *head], rows, 1)


def rollouts() -> str:
    """Return nanoseconds per step, beside MuJoCo."""
    rows = []
    for method, by_model in results("rollouts")["methods"].items():
        ratios = []
        for model, row in by_model.items():
            ratios.append(row["mujoco"][0] / row["mbt"][0])
            cells = [f"{x:.0f}" for name in ("mbt", "mujoco") for x in row[name]]
            rows.append([f"{model_name(model)}, {method.replace('_', ' ')}", *cells, short(ratios[-1])])
        rows.append([f"geometric mean, {method.replace('_', ' ')}", "", "", "", "", short(mean(ratios))])
    return as_table(["", "mbt", "median", "mujoco", "median", "mujoco / mbt"], rows, 1)


def table_of_history() -> str:
    """Return instructions per call, or per state of a batch, for the first version and the newest."""
    versions = results("history")["versions"]
    rows = []
    for call in HISTORY:
        states = 64 if "64 states" in call else 1
        cells = []
        for model in HISTORY_MODELS:
            old, new = (version["counts"][call][model] for version in (versions[0], versions[-1]))
            cells += [f"{old / states:.0f}", f"{new / states:.0f}", f"{round(100 * (new / old - 1)):+d} %"]
        rows.append([call, *cells])
    names = [versions[0]["name"], versions[-1]["name"], ""]
    head = [f"{model}: {name}" if name == names[0] else name for model in HISTORY_MODELS for name in names]
    return as_table(["", *head], rows, 1)


#: Tables of the page, by the name of their marks.
TABLES: dict[str, Callable[[], str]] = {
    "machines": machines,
    "versions": versions,
    "means": means,
    "single": single_calls,
    "batches": batches,
    "roofs": roofs,
    "bounds": table_of_bounds,
    "threads": threads,
    "dask": dask,
    "latency": latency,
    "rollouts": rollouts,
    "history": table_of_history,
}
for _name, _folder in OTHERS.items():
    TABLES[f"means on {_name}"] = functools.partial(means, _folder)
    TABLES[f"single on {_name}"] = functools.partial(single_calls, _folder)


def marked(page: str) -> Iterator[tuple[str, str]]:
    """Yield the text between the marks of a page, by the name of the marks."""
    for name in TABLES:
        yield (
            name,
            page.partition(f"<!-- {name} -->\n")[2].partition(f"\n<!-- end of {name} -->")[0].strip("\n"),
        )


def with_tables(page: str) -> str:
    """Return a page with the text between its marks rewritten."""
    for name, make in TABLES.items():
        head, begin, rest = page.partition(f"<!-- {name} -->\n")
        _, end, tail = rest.partition(f"<!-- end of {name} -->")
        if not begin or not end:
            raise ValueError(f"no place for {name!r} on the page")
        page = f"{head}{begin}\n{make()}\n\n{end}{tail}"
    return page
