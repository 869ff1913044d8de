"""The motion that each mobilizer reports, against differences of its pose and of its maps."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.case import Case, get_case
from support.description import Array
from support.differences import derivative_tolerance, time_derivative
from support.quantities import State, assert_close
from support.random_trees import CATALOGUE

ONE_JOINT = [name for name in CATALOGUE if name.startswith("one_")]
MODELS = [*ONE_JOINT, "every_joint"]


class Motion:
    """A case in motion: the Context at time t, with constant v and qdot = N v."""

    def __init__(self, case: Case, state: State) -> None:
        self.case = case
        self.state = state

    def at(self, t: float, vdot: Array | None = None) -> mbt.Context:
        tree, state = self.case.tree, self.state
        context = tree.create_default_context()
        qdot = self.case.reference.qdot(state.q, state.v)
        v = state.v if vdot is None else state.v + t * vdot
        if vdot is None:
            context.q = state.q + t * qdot
        else:
            qddot = _qddot(self.case, state, vdot)
            context.q = state.q + t * qdot + t * t / 2 * qddot
        context.v = v
        return context


def _qddot(case: Case, state: State, vdot: Array) -> Array:
    """d/dt (N v) by complex step."""
    r = case.reference
    moved = state.q + 1e-30j * r.qdot(state.q, state.v)
    return np.asarray(r.N(state.q) @ vdot + np.imag(r.N(moved)) / 1e-30 @ state.v)


def _rate(case: Case, state: State) -> float:
    return 4.0 * (1.0 + float(np.abs(case.reference.qdot(state.q, state.v)).max(initial=0.0)))


@pytest.mark.parametrize("model", MODELS)
def test_pose_vs_reference(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    for joint in case.reference.model.joints:
        element = case.tree.get_joint_by_name(joint.name)
        X_FM = case.reference.X_FM(joint, state.q)
        assert_close(element.get_pose(context), X_FM, case.reference.length_scale(state.q))
        X = element.mobilizer.calc_across_mobilizer_transform(context)
        desired = np.linalg.inv(X_FM) if element.mobilizer.is_reversed else X_FM
        assert_close(X, desired, 10 * case.reference.length_scale(state.q))
        q_FM, p_FM = element.get_pose_pair(context)
        np.testing.assert_allclose(mbt.math.make_pose(p_FM, quaternion=q_FM), X_FM, atol=1e-13)


@pytest.mark.parametrize("model", MODELS)
def test_declared_velocity_vs_reference(model: str) -> None:
    """Also where the mobilizer is reversed: v determines V_FM."""
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    for joint in case.reference.model.joints:
        H = np.vstack(case.reference.motion_axes(joint, state.q))
        V_FM = case.tree.get_joint_by_name(joint.name).get_spatial_velocity(context)
        v = state.v[case.reference.v_slice(joint)]
        assert_close(V_FM, H @ v, 20 * (1.0 + float(np.abs(v).sum())), joint.name)


@pytest.mark.parametrize("model", MODELS)
def test_velocity_vs_pose(model: str) -> None:
    """V_FM = [w; v] with Rdot = [w]x R and pdot = v."""
    case = get_case(model)
    motion, rate = Motion(case, case.state()), _rate(case, case.state())
    context = motion.at(0.0)
    for mobilizer in case.tree.mobilizers:
        f = mobilizer.calc_across_mobilizer_transform
        Xdot = time_derivative(lambda t, f=f: f(motion.at(t)), rate)
        W = Xdot[:3, :3] @ f(context)[:3, :3].T
        expected = np.array([W[2, 1], W[0, 2], W[1, 0], *Xdot[:3, 3]])
        V = mobilizer.calc_across_mobilizer_spatial_velocity(context, mobilizer.get_velocities(context))
        scale = 10.0 * (1.0 + float(np.abs(f(context)).max()))
        np.testing.assert_allclose(V, expected, rtol=0, atol=derivative_tolerance(scale, rate))
        H = mobilizer.calc_hinge_matrix(context)
        np.testing.assert_allclose(V, H @ mobilizer.get_velocities(context), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("model", MODELS)
def test_acceleration_vs_velocity(model: str) -> None:
    """A_FM = H vdot + Hdot v is the rate of V_FM."""
    case, state = get_case(model), get_case(model).state()
    motion, rate = Motion(case, state), _rate(case, state)
    context = motion.at(0.0)
    for mobilizer in case.tree.mobilizers:
        f = mobilizer.calc_across_mobilizer_spatial_velocity

        def V(t: float, f=f, mobilizer=mobilizer) -> Array:  # type: ignore[no-untyped-def]
            c = motion.at(t, state.vdot)
            return np.asarray(f(c, mobilizer.get_velocities(c)))

        vdot = mobilizer.get_accelerations_from_array(state.vdot)
        A = mobilizer.calc_across_mobilizer_spatial_acceleration(context, vdot)
        scale = 50.0 * (1.0 + float(np.abs(V(0.0)).max() + np.abs(vdot).max(initial=0.0)))
        np.testing.assert_allclose(
            A, time_derivative(V, rate), rtol=0, atol=derivative_tolerance(scale, rate)
        )


@pytest.mark.parametrize("model", MODELS)
def test_forces_vs_velocities(model: str) -> None:
    """Duality: (H' F) . v = F . (H v)."""
    case, state = get_case(model), get_case(model).state()
    context, rng = case.context(state), np.random.default_rng(1)
    for mobilizer in case.tree.mobilizers:
        F, v = rng.normal(size=6), rng.normal(size=mobilizer.num_velocities)
        tau = mobilizer.project_spatial_force(context, F)
        V = mobilizer.calc_across_mobilizer_spatial_velocity(context, v)
        assert_close(tau @ v, F @ V, float(np.abs(F).sum() * np.abs(V).sum()))


@pytest.mark.parametrize("norm", [1.0, 0.4, 3.0])
@pytest.mark.parametrize("model", MODELS)
def test_maps_vs_each_other(model: str, norm: float) -> None:
    """N+ N = 1; the matrices are the maps; they are those of the whole tree."""
    case, state = get_case(model), get_case(model).state()
    q = state.q.copy()
    for start in case.reference.quaternion_starts():
        q[start : start + 4] *= norm
    context = case.context(state)
    context.q = q
    N_tree = case.reference.N(q)
    rng = np.random.default_rng(2)
    for m in case.tree.mobilizers:
        N, Nplus = m.calc_n_matrix(context), m.calc_nplus_matrix(context)
        qs, vs = (
            slice(m.position_start, m.position_start + m.num_positions),
            slice(m.velocity_start, m.velocity_start + m.num_velocities),
        )
        assert_close(N, N_tree[qs, vs], 10.0)
        assert_close(Nplus @ N, np.eye(m.num_velocities), 10.0)
        v, qdot = rng.normal(size=m.num_velocities), rng.normal(size=m.num_positions)
        assert_close(m.map_velocity_to_qdot(context, v), N @ v, 20.0)
        assert_close(m.map_qdot_to_velocity(context, qdot), Nplus @ qdot, 50.0)
        assert m.is_velocity_equal_to_qdot == (
            N.shape[0] == N.shape[1] and bool((np.eye(m.num_velocities) == N).all())
        )


@pytest.mark.parametrize("model", MODELS)
def test_rates_of_the_maps_vs_differences(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    motion, rate = Motion(case, state), _rate(case, state)
    context = motion.at(0.0)
    for m in case.tree.mobilizers:
        for rate_of_map, its_map in (
            (m.calc_n_dot_matrix, m.calc_n_matrix),
            (m.calc_nplus_dot_matrix, m.calc_nplus_matrix),
        ):
            expected = time_derivative(lambda t, f=its_map: f(motion.at(t)), rate)
            scale = 100.0 * (1.0 + float(np.abs(its_map(context)).max(initial=0.0)))
            np.testing.assert_allclose(
                rate_of_map(context), expected, rtol=0, atol=derivative_tolerance(scale, rate)
            )


@pytest.mark.parametrize("model", MODELS)
def test_second_derivatives_vs_first(model: str) -> None:
    """qddot = N vdot + Ndot v, and back."""
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    expected = _qddot(case, state, state.vdot)
    size = 100.0 * (1.0 + float(np.abs(expected).sum()))
    assert_close(case.tree.map_acceleration_to_qddot(context, state.vdot), expected, size)
    assert_close(case.tree.map_qddot_to_acceleration(context, expected), state.vdot, size)
    for m in case.tree.mobilizers:
        vdot = m.get_accelerations_from_array(state.vdot)
        qddot = m.map_acceleration_to_qddot(context, vdot)
        desired = m.get_positions_from_array(expected)
        scale = 100.0 * (1.0 + float(np.abs(desired).sum()))
        assert_close(qddot, desired, scale)
        assert_close(m.map_qddot_to_acceleration(context, qddot), vdot, scale)
