"""Poses of doubles through the compiled entry: which arguments it reads itself, and its accuracy."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

import mbt
import mbt.math as mm
from mbt._core.api.poses import force_on_frame, motion_of_point, shift_and_turn
from mbt.errors import ArgumentValueError, SingularityError
from mbt.math.read_only import ReadOnlyArray
from support import lie_reference as reference
from support.lie_reference import many_digits

EPS = np.finfo(float).eps
COUNT = 7
RNG = np.random.default_rng(5)
XI = RNG.uniform(-3, 3, (COUNT, 6)) / np.sqrt(3)
X = mm.exp_se3(XI)
R = mm.exp_so3(XI[:, :3])

# Arguments of each function, for several states.
ARGUMENTS: dict[str, Any] = {
    "exp_so3": XI[:, :3],
    "left_jacobian_so3": XI[:, :3],
    "left_jacobian_inverse_so3": XI[:, :3],
    "right_jacobian_so3": XI[:, :3],
    "right_jacobian_inverse_so3": XI[:, :3],
    "exp_se3": XI,
    "left_jacobian_se3": XI,
    "left_jacobian_inverse_se3": XI,
    "right_jacobian_se3": XI,
    "right_jacobian_inverse_se3": XI,
    "rpy_to_matrix": XI[:, :3],
    "skew": XI[:, :3],
    "quaternion_to_matrix": XI[:, :4],
    "log_so3": R,
    "log_se3": X,
    "inverse_pose": X,
    "matrix_to_quaternion": R,
    "matrix_to_rpy": R,
}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make arguments fail that the compiled entry does not read itself."""

    def compute(name: str, arguments: Any) -> Any:
        raise AssertionError(f"{name}: not read by the compiled door")

    monkeypatch.setattr("mbt.math.cold_poses.compute", compute)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("name", ARGUMENTS)
def test_read_at_once(name: str) -> None:
    """Exact arrays, strided ones, and lists of numbers give the same result."""
    function, many = getattr(mm, name), ARGUMENTS[name]
    wanted = function(many.copy())
    padded = np.full((2 * COUNT, *(3 * n for n in many.shape[1:])), np.nan)
    part = padded[(slice(None, None, 2), *(slice(None, None, 3) for _ in many.shape[1:]))]
    part[...] = many
    np.testing.assert_array_equal(function(part), wanted)
    np.testing.assert_array_equal(function(np.asfortranarray(many)), wanted)
    np.testing.assert_array_equal(function(many.copy()[None, :, None])[0, :, 0], wanted)
    for i, one in enumerate(many):
        for same in (one.copy(), part[i], np.asfortranarray(one), *([one.tolist()] if one.ndim == 1 else [])):
            np.testing.assert_array_equal(function(same), wanted[i])
    assert wanted.flags.c_contiguous
    assert wanted.flags.owndata


@pytest.mark.usefixtures("alone")
def test_read_at_once_of_several_arguments() -> None:
    p, rpy, q = XI[:, 3:].copy(), XI[:, :3].copy(), XI[:, :4]
    for word, turn, matrices in (
        ("rpy", rpy, mm.rpy_to_matrix(rpy)),
        ("quaternion", q, mm.quaternion_to_matrix(q)),
        ("R", R, R),
    ):
        poses = mm.make_pose(p, **{word: turn})
        np.testing.assert_array_equal(poses[:, :3, :3], matrices)
        np.testing.assert_array_equal(poses[:, :3, 3], p)
        np.testing.assert_array_equal(poses[:, 3], [[0, 0, 0, 1]] * COUNT)
        for i in range(COUNT):
            np.testing.assert_array_equal(mm.make_pose(p[i], **{word: turn[i]}), poses[i])
            np.testing.assert_array_equal(mm.make_pose(**{word: turn})[i, :3, :3], matrices[i])
            # One value for all states.
            np.testing.assert_array_equal(mm.make_pose(p[2].tolist(), **{word: turn})[i, :3, 3], p[2])
            np.testing.assert_array_equal(mm.make_pose(p, **{word: turn[2]})[i, :3, :3], matrices[2])
    angles = XI[:, 0].copy()
    turned = mm.rotation_about_axis(rpy, angles)
    for i in range(COUNT):
        np.testing.assert_array_equal(mm.rotation_about_axis(rpy[i], float(angles[i])), turned[i])
        np.testing.assert_array_equal(mm.rotation_about_axis(rpy, angles[i])[i], turned[i])
    for name, value in (("as_pose", X[0].T.copy().T), ("as_rotation", X[0, :3, :3])):
        copy = getattr(mm, name)(value, "value")
        np.testing.assert_array_equal(copy, value)
        assert not np.shares_memory(copy, value)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_what_is_converted_gives_the_same(name: str) -> None:
    function, many = getattr(mm, name), ARGUMENTS[name]
    for value in (many, many[0]):
        wanted = function(value)
        swapped = value.astype(value.dtype.newbyteorder())
        for same in (
            value.tolist(),
            swapped,
            value.view(type("Sub", (np.ndarray,), {})),
        ):
            np.testing.assert_array_equal(function(same), wanted)
    single = many.astype(np.float32)
    if many.ndim == 2:
        np.testing.assert_array_equal(function(single), function(single.astype(float)))


