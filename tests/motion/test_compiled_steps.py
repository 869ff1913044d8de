"""Steps in one compiled call match the general implementation, which has its own tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt._core.api import step_derivatives, steps
from support.case import FEW, get_case

METHODS = ("semi_implicit_euler", "rk4")


def refuse(*_: object) -> None:
    """Force the general implementation."""


def states_of(name: str, count: int) -> tuple[mbt.MultibodyTree, Any, Any, Any]:
    case = get_case(name)
    tree, rng = case.tree, np.random.default_rng(4)
    state = case.state()
    v, tau = rng.normal(size=(2, count, tree.num_velocities))
    q = functional.integrate_positions(tree, state.q, 0.1 * v, 1.0)
    return tree, q, v, tau


@pytest.mark.parametrize("dt", [0.01, -0.02])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", FEW)
def test_derivatives_of_the_general_way(
    name: str, method: str, dt: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, q, v, tau = states_of(name, 19)
    found = functional.step_derivatives(tree, q, v, tau[0], dt, method=method)
    one = functional.step_derivatives(tree, q[3].copy(), v[3].copy(), tau[0].copy(), dt, method=method)
    outs = np.empty_like(found[0]), np.empty_like(found[1])
    same = functional.step_derivatives(tree, q, v, tau[0], dt, method=method, out=outs)
    monkeypatch.setattr(step_derivatives, "step_derivatives", refuse)
    wanted = functional.step_derivatives(tree, q, v, tau[0], dt, method=method)
    for X, X_one, X_out, Y, out in zip(found, one, same, wanted, outs, strict=True):
        scale = max(1.0, float(np.abs(Y).max()))
        np.testing.assert_allclose(X, Y, rtol=1e-12, atol=1e-12 * scale)
        np.testing.assert_allclose(X_one, Y[3], rtol=1e-12, atol=1e-12 * scale)
        assert X_out is out
        np.testing.assert_array_equal(X_out, X)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", FEW)
def test_steps_of_the_general_way(name: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit, even if all samples start from the same state, and with strided forces."""
    tree, q, v, tau = states_of(name, 19)
    spread = np.stack([tau, 2.0 * tau], axis=1)[:, 1]
    cases = [(q, v, tau), (q[0], v[0], tau), (q, v[0], spread), (q[:1], v, tau[0])]
    found = [functional.step(tree, *case, 0.01, method=method) for case in cases]
    in_place = q.copy(), v.copy()
    functional.step(tree, *in_place, tau, 0.01, method=method, out=in_place)
    monkeypatch.setattr(steps, "step", refuse)
    wanted = [functional.step(tree, *case, 0.01, method=method) for case in cases]
    for some, others in zip([*found, in_place], [*wanted, wanted[0]], strict=True):
        for x, y in zip(some, others, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("every", [1, 2, 3])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", FEW)
def test_rollouts_of_the_general_way(
    name: str, method: str, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit: one state or many, with forces for each step or repeated ones."""
    tree, q, v, tau = states_of(name, 10)
    once = np.broadcast_to(tau[0], (7, tau.shape[1]))
    each = np.random.default_rng(5).normal(size=(10, 7, tau.shape[1]))
    cases = [(q[0].copy(), v[0].copy(), each[0]), (q[0].copy(), v[0].copy(), once)]
    cases += [(q, v, each), (q[0], v[0], each), (q, v, once)]

    def roll_out() -> list[Any]:
        return [functional.rollout(tree, *case, 0.01, method=method, every=every) for case in cases]

    found = roll_out()
    monkeypatch.setattr(steps, "roll_out", refuse)
    monkeypatch.setattr(steps, "roll_out_context", refuse)
    for some, others in zip(found, roll_out(), strict=True):
        for x, y in zip(some, others, strict=True):
            np.testing.assert_array_equal(x, y)


def test_rollout_of_a_context_with_all_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters, actuation, applied forces and locks act as they do in general, to the last bit."""
    tree = mbt.MultibodyTree()
    parent, joints = tree.world_body, []
    for i in range(3):
        body = tree.add_body(mbt.RigidBody(f"link{i}", mbt.SpatialInertia.point_mass(1.0, [0.1, 0, -0.5])))
        X_PF = mbt.math.make_pose(p=[0, 0, -1.0])
        joints.append(tree.add_joint(mbt.RevoluteJoint, f"j{i}", parent, X_PF, body, None, axis=[0, 1, 0]))
        parent = body
    tree.add_joint_actuator("motor", joints[1])
    tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -9.81]))
    tree.finalize()
    context = tree.create_default_context()
    context.q, context.v = [0.3, -0.2, 0.5], [1.0, 2.0, -1.0]
    tau = np.random.default_rng(1).normal(size=(5, 3))
    plain = tree.rollout(context, tau, 0.01)[0][-1]
    ends = [plain]
    for change in (
        lambda: parent.set_mass(context, 2.0),
        lambda: setattr(context, "actuation", [3.0]),
        lambda: context.applied_forces.body_forces.__setitem__((2, 3), 4.0),
        lambda: context.applied_forces.generalized_forces.__setitem__(0, 1.0),
        lambda: joints[0].lock(context),
    ):
        change()
        q, v = tree.rollout(context, tau, 0.01)
        with monkeypatch.context() as patch:
            patch.setattr(steps, "roll_out_context", refuse)
            q_general, v_general = tree.rollout(context, tau, 0.01)
        np.testing.assert_array_equal(q, q_general)
        np.testing.assert_array_equal(v, v_general)
        assert np.abs(q[-1] - ends[-1]).max() > 1e-6
        ends.append(q[-1])
    assert v[:, 0].tolist() == [0.0] * 6
