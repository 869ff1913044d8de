"""Mechanisms with loops against multipliers by dense linear algebra, and in coordinates without loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.constraints import constrained_accelerations, equations_of
from support.linkages import MECHANISMS, assembled, delta, stewart


def forces_without_constraints(tree: mbt.MultibodyTree, context: Any, tau: np.ndarray) -> np.ndarray:
    """Return f of M vdot = f + J' lambda, by inverse dynamics."""
    rest = np.zeros(tree.num_velocities)
    return tau - tree.calc_inverse_dynamics(context, rest, include_force_elements=True)


def assert_near(actual: Any, desired: Any, tolerance: float) -> None:
    np.testing.assert_allclose(actual, desired, rtol=0.0, atol=tolerance * max(1.0, np.abs(desired).max()))


@pytest.mark.parametrize("name", MECHANISMS)
def test_accelerations(name: str) -> None:
    build, mobility = MECHANISMS[name]
    tree, rng = build(), np.random.default_rng(4)
    for _ in range(5):
        context = assembled(tree, rng)
        context.v = 4.0 * context.v / np.linalg.norm(context.v)
        tau = rng.normal(size=tree.num_velocities)
        vdot, multipliers = tree.calc_constrained_forward_dynamics(context, tau)
        M, equations = tree.calc_mass_matrix(context), equations_of(tree, context)
        f = forces_without_constraints(tree, context, tau)

        # With multipliers: one system for both. The four-bar has a redundant equation.
        J, m = equations.J, len(equations.J)
        system = np.block([[M, -J.T], [J, np.zeros((m, m))]])
        both = np.linalg.lstsq(system, np.concatenate([f, -equations.bias]), rcond=1e-12)[0]
        assert_near(vdot, both[: tree.num_velocities], 1e-9)
        assert_near(J.T @ multipliers, J.T @ both[tree.num_velocities :], 1e-9)
        assert_near(vdot, constrained_accelerations(tree, context, tau)[0], 1e-10)

        # Without: v = N w and vdot = N wdot + Ndot w, where Ndot w is any solution of J vdot = -Jdot v.
        _, sizes, rows = np.linalg.svd(J)
        N = rows[np.sum(sizes > 1e-9 * sizes[0]) :].T
        assert N.shape[1] == mobility
        assert_near(context.v, N @ (N.T @ context.v), 1e-12)
        by_rates = -np.linalg.pinv(J, rcond=1e-9) @ equations.bias
        assert np.abs(by_rates).max() > 0.1
        wdot = np.linalg.solve(N.T @ M @ N, N.T @ (f - M @ by_rates))
        assert_near(vdot, N @ wdot + by_rates, 1e-9)


def on_springs(build: Any, frequency: float) -> tuple[mbt.MultibodyTree, Any]:
    """Return a mechanism that springs in its drives keep near its assembled state, and that state."""
    tree = build()
    context = assembled(tree, np.random.default_rng(5))
    work = tree.edit()
    for joint in tree.joints:
        twin, start = work.joints[joint.index], joint.get_positions(context)[0]
        if isinstance(joint, mbt.PrismaticJoint):
            work.add_force_element(mbt.PrismaticSpring(twin, start, 1500.0))
        elif isinstance(joint, mbt.RevoluteJoint):
            work.add_force_element(mbt.RevoluteSpring(twin, start, 40.0))
    for constraint in work.constraints:
        constraint.set_default_stabilization([frequency, 1.0])
    work.finalize()
    moved = work.create_default_context()
    moved.q, moved.v = context.q, context.v
    return work, moved


@pytest.mark.parametrize(
    "frequency", [20.0, pytest.param(0.0, marks=pytest.mark.exhaustive)], ids=["stabilized", "not"]
)
@pytest.mark.parametrize("build", [delta, stewart])
def test_ten_seconds(build: Any, frequency: float) -> None:
    """Energy and errors drift with the method's order, the fifth and the fourth power of the step."""
    tree, start = on_springs(build, frequency)
    drifts = []
    for dt in (4e-3, 2e-3):
        tau = np.broadcast_to(np.zeros(tree.num_velocities), (round(10.0 / dt), tree.num_velocities))
        q, v = functional.rollout(tree, start.q, start.v, tau, dt, method="rk4", every=round(0.04 / dt))
        path = tree.create_default_context(len(q))
        path.q, path.v = q, v
        kinetic = tree.calc_kinetic_energy(path)
        energy = kinetic + tree.calc_potential_energy(path)
        rates = functional.constraint_jacobian(tree, q) @ v[..., None]
        drifts.append(
            [
                np.abs(energy - energy[0]).max() / kinetic.max(),
                np.abs(functional.constraint_errors(tree, q)).max(),
                np.abs(rates).max(),
            ]
        )
    (energy_drift, error, rate), orders = drifts[1], np.log2(np.divide(*drifts))
    assert energy_drift < 3e-5
    assert error < (1e-9 if frequency else 1e-7)
    assert rate < (3e-8 if frequency else 3e-7)
    np.testing.assert_allclose(orders, [5.0, 4.0, 4.0], rtol=0.0, atol=0.6)
