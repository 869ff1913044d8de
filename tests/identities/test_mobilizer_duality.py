"""Every mobilizer in both directions: its motion and its forces are dual, and so are its maps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import mbt
from support.joint_types import MOVING_JOINT_TYPES, add_joint_of_type, add_random_body, random_state

CASES = pytest.mark.parametrize(
    ("kind", "is_reversed"),
    [
        pytest.param(kind, is_reversed, id=f"{kind} {'reversed' if is_reversed else 'forward'}")
        for kind in MOVING_JOINT_TYPES
        for is_reversed in (False, True)
    ],
)


class Setup:
    """A mobilizer between two moving bodies, in a random state from which it can move on."""

    def __init__(self, kind: str, is_reversed: bool) -> None:
        rng = np.random.default_rng(7)
        self.tree = tree = mbt.MultibodyTree()
        bodies = [tree.world_body] + [add_random_body(tree, rng, f"body{i}") for i in range(2)]
        add_joint_of_type(tree, "revolute", "hinge", bodies[0], bodies[1], rng)
        joint = add_joint_of_type(tree, kind, "joint", bodies[1], bodies[2], rng, is_reversed=is_reversed)
        tree.finalize()
        self.mobilizer = joint.mobilizer
        assert self.mobilizer.is_reversed == is_reversed
        self.context = random_state(tree, rng)
        self.v = self.mobilizer.get_velocities(self.context).copy()
        self.vdot = rng.normal(size=self.mobilizer.num_velocities)
        self.rng = rng

    def at(self, t: float) -> mbt.Context:
        """The state after a time t, to second order: v + vdot t, q + qdot t + qddot t^2 / 2."""
        m, context = self.mobilizer, self.context.clone()
        qdot = m.map_velocity_to_qdot(self.context, self.v)
        qddot = m.calc_n_matrix(self.context) @ self.vdot + m.calc_n_dot_matrix(self.context) @ self.v
        m.set_positions(context, m.get_positions(self.context) + t * qdot + t * t / 2 * qddot)
        m.set_velocities(context, self.v + t * self.vdot)
        return context

    def rate(self, f: Callable[[mbt.Context], np.ndarray]) -> np.ndarray:
        """df/dt: symmetric differences, extrapolated."""
        h = 1e-3
        a, b = ((f(self.at(k * h)) - f(self.at(-k * h))) / (2 * k * h) for k in (1, 2))
        return np.asarray((4 * a - b) / 3)


@CASES
def test_forces_are_dual_to_velocities(kind: str, is_reversed: bool) -> None:
    """(H' F) . v = F . (H v)."""
    setup = Setup(kind, is_reversed)
    m, context = setup.mobilizer, setup.context
    H_FM = m.calc_hinge_matrix(context)
    V_FM = m.calc_across_mobilizer_spatial_velocity(context, setup.v)
    np.testing.assert_allclose(V_FM, H_FM @ setup.v, atol=1e-14)
    for _ in range(5):
        F_Mo_F = setup.rng.normal(size=6)
        tau = m.project_spatial_force(context, F_Mo_F)
        np.testing.assert_allclose(tau, H_FM.T @ F_Mo_F, atol=1e-13)
        assert tau @ setup.v == pytest.approx(F_Mo_F @ V_FM, abs=1e-13)


@CASES
def test_velocity_is_the_rate_of_the_pose(kind: str, is_reversed: bool) -> None:
    setup = Setup(kind, is_reversed)
    m = setup.mobilizer
    X_FM = m.calc_across_mobilizer_transform(setup.context)
    rate = setup.rate(m.calc_across_mobilizer_transform)
    W = rate[:3, :3] @ X_FM[:3, :3].T
    V_FM = m.calc_across_mobilizer_spatial_velocity(setup.context, setup.v)
    np.testing.assert_allclose(V_FM, [W[2, 1], W[0, 2], W[1, 0], *rate[:3, 3]], atol=1e-9)


@CASES
def test_acceleration_is_the_rate_of_the_velocity(kind: str, is_reversed: bool) -> None:
    setup = Setup(kind, is_reversed)
    m = setup.mobilizer
    A_FM = m.calc_across_mobilizer_spatial_acceleration(setup.context, setup.vdot)
    rate = setup.rate(lambda c: m.calc_across_mobilizer_spatial_velocity(c, m.get_velocities(c)))
    np.testing.assert_allclose(A_FM, rate, atol=1e-8)


@CASES
def test_mobilizer_agrees_with_the_tree(kind: str, is_reversed: bool) -> None:
    """Its pose and motion are those of its outboard frame in its inboard frame."""
    setup = Setup(kind, is_reversed)
    m, context = setup.mobilizer, setup.context
    F, M = m.inboard_frame, m.outboard_frame
    np.testing.assert_allclose(
        m.calc_across_mobilizer_transform(context), M.calc_pose(context, F), atol=1e-14
    )
    V_FM = m.calc_across_mobilizer_spatial_velocity(context, setup.v)
    np.testing.assert_allclose(V_FM, M.calc_spatial_velocity(context, F, F), atol=1e-13)


@CASES
def test_maps_between_v_and_qdot(kind: str, is_reversed: bool) -> None:
    """N+ N = 1, and the maps are the matrices."""
    setup = Setup(kind, is_reversed)
    m, context = setup.mobilizer, setup.context
    # A quaternion need not be of unit length.
    if m.num_positions > m.num_velocities:
        m.set_positions(context, 1.7 * m.get_positions(context))
    N, Nplus = m.calc_n_matrix(context), m.calc_nplus_matrix(context)
    assert N.shape == (m.num_positions, m.num_velocities)
    np.testing.assert_allclose(Nplus @ N, np.eye(m.num_velocities), atol=1e-13)
    qdot = m.map_velocity_to_qdot(context, setup.v)
    np.testing.assert_allclose(qdot, N @ setup.v, atol=1e-14)
    np.testing.assert_allclose(m.map_qdot_to_velocity(context, qdot), setup.v, atol=1e-13)
    any_qdot = setup.rng.normal(size=m.num_positions)
    np.testing.assert_allclose(m.map_qdot_to_velocity(context, any_qdot), Nplus @ any_qdot, atol=1e-13)


@CASES
def test_rates_of_the_maps(kind: str, is_reversed: bool) -> None:
    setup = Setup(kind, is_reversed)
    m = setup.mobilizer
    np.testing.assert_allclose(m.calc_n_dot_matrix(setup.context), setup.rate(m.calc_n_matrix), atol=1e-9)
    np.testing.assert_allclose(
        m.calc_nplus_dot_matrix(setup.context), setup.rate(m.calc_nplus_matrix), atol=1e-9
    )
