"""Jacobians and bias accelerations of any pair of frames, against motions and their rates by differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

import mbt
from support.case import MOVING, Case, get_case
from support.differences import derivative_tolerance, time_derivative
from support.quantities import QUANTITIES, State, assert_close

Variable = Literal["v", "qdot"]
VARIABLES: tuple[Variable, ...] = ("v", "qdot")
POINTS = np.array([[0.1, -0.3], [-0.2, 0.5], [0.3, 0.2]])


def frames_of(tree: mbt.MultibodyTree) -> dict[str, tuple[mbt.Frame, mbt.Frame, mbt.Frame]]:
    """B, A and E: measured in World, in a moving frame, and with B and A exchanged."""
    tool, inner, W = tree.get_frame_by_name("tool"), tree.bodies[1].body_frame, tree.world_frame
    last = tree.bodies[-1].body_frame
    return {"in World": (tool, W, W), "in a moving frame": (tool, inner, last), "inwards": (inner, tool, W)}


PAIRS = tuple(frames_of(get_case("one_revolute").tree))


class Motion:
    """A state with a motion through it: q = q + t qdot, and v constant, or qdot constant."""

    def __init__(self, model: str) -> None:
        self.case: Case = get_case(model)
        self.state: State = self.case.state()
        self.tree = self.case.tree
        self.context = self.case.context(self.state)
        self.qdot = self.tree.map_velocity_to_qdot(self.context, self.state.v)
        self.speed = float(np.abs(self.state.v).sum())
        self.length = self.case.reference.length_scale(self.state.q)

    def at(self, t: float, direction: Any = None) -> mbt.Context:
        moved = self.case.tree.create_default_context()
        moved.q = self.state.q + t * (self.qdot if direction is None else direction)
        moved.v = self.state.v
        return moved

    def rate(self, f: Callable[[mbt.Context], Any]) -> Any:
        return time_derivative(lambda t: f(self.at(t)), self.speed)

    def sdot(self, variable: Variable) -> np.ndarray:
        return self.state.v if variable == "v" else self.qdot


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("model", MOVING)
def test_velocities(model: str, variable: Variable, pair: str) -> None:
    """J s is the velocity of the frame; rows of a spatial Jacobian are those of its parts."""
    m = Motion(model)
    tree, c, s = m.tree, m.context, m.sdot(variable)
    B, A, E = frames_of(tree)[pair]
    scale = QUANTITIES["velocities"].scale(m.case.reference, m.state)
    V_AB_E = B.calc_spatial_velocity(c, A, E)
    J = tree.calc_jacobian_spatial_velocity(c, variable, B, np.zeros(3), A, E)
    assert_close(J @ s, V_AB_E, scale)
    assert_close(tree.calc_jacobian_angular_velocity(c, variable, B, A, E) @ s, V_AB_E[:3], scale)
    J_points = tree.calc_jacobian_translational_velocity(c, variable, B, POINTS, A, E)
    R_EB = B.calc_rotation_matrix(c, E)
    v_ABi_E = V_AB_E[3:, None] + np.cross(V_AB_E[:3], R_EB @ POINTS, axisb=0, axisc=0)
    assert_close((J_points @ s).reshape(2, 3).T, v_ABi_E, scale)
    for i in range(2):
        J_i = tree.calc_jacobian_spatial_velocity(c, variable, B, POINTS[:, i], A, E)
        assert_close(J_points[3 * i : 3 * i + 3] @ s, J_i[3:] @ s, scale)
        one = tree.calc_jacobian_translational_velocity(c, variable, B, POINTS[:, i], A, E)
        np.testing.assert_array_equal(one, J_points[3 * i : 3 * i + 3])


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("model", MOVING)
def test_velocities_are_rates_of_poses(model: str, pair: str) -> None:
    """Measured in A: the rate of X_AB as an observer on A sees it."""
    m = Motion(model)
    B, A, _ = frames_of(m.tree)[pair]
    V_AB_A = B.calc_spatial_velocity(m.context, A, A)
    Xdot = m.rate(lambda c: B.calc_pose(c, A))
    R_AB = B.calc_rotation_matrix(m.context, A)
    tolerance = derivative_tolerance(2 * m.length, m.speed)
    assert np.max(np.abs(np.cross(V_AB_A[:3], R_AB, axisb=0, axisc=0) - Xdot[:3, :3])) <= tolerance
    assert np.max(np.abs(V_AB_A[3:] - Xdot[:3, 3])) <= tolerance


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("model", MOVING)
def test_position_vectors(model: str, pair: str) -> None:
    """J dq is the change of positions for any dq, even one that no velocity can cause."""
    m = Motion(model)
    B, A, _ = frames_of(m.tree)[pair]
    dq = np.random.default_rng(0).uniform(-1.0, 1.0, m.tree.num_positions)
    J = m.tree.calc_jacobian_position_vector(m.context, B, POINTS, A, A)
    speed = 4.0 * float(np.abs(dq).sum())
    slope = time_derivative(
        lambda t: m.tree.calc_points_positions(m.at(t, dq), B, POINTS, A).T.ravel(), speed
    )
    assert np.max(np.abs(J @ dq - slope)) <= derivative_tolerance(2 * m.length, speed)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("model", MOVING)
def test_bias_is_the_rate_of_the_jacobian(model: str, variable: Variable, pair: str) -> None:
    """Bias = Jdot s, with components differentiated in A: it includes A's centripetal and Coriolis terms."""
    m = Motion(model)
    tree, c, s = m.tree, m.context, m.sdot(variable)
    B, A, E = frames_of(tree)[pair]
    tolerance = derivative_tolerance(8 * m.length * m.speed, m.speed)
    R_EA = A.calc_rotation_matrix(c, E)

    bias = tree.calc_bias_spatial_acceleration(c, variable, B, POINTS[:, 0], A, E)
    slope = m.rate(lambda c: tree.calc_jacobian_spatial_velocity(c, variable, B, POINTS[:, 0], A, A) @ s)
    assert np.max(np.abs(bias - np.concatenate([R_EA @ slope[:3], R_EA @ slope[3:]]))) <= tolerance
    np.testing.assert_array_equal(tree.calc_bias_angular_acceleration(c, variable, B, A, E), bias[:3])

    biases = tree.calc_bias_translational_acceleration(c, variable, B, POINTS, A, E)
    np.testing.assert_allclose(biases[:, 0], bias[3:], rtol=0, atol=1e-12 * (1 + np.abs(bias).max()))
    slopes = m.rate(lambda c: tree.calc_jacobian_translational_velocity(c, variable, B, POINTS, A, A) @ s)
    assert np.max(np.abs(biases - R_EA @ slopes.reshape(2, 3).T)) <= tolerance
    one = tree.calc_bias_translational_acceleration(c, variable, B, POINTS[:, 1], A, E)
    np.testing.assert_array_equal(one, biases[:, 1])


