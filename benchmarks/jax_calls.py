"""Time of a call of mbt from a JAX program, beside a program that adds three vectors.

    python benchmarks/jax_calls.py [FILE.urdf] [--rounds 30]

The programs take turns; the fastest and the median round are printed, in microseconds per call, for one state
on one core: forward dynamics through XLA's foreign function interface and through `jax.pure_callback`, the
gradient of its sum of squares with respect to q, v and tau, and the time to compile that gradient.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import mbt
import mbt.interop.jax as mjax
from mbt import functional
from mbt.models import model_path

CALLS = 200


def main() -> None:
    """Print the table."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("file", nargs="?", type=Path, default=model_path("mbt_arm"))
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    tree = mbt.load_model(options.file)
    state = [jnp.asarray(x) for x in np.random.default_rng(0).normal(size=(3, tree.num_velocities))]

    def call_back(*operands: Any) -> Any:
        def compute(*arrays: Any) -> Any:
            return functional.forward_dynamics(tree, *map(np.asarray, arrays))

        return jax.pure_callback(compute, operands[0], *operands)

    gradient = jax.jit(
        jax.grad(lambda *xs: jnp.sum(mjax.forward_dynamics(tree, *xs) ** 2), argnums=(0, 1, 2))
    )
    start = perf_counter()
    jax.block_until_ready(gradient(*state))
    compiling = perf_counter() - start
    print(f"{options.file.stem}, {tree.num_velocities} dofs; the gradient compiles in {compiling:.2f} s")
    programs: dict[str, Callable[..., Any]] = {
        "sum of three vectors": jax.jit(lambda q, v, tau: q + v + tau),
        "forward dynamics": jax.jit(lambda *xs: mjax.forward_dynamics(tree, *xs)),
        "by pure_callback": jax.jit(call_back),
        "gradient": gradient,
    }
    for program in programs.values():
        jax.block_until_ready(program(*state))
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(options.rounds):
        for name, program in programs.items():
            start = perf_counter()
            for _ in range(CALLS):
                jax.block_until_ready(program(*state))
            times[name].append((perf_counter() - start) / CALLS * 1e6)
    for name, rounds in times.items():
        print(f"{name:24} {min(rounds):8.1f} {statistics.median(rounds):8.1f}")


if __name__ == "__main__":
    main()
