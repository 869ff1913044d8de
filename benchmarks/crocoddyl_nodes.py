"""Time of a node of an optimal control problem: a tree in Crocoddyl, beside Crocoddyl's own model.

    python benchmarks/crocoddyl_nodes.py FILE.urdf [...] [--nodes 100] [--rounds 30]

Microseconds per node for `calc` and `calcDiff` of a problem on one thread, and for the model alone, called
from Python: forward dynamics, state and input costs, Euler's integrator. Crocoddyl's model is entirely C++.
The contenders take turns; the fastest and the median round are printed.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import crocoddyl
import numpy as np
import pinocchio

import mbt
import mbt.interop.crocoddyl as mcrocoddyl


def make_costs(state: Any) -> Any:
    """Return state and input costs."""
    costs = crocoddyl.CostModelSum(state)
    for name, residual in (
        ("state", crocoddyl.ResidualModelState(state)),
        ("input", crocoddyl.ResidualModelControl(state)),
    ):
        costs.addCost(name, crocoddyl.CostModelResidual(state, residual), 1e-2)
    return costs


def compare(path: Path, num_nodes: int, num_rounds: int) -> None:
    """Print the table for one robot."""
    robot = pinocchio.buildModelFromUrdf(str(path))
    robot.damping[:] = 0.0
    tree = mbt.interop.from_pinocchio(robot)
    state = crocoddyl.StateMultibody(robot)
    models = {
        "crocoddyl": crocoddyl.DifferentialActionModelFreeFwdDynamics(
            state, crocoddyl.ActuationModelFull(state), make_costs(state)
        ),
        "mbt": mcrocoddyl.DifferentialActionModelTree(tree, make_costs(mcrocoddyl.make_state(tree))),
    }
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=2 * robot.nv), rng.normal(size=robot.nv)
    xs, us = [x] * (num_nodes + 1), [u] * num_nodes
    programs: dict[str, tuple[int, Callable[[], Any]]] = {}
    kept = []
    for name, model in models.items():
        node, data = crocoddyl.IntegratedActionModelEuler(model, 1e-3), model.createData()
        problem = crocoddyl.ShootingProblem(x, [node] * num_nodes, node)
        kept.append(problem)
        programs[f"{name}: calc of the model"] = 1, lambda m=model, d=data: m.calc(d, x, u)
        programs[f"{name}: calcDiff of the model"] = 1, lambda m=model, d=data: m.calcDiff(d, x, u)
        programs[f"{name}: calc of a node"] = num_nodes, lambda p=problem: p.calc(xs, us)
        programs[f"{name}: calcDiff of a node"] = num_nodes, lambda p=problem: p.calcDiff(xs, us)
        problem.calc(xs, us)
        model.calc(data, x, u)
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(num_rounds):
        for name, (size, program) in programs.items():
            program()
            start = perf_counter()
            for _ in range(300 // size):
                program()
            times[name].append((perf_counter() - start) / (300 // size * size) * 1e6)
    print(f"{path.stem}, {robot.nv} dofs")
    for name, rounds in times.items():
        print(f"{name:32} {min(rounds):8.2f} {statistics.median(rounds):8.2f}")


def main() -> None:
    """Compare."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    for path in options.files:
        compare(path, options.nodes, options.rounds)


if __name__ == "__main__":
    main()
