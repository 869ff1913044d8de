"""A batch shared among threads: the same bits, whatever the parameters and the other samples are."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread
from typing import Any

import numpy as np
import pytest

import mbt
from batch.batches import CALLS, arrays_of, make_batch, tree_without_users

COUNT = 250


@pytest.fixture(autouse=True)
def _same_afterwards() -> Iterator[None]:
    before = mbt.get_num_threads()
    yield
    mbt.set_num_threads(before)


def make_context() -> Any:
    """Many samples with different masses, one of them NaN, one singular."""
    tree = tree_without_users()
    few = make_batch(tree, (17,))
    rng = np.random.default_rng(0)
    which = rng.integers(0, 17, COUNT)
    context = tree.create_default_context(COUNT)
    q = np.array(few.q[which])
    q[133], q[50] = np.nan, 0.0
    context.q, context.v, context.actuation = q, few.v[which], few.actuation[which]
    for body in tree.bodies[1:]:
        body.set_mass(context, body.default_mass * rng.uniform(0.5, 2.0, COUNT))
    return context


def test_results_do_not_depend_on_threads() -> None:
    context = make_context()
    for name, call in CALLS(context.tree).items():
        mbt.set_num_threads(1)
        wanted = [np.array(array) for array in arrays_of(call(context.clone()))]
        mbt.set_num_threads(3)
        for a, b in zip(arrays_of(call(context.clone())), wanted, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)


def test_contexts_of_several_threads() -> None:
    context = make_context()
    tree = context.tree
    wanted = tree.calc_forward_dynamics(context)
    failures: list[Any] = []

    def run() -> None:
        own = context.clone()
        for _ in range(10):
            own.q = own.q
            if not np.array_equal(tree.calc_forward_dynamics(own), wanted, equal_nan=True):
                failures.append("another result")

    threads = [Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
