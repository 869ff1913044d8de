"""Steps and rollouts, against closed forms, small steps without SciPy, and each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional

METHODS = ("semi_implicit_euler", "rk4")


def tumbling_bodies(damping: float = 0.0) -> mbt.MultibodyTree:
    """A free body with another on a ball joint, both without symmetry."""
    tree, inertia = mbt.MultibodyTree(), mbt.SpatialInertia
    bodies = [
        tree.add_body(mbt.RigidBody(name, inertia.make_from_central_inertia(mass, p, np.diag(moments))))
        for name, mass, p, moments in (
            ("first", 1.3, [0.1, 0.2, -0.1], [0.1, 0.2, 0.25]),
            ("second", 0.7, [0.1, 0.0, -0.3], [0.03, 0.02, 0.025]),
        )
    ]
    X_PF = mbt.math.make_pose([0.1, 0.2, 0.3], rpy=[0.1, 0.2, 0.3])
    X_BM = mbt.math.make_pose([0, 0, 0.4])
    tree.add_joint(mbt.BallRpyJoint, "ball", bodies[0], X_PF, bodies[1], X_BM, damping=damping)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def state_of(tree: mbt.MultibodyTree, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = tree.random_positions(rng)
    q[7:] = [0.1, 0.2, -0.1]
    return q, rng.normal(size=tree.num_velocities), 0.3 * rng.normal(size=tree.num_velocities)


@pytest.mark.parametrize(("method", "order"), [("semi_implicit_euler", 1), ("rk4", 4)])
def test_methods_have_their_order(method: str, order: int) -> None:
    tree = tumbling_bodies()
    q0, v0, tau = state_of(tree)

    def end(steps: int, method: str) -> tuple[np.ndarray, np.ndarray]:
        q, v = functional.rollout(
            tree, q0, v0, np.tile(tau, (steps, 1)), 1.0 / steps, method=method, every=steps
        )
        return q[-1], v[-1]

    q_exact, v_exact = end(4096, "rk4")
    errors = []
    for steps in (64, 128):
        q, v = end(steps, method)
        errors.append(
            max(abs(functional.difference_positions(tree, q_exact, q)).max(), abs(v - v_exact).max())
        )
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize("method", METHODS)
def test_quaternions_keep_their_length(method: str) -> None:
    tree = tumbling_bodies()
    q0, v0, tau = state_of(tree)
    q, _ = functional.rollout(tree, q0, v0, np.tile(tau, (300, 1)), 0.01, method=method)
    np.testing.assert_allclose(np.linalg.norm(q[:, :4], axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_every(method: str) -> None:
    tree = tumbling_bodies(0.1)
    q0, v0, _ = state_of(tree)
    taus = np.random.default_rng(1).normal(size=(1000, tree.num_velocities))
    q, v = functional.rollout(tree, q0, v0, taus, 1e-3, method=method)
    for every in (1, 7, 333, 1000, 1001):
        q_kept, v_kept = functional.rollout(tree, q0, v0, taus, 1e-3, method=method, every=every)
        np.testing.assert_array_equal(q_kept, q[::every][: 1000 // every + 1])
        np.testing.assert_array_equal(v_kept, v[::every][: 1000 // every + 1])


@pytest.mark.parametrize("method", METHODS)
def test_samples_are_alone(method: str) -> None:
    """Each sample's result is independent of the others and of threads; only a bad one becomes NaN."""
    tree = tumbling_bodies()
    q0, _, tau = state_of(tree)
    rng = np.random.default_rng(2)
    v = rng.normal(size=(37, tree.num_velocities))
    v[5] = np.nan
    taus = np.tile(tau, (50, 1))
    q_all, v_all = functional.rollout(tree, q0, v, taus, 0.01, method=method)
    assert np.isnan(q_all[5, 1:]).any()
    assert np.isnan(v_all[5]).all()
    assert np.isfinite(np.delete(q_all, 5, axis=0)).all()
    q_some, v_some = functional.rollout(tree, q0, v[20:31], taus, 0.01, method=method)
    np.testing.assert_array_equal(q_some, q_all[20:31])
    np.testing.assert_array_equal(v_some, v_all[20:31])
    q_one, v_one = functional.rollout(tree, q0, v[20], taus, 0.01, method=method)
    np.testing.assert_allclose(q_one, q_all[20], atol=1e-12)
    np.testing.assert_allclose(v_one, v_all[20], atol=1e-12)


