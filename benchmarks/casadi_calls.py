"""Time of CasADi functions that call mbt, beside functions made of expressions.

    python benchmarks/casadi_calls.py [FILE.urdf] [--samples 100] [--rounds 15]

Forward dynamics and its Jacobian for many samples, in microseconds per sample on one core: expressions in
CasADi's virtual machine and a callback, each applied to every sample by `map`, and one call for all samples.
The programs take turns; the fastest and the median round are printed.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import casadi
import numpy as np

import mbt
import mbt.interop.casadi as mcasadi
from mbt.models import model_path


def main() -> None:
    """Print the table."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("file", nargs="?", type=Path, default=model_path("mbt_arm"))
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    mbt.set_num_threads(1)
    tree, n = mbt.load_model(options.file), options.samples
    print(f"{options.file.stem}, {tree.num_velocities} dofs, {n} samples")
    operands = [casadi.DM(x) for x in np.random.default_rng(0).normal(size=(3, tree.num_velocities, n))]
    result = casadi.DM(tree.num_velocities, n)
    expressions = mbt.symbolic.make_expressions(tree, "forward_dynamics", "casadi")
    of_expressions = mbt.symbolic.make_casadi_function("f", *expressions)
    callback = mcasadi.make_callback(tree, "forward_dynamics")
    batch = mcasadi.make_callback(tree, "forward_dynamics", num_samples=n)
    values = {"expressions": of_expressions.map(n), "callback": callback.map(n), "one call": batch}
    jacobians = {
        "expressions, Jacobian": of_expressions.jacobian().map(n),
        "callback, Jacobian": callback.jacobian().map(n),
        "one call, Jacobian": batch.jacobian(),
    }
    programs: dict[str, Callable[[], Any]] = {
        **{name: lambda f=f: f(*operands) for name, f in values.items()},
        **{name: lambda f=f: f(*operands, result) for name, f in jacobians.items()},
    }
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(options.rounds):
        for name, program in programs.items():
            program()
            start = perf_counter()
            for _ in range(5):
                program()
            times[name].append((perf_counter() - start) / 5 / n * 1e6)
    for name, rounds in times.items():
        print(f"{name:24} {min(rounds):8.2f} {statistics.median(rounds):8.2f}")


if __name__ == "__main__":
    main()
