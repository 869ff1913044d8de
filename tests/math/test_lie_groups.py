"""Exponential and logarithm of rotations and poses, and their Jacobians, against fifty digits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

import mbt.math as mm
from mbt.autodiff import AutoDiffArray, initialize
from mbt.errors import ArgumentTypeError, ArgumentValueError, ShapeError
from support import lie_reference as reference
from support.lie_reference import many_digits

EPS = np.finfo(float).eps
PI = np.pi

# Bounds of the series: that of the logarithm is at sin(angle) = 5e-5.
THRESHOLDS = [np.sqrt(2.0), np.arcsin(5e-5)]
SMALL = [0.0, 5e-324, 1e-300, 1e-160, 1e-140, 1e-100, 1e-30, 1e-16, 1e-12, 1e-8, 1e-5, 1e-3, 0.1]
AROUND_PI = [PI - 1e-3, PI - 1e-6, PI - 1e-8, PI - 1e-12, PI - 1e-15, np.nextafter(PI, 0), PI]
MIDDLE = [np.nextafter(x, x * y) for x in THRESHOLDS for y in (0, 1, 2)] + [0.5, 1.5, 2.5]
BEYOND = [np.nextafter(PI, 4), PI + 1e-8, 4.4934094579, 5.0, 6.0]
AROUND_TWO_PI = [2 * PI - 1e-3, 2 * PI - 1e-8, 2 * PI, 7.0]
AXES = [np.array([0.0, 0.0, 1.0]), np.array([-0.6, 1e-9, 0.8]), np.array([0.36, -0.48, 0.8])]


def vectors(angles: list[float], size: int) -> list[Any]:
    """Return vectors of these angles about some axes, with random translations."""
    found, rng = [], np.random.default_rng(3)
    for k, angle in enumerate(angles):
        # Most angles have one axis; in each range every axis has its turn.
        for axis in AXES if angle in (0.5, 1.5, PI) else AXES[k % 3 : k % 3 + 1]:
            found.append(np.append(angle * axis, rng.uniform(-1, 1, size - 3)))
    return found


@cache
def exact_value(function: Callable[[Any], Any], xi: tuple[float, ...]) -> Any:
    """Return a reference value; slow, so computed once."""
    return function(many_digits(xi))


def ulps(got: Any, wanted: Any) -> float:
    """Return the largest error of an entry, in units of the largest entry's spacing."""
    error = max(abs(mpmath.mpf(float(a)) - b) for a, b in zip(np.ravel(got), wanted.ravel(), strict=True))
    largest = max(abs(x) for x in wanted.ravel())
    return float(error / largest / EPS) if largest else float(error)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], int, Callable[[Any], Any]]] = {
    "exp_so3": (mm.exp_so3, 3, reference.exponential),
    "exp_se3": (mm.exp_se3, 6, reference.exponential),
    "left_jacobian_so3": (mm.left_jacobian_so3, 3, reference.left_jacobian),
    "left_jacobian_se3": (mm.left_jacobian_se3, 6, reference.left_jacobian),
    "right_jacobian_so3": (mm.right_jacobian_so3, 3, reference.right_jacobian),
    "right_jacobian_se3": (mm.right_jacobian_se3, 6, reference.right_jacobian),
}
INVERSES = {
    "left_jacobian_inverse_so3": (mm.left_jacobian_inverse_so3, 3, reference.left_jacobian),
    "left_jacobian_inverse_se3": (mm.left_jacobian_inverse_se3, 6, reference.left_jacobian),
    "right_jacobian_inverse_so3": (mm.right_jacobian_inverse_so3, 3, reference.right_jacobian),
    "right_jacobian_inverse_se3": (mm.right_jacobian_inverse_se3, 6, reference.right_jacobian),
}
LOGARITHMS = {"log_so3": (mm.log_so3, 3), "log_se3": (mm.log_se3, 6)}
ALL = {**FUNCTIONS, **INVERSES}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_to_rounding(name: str) -> None:
    """The error grows with the angle, which is a double: near 2 pi half a spacing is already 4 ulps."""
    function, size, exact = FUNCTIONS[name]
    with mpmath.workdps(reference.DIGITS + 10):
        for xi in vectors(SMALL + MIDDLE + AROUND_PI, size):
            assert ulps(function(xi), exact_value(exact, tuple(xi))) < 4.5, xi
        for xi in vectors(BEYOND + AROUND_TWO_PI, size):
            assert ulps(function(xi), exact_value(exact, tuple(xi))) < 16, xi