@pytest.mark.parametrize("model", MOVING)
def test_accelerations(model: str) -> None:
    """A_WB = J vdot + bias."""
    m = Motion(model)
    tree, c, W = m.tree, m.context, m.tree.world_frame
    A_WB = m.case.reference.accelerations(m.state.q, m.state.v, m.state.vdot)
    scale = QUANTITIES["accelerations"].scale(m.case.reference, m.state)
    for body in tree.bodies:
        J = tree.calc_jacobian_spatial_velocity(c, "v", body, np.zeros(3), W, W)
        bias = tree.calc_bias_spatial_acceleration(c, "v", body, np.zeros(3), W, W)
        assert_close(J @ m.state.vdot + bias, A_WB[body.node_index], scale)


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("model", MOVING)
def test_center_of_mass(model: str, variable: Variable) -> None:
    """Against the reference in World, against differences of positions and velocities in a moving frame."""
    m = Motion(model)
    tree, c, s, W = m.tree, m.context, m.sdot(variable), m.tree.world_frame
    J_of, bias_of = (
        tree.calc_jacobian_center_of_mass_translational_velocity,
        tree.calc_bias_center_of_mass_translational_acceleration,
    )
    J_v = J_of(c, "v", W, W)
    assert_close(
        J_v,
        m.case.reference.center_of_mass_jacobian(m.state.q),
        QUANTITIES["jacobians"].scale(m.case.reference, m.state),
    )
    for _, A, E in frames_of(tree).values():
        R_EA = A.calc_rotation_matrix(c, E)

        def position(c: mbt.Context, A: mbt.Frame = A) -> np.ndarray:
            com = tree.calc_center_of_mass_position_in_world(c)
            return tree.calc_points_positions(c, W, com, A)

        velocity = J_of(c, variable, A, E) @ s
        assert np.max(np.abs(velocity - R_EA @ m.rate(position))) <= derivative_tolerance(
            3 * m.length, m.speed
        )
        slope = m.rate(lambda c, A=A: J_of(c, variable, A, A) @ s)
        bias = bias_of(c, variable, A, E)
        tolerance = derivative_tolerance(8 * m.length * m.speed, m.speed)
        assert np.max(np.abs(bias - R_EA @ slope)) <= tolerance


