"""Derivatives of inverse and forward dynamics against central differences of the same calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import mbt
from mbt import functional
from support.case import FEW, MOVING, Case, get_case
from support.derivatives import Function, Triple, differences
from support.description import Array
from support.force_element_types import make_everything
from support.quantities import State


def relative(a: Array, b: Array) -> float:
    return float(np.max(np.abs(a - b), initial=0.0) / (1.0 + np.max(np.abs(b), initial=0.0)))


def forces_of(tree: mbt.MultibodyTree, state: State) -> mbt.MultibodyForces:
    forces = mbt.MultibodyForces(tree)
    forces.body_forces[:] = state.body_forces
    forces.generalized_forces[:] = state.tau
    return forces


def inverse(case: Case, state: State, **keywords: bool) -> tuple[Function, Triple]:
    context, moved, forces = case.context(state), case.context(state), forces_of(case.tree, state)

    def f(q: Array, v: Array) -> Array:
        moved.q, moved.v = q, v
        return case.tree.calc_inverse_dynamics(moved, state.vdot, forces, **keywords)

    return f, case.tree.calc_inverse_dynamics_derivatives(context, state.vdot, forces, **keywords)


def forward(
    case: Case, state: State, change: Callable[[mbt.Context], object] = lambda c: None
) -> tuple[Function, Triple]:
    context, forces = case.context(state), forces_of(case.tree, state)
    context.actuation = np.linspace(-1.0, 1.0, case.tree.num_actuators)
    context.applied_forces.body_forces[:] = 0.5 * state.body_forces[::-1]
    change(context)
    moved = context.clone()

    def f(q: Array, v: Array) -> Array:
        moved.q, moved.v = q, v
        return case.tree.calc_forward_dynamics(moved, state.tau, forces)

    return f, case.tree.calc_forward_dynamics_derivatives(context, state.tau, forces)


@pytest.mark.parametrize("name", MOVING)
def test_inverse_dynamics_with_external_forces(name: str) -> None:
    case, state = get_case(name), get_case(name).state()
    f, (by_q, by_v, _) = inverse(case, state, include_force_elements=True)
    wanted_q, wanted_v = differences(f, case.tree, state.q, state.v, 1e-5)
    assert relative(by_q, wanted_q) < 1e-7
    assert relative(by_v, wanted_v) < 1e-7


@pytest.mark.parametrize("name", FEW)
def test_without_force_elements(name: str) -> None:
    case, state = get_case(name), get_case(name).state()
    f, (by_q, by_v, _) = inverse(case, state)
    wanted_q, wanted_v = differences(f, case.tree, state.q, state.v, 1e-5)
    assert relative(by_q, wanted_q) < 1e-7
    assert relative(by_v, wanted_v) < 1e-7


@pytest.mark.parametrize("name", FEW)
def test_error_falls_with_the_square_of_the_step(name: str) -> None:
    """The derivatives are the limit: differences approach them as h^2, four times closer at half the step."""
    case, state = get_case(name), get_case(name).state()
    f, (by_q, _, _) = inverse(case, state, include_force_elements=True)
    steps = (8e-3, 4e-3, 2e-3)
    errors = [np.linalg.norm(differences(f, case.tree, state.q, state.v, h)[0] - by_q) for h in steps]
    for coarse, fine in pairwise(errors):
        assert 3.8 < coarse / fine < 4.2


@pytest.mark.parametrize("name", MOVING)
def test_forward_dynamics_with_everything(name: str) -> None:
    """Arguments, actuation and applied forces act together."""
    case, state = get_case(name), get_case(name).state()
    f, (by_q, by_v, _) = forward(case, state)
    wanted_q, wanted_v = differences(f, case.tree, state.q, state.v, 1e-5)
    assert relative(by_q, wanted_q) < 1e-6
    assert relative(by_v, wanted_v) < 1e-6


@pytest.mark.parametrize("name", FEW)
def test_locks(name: str) -> None:
    """Locked dofs have zero rows; M_inverse is that of the others."""
    case, state = get_case(name), get_case(name).state()
    nv = case.tree.num_velocities
    locked = sorted({0, nv // 2, nv - 1})

    def lock(context: mbt.Context) -> None:
        for k in locked:
            context._set_locked(k, 1, True)

    # A locked joint cannot have a velocity.
    v = state.v.copy()
    v[locked] = 0.0
    state = replace(state, v=v)
    f, (by_q, by_v, M_inverse) = forward(case, state, lock)
    free = np.setdiff1d(np.arange(nv), locked)
    for matrix in (by_q, by_v, M_inverse, M_inverse.T):
        assert not matrix[locked].any()
    M = case.tree.calc_mass_matrix(case.context(state))[np.ix_(free, free)]
    assert np.linalg.norm(M @ M_inverse[np.ix_(free, free)] - np.eye(len(free))) < 1e-9
    wanted_q, wanted_v = differences(f, case.tree, state.q, v, 1e-5, free)
    assert relative(by_q, wanted_q) < 1e-6
    assert relative(by_v[:, free], wanted_v) < 1e-6


def test_parameters_of_the_context() -> None:
    """Derivatives are computed with the Context's own masses and gravity."""
    case, state = get_case("mixed8"), get_case("mixed8").state()
    context = case.context(state)
    body = case.tree.bodies[-1]
    body.set_mass(context, 7.0)
    case.tree.gravity_field.set_gravity_vector(context, [1.0, 2.0, 3.0])
    moved = context.clone()

    def f(q: Array, v: Array) -> Array:
        moved.q, moved.v = q, v
        return case.tree.calc_inverse_dynamics(moved, state.vdot, include_force_elements=True)

    by_q, by_v, M = case.tree.calc_inverse_dynamics_derivatives(
        context, state.vdot, include_force_elements=True
    )
    wanted_q, wanted_v = differences(f, case.tree, state.q, state.v, 1e-5)
    assert relative(by_q, wanted_q) < 1e-7
    assert relative(by_v, wanted_v) < 1e-7
    np.testing.assert_allclose(M, case.tree.calc_mass_matrix(context), rtol=0, atol=1e-12)


