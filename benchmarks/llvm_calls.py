"""Functions that `mbt.compile` makes with a C compiler and with LLVM, beside `mbt.functional`.

    python benchmarks/llvm_calls.py [--models arm7 humanoid chain30 arms16 ...] [--batch 1024] [--rounds 30]

All compute the same states in turns, on one core: CPU time of the fastest round, for one state and for a
batch with `out`, in microseconds. Then the seconds of CPU time that compiling took, including the recording
in Python before it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from time import thread_time_ns
from typing import Any

import numpy as np

import mbt
from models import BenchmarkModel, make_model, with_free_root

FUNCTIONS = {
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "mass_matrix": 1,
    "body_poses": 1,
    "inverse_dynamics_derivatives": 3,
    "forward_dynamics_derivatives": 3,
}


def main() -> None:
    """Print a line for each function of each model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", type=make_model, metavar="NAME")
    parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=list(FUNCTIONS)[:4])
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    mbt.set_num_threads(1)
    print(f"{'':40}{'one state: mbt, C, LLVM':>28}{f'batch of {options.batch}':>36}{'compiling [s]':>24}")
    for model in options.models or map(make_model, ("arm7", "humanoid")):
        tree = load(model)
        for name in options.functions:
            made, seconds = [partial(getattr(mbt.functional, name), tree)], []
            for compiler in (None, "llvm"):
                before = seconds_spent()
                made.append(getattr(mbt.compile(tree, name, compiler=compiler, cache=False), name))
                seconds.append(seconds_spent() - before)
            rng = np.random.default_rng(0)
            q = tree.random_positions(rng, options.batch)
            states = [q, *rng.normal(size=(2, options.batch, tree.num_velocities))][: FUNCTIONS[name]]
            first = [np.ascontiguousarray(array[0]) for array in states]
            lines = [compare(made, arrays, options.rounds) for arrays in (first, states)]
            times = "   ".join(
                f"{mbt_us:8.2f} {c:8.2f} {llvm:8.2f} {mbt_us / c:5.2f}x {mbt_us / llvm:5.2f}x"
                for mbt_us, c, llvm in lines
            )
            print(f"{model.name:9}{name:29}{times}{seconds[0]:9.2f}{seconds[1]:7.2f}", flush=True)


def load(model: BenchmarkModel) -> mbt.MultibodyTree:
    """Return a finalized tree."""
    tree = mbt.MultibodyTree()
    mbt.parsing.add_model(tree, with_free_root(model) if model.floating else model.urdf)
    tree.finalize()
    return tree


def compare(made: list[Callable[..., Any]], arrays: list[Any], rounds: int) -> list[float]:
    """Return the minimum time of each, in microseconds."""
    best = [float("inf")] * len(made)
    # A result is an array or a tuple of arrays.
    results = [function(*arrays) for function in made]
    for result in results[1:]:
        for array, wanted in zip(as_tuple(result), as_tuple(results[0]), strict=True):
            np.testing.assert_allclose(array, wanted, rtol=0, atol=1e-9 * max(1.0, abs(wanted).max()))
    start = thread_time_ns()
    made[0](*arrays)
    calls = max(1, 5_000_000 // max(1000, thread_time_ns() - start))
    for _ in range(rounds):
        for i, (function, out) in enumerate(zip(made, results, strict=True)):
            start = thread_time_ns()
            for _ in range(calls):
                function(*arrays, out=out)
            best[i] = min(best[i], (thread_time_ns() - start) / calls / 1e3)
    return best


def as_tuple(result: Any) -> tuple[Any, ...]:
    """Return the arrays of a result."""
    return result if isinstance(result, tuple) else (result,)


def seconds_spent() -> float:
    """Return the CPU time of this process and of the compilers that it ran."""
    times = os.times()
    return times.user + times.children_user


if __name__ == "__main__":
    main()