def test_keywords() -> None:
    np.testing.assert_array_equal(mm.log_se3(X=X[0]), mm.log_se3(X[0]))
    np.testing.assert_array_equal(mm.inverse_pose(X_AB=X), mm.inverse_pose(X))
    with pytest.raises(TypeError, match="exp_se3"):
        mm.exp_se3()  # type: ignore[call-arg]


def test_a_matrix_that_is_just_orthonormal_enough() -> None:
    """Each entry of R R' - 1 counts, not the sum: up to 1e-6 it is a rotation, beyond it is not."""
    stretch = np.sqrt(1 + 0.99e-6)
    for matrix, function in ((R[0], mm.log_so3), (X[0], mm.log_se3), (X[0], mm.inverse_pose)):
        good = matrix.copy()
        good[:3, :3] *= stretch
        bad = matrix.copy()
        bad[:3, :3] *= np.sqrt(1 + 1.01e-6)
        np.testing.assert_allclose(function(good), function(matrix), atol=2e-5)
        np.testing.assert_array_equal(function(good.tolist()), function(good))
        for value in (bad, bad.tolist(), np.stack([matrix, bad])):
            with pytest.raises(ArgumentValueError, match="orthonormal"):
                function(value)


def test_the_largest_and_the_smallest_numbers() -> None:
    largest = np.finfo(float).max
    far = np.full(3, largest)
    np.testing.assert_array_equal(mm.make_pose(far)[:3, 3], far)
    np.testing.assert_array_equal(mm.make_pose(np.stack([far, far]))[1, :3, 3], far)
    np.testing.assert_array_equal(mm.skew(far), largest * mm.skew([1.0, 1, 1]))
    for scale in (5e-324, 1e-300, 1e300, largest):
        for unit, matrix in (
            ([1.0, 1, 0, 0], mm.rpy_to_matrix([np.pi / 2, 0, 0])),
            ([0, 0, 0, 1.0], np.diag([-1.0, -1, 1])),
        ):
            np.testing.assert_allclose(mm.quaternion_to_matrix(scale * np.array(unit)), matrix, atol=2 * EPS)
        np.testing.assert_allclose(
            mm.rotation_about_axis(scale * np.array([0.0, 1, 0]), 0.3), mm.exp_so3([0, 0.3, 0]), atol=2 * EPS
        )
    for value in (np.zeros(4), np.zeros((2, 4)), [0, 0, 0, 0]):
        with pytest.raises(SingularityError, match="nonzero quaternion"):
            mm.quaternion_to_matrix(value)
    for axis, angle in ((np.zeros(3), 0.1), (np.zeros((2, 3)), np.zeros(2))):
        with pytest.raises(ArgumentValueError, match="axis: expected"):
            mm.rotation_about_axis(axis, angle)
    for angle in (np.nan, np.inf, np.array([0.0, np.nan])):
        with pytest.raises(ArgumentValueError, match="angle: expected"):
            mm.rotation_about_axis([0.0, 0, 1], angle)


def test_the_state_that_is_not_good_is_named_in_long_batches() -> None:
    """In a batch large enough to be computed on several threads."""
    poses = np.repeat(X[:1], 3000, 0)
    poses[2345, 0, 0] = 2.0
    for function in (mm.inverse_pose, mm.log_se3):
        with pytest.raises(ArgumentValueError, match=r"\[2345\]: .*orthonormal"):
            function(poses)
    with pytest.raises(ArgumentValueError, match=r"R\[2345\]: .*orthonormal"):
        mm.make_pose(np.zeros(3), R=poses[:, :3, :3])


