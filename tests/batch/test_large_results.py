"""Results larger than the CPU caches are stored past them, wherever in a cache line they begin and end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import mbt
from support.build import build_tree
from support.description import Array, Model
from support.joint_types import random_state
from support.random_trees import chain, every_joint, humanoid, long_branches, star
from support.taking_long import taking_long

NUMBERS = 17 * 2**17  # [8 bytes], 17 MiB
AROUND = 8  # more numbers before and behind a result
MODELS: dict[str, Callable[[], Model]] = {
    "1 joint": lambda: chain(1, 1),
    "3 joints": lambda: chain(2, 3),
    "4 joints": lambda: chain(3, 4),
    "5 joints": lambda: chain(4, 5),
    "7 joints": lambda: chain(5, 7),
    "star": lambda: star(6, 9),
    "long branches": lambda: long_branches(7),
    "humanoid": lambda: humanoid(8),
    "every joint": lambda: every_joint(9),
}


def array_at(first: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return an array that begins `first` numbers after the start of a cache line, and its memory."""
    size = int(np.prod(shape))
    memory = np.full(size + 3 * AROUND, 7.0)
    start = (-memory.ctypes.data % 64) // 8 + first
    return memory[start : start + size].reshape(shape), memory


def spread_over(tree: mbt.MultibodyTree, width: int) -> tuple[int, Array, Array]:
    rng = np.random.default_rng(0)
    states = [random_state(tree, rng) for _ in range(19)]
    q, v = np.array([state.q for state in states]), np.array([state.v for state in states])
    count = NUMBERS // width + 5
    return count, np.resize(q, (count, q.shape[1])), np.resize(v, (count, v.shape[1]))


# At a line's start, and with few numbers before or after the next line; every offset in the exhaustive run.
@pytest.mark.parametrize("first", taking_long(range(8), 2, 3, 4, 5, 7))
@pytest.mark.parametrize("name", MODELS)
def test_mass_matrices(name: str, first: int) -> None:
    tree = build_tree(MODELS[name]())
    nv = tree.num_velocities
    count, q, _ = spread_over(tree, nv * nv)
    out, memory = array_at(first, (count, nv, nv))
    mbt.functional.mass_matrix(tree, q, out=out)
    of_few = mbt.functional.mass_matrix(tree, q[:19])
    np.testing.assert_array_equal(out, np.resize(of_few, out.shape))
    assert np.count_nonzero(memory == 7.0) == 3 * AROUND
    of_one = mbt.functional.mass_matrix(tree, q[3])
    np.testing.assert_allclose(of_few[3], of_one, rtol=0, atol=1e-13 * np.abs(of_one).max())


@pytest.mark.parametrize("first", [0, 1, 6])
@pytest.mark.parametrize("name", ["4 joints", "5 joints", "humanoid"])
def test_derivatives(name: str, first: int) -> None:
    tree = build_tree(MODELS[name]())
    nv = tree.num_velocities
    count, q, v = spread_over(tree, 3 * nv * nv)
    for function in (
        mbt.functional.inverse_dynamics_derivatives,
        mbt.functional.forward_dynamics_derivatives,
    ):
        out, memory = zip(*(array_at(first + i, (count, nv, nv)) for i in range(3)), strict=True)
        function(tree, q, v, v, out=out)
        for array, around, of_few in zip(out, memory, function(tree, q[:19], v[:19], v[:19]), strict=True):
            np.testing.assert_array_equal(array, np.resize(of_few, array.shape))
            assert np.count_nonzero(around == 7.0) == 3 * AROUND
