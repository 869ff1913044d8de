"""Poses and rotations: conventions, inverses, and refused arguments."""

import numpy as np
import pytest

from mbt import math as mm
from mbt.errors import ArgumentTypeError, ArgumentValueError, MbtError, ShapeError, SingularityError

EPS = np.finfo(float).eps
RNG = np.random.default_rng(7)
QUATERNIONS = [
    *RNG.normal(size=(20, 4)),
    *np.eye(4),
    *-np.eye(4),
    [1, 1, 0, 0],
    [0, 1, -1, 0],
    [1e-9, 1, 0, 0],
]


def elementary(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[[i, i, j, j], [i, j, i, j]] = c, -s, s, c
    return R


def test_rpy_is_rotations_about_fixed_axes_x_then_y_then_z():
    for r, p, y in RNG.uniform(-4, 4, (20, 3)):
        np.testing.assert_allclose(
            mm.rpy_to_matrix([r, p, y]), elementary(2, y) @ elementary(1, p) @ elementary(0, r), atol=8 * EPS
        )


def test_rotation_about_axis_matches_elementary_rotations_and_takes_any_length():
    for axis in range(3):
        for angle in (-3.0, 0.0, 0.3, 3.0):
            n = np.zeros(3)
            n[axis] = 7.0
            np.testing.assert_allclose(
                mm.rotation_about_axis(n, angle), elementary(axis, angle), atol=8 * EPS
            )


def test_rotation_about_axis_is_the_exponential_of_its_generator():
    for n in RNG.normal(size=(10, 3)):
        n = mm.normalize_axis(n, "n")
        K, power, total = mm.skew(n * 0.7), np.eye(3), np.eye(3)
        for k in range(1, 25):
            power = power @ K / k
            total = total + power
        np.testing.assert_allclose(mm.rotation_about_axis(n, 0.7), total, atol=16 * EPS)


@pytest.mark.parametrize("wxyz", QUATERNIONS, ids=str)
def test_quaternion_and_matrix_are_inverse_up_to_sign_and_length(wxyz):
    wxyz = np.asarray(wxyz, float)
    unit = wxyz / np.linalg.norm(wxyz)
    R = mm.quaternion_to_matrix(wxyz)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=16 * EPS)
    assert np.linalg.det(R) > 0
    back = mm.matrix_to_quaternion(R)
    assert back[0] >= 0
    np.testing.assert_allclose(back * np.sign(back @ unit), unit, atol=16 * EPS)


def test_quaternion_is_scalar_first():
    angle = 0.8
    np.testing.assert_allclose(
        mm.quaternion_to_matrix([np.cos(angle / 2), np.sin(angle / 2), 0, 0]),
        elementary(0, angle),
        atol=8 * EPS,
    )


def test_tiny_and_huge_quaternions_are_normalised_without_overflow():
    for scale in (1e-300, 1e300):
        np.testing.assert_allclose(
            mm.quaternion_to_matrix(scale * np.array([1.0, 2.0, 3.0, 4.0])),
            mm.quaternion_to_matrix([1, 2, 3, 4]),
            atol=8 * EPS,
        )


def test_zero_quaternion_is_a_singularity():
    with pytest.raises(SingularityError, match=r"nonzero quaternion"):
        mm.quaternion_to_matrix(np.zeros(4))


def test_make_pose_from_each_rotation():
    R = mm.rpy_to_matrix([0.1, -0.2, 0.3])
    p = [1.0, 2.0, 3.0]
    X = mm.make_pose(p, R=R)
    np.testing.assert_array_equal(X[:3, :3], R)
    np.testing.assert_array_equal(X[:3, 3], p)
    np.testing.assert_array_equal(X[3], [0, 0, 0, 1])
    np.testing.assert_array_equal(mm.make_pose(p, rpy=[0.1, -0.2, 0.3]), X)
    np.testing.assert_allclose(mm.make_pose(p, quaternion=mm.matrix_to_quaternion(R)), X, atol=16 * EPS)
    np.testing.assert_array_equal(mm.make_pose(), np.eye(4))


def test_make_pose_takes_one_rotation_only():
    with pytest.raises(ArgumentTypeError, match=r"at most one of rpy, quaternion and R, got rpy and R"):
        mm.make_pose(rpy=[0, 0, 0], R=np.eye(3))


def test_inverse_pose():
    X = mm.make_pose([1, 2, 3], rpy=[0.3, 0.2, 0.1])
    np.testing.assert_allclose(X @ mm.inverse_pose(X), np.eye(4), atol=16 * EPS)


def test_as_pose_copies_and_accepts_objects_with_as_matrix():
    class Transform:
        def as_matrix(self):
            return np.eye(4)

    X = np.eye(4)
    assert not np.shares_memory(mm.as_pose(X, "X"), X)
    np.testing.assert_array_equal(mm.as_pose(Transform(), "X"), X)


def test_as_pose_returns_the_numbers_as_given():
    X = np.eye(4)
    X[0, 0] += 4e-7
    np.testing.assert_array_equal(mm.as_pose(X, "X"), X)