@pytest.mark.parametrize("name", INVERSES)
def test_inverses_to_rounding(name: str) -> None:
    """Beyond pi they are as uncertain as the distance to 2 pi, where they do not exist."""
    function, size, exact = INVERSES[name]
    with mpmath.workdps(reference.DIGITS + 10):
        for xi in vectors(SMALL + MIDDLE + AROUND_PI, size):
            assert ulps(function(xi), reference.inverse(exact_value(exact, tuple(xi)))) < 3, xi
        for xi in vectors(BEYOND + AROUND_TWO_PI[:2], size):
            angle = np.linalg.norm(xi[:3])
            bound = 16 * (1 + angle / abs(2 * PI - angle)) ** (size // 3)
            assert ulps(function(xi), reference.inverse(exact_value(exact, tuple(xi)))) < bound, xi


@pytest.mark.parametrize("angle", [1e-100, 1e-20, 1e-8, 1e-3, 0.02, 0.11, 0.3, 1.01, 1.42])
def test_small_entries_to_rounding(angle: float) -> None:
    """Second-order entries, far smaller than the largest, have all their digits too."""
    x, y, _ = phi = angle * np.array([0.6, -0.8, 0.0])
    with mpmath.workdps(reference.DIGITS):
        s = mpmath.mpf(x) ** 2 + mpmath.mpf(y) ** 2
        for function, k in ((mm.exp_so3, 2), (mm.left_jacobian_so3, 3), (mm.right_jacobian_so3, 3)):
            factor = mpmath.nsum(lambda n, k=k: (-s) ** n / mpmath.factorial(2 * n + k), [0, 20])
            for got in (function(phi), function(np.stack([phi, phi]))[0]):
                assert got[0, 1] == pytest.approx(float(factor * x * y), rel=6 * EPS, abs=0)


@pytest.mark.parametrize("name", LOGARITHMS)
def test_logarithm_to_rounding(name: str) -> None:
    """Against fifty digits, for matrices rounded to doubles, at all angles between 0 and pi."""
    function, size = LOGARITHMS[name]
    with mpmath.workdps(reference.DIGITS + 10):
        for xi in vectors(SMALL + MIDDLE + AROUND_PI, size):
            got = function(reference.exponential(many_digits(xi)).astype(float))
            if np.linalg.norm(xi[:3]) > PI - 1e-14 and got[:3] @ xi[:3] < 0:
                # Rounding decides between the two directions of the axis.
                got, xi = got[:3], -xi[:3]
            assert ulps(got, many_digits(xi)) < 3, xi


@pytest.mark.parametrize("angle", BEYOND + AROUND_TWO_PI)
def test_logarithm_takes_the_shorter_way(angle: float) -> None:
    for axis in AXES:
        axis = axis / np.linalg.norm(axis)
        np.testing.assert_allclose(mm.log_so3(mm.exp_so3(angle * axis)), (angle - 2 * PI) * axis, atol=4e-15)


@pytest.mark.parametrize(
    ("R", "phi"),
    [
        (np.diag([1.0, -1, -1]), [PI, 0, 0]),
        (np.diag([-1.0, 1, -1]), [0, PI, 0]),
        (np.diag([-1.0, -1, 1]), [0, 0, PI]),
        (2 * np.outer([0.0, -0.6, 0.8], [0.0, -0.6, 0.8]) - np.eye(3), [0, -0.6 * PI, 0.8 * PI]),
        (2 * np.outer([-0.8, 0.6, 0.0], [-0.8, 0.6, 0.0]) - np.eye(3), [0.8 * PI, -0.6 * PI, 0]),
        (np.array([[0.0, -1, 0], [-1, 0, 0], [0, 0, -1]]), [PI / np.sqrt(2), -PI / np.sqrt(2), 0]),
    ],
)
def test_by_half_a_turn_the_largest_coordinate_is_positive(R: Any, phi: Any) -> None:
    """The first one if several are equal; for one state, and for several."""
    assert mm.log_so3(R) == pytest.approx(phi, abs=4 * EPS)
    np.testing.assert_array_equal(mm.log_so3(np.stack([R, R])), [mm.log_so3(R)] * 2)


@pytest.mark.parametrize("distance", [1e-3, 1e-8, 1e-14])
def test_near_half_a_turn_the_direction_is_that_of_the_matrix(distance: float) -> None:
    for axis in [*AXES, *-np.array(AXES)]:
        phi = (PI - distance) * axis / np.linalg.norm(axis)
        np.testing.assert_allclose(mm.log_so3(mm.exp_so3(phi)), phi, atol=4e-15)


def test_half_turns_that_are_rounded() -> None:
    """The direction depends on the matrix alone: for one state, and for several."""
    axes = np.random.default_rng(1).normal(size=(200, 3))
    R = mm.exp_so3(PI * axes / np.linalg.norm(axes, axis=1)[:, None])
    np.testing.assert_allclose(mm.log_so3(R), [mm.log_so3(one) for one in R], rtol=0, atol=4 * EPS)


def test_rotations_that_are_orthonormal_to_a_few_digits() -> None:
    """As typed by hand: the logarithm's error is no larger than the matrix's, even near half a turn."""
    for angle in (1e-3, 1.0, PI - 1e-3, PI):
        phi = angle * AXES[2]
        np.testing.assert_allclose(mm.log_so3(mm.exp_so3(phi).round(7)), phi, atol=2e-6)


@pytest.mark.parametrize("size", [3, 6])
def test_exponential_of_the_logarithm(size: int) -> None:
    exp, log = (mm.exp_so3, mm.log_so3) if size == 3 else (mm.exp_se3, mm.log_se3)
    for xi in vectors(SMALL + MIDDLE + AROUND_PI + BEYOND + AROUND_TWO_PI, size):
        X = exp(xi)
        np.testing.assert_allclose(exp(log(X)), X, atol=16 * EPS)
        assert np.linalg.norm(log(X)[:3]) <= np.nextafter(PI, 4)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.7, 3.0, 5.0])
