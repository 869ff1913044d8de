"""Lanes: every lane computes what NumPy computes for that number alone, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mbt._core.scalars.probe import apply_lanes, apply_real, lane_count

W = lane_count()
NUMBER = st.floats(allow_nan=True, allow_infinity=True, width=64)
ROW = st.lists(NUMBER, min_size=W, max_size=W).map(np.array)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 5e-324, 1e-310, 1e308, -1e308, np.inf, -np.inf, np.nan, 1 / 3])

BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
}


def assert_same_bits(got: NDArray[np.float64], expected: NDArray[np.float64], what: str = "") -> None:
    """Equal bit patterns; NaN equals NaN, whatever its sign and payload."""
    both_nan = np.isnan(got) & np.isnan(expected)
    np.testing.assert_array_equal(
        np.where(both_nan, 0, got.view(np.int64)), np.where(both_nan, 0, expected.view(np.int64)), what
    )


def test_lane_count_is_a_power_of_two_up_to_eight() -> None:
    assert W in (1, 2, 4, 8)


@given(a=ROW, b=ROW)
def test_arithmetic(a: NDArray[np.float64], b: NDArray[np.float64]) -> None:
    for operation, function in BINARY.items():
        with np.errstate(all="ignore"):
            expected = function(a, b)
        for name in (operation, operation + "_in_place"):
            assert_same_bits(apply_lanes(name, a, b), expected, name)


@pytest.mark.parametrize("operation", BINARY)
def test_arithmetic_of_special_values(operation: str) -> None:
    for shift in range(SPECIAL.size):
        a, b = np.resize(SPECIAL, 144), np.resize(np.roll(SPECIAL, shift), 144)
        for k in range(0, 144, W):
            with np.errstate(all="ignore"):
                expected = BINARY[operation](a[k : k + W], b[k : k + W])
            assert_same_bits(apply_lanes(operation, a[k : k + W], b[k : k + W]), expected)


@given(a=ROW, factor=NUMBER)
def test_product_with_a_double(a: NDArray[np.float64], factor: float) -> None:
    with np.errstate(all="ignore"):
        expected = a * factor
    for operation in ("times_double", "double_times", "times_double_in_place"):
        assert_same_bits(apply_lanes(operation, a, factor=factor), expected, operation)


@given(a=ROW)
def test_negation_flips_the_sign_of_zero_too(a: NDArray[np.float64]) -> None:
    assert_same_bits(apply_lanes("negate", a), -a)


@given(value=NUMBER)
def test_a_double_fills_every_lane(value: float) -> None:
    assert_same_bits(apply_lanes("from_double", factor=value), np.full(W, value))


@given(a=ROW)
def test_square_root(a: NDArray[np.float64]) -> None:
    with np.errstate(invalid="ignore"):
        expected = np.sqrt(a)
    assert_same_bits(apply_lanes("sqrt", a), expected)


@given(a=ROW, b=ROW)
def test_functions_of_the_c_library(a: NDArray[np.float64], b: NDArray[np.float64]) -> None:
    assert_same_bits(apply_lanes("tanh", a), np.array([apply_real("tanh", x) for x in a]))
    assert_same_bits(
        apply_lanes("atan2", a, b), np.array([apply_real("atan2", y, x) for y, x in zip(a, b, strict=True)])
    )
    assert_same_bits(apply_lanes("floor", a), np.floor(a))


@given(a=NUMBER, b=NUMBER)
def test_functions_of_one_state(a: float, b: float) -> None:
    assert apply_real("tanh", a) == pytest.approx(np.tanh(a), rel=1e-15, nan_ok=True)
    assert apply_real("atan2", a, b) == pytest.approx(np.arctan2(a, b), rel=1e-15, nan_ok=True)
    assert apply_real("floor", a) == pytest.approx(np.floor(a), rel=0, abs=0, nan_ok=True)


@given(a=ROW, b=ROW, x=ROW, y=ROW)
def test_selection_is_lane_by_lane_and_nan_selects_the_second(
    a: NDArray[np.float64], b: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64]
) -> None:
    assert_same_bits(apply_lanes("select_lt", a, b, x, y), np.where(a < b, x, y))


@given(a=NUMBER, b=NUMBER)
def test_one_state_computes_the_same(a: float, b: float) -> None:
    for operation in BINARY:
        lanes = apply_lanes(operation, np.full(W, a), np.full(W, b))
        assert_same_bits(lanes, np.full(W, apply_real(operation, a, b)), operation)


@pytest.mark.parametrize(("a", "b"), [(1.0, 2.0), (2.0, 1.0), (1.0, 1.0), (np.nan, 1.0), (1.0, np.nan)])
def test_selection_of_one_state(a: float, b: float) -> None:
    assert apply_real("select_lt", a, b, 3.0, 4.0) == (3.0 if a < b else 4.0)


def test_unknown_operation_and_wrong_number_of_operands_are_refused() -> None:
    with pytest.raises(ValueError, match=r"operation: expected one of .*'add'.* got 'ad'"):
        apply_lanes("ad", np.zeros(W))
    with pytest.raises(TypeError, match="add: expected 2 operands, got 1"):
        apply_lanes("add", np.zeros(W))
    with pytest.raises(ValueError, match="operand: expected shape"):
        apply_lanes("negate", np.zeros(W + 1))