def test_force_elements_written_by_users() -> None:
    """They are differentiated by differences, together with all others; single, in batches, with forces."""
    tree = make_everything()
    rng = np.random.default_rng(3)
    q = tree.create_default_context().q + rng.uniform(-0.3, 0.3, tree.num_positions)
    v, x = rng.uniform(-1.0, 1.0, (2, tree.num_velocities))
    forces = mbt.MultibodyForces(tree)
    forces.body_forces[:] = rng.uniform(-1.0, 1.0, (tree.num_bodies, 6))
    for name in ("inverse_dynamics", "forward_dynamics"):
        value, derivatives = getattr(functional, name), getattr(functional, f"{name}_derivatives")
        wanted = differences(
            lambda q, v, value=value: value(tree, q, v, x, external_forces=forces), tree, q, v, 1e-5
        )
        single = derivatives(tree, q, v, x, external_forces=forces)
        batch = derivatives(tree, [q, q], v, x, external_forces=forces)
        for actual, desired in zip(single, wanted, strict=False):
            assert relative(actual, desired) < 1e-6
        for one, two in zip(single, batch, strict=True):
            np.testing.assert_array_equal(two, [one, one])


def test_force_elements_written_by_users_beside_a_lock() -> None:
    tree = make_everything()
    context = tree.create_default_context()
    rng = np.random.default_rng(4)
    v, x = rng.uniform(-1.0, 1.0, (2, tree.num_velocities))
    v[0] = 0.0
    context.v = v
    free = tree.calc_inverse_dynamics_derivatives(context, x, include_force_elements=True)
    context._set_locked(0, 1, True)
    # Inverse dynamics ignores locks.
    for matrix, desired in zip(
        tree.calc_inverse_dynamics_derivatives(context, x, include_force_elements=True), free, strict=True
    ):
        np.testing.assert_array_equal(matrix, desired)
    moved = context.clone()

    def f(q: Array, v: Array) -> Array:
        moved.q, moved.v = q, v
        return tree.calc_forward_dynamics(moved, x)

    others = np.arange(1, tree.num_velocities)
    by_q, by_v, _ = tree.calc_forward_dynamics_derivatives(context, x)
    wanted_q, wanted_v = differences(f, tree, context.q, v, 1e-5, others)
    assert relative(by_q, wanted_q) < 1e-6
    assert relative(by_v[:, others], wanted_v) < 1e-6
    assert context._is_locked(0, 1)
