"""Arguments of configuration helpers, and rotations where they are delicate."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt.math import make_pose, rpy_to_matrix

M = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)


def tree_with(joint_type: type[mbt.Joint]) -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", M))
    tree.add_joint(joint_type, "joint", tree.world_body, None, body, None)
    tree.finalize()
    return tree


def test_zero_quaternions() -> None:
    tree = tree_with(mbt.QuaternionBallJoint)
    identity, zero = [1.0, 0.0, 0.0, 0.0], np.zeros(4)
    for call in (
        lambda: tree.integrate_positions(zero, np.zeros(3), 1.0),
        lambda: tree.difference_positions(zero, identity),
        lambda: tree.difference_positions(identity, zero),
        lambda: tree.normalize_positions(zero),
    ):
        with pytest.raises(mbt.SingularityError, match=r"quaternion of joint 'joint'.* is zero"):
            call()
    q = np.array([identity, zero])
    assert np.isnan(tree.normalize_positions(q)).any(axis=1).tolist() == [False, True]
    assert np.isnan(tree.integrate_positions(q, np.zeros(3), 1.0)).any(axis=1).tolist() == [False, True]
    assert np.isnan(tree.difference_positions(identity, q)).any(axis=1).tolist() == [False, True]


def test_arguments() -> None:
    tree = tree_with(mbt.QuaternionBallJoint)
    q, out = np.array([1.0, 0, 0, 0]), np.full(4, 7.0)
    with pytest.raises(mbt.ShapeError, match=r"q: .*\(\.\.\., 4\)"):
        tree.integrate_positions(np.ones(3), np.zeros(3), 0.1, out=out)
    with pytest.raises(mbt.ShapeError, match=r"v: "):
        tree.integrate_positions(q, np.zeros(2), 0.1, out=out)
    with pytest.raises(mbt.ShapeError, match="leading axes do not broadcast"):
        tree.integrate_positions([q, q], np.zeros((3, 3)), 0.1, out=out)
    with pytest.raises(mbt.ArgumentTypeError, match=r"dt: "):
        tree.integrate_positions(q, np.zeros(3), "soon", out=out)
    assert out.tolist() == [7.0] * 4
    assert tree.integrate_positions(q, [0, 0, 1], 0.5, out=q) is q
    with pytest.raises(mbt.NotFinalizedError):
        mbt.MultibodyTree().normalize_positions([])


def test_half_turns() -> None:
    tree = tree_with(mbt.QuaternionBallJoint)
    v = tree.difference_positions([1, 0, 0, 0], [0, 0, 1, 0])
    np.testing.assert_allclose(np.abs(v), [0, np.pi, 0], atol=1e-15)
    # One and a half turns forward are half a turn back.
    q = tree.integrate_positions([1, 0, 0, 0], [0, 0, 3 * np.pi + 0.1], 1.0)
    np.testing.assert_allclose(tree.difference_positions([1, 0, 0, 0], q), [0, 0, 0.1 - np.pi], atol=1e-14)


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-20, 1e-8, 1e-4, 1.9e-3, 2.1e-3, 0.1])
def test_small_rotations_keep_their_digits(size: float) -> None:
    tree = tree_with(mbt.QuaternionBallJoint)
    w = size * np.array([0.6, 0.0, -0.8])
    q = tree.integrate_positions([1, 0, 0, 0], w, 1.0)
    np.testing.assert_allclose(q, [np.cos(size / 2), *(w / 2 * np.sinc(size / 2 / np.pi))], rtol=1e-15)
    np.testing.assert_allclose(tree.difference_positions([2, 0, 0, 0], q), w, rtol=4e-16, atol=1e-323)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, 1.5, 2.0])
def test_motion_through_gimbal_lock(pitch: float) -> None:
    """The orientation is followed exactly, and angles stay near the old ones away from the lock."""
    tree = tree_with(mbt.BallRpyJoint)
    q0 = np.array([0.3, pitch, -0.7])
    w = np.array([0.2, -0.5, 0.4])
    q1 = tree.integrate_positions(q0, w, 0.3)
    turn = mbt.math.rotation_about_axis(w, 0.3 * float(np.linalg.norm(w)))
    np.testing.assert_allclose(rpy_to_matrix(q1), turn @ rpy_to_matrix(q0), atol=1e-14)
    np.testing.assert_allclose(tree.difference_positions(q0, q1), 0.3 * w, atol=1e-14)
    np.testing.assert_allclose(
        rpy_to_matrix(tree.integrate_positions(q0, w, 0.0)), rpy_to_matrix(q0), atol=1e-15
    )


def test_angles_do_not_jump() -> None:
    """Many turns about each axis: roll, pitch and yaw continue and are not wrapped."""
    tree = tree_with(mbt.BallRpyJoint)
    for axis, angles in (([1, 0, 0], [1, 0, 0]), ([0, 1, 0], [0, 1, 0]), ([0, 0, 1], [0, 0, 1])):
        q = np.zeros(3)
        for _ in range(100):
            q = tree.integrate_positions(q, axis, 0.31)
        np.testing.assert_allclose(q, 31.0 * np.array(angles), atol=1e-12)


def test_positions_without_rotation_are_a_vector_space() -> None:
    tree = tree_with(mbt.PlanarJoint)
    q1 = tree.integrate_positions([1, 2, 30], [1, 0, -2], 0.5)
    assert q1.tolist() == [1.5, 2.0, 29.0]
    assert tree.difference_positions([1, 2, 30], q1).tolist() == [0.5, 0.0, -1.0]
    assert tree.normalize_positions([1, 2, 30]).tolist() == [1, 2, 30]


def test_free_bodies_move_along_straight_lines() -> None:
    tree = tree_with(mbt.RpyFloatingJoint)
    q = tree.integrate_positions(np.zeros(6), [0, 0, np.pi / 2, 1, 2, 3], 1.0)
    np.testing.assert_allclose(q, [0, 0, np.pi / 2, 1, 2, 3], atol=1e-15)
    joint = tree.joints[0]
    context = tree.create_default_context()
    joint.set_positions(context, q)
    np.testing.assert_allclose(
        joint.get_pose(context), make_pose([1, 2, 3], rpy=[0, 0, np.pi / 2]), atol=1e-15
    )


def test_rotations_whose_square_is_a_double() -> None:
    tree = tree_with(mbt.QuaternionBallJoint)
    identity = [1.0, 0.0, 0.0, 0.0]
    q = mbt.functional.integrate_positions(tree, identity, [1e153, 0.0, 0.0], 1.0)
    assert abs(np.linalg.norm(q) - 1.0) < 1e-15
    assert np.isnan(mbt.functional.integrate_positions(tree, identity, [1e155, 0.0, 0.0], 1.0)).all()


@pytest.mark.parametrize("size", [1e-141, 1e141])
def test_lengths_of_quaternions(size: float) -> None:
    tree = tree_with(mbt.QuaternionBallJoint)
    usable = np.array([0.0, 0.0, 0.0, np.clip(size, 1.01e-140, 0.99e140)])
    np.testing.assert_allclose(mbt.functional.body_poses(tree, usable)[1, :3, :3], np.diag([-1.0, -1.0, 1.0]))
    with pytest.raises(mbt.SingularityError, match="too small or too large"):
        mbt.functional.body_poses(tree, [0.0, 0.0, 0.0, size])
