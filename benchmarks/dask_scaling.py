"""Sweeps on dask over 1, 2, ... worker processes, beside the same batches in one process.

    python benchmarks/dask_scaling.py [--workers 1 2] [--blocks 16] [--rounds 5]

Three sweeps: forward dynamics of a humanoid, implicit steps of a quadruped that stands on its servos, and
inverse kinematics of an arm. The rows of a block are in the memory of the workers, one thread each, before
the clock starts; each block returns one number. Printed, for the best of interleaved rounds: states, steps or
goals per second of wall-clock time; the ratio to one process; and the workers' CPU time for each, which other
programs on the machine disturb less. "The tree in each task" sends the model with every block instead of once
to each worker. Needs MuJoCo, from whose model the quadruped comes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
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
from steps import quadruped, tree_of

DT, STEPS = 2e-3, 50


# Sweeps -------------------------------------------------------------------------------------------------


def largest_acceleration(x: Array, *, model: mbt.MultibodyTree) -> Array:
    """Return the largest acceleration over a block of states (q, v, tau), shape (1, 1)."""
    q, v, tau = np.split(x, [model.num_positions, model.num_positions + model.num_velocities], axis=1)
    vdot = functional.forward_dynamics(model, *map(np.ascontiguousarray, (q, v, tau)))
    return np.abs(vdot).max(keepdims=True)


def largest_velocity(x: Array, *, model: mbt.MultibodyTree) -> Array:
    """Return the largest velocity after motions that start with velocities 0.05 x, shape (1, 1)."""
    still = np.zeros((STEPS, model.num_velocities))
    _, v = functional.rollout(
        model, model.default_positions, 0.05 * x, still, DT, every=STEPS, method="implicit"
    )
    return np.abs(v[:, -1]).max(keepdims=True)


def share_of_goals(x: Array, *, model: mbt.MultibodyTree) -> Array:
    """Return the share of the tool's poses at positions 2 x that is found, shape (1, 1)."""
    goals = functional.frame_pose(model, 2.0 * x, "tool")  # within the limits of the joints
    return functional.inverse_kinematics(model, "tool", goals).success.mean(keepdims=True)[:, None]


@dataclass(frozen=True)
class Sweep:
    """The computation of a worker on a block."""

    tree: mbt.MultibodyTree
    call: Callable[..., Array]
    columns: int  # random numbers between -1 and 1 in a row
    block: int  # rows
    of_a_row: int  # states, steps or goals in a row


def sweeps() -> dict[str, Sweep]:
    """Return the sweeps, by name. A block takes some 0.1 s."""
    model = make_model("humanoid")
    humanoid = mbt.load_model(model.urdf, base="floating")
    standing = tree_of(quadruped(), DT)
    arm = mbt.load_model(mbt.models.model_path("mbt_arm"))
    columns = humanoid.num_positions + 2 * humanoid.num_velocities
    return {
        "forward dynamics of the humanoid, states": Sweep(
            humanoid, largest_acceleration, columns, block=65536, of_a_row=1
        ),
        "implicit steps of a quadruped, steps": Sweep(
            standing, largest_velocity, standing.num_velocities, block=512, of_a_row=STEPS
        ),
        "inverse kinematics of an arm, goals": Sweep(
            arm, share_of_goals, arm.num_positions, block=32768, of_a_row=1
        ),
    }


# Measuring ----------------------------------------------------------------------------------------------


def cpu_time(client: Any | None) -> float:
    """Return the CPU time used so far by the workers, or by this process if there are none [s]."""
    return time.process_time() if client is None else sum(client.run(time.process_time).values())


def rows_of(sweep: Sweep, blocks: int) -> Any:
    """Return a dask array with the random numbers of a sweep."""
    shape, chunks = (blocks * sweep.block, sweep.columns), (sweep.block, sweep.columns)
    return da.random.default_rng(0).uniform(-1, 1, shape, chunks=chunks)


def in_one_process(sweep: Sweep, x: Array, blocks: int) -> None:
    """Compute the first block, once for each block."""
    for _ in range(blocks):
        sweep.call(x, model=sweep.tree)


def on_workers(sweep: Sweep, client: Any, x: Any, sent: Any) -> None:
    """Compute all blocks."""
    found = x.map_blocks(sweep.call, model=sent, chunks=(1, 1), dtype=float)
    client.compute(found.max()).result()


def measure(sweep: Sweep, clients: dict[str, Any], blocks: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return the rate [1/s] and the CPU time [us] per state, step or goal, for each way to compute."""
    x = rows_of(sweep, blocks)
    runs: dict[str, tuple[Any, Callable[[], None]]] = {
        "one process, without dask": (None, partial(in_one_process, sweep, x.blocks[0].compute(), blocks))
    }
    for name, client in clients.items():
        kept = client.persist(x)
        with client.as_current():
            wait(kept)
        runs[name] = client, partial(on_workers, sweep, client, kept, dask.delayed(sweep.tree))
        runs[f"{name}, the tree in each task"] = client, partial(on_workers, sweep, client, kept, sweep.tree)
    wall, cpu = dict.fromkeys(runs, float("inf")), dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, (client, run) in runs.items():
            used, start = cpu_time(client), time.perf_counter()
            run()
            wall[name] = min(wall[name], time.perf_counter() - start)
            cpu[name] = min(cpu[name], cpu_time(client) - used)
    count = blocks * sweep.block * sweep.of_a_row
    return {name: {"rate": count / wall[name], "cpu": cpu[name] / count * 1e6} for name in runs}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="OUT")
    options = parser.parse_args()
    mbt.set_num_threads(1)
    found: dict[str, Any] = {}
    with ExitStack() as stack:
        clients = {}
        for workers in options.workers:
            cluster = stack.enter_context(
                LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
            )
            client = stack.enter_context(Client(cluster, set_as_default=False))
            clients[f"{workers} worker{'s' if workers > 1 else ''}"] = client
        for name, sweep in sweeps().items():
            print(name)
            runs = measure(sweep, clients, options.blocks, options.rounds)
            one = next(iter(runs.values()))["rate"]
            for run, row in runs.items():
                print(
                    f"  {run:34} {row['rate'] / 1e3:8.1f} thousand/s  {row['rate'] / one:5.2f}"
                    f"  {row['cpu']:8.3f} us of CPU time"
                )
            found[name] = {"block": sweep.block, "runs": runs}
    if options.json:
        settings = {"blocks": options.blocks, "rounds": options.rounds}
        options.json.write_text(json.dumps({**settings, "sweeps": found}, indent=1))


if __name__ == "__main__":
    main()