def test_relations(angle: float) -> None:
    """Inverses, and left and right Jacobians: ``J_l = Ad(X) J_r``, ``J_r(xi) = J_l(-xi)``."""
    for axis in AXES:
        xi = np.append(angle * axis / np.linalg.norm(axis), [1.0, -2.0, 3.0])
        X = mm.exp_se3(xi)
        R, p = X[:3, :3], X[:3, 3]
        Ad = np.block([[R, np.zeros((3, 3))], [mm.skew(p) @ R, R]])
        left, right = mm.left_jacobian_se3(xi), mm.right_jacobian_se3(xi)
        np.testing.assert_allclose(left, Ad @ right, atol=64 * EPS)
        np.testing.assert_array_equal(right, mm.left_jacobian_se3(-xi))
        np.testing.assert_allclose(mm.left_jacobian_inverse_se3(xi) @ left, np.eye(6), atol=256 * EPS)
        np.testing.assert_allclose(mm.right_jacobian_inverse_se3(xi) @ right, np.eye(6), atol=256 * EPS)
        # For the rotation alone.
        phi = xi[:3]
        np.testing.assert_array_equal(left[:3, :3], mm.left_jacobian_so3(phi))
        np.testing.assert_allclose(mm.left_jacobian_so3(phi), mm.right_jacobian_so3(phi).T, atol=2 * EPS)
        np.testing.assert_allclose(
            mm.right_jacobian_inverse_so3(phi).T @ left[:3, :3], np.eye(3), atol=64 * EPS
        )
        np.testing.assert_allclose(X[:3, :3], mm.exp_so3(phi), atol=2 * EPS)
        np.testing.assert_allclose(left[:3, :3] @ xi[3:], p, atol=32 * EPS)


