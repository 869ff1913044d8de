"""The stateless functions agree with the Context."""

from __future__ import annotations

import numpy as np
import pytest

from mbt import functional
from support.case import MOVING, get_case
from support.quantities import QUANTITIES, assert_close
from support.random_trees import CATALOGUE


@pytest.mark.parametrize("model", CATALOGUE)
def test_same_numbers(model: str) -> None:
    case = get_case(model)
    tree, reference = case.tree, case.reference
    for k in range(2):
        state = case.state(k)
        context = case.context(state)
        q, v, vdot = state.q, state.v, state.vdot
        forces = case.subject().forces(state.body_forces)
        with_forces = QUANTITIES["inverse_dynamics_with_forces"].scale(reference, state)
        table = {
            "inverse_dynamics": (
                functional.inverse_dynamics(tree, q, v, vdot),
                tree.calc_inverse_dynamics(context, vdot, include_force_elements=True),
                with_forces,
            ),
            "inverse_dynamics with forces": (
                functional.inverse_dynamics(tree, q, v, vdot, external_forces=forces),
                tree.calc_inverse_dynamics(context, vdot, forces, include_force_elements=True),
                with_forces,
            ),
            "forward_dynamics": (
                functional.forward_dynamics(tree, q, v, state.tau),
                tree.calc_forward_dynamics(context, state.tau),
                QUANTITIES["forward_dynamics"].scale(reference, state),
            ),
            "forward_dynamics with forces": (
                functional.forward_dynamics(tree, q, v, state.tau, external_forces=forces),
                tree.calc_forward_dynamics(context, state.tau, forces),
                QUANTITIES["forward_dynamics"].scale(reference, state),
            ),
            "mass_matrix": (
                functional.mass_matrix(tree, q),
                tree.calc_mass_matrix(context),
                QUANTITIES["mass_matrix"].scale(reference, state),
            ),
            "bias_term": (functional.bias_term(tree, q, v), tree.calc_bias_term(context), with_forces),
            "gravity": (
                functional.gravity_generalized_forces(tree, q),
                tree.calc_gravity_generalized_forces(context),
                with_forces,
            ),
            "body_poses": (
                functional.body_poses(tree, q),
                tree.eval_position_kinematics(context).X_WB,
                QUANTITIES["poses"].scale(reference, state),
            ),
        }
        for name, (actual, desired, scale) in table.items():
            assert_close(actual, desired, scale, name)


@pytest.mark.parametrize("model", CATALOGUE)
def test_frame_jacobian(model: str) -> None:
    """In World, at the frame's own origin; for offset frames too."""
    case, state = get_case(model), get_case(model).state()
    scale = QUANTITIES["jacobians"].scale(case.reference, state)
    for name in [frame.name for frame in case.model.frames] + [body.name for body in case.model.bodies[:2]]:
        J = functional.frame_jacobian(case.tree, state.q, case.tree.get_frame_by_name(name))
        desired = case.reference.point_jacobian(state.q, name, np.zeros(3), "world", "world")
        assert_close(J, desired, scale, name)


@pytest.mark.parametrize("model", MOVING)
def test_inverse_of_each_other(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    tau = functional.inverse_dynamics(case.tree, state.q, state.v, state.vdot)
    vdot = functional.forward_dynamics(case.tree, state.q, state.v, tau)
    inverse = np.linalg.norm(np.linalg.inv(case.reference.mass_matrix(state.q)), 2)
    scale = QUANTITIES["inverse_dynamics"].scale(case.reference, state) * float(inverse)
    assert_close(vdot, state.vdot, scale)


@pytest.mark.parametrize("model", ["arm7", "humanoid"])
def test_actuation_is_not_included(model: str) -> None:
    """Stateless functions use nothing from any Context."""
    case, state = get_case(model), get_case(model).state()
    before = functional.forward_dynamics(case.tree, state.q, state.v, state.tau)
    context = case.context(state)
    context.actuation = np.full(case.tree.num_actuators, 100.0)
    assert case.tree.num_actuators > 0
    assert not np.allclose(case.tree.calc_forward_dynamics(context, state.tau), before)
    after = functional.forward_dynamics(case.tree, state.q, state.v, state.tau)
    np.testing.assert_array_equal(after, before)
