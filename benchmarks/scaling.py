"""How batches scale with threads.

    python benchmarks/scaling.py [--models arm7 humanoid] [--threads 1 2] [--milliseconds 1]
                                 [--rounds 400] [--json OUT]

Nanoseconds of wall-clock time per state, for batches that take one thread about a millisecond: the minimum of
rounds in which all take turns, and their median. Other programs on the machine disturb two threads more than
one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mbt
from compare import make_batch, make_states
from contenders import (
    BODY_POSES,
    FORWARD_DYNAMICS,
    FORWARD_DYNAMICS_DERIVATIVES,
    INVERSE_DYNAMICS,
    MASS_MATRIX,
    InBatches,
)
from models import BenchmarkModel, make_model
from used_heap import use_heap

FUNCTIONS = (INVERSE_DYNAMICS, FORWARD_DYNAMICS, MASS_MATRIX, BODY_POSES, FORWARD_DYNAMICS_DERIVATIVES)


def batch_of(
    model: BenchmarkModel, tree: Any, function: str, seconds: float
) -> tuple[int, Callable[[], None]]:
    """Return the number of states that take one thread about `seconds`, and a call on that many."""
    states, calls = make_states(tree, model.floating), 4
    count = 256
    while True:
        call = InBatches(model, tree, count).as_function(function, make_batch(states, count))
        call()
        start = time.thread_time()
        for _ in range(calls):
            call()
        spent = (time.thread_time() - start) / calls
        if spent > 0.7 * seconds or count > 2**16:
            return count, call
        count *= 2


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", nargs="+", default=["arm7", "humanoid"], metavar="NAME")
    threads = sorted({1, 2, os.cpu_count() or 1})
    parser.add_argument("--threads", nargs="+", type=int, default=threads, metavar="N")
    parser.add_argument("--milliseconds", type=float, default=1.0, help="time of a batch on one thread")
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--json", type=Path, metavar="OUT")
    options = parser.parse_args()
    use_heap()
    found: dict[str, Any] = {}
    for model in map(make_model, options.models):
        tree = mbt.load_model(model.urdf, base="floating" if model.floating else "fixed")
        mbt.set_num_threads(1)
        batches = {
            function: batch_of(model, tree, function, 1e-3 * options.milliseconds) for function in FUNCTIONS
        }
        times: dict[tuple[str, int], list[float]] = {
            (function, number): [] for function in FUNCTIONS for number in options.threads
        }
        for _ in range(options.rounds):
            for (function, number), some in times.items():
                count, call = batches[function]
                mbt.set_num_threads(number)
                start = time.perf_counter()
                call()
                some.append((time.perf_counter() - start) / count * 1e9)
        for (function, number), some in times.items():
            row = found.setdefault(model.name, {}).setdefault(
                function, {"states": batches[function][0], "times": {}}
            )
            pair = row["times"][str(number)] = [
                float(f"{x:.4g}") for x in (min(some), statistics.median(some))
            ]
            print(f"{model.name:12}{function:32}{number:3} threads {pair[0]:9.1f} {pair[1]:9.1f} ns")
    if options.json:
        options.json.write_text(json.dumps({"milliseconds": options.milliseconds, "models": found}))


if __name__ == "__main__":
    main()
