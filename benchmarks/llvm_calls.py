"""Functions that LLVM compiles beside those of a C compiler: times of calls, and of compiling.

    python benchmarks/llvm_calls.py [--batch 1024] [--rounds 30]

Both compute the same states in turns, on one core: processor time of the fastest round, of one state and of a
batch into `out`, in microseconds. Then the seconds of processor time that compiling took, with what is
recorded in Python before.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from time import thread_time_ns
from typing import Any

import numpy as np

import mbt
from models import BenchmarkModel, humanoid, seven_joint_arm

FUNCTIONS = {
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "mass_matrix": 1,
    "body_poses": 1,
}


def main() -> None:
    """Print a line for each function of an arm and of a humanoid."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    mbt.set_num_threads(1)
    print(f"{'':28}{'one state: C, LLVM':>22}{f'batch of {options.batch}':>22}{'compiling [s]':>18}")
    for model in (seven_joint_arm(), humanoid()):
        tree = load(model)
        for name, count in FUNCTIONS.items():
            made, seconds = {}, {}
            for compiler in (None, "llvm"):
                before = seconds_spent()
                made[compiler] = getattr(mbt.compile(tree, name, compiler=compiler, cache=False), name)
                seconds[compiler] = seconds_spent() - before
            rng = np.random.default_rng(0)
            q = tree.random_positions(rng, options.batch)
            states = [q, *rng.normal(size=(2, options.batch, tree.num_velocities))][:count]
            first = [np.ascontiguousarray(array[0]) for array in states]
            one = compare(made, first, options.rounds, 500)
            batch = compare(made, states, options.rounds, 5)
            print(
                f"{tree.num_velocities:3} velocities {name:18}"
                f"{one[0]:8.2f} {one[1]:6.2f} {one[1] / one[0]:5.2f}x"
                f"{batch[0]:9.1f} {batch[1]:6.1f} {batch[1] / batch[0]:5.2f}x"
                f"{seconds[None]:9.2f} {seconds['llvm']:5.2f}",
                flush=True,
            )


def load(model: BenchmarkModel) -> mbt.MultibodyTree:
    """Return a finalized tree."""
    tree = mbt.MultibodyTree()
    mbt.parsing.add_model(tree, model.urdf)
    tree.finalize()
    return tree


def compare(made: dict[Any, Callable[..., Any]], arrays: list[Any], rounds: int, calls: int) -> list[float]:
    """Return the least times of both, in microseconds."""
    best = [float("inf")] * len(made)
    results = [np.empty_like(function(*arrays)) for function in made.values()]
    for _ in range(rounds):
        for i, (function, out) in enumerate(zip(made.values(), results, strict=True)):
            start = thread_time_ns()
            for _ in range(calls):
                function(*arrays, out=out)
            best[i] = min(best[i], (thread_time_ns() - start) / calls / 1e3)
    np.testing.assert_allclose(results[1], results[0], rtol=1e-9, atol=1e-9)
    return best


def seconds_spent() -> float:
    """Return the processor time of this process and of the compilers that it ran."""
    times = os.times()
    return times.user + times.children_user


if __name__ == "__main__":
    main()