@pytest.mark.parametrize("angle", [0.0, 1e-7, 0.4, 2.0, 4.0])
@pytest.mark.parametrize("group", ["so3", "se3"])
def test_jacobians_say_how_exponentials_change(group: str, angle: float) -> None:
    """As the documentation defines them: exp(xi + h dxi) = exp(h J dxi) exp(xi) = exp(xi) exp(h J_r dxi)."""
    exp, left, right = (getattr(mm, f"{kind}_{group}") for kind in ("exp", "left_jacobian", "right_jacobian"))
    size = {"so3": 3, "se3": 6}[group]
    (xi,) = vectors([angle], size)

    def rate_of(motion: Callable[[float], Any]) -> Any:
        h = 1e-4
        return (motion(h) - motion(-h)) / (2 * h)

    X = exp(xi)
    for dxi, on_the_left, on_the_right in zip(np.eye(size), left(xi).T, right(xi).T, strict=True):
        rate = rate_of(partial(lambda dxi, h: exp(xi + h * dxi), dxi))
        moved_left = partial(lambda w, h: exp(h * w) @ X, on_the_left)
        moved_right = partial(lambda w, h: X @ exp(h * w), on_the_right)
        np.testing.assert_allclose(rate_of(moved_left), rate, atol=1e-8)
        np.testing.assert_allclose(rate_of(moved_right), rate, atol=1e-8)


@pytest.mark.parametrize("name", ALL)
def test_leading_axes(name: str) -> None:
    """Each sample by itself, with angles on both sides of each bound; empty arrays too."""
    function, size, _ = ALL[name]
    many = np.array(vectors(SMALL + MIDDLE + AROUND_PI + BEYOND + [7.0], size))
    got = function(many[None, :, None])
    assert got.shape == (1, len(many), 1, *function(many[0]).shape)
    for xi, one in zip(many, got[0, :, 0], strict=True):
        np.testing.assert_allclose(one, function(xi), rtol=0, atol=16 * EPS * np.abs(one).max())
    assert function(np.zeros((0, size))).shape == (0, *function(many[0]).shape)


@pytest.mark.parametrize("name", LOGARITHMS)
def test_logarithms_of_several(name: str) -> None:
    function, size = LOGARITHMS[name]
    exp = {3: mm.exp_so3, 6: mm.exp_se3}[size]
    X = exp(np.array(vectors(SMALL + MIDDLE + AROUND_PI[:5] + BEYOND + [7.0], size)))
    got = function(X[:, None])
    assert got.shape == (len(X), 1, size)
    for one, matrix in zip(got[:, 0], X, strict=True):
        np.testing.assert_allclose(one, function(matrix), rtol=4 * EPS, atol=4 * EPS * np.abs(one).max())
    assert function(np.zeros((0, *X.shape[1:]))).shape == (0, size)


@pytest.mark.parametrize("name", ALL)
def test_derivatives(name: str) -> None:
    """Exact in numbers with derivatives, at zero too: against differences in fifty digits."""
    function, size, exact = ALL[name]

    def wanted_of(xi: Any) -> Any:
        return exact(xi) if name in FUNCTIONS else reference.inverse(exact(xi))

    angles = [0.0, 1e-200, 1e-8, 1e-3, 1.41, 1.42, PI]
    many = np.array([np.append(a * AXES[2], [0.3, -0.2, 0.5][: size - 3]) for a in angles])
    got = function(AutoDiffArray(many, np.broadcast_to(np.eye(size), (len(many), size, size))))
    # One direction that rotates and moves, but not along the axis.
    direction = [1.0, 0.5, -0.25, 0.3, 0.1, 0.7][:size]
    with mpmath.workdps(reference.DIGITS + 10):
        h = mpmath.mpf(10) ** -20
        for k, xi in enumerate(many):
            single = function(initialize(xi))
            np.testing.assert_allclose(got.value[k], function(xi), rtol=0, atol=8 * EPS)
            np.testing.assert_allclose(single.derivatives, got.derivatives[k], rtol=0, atol=16 * EPS)
            x, step = many_digits(xi), h * many_digits(direction)
            rate = (wanted_of(x + step) - wanted_of(x - step)) / (2 * h)
            assert ulps(got.derivatives[k] @ direction, rate) < 24, xi


