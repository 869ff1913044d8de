"""Derivatives of forward dynamics with constraints, against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.constraints import conditioning, tree_with_loops
from support.joint_types import random_state

STEP = 2e-6


def differences(tree: mbt.MultibodyTree, context: Any, tau: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the three matrices."""
    nv = tree.num_velocities
    N = tree.make_velocity_to_qdot_map(context)

    def along(k: int, what: str) -> np.ndarray:
        results = []
        for sign in (1.0, -1.0):
            moved, own_tau = context.clone(), tau.copy()
            if what == "q":
                moved.q = context.q + sign * STEP * N[:, k]
            elif what == "v":
                moved.v = context.v + sign * STEP * np.eye(nv)[k]
            else:
                own_tau[k] += sign * STEP
            results.append(tree.calc_forward_dynamics(moved, own_tau))
        return (results[0] - results[1]) / (2.0 * STEP)

    return tuple(np.stack([along(k, what) for k in range(nv)], axis=1) for what in ("q", "v", "tau"))


@pytest.mark.parametrize("seed", [3, 9, 29])
def test_of_a_context(seed: int) -> None:
    tree = tree_with_loops(seed, num_bodies=4, num_constraints=2)
    context = random_state(tree, np.random.default_rng(seed))
    tau = np.random.default_rng(seed).normal(size=tree.num_velocities)
    assert conditioning(tree, context) > 1e-2
    found = tree.calc_forward_dynamics_derivatives(context, tau)
    for part, desired in zip(found, differences(tree, context, tau), strict=True):
        np.testing.assert_allclose(part, desired, atol=2e-6 * (1.0 + np.abs(desired).max()))


def test_of_functions_and_batches() -> None:
    tree = tree_with_loops(3, num_bodies=4, num_constraints=2)
    contexts = [random_state(tree, np.random.default_rng(i)) for i in range(3)]
    q, v = (np.array([getattr(c, name) for c in contexts]) for name in ("q", "v"))
    tau = np.random.default_rng(1).normal(size=tree.num_velocities)
    found = functional.forward_dynamics_derivatives(tree, q, v, tau)
    samples = tree.create_default_context(3)
    samples.q, samples.v = q, v
    of_samples = tree.calc_forward_dynamics_derivatives(samples, tau)
    for i, context in enumerate(contexts):
        own = tree.calc_forward_dynamics_derivatives(context, tau)
        single = functional.forward_dynamics_derivatives(tree, q[i], v[i], tau)
        for a, b, c, d in zip(found, of_samples, own, single, strict=True):
            np.testing.assert_array_equal(a[i], c)
            np.testing.assert_array_equal(b[i], c)
            np.testing.assert_array_equal(d, c)


def test_with_external_forces_and_actuation() -> None:
    tree = tree_with_loops(3, num_bodies=4, num_constraints=2).edit()
    tree.add_joint_actuator("motor", next(joint for joint in tree.joints if joint.num_velocities == 1))
    tree.finalize()
    context = random_state(tree, np.random.default_rng(3))
    context.actuation = [2.0]
    forces = mbt.MultibodyForces(tree)
    forces.body_forces[1:] = np.random.default_rng(3).normal(size=(tree.num_bodies - 1, 6))
    found = tree.calc_forward_dynamics_derivatives(context, None, forces)
    context.applied_forces.add_in_forces(forces)
    desired = differences(tree, context, np.zeros(tree.num_velocities))
    for part, wanted in zip(found, desired, strict=True):
        np.testing.assert_allclose(part, wanted, atol=2e-6 * (1.0 + np.abs(wanted).max()))


def test_external_forces_of_batches() -> None:
    """One for all samples, or one for each; what does not fit is refused by the name of the argument."""
    tree = tree_with_loops(3, num_bodies=4, num_constraints=2)
    samples = tree.create_default_context(2)
    samples.q, samples.v = (
        [getattr(random_state(tree, np.random.default_rng(i)), name) for i in range(2)] for name in ("q", "v")
    )
    one, each = mbt.MultibodyForces(tree), mbt.MultibodyForces(tree, 2)
    one.generalized_forces = np.linspace(-1, 1, tree.num_velocities)
    each.generalized_forces = [one.generalized_forces] * 2
    found, desired = (tree.calc_forward_dynamics_derivatives(samples, None, f) for f in (one, each))
    for part, wanted in zip(found, desired, strict=True):
        np.testing.assert_array_equal(part, wanted)
    other = tree_with_loops(4, num_bodies=4, num_constraints=2)
    for context in (samples, tree.create_default_context()):
        for wrong in (mbt.MultibodyForces(tree, 3), mbt.MultibodyForces(other), 3):
            with pytest.raises(mbt.MbtError, match=r"^external_forces: expected"):
                tree.calc_forward_dynamics_derivatives(context, None, wrong)


def test_through_numbers_with_derivatives() -> None:
    """The accelerations of a clone carry the same derivatives."""
    tree = tree_with_loops(3, num_bodies=4, num_constraints=2)
    context = random_state(tree, np.random.default_rng(3))
    by_v = tree.calc_forward_dynamics_derivatives(context)[1]
    twin = tree.to_autodiff()
    moving = twin.create_default_context()
    moving.q, moving.v = context.q, mbt.autodiff.initialize(context.v)
    np.testing.assert_allclose(
        twin.calc_forward_dynamics(moving).derivatives, by_v, atol=1e-12 * abs(by_v).max()
    )
