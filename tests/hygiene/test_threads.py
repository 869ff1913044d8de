"""One tree, many threads, a Context each: the same results, bit for bit, as on one thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mbt import functional
from support.case import Case, get_case
from support.force_element_types import make_everything
from support.joint_types import random_state
from support.quantities import QUANTITIES

NUM_THREADS = 8
ROUNDS = 15


def _contexts(case: Case, k: int) -> list[np.ndarray]:
    state, subject = case.state(k), case.subject()
    return [np.asarray(quantity.compute(subject, state)) for quantity in QUANTITIES.values()]


def _functions(case: Case, k: int) -> list[np.ndarray]:
    state, tree = case.state(k), case.tree
    # Long enough to leave the single-state path, and to release the GIL in functions that do.
    q = np.repeat(state.q[None], 300, axis=0)
    v, vdot = q[:, : tree.num_velocities] * 0.5, q[:, : tree.num_velocities] * 0.25
    return [
        functional.inverse_dynamics(tree, state.q, state.v, state.vdot),
        functional.inverse_dynamics(tree, q, v, vdot),
        functional.forward_dynamics(tree, q, v, vdot),
        functional.mass_matrix(tree, q),
        functional.body_poses(tree, q),
    ]


@pytest.mark.parametrize("work", [_contexts, _functions])
@pytest.mark.parametrize("model", ["mixed8", "humanoid"])
def test_shared_tree(model: str, work: Callable[[Case, int], list[np.ndarray]]) -> None:
    case = get_case(model)
    desired = [work(case, k) for k in range(NUM_THREADS)]
    barrier = threading.Barrier(NUM_THREADS)

    def run(k: int) -> None:
        barrier.wait()
        for _ in range(ROUNDS):
            for actual, wanted in zip(work(case, k), desired[k], strict=True):
                np.testing.assert_array_equal(actual, wanted)

    with ThreadPoolExecutor(NUM_THREADS) as pool:
        for future in [pool.submit(run, k) for k in range(NUM_THREADS)]:
            future.result()


def test_every_joint_and_force_element() -> None:
    """A tree with all of them, user-written elements included; each thread with locks of its own."""
    tree = make_everything()
    moving = [joint for joint in tree.joints if joint.num_velocities]

    def work(k: int) -> list[np.ndarray]:
        context = random_state(tree, np.random.default_rng(k))
        moving[k].lock(context)
        vdot = tree.calc_forward_dynamics(context)
        numbers = [
            tree.calc_potential_energy(context),
            tree.calc_kinetic_energy(context),
            tree.calc_conservative_power(context),
            tree.calc_non_conservative_power(context),
        ]
        return [
            vdot,
            tree.calc_inverse_dynamics(context, vdot, include_force_elements=True),
            tree.calc_reaction_forces(context),
            tree.calc_center_of_mass_translational_acceleration_in_world(context),
            tree.make_velocity_to_qdot_map(context),
            np.array(numbers),
        ]

    desired = [work(k) for k in range(NUM_THREADS)]
    barrier = threading.Barrier(NUM_THREADS)

    def run(k: int) -> None:
        barrier.wait()
        for _ in range(ROUNDS):
            for actual, wanted in zip(work(k), desired[k], strict=True):
                np.testing.assert_array_equal(actual, wanted)

    with ThreadPoolExecutor(NUM_THREADS) as pool:
        for future in [pool.submit(run, k) for k in range(NUM_THREADS)]:
            future.result()


def test_many_short_threads() -> None:
    """Per-thread storage is created and freed with its thread."""
    case = get_case("arm7")
    state = case.state()
    desired = functional.inverse_dynamics(case.tree, state.q, state.v, state.vdot)
    results: list[np.ndarray] = []

    def run() -> None:
        results.append(functional.inverse_dynamics(case.tree, state.q, state.v, state.vdot))

    for _ in range(100):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert len(results) == 100
    for result in results:
        np.testing.assert_array_equal(result, desired)