def test_semi_implicit_euler_by_hand() -> None:
    tree = tumbling_bodies(0.2)
    q0, v0, tau = state_of(tree)
    v1 = v0 + 0.02 * functional.forward_dynamics(tree, q0, v0, tau)
    q, v = functional.step(tree, q0, v0, tau, 0.02)
    np.testing.assert_allclose(v, v1, rtol=1e-14)
    np.testing.assert_allclose(q, functional.integrate_positions(tree, q0, v1, 0.02), rtol=1e-14)


def test_energy_of_a_passive_system_does_not_drift() -> None:
    tree = tumbling_bodies()
    q0, v0, tau = state_of(tree)
    q, v = functional.rollout(tree, q0, v0, np.zeros((2000, tau.size)), 1e-3, method="rk4", every=100)
    context = tree.create_default_context(len(q))
    context.q, context.v = q, v
    energy = tree.calc_kinetic_energy(context) + tree.calc_potential_energy(context)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_of_a_step(method: str) -> None:
    tree = tumbling_bodies(0.1)
    q0, v0, tau = state_of(tree)
    nv, h = tree.num_velocities, 0.05
    q1, _ = functional.step(tree, q0, v0, tau, h, method=method)

    def end(x: np.ndarray) -> np.ndarray:
        q = functional.integrate_positions(tree, q0, x[:nv], 1.0)
        q, v = functional.step(tree, q, v0 + x[nv : 2 * nv], tau + x[2 * nv :], h, method=method)
        return np.concatenate([functional.difference_positions(tree, q1, q), v])

    step = 1e-6
    differences = np.array([(end(step * x) - end(-step * x)) / (2 * step) for x in np.eye(3 * nv)]).T
    A, B = functional.step_derivatives(tree, q0, v0, tau, h, method=method)
    np.testing.assert_allclose(np.hstack([A, B]), differences, atol=2e-9)
    A_batch, B_batch = functional.step_derivatives(tree, np.stack([q0, q0]), v0, tau, h, method=method)
    np.testing.assert_allclose(A_batch[1], A, atol=1e-13)
    np.testing.assert_allclose(B_batch[1], B, atol=1e-13)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "euler"}, "method: expected 'semi_implicit_euler' or 'rk4' or 'implicit', got 'euler'"),
        ({"every": 0}, "every: expected an integer >= 1, got 0"),
        ({"dt": np.nan}, "dt"),
        ({"tau": np.zeros(9)}, "tau"),
        ({"q0": np.zeros((3, 10)), "v0": np.zeros((2, 9))}, "leading axes do not broadcast: q0"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], message: str) -> None:
    tree = tumbling_bodies()
    q0, v0, tau = state_of(tree)
    good = {"q0": q0, "v0": v0, "tau": np.tile(tau, (3, 1)), "dt": 0.1}
    with pytest.raises(mbt.MbtError, match=message):
        functional.rollout(tree, **{**good, **arguments})


def test_forces_are_no_context() -> None:
    tree = tumbling_bodies()
    forces: Any = mbt.MultibodyForces(tree)
    for call in (
        lambda: tree.rollout(forces, np.zeros((5, tree.num_velocities)), 0.1),
        lambda: mbt.simulate(tree, forces, 0.1),
        lambda: tree.calc_servo_efforts(forces),
        lambda: tree.assemble(forces),
    ):
        with pytest.raises(
            mbt.ArgumentTypeError, match=r"context: expected a Context .* got MultibodyForces"
        ):
            call()


@pytest.mark.parametrize("scalar", ["double", "autodiff", "mpmath"])
def test_of_no_samples(scalar: str) -> None:
    tree = tumbling_bodies()
    if scalar != "double":
        tree = tree.clone_to_scalar(scalar)
    nq, nv = tree.num_positions, tree.num_velocities
    q0, v0 = np.empty((0, nq)), np.empty((0, nv))
    for method in METHODS:
        q, v = functional.rollout(tree, q0, v0, np.empty((0, 7, nv)), 0.1, method=method, every=3)
        assert (q.shape, v.shape) == ((0, 3, nq), (0, 3, nv))
        assert q.dtype == tree.create_default_context().q.dtype
        q, v = functional.step(tree, q0, v0, v0, 0.1, method=method)
        assert (q.shape, v.shape) == ((0, nq), (0, nv))
    with pytest.raises(mbt.ArgumentValueError, match="method"):
        functional.rollout(tree, q0, v0, np.empty((0, 7, nv)), 0.1, method="euler")
