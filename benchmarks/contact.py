"""Feet on the ground: the cost of contact in forward dynamics; rollouts beside `mujoco.rollout`, on one core.

    python benchmarks/contact.py [FILE.urdf LEFT_FOOT RIGHT_FOOT] [--states 1024] [--steps 50] [--rounds 5]

Four points per foot, all in contact at the start, under a robot that falls without torques. MuJoCo gets a
small sphere at each point and a plane, and nothing else touches: contacts on, limits off, Euler without
implicit damping, the default solver. The libraries take turns. Times are CPU times of one state, or of one
step of one state: the minimum of the rounds, and their median.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import mujoco
import mujoco.rollout
import numpy as np

import mbt
from models import BenchmarkModel, make_model, read_lumped, with_free_root

DT = 1e-3
DEPTH = 1e-3
RADIUS = 0.005
POINTS = np.array([[x, y, -0.05] for x in (-0.05, 0.15) for y in (-0.03, 0.03)])


def mujoco_model(model: BenchmarkModel, feet: tuple[str, str] | None) -> Any:
    """Return the model for MuJoCo, with spheres at the feet if any are given."""
    spec = mujoco.MjSpec.from_string(with_free_root(model))
    if feet is not None:
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1], contype=1, conaffinity=0)
        for foot in feet:
            for p in POINTS:
                spec.body(foot).add_geom(
                    type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[RADIUS, 0, 0], pos=p + np.array([0, 0, RADIUS]),
                    mass=0, contype=0, conaffinity=1,
                )  # fmt: skip
    compiled = spec.compile()
    compiled.opt.timestep = DT
    compiled.opt.gravity = (0.0, 0.0, -9.81)
    disabled = mujoco.mjtDisableBit
    compiled.opt.disableflags |= disabled.mjDSBL_LIMIT | disabled.mjDSBL_EULERDAMP
    return compiled


def tree_of(model: BenchmarkModel, feet: tuple[str, str] | None) -> Any:
    """Return the same model as a tree, with points at the feet if any are given."""
    tree = mbt.interop.from_mujoco(mujoco_model(model, None)).edit()
    for foot in feet or ():
        tree.add_force_element(
            mbt.PointContact(
                tree.get_body_by_name(foot), POINTS, stiffness=2e4, dissipation=1.0, static_friction=0.8,
                stiction_speed=0.1,
            )
        )  # fmt: skip
    tree.finalize()
    return tree


def states_of(tree: Any, count: int) -> tuple[Any, Any]:
    """Return states near zero angles, at the height that brings the lowest point into the ground."""
    rng = np.random.default_rng(0)
    context = tree.create_default_context(count)
    q = np.array(np.broadcast_to(context.q, (count, tree.num_positions)))
    q[:, 7:] += 0.02 * rng.normal(size=q[:, 7:].shape)
    context.q = q
    contacts = [element for element in tree.force_elements if isinstance(element, mbt.PointContact)]
    depths = np.concatenate([contact.calc_depths(context) for contact in contacts], axis=-1)
    q[:, 6] += depths.min(axis=-1) - DEPTH
    return q, 0.1 * rng.normal(size=(count, tree.num_velocities))


def measure(calls: dict[str, Callable[[], Any]], rounds: int, count: int) -> dict[str, tuple[float, float]]:
    """Return the minimum and the median time of each call, per one of `count` [ns]."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = process_time()
            call()
            times[name].append(1e9 * (process_time() - start) / count)
    return {name: (min(values), float(np.median(values))) for name, values in times.items()}


def dynamics_calls(trees: dict[str, Any], q: Any, v: Any, one: bool) -> dict[str, Callable[[], Any]]:
    """Return a call of forward dynamics for each tree, on all states at once or one after the other."""

    def call(tree: Any) -> Any:
        tau = np.zeros_like(v)
        states = list(zip(q, v, tau, strict=True))
        if one:
            return lambda: [mbt.functional.forward_dynamics(tree, *state) for state in states]
        return lambda: mbt.functional.forward_dynamics(tree, q, v, tau)

    return {name: call(tree) for name, tree in trees.items()}


def rollout_calls(tree: Any, compiled: Any, q: Any, v: Any, steps: int) -> dict[str, Callable[[], Any]]:
    """Return a call of each library."""
    coordinates = mbt.interop.MujocoCoordinates(tree, compiled)
    tau = np.zeros((len(q), steps, tree.num_velocities))
    kinds = mujoco.mjtState
    initial = np.zeros((len(q), mujoco.mj_stateSize(compiled, kinds.mjSTATE_FULLPHYSICS)))
    initial[:, 1 : 1 + compiled.nq] = coordinates.q_to_mujoco(q)
    initial[:, 1 + compiled.nq : 1 + compiled.nq + compiled.nv] = coordinates.v_to_mujoco(q, v)
    state = np.empty((len(q), steps, initial.shape[1]))
    data = mujoco.MjData(compiled)
    return {
        "mbt": lambda: mbt.functional.rollout(tree, q, v, tau, DT),
        "mujoco": lambda: mujoco.rollout.rollout(
            compiled, data, initial, tau, control_spec=kinds.mjSTATE_QFRC_APPLIED, state=state
        ),
    }


def main() -> None:
    """Print a line for each comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("robot", nargs="*", help="FILE.urdf LEFT_FOOT RIGHT_FOOT")
    parser.add_argument("--states", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    model, feet = make_model("humanoid"), ("left_leg_5", "right_leg_5")
    if arguments.robot:
        path, *names = arguments.robot
        model, feet = read_lumped(Path(path), floating=True), (names[0], names[1])
    mbt.set_num_threads(1)
    trees = {"without": tree_of(model, None), "with contact": tree_of(model, feet)}
    q, v = states_of(trees["with contact"], arguments.states)
    print(f"{'ns':40} {'least':>8} {'median':>8}")
    for one in (True, False):
        calls = dynamics_calls(trees, q, v, one)
        for name, (least, median) in measure(calls, 3 * arguments.rounds, len(q)).items():
            what = f"forward dynamics, {'one state' if one else 'batch'}, {name}"
            print(f"{what:40} {least:8.0f} {median:8.0f}")
    compiled = mujoco_model(model, feet)
    calls = rollout_calls(trees["with contact"], compiled, q, v, arguments.steps)
    times = measure(calls, arguments.rounds, len(q) * arguments.steps)
    for name, (least, median) in times.items():
        print(f"{'a step of a rollout, ' + name:40} {least:8.0f} {median:8.0f}")
    ratios = [theirs / ours for ours, theirs in zip(times["mbt"], times["mujoco"], strict=True)]
    print(f"{'mujoco / mbt':40} {ratios[0]:8.2f} {ratios[1]:8.2f}")
    q_end, _ = calls["mbt"]()
    print(f"states that stayed finite: {np.isfinite(q_end[:, -1]).all(axis=-1).mean():.0%}")


if __name__ == "__main__":
    main()
