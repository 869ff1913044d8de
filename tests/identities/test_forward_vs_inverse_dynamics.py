"""Forward dynamics inverts inverse dynamics, with every kind of force, in both orders."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.case import MOVING, get_case
from support.quantities import QUANTITIES, State, assert_close


def _scales(model: str, state: State) -> tuple[float, float]:
    """Scales of generalized forces, and of accelerations: an error of the forces times the inverse of M."""
    reference = get_case(model).reference
    forces = QUANTITIES["inverse_dynamics_with_forces"].scale(reference, state)
    forces += float(np.abs(state.tau).sum())
    inverse = np.linalg.inv(reference.mass_matrix(state.q))
    return forces, forces * float(np.linalg.norm(inverse, 2))


@pytest.mark.parametrize("model", MOVING)
def test_forward_of_inverse(model: str) -> None:
    """vdot -> tau -> vdot."""
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    forces = case.subject().forces(state.body_forces)
    tau = tree.calc_inverse_dynamics(context, state.vdot, forces, include_force_elements=True)
    vdot = tree.calc_forward_dynamics(context, tau, forces)
    assert_close(vdot, state.vdot, _scales(model, state)[1])


@pytest.mark.parametrize("model", MOVING)
def test_inverse_of_forward(model: str) -> None:
    """tau -> vdot -> tau; the error is measured in forces, where it does not depend on the condition of M."""
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    forces = case.subject().forces(state.body_forces)
    vdot = tree.calc_forward_dynamics(context, state.tau, forces)
    tau = tree.calc_inverse_dynamics(context, vdot, forces, include_force_elements=True)
    moved = State(state.q, state.v, vdot, state.tau, state.body_forces)
    assert_close(tau, state.tau, _scales(model, moved)[0])


@pytest.mark.parametrize("model", MOVING)
def test_all_inputs_add_up(model: str) -> None:
    """Arguments, actuation (unchanged: no gearing) and applied forces of the Context add up."""
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    rng = np.random.default_rng(3)
    actuation = rng.uniform(-5.0, 5.0, tree.num_actuators)
    body_forces = rng.uniform(-5.0, 5.0, (tree.num_bodies, 6))
    applied = case.subject().forces(body_forces, rng.uniform(-5.0, 5.0, tree.num_velocities))
    external = case.subject().forces(state.body_forces, rng.uniform(-5.0, 5.0, tree.num_velocities))

    drive = np.zeros(tree.num_velocities)
    for value, actuator in zip(actuation, case.model.actuators, strict=True):
        drive[case.reference.v_slice(case.model.joint(actuator.joint))] += value
    total = case.subject().forces(
        state.body_forces + applied.body_forces,
        state.tau + drive + applied.generalized_forces + external.generalized_forces,
    )
    desired = tree.calc_forward_dynamics(context, None, total)

    context.actuation = actuation
    context.applied_forces.add_in_forces(applied)
    vdot = tree.calc_forward_dynamics(context, state.tau, external)
    moved = State(state.q, state.v, desired, total.generalized_forces, total.body_forces)
    assert_close(vdot, desired, _scales(model, moved)[1])


@pytest.mark.parametrize("model", MOVING)
def test_no_forces_at_all(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    zero = np.zeros(case.tree.num_velocities)
    np.testing.assert_array_equal(
        case.tree.calc_forward_dynamics(context), case.tree.calc_forward_dynamics(context, zero)
    )
    np.testing.assert_array_equal(
        case.tree.calc_forward_dynamics(context),
        case.tree.calc_forward_dynamics(context, None, mbt.MultibodyForces(case.tree)),
    )
