"""A tree of every joint type in both directions and every force element: all routes to its dynamics agree."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import mbt
from mbt import functional
from support.force_element_types import make_everything
from support.joint_types import random_state


@cache
def _tree() -> mbt.MultibodyTree:
    return make_everything()


def _states(count: int) -> list[mbt.Context]:
    return [random_state(_tree(), np.random.default_rng(k)) for k in range(count)]


def _rates(count: int) -> np.ndarray:
    return np.random.default_rng(9).normal(size=(count, _tree().num_velocities))


def test_inverse_dynamics_is_mass_times_acceleration_less_forces() -> None:
    """tau = M vdot + C v - tau_elements - J' F_elements."""
    tree = _tree()
    for context, vdot in zip(_states(3), _rates(3), strict=True):
        forces = mbt.MultibodyForces(tree)
        tree.calc_force_elements_contribution(context, forces)
        desired = tree.calc_mass_matrix(context) @ vdot + tree.calc_bias_term(context)
        desired -= forces.generalized_forces
        for body in tree.bodies[1:]:
            J = tree.calc_jacobian_spatial_velocity(
                context, "v", body.body_frame, np.zeros(3), tree.world_frame, tree.world_frame
            )
            desired -= J.T @ forces.body_forces[body.node_index]
        tau = tree.calc_inverse_dynamics(context, vdot, include_force_elements=True)
        np.testing.assert_allclose(tau, desired, atol=1e-12 * np.abs(desired).max())


def test_forward_dynamics_inverts_inverse_dynamics() -> None:
    tree = _tree()
    for context, vdot in zip(_states(3), _rates(3), strict=True):
        tau = tree.calc_inverse_dynamics(context, vdot, include_force_elements=True)
        condition = np.linalg.cond(tree.calc_mass_matrix(context))
        back = tree.calc_forward_dynamics(context, tau)
        np.testing.assert_allclose(back, vdot, atol=1e-14 * condition * np.abs(vdot).max())


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_batch_is_a_loop(name: str) -> None:
    tree, contexts, inputs = _tree(), _states(9), _rates(9)
    function = getattr(functional, name)
    q, v = np.array([c.q for c in contexts]), np.array([c.v for c in contexts])
    batch = function(tree, q, v, inputs)
    for k, context in enumerate(contexts):
        single = function(tree, q[k], v[k], inputs[k])
        np.testing.assert_allclose(batch[k], single, rtol=1e-12, atol=1e-12 * np.abs(single).max())
        if name == "inverse_dynamics":
            by_context = tree.calc_inverse_dynamics(context, inputs[k], include_force_elements=True)
        else:
            by_context = tree.calc_forward_dynamics(context, inputs[k])
        np.testing.assert_allclose(single, by_context, rtol=1e-12, atol=1e-12 * np.abs(single).max())


def test_rate_of_the_energy_is_the_power() -> None:
    tree, context = _tree(), _states(1)[0]
    vdot = tree.calc_forward_dynamics(context)
    qdot = tree.map_velocity_to_qdot(context, context.v)
    energy_rate = []
    for h in (1e-4, 2e-4):
        energies = []
        for sign in (1.0, -1.0):
            moved = context.clone()
            moved.q, moved.v = context.q + sign * h * qdot, context.v + sign * h * vdot
            energies.append(tree.calc_potential_energy(moved) + tree.calc_kinetic_energy(moved))
        energy_rate.append((energies[0] - energies[1]) / (2 * h))
    rate = (4 * energy_rate[0] - energy_rate[1]) / 3
    power = tree.calc_non_conservative_power(context)
    assert rate == pytest.approx(power, abs=1e-6 * tree.calc_kinetic_energy(context))