@pytest.mark.parametrize("model", MOVING)
def test_frame_moved_by_a_parameter(model: str) -> None:
    """After its pose has changed in a Context, velocity, Jacobian and bias of a frame follow."""
    m = Motion(model)
    tree, c, W = m.tree, m.context, m.tree.world_frame
    wrist, tool = tree.get_frame_by_name("wrist"), tree.get_frame_by_name("tool")
    assert isinstance(wrist, mbt.FixedOffsetFrame)
    before = tool.calc_spatial_velocity_in_world(c), tree.calc_bias_angular_acceleration(c, "v", tool, W, W)
    wrist.set_pose_in_parent_frame(c, mbt.math.make_pose([3.0, -1.0, 2.0], rpy=[0.4, 0.5, 0.6]))
    body, p_BoTo = tool.body, tool.calc_pose_in_body_frame(c)[:3, 3]
    J = tree.calc_jacobian_spatial_velocity(c, "v", tool, np.zeros(3), W, W)
    scale = 8 * QUANTITIES["velocities"].scale(m.case.reference, m.state)
    assert_close(J @ m.state.v, tool.calc_spatial_velocity_in_world(c), scale)
    assert_close(J, tree.calc_jacobian_spatial_velocity(c, "v", body, p_BoTo, W, W), 8 * m.length)
    assert_close(
        tree.calc_bias_spatial_acceleration(c, "v", tool, np.zeros(3), W, W),
        tree.calc_bias_spatial_acceleration(c, "v", body, p_BoTo, W, W),
        8 * QUANTITIES["accelerations"].scale(m.case.reference, m.state),
    )
    # A body turns as fast as before.
    np.testing.assert_array_equal(tool.calc_spatial_velocity_in_world(c)[:3], before[0][:3])
    np.testing.assert_allclose(
        tree.calc_bias_angular_acceleration(c, "v", tool, W, W), before[1], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("model", MOVING)
def test_maps_as_matrices(model: str) -> None:
    """N v = qdot, N+ qdot = v, N+ N = 1."""
    m = Motion(model)
    N, Nplus = m.tree.make_velocity_to_qdot_map(m.context), m.tree.make_qdot_to_velocity_map(m.context)
    assert_close(N, m.case.reference.N(m.state.q), 4.0)
    assert_close(Nplus @ N, np.eye(m.tree.num_velocities), 4.0)
    assert_close(N @ m.state.v, m.qdot, m.speed)
    assert_close(Nplus @ m.qdot, m.tree.map_qdot_to_velocity(m.context, m.qdot), 4 * m.speed)


@pytest.mark.parametrize("model", MOVING)
def test_maps_of_accelerations(model: str) -> None:
    """qddot is the rate of qdot = N v; the way back is exact; the bias is that of a steady qdot."""
    m = Motion(model)
    tree, c, state = m.tree, m.context, m.state
    moved = tree.create_default_context()

    def qdot_at(t: float) -> np.ndarray:
        moved.q = state.q + t * m.qdot
        return tree.map_velocity_to_qdot(moved, state.v + t * state.vdot)

    qddot = tree.map_acceleration_to_qddot(c, state.vdot)
    rate = m.speed + float(np.abs(state.vdot).max())
    assert np.max(np.abs(qddot - time_derivative(qdot_at, rate))) <= derivative_tolerance(8 * rate, rate)
    scale = float(np.abs(state.vdot).max()) + 8 * m.speed**2
    assert_close(tree.map_qddot_to_acceleration(c, qddot), state.vdot, 8 * scale)
    steady = tree.map_qddot_to_acceleration(c, np.zeros(tree.num_positions))
    W, tip = tree.world_frame, tree.bodies[-1]
    J = tree.calc_jacobian_spatial_velocity(c, "v", tip, np.zeros(3), W, W)
    bias = tree.calc_bias_spatial_acceleration(c, "v", tip, np.zeros(3), W, W) + J @ steady
    desired = tree.calc_bias_spatial_acceleration(c, "qdot", tip, np.zeros(3), W, W)
    assert_close(bias, desired, 8 * QUANTITIES["accelerations"].scale(m.case.reference, state))


def test_velocities_that_are_qdot() -> None:
    assert get_case("arm7").tree.is_velocity_equal_to_qdot
    assert get_case("all_weld").tree.is_velocity_equal_to_qdot
    assert not get_case("one_floating").tree.is_velocity_equal_to_qdot
    assert not get_case("humanoid").tree.is_velocity_equal_to_qdot
    with pytest.raises(mbt.NotFinalizedError):
        _ = mbt.MultibodyTree().is_velocity_equal_to_qdot
