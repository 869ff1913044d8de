"""load_rows and store_rows: the transposes between row-major states and lanes."""

from __future__ import annotations

import numpy as np
import pytest

from mbt._core.scalars.probe import lane_count, load_states, store_states

W = lane_count()
SIZES = range(41)
COUNTS = range(W + 1)  # 0 is the form for a whole block
POISON = -7.25e77


def states_in(count: int) -> int:
    return count or W


@pytest.mark.parametrize("gap", [0, 1, 5])
@pytest.mark.parametrize("n", SIZES)
def test_lane_l_of_number_k_is_number_k_of_state_l(n: int, gap: int) -> None:
    stride = n + gap
    for count in COUNTS:
        num_states = states_in(count)
        # No more numbers than needed after the last state.
        rows = np.full((num_states - 1) * stride + n, np.nan)
        states = np.random.default_rng(n).normal(size=(num_states, n))
        for state in range(num_states):
            rows[state * stride : state * stride + n] = states[state]
        lanes = load_states(rows, stride, n, count)
        np.testing.assert_array_equal(lanes[:, :num_states], states.T)
        # A partial block repeats its last state.
        np.testing.assert_array_equal(lanes[:, num_states:], np.repeat(states[-1:].T, W - num_states, axis=1))


@pytest.mark.parametrize("gap", [0, 1, 5])
@pytest.mark.parametrize("n", SIZES)
def test_store_writes_these_numbers_and_no_others(n: int, gap: int) -> None:
    stride, margin = n + gap, 2 * W
    lanes = np.random.default_rng(n).normal(size=(n, W))
    for count in COUNTS:
        num_states = states_in(count)
        size = (num_states - 1) * stride + n
        memory = np.full(margin + size + margin + W * stride, POISON)
        expected = memory.copy()
        for state in range(num_states):
            start = margin + state * stride
            expected[start : start + n] = lanes[:, state]
        store_states(lanes, memory[margin:], stride, n, count)
        np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 16, 31])
def test_round_trip_keeps_every_bit(n: int) -> None:
    bits = np.random.default_rng(n).integers(-(2**63), 2**63 - 1, W * n)
    rows, back = bits.view(np.float64), np.zeros(W * n)
    # Signalling NaNs would become quiet on their way through Python floats.
    rows[np.isnan(rows)] = np.nan
    store_states(load_states(rows, n, n), back, n, n)
    np.testing.assert_array_equal(back.view(np.int64), rows.view(np.int64))


def test_short_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="rows: too short"):
        load_states(np.zeros(W * 5 - 1), 5, 5)
