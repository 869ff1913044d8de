"""Paths of pieces of constant curvature."""

from __future__ import annotations

import pickle
from copy import deepcopy

import numpy as np
import pytest

import mbt
from mbt import PiecewiseConstantCurvatureTrajectory as Path

X, Y, Z = np.eye(3)
S = np.array([0.0, 0.5, 1.0, 1.7, 2.0, 2.9])


def stadium(**changes: object) -> Path:
    """Return two straight lines of 1 m and two half circles of radius 0.5 m, anticlockwise."""
    arguments: dict[str, object] = {
        "breaks": np.cumsum([0, 1, np.pi / 2, 1, np.pi / 2]),
        "turning_rates": [0, 2, 0, 2],
        "initial_curve_tangent": X,
        "plane_normal": Z,
        "is_periodic": True,
    }
    return Path(**(arguments | changes))  # type: ignore[arg-type]


def test_straight_line_is_exact() -> None:
    path = Path([0, 2], [0], [3, 0, 0], [0, 0, 5], [1, 2, 3])
    assert path.calc_pose(1.25).tolist() == mbt.math.make_pose([2.25, 2, 3]).tolist()
    # The path continues beyond its ends.
    assert path.calc_pose([-1, 7])[:, 0, 3].tolist() == [0, 8]


@pytest.mark.parametrize("curvature", [0.5, -0.5, 1e-9, -1e3])
def test_circle(curvature: float) -> None:
    """The centre stays put, to the left for positive curvature; y points to it."""
    tangent, normal = np.array([0.6, 0.8, 0]), Z
    path = Path([0, 3], [curvature], tangent, normal)
    left = np.cross(normal, tangent)
    X_FM = path.calc_pose(S)
    centre = X_FM[:, :3, 3] + X_FM[:, :3, 1] / curvature
    np.testing.assert_allclose(centre, np.tile(left / curvature, (len(S), 1)), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(X_FM[0, :3, :3], np.column_stack([tangent, left, normal]), atol=1e-16)
    assert path.curvature(S).tolist() == [curvature] * len(S)


def test_pieces_join_without_kinks() -> None:
    path = Path([0, 0.4, 1.1, 2.0], [1.0, 0.0, -3.0], [1, 1, 0], [0, 0, 1], [1, 0, 0])
    for s in path.breaks[1:-1]:
        before, after = path.calc_pose([np.nextafter(s, 0), s])
        np.testing.assert_allclose(before, after, atol=1e-15)
    assert path.curvature([0.39, 0.4, 1.0, 1.1, 9.0, -9.0]).tolist() == [1, 0, 0, -3, -3, 1]
    assert (path.num_pieces, path.length, path.is_periodic) == (3, 2.0, False)


def test_velocity_and_acceleration_are_derivatives() -> None:
    path = Path([0, 0.4, 1.1, 2.0], [1.0, 0.0, -3.0], [1, 1, 0], [0, 0, 1], [1, 0, 0])
    s, speed, rate, h = np.array([0.2, 0.7, 1.5]), 1.3, -0.4, 1e-5

    def position(t: float) -> np.ndarray:
        return path.calc_pose(s + speed * t + rate * t * t / 2)[:, :3, 3]

    def velocity(t: float) -> np.ndarray:
        return path.calc_spatial_velocity(s + speed * t + rate * t * t / 2, speed + rate * t)

    V, A = velocity(0), path.calc_spatial_acceleration(s, speed, rate)
    np.testing.assert_allclose(V[:, 3:], (position(h) - position(-h)) / (2 * h), atol=1e-9)
    np.testing.assert_allclose(A, (velocity(h) - velocity(-h)) / (2 * h), atol=1e-9)
    np.testing.assert_allclose(V[:, 2], path.curvature(s) * speed, atol=1e-15)


def test_arc_lengths_and_rates_broadcast() -> None:
    path = stadium()
    one_velocity = path.calc_spatial_velocity(1.3, 3.0)
    one_acceleration = path.calc_spatial_acceleration(1.3, 3.0, 2.0)
    for s, s_dot, s_ddot in ((1.3, [3, 3], 2), ([1.3, 1.3], 3, 2), ([[1.3]], [3, 3], [[2], [2]])):
        for v in path.calc_spatial_velocity(s, s_dot).reshape(-1, 6):
            np.testing.assert_array_equal(v, one_velocity)
        for a in path.calc_spatial_acceleration(s, s_dot, s_ddot).reshape(-1, 6):
            np.testing.assert_array_equal(a, one_acceleration)
    with pytest.raises(mbt.ShapeError, match=r"broadcast with each other, got s \(2,\) and s_dot \(3,\)"):
        path.calc_spatial_velocity([0, 0], [1, 1, 1])
    with pytest.raises(mbt.ArgumentTypeError, match="tolerance"):
        path.is_nearly_periodic("small")  # type: ignore[arg-type]


def test_periodic_paths_go_round() -> None:
    path = stadium()
    assert path.is_periodic
    assert path.is_nearly_periodic(1e-12)
    for turns in (-2, 1, 5):
        np.testing.assert_allclose(path.calc_pose(S + turns * path.length), path.calc_pose(S), atol=1e-13)
    assert path.curvature(path.length + 0.1) == 0.0


def test_paths_that_do_not_close() -> None:
    with pytest.raises(mbt.ArgumentValueError, match=r"is_periodic: .* ends as it begins, .* but it ends at"):
        stadium(turning_rates=[0, 2, 0, 2.001])
    open_path = stadium(turning_rates=[0, 2, 0, 2.001], is_periodic=False)
    assert not open_path.is_nearly_periodic(1e-4)
    assert open_path.is_nearly_periodic(1e-2)
    # Closed, but with a kink.
    with pytest.raises(mbt.ArgumentValueError, match="is_periodic"):
        Path([0, 1, 1 + 1.5 * np.pi, 2 + 1.5 * np.pi], [0, 1, 0], X, Z, is_periodic=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"breaks": [0.1, 1, 2, 3, 4]}, r"breaks: .* increase from 0"),
        ({"breaks": [0, 1, 1, 3, 4]}, r"breaks: .* increase from 0"),
        ({"breaks": [0]}, r"breaks: expected at least two"),
        ({"breaks": [0, 1, np.nan]}, r"breaks: "),
        ({"turning_rates": [0, 1]}, r"turning_rates: expected shape \(4,\)"),
        ({"turning_rates": [0, 1, 2, np.inf]}, r"turning_rates: "),
        ({"initial_curve_tangent": [0, 0, 0]}, r"initial_curve_tangent: expected a nonzero vector"),
        ({"plane_normal": [0, 0, 0]}, r"plane_normal: expected a nonzero vector"),
        ({"plane_normal": [0.1, 0, 1]}, r"initial_curve_tangent: expected a direction in the plane"),
        ({"initial_position": [1, 2]}, r"initial_position: expected shape \(3,\)"),
        ({"is_periodic": "no"}, r"is_periodic: expected True or False"),
    ],
)
def test_bad_paths(changes: dict[str, object], message: str) -> None:
    with pytest.raises(mbt.MbtError, match=message):
        stadium(**changes)


