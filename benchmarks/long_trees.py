"""Implicit steps of long trees beside those of MuJoCo: chains, ropes, snakes on the ground, stacked linkages.

    python benchmarks/long_trees.py [--counts 10 30 100] [--rounds 10]

A chain has hinges, a rope ball joints, all damped. A snake is a free rope; each of its links lies on the
ground with two points, in MuJoCo with small spheres. A ladder has four-bar linkages, each on the coupler of
the previous one. MuJoCo uses `implicitfast` and Newton's method. Printed, from interleaved rounds: the
minimum time of a step of 1 ms, in microseconds, of one state by mbt in sweeps through the tree, by mbt with
matrices, and by MuJoCo; then of a state in a batch of 64 on one thread, in sweeps and in lanes of registers.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import mujoco
import numpy as np

import mbt
from mbt._core.solvers.implicit_steps import ImplicitCore
from mbt.motion import implicit

DT = 1e-3
BATCH, STEPS, CALLS = 64, 5, 20
OPTIONS = f'<option timestep="{DT}" integrator="implicitfast" solver="Newton" jacobian="auto"/>'
LINK = '<geom type="box" size="{half} .01 .015" pos="{half} 0 0" mass="{mass}" contype="0" conaffinity="0"/>'
SPHERE = '<geom type="sphere" size=".001" pos="{x} 0 -.014" mass="0"/>'


def body(name: str, at: str, inside: str, half: float = 0.05) -> str:
    """Return a link along x with what is inside of it: joints, points, further links."""
    return f'<body name="{name}" pos="{at}">{LINK.format(half=half, mass=2 * half)}{inside}</body>'


def chain(count: int, *, ball: bool = False, with_contact: bool = False) -> str:
    """Return a chain, a rope or a snake."""
    points = SPHERE.format(x=0.0) + SPHERE.format(x=0.1) if with_contact else ""
    text = ""
    for i in reversed(range(count)):
        kind = 'type="ball"' if ball else f'type="hinge" axis="0 {i % 2} {1 - i % 2}"'
        joint = f'<joint name="j{i}" {kind} damping=".01"/>'
        if i == 0 and with_contact:
            joint = '<freejoint name="base"/>'
        text = body(f"b{i}", ".1 0 0" if i else "0 0 .0149", joint + points + text)
    ground = '<geom type="plane" size="99 99 .1"/>' if with_contact else ""
    return f"<worldbody>{ground}{text}</worldbody>"


def ladder(count: int) -> str:
    """Return linkages as parallelograms: a crank, a coupler and a rocker each."""
    text, connections = "", ""
    for i in reversed(range(count)):
        hinge = '<joint name="{name}{i}" type="hinge" axis="0 1 0" damping=".01" ref="0"/>'
        coupler = body(f"b{i}", ".3 0 0", hinge.format(name="knee", i=i) + text, 0.25)
        crank = body(f"a{i}", "0 0 0", hinge.format(name="crank", i=i) + coupler, 0.15)
        rocker = body(f"c{i}", ".5 0 0", hinge.format(name="rocker", i=i), 0.15)
        connections += f'<connect body1="b{i}" body2="c{i}" anchor=".5 0 0"/>'
        text = crank + rocker
    return f"<worldbody>{text}</worldbody><equality>{connections}</equality>"


KINDS: dict[str, Callable[[int], str]] = {
    "chain": chain,
    "rope": partial(chain, ball=True),
    "snake": partial(chain, ball=True, with_contact=True),
    "ladder": ladder,
}


def tree_of(model: Any) -> mbt.MultibodyTree:
    """Return the same model in mbt, with points in place of spheres."""
    tree = mbt.interop.from_mujoco(model).edit()
    for i in np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE):
        link = tree.get_body_by_name(model.body(model.geom_bodyid[i]).name)
        point = model.geom_pos[i] - [0.0, 0.0, 0.001]
        tree.add_force_element(
            mbt.PointContact(link, point, stiffness=1e4, dissipation=1.0, static_friction=1.0)
        )
    tree.finalize()
    return tree


def state_of(tree: mbt.MultibodyTree, name: str) -> tuple[Any, Any]:
    """Return positions that satisfy the constraints, and velocities: of a snake, zero."""
    q = tree.default_positions.copy()
    if name == "ladder":
        for joint in tree.joints:
            angle = 1.0 if int(joint.name.lstrip("abcdefghijklmnopqrstuvwxyz")) % 2 else 1.3
            q[joint.position_start] = angle if joint.name.startswith("knee") else -angle
    v = 0.1 * np.random.default_rng(0).normal(size=tree.num_velocities)
    return q, 0.0 * v if name in ("snake", "ladder") else v


def repeated(call: Callable[[], Any]) -> Callable[[], None]:
    """Return the call of `CALLS` calls."""

    def call_all() -> None:
        for _ in range(CALLS):
            call()

    return call_all


def calls_of(name: str, text: str) -> dict[str, tuple[Callable[[], Any], int]]:
    """Return what is timed, and the number of steps that it takes."""
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{OPTIONS}{text}</mujoco>")
    data = mujoco.MjData(model)
    calls: dict[str, tuple[Callable[[], Any], int]] = {}
    for sweeps in (True, False):
        implicit.ImplicitCore = partial(ImplicitCore, sweeps=sweeps)  # type: ignore[misc, assignment]
        tree = tree_of(model)
        q, v = state_of(tree, name)
        tau = np.zeros(len(v))
        step = repeated(partial(mbt.functional.step, tree, q, v, tau, DT, method="implicit"))
        forces = np.zeros((STEPS, len(tau)))
        qs, vs = np.tile(q, (BATCH, 1)), np.tile(v, (BATCH, 1))
        many = partial(mbt.functional.rollout, tree, qs, vs, forces, DT, method="implicit", every=STEPS)
        step(), many()  # the cores are made
        calls["sweeps" if sweeps else "matrices"] = step, CALLS
        calls["batch in sweeps" if sweeps else "batch in lanes"] = many, BATCH * STEPS
    if name != "snake":  # which starts at rest from the default positions
        data.qpos[:], data.qvel[:] = q, v
    start = data.qpos.copy(), data.qvel.copy()

    def step_of_mujoco() -> None:
        data.qpos[:], data.qvel[:] = start
        mujoco.mj_step(model, data)

    calls["mujoco"] = repeated(step_of_mujoco), CALLS
    return calls


def main() -> None:
    """Print a line for each tree."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--counts", type=int, nargs="+", default=[10, 30, 100])
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    mbt.set_num_threads(1)
    titles = ("sweeps", "matrices", "mujoco", "batch in sweeps", "batch in lanes")
    print(f"{'us per step':16} {'dofs':>5}" + "".join(f" {title:>15}" for title in titles))
    for name, text_of in KINDS.items():
        for count in arguments.counts:
            text = text_of(count)
            calls = calls_of(name, text)
            least = dict.fromkeys(calls, np.inf)
            for _ in range(arguments.rounds):
                for title, (call, steps) in calls.items():
                    start = perf_counter()
                    call()
                    least[title] = min(least[title], (perf_counter() - start) / steps)
            num_velocities = mujoco.MjModel.from_xml_string(f"<mujoco>{text}</mujoco>").nv
            times = "".join(f" {1e6 * least[title]:15.1f}" for title in titles)
            print(f"{name:8} {count:7} {num_velocities:5}{times}", flush=True)


if __name__ == "__main__":
    main()
