"""Time of quantities of frames, masses and forces on Contexts of batches and with derivatives.

    python benchmarks/contexts.py [FILE.urdf ...] [--models NAME ...] [--states 4096] [--rounds 7]

A batch against a loop that sets q and v of a Context of one state and calls the same method: nanoseconds per
state, the minimum of interleaved rounds. One loop discards its results, the other stores them as a batch
does, in one array of all states; beside them is the time to fill a new array of this size. With derivatives
with respect to all positions: microseconds per call, setting the positions included. The last columns count
the Python functions that one call runs. Times are CPU times on one core.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import mbt
from models import make_model

# States per round of the loop.
LOOP = 256
POINT = np.array([0.0, 0.0, 0.1])

Call = Callable[[Any], Any]


def calls_of(tree: Any) -> dict[str, Call]:
    """Return the calls, on a tree of any scalar."""
    world, tip, other = tree.world_frame, tree.bodies[-1].body_frame, tree.bodies[1].body_frame
    points = np.stack([POINT, -POINT], 1)
    vdot = np.linspace(-1.0, 1.0, tree.num_velocities)
    return {
        "point": lambda c: tree.calc_points_positions(c, tip, POINT, world),
        "Jacobian": lambda c: tree.calc_jacobian_spatial_velocity(c, "v", tip, POINT, world, world),
        "Jacobian in a moving frame": lambda c: tree.calc_jacobian_spatial_velocity(
            c, "v", tip, POINT, other, other
        ),
        "Jacobian of two points": lambda c: tree.calc_jacobian_translational_velocity(
            c, "v", tip, points, world, world
        ),
        "bias acceleration": lambda c: tree.calc_bias_spatial_acceleration(c, "v", tip, POINT, world, world),
        "reaction forces": tree.calc_reaction_forces,
        "regressor": lambda c: tree.calc_inverse_dynamics_regressor(c, vdot),
        "centre of mass": tree.calc_center_of_mass_position_in_world,
        "operational-space inertia": lambda c: tree.calc_operational_space_inverse_inertia(c, tip),
    }


def least(rounds: int, *calls: Callable[[], Any]) -> list[float]:
    """Return the minimum times of interleaved calls, after a warm-up round [s]."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(1 + rounds):
        for call, spent in zip(calls, times, strict=True):
            start = process_time()
            call()
            spent.append(process_time() - start)
    return [min(spent[1:]) for spent in times]


def count_frames(call: Callable[[], Any]) -> int:
    """Return the number of Python functions that a call runs."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count - 1  # without `call` itself


def compare(name: str, tree: mbt.MultibodyTree, states: int, rounds: int) -> None:
    """Print a table for one model."""
    rng = np.random.default_rng(0)
    q = np.array([tree.random_positions(rng) for _ in range(states)])
    v = rng.normal(size=(states, tree.num_velocities))
    batch, single = tree.create_default_context(states), tree.create_default_context()
    batch.q, batch.v = q, v
    twin = tree.to_autodiff()
    moving: Any = twin.create_default_context()
    seeds = mbt.autodiff.initialize(q[0])
    own, others = calls_of(tree), calls_of(twin)
    print(
        f"\n{name}, {states} states; ns per state: batch, filling its result, loop, ratio, loop"
        " that keeps its results, ratio; us with derivatives; Python frames of both"
    )
    for what, call in own.items():

        def loop(call: Call = call) -> None:
            for i in range(LOOP):
                single.q, single.v = q[i % states], v[i % states]
                call(single)

        kept = np.array(call(batch))
        turn = 0

        def keeping_loop(call: Call = call, kept: Any = kept) -> None:
            nonlocal turn
            for i in range(turn, turn + LOOP):
                single.q, single.v = q[i % states], v[i % states]
                kept[i % states] = call(single)
            turn += LOOP

        def differentiate(call: Call = others[what]) -> None:
            moving.q = seeds
            call(moving)

        of_batch, of_fill, of_loop, of_keeping, of_dual = least(
            rounds,
            lambda call=call: call(batch),
            lambda shape=kept.shape: np.full(shape, 1.0),
            loop,
            keeping_loop,
            lambda run=differentiate: [run() for _ in range(LOOP)],
        )
        frames = count_frames(lambda call=call: call(batch)), count_frames(differentiate)
        print(
            f"{what:28} {1e9 * of_batch / states:8.0f} {1e9 * of_fill / states:6.0f}"
            f" {1e9 * of_loop / LOOP:8.0f} {of_loop * states / of_batch / LOOP:6.1f}"
            f" {1e9 * of_keeping / LOOP:8.0f} {of_keeping * states / of_batch / LOOP:6.1f}"
            f" {1e6 * of_dual / LOOP:9.1f} {frames[0]:6} {frames[1]:4}"
        )


def main() -> None:
    """Compare on some models."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--models", nargs="*", default=["arm7"])
    parser.add_argument("--states", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    mbt.set_num_threads(1)
    for path in options.files:
        compare(path.stem, mbt.load_model(path), options.states, options.rounds)
    for name in options.models if not options.files else []:
        model = make_model(name)
        base = "floating" if model.floating else "fixed"
        compare(name, mbt.load_model(model.urdf, base=base), options.states, options.rounds)


if __name__ == "__main__":
    main()
