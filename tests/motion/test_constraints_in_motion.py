"""Steps of models with constraints: errors die away, and derivatives are those of the step."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt import functional
from support.constraints import conditioning, tree_with_loops
from support.joint_types import random_state


def pendulum(stabilization: tuple[float, float]) -> mbt.MultibodyTree:
    """Return a ball on a rod without mass, which is longer than it should be."""
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
        # In lanes the same.
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


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
def test_derivatives_are_those_of_the_step(method: str) -> None:
    tree = tree_with_loops(3, num_bodies=4, num_constraints=2)
    rng = np.random.default_rng(3)
    context = random_state(tree, rng)
    assert conditioning(tree, context) > 1e-2
    q, v, tau, nv = context.q, context.v, rng.normal(size=tree.num_velocities), tree.num_velocities
    dt, h = 1e-2, 1e-6
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
