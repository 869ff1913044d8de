"""Threads on free-threaded Python: importing mbt does not enable the GIL; no object is half made."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.case import get_case
from support.force_element_types import make_everything
from support.joint_types import random_state

NUM_THREADS = 8

IMPORT_ALL = """
import importlib, pkgutil, sys
is_enabled = getattr(sys, "_is_gil_enabled", lambda: True)
import numpy
before = is_enabled()
import mbt._core
modules = [
    importlib.import_module(module.name) for module in pkgutil.walk_packages(mbt._core.__path__, "mbt._core.")
]
assert sum(not module.__file__.endswith(".py") for module in modules) > 30, modules
assert is_enabled() == before
"""


def test_importing_leaves_the_gil_as_it_is() -> None:
    """A module that did not declare itself safe would enable it again, with a RuntimeWarning."""
    subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", IMPORT_ALL], check=True, timeout=120)


def run_together(work: Callable[[int], None]) -> None:
    """Call `work(k)` in this many threads, which begin at the same time."""
    barrier = threading.Barrier(NUM_THREADS)

    def run(k: int) -> None:
        barrier.wait()
        work(k)

    with ThreadPoolExecutor(NUM_THREADS) as pool:
        for future in [pool.submit(run, k) for k in range(NUM_THREADS)]:
            future.result()


@pytest.mark.parametrize("which", ["functions", "contexts", "batches", "derivatives"])
def test_the_first_use_of_a_tree(which: str) -> None:
    """The first thread that computes compiles a tree that was unpickled, and prepares it for batches."""
    case = get_case("mixed8")
    state = case.state()
    q = np.repeat(state.q[None], 5, axis=0)

    def compute(tree: mbt.MultibodyTree) -> Any:
        if which == "functions":
            return functional.mass_matrix(tree, state.q)
        if which == "batches":
            return functional.mass_matrix(tree, q)
        if which == "contexts":
            context = tree.create_default_context()
            context.q = state.q
            return tree.calc_mass_matrix(context)
        clone = tree.to_autodiff()
        context = clone.create_default_context()
        context.q = state.q
        return values(clone.calc_mass_matrix(context))

    desired = values(compute(case.tree))
    saved = pickle.dumps(case.tree)
    for _ in range(10):
        tree = pickle.loads(saved)
        run_together(lambda k, tree=tree: np.testing.assert_array_equal(compute(tree), desired))  # type: ignore[misc]


def calls_of(tree: mbt.MultibodyTree) -> list[Callable[[Any], Any]]:
    """Calls that one thread may make on a Context while others do the same."""
    return [
        lambda c: tree.calc_mass_matrix(c),
        lambda c: tree.calc_forward_dynamics(c),
        lambda c: tree.calc_inverse_dynamics(c, np.zeros(tree.num_velocities)),
        lambda c: tree.eval_position_kinematics(c).X_WB.sum(),
        lambda c: tree.eval_position_kinematics(c).H_PB_W.sum(),
        lambda c: tree.eval_velocity_kinematics(c).V_WB.sum(),
        lambda c: tree.calc_kinetic_energy(c),
        lambda c: setattr(c, "q", c.q * 1.0),
        lambda c: setattr(c, "v", c.v * 0.5),
        lambda c: setattr(c, "time", 1.0),
        lambda c: tree.bodies[1].set_mass(c, 2.0),
        lambda c: tree.joints[-1].lock(c),
        lambda c: tree.joints[-1].unlock(c),
        lambda c: c.clone(),
    ]


@pytest.mark.parametrize("kind", ["one state", "batch", "autodiff"])
def test_a_context_that_threads_share_by_mistake(kind: str) -> None:
    """Results are meaningless, but each call returns or raises, and then the Context works as before."""
    tree: Any = make_everything()
    start = random_state(tree, np.random.default_rng(1))
    if kind == "autodiff":
        tree = tree.to_autodiff()
    context = tree.create_default_context(*((3,),) if kind == "batch" else ())
    context.q = start.q
    calls = calls_of(tree)

    def work(k: int) -> None:
        order = np.random.default_rng(k).integers(len(calls), size=60)
        for i in order:
            # Refused, or amid another thread's writes: caches of other positions, a lock and a velocity.
            with suppress(mbt.MbtError):
                calls[i](context)

    run_together(work)
    tree.joints[-1].unlock(context)
    context.q, context.v = start.q, start.v
    fresh = tree.create_default_context(*((3,),) if kind == "batch" else ())
    tree.bodies[1].set_mass(fresh, tree.bodies[1].get_mass(context))
    fresh.q, fresh.v = start.q, start.v
    for calc in calls[:2]:
        np.testing.assert_array_equal(values(calc(context)), values(calc(fresh)))


def values(array: Any) -> np.ndarray:
    return np.asarray(array.value if isinstance(array, mbt.autodiff.AutoDiffArray) else array)


@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_shared_context_mixes_no_states(shape: tuple[int, ...]) -> None:
    """A call sees all of the positions that one of the threads wrote, never a mixture."""
    case = get_case("arm7")
    tree = case.tree
    states = [case.state(k).q for k in range(3)]
    context = tree.create_default_context(shape) if shape else tree.create_default_context()
    context.q = states[0]
    desired = [functional.mass_matrix(tree, np.broadcast_to(q, (*shape, len(q)))) for q in states]

    def work(k: int) -> None:
        for i in range(200):
            try:
                context.q = states[(i + k) % 3]
                M = tree.calc_mass_matrix(context)
            except mbt.ConcurrentUseError:
                continue
            assert any(np.allclose(M, wanted, rtol=1e-12, atol=1e-12) for wanted in desired)

    run_together(work)
