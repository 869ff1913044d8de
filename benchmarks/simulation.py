"""Time of one step of `mbt.simulate`: steps in compiled calls, and with a control function in Python.

    python benchmarks/simulation.py

The arm that comes with mbt. Cases take turns; a time is the minimum over many short simulations, minus that
of simulations with few steps, which is the cost of a simulation before its first step.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import mbt
from mbt.models import model_path

STEPS, FEW, TURNS = 1000, 10, 200


def main() -> None:
    """Measure all cases."""
    tree = mbt.load_model(model_path("mbt_arm"))
    context = tree.create_default_context()
    context.q = np.full(tree.num_positions, 0.3)
    tau = np.zeros(tree.num_velocities)
    cases: dict[str, dict[str, Any]] = {
        "implicit": {},
        "semi_implicit_euler": {"method": "semi_implicit_euler"},
        "rk4": {"method": "rk4"},
        "implicit, control function": {"control": lambda time, q, v: tau},
        "  with an event": {"control": lambda time, q, v: tau, "events": lambda time, q, v: 1.0},
    }
    best = {(name, steps): np.inf for name in cases for steps in (FEW, STEPS)}
    for _ in range(TURNS):
        for name, steps in best:
            start = time.perf_counter()
            mbt.simulate(tree, context, steps * 1e-3, **cases[name])
            best[name, steps] = min(best[name, steps], time.perf_counter() - start)
    for name in cases:
        print(f"{name:40} {(best[name, STEPS] - best[name, FEW]) / (STEPS - FEW) * 1e6:6.2f} us per step")
    print(f"{'before the first step':40} {best['implicit', FEW] * 1e6:6.0f} us")


if __name__ == "__main__":
    main()
