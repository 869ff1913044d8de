"""Steps between configurations: integrating a difference gets there, and small steps are qdot = N v."""

from __future__ import annotations

import numpy as np
import pytest

from support.case import MOVING, get_case
from support.quantities import assert_close
from support.random_trees import CATALOGUE


@pytest.mark.parametrize("model", CATALOGUE)
def test_difference_leads_there(model: str) -> None:
    """The configuration, not its coordinates: quaternions keep their length, angles may differ by turns."""
    case = get_case(model)
    q0, q1 = case.state(0).q, case.state(1).q
    for start in case.reference.quaternion_starts():
        q0[start : start + 4] *= 1.7
        q1[start : start + 4] *= -0.6
    v = case.tree.difference_positions(q0, q1)
    arrived = case.tree.integrate_positions(q0, v, 1.0)
    length = case.reference.length_scale(q0) + case.reference.length_scale(q1)
    assert_close(case.reference.poses(arrived), case.reference.poses(q1), 20 * length)
    for start in case.reference.quaternion_starts():
        norm = float(np.linalg.norm(arrived[start : start + 4]))
        assert norm == pytest.approx(float(np.linalg.norm(q0[start : start + 4])), rel=1e-14)
    assert_close(case.tree.difference_positions(q1, q1), np.zeros(case.tree.num_velocities), 100.0)


@pytest.mark.parametrize("model", MOVING)
@pytest.mark.parametrize("dt", [1e-3, -1e-3, 0.05])
def test_difference_returns_the_step(model: str, dt: float) -> None:
    case, state = get_case(model), get_case(model).state()
    q1 = case.tree.integrate_positions(state.q, state.v, dt)
    v = case.tree.difference_positions(state.q, q1)
    assert_close(v, dt * state.v, 300.0)


@pytest.mark.parametrize("model", MOVING)
def test_small_steps_are_qdot(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    qdot = case.reference.qdot(state.q, state.v)
    h = 1e-5
    ahead = case.tree.integrate_positions(state.q, state.v, h)
    behind = case.tree.integrate_positions(state.q, state.v, -h)
    scale = 1.0 + float(np.abs(qdot).max(initial=0.0)) ** 3
    np.testing.assert_allclose((ahead - behind) / (2 * h), qdot, rtol=0, atol=1e-8 * scale)


@pytest.mark.parametrize("model", MOVING)
def test_many_steps_are_one(model: str) -> None:
    """Rotations at a constant angular velocity are followed exactly, for any number of steps."""
    case, state = get_case(model), get_case(model).state()
    q = state.q
    for _ in range(8):
        q = case.tree.integrate_positions(q, state.v, 0.05)
    once = case.tree.integrate_positions(state.q, state.v, 0.4)
    length = case.reference.length_scale(q)
    assert_close(case.reference.poses(q), case.reference.poses(once), 100 * length)


@pytest.mark.parametrize("model", ["every_joint", "humanoid"])
def test_batches_are_loops(model: str) -> None:
    case = get_case(model)
    tree = case.tree
    q = np.array([case.state(k).q for k in range(6)]).reshape(2, 3, -1)
    v = np.array([case.state(k).v for k in range(3)])
    dt = np.array([[0.1], [0.2]])
    out = np.empty_like(q)
    assert tree.integrate_positions(q, v, dt, out=out) is out
    for i in range(2):
        for k in range(3):
            np.testing.assert_array_equal(out[i, k], tree.integrate_positions(q[i, k], v[k], dt[i, 0]))
    d = tree.difference_positions(q, q[0, 0])
    np.testing.assert_array_equal(d[1, 2], tree.difference_positions(q[1, 2], q[0, 0]))
    n = tree.normalize_positions(3.0 * q)
    np.testing.assert_array_equal(n[1, 2], tree.normalize_positions(3.0 * q[1, 2]))
    for start in case.reference.quaternion_starts():
        norms = np.linalg.norm(n[..., start : start + 4], axis=-1)
        np.testing.assert_allclose(norms, 1.0, rtol=1e-15)
