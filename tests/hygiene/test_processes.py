"""Trees in other processes, however those are started, after this one has used its threads."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

import mbt
from mbt import functional
from support.case import get_case

COUNT = 20_000


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of a process with threads
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_parts_of_a_batch(method: str) -> None:
    """The tree is pickled with each part; all threads of each process are used; the same to the last bit."""
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
