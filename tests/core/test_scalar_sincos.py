"""sincos of double, of Lanes, and of all angles of a state: within 2 ulp everywhere, and special values."""

from __future__ import annotations

from collections.abc import Callable

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from numpy.typing import NDArray

from mbt._core.scalars.probe import lane_count, sincos_angles, sincos_lanes, sincos_real

Array = NDArray[np.float64]
Sincos = Callable[[Array], tuple[Array, Array]]
W = lane_count()
NEAR = 1e6  # beyond this, the C library computes


def around_multiples_of_half_pi(limit: float, count: int) -> Array:
    """The doubles nearest to k pi/2, and their neighbours."""
    rng = np.random.default_rng(11)
    k = rng.integers(0, int(limit / (np.pi / 2)), count)
    with mpmath.workprec(200):
        nearest = np.array([float(int(i) * mpmath.pi / 2) for i in [1, 2, 3, 4, *k]])
    return np.concatenate([nearest, -nearest, np.nextafter(nearest, 0), np.nextafter(nearest, np.inf)])


def uniform(limit: float, count: int) -> Array:
    return np.random.default_rng(5).uniform(-limit, limit, count)


def logarithmic(low: float, high: float, count: int) -> Array:
    rng = np.random.default_rng(3)
    return rng.choice([-1.0, 1.0], count) * np.exp2(rng.uniform(low, high, count))


ANGLES = {
    "first octant": uniform(np.pi / 4, 2000),
    "a few turns": uniform(10.0, 3000),
    "mid": uniform(1e4, 2000),
    "near limit": uniform(NEAR, 2000),
    "multiples of pi/2": around_multiples_of_half_pi(NEAR, 1000),
    "multiples of pi/2 beyond the limit": around_multiples_of_half_pi(100 * NEAR, 300),
    "far multiples of pi/2": around_multiples_of_half_pi(1e15, 200),
    "beyond the limit": uniform(100 * NEAR, 500),
    "either side of the limit": NEAR * (1.0 + np.linspace(-1e-9, 1e-9, 101)),
    "far": logarithmic(20, 60, 500),
    "huge": np.append(logarithmic(60, 1023, 200), [1e300, -1e300, np.finfo(float).max]),
    "tiny": logarithmic(-1022, -2, 500),
    "denormal": np.array([5e-324, -5e-324, 1e-310, -1e-310, 2.2250738585072014e-308]),
}


def errors_in_ulp(got: Array, exact: Callable[[object], mpmath.mpf], x: Array) -> Array:
    errors = np.empty(x.size)
    for i, (value, angle) in enumerate(zip(got.tolist(), x.tolist(), strict=True)):
        with mpmath.workprec(1300 if abs(angle) > 1e15 else 220):
            true = exact(mpmath.mpf(angle))
            errors[i] = float(abs(mpmath.mpf(value) - true)) / np.spacing(abs(float(true)))
    return errors


@pytest.mark.parametrize("angles", ANGLES.values(), ids=ANGLES.keys())
@pytest.mark.parametrize("sincos", [sincos_real, sincos_lanes, sincos_angles])
def test_within_two_ulp(sincos: Sincos, angles: Array) -> None:
    s, c = sincos(angles)
    assert errors_in_ulp(s, mpmath.sin, angles).max() <= 2.0
    assert errors_in_ulp(c, mpmath.cos, angles).max() <= 2.0


@pytest.mark.parametrize("sincos", [sincos_real, sincos_lanes, sincos_angles])
def test_inf_and_nan_give_nan(sincos: Sincos) -> None:
    s, c = sincos(np.array([np.nan, np.inf, -np.inf]))
    assert np.isnan(s).all()
    assert np.isnan(c).all()


@pytest.mark.parametrize("sincos", [sincos_real, sincos_lanes, sincos_angles])
def test_zeros_keep_their_sign_and_tiny_angles_are_exact(sincos: Sincos) -> None:
    x = np.array([0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e-9, -1e-9])
    s, c = sincos(x)
    np.testing.assert_array_equal(s.view(np.int64), x.view(np.int64))
    np.testing.assert_array_equal(c, np.ones(x.size))


@pytest.mark.parametrize("sincos", [sincos_real, sincos_lanes, sincos_angles])
def test_sine_is_odd_and_cosine_even_to_the_bit(sincos: Sincos) -> None:
    x = np.concatenate([ANGLES["a few turns"], ANGLES["near limit"], ANGLES["far"]])
    (s, c), (minus_s, same_c) = sincos(x), sincos(-x)
    np.testing.assert_array_equal(minus_s, -s)
    np.testing.assert_array_equal(same_c, c)


@pytest.mark.parametrize("sincos", [sincos_lanes, sincos_angles])
def test_many_equal_single_numbers(sincos: Sincos) -> None:
    x = np.concatenate(list(ANGLES.values()))
    for many, real in zip(sincos(x), sincos_real(x), strict=True):
        np.testing.assert_array_equal(many, real)


@pytest.mark.parametrize("intruder", [np.nan, np.inf, -np.inf, 1e300, 2 * NEAR, -3e7])
@pytest.mark.parametrize("position", range(W))
@pytest.mark.parametrize("sincos", [sincos_lanes, sincos_angles])
def test_a_far_lane_leaves_its_neighbours_alone(sincos: Sincos, position: int, intruder: float) -> None:
    x = np.linspace(-3.0, 4.0, W)
    expected_s, expected_c = sincos(x)
    x[position] = intruder
    s, c = sincos(x)
    expected_s[position], expected_c[position] = (out.item() for out in sincos_real(x[position]))
    np.testing.assert_array_equal(s, expected_s)
    np.testing.assert_array_equal(c, expected_c)
