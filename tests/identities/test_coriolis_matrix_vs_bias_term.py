"""The Coriolis matrix: C v is the bias term, and Mdot - 2 C is skew (so that Coriolis forces do no work)."""

from __future__ import annotations

import numpy as np
import pytest

from support.case import MOVING, get_case
from support.differences import derivative_tolerance, time_derivative
from support.quantities import QUANTITIES, State, assert_close
from support.random_trees import CATALOGUE


def _rate_scale(model: str, state: State) -> float:
    """Size of the terms of C and Mdot: inertia times speed."""
    mass = QUANTITIES["mass_matrix"].scale(get_case(model).reference, state)
    return mass * float(np.abs(state.v).sum())


@pytest.mark.parametrize("model", CATALOGUE)
def test_product(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    C = case.tree.calc_coriolis_matrix(context)
    scale = QUANTITIES["bias_term"].scale(case.reference, state)
    scale += _rate_scale(model, state) * float(np.abs(state.v).sum())
    assert_close(C @ state.v, case.tree.calc_bias_term(context), scale)


@pytest.mark.parametrize("model", MOVING)
def test_skew(model: str) -> None:
    """With Mdot of the reference, which is exact to rounding."""
    case, state = get_case(model), get_case(model).state()
    S = case.reference.mass_matrix_rate(state.q, state.v)
    S = S - 2 * case.tree.calc_coriolis_matrix(case.context(state))
    assert_close(S + S.T, np.zeros_like(S), _rate_scale(model, state))


@pytest.mark.parametrize("model", MOVING)
def test_rate_of_own_mass_matrix(model: str) -> None:
    """C + C' = Mdot, with Mdot by differences of the tree's own mass matrix along the motion."""
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    C = case.tree.calc_coriolis_matrix(context)
    qdot = case.tree.map_velocity_to_qdot(context, state.v)
    rate = float(np.abs(state.v).sum())
    Mdot = time_derivative(lambda t: case.subject().mass_matrix(state.q + t * qdot), rate)
    mass = QUANTITIES["mass_matrix"].scale(case.reference, state)
    assert np.max(np.abs(Mdot - C - C.T)) <= derivative_tolerance(mass, rate)
