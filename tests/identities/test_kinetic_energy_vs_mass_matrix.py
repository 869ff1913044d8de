"""Kinetic energy in three ways."""

from __future__ import annotations

import numpy as np
import pytest

from support.case import MOVING, get_case
from support.quantities import QUANTITIES, assert_close


@pytest.mark.parametrize("model", MOVING)
def test_quadratic_form(model: str) -> None:
    """KE = v' M v / 2."""
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    KE = case.tree.calc_kinetic_energy(context)
    desired = state.v @ case.tree.calc_mass_matrix(context) @ state.v / 2
    assert_close(KE, desired, QUANTITIES["kinetic_energy"].scale(case.reference, state))


@pytest.mark.parametrize("model", MOVING)
def test_sum_over_bodies(model: str) -> None:
    """KE = sum of V_WB' M_B V_WB / 2 with the bodies' own inertias, and of the rotors."""
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    X_WB = case.tree.eval_position_kinematics(context).X_WB
    V_WB = case.tree.eval_velocity_kinematics(context).V_WB
    total = 0.5 * np.sum(case.reference.reflected_inertia * state.v**2)
    for body in case.tree.bodies[1:]:
        i = body.node_index
        V_B = np.concatenate(np.split(V_WB[i], 2) @ X_WB[i, :3, :3])
        total += V_B @ body.default_spatial_inertia.as_matrix6() @ V_B / 2
    KE = case.tree.calc_kinetic_energy(context)
    assert_close(KE, total, QUANTITIES["kinetic_energy"].scale(case.reference, state))
