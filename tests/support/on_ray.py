"""A program for test_ray.py: batches on two workers of Ray equal the results of one call, to the last bit."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import numpy as np
import ray

import mbt
from mbt import functional
from support.case import get_case

COUNT, BLOCK = 1000, 130  # not a multiple of a block of lanes, and a remainder


class Meeting:
    """A point where two workers wait for each other."""

    def __init__(self) -> None:
        self.here = 0

    async def come(self) -> None:
        self.here += 1
        while self.here < 2:
            await asyncio.sleep(0.01)


def describe_worker(tree: mbt.MultibodyTree, meeting: Any) -> tuple[int, int, int]:
    """Return the worker's process, its threads, and the dofs of a tree with which it computes."""
    ray.get(meeting.come.remote())  # so that one worker cannot take both tasks
    functional.mass_matrix(tree, tree.default_positions)
    return os.getpid(), mbt.get_num_threads(), tree.num_velocities


def compute(tree: mbt.MultibodyTree, q: Any, v: Any, tau: Any) -> tuple[Any, ...]:
    """Return accelerations and states after implicit steps. Arrays of the object store are read-only."""
    assert not q.flags.writeable
    steps = np.repeat(0.1 * tau[:, None], 10, axis=1)
    moved = functional.rollout(tree, q, v, steps, 1e-3, every=10, method="implicit")
    return functional.forward_dynamics(tree, q, v, tau), *moved


def solve(ik: mbt.InverseKinematics, goals: Any) -> tuple[Any, ...]:
    found = ik.solve([goals], seeds=8)
    return found.q, found.success


def check_blocks(call: Any, model: Any, *arrays: np.ndarray) -> None:
    """Compare blocks on workers with one call here."""
    task, sent = ray.remote(call), ray.put(model)
    blocks = [slice(i, i + BLOCK) for i in range(0, COUNT, BLOCK)]
    found = ray.get([task.remote(sent, *(x[at] for x in arrays)) for at in blocks])
    for x in arrays:
        x.flags.writeable = False
    for actual, desired in zip(zip(*found, strict=True), call(model, *arrays), strict=True):
        np.testing.assert_array_equal(np.concatenate(actual), desired)


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    case = get_case("humanoid")
    model, meeting = ray.put(case.tree), ray.remote(num_cpus=0)(Meeting).remote()
    task = ray.remote(describe_worker)
    told = ray.get([task.remote(model, meeting) for _ in range(2)])
    processes, threads, velocities = zip(*told, strict=True)
    assert len({*processes, os.getpid()}) == 3
    assert threads == (1, 1), "Ray says OMP_NUM_THREADS, and mbt follows"
    assert velocities == (case.tree.num_velocities,) * 2

    state, factors = case.state(), np.linspace(0.5, 1.5, COUNT)[:, None]
    check_blocks(compute, case.tree, *(factors * x for x in (state.q, state.v, state.vdot)))

    arm = mbt.load_model(mbt.models.model_path("mbt_arm"))
    ik = mbt.InverseKinematics(arm)
    ik.add_pose("tool")
    goals = functional.frame_pose(arm, arm.random_positions(rng=0, shape=COUNT), "tool")
    goals[::7, :3, 3] += 1.0  # out of reach
    check_blocks(solve, ik, goals)
    ray.shutdown()


if __name__ == "__main__":
    main()
