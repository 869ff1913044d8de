"""Underflow is gradual: results below the smallest normal number are rounded, not flushed to zero."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.autodiff import AutoDiffArray

TINY = 1e-310
MASSES = (2.0, 4.0, 0.5)


@cache
def sliders() -> mbt.MultibodyTree:
    """Masses that slide side by side, without gravity: tau = m vdot, dof by dof."""
    tree = mbt.MultibodyTree()
    for i, mass in enumerate(MASSES):
        block = tree.add_body(mbt.RigidBody(f"block{i}", mbt.SpatialInertia.solid_cube_with_mass(mass, 1.0)))
        tree.add_joint(mbt.PrismaticJoint, f"rail{i}", tree.world_body, None, block, None, axis=[0, 0, 1])
    tree.finalize()
    return tree


def context(shape: tuple[int, ...] = ()) -> Any:
    return sliders().create_default_context(shape)


ZERO = np.zeros(len(MASSES))
MANY = np.zeros((1000, len(MASSES)))

# Powers of two are exact, below the smallest normal number too.
FORWARD: dict[str, Callable[[Any], Any]] = {
    "function": lambda tau: functional.forward_dynamics(sliders(), ZERO, ZERO, tau),
    "functions of a batch": lambda tau: functional.forward_dynamics(sliders(), MANY, MANY, tau + MANY)[-1],
    "Context": lambda tau: sliders().calc_forward_dynamics(context(), tau),
    "Context of a batch": lambda tau: sliders().calc_forward_dynamics(context((1000,)), tau)[-1],
    "numbers with derivatives": lambda tau: _of_duals(tau).value,
    "derivatives": lambda tau: _of_duals(AutoDiffArray(ZERO, np.diag(tau))).derivatives.diagonal(),
}


def _of_duals(tau: Any) -> Any:
    dual = sliders().to_autodiff()
    return dual.calc_forward_dynamics(dual.create_default_context(), tau)


@pytest.mark.parametrize("way", FORWARD)
def test_forward_dynamics(way: str) -> None:
    tau = np.array([TINY, -3 * TINY, 5e-324])
    np.testing.assert_array_equal(FORWARD[way](tau), tau / MASSES)


def test_inverse_dynamics() -> None:
    vdot = np.array([TINY, -3 * TINY, 5e-324 * 2])
    np.testing.assert_array_equal(functional.inverse_dynamics(sliders(), ZERO, ZERO, vdot), vdot * MASSES)


def test_the_last_number_is_rounded() -> None:
    """Half of the smallest number is a tie, which rounds to zero; three quarters round up."""
    smallest = 5e-324
    tau = np.array([smallest, 3 * smallest, 0.0])
    vdot = functional.forward_dynamics(sliders(), ZERO, ZERO, tau)
    np.testing.assert_array_equal(vdot, [0.0, smallest, 0.0])


def test_kinetic_energy_and_power_underflow_to_zero() -> None:
    state = context()
    state.v = np.full(len(MASSES), 1e-200)
    assert sliders().calc_kinetic_energy(state) == 0.0
    state.v = np.full(len(MASSES), 1e-155)
    assert 0.0 < sliders().calc_kinetic_energy(state) < 2.3e-308


def test_threads_of_a_batch() -> None:
    """Each thread has its own floating-point mode."""
    before = mbt.get_num_threads()
    q = np.zeros((200_000, len(MASSES)))
    try:
        mbt.set_num_threads(4)
        vdot = functional.forward_dynamics(sliders(), q, q, np.full_like(q, TINY))
    finally:
        mbt.set_num_threads(before)
    np.testing.assert_array_equal(vdot, np.broadcast_to(TINY / np.array(MASSES), q.shape))
