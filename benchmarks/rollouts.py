"""Rollouts beside `mujoco.rollout`: many states, many steps, open loop, one core.

    python benchmarks/rollouts.py [FILE.urdf ...] [--floating FILE.urdf ...] [--states 4096] [--steps 100]
        [--models NAME ...] [--rounds 5] [--json OUT]

Both start from the same states, with forces for each step and state, and store the state after every step in
existing arrays that have been written before. MuJoCo computes without contacts and limits, with its Euler
method without implicit damping, or RK4. The libraries take turns. Times are CPU times per step of one state:
the minimum of the rounds, and their median. Links on fixed joints are lumped for both.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import mujoco
import mujoco.rollout
import numpy as np

import mbt
from models import BenchmarkModel, make_model, read_lumped, with_free_root

METHODS = {
    "semi_implicit_euler": mujoco.mjtIntegrator.mjINT_EULER,
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
}
DT = 1e-3


def mujoco_model(model: BenchmarkModel, method: str) -> Any:
    """Return the model for MuJoCo."""
    text = with_free_root(model) if model.floating else model.urdf
    compiled = mujoco.MjModel.from_xml_string(text)
    compiled.opt.integrator = METHODS[method]
    compiled.opt.timestep = DT
    compiled.opt.gravity = (0.0, 0.0, -9.81)
    disabled = mujoco.mjtDisableBit
    compiled.opt.disableflags |= disabled.mjDSBL_CONSTRAINT | disabled.mjDSBL_EULERDAMP
    return compiled


def contenders(model: BenchmarkModel, method: str, states: int, steps: int) -> dict[str, Callable[[], Any]]:
    """Return a call for each library."""
    compiled = mujoco_model(model, method)
    tree = mbt.interop.from_mujoco(compiled)
    coordinates = mbt.interop.MujocoCoordinates(tree, compiled)
    rng = np.random.default_rng(0)
    q = np.array([tree.random_positions(rng) for _ in range(states)])
    v = 0.3 * rng.normal(size=(states, tree.num_velocities))
    tau = 0.1 * rng.normal(size=(states, steps, tree.num_velocities))

    kinds = mujoco.mjtState
    initial = np.zeros((states, mujoco.mj_stateSize(compiled, kinds.mjSTATE_FULLPHYSICS)))
    initial[:, 1 : 1 + compiled.nq] = coordinates.q_to_mujoco(q)
    initial[:, 1 + compiled.nq : 1 + compiled.nq + compiled.nv] = coordinates.v_to_mujoco(q, v)
    control = np.ascontiguousarray(tau)
    state = np.empty((states, steps, initial.shape[1]))
    data = mujoco.MjData(compiled)

    def roll_out_with_mujoco() -> Any:
        mujoco.rollout.rollout(
            compiled, data, initial, control, control_spec=kinds.mjSTATE_QFRC_APPLIED, state=state
        )

    out = np.empty((states, steps + 1, q.shape[1])), np.empty((states, steps + 1, v.shape[1]))
    return {
        "mbt": lambda: mbt.functional.rollout(tree, q, v, tau, DT, method=method, out=out),
        "mujoco": roll_out_with_mujoco,
    }


def measure(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return the times of the rounds [s], after a round that is not timed."""
    for call in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = process_time()
            call()
            times[name].append(process_time() - start)
    return times


def main() -> None:
    """Print a line for each model and method, and geometric means."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--floating", nargs="*", type=Path, default=[])
    parser.add_argument("--models", nargs="+", type=make_model, default=[], metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="OUT")
    parser.add_argument("--states", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    models = [*arguments.models, *(read_lumped(path) for path in arguments.files)]
    models += [read_lumped(path, floating=True) for path in arguments.floating]
    mbt.set_num_threads(1)
    count = arguments.states * arguments.steps
    print(f"{'ns a step':48} {'mbt':>7} {'median':>7} {'mujoco':>7} {'median':>7} {'ratio':>6} {'median':>6}")
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for method in METHODS:
        ratios = []
        for model in models or [make_model("arm7"), make_model("humanoid")]:
            times = measure(contenders(model, method, arguments.states, arguments.steps), arguments.rounds)
            least = [1e9 * min(times[name]) / count for name in ("mbt", "mujoco")]
            median = [1e9 * float(np.median(times[name])) / count for name in ("mbt", "mujoco")]
            ratios.append((least[1] / least[0], median[1] / median[0]))
            row = found.setdefault(method, {}).setdefault(model.name, {})
            for name, *pair in zip(("mbt", "mujoco"), least, median, strict=True):
                row[name] = [float(f"{x:.4g}") for x in pair]
            print(
                f"{model.name + ', ' + method:48} {least[0]:7.0f} {median[0]:7.0f} {least[1]:7.0f} "
                f"{median[1]:7.0f} {ratios[-1][0]:6.2f} {ratios[-1][1]:6.2f}"
            )
        means = np.exp(np.mean(np.log(ratios), axis=0))
        print(f"{'geometric mean, ' + method:80} {means[0]:6.2f} {means[1]:6.2f}")
    if arguments.json:
        settings = {name: getattr(arguments, name) for name in ("states", "steps", "rounds")}
        arguments.json.write_text(json.dumps({**settings, "methods": found}, indent=1))


if __name__ == "__main__":
    main()
