"""A sweep on dask over 1, 2, ... worker processes, beside the same batches in one process.

    python benchmarks/dask_scaling.py [--model humanoid] [--workers 1 2] [--blocks 16] [--block 65536]

Forward dynamics of all states, of which the largest acceleration comes back. States are made in the workers,
one thread each, before the clock starts. Printed, of the least of interleaved rounds: states a second in
wall-clock time; the ratio to the first number of workers; and the CPU time that the workers take for a state,
which other programs on the machine disturb less. "The tree in each task" sends the model with
every block, in place of once to each worker.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

import mbt
from mbt import functional
from models import Array, make_model


def largest_acceleration(x: Array, *, model: mbt.MultibodyTree) -> Array:
    """Return the largest entry of a block of states (q, v, tau), shape (1, 1)."""
    q, v, tau = np.split(x, [model.num_positions, model.num_positions + model.num_velocities], axis=1)
    vdot = functional.forward_dynamics(model, *map(np.ascontiguousarray, (q, v, tau)))
    return np.abs(vdot).max(keepdims=True)


def cpu_time(client: Any | None) -> float:
    """Return what the workers, or without any this process, have used so far [s]."""
    return time.process_time() if client is None else sum(client.run(time.process_time).values())


def states(tree: mbt.MultibodyTree, blocks: int, block: int) -> Any:
    """Return an array of dask with the numbers of each state in a row."""
    count = tree.num_positions + 2 * tree.num_velocities
    return da.random.default_rng(0).uniform(-1, 1, (blocks * block, count), chunks=(block, count))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="humanoid", help="arm7, humanoid, chain and its number of joints")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--block", type=int, default=65536, help="states")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="OUT")
    options = parser.parse_args()

    model = make_model(options.model)
    tree = mbt.load_model(model.urdf, base="floating" if model.floating else "fixed")
    mbt.set_num_threads(1)
    x = states(tree, options.blocks, options.block)
    here = x.blocks[0].compute()

    def in_one_process() -> None:
        for _ in range(options.blocks):
            largest_acceleration(here, model=tree)

    def sweep(client: Any, x: Any, sent: Any) -> None:
        largest = x.map_blocks(largest_acceleration, model=sent, chunks=(1, 1), dtype=float)
        client.compute(largest.max()).result()

    with ExitStack() as stack:
        runs: dict[str, tuple[Any, Callable[[], None]]] = {
            "one process, without dask": (None, in_one_process)
        }
        for workers in options.workers:
            cluster = stack.enter_context(
                LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
            )
            client = stack.enter_context(Client(cluster, set_as_default=False))
            kept = client.persist(x)
            with client.as_current():
                wait(kept)
            label = f"{workers} worker{'s' if workers > 1 else ''}"
            runs[label] = client, partial(sweep, client, kept, dask.delayed(tree))
            runs[f"{label}, the tree in each task"] = client, partial(sweep, client, kept, tree)
        wall = dict.fromkeys(runs, float("inf"))
        cpu = dict.fromkeys(runs, float("inf"))
        for _ in range(options.rounds):
            for name, (client, run) in runs.items():
                used, start = cpu_time(client), time.perf_counter()
                run()
                wall[name] = min(wall[name], time.perf_counter() - start)
                cpu[name] = min(cpu[name], cpu_time(client) - used)
    count = options.blocks * options.block
    first = list(wall.values())[1]
    for name, seconds in wall.items():
        print(
            f"{name:36} {count / seconds / 1e6:6.2f} million states/s  {first / seconds:5.2f}"
            f"  {cpu[name] / count * 1e6:6.3f} us of processors"
        )
    if options.json:
        runs_of = {name: {"rate": count / wall[name] / 1e6, "cpu": cpu[name] / count * 1e6} for name in wall}
        settings = {name: getattr(options, name) for name in ("model", "blocks", "block", "rounds")}
        options.json.write_text(json.dumps({**settings, "runs": runs_of}, indent=1))


if __name__ == "__main__":
    main()
