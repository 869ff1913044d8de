"""Every quantity of every model of the catalogue against the plain NumPy reference."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.case import MOVING, get_case
from support.description import WORLD
from support.quantities import QUANTITIES, assert_close, assert_same_quantity
from support.random_trees import CATALOGUE

NEEDS_MASS = ("center_of_mass", "center_of_mass_velocity")
COMBINATIONS = [
    (model, quantity)
    for model in CATALOGUE
    for quantity in QUANTITIES
    if not (model == "world_only" and quantity in NEEDS_MASS)
]


@pytest.mark.parametrize(("model", "quantity"), COMBINATIONS)
def test_quantity(model: str, quantity: str) -> None:
    case = get_case(model)
    for k in range(2):
        assert_same_quantity(quantity, case.subject(), case.reference, case.reference, case.state(k))


@pytest.mark.parametrize("model", MOVING)
def test_quaternions_need_not_be_unit(model: str) -> None:
    """A quaternion of any norm gives the same rotation; it is read back as set."""
    case, state = get_case(model), get_case(model).state()
    q = state.q.copy()
    for start in case.reference.quaternion_starts():
        q[start : start + 4] *= 1.7
    context = case.context(state)
    context.q = q
    np.testing.assert_array_equal(context.q, q)
    tau = case.tree.calc_inverse_dynamics(context, state.vdot)
    desired = case.reference.inverse_dynamics(state.q, state.v, state.vdot)
    assert_close(tau, desired, QUANTITIES["inverse_dynamics"].scale(case.reference, state))


@pytest.mark.parametrize("turns", [1e1, 1e4, 1e7, 1e12, 1e100])
def test_many_turns(turns: float) -> None:
    """An angle is an exact number, however large: its sine is right to the last digit."""
    case, rng = get_case("arm7"), np.random.default_rng(4)
    q = turns * rng.uniform(-10.0, 10.0, 7)
    X_WB = case.subject().poses(q)
    assert_close(X_WB, case.reference.poses(q), QUANTITIES["poses"].scale(case.reference, case.state()))


@pytest.mark.parametrize("norm", [1e-100, 1e-10, 1e10, 1e100])
def test_quaternions_of_any_size(norm: float) -> None:
    case = get_case("one_floating")
    q = case.state().q.copy()
    desired = case.subject().poses(q)
    q[:4] *= norm
    assert_close(case.subject().poses(q), desired, QUANTITIES["poses"].scale(case.reference, case.state()))


@pytest.mark.parametrize("model", CATALOGUE)
def test_inverse_dynamics_with_everything(model: str) -> None:
    """External spatial and generalized forces, gravity and damping at once; A_WB and F_BMo_W on the way."""
    case, state = get_case(model), get_case(model).state()
    reference, tree = case.reference, case.tree
    forces = case.subject().forces(state.body_forces, state.tau)
    A_WB, F_BMo_W = np.full((2, tree.num_bodies, 6), np.nan)
    tau = tree.calc_inverse_dynamics(
        case.context(state),
        state.vdot,
        forces,
        include_force_elements=True,
        A_WB_array=A_WB,
        F_BMo_W_array=F_BMo_W,
    )
    scale = QUANTITIES["inverse_dynamics_with_forces"].scale(reference, state) + np.abs(state.tau).sum()
    desired = reference.inverse_dynamics(
        state.q, state.v, state.vdot, state.body_forces, state.tau, include_force_elements=True
    )
    assert_close(tau, desired, scale, "tau")
    A_scale = QUANTITIES["accelerations"].scale(reference, state)
    assert_close(A_WB, reference.accelerations(state.q, state.v, state.vdot), A_scale, "A_WB")
    all_forces = state.body_forces + reference.gravity_body_forces(state.q)
    F = reference.inboard_reactions(state.q, state.v, state.vdot, all_forces)
    assert_close(F_BMo_W, F, scale, "F_BMo_W")


@pytest.mark.parametrize("model", CATALOGUE)
def test_force_elements(model: str) -> None:
    """Gravity as body forces, damping as generalized forces; old contents of `forces` are overwritten."""
    case, state = get_case(model), get_case(model).state()
    forces = mbt.MultibodyForces(case.tree)
    forces.body_forces[:] = np.nan
    forces.generalized_forces[:] = np.nan
    case.tree.calc_force_elements_contribution(case.context(state), forces)
    weight = case.reference.total_mass() * float(np.linalg.norm(case.reference.gravity))
    desired = case.reference.gravity_body_forces(state.q)
    assert_close(forces.body_forces, desired, weight, "body_forces")
    # One product each: exact.
    np.testing.assert_array_equal(forces.generalized_forces, case.reference.damping_forces(state.v))


@pytest.mark.parametrize("model", CATALOGUE)
def test_qdot_and_v(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    qdot = case.tree.map_velocity_to_qdot(context, state.v)
    speed = float(np.abs(state.v).sum())
    assert_close(qdot, case.reference.qdot(state.q, state.v), speed, "qdot")
    any_qdot = np.random.default_rng(1).normal(size=case.tree.num_positions)
    v = case.tree.map_qdot_to_velocity(context, any_qdot)
    assert_close(v, case.reference.Nplus(state.q) @ any_qdot, float(np.abs(any_qdot).sum()), "v")


def _frame(tree: mbt.MultibodyTree, name: str) -> mbt.Frame:
    return tree.world_frame if name == WORLD else tree.get_frame_by_name(name)


def _frame_pairs(model: str) -> list[tuple[str, str]]:
    case = get_case(model)
    frames = [WORLD, *(frame.name for frame in case.model.frames)]
    frames += [case.model.bodies[i].name for i in (0, -1) if case.model.bodies]
    return [(B, A) for B in frames for A in frames]


@pytest.mark.parametrize("model", ["world_only", "arm7", "mixed8", "mixed8_reversed", "free_forest"])
def test_points_and_frames(model: str) -> None:
    """Relative poses, points and Jacobians between all pairs of frames, expressed in a third."""
    case, state = get_case(model), get_case(model).state()
    tree, reference, context = case.tree, case.reference, case.context(state)
    scale = reference.length_scale(state.q) + 3.0
    p_BP = np.random.default_rng(2).uniform(-1.0, 1.0, (3, 4))
    E = case.model.frames[0].name
    for B, A in _frame_pairs(model):
        what = f"{B} in {A}"
        X_AB = np.linalg.solve(reference.frame_pose(state.q, A), reference.frame_pose(state.q, B))
        frame_B, frame_A = _frame(tree, B), _frame(tree, A)
        assert_close(tree.calc_relative_transform(context, frame_A, frame_B), X_AB, scale, what)
        p_AP = tree.calc_points_positions(context, frame_B, p_BP, frame_A)
        assert_close(p_AP, X_AB[:3, :3] @ p_BP + X_AB[:3, 3:], scale, what)
        J = tree.calc_jacobian_spatial_velocity(context, "v", frame_B, p_BP[:, 0], frame_A, _frame(tree, E))
        assert_close(J, reference.point_jacobian(state.q, B, p_BP[:, 0], A, E), scale, what)


@pytest.mark.parametrize("model", CATALOGUE)
def test_total_mass(model: str) -> None:
    case = get_case(model)
    total = case.reference.total_mass()
    assert_close(case.tree.calc_total_mass(case.tree.create_default_context()), total, total)


@pytest.mark.parametrize("model", CATALOGUE)
def test_momentum_and_power(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    reference, context = case.reference, case.context(state)
    p_WP = np.array([0.3, -0.2, 0.5])
    L = case.tree.calc_spatial_momentum_in_world_about_point(context, p_WP)
    speed = float(np.abs(state.v).sum())
    # (Inertia as a bound for mass times length too: lengths here are at least 1 m.)
    scale = QUANTITIES["mass_matrix"].scale(reference, state) * speed
    assert_close(L, reference.momentum(state.q, state.v, p_WP), scale, "momentum")
    power = case.tree.calc_non_conservative_power(context)
    assert_close(power, reference.damping_forces(state.v) @ state.v, float(reference.damping @ state.v**2))