def test_threads_share_an_argument() -> None:
    poses = np.repeat(X, 500, 0)
    results: list[Any] = []
    threads = [Thread(target=lambda: results.append(mm.log_se3(poses))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_array_equal(result, np.repeat(mm.log_se3(X), 500, 0))


# Accuracy against fifty digits

ANGLES = [
    0.0,
    1e-300,
    1e-12,
    5e-5,
    1.1e-4,
    1e-3,
    0.1,
    1.0,
    np.sqrt(2),
    2.0,
    3.0,
    np.pi - 1e-6,
    np.pi - 1e-12,
    np.pi,
]
DISTANCES = [1e-9, 1e-3, 1.0, 1e6]
AXIS = np.array([0.36, -0.48, 0.8])


def _error(got: Any, wanted: Any) -> float:
    """Return the largest error of an entry, relative to the largest entry, in units of rounding."""
    errors = [abs(mpmath.mpf(float(a)) - b) for a, b in zip(np.ravel(got), np.ravel(wanted), strict=True)]
    return float(max(errors) / max(map(abs, np.ravel(wanted))) / EPS)


@pytest.mark.parametrize("distance", DISTANCES)
def test_poses_near_and_far(distance: float) -> None:
    """Rotation and translation each have all digits, however different their magnitudes."""
    with mpmath.workdps(reference.DIGITS + 10):
        for angle in ANGLES:
            xi = np.append(angle * AXIS, distance * np.array([0.3, -0.5, 0.7]))
            exact = reference.exponential(many_digits(xi))
            got = mm.exp_se3(xi)
            assert _error(got[:3, :3], exact[:3, :3]) < 4.5, angle
            assert _error(got[:3, 3], exact[:3, 3]) < 4.5, angle
            pose = exact.astype(float)
            log = mm.log_se3(pose)
            if angle == np.pi and log[:3] @ xi[:3] < 0:
                continue  # Rounding decides between the two directions of the axis; the translation differs.
            assert _error(log[3:], many_digits(xi[3:])) < 4.5, angle
            R_BA, p = pose[:3, :3].T, many_digits(pose[:3, 3])
            np.testing.assert_array_equal(mm.inverse_pose(pose)[:3, :3], R_BA)
            assert _error(mm.inverse_pose(pose)[:3, 3], -(many_digits(R_BA.ravel()).reshape(3, 3) @ p)) < 2, (
                angle
            )


@pytest.mark.parametrize(
    "name", ["rpy_to_matrix", "quaternion_to_matrix", "matrix_to_quaternion", "matrix_to_rpy"]
)
def test_conversions_to_rounding(name: str) -> None:
    """Compare with fifty digits by the formulas for other scalars, which have their own tests."""
    function: Callable[[Any], Any] = getattr(mm, name)
    with mpmath.workdps(50):
        for angle in ANGLES[2:-1]:
            value: Any = mm.exp_so3(angle * AXIS)
            if name == "rpy_to_matrix":
                value = angle * AXIS
            elif name == "quaternion_to_matrix":
                value = np.append(np.cos(angle / 2), 3 * np.sin(angle / 2) * AXIS)
            digits = np.array([mpmath.mpf(x) for x in value.ravel()], dtype=object).reshape(value.shape)
            for got in (function(value), function(value[None])[0]):
                assert _error(got, function(digits)) < 4, angle


def test_gimbal_lock() -> None:
    """Yaw is set to zero, and roll has the remaining rotation."""
    for pitch in (np.pi / 2, -np.pi / 2):
        matrix = mm.rpy_to_matrix([0.3, pitch, 0.5])
        exact = matrix.round(15)
        exact[0, 0] = exact[1, 0] = exact[2, 1] = exact[2, 2] = 0.0
        for got in (mm.matrix_to_rpy(exact), mm.matrix_to_rpy(exact[None])[0]):
            assert got[2] == 0.0
            assert got[1] == pytest.approx(pitch, abs=1e-7)
            np.testing.assert_allclose(mm.rpy_to_matrix(got), matrix, atol=1e-14)


def test_slices_of_results_of_a_context_are_read() -> None:
    """Rotations are most often slices of poses."""
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    context = tree.create_default_context()
    context.q = np.linspace(0.1, 0.6, tree.num_positions)
    pose = tree.bodies[-1].body_frame.calc_pose_in_world(context)
    np.testing.assert_allclose(mm.exp_so3(mm.log_so3(pose[:3, :3])), pose[:3, :3], atol=8 * EPS)


def test_forces_and_motions_of_one_state() -> None:
    """Identical to NumPy's results, except for forces on frames."""
    rng = np.random.default_rng(5)
    X, Y = mm.exp_se3(rng.normal(size=6)), mm.exp_se3(rng.normal(size=6)).view(ReadOnlyArray)
    R, p = X[:3, :3], rng.normal(size=6)[::2]
    F, V, A = rng.normal(size=(3, 6))
    turned = np.concatenate([R @ (F[:3] + np.cross(p, F[3:])), R @ F[3:]])
    for given in ((F, p, R), (F.tolist(), tuple(p.tolist()), R)):
        np.testing.assert_array_equal(shift_and_turn(*given), turned)
    on_frame = np.concatenate([R.T @ (F[:3] + np.cross(Y[:3, 3] - X[:3, 3], F[3:])), R.T @ F[3:]])
    np.testing.assert_allclose(force_on_frame(F, Y, X), on_frame, rtol=1e-13, atol=1e-13)
    arm = R @ p
    velocity = V[3:] + np.cross(V[:3], arm)
    acceleration = A[3:] + (np.cross(A[:3], arm) + np.cross(V[:3], np.cross(V[:3], arm)))
    np.testing.assert_array_equal(motion_of_point(X, p, V), velocity)
    np.testing.assert_array_equal(motion_of_point(X, p, V, A), acceleration)


def test_other_forces_and_motions_are_left_to_others() -> None:
    X, F, p = np.eye(4), np.ones(6), np.ones(3)
    for wrong in (F.astype(object), F[:5], np.ones((2, 6)), F.astype(np.float32)):
        assert shift_and_turn(wrong, p, X[:3, :3]) is None
        assert force_on_frame(wrong, X, X) is None
        assert motion_of_point(X, p, wrong) is motion_of_point(X, p, F, wrong) is None
