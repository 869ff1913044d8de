"""Trees in other processes, however these are started, after this one has used its threads."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

import mbt
from mbt import functional
from support.case import get_case

COUNT = 20_000


@pytest.mark.filterwarnings("ignore:.*fork")  # Python and JAX warn of forks with threads
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_parts_of_a_batch(method: str) -> None:
    """Each task pickles the tree; each process uses all its threads; results are the same to the last bit."""
    case = get_case("humanoid")
    state = case.state()
    factors = np.linspace(0.5, 1.5, COUNT)[:, None]
    operands = [factors * x for x in (state.q, state.v, state.tau)]
    before = mbt.get_num_threads()
    mbt.set_num_threads(2)
    try:
        desired = functional.forward_dynamics(case.tree, *operands)
        with multiprocessing.get_context(method).Pool(2) as pool:
            parts = zip(*(np.array_split(x, 3) for x in operands), strict=True)
            results = pool.starmap(functional.forward_dynamics, [(case.tree, *part) for part in parts])
        np.testing.assert_array_equal(np.concatenate(results), desired)
        np.testing.assert_array_equal(functional.forward_dynamics(case.tree, *operands), desired)
    finally:
        mbt.set_num_threads(before)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_forked_processes_draw_other_positions() -> None:
    """A child of a process that has drawn positions without a seed draws others than its parent."""
    tree = get_case("arm7").tree
    first = tree.random_positions()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        drawn = [first, tree.random_positions(), *pool.map(mbt.MultibodyTree.random_positions, [tree] * 2)]
    assert len({q.tobytes() for q in drawn}) == 4
    lower, upper = tree.position_lower_limits, tree.position_upper_limits
    assert all((lower <= q).all() and (q <= upper).all() for q in drawn)
    np.testing.assert_array_equal(tree.random_positions(3), tree.random_positions(np.random.default_rng(3)))
    np.testing.assert_array_equal(tree.random_positions(3), tree.random_positions(3))
