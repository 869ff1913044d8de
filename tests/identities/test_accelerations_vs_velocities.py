"""A_WB is the time derivative of V_WB: the classical acceleration of Bo, with no frame-dependent surprise."""

from __future__ import annotations

import numpy as np
import pytest

from support.case import MOVING, get_case
from support.differences import derivative_tolerance, time_derivative
from support.quantities import assert_close
from support.random_trees import CATALOGUE


@pytest.mark.parametrize("model", MOVING)
def test_differences(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    tree, subject = case.tree, case.subject()
    context = case.context(state)
    A_WB = tree.calc_spatial_accelerations_from_vdot(context, state.vdot)
    qdot = tree.map_velocity_to_qdot(context, state.v)
    speed = float(np.abs(state.v).sum())
    rate = speed + float(np.abs(state.vdot).max())
    slope = time_derivative(lambda t: subject.velocities(state.q + t * qdot, state.v + t * state.vdot), rate)
    tolerance = derivative_tolerance(case.reference.length_scale(state.q) * speed, rate)
    assert np.max(np.abs(slope - A_WB)) <= tolerance


@pytest.mark.parametrize("model", CATALOGUE)
def test_cache_form(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    A_WB = case.tree.calc_spatial_accelerations_from_vdot(context, state.vdot)
    cache = case.tree.calc_acceleration_kinematics_cache(context, state.vdot)
    np.testing.assert_array_equal(cache.A_WB, A_WB)
    assert_close(A_WB[0], np.zeros(6), 0.0, "World does not accelerate")
