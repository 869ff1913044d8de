"""Instructions of the hot calls, counted by callgrind, beside the recorded ones and the time of `pin`.

    python benchmarks/instruction_counts.py [--record] [--limit 0.03]

For each call: the x86-64-v3 instructions that one warm call executes, with those of an empty Python function
subtracted; and how many of them belong to the modules of mbt rather than to Python, NumPy or the C library.
Counts repeat where times do not, but they do not show stalls; therefore the time of the call relative to pin
is printed beside them, if pin is installed.

Counts are recorded for one compiler and one Python version; with any other, nothing is compared and nothing
fails until `--record` adds them. The exit code is 1 if a count exceeds the recorded one by more than the
limit. With another NumPy, or another micro version of Python, only the instructions of mbt are compared: the
others change by some per cent even if only the order of entries in a dictionary changes. Nor do they repeat
if objects lie at other addresses: Python caches methods by the address of their name, and two that collide
cost a call up to 12 % in every process with that layout. Therefore the minimum over several layouts is used.
The last line printed is the summary. Needs valgrind with its headers, and a C compiler.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RECORDS = HERE / "instruction_counts.json"
ISA = "v3"  # the best that valgrind runs
MODELS = ("chain2", "arm7", "chain30", "humanoid")
BATCH = 64
OWN = "/mbt/_core/"  # marks the path of a library as a module of mbt
WARM_UP = 64  # calls, after which the interpreter has specialised their code
REPEATS = 3  # of which the minimum is used
LAYOUTS = (0, 997, 4999)  # objects allocated before all others; the minimum over layouts is used

# The recorded counts: all instructions, and those of mbt.
KINDS = ("counts", "own")
# By call and model.
Counts = dict[str, dict[str, int]]


# In the process under callgrind -------------------------------------------------------------------------


def calls() -> Iterator[tuple[str, str, Callable[[], None]]]:
    """Yield the model, the name and the function of each call."""
    import mbt
    from compare import make_batch, make_states
    from contenders import DERIVATIVES, PLAIN_FUNCTIONS, Functional, InBatches, WithContext
    from models import make_model

    for model in map(make_model, MODELS):
        tree = mbt.load_model(model.urdf, base="floating" if model.floating else "fixed")
        states = make_states(tree, model.floating)
        for contender in (Functional(model, tree), WithContext(model, tree)):
            for function in contender.calls:
                yield model.name, f"{contender.name}: {function}", contender.as_function(function, states[0])
        batches = InBatches(model, tree, BATCH)
        batch = make_batch(states, BATCH)
        for function in PLAIN_FUNCTIONS:
            if function not in DERIVATIVES:
                yield model.name, f"mbt, {BATCH} states: {function}", batches.as_function(function, batch)


def put_in_order(function: Callable[[], None]) -> None:
    """Move the arrays of a call, inputs first, to aligned places in one block.

    Otherwise the check that arrays do not overlap takes more or fewer instructions, depending on their
    addresses: 2 % of a small call.
    """
    import numpy as np

    alignment = 64 // np.dtype(float).itemsize
    variables = function.__globals__
    arrays = [value for value in variables.values() if type(value) is np.ndarray]
    arrays += [array for value in variables.values() if type(value) is tuple for array in value]
    block = np.empty(sum(array.size + alignment for array in arrays) + alignment)
    place = -block.ctypes.data // block.itemsize % alignment

    def move(value: Any) -> Any:
        nonlocal place
        if type(value) is tuple:
            return tuple(map(move, value))
        if type(value) is not np.ndarray:
            return value
        moved = block[place : place + value.size].reshape(value.shape)
        moved[...] = value
        place += -(-value.size // alignment) * alignment
        return moved

    for name in sorted(variables, key=lambda name: (name not in ("q", "v", "x"), name)):
        variables[name] = move(variables[name])


def compiler_of(library: Path) -> str:
    """Return the name and major version of the compiler that a library records."""
    content = library.read_bytes()
    # All libraries contain objects of the C library, made by GCC.
    for name, pattern in (("clang", rb"clang version (\d+)\."), ("gcc", rb"GCC: \([^)]*\) (\d+)\.")):
        if versions := re.findall(pattern, content):
            return f"{name} {max(map(int, versions))}"
    return "unknown compiler"


def count_all(control_library: str, objects_before: int) -> None:
    """Count every call; print the versions, and the label of each call in the order of the dumps."""
    kept = [str(i) for i in range(objects_before)]

    import numpy as np

    from mbt._core.quantities import kernels

    spec = importlib.util.spec_from_file_location("callgrind_control", control_library)
    assert spec is not None
    assert spec.loader is not None
    control: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(control)

    everything: list[tuple[str, str, Callable[[], None]]] = [("", "", lambda: None), *calls()]
    for _, _, function in everything[1:]:
        put_in_order(function)
    for _, _, function in everything:
        for _ in range(WARM_UP):
            function()
    gc.collect()
    gc.disable()
    control.start()
    for i, (_, _, function) in enumerate(everything):
        function()
        for _ in range(REPEATS):
            control.count(function, str(i))
    python = ".".join(platform.python_version_tuple()[:2])
    key = f"{compiler_of(Path(kernels.__file__))}, Python {python}"
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    print(json.dumps({"key": key, "with": versions, "labels": [label[:2] for label in everything]}))
    del kept


# Around that process ------------------------------------------------------------------------------------


def environment() -> dict[str, str]:
    """Return an environment in which counts repeat."""
    fixed = {"MBT_ISA": ISA, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return {**os.environ, **fixed}


def compile_control(directory: Path) -> Path:
    """Compile the library that talks to callgrind."""
    compiler = shlex.split(os.environ.get("CC") or "cc")
    source, library = HERE / "callgrind_control.c", directory / "callgrind_control.so"
    flags = ["-O1", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}"]
    subprocess.run([*compiler, *flags, str(source), "-o", str(library)], check=True)
    return library


def count_by_library(dump: str) -> dict[str, int]:
    """Return the instructions in each library, without those of calls into other libraries."""
    counts: dict[str, int] = {}
    names: dict[str, str] = {}  # a name is written once; after that, its number stands for it
    library, is_call = "", False
    for line in dump.splitlines():
        if named := re.match(r"(c?ob)=(\(\d+\))(?: (.+))?$", line):
            kind, number, name = named.groups()
            names.setdefault(number, name or "")
            if kind == "ob":
                library = names[number]
        elif line.startswith("calls="):
            is_call = True
        elif cost := re.match(r"[+*\d-]\S* (\d+)$", line):
            if not is_call:
                counts[library] = counts.get(library, 0) + int(cost[1])
            is_call = False
    return counts


def run_and_count(library: Path, objects_before: int) -> tuple[dict[str, Any], dict[int, tuple[int, int]]]:
    """Return the output of a process under callgrind, and the counts of its calls: all, and those of mbt."""
    with tempfile.TemporaryDirectory() as name:
        valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no"]
        child = [sys.executable, __file__, "--count-with", str(library), str(objects_before)]
        command = [*valgrind, f"--callgrind-out-file={Path(name, 'dump')}", *child]
        run = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, text=True, check=True)
        least: dict[int, tuple[int, int]] = {}
        for path in Path(name).glob("dump.*"):
            if label := re.search(r"^desc: Trigger: Client Request: (\d+)$", text := path.read_text(), re.M):
                by_library = count_by_library(text)
                own = sum(count for library, count in by_library.items() if OWN in library)
                i, instructions = int(label[1]), (sum(by_library.values()), own)
                least[i] = min(instructions, least.get(i, instructions))
    return json.loads(run.stdout), least


def measure_counts() -> tuple[str, dict[str, Any]]:
    """Return compiler and Python version, and a record: the counts, and the versions they were made with."""
    with tempfile.TemporaryDirectory() as name:
        library = compile_control(Path(name))
        made, least = run_and_count(library, LAYOUTS[0])
        for objects_before in LAYOUTS[1:]:
            for i, instructions in run_and_count(library, objects_before)[1].items():
                least[i] = min(instructions, least[i])
    counts: Counts = {}
    own_counts: Counts = {}
    for i, (model, call) in enumerate(made["labels"][1:], start=1):
        counts.setdefault(call, {})[model] = least[i][0] - least[0][0]
        own_counts.setdefault(call, {})[model] = least[i][1]
    return made["key"], {"with": made["with"], "counts": counts, "own": own_counts}


def measure_times() -> dict[tuple[str, str], float]:
    """Return the times of calls relative to pin, by call and model; empty if pin is not installed."""
    if importlib.util.find_spec("pinocchio") is None:
        return {}
    with tempfile.TemporaryDirectory() as name:
        output = Path(name, "times.json")
        options = ["--models", *MODELS, "--contenders", "mbt", "mbt Context", "pin", "--sizes", "1"]
        options += ["--rounds", "10", "--json", str(output)]
        command = [sys.executable, str(HERE / "compare.py"), *options]
        subprocess.run(command, env=environment(), check=True, capture_output=True)
        results: list[dict[str, Any]] = json.loads(output.read_text())
    times = {(row["contender"], row["function"], row["model"]): row["minimum"] for row in results}
    return {
        (f"{contender}: {function}", model): time / times["pin", function, model]
        for (contender, function, model), time in times.items()
        if ("pin", function, model) in times
    }


# Report -------------------------------------------------------------------------------------------------


def print_table(
    record: dict[str, Any], recorded: dict[str, Any] | None, ratios: dict[tuple[str, str], float]
) -> None:
    """Print one row per call and model."""
    width = max(map(len, record["counts"]))
    column = f"{'recorded':>10}{'now':>10}{'change':>9}"
    head = f"{'call':<{width}}  {'model':<9}{column}{column}{'time / pin':>12}"
    print(f"instructions per call, x86-64-{ISA}: all, and those of mbt\n\n{head}\n{'-' * len(head)}")
    for call, by_model in record["counts"].items():
        for model in by_model:
            line = f"{call:<{width}}  {model:<9}"
            for kind in KINDS:
                count = record[kind][call][model]
                before = (recorded or {}).get(kind, {}).get(call, {}).get(model)
                line += f"{before or '-':>10}{count:>10}{f'{count / before - 1:+.2%}' if before else '':>9}"
            ratio = ratios.get((call, model))
            print(line + (f"{ratio:>12.2f}" if ratio else ""))


def changes(counts: Counts, recorded: Counts) -> Iterator[tuple[float, str, str, int, int]]:
    """Yield the change, call, model, count before and count after for calls that both have."""
    for call, by_model in counts.items():
        for model, after in by_model.items():
            if before := recorded.get(call, {}).get(model):
                yield after / before - 1, call, model, before, after


def report(key: str, record: dict[str, Any], recorded: dict[str, Any] | None, limit: float) -> int:
    """Print the changes beyond the limit, and the summary; return the exit status."""
    if recorded is None:
        print(f"NOT COMPARED: instruction counts, of which none are recorded for {key}; --record adds them")
        return 0
    kinds = KINDS
    if record["with"] != recorded["with"]:
        print(f"recorded with {recorded['with']}, now {record['with']}: instructions of mbt are compared")
        kinds = ("own",)
    everything = [change for kind in kinds for change in changes(record[kind], recorded.get(kind, {}))]
    more = [change for change in everything if change[0] > limit]
    less = [change for change in everything if change[0] < -limit]
    total = sum(len(by_model) for kind in kinds for by_model in record[kind].values())
    for title, some in (("MORE INSTRUCTIONS", more), ("fewer instructions: record them", less)):
        if some:
            print(f"{title} (the limit is {limit:.0%}):")
            for change, call, model, before, after in sorted(some, key=lambda x: -abs(x[0])):
                print(f"  {call} of {model}: before {before}, after {after}, {change:+.1%}")
    news = f", {len(less)} below it: record them" if less else ""
    news += f", {total - len(everything)} not recorded" if total > len(everything) else ""
    within = len(everything) - len(more) - len(less)
    worst = "".join(f" ({call} of {model}: {change:+.1%})" for change, call, model, *_ in sorted(more)[-1:])
    print(
        f"instruction counts of {key}: {len(more)} more than {limit:.0%} above the recorded ones{worst}, "
        f"{within} within{news}"
    )
    return 1 if more else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", action="store_true", help="store these counts for later comparisons")
    parser.add_argument("--limit", type=float, default=0.03, help="relative increase that is an error")
    parser.add_argument("--count-with", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count_with:
        library, objects_before = options.count_with
        count_all(library, int(objects_before))
        return 0
    key, record = measure_counts()
    records: dict[str, dict[str, Any]] = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    recorded = records.get(key)
    print_table(record, recorded, measure_times())
    print()
    if options.record:
        records[key] = record
        RECORDS.write_text(json.dumps(dict(sorted(records.items())), indent=1) + "\n")
        print(f"recorded for {key}")
        return 0
    return report(key, record, recorded, options.limit)


if __name__ == "__main__":
    sys.exit(main())
