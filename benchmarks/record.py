"""Measure the figures of `docs/benchmarks.md`, store them in `benchmarks/results`, and redraw the page.

    python benchmarks/record.py [FILE.urdf ...] [--floating FILE.urdf ...] [--models NAME ...]
                                [--only PART ...] [--rounds N] [--into FOLDER]

One command for everything on the page that is measured on one machine, one part at a time, each in a process
of its own:

- `calls`: mbt, its compiled functions and other libraries, single calls and batches (`compare.py`);
- `roofline`: times of batches beside fills of their results, and peak rates of a core (`roofline.py`);
- `operations`: arithmetic, loads and stores per state (`operations.py`; needs valgrind);
- `threads`: batches on one thread and more (`scaling.py`);
- `dask`: sweeps on worker processes (`dask_scaling.py`);
- `latency`: percentiles of single calls in a control loop (`latency.py`);
- `rollouts`: beside `mujoco.rollout` (`rollouts.py`).

`history.py` is separate: it counts instructions, which do not depend on the machine. The page shows how busy
the machine was: leave it idle if you can. Needs `pip install ".[bench,engines]"`, and an mbt with the
instruction sets v3 and v4 (built with `MBT_ISA=all`). `--into` stores the results of another machine in a
folder of their own, beside those of the first.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import machine
from models import BenchmarkModel, make_model, read_lumped

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
MODELS = ("arm7", "chain30", "chain100", "humanoid")
SIZES = (1, 16, 256, 4096)
#: With more degrees of freedom, native code and gradients are left out: they take too long to make.
MOST_DOFS = 40
FLOATING = "floating:"
#: Models of the table of bounds; only a few, because counting is slow.
BOUNDED = ("arm7", "chain30", "humanoid", "h1")


# Models -------------------------------------------------------------------------------------------------


def add_models(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that choose models."""
    parser.add_argument("files", nargs="*", metavar="FILE.urdf", help="models with a fixed base")
    parser.add_argument("--floating", nargs="+", default=[], metavar="FILE.urdf")
    parser.add_argument("--models", nargs="+", default=list(MODELS), metavar="NAME", help="models made here")


def names_of(options: argparse.Namespace) -> list[str]:
    """Return the models of a command line, one word each."""
    return [*options.models, *options.files, *(FLOATING + name for name in options.floating)]


def chosen_models(names: Sequence[str]) -> list[BenchmarkModel]:
    """Return the models for the words of `names_of`."""
    models = []
    for name in names:
        path = Path(name.removeprefix(FLOATING))
        is_file = path.suffix == ".urdf"
        models.append(read_lumped(path, name.startswith(FLOATING)) if is_file else make_model(name))
    return models


# Parts --------------------------------------------------------------------------------------------------