def test_arrays_are_read_only() -> None:
    path = stadium()
    for array in (path.breaks, path.turning_rates):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert repr(path) == "<PiecewiseConstantCurvatureTrajectory pieces=4 length=5.14159 periodic>"


def test_pickles() -> None:
    path = stadium()
    for copy in (pickle.loads(pickle.dumps(path)), deepcopy(path)):
        np.testing.assert_array_equal(copy._constants(), path._constants())
        assert not copy.breaks.flags.writeable


def test_kernel_at_breaks_ends_and_turns() -> None:
    """The compiled kernel chooses the same pieces as the path itself."""
    for path in (stadium(), stadium(is_periodic=False), Path([0, 1, 2], [1.5, -0.5], X, Y, [1, 2, 3])):
        tree = mbt.MultibodyTree()
        bead = tree.add_body(mbt.RigidBody("bead", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        wire = tree.add_joint(mbt.CurvilinearJoint, "wire", tree.world_body, None, bead, None, path)
        tree.finalize()
        context = tree.create_default_context()
        for s in [*path.breaks, *(path.breaks + 1e-9), -0.3, 7.7, 1000.0, -1000.0]:
            wire.set_distance(context, s).set_tangential_velocity(context, 2.0)
            np.testing.assert_allclose(wire.get_pose(context), path.calc_pose(s), atol=2e-12)
            V = wire.get_spatial_velocity(context)
            np.testing.assert_allclose(V, path.calc_spatial_velocity(s, 2.0), atol=2e-12)
            A = wire.mobilizer.calc_across_mobilizer_spatial_acceleration(context, [3.0])
            np.testing.assert_allclose(A, path.calc_spatial_acceleration(s, 2.0, 3.0), atol=2e-12)