@pytest.mark.parametrize("angle", [0.0, 1e-200, 1e-8, 2e-4, 1.0, 3.0, PI - 1e-9, PI])
def test_derivatives_of_logarithms(angle: float) -> None:
    """Along motions of a pose they are the inverse of the left Jacobian."""
    xi = np.append(angle * AXES[2], [0.3, -0.2, 0.5])
    X = mm.exp_se3(xi)
    twists = np.zeros((6, 4, 4))
    twists[:, :3, :3], twists[:, :3, 3] = mm.skew(np.eye(6)[:, :3]), np.eye(6)[:, 3:]
    moving = AutoDiffArray(X, np.moveaxis(twists @ X, 0, -1))
    for got in (mm.log_se3(moving), mm.log_se3(np.stack([moving, moving]))[1]):
        J = mm.left_jacobian_inverse_se3(got.value)
        np.testing.assert_allclose(got.derivatives, J, atol=64 * EPS)
        np.testing.assert_allclose(mm.log_so3(moving[:3, :3]).derivatives, J[:3], atol=64 * EPS)


@pytest.mark.parametrize("name", [*ALL, *LOGARITHMS])
def test_bad_input(name: str) -> None:
    function = getattr(mm, name)
    is_log = name in LOGARITHMS
    argument = {"log_so3": "R", "log_se3": "X"}.get(name, "phi" if name.endswith("so3") else "xi")
    good = np.eye(3 if name.endswith("so3") else 4) if is_log else np.zeros(3 if name.endswith("so3") else 6)
    for bad, error, text in (
        (good[:-1], ShapeError, argument),
        (good + np.nan, ArgumentValueError, f"{argument}: expected finite"),
        (["a"] * 3, ArgumentTypeError, argument),
        (None, ArgumentTypeError, argument),
        (good * (1 + 0j), ArgumentTypeError, argument),
    ):
        with pytest.raises(error, match=text):
            function(bad)
    several = np.stack([good, good])
    several[1].flat[0] = np.inf
    with pytest.raises(ArgumentValueError, match=argument):
        function(several)
    with pytest.raises(ShapeError, match=argument):
        function(several[..., :-1])


@pytest.mark.parametrize("name", ALL)
def test_angles_that_are_too_large(name: str) -> None:
    function, size, _ = ALL[name]
    xi = np.zeros(size)
    xi[1] = -1e151
    for bad in (xi, np.stack([0 * xi, xi]), initialize(xi)):
        with pytest.raises(
            ArgumentValueError, match=r"expected an angle of at most 1e\+150 rad, got 1e\+151"
        ):
            function(bad)
    large = 0.99 * xi / 10
    np.testing.assert_allclose(function(np.stack([0 * xi, large]))[1], function(large), atol=4 * EPS)


@pytest.mark.parametrize("name", LOGARITHMS)
def test_matrices_that_are_not_rotations(name: str) -> None:
    function, size = LOGARITHMS[name]
    good = np.eye(size // 3 + 2 if size == 3 else 4)
    reflection, stretched = good.copy(), good.copy()
    reflection[0, 0], stretched[0, 0] = -1.0, 1.001
    for bad, text in ((reflection, "reflection"), (stretched, "orthonormal")):
        for matrix, index in ((bad, ""), (np.stack([good, bad]), r"\[1\]")):
            with pytest.raises(ArgumentValueError, match=f"^[RX]{index}: .*{text}"):
                function(matrix)
        with pytest.raises(ArgumentValueError, match=text):
            function(initialize(bad))
    if size == 6:
        good[3, 0] = 1e-3
        with pytest.raises(ArgumentValueError, match="bottom row"):
            function(good)


def test_rotations_of_scipy() -> None:
    """A single rotation, and several in one object."""
    rotation = pytest.importorskip("scipy.spatial.transform").Rotation
    for phi in ([0.1, -0.2, 0.3], [[0.1, -0.2, 0.3], [1.0, 2.0, -0.5]]):
        np.testing.assert_allclose(mm.log_so3(rotation.from_rotvec(phi)), phi, atol=4 * EPS)