def _pose(row, column, value):
    X = np.eye(4)
    X[row, column] = value
    return X


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (np.eye(3), ShapeError, r"X_PF: expected shape \(4, 4\), got \(3, 3\)"),
        (np.zeros((4, 4)), ArgumentValueError, "bottom row"),
        (_pose(3, 0, 1e-8), ArgumentValueError, "bottom row"),
        (_pose(0, 0, 1.001), ArgumentValueError, "orthonormal"),
        (_pose(0, 0, -1.0), ArgumentValueError, "reflection"),
        (_pose(0, 0, 1e200), ArgumentValueError, "orthonormal"),
        (_pose(0, 3, np.nan), ArgumentValueError, "finite"),
        (_pose(1, 1, np.inf), ArgumentValueError, "finite"),
        (None, ArgumentTypeError, "None"),
        ("identity", ArgumentTypeError, "str"),
    ],
)
def test_what_is_no_pose_is_refused(value, error, text):
    with pytest.raises(error, match=text) as caught:
        mm.as_pose(value, "X_PF")
    assert isinstance(caught.value, MbtError)
    assert str(caught.value).startswith("X_PF: ")


def test_skew_is_the_cross_product():
    p, a = RNG.normal(size=(2, 3))
    np.testing.assert_allclose(mm.skew(p) @ a, np.cross(p, a), atol=8 * EPS)


def test_unit_vectors_are_renormalised_and_others_refused():
    n = mm.as_unit_vector([1 + 5e-7, 0, 0], "axis_F")
    np.testing.assert_array_equal(n, [1, 0, 0])
    with pytest.raises(
        ArgumentValueError, match=r"axis_F: expected a unit vector, got \[1.0, 1.0, 0.0\] of length 1.414"
    ):
        mm.as_unit_vector([1, 1, 0], "axis_F")
    with pytest.raises(ArgumentValueError, match=r"axis_F"):
        mm.as_unit_vector([0, 0, 0], "axis_F")


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1.0, 1e300])
def test_axes_of_any_length_are_normalised(scale):
    np.testing.assert_allclose(
        mm.normalize_axis(np.array([3.0, 0, 4.0]) * scale, "axis"), [0.6, 0, 0.8], rtol=4 * EPS
    )


@pytest.mark.parametrize("value", [[0, 0, 0], [np.nan, 0, 1], [np.inf, 0, 0]])
def test_axes_that_are_none_are_refused(value):
    with pytest.raises(ArgumentValueError, match=r"^axis: "):
        mm.normalize_axis(value, "axis")


@pytest.mark.parametrize("lead", [(0,), (1,), (2, 3)])
@pytest.mark.parametrize("kind", ["rpy", "quaternion", "R"])
def test_poses_with_leading_axes_are_those_of_each(kind, lead):
    p, rpy = RNG.normal(size=(*lead, 3)), RNG.normal(size=(*lead, 3))
    turned = mm.make_pose(rpy=rpy)[..., :3, :3]
    rotation = {"rpy": rpy, "quaternion": RNG.normal(size=(*lead, 4)), "R": turned}[kind]
    got = mm.make_pose(p, **{kind: rotation})
    assert got.shape == (*lead, 4, 4)
    for i in np.ndindex(lead):
        np.testing.assert_allclose(got[i], mm.make_pose(p[i], **{kind: rotation[i]}), rtol=0, atol=8 * EPS)


def test_leading_axes_of_position_and_rotation_broadcast():
    p, rpy = RNG.normal(size=(4, 1, 3)), RNG.normal(size=(5, 3))
    got = mm.make_pose(p, rpy=rpy)
    assert got.shape == (4, 5, 4, 4)
    np.testing.assert_array_equal(got[3, 2], mm.make_pose(p[3, 0], rpy=rpy[2]))
    np.testing.assert_array_equal(mm.make_pose(p)[..., :3, :3], np.broadcast_to(np.eye(3), (4, 1, 3, 3)))


def test_coordinates_of_which_some_differ_from_state_to_state():
    # Also with as many states as coordinates.
    for count in (0, 1, 3, 5):
        x = RNG.normal(size=count)
        got = mm.make_pose([x, 0, 2.0], rpy=(0, 0, x))
        assert got.shape == (count, 4, 4)
        for i in range(count):
            np.testing.assert_array_equal(got[i], mm.make_pose([x[i], 0, 2.0], rpy=[0, 0, x[i]]))
    # Lists of lists are rows.
    np.testing.assert_array_equal(mm.make_pose([[1, 2, 3], [4, 5, 6]])[1, :3, 3], [4, 5, 6])


def test_objects_with_several_matrices():
    class Rotations:
        def as_matrix(self):
            return mm.make_pose(rpy=[[0.1, 0.2, 0.3], [0, 0, 1]])[..., :3, :3]

    np.testing.assert_array_equal(mm.make_pose(R=Rotations())[..., :3, :3], Rotations().as_matrix())


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"p": np.zeros((2, 3)), "rpy": np.zeros((4, 3))},
            ShapeError,
            r"\(2,\) of p, \(4,\) of the rotation",
        ),
        ({"p": np.zeros((2, 2))}, ShapeError, r"p: expected shape \(\.\.\., 3\)"),
        ({"p": [np.zeros(2), 0.0]}, ShapeError, "p: .*3 coordinates"),
        ({"p": [np.zeros(2), np.zeros(3), 0.0]}, ShapeError, r"p\[0\] \(2,\) and p\[1\] \(3,\)"),
        ({"p": [[1, 2, 3], [1, 2]]}, ArgumentTypeError, "p: "),
        ({"p": np.full((2, 3), np.nan)}, ArgumentValueError, "p: expected finite numbers"),
        ({"quaternion": [[1, 0, 0, 0], [0, 0, 0, 0]]}, SingularityError, r"quaternion\[1\]"),
        ({"R": [np.eye(3), -np.eye(3)]}, ArgumentValueError, r"R\[1\]: .*reflection"),
        ({"R": np.zeros((2, 3, 2))}, ShapeError, r"R: expected shape \(\.\.\., 3, 3\)"),
    ],
)
def test_poses_with_leading_axes_that_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        mm.make_pose(**arguments)
