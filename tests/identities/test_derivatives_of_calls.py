"""Derivatives of inverse dynamics match inverse dynamics with the same arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt.autodiff import AutoDiffArray
from support.case import get_case
from support.derivatives import differences
from support.force_element_types import make_everything

ARGUMENTS = [
    (with_forces, options)
    for with_forces in (False, True)
    for options in ({}, {"include_force_elements": True})
]
TREES = {"mixed8": lambda: get_case("mixed8").tree, "every element": make_everything}


def state_of(tree: mbt.MultibodyTree) -> tuple[Any, Any, Any, mbt.MultibodyForces]:
    rng = np.random.default_rng(1)
    q = tree.random_positions(rng)
    v, vdot = rng.uniform(-1, 1, (2, tree.num_velocities))
    forces = mbt.MultibodyForces(tree)
    forces.body_forces[1:] = rng.uniform(-1, 1, (tree.num_bodies - 1, 6))
    forces.generalized_forces[:] = rng.uniform(-1, 1, tree.num_velocities)
    return q, v, vdot, forces


def derivatives(tree: Any, lead: tuple[int, ...], q: Any, v: Any, *arguments: Any, **options: Any) -> Any:
    context = tree.create_default_context(lead)
    context.q, context.v = q, v
    return tree.calc_inverse_dynamics_derivatives(context, *arguments, **options)


@pytest.mark.parametrize(("with_forces", "options"), ARGUMENTS)
@pytest.mark.parametrize("name", TREES)
def test_against_differences(name: str, with_forces: bool, options: dict[str, bool]) -> None:
    tree = TREES[name]()
    q, v, vdot, forces = state_of(tree)
    arguments = (vdot, forces) if with_forces else (vdot,)
    moved = tree.create_default_context()

    def f(q: Any, v: Any) -> Any:
        moved.q, moved.v = q, v
        return tree.calc_inverse_dynamics(moved, *arguments, **options)

    by_q, by_v, M = derivatives(tree, (), q, v, *arguments, **options)
    wanted = (*differences(f, tree, q, v, 1e-5), tree.calc_mass_matrix(moved))
    batch = derivatives(tree, (3,), q, v, *arguments, **options)
    for got, several, matrix in zip((by_q, by_v, M), batch, wanted, strict=True):
        size = np.abs(matrix).max()
        np.testing.assert_allclose(got, matrix, atol=2e-7 * size)
        np.testing.assert_allclose(several, np.broadcast_to(got, several.shape), atol=1e-12 * size)


@pytest.mark.parametrize(("with_forces", "options"), ARGUMENTS)
@pytest.mark.parametrize("name", TREES)
def test_against_numbers_with_derivatives(name: str, with_forces: bool, options: dict[str, bool]) -> None:
    """To rounding; and the clone's own derivatives have these values."""
    tree = TREES[name]()
    ad, nv = tree.to_autodiff(), tree.num_velocities
    q, v, vdot, forces = state_of(tree)
    context = tree.create_default_context()
    context.q = q
    seeds = np.eye(nv)
    moving = ad.create_default_context()
    moving.q = AutoDiffArray(
        q, np.concatenate([tree.make_velocity_to_qdot_map(context), np.zeros((q.size, nv))], 1)
    )
    moving.v = AutoDiffArray(v, np.concatenate([np.zeros((nv, nv)), seeds], 1))
    constant = mbt.MultibodyForces(ad)
    constant.body_forces, constant.generalized_forces = forces.body_forces, forces.generalized_forces
    tau = ad.calc_inverse_dynamics(moving, *((vdot, constant) if with_forces else (vdot,)), **options)
    arguments = (vdot, forces) if with_forces else (vdot,)
    by_q, by_v, _ = derivatives(tree, (), q, v, *arguments, **options)
    wanted = np.concatenate([by_q, by_v], 1)
    np.testing.assert_allclose(tau.derivatives, wanted, atol=1e-11 * np.abs(wanted).max())
    own = derivatives(ad, (), q, v, *((vdot, constant) if with_forces else (vdot,)), **options)
    np.testing.assert_allclose(own[0].value, by_q, atol=1e-11 * np.abs(wanted).max())
    np.testing.assert_allclose(own[1].value, by_v, atol=1e-11 * np.abs(wanted).max())
