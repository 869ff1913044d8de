"""How close batches come to the limits of the machine: times beside those of filling their results.

    python benchmarks/roofline.py [FILE.urdf ...] [--floating FILE.urdf ...] [--models NAME ...]
                                  [--rounds 16] [--json OUT]

Nanoseconds of CPU time per state, in batches of 4096, on one thread: the function, and a plain fill of the
arrays that it writes; both in turns, the minimum of the rounds. `MBT_ISA` picks the instruction set.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mbt
from compare import Clock, make_batch, make_states, run_interleaved
from contenders import GRAVITY, PLAIN_FUNCTIONS, InBatches
from record import add_models, chosen_models, names_of
from used_heap import use_heap

STATES = 4096
MOST_NUMBERS = 2**26  # entries of a result: 512 MiB


def arrays_of(contender: InBatches, function: str) -> list[Any]:
    """Return the arrays that a function writes."""
    result = contender.namespace[contender.calls[function][0].result]
    return list(result) if isinstance(result, tuple) else [result]


def fill(arrays: list[Any]) -> Callable[[], None]:
    """Return a function that fills arrays."""

    def run() -> None:
        for array in arrays:
            array.fill(0.0)

    return run


def bytes_of(function: str, contender: InBatches, arrays: list[Any]) -> int:
    """Return the bytes that must move for a state: its arguments and results."""
    statement = contender.calls[function][0].statement
    arguments = {"q": contender.tree.num_positions, "v": contender.nv, "x": contender.nv}
    read = sum(size for name, size in arguments.items() if f" {name}," in statement)
    return 8 * read + sum(array.nbytes for array in arrays) // STATES


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_models(parser)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--json", type=Path, metavar="OUT")
    options = parser.parse_args()
    mbt.set_num_threads(1)
    use_heap()
    found: dict[str, Any] = {}
    for model in chosen_models(names_of(options)):
        base = "floating" if model.floating else "fixed"
        tree = mbt.load_model(model.urdf, base=base, gravity=(0, 0, -GRAVITY))
        if 3 * STATES * tree.num_velocities**2 > MOST_NUMBERS:
            continue
        batches = InBatches(model, tree, STATES)
        batch = make_batch(make_states(tree, model.floating), STATES)
        for function in PLAIN_FUNCTIONS:
            arrays = arrays_of(batches, function)
            namespace = {"call": batches.as_function(function, batch), "fill": fill(arrays)}
            clocks = [Clock(f"{name}()", "_", namespace, [None], STATES) for name in namespace]
            run_interleaved(clocks, options.rounds)
            row = {
                "time": 1e3 * min(clocks[0].samples),
                "fill": 1e3 * min(clocks[1].samples),
                "bytes": bytes_of(function, batches, arrays),
            }
            found.setdefault(model.name, {})[function] = {k: float(f"{x:.4g}") for k, x in row.items()}
            print(f"{model.name:14}{function:30}" + "".join(f"{k:>7} {x:8.1f}" for k, x in row.items()))
    if options.json:
        options.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
