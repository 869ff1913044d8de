"""The rate of the total energy is the power of applied forces and of damping."""

from __future__ import annotations

import numpy as np
import pytest

from support.case import MOVING, get_case
from support.differences import derivative_tolerance, time_derivative
from support.quantities import QUANTITIES


@pytest.mark.parametrize("model", MOVING)
def test_balance(model: str) -> None:
    """d(KE + PE)/dt = v . (tau + J'F - damping v) along forward dynamics."""
    case, state = get_case(model), get_case(model).state()
    tree, subject, reference = case.tree, case.subject(), case.reference
    vdot = subject.forward_dynamics(state.q, state.v, state.tau, state.body_forces)
    qdot = tree.map_velocity_to_qdot(case.context(state), state.v)

    def energy(t: float) -> float:
        q, v = state.q + t * qdot, state.v + t * vdot
        return subject.kinetic_energy(q, v) + subject.potential_energy(q)

    V_WB = tree.eval_velocity_kinematics(case.context(state)).V_WB
    power = state.v @ (state.tau + reference.damping_forces(state.v)) + np.sum(V_WB * state.body_forces)
    speed = float(np.abs(state.v).sum())
    # v itself changes by vdot during the step.
    rate = speed + float(np.abs(vdot).max())
    scale = QUANTITIES["kinetic_energy"].scale(reference, state)
    scale += QUANTITIES["potential_energy"].scale(reference, state)
    assert abs(time_derivative(energy, rate) - power) <= derivative_tolerance(scale, rate)


@pytest.mark.parametrize("model", MOVING)
def test_damping_takes_energy(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    assert (case.reference.damping >= 0.0).all()
    forces = case.subject().forces(None)
    case.tree.calc_force_elements_contribution(case.context(state), forces)
    assert state.v @ forces.generalized_forces <= 0.0
