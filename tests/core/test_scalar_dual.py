"""Dual: the value is that of double, the partial derivatives follow the rules of differentiation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mbt._core.scalars.probe import apply_dual, apply_real, lane_count

Array = NDArray[np.float64]
W = lane_count()
EPS = np.finfo(float).eps
NUMBER = st.floats(min_value=-1e3, max_value=1e3).filter(lambda a: a == 0 or abs(a) > 1e-3)
DUAL = st.lists(NUMBER, min_size=1 + W, max_size=1 + W).map(np.array)
NONZERO = DUAL.filter(lambda a: a[0] != 0)
POSITIVE = DUAL.filter(lambda a: a[0] > 0)


def assert_close(got: Array, expected: Array, scale: Array | float) -> None:
    """Equal up to a few roundings of terms of size `scale`."""
    np.testing.assert_array_less(np.abs(got - expected), 8 * EPS * np.abs(scale) + 1e-300)


@given(a=DUAL, b=NONZERO)
def test_value_is_that_of_double(a: Array, b: Array) -> None:
    for operation in ("add", "subtract", "multiply", "divide"):
        wanted = apply_real(operation, a[0], b[0])
        assert apply_dual(operation, a, b)[0] == wanted, operation
        assert apply_dual(operation + "_in_place", a, b)[0] == wanted, f"{operation} in place"


@given(a=DUAL, b=DUAL)
def test_sum_rule(a: Array, b: Array) -> None:
    for suffix in ("", "_in_place"):
        np.testing.assert_array_equal(apply_dual("add" + suffix, a, b)[1:], a[1:] + b[1:])
        np.testing.assert_array_equal(apply_dual("subtract" + suffix, a, b)[1:], a[1:] - b[1:])


@given(a=DUAL, b=DUAL)
def test_product_rule(a: Array, b: Array) -> None:
    first, second = a[1:] * b[0], b[1:] * a[0]
    for name in ("multiply", "multiply_in_place"):
        assert_close(apply_dual(name, a, b)[1:], first + second, np.abs(first) + np.abs(second))


@given(a=DUAL, b=NONZERO)
def test_quotient_rule(a: Array, b: Array) -> None:
    first, second = a[1:] / b[0], a[0] * b[1:] / b[0] ** 2
    for name in ("divide", "divide_in_place"):
        assert_close(apply_dual(name, a, b)[1:], first - second, np.abs(first) + np.abs(second))


@given(a=DUAL, factor=NUMBER)
def test_product_with_a_double_scales_value_and_partials(a: Array, factor: float) -> None:
    for operation in ("times_double", "double_times", "times_double_in_place"):
        np.testing.assert_array_equal(apply_dual(operation, a, factor=factor), a * factor, err_msg=operation)


@given(a=DUAL)
def test_negation(a: Array) -> None:
    np.testing.assert_array_equal(apply_dual("negate", a), -a)


def test_a_double_has_no_partials() -> None:
    np.testing.assert_array_equal(apply_dual("from_double", factor=3.5), [3.5] + [0.0] * W)


@given(a=DUAL)
def test_sine_and_cosine(a: Array) -> None:
    s, c = apply_real("sin", a[0]), apply_real("cos", a[0])
    np.testing.assert_array_equal(apply_dual("sin", a), np.concatenate([[s], a[1:] * c]))
    np.testing.assert_array_equal(apply_dual("cos", a), np.concatenate([[c], a[1:] * -s]))


@given(a=POSITIVE)
def test_square_root(a: Array) -> None:
    got = apply_dual("sqrt", a)
    assert got[0] == np.sqrt(a[0])
    expected = a[1:] / (2 * np.sqrt(a[0]))
    assert_close(got[1:], expected, expected)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_square_root_of_zero_has_infinite_slope_only_where_the_argument_moves(zero: float) -> None:
    for partial, expected in [(0.0, 0.0), (2.0, np.inf if np.copysign(1, zero) > 0 else -np.inf)]:
        got = apply_dual("sqrt", np.array([zero] + [partial] * W))
        np.testing.assert_array_equal(got, [zero] + [expected] * W)


def test_square_root_of_a_negative_number_is_nan() -> None:
    assert np.isnan(apply_dual("sqrt", np.array([-1.0] + [1.0] * W))).all()


@given(a=DUAL)
def test_hyperbolic_tangent(a: Array) -> None:
    a[0] /= 100
    got = apply_dual("tanh", a)
    assert got[0] == apply_real("tanh", a[0])
    # 1 - tanh^2 = 1 / cosh^2, with a cancellation that costs eps
    assert_close(got[1:], a[1:] / np.cosh(a[0]) ** 2, np.abs(a[1:]))


@given(y=DUAL, x=NONZERO)
def test_arctangent_of_two_arguments(y: Array, x: Array) -> None:
    got = apply_dual("atan2", y, x)
    assert got[0] == apply_real("atan2", y[0], x[0])
    square = x[0] ** 2 + y[0] ** 2
    first, second = y[1:] * x[0] / square, x[1:] * y[0] / square
    assert_close(got[1:], first - second, np.abs(first) + np.abs(second))


@given(a=DUAL)
def test_floor_has_no_partials(a: Array) -> None:
    np.testing.assert_array_equal(apply_dual("floor", a), [np.floor(a[0])] + [0.0] * W)


@pytest.mark.parametrize(("a", "b"), [(1.0, 2.0), (2.0, 1.0), (1.0, 1.0), (np.nan, 1.0), (1.0, np.nan)])
def test_selection_looks_at_values_and_takes_the_partials_along(a: float, b: float) -> None:
    x, y = np.arange(1.0 + W), -np.arange(1.0 + W)
    # The partials of a and b would give the opposite result.
    got = apply_dual("select_lt", np.array([a] + [9.0] * W), np.array([b] + [-9.0] * W), x, y)
    np.testing.assert_array_equal(got, x if a < b else y)


@pytest.mark.parametrize("seed", range(20))
def test_expression_against_central_differences(seed: int) -> None:
    """Every operation composed, as in a kernel."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.3, 2.0, 3) * rng.choice([-1, 1], 3)
    directions = rng.normal(size=(3, W))
    got = apply_dual("expression", *np.column_stack([x, directions]), factor=0.7)
    assert got[0] == pytest.approx(apply_real("expression", *x, factor=0.7), rel=1e-14)

    h = 1e-5
    for k in range(W):
        step = h * directions[:, k]
        ahead, behind = (apply_real("expression", *(x + sign * step), factor=0.7) for sign in (1, -1))
        assert got[1 + k] == pytest.approx((ahead - behind) / (2 * h), rel=1e-6, abs=1e-6)
