"""Inertial parameters as vectors, their pseudo-inertia, and its projection on physical ones."""

from __future__ import annotations

import numpy as np
import pytest

from mbt.errors import ArgumentTypeError, ArgumentValueError, InvalidInertiaError, ShapeError
from mbt.math import (
    SpatialInertia,
    UnitInertia,
    calc_inertial_parameters,
    calc_pseudo_inertia,
    is_physically_consistent,
    make_spatial_inertia,
    nearest_physically_consistent_inertia,
    rpy_to_matrix,
)

EPS = np.finfo(float).eps
RNG = np.random.default_rng(21)


def cloud(n: int) -> tuple[np.ndarray, np.ndarray, SpatialInertia]:
    masses, points = RNG.uniform(0.1, 2.0, n), RNG.normal(size=(n, 3))
    G = sum(m * ((p @ p) * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    M = SpatialInertia(masses.sum(), masses @ points / masses.sum(), G / masses.sum())
    return masses, points, M


def second_moments(masses: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the sum of m [x; 1] [x; 1]', by definition."""
    x = np.column_stack([points, np.ones(len(points))])
    return (x.T * masses) @ x


def pseudo(pi: np.ndarray) -> np.ndarray:
    """Return the pseudo-inertia of parameters, by definition."""
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = pi
    return np.array(
        [
            [(yy + zz - xx) / 2, -xy, -xz, hx],
            [-xy, (xx + zz - yy) / 2, -yz, hy],
            [-xz, -yz, (xx + yy - zz) / 2, hz],
            [hx, hy, hz, m],
        ]
    )


def parameters(J: np.ndarray) -> np.ndarray:
    S = J[:3, :3]
    inertia = np.trace(S) * np.eye(3) - S
    return np.array([J[3, 3], *J[:3, 3], *inertia[np.tril_indices(3)]])


def impossible(n: int) -> np.ndarray:
    """Return parameters with noise that no body can have."""
    result = []
    while len(result) < n:
        pi = calc_inertial_parameters(cloud(4)[2]) + RNG.normal(size=10)
        if np.linalg.eigvalsh(pseudo(pi))[0] < -1e-3:
            result.append(pi)
    return np.array(result)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9])
def test_pseudo_inertia_is_the_second_moment(n: int) -> None:
    masses, points, M = cloud(n)
    J = second_moments(masses, points)
    np.testing.assert_allclose(calc_pseudo_inertia(M), J, rtol=0, atol=64 * EPS * np.abs(J).max())
    # Points, rods and plates are bodies too.
    assert is_physically_consistent(calc_inertial_parameters(M))
    assert M.is_physically_valid()


def test_parameters_there_and_back() -> None:
    M = cloud(5)[2]
    pi = calc_inertial_parameters(M)
    I = M.calc_rotational_inertia()  # noqa: E741
    np.testing.assert_array_equal(
        pi, [M.mass, *M.calc_com_moment(), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
    )
    np.testing.assert_allclose(calc_inertial_parameters(make_spatial_inertia(pi)), pi, rtol=4 * EPS)
    assert make_spatial_inertia(np.zeros(10)) == SpatialInertia.zero()
    assert not calc_inertial_parameters(SpatialInertia.zero()).any()


def test_consistency_is_validity() -> None:
    """The pseudo-inertia agrees with the principal moments about the mass centre."""
    seen = set()
    for _ in range(400):
        pi = calc_inertial_parameters(cloud(4)[2]) + RNG.normal(size=10) * RNG.choice([0.01, 0.1, 1.0])
        pi[0] = abs(pi[0])
        valid = make_spatial_inertia(pi, skip_validity_check=True).is_physically_valid()
        assert is_physically_consistent(pi) is valid
        seen.add(valid)
    assert seen == {True, False}


def test_consistency_of_several() -> None:
    good = calc_inertial_parameters(cloud(4)[2])
    bad = np.where(np.arange(10) == 9, np.nan, good)
    many = np.array([[good, -good], [bad, 2 * good]])
    got = is_physically_consistent(many)
    assert got.dtype == bool
    assert got.tolist() == [[True, False], [False, True]]
    assert is_physically_consistent(good) is True
    assert is_physically_consistent(bad) is False
    assert is_physically_consistent(good * 1e-30)
    assert is_physically_consistent(np.zeros(10))


@pytest.mark.parametrize("length", [1.0, 0.05])
@pytest.mark.parametrize("least", [0.0, 0.01])
def test_projection(length: float, least: float) -> None:
    """It is consistent, the nearest of many candidates, satisfies the condition of a projection on a cone,
    and is its own projection.
    """
    D = np.diag([1 / length] * 3 + [1.0])

    def distance(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.linalg.norm(D @ (pseudo(a) - pseudo(b)) @ D))

    for pi in impossible(10):
        nearest = nearest_physically_consistent_inertia(pi, length=length, min_eigenvalue=least)
        assert is_physically_consistent(nearest)
        np.testing.assert_array_equal(
            nearest_physically_consistent_inertia(nearest, length=length, min_eigenvalue=least), nearest
        )
        J, P = D @ pseudo(pi) @ D, D @ pseudo(nearest) @ D
        size = np.abs(J).max()
        assert np.linalg.eigvalsh(P)[0] >= least - 32 * EPS * size
        # The residual is normal to the cone at the projection, and points out of it.
        shifted = P - least * np.eye(4)
        assert abs(np.sum(shifted * (P - J))) <= 1e-12 * size**2
        assert np.linalg.eigvalsh(P - J)[0] >= -1e-12 * size
        best = distance(pi, nearest)
        for _ in range(200):
            # Some near the projection, some anywhere.
            A = RNG.normal(size=(4, 4)) * RNG.choice([1e-3, 0.1, 1.0])
            values, vectors = np.linalg.eigh(P + A + A.T)
            candidate = (vectors * np.maximum(values, least)) @ vectors.T
            inverse = np.linalg.inv(D)
            assert distance(pi, parameters(inverse @ candidate @ inverse)) >= best * (1 - 1e-12)


def test_projection_leaves_bodies_alone() -> None:
    pi = calc_inertial_parameters(cloud(6)[2])
    nearest = nearest_physically_consistent_inertia(pi)
    np.testing.assert_array_equal(nearest, pi)
    assert nearest is not pi
    assert not np.shares_memory(nearest, pi)
    for n in (1, 2, 3):
        pi = calc_inertial_parameters(cloud(n)[2])
        np.testing.assert_array_equal(nearest_physically_consistent_inertia(pi), pi)


def test_projection_of_several() -> None:
    good = calc_inertial_parameters(cloud(6)[2])
    many = np.array([*impossible(3), good]).reshape(2, 2, 10)
    before = many.copy()
    nearest = nearest_physically_consistent_inertia(many)
    np.testing.assert_array_equal(many, before)
    assert is_physically_consistent(nearest).all()
    for i in np.ndindex(2, 2):
        np.testing.assert_allclose(nearest[i], nearest_physically_consistent_inertia(many[i]), rtol=1e-14)
    np.testing.assert_array_equal(nearest[1, 1], good)


def test_projection_does_not_depend_on_axes() -> None:
    """Rotating the parameters by R rotates the projection by R."""
    R = np.eye(4)
    R[:3, :3] = rpy_to_matrix([0.4, -0.7, 1.9])
    for pi in impossible(5):
        turned = parameters(R @ pseudo(pi) @ R.T)
        desired = parameters(R @ pseudo(nearest_physically_consistent_inertia(pi)) @ R.T)
        np.testing.assert_allclose(
            nearest_physically_consistent_inertia(turned), desired, rtol=0, atol=1e-13 * np.abs(pi).max()
        )


def test_results_make_bodies() -> None:
    """With positive eigenvalues, every result is an inertia that passes the usual check."""
    for pi in impossible(20):
        M = make_spatial_inertia(nearest_physically_consistent_inertia(pi, min_eigenvalue=1e-6))
        assert M.mass > 0.0
        assert M.is_physically_valid()


def test_limits_without_mass() -> None:
    """For negative mass with inertia, the nearest is a limit without mass; a least mass can be requested."""
    pi = np.array([-1.0, 0, 0, 0, 2, 0, 2, 0, 0, 2])
    nearest = nearest_physically_consistent_inertia(pi)
    np.testing.assert_allclose(nearest, [0, 0, 0, 0, 2, 0, 2, 0, 0, 2], atol=1e-15)
    assert is_physically_consistent(nearest)
    nearest[0] = 0.0
    M = make_spatial_inertia(nearest)
    assert M.mass == 0.0
    np.testing.assert_array_equal(calc_inertial_parameters(M), nearest)
    assert make_spatial_inertia(nearest_physically_consistent_inertia(pi, min_eigenvalue=0.1)).mass > 0.09


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: calc_inertial_parameters(UnitInertia.zero()), ArgumentTypeError, "M_SP_E"),
        (lambda: calc_pseudo_inertia(np.eye(4)), ArgumentTypeError, "M_SP_E"),
        (lambda: make_spatial_inertia(np.ones(9)), ShapeError, r"pi: expected shape \(10,\)"),
        (lambda: make_spatial_inertia(np.full(10, np.nan)), ArgumentValueError, "pi"),
        (lambda: make_spatial_inertia(-np.ones(10), skip_validity_check=True), InvalidInertiaError, "mass"),
        (lambda: make_spatial_inertia(np.eye(10)[1]), InvalidInertiaError, "without mass"),
        (lambda: make_spatial_inertia([1, 0, 0, 0, 1, 0, 1, 0, 0, 3]), InvalidInertiaError, "triangle"),
        (
            lambda: make_spatial_inertia([1e-300, 1e300, *[0] * 8], skip_validity_check=True),
            InvalidInertiaError,
            "overflow",
        ),
        (
            lambda: is_physically_consistent(np.ones((10, 2))),
            ShapeError,
            r"pi: expected shape \(\.\.\., 10\)",
        ),
        (lambda: is_physically_consistent("body"), ArgumentTypeError, "pi"),
        (lambda: nearest_physically_consistent_inertia(np.ones(6)), ShapeError, "pi"),
        (lambda: nearest_physically_consistent_inertia(np.full(10, np.inf)), ArgumentValueError, "pi"),
        (lambda: nearest_physically_consistent_inertia(np.full(10, 1e308)), ArgumentValueError, "overflow"),
        (lambda: nearest_physically_consistent_inertia(np.ones(10), length=0), ArgumentValueError, "length"),
        (
            lambda: nearest_physically_consistent_inertia(np.ones(10), min_eigenvalue=-1),
            ArgumentValueError,
            "min_eigenvalue",
        ),
    ],
)
def test_bad_input(call, error, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=message):
        call()
