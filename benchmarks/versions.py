"""Two versions of mbt, each installed in its own environment, on the same calls.

    python benchmarks/versions.py OLD/bin/python NEW/bin/python [--rounds 10] [--limit 1.05]

Processes of both take turns, so that slow phases of the machine affect both; the fastest time counts. Their
heaps have been used. With a limit, the exit code is 1 if inverse dynamics of an arm became slower by more
than that factor.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

NUM_STATES = 16
REPEATS = 12
SAMPLES = 25


def trees() -> Iterator[tuple[str, Any]]:
    """Yield revolute arms and a free body with limbs, built with features that every version has."""
    import mbt
    from models import chain, humanoid, seven_joint_arm

    for model in (chain(1), seven_joint_arm(), chain(30), humanoid()):
        base = "floating" if model.floating else "fixed"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield model.name, mbt.load_model(model.urdf, base=base)


def calls(tree: Any) -> Iterator[tuple[str, Callable[[], None], int]]:
    """Yield names, functions to time, and the number of calls (or states) of each."""
    import numpy as np

    from mbt import functional

    rng = np.random.default_rng(0)
    sizes = (tree.num_positions, tree.num_velocities, tree.num_velocities)
    states = [tuple(rng.normal(size=n) for n in sizes) for _ in range(NUM_STATES)]
    out, M = np.empty(sizes[1]), np.empty((sizes[1], sizes[1]))
    context = tree.create_default_context()
    context.q, context.v = states[0][:2]
    inverse, forward = tree.calc_inverse_dynamics, tree.calc_forward_dynamics

    def each(f: Callable[..., Any]) -> Callable[[], None]:
        def run() -> None:
            for q, v, vdot in states:
                f(q, v, vdot)

        return run

    def control_step(q: Any, v: Any, vdot: Any) -> None:
        context.q, context.v = q, v
        inverse(context, vdot, include_force_elements=True, out=out)

    single = {
        "inverse dynamics": lambda q, v, a: functional.inverse_dynamics(tree, q, v, a, out=out),
        "inverse dynamics, Context": lambda q, v, a: inverse(context, a, out=out),
        "inverse dynamics, new state and forces": control_step,
        "forward dynamics": lambda q, v, a: functional.forward_dynamics(tree, q, v, a, out=out),
        "forward dynamics, Context": lambda q, v, a: forward(context, a, out=out),
        "mass matrix": lambda q, v, a: functional.mass_matrix(tree, q, out=M),
    }
    for name, f in single.items():
        yield name, each(f), NUM_STATES
    batch = [np.tile(np.stack(column), (64, 1)) for column in zip(*states, strict=True)]
    many = np.empty_like(batch[2])
    yield (
        "inverse dynamics, of a batch",
        lambda: functional.inverse_dynamics(tree, *batch, out=many),
        len(many),
    )


def measure() -> dict[str, float]:
    """Return the minimum time of each call [ns]."""
    from used_heap import use_heap

    use_heap()
    times = {}
    for model, tree in trees():
        for name, f, count in calls(tree):
            f()
            repeats = max(1, REPEATS * NUM_STATES // count)
            best = float("inf")
            for _ in range(SAMPLES):
                start = time.perf_counter_ns()
                for _ in range(repeats):
                    f()
                best = min(best, (time.perf_counter_ns() - start) / (repeats * count))
            times[f"{model}: {name}"] = best
    return times


def measure_with(python: str) -> dict[str, float]:
    """Return the result of `measure` with another interpreter."""
    command = [python, str(Path(__file__).resolve()), "--measure"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(run.stdout)
    return result


def main() -> int:
    """Measure both in turns, print, compare with the limit."""
    if sys.argv[1:] == ["--measure"]:
        print(json.dumps(measure()))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", help="interpreter of the environment with the old version")
    parser.add_argument("new", help="interpreter of the environment with the new version")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--limit", type=float, default=float("inf"))
    arguments = parser.parse_args()
    rounds = []
    for k in range(arguments.rounds):
        both = [arguments.old, arguments.new]
        # The second process profits from a warm machine, so they alternate.
        results = [measure_with(python) for python in both[:: 1 if k % 2 else -1]]
        rounds.append(results[:: 1 if k % 2 else -1])
    slow = False
    for name in rounds[0][0]:
        old, new = (min(results[i][name] for results in rounds) for i in (0, 1))
        is_limited = "humanoid" not in name and "inverse dynamics" in name
        too_slow = is_limited and new > arguments.limit * old
        slow |= too_slow
        print(f"{name:55} {old:8.0f} ns {new:8.0f} ns  {new / old:5.3f}{'  too slow' if too_slow else ''}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
