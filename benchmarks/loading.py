"""Time to read a robot, beside other libraries.

    python benchmarks/loading.py [FILE.urdf ...] [FILE.xml ...] [--runs 100] [--joints N ...]

From URDF or MJCF text to a model that computes; the same with the first mass matrix; `finalize()` alone. The
libraries take turns; the fastest run of each counts. Columns stay empty for libraries that are not installed
or do not read a file. Files are read as they are, not lumped. Times are CPU times, which other programs
hardly change. The last columns are ratios to pin, of the fastest runs and of the medians.

For MJCF, a second table shows where the time goes: MuJoCo's time to parse and to compile the file, and mbt's
time to describe the compiled model, to make a finalized tree of it, description included, and to finalize the
tree.

`--joints`: chains of that many joints, and the memory that their trees hold, for mbt alone.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import statistics
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import mbt
from models import make_model

Load = Callable[[str], Any]


def load_with_mbt(text: str) -> mbt.MultibodyTree:
    """Return a finalized tree."""
    return mbt.load_model(text)


def loaders() -> dict[str, Load]:
    """Return functions that make a model from URDF text, by library, for the installed ones."""
    found: dict[str, Load] = {"mbt": load_with_mbt}
    for name, module, load in (
        ("pin", "pinocchio", lambda pin, text: pin.buildModelFromXML(text)),
        ("mujoco", "mujoco", lambda mujoco, text: mujoco.MjModel.from_xml_string(text)),
        ("drake", "pydrake.multibody", load_with_drake),
    ):
        try:
            library = importlib.import_module(module)
        except ImportError:
            continue
        found[name] = lambda text, library=library, load=load: load(library, text)
    return found


def load_with_drake(_: Any, text: str) -> Any:
    """Return a finalized plant."""
    plant = importlib.import_module("pydrake.multibody.plant").MultibodyPlant(0.0)
    importlib.import_module("pydrake.multibody.parsing").Parser(plant).AddModelsFromString(text, "urdf")
    plant.Finalize()
    return plant


def load_and_compute(text: str) -> None:
    """Load a robot and compute its first mass matrix."""
    tree = mbt.load_model(text)
    mbt.functional.mass_matrix(tree, tree.default_positions)


def time_of_finalize(text: str) -> float:
    """Return the time of `finalize()` alone [ms]."""
    tree = mbt.MultibodyTree()
    mbt.parsing.add_model(tree, text)
    start = process_time()
    tree.finalize()
    return 1e3 * (process_time() - start)


def time_of(work: Load, text: str) -> float:
    """Return the time of one call [ms]."""
    start = process_time()
    work(text)
    return 1e3 * (process_time() - start)


def measure(text: str, runs: int) -> dict[str, float]:
    """Return the fastest of `runs` runs of each library [ms], and ratios."""
    works: dict[str, Load] = {**loaders(), "mbt, with M": load_and_compute}
    times: dict[str, list[float]] = {name: [] for name in (*works, "finalize")}
    for _ in range(runs):
        for name, work in tuple(works.items()):
            try:
                times[name].append(time_of(work, text))
            except (RuntimeError, ValueError):
                del works[name]
        times["finalize"].append(time_of_finalize(text))
    fastest = {name: min(column, default=np.nan) for name, column in times.items()}
    if "pin" in works:
        fastest["mbt/pin"] = fastest["mbt"] / fastest["pin"]
        fastest["of medians"] = statistics.median(times["mbt"]) / statistics.median(times["pin"])
    return fastest


def measure_mjcf(text: str, runs: int) -> dict[str, float]:
    """Return the fastest of `runs` runs of each step from MJCF to a tree [ms]."""
    mujoco = importlib.import_module("mujoco")
    describe = importlib.import_module("mbt.parsing.mujoco_description").describe_mujoco_model
    report, options = mbt.parsing.report.ParseReport, mbt.parsing.options.ReadOptions()
    model = mujoco.MjModel.from_xml_string(text)
    spec = mujoco.MjSpec.from_string(text)
    works: dict[str, Load] = {
        "mujoco": mujoco.MjModel.from_xml_string,
        "parse": mujoco.MjSpec.from_string,
        "compile": lambda _: spec.compile(),
        "describe": lambda _: describe(model, report("model"), options),
        "from_mujoco": lambda _: mbt.interop.from_mujoco(model),
        "mbt": load_with_mbt,
    }
    times: dict[str, list[float]] = {name: [] for name in (*works, "finalize")}
    for _ in range(runs):
        for name, work in works.items():
            times[name].append(time_of(work, text))
        times["finalize"].append(time_of_finalize(text))
    return {name: min(column) for name, column in times.items()}


def print_mjcf(texts: dict[str, str], runs: int) -> None:
    """Print where the time of reading MJCF goes."""
    for i, (name, text) in enumerate(texts.items()):
        shares = measure_mjcf(text, runs)
        if i == 0:
            print("\n| ms | " + " | ".join(shares) + " |")
            print("|---|" + "--:|" * len(shares))
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in shares.values()) + " |")


def measure_large(joints: int) -> tuple[float, float, float]:
    """Return the time to read a chain [s], the memory its tree holds, and the peak while reading [MB]."""
    text = make_model(f"chain{joints}").urdf
    seconds = min(time_of(load_with_mbt, text) for _ in range(3)) / 1e3
    gc.collect()
    tracemalloc.start()
    tree = load_with_mbt(text)
    gc.collect()
    held, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del tree
    return seconds, held / 1e6, most / 1e6


def print_large(joints: list[int]) -> None:
    """Print time and memory of large chains."""
    print("| joints | s | MB held | MB peak |")
    print("|--:|--:|--:|--:|")
    for count in joints:
        seconds, held, most = measure_large(count)
        print(f"| {count} | {seconds:.2f} | {held:.1f} | {most:.1f} |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--joints", nargs="+", type=int)
    arguments = parser.parse_args()
    if arguments.joints:
        print_large(arguments.joints)
        return
    models = [make_model(name) for name in ("arm7", "chain30", "humanoid")]
    texts = {model.name: model.urdf for model in models}
    texts |= {path.name: path.read_text() for path in arguments.files}
    warnings.simplefilter("ignore")
    columns: list[str] = []
    for name, text in texts.items():
        fastest = measure(text, arguments.runs)
        if not columns:  # All libraries read the models made here.
            columns = list(fastest)
            print("| ms | " + " | ".join(columns) + " |")
            print("|---|" + "--:|" * len(columns))
        values = (fastest.get(column, np.nan) for column in columns)
        cells = (f"{value:.2f}" if value > 0 else "" for value in values)
        print(f"| {name} | " + " | ".join(cells) + " |")
    of_mujoco = {name: text for name, text in texts.items() if name.endswith(".xml")}
    if of_mujoco:
        print_mjcf(of_mujoco, arguments.runs)


if __name__ == "__main__":
    main()
