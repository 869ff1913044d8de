"""Jacobians against velocities and against differences of poses."""

from __future__ import annotations

import numpy as np
import pytest

from support.case import MOVING, get_case
from support.differences import derivative_tolerance, time_derivative
from support.quantities import QUANTITIES, assert_close


@pytest.mark.parametrize("model", MOVING)
def test_spatial_velocities(model: str) -> None:
    """J v = V_WB."""
    case, state = get_case(model), get_case(model).state()
    V_WB = case.tree.eval_velocity_kinematics(case.context(state)).V_WB
    J = case.subject().jacobians(state.q)
    assert_close(J @ state.v, V_WB, QUANTITIES["velocities"].scale(case.reference, state))


@pytest.mark.parametrize("model", MOVING)
def test_with_respect_to_qdot(model: str) -> None:
    """J_qdot qdot = V for every motion: J_qdot N = J_v."""
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    N = case.reference.N(state.q)
    scale = QUANTITIES["jacobians"].scale(case.reference, state)
    for body in (tree.bodies[1], tree.bodies[-1]):
        arguments = body.body_frame, np.array([0.1, -0.2, 0.3]), tree.world_frame, tree.world_frame
        J_v = tree.calc_jacobian_spatial_velocity(context, "v", *arguments)
        J_qdot = tree.calc_jacobian_spatial_velocity(context, "qdot", *arguments)
        assert J_qdot.shape == (6, tree.num_positions)
        assert_close(J_qdot @ N, J_v, scale)


@pytest.mark.parametrize("model", MOVING)
def test_poses(model: str) -> None:
    """dX_WB/dt = [w x] R and v, along the motion, by differences."""
    case, state = get_case(model), get_case(model).state()
    tree, context, subject = case.tree, case.context(state), case.subject()
    qdot = tree.map_velocity_to_qdot(context, state.v)
    rate = float(np.abs(state.v).sum())
    Xdot = time_derivative(lambda t: subject.poses(state.q + t * qdot), rate)
    X_WB = subject.poses(state.q)
    V_WB = subject.velocities(state.q, state.v)
    Rdot = np.cross(V_WB[:, None, :3], X_WB[:, :3, :3], axisb=1, axisc=1)
    tolerance = derivative_tolerance(case.reference.length_scale(state.q), rate)
    assert np.max(np.abs(Xdot[:, :3, :3] - Rdot)) <= tolerance
    assert np.max(np.abs(Xdot[:, :3, 3] - V_WB[:, 3:])) <= tolerance


@pytest.mark.parametrize("model", MOVING)
def test_center_of_mass(model: str) -> None:
    """The velocity of the mass centre is the derivative of its position."""
    case, state = get_case(model), get_case(model).state()
    qdot = case.tree.map_velocity_to_qdot(case.context(state), state.v)
    subject, rate = case.subject(), float(np.abs(state.v).sum())
    slope = time_derivative(lambda t: subject.center_of_mass(state.q + t * qdot), rate)
    tolerance = derivative_tolerance(case.reference.length_scale(state.q), rate)
    assert np.max(np.abs(slope - subject.center_of_mass_velocity(state.q, state.v))) <= tolerance


@pytest.mark.parametrize("model", MOVING)
def test_virtual_power(model: str) -> None:
    """The generalized forces of body forces have the same power: v . J'F = sum of V_WB . F."""
    case, state = get_case(model), get_case(model).state()
    subject = case.subject()
    zero = np.zeros(case.tree.num_velocities)
    JtF = subject.inverse_dynamics(state.q, zero, zero) - subject.inverse_dynamics(
        state.q, zero, zero, state.body_forces
    )
    V_WB = subject.velocities(state.q, state.v)
    scale = QUANTITIES["inverse_dynamics_with_forces"].scale(case.reference, state)
    assert_close(state.v @ JtF, np.sum(V_WB * state.body_forces), scale * float(np.abs(state.v).sum()))
