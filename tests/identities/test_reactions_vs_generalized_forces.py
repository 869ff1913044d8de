"""The joint's share of its reaction is its generalized force: tau = H' F."""

from __future__ import annotations

import numpy as np
import pytest

from support.case import MOVING, get_case
from support.quantities import QUANTITIES, assert_close


@pytest.mark.parametrize("model", MOVING)
def test_projection(model: str) -> None:
    """tau_j = (relative motion of the outboard frame per unit of v_j) . F_BMo_W + rotor inertia."""
    case, state = get_case(model), get_case(model).state()
    tree, reference = case.tree, case.reference
    F_BMo_W = np.full((tree.num_bodies, 6), np.nan)
    tau = tree.calc_inverse_dynamics(
        case.context(state), state.vdot, case.subject().forces(state.body_forces), F_BMo_W_array=F_BMo_W
    )
    desired = reference.reflected_inertia * state.vdot
    J = reference.jacobians(state.q)
    X_WB = reference.poses(state.q)
    for joint, is_reversed in reference.outward:
        inboard, outboard = (joint.child, joint.parent) if is_reversed else (joint.parent, joint.child)
        X_BO = joint.X_PF if is_reversed else joint.X_BM
        P, B = reference.row(inboard), reference.row(outboard)
        p_WO = X_WB[B, :3, 3] if X_BO is None else (X_WB[B] @ X_BO)[:3, 3]
        # Velocity of the outboard frame's origin, as part of B less as part of P.
        H = np.zeros((6, joint.num_velocities))
        for sign, i in ((1, B), (-1, P)):
            Ji = J[i][:, reference.v_slice(joint)]
            H[:3] += sign * Ji[:3]
            H[3:] += sign * (Ji[3:] + np.cross(Ji[:3], p_WO - X_WB[i, :3, 3], axisa=0, axisc=0))
        desired[reference.v_slice(joint)] += H.T @ F_BMo_W[B]
    assert_close(tau, desired, QUANTITIES["inverse_dynamics_with_forces"].scale(reference, state))


@pytest.mark.parametrize("model", MOVING)
def test_whole_model_on_world(model: str) -> None:
    """The reactions of the joints on World carry the whole model: their sum is the total inertial force."""
    case, state = get_case(model), get_case(model).state()
    tree, reference = case.tree, case.reference
    F_BMo_W = np.full((tree.num_bodies, 6), np.nan)
    tree.calc_inverse_dynamics(case.context(state), state.vdot, F_BMo_W_array=F_BMo_W)
    on_world = [
        (j.parent if rev else j.child)
        for j, rev in reference.outward
        if (j.child if rev else j.parent) == "world"
    ]
    force = sum(F_BMo_W[reference.row(body), 3:] for body in on_world)
    momentum_rate = reference.inertial_forces(state.q, state.v, state.vdot)[:, 3:].sum(axis=0)
    assert_close(force, momentum_rate, QUANTITIES["inverse_dynamics"].scale(reference, state))


@pytest.mark.parametrize("model", MOVING)
def test_aliased_outputs(model: str) -> None:
    """The reactions may overwrite the applied forces, and tau the applied generalized forces."""
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    forces = case.subject().forces(state.body_forces, state.tau)
    F = np.full((tree.num_bodies, 6), np.nan)
    tau = tree.calc_inverse_dynamics(context, state.vdot, forces, F_BMo_W_array=F)
    aliased = tree.calc_inverse_dynamics(
        context, state.vdot, forces, F_BMo_W_array=forces.body_forces, out=forces.generalized_forces
    )
    np.testing.assert_array_equal(aliased, tau)
    np.testing.assert_array_equal(forces.body_forces, F)