def calls(names: Sequence[str], rounds: int) -> dict[str, Any]:
    """Return minimum and median times [us] per state, by model, function, states per call, and library."""
    import mbt
    from compare import run
    from contenders import FUNCTIONS, PLAIN_FUNCTIONS, Compiled, Functional, WithContext
    from peers import Drake, Dynibo, MuJoCo, Pinocchio
    from used_heap import use_heap

    mbt.set_num_threads(1)
    use_heap()
    notes: list[str] = []
    times: dict[str, Any] = {}
    for model in chosen_models(names):
        print(f"{model.name} ...", file=sys.stderr)
        nv = mbt.load_model(model.urdf, base="floating" if model.floating else "fixed").num_velocities
        small = nv <= MOST_DOFS
        every = [Functional, WithContext, *([Compiled] if small else []), Pinocchio, Dynibo, MuJoCo]
        results = list(run(model, PLAIN_FUNCTIONS, every, SIZES, rounds, notes))
        # Slow, and only for single states, so measured separately.
        functions = FUNCTIONS if small else PLAIN_FUNCTIONS
        results += run(model, functions, [Functional, WithContext, Drake], [1], max(3, rounds // 6), notes)
        table: dict[str, Any] = {}
        for result in results:
            # Batches of large models are smaller than requested.
            size = result.size if result.size in SIZES else SIZES[-1]
            row = table.setdefault(result.function, {}).setdefault(str(size), {})
            if size != result.size:
                notes.append(f"{model.name}: {result.size} states in place of {size}")
            if result.agrees and result.contender not in row:
                row[result.contender] = [float(f"{x:.4g}") for x in (result.minimum, result.median)]
        times[model.name] = {"nv": nv, "floating": model.floating, "times": table}
    return {"rounds": rounds, "notes": list(dict.fromkeys(notes)), "models": times}


def run_script(name: str, *arguments: str, env: dict[str, str] | None = None) -> Any:
    """Run another benchmark, and return the JSON that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "out.json")
        command = [sys.executable, str(HERE / name), *arguments, "--json", str(path)]
        subprocess.run(command, check=True, stdout=sys.stderr, env={**os.environ, **(env or {})})
        return json.loads(path.read_text())


def model_arguments(names: Sequence[str]) -> list[str]:
    """Return the models as arguments of another script."""
    files = [name for name in names if name.endswith(".urdf")]
    floating = [name.removeprefix(FLOATING) for name in files if name.startswith(FLOATING)]
    fixed = [name for name in files if not name.startswith(FLOATING)]
    made = [name for name in names if name not in files]
    return [*fixed, *(["--floating", *floating] if floating else []), *(["--models", *made] if made else [])]


def measure(part: str, names: Sequence[str], rounds: int) -> dict[str, Any]:
    """Return the results of a part."""
    if part == "calls":
        return calls(names, rounds)
    if part == "operations":
        import operations

        counted = [name for name in names if Path(name).stem.removeprefix(FLOATING) in BOUNDED]
        return {"states": operations.STATES, "models": operations.count(counted)}
    arguments = model_arguments(names)
    if part == "roofline":
        isas = machine.usable()
        models = {isa: run_script("roofline.py", *arguments, env={"MBT_ISA": isa}) for isa in isas}
        return {"roofs": machine.roofs(), "models": models}
    if part == "threads":
        return run_script("scaling.py")
    if part == "dask":
        return run_script("dask_scaling.py", "--blocks", "8", "--rounds", "8")
    if part == "latency":
        return run_script("latency.py", "--seconds", "12")
    assert part == "rollouts"
    arguments = model_arguments([name for name in names if name != "chain100"])
    return run_script("rollouts.py", "--rounds", "3", "--states", "512", *arguments)


PARTS = ("calls", "roofline", "operations", "threads", "dask", "latency", "rollouts")


def main() -> None:
    """Measure the parts, one after the other, and draw the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_models(parser)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument("--rounds", type=int, default=16, help="rounds of the part `calls`")
    parser.add_argument("--into", default="", metavar="FOLDER", help="folder within benchmarks/results")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = names_of(options)
    if options.part:
        before = os.getloadavg()[0]
        start = time.perf_counter()
        found = {"machine": machine.description(), **measure(options.part, names, options.rounds)}
        found["machine"]["load"] = [round(x, 1) for x in (before, os.getloadavg()[0])]
        found["machine"]["seconds"] = round(time.perf_counter() - start)
        folder = RESULTS / options.into
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{options.part}.json").write_text(as_text(found))
        return
    for part in options.only:
        print(f"{part} ...", file=sys.stderr)
        command = [sys.executable, __file__, "--part", part, "--into", options.into]
        command += ["--rounds", str(options.rounds)]
        subprocess.run([*command, *model_arguments(names)], check=True)
    import page

    page.main()


def as_text(found: Any) -> str:
    """Return JSON with the innermost lists and dictionaries on one line."""
    text = json.dumps(found, indent=1)
    for inner in (r"\[\s+([^\[\]{}]*?)\s+\]", r"\{\s+([^{}]*?)\s+\}"):
        text = re.sub(inner, lambda found: found[0][0] + " ".join(found[1].split()) + found[0][-1], text)
    return text + "\n"


if __name__ == "__main__":
    main()
