"""Steps of models with constraints: errors decay, and derivatives are those of the step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.constraints import conditioning, tree_with_loops
from support.joint_types import random_state

pytestmark = pytest.mark.usefixtures("form")


def pendulum(stabilization: tuple[float, float]) -> mbt.MultibodyTree:
    """Return a ball on a massless rod that is longer than it should be."""
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    rod = mbt.DistanceConstraint(
        "rod", tree.world_body, [0, 0, 0], ball, [0, 0, 0], 1.0, stabilization=stabilization
    )
    tree.add_constraint(rod)
    tree.finalize()
    return tree


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
def test_errors_die_away(method: str) -> None:
    q, v = np.array([1.0, 0, 0, 0, 0.6, 0, -0.82]), np.zeros(6)
    tau = np.zeros((500, 6))
    errors = {}
    for omega in (0.0, 20.0):
        tree = pendulum((omega, 1.0))
        states, _ = functional.rollout(tree, q, v, tau, 2e-3, method=method)
        errors[omega] = abs(functional.constraint_errors(tree, states[-1])[0])
        # The same in lanes.
        batch, _ = functional.rollout(tree, np.array([q, q]), v, tau, 2e-3, method=method)
        np.testing.assert_allclose(batch[0], states, atol=1e-9)
    assert errors[0.0] > 1e-2
    assert errors[20.0] < 2e-3


def test_a_simulation_by_a_solver_of_scipy() -> None:
    tree = pendulum((20.0, 1.0))
    context = tree.create_default_context()
    context.q = [1.0, 0, 0, 0, 0.6, 0, -0.82]
    trajectory = mbt.simulate(tree, context, 1.0, method="RK45")
    assert abs(functional.constraint_errors(tree, trajectory.q[-1])[0]) < 1e-3


@pytest.mark.parametrize("dt", [1e-2, -1e-2])
@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
def test_derivatives_are_those_of_the_step(method: str, dt: float) -> None:
    tree = tree_with_loops(3, num_bodies=4, num_constraints=2)
    rng = np.random.default_rng(3)
    context = random_state(tree, rng)
    assert conditioning(tree, context) > 1e-2
    q, v, tau, nv = context.q, context.v, rng.normal(size=tree.num_velocities), tree.num_velocities
    h = 1e-6
    A, B = functional.step_derivatives(tree, q, v, tau, dt, method=method)
    q1, _ = functional.step(tree, q, v, tau, dt, method=method)
    columns = []
    for x in np.eye(3 * nv):
        ends = []
        for sign in (h, -h):
            dq, dv, dtau = np.split(sign * x, 3)
            moved = functional.integrate_positions(tree, q, dq, 1.0)
            q2, v2 = functional.step(tree, moved, v + dv, tau + dtau, dt, method=method)
            ends.append(np.concatenate([functional.difference_positions(tree, q1, q2), v2]))
        columns.append((ends[0] - ends[1]) / (2 * h))
    desired = np.stack(columns, axis=1)
    np.testing.assert_allclose(np.concatenate([A, B], axis=1), desired, atol=1e-6 * abs(desired).max())


class Nothing(mbt.ForceElement):
    """An element in Python that does nothing, so that steps are made in Python."""

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        pass


@pytest.mark.parametrize(
    "way", ["compiled", "in python", "one by one", "of a Context", "in lanes", "of duals"]
)
@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
def test_steps_back_in_time_are_those_of_the_film_run_backwards(method: str, way: str) -> None:
    """Without friction, a backward motion is a forward one with opposite velocities; errors decay, too."""
    tree = pendulum((20.0, 1.0))
    if way == "in python":
        tree = tree.edit()
        tree.add_force_element(Nothing())
        tree.finalize()
    # Too long by 3 mm, and moving.
    q, v = np.array([1.0, 0, 0, 0, 0.6, 0, -0.803]), np.array([0.0, 0, 0, 0.4, 0.5, 0.3])
    tau, dt = np.zeros((200, 6)), 2e-3

    def last(v: Any, dt: float) -> tuple[Any, Any]:
        if way == "of a Context":
            context = tree.create_default_context()
            context.q, context.v = q, v
            path = tree.rollout(context, tau, dt, method=method)
        elif way == "in lanes":
            path = functional.rollout(tree, np.array([q, q]), v, tau, dt, method=method)
            path = tuple(part[1] for part in path)
        elif way == "of duals":
            clone = tree.to_autodiff()
            path = functional.rollout(clone, q, v, tau[:20], dt, method=method)
            path = tuple(mbt.autodiff.value(part) for part in path)
        elif way == "one by one":
            state = q, v
            for _ in tau:
                state = functional.step(tree, *state, np.zeros(6), dt, method=method)
            path = tuple(part[None] for part in state)
        else:
            path = functional.rollout(tree, q, v, tau, dt, method=method)
        return path[0][-1], path[1][-1]

    (forward, v1), (backward, v2) = last(-v, dt), last(v, -dt)
    np.testing.assert_allclose(backward, forward, atol=1e-12)
    np.testing.assert_allclose(-v2, v1, atol=1e-12)
    if way != "of duals":
        assert abs(functional.constraint_errors(tree, backward)[0]) < 2e-3


def test_stabilization_as_time_goes_back() -> None:
    """J vdot + Jdot v = 2 zeta omega J v - omega^2 e, and its derivatives, against differences."""
    tree = tree_with_loops(3, num_bodies=4, num_constraints=2)
    rng = np.random.default_rng(3)
    context = random_state(tree, rng)
    tau = rng.normal(size=tree.num_velocities)
    vdot, _ = tree.calc_constrained_forward_dynamics(context, tau, stabilize=-1)
    J, bias = tree.calc_constraint_jacobian(context), tree.calc_constraint_bias(context)
    errors = tree.calc_constraint_errors(context)
    np.testing.assert_allclose(J @ vdot + bias, 40.0 * J @ context.v - 400.0 * errors, atol=1e-6)
    same = functional.constrained_forward_dynamics(tree, context.q, context.v, tau, stabilize=-1)
    np.testing.assert_allclose(same[0], vdot, rtol=1e-12, atol=1e-12 * abs(vdot).max())
    by_v = tree.calc_constrained_forward_dynamics_derivatives(context, tau, stabilize=-1)[1]
    v, h, columns = context.v.copy(), 1e-6, []
    for e in np.eye(tree.num_velocities):
        ends = []
        for sign in (h, -h):
            context.v = v + sign * e
            ends.append(tree.calc_constrained_forward_dynamics(context, tau, stabilize=-1)[0])
        columns.append((ends[0] - ends[1]) / (2 * h))
    np.testing.assert_allclose(by_v, np.stack(columns, 1), atol=1e-6 * abs(by_v).max())
    for wrong in (1, 0, -2, "yes"):
        with pytest.raises(mbt.ArgumentTypeError, match="stabilize"):
            tree.calc_constrained_forward_dynamics(context, stabilize=wrong)
