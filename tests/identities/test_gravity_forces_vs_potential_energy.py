"""Gravity forces are the negative gradient of the potential energy."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from support.case import MOVING, get_case
from support.description import Array
from support.differences import derivative_tolerance, time_derivative
from support.quantities import QUANTITIES, assert_close
from support.random_trees import CATALOGUE


@pytest.mark.parametrize("model", MOVING)
def test_gradient(model: str) -> None:
    """tau_g = -N' dPE/dq, one velocity coordinate at a time."""
    case, state = get_case(model), get_case(model).state()
    subject, context = case.subject(), case.context(state)
    tau_g = case.tree.calc_gravity_generalized_forces(context)
    tolerance = derivative_tolerance(QUANTITIES["gravity_forces"].scale(case.reference, state), 1.0)

    def energy(dq: Array, t: float) -> float:
        return subject.potential_energy(state.q + t * dq)

    for k, e in enumerate(np.eye(case.tree.num_velocities)):
        slope = time_derivative(partial(energy, case.tree.map_velocity_to_qdot(context, e)), 1.0)
        assert abs(tau_g[k] + slope) <= tolerance, k


@pytest.mark.parametrize("model", MOVING)
def test_power(model: str) -> None:
    """Conservative power = v . tau_g = -dPE/dt."""
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    power = case.tree.calc_conservative_power(context)
    speed = float(np.abs(state.v).sum())
    scale = QUANTITIES["gravity_forces"].scale(case.reference, state)
    assert_close(power, state.v @ case.tree.calc_gravity_generalized_forces(context), scale * speed)
    qdot = case.tree.map_velocity_to_qdot(context, state.v)
    slope = time_derivative(lambda t: case.subject().potential_energy(state.q + t * qdot), speed)
    assert abs(power + slope) <= derivative_tolerance(scale, speed)


@pytest.mark.parametrize("model", CATALOGUE)
def test_force_element(model: str) -> None:
    """J' of the gravity body forces is tau_g, which is minus inverse dynamics at rest under gravity alone."""
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    context.v = np.zeros(case.tree.num_velocities)
    zero = np.zeros(case.tree.num_velocities)
    tau = case.tree.calc_inverse_dynamics(context, zero, include_force_elements=True)
    scale = QUANTITIES["gravity_forces"].scale(case.reference, state)
    assert_close(-tau, case.tree.calc_gravity_generalized_forces(context), scale)


def test_without_gravity_element() -> None:
    case = get_case("no_gravity")
    context = case.context(case.state())
    np.testing.assert_array_equal(
        case.tree.calc_gravity_generalized_forces(context), np.zeros(case.tree.num_velocities)
    )
    assert case.tree.calc_potential_energy(context) == 0.0
    assert case.tree.calc_conservative_power(context) == 0.0
