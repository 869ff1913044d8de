"""Steps of every joint and scalar: against textbook steps, motions in closed form, and derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt._core.model.element_types import MobilizerType
from motion.moving_models import state_of, tumbling_bodies
from support.case import FEW, get_case
from support.force_element_types import make_everything
from support.joint_types import random_state
from support.textbook import step_of_runge_kutta

Array = np.ndarray[Any, np.dtype[np.float64]]
METHODS = ("semi_implicit_euler", "rk4")
ROTATIONS = {
    MobilizerType.QUATERNION_FLOATING,
    MobilizerType.QUATERNION_BALL,
    MobilizerType.RPY_FLOATING,
    MobilizerType.RPY_BALL,
}


def rotations_of(tree: mbt.MultibodyTree) -> list[slice]:
    starts = [m.velocity_start for m in tree.mobilizers if m._type in ROTATIONS]
    return [slice(k, k + 3) for k in starts]


def start_of(tree: mbt.MultibodyTree) -> tuple[Array, Array, Array]:
    """Positions, velocities and forces."""
    context = state_of(tree)
    return np.array(context.q), np.array(context.v), np.random.default_rng(7).normal(size=context.v.size)


@pytest.fixture
def _same_threads_afterwards() -> Iterator[None]:
    before = mbt.get_num_threads()
    yield
    mbt.set_num_threads(before)


@pytest.mark.parametrize("name", [*FEW, "everything", "everything in Python"])
def test_runge_kutta_of_the_textbook(name: str) -> None:
    if name in FEW:
        tree, state = get_case(name).tree, get_case(name).state()
    else:
        tree = make_everything(user_written=name.endswith("Python"))
        state = random_state(tree, np.random.default_rng(1))
    tau, h = np.random.default_rng(2).normal(size=tree.num_velocities), 0.01

    def accelerate(q: Array, v: Array) -> Array:
        return functional.forward_dynamics(tree, q, v, tau)

    def move(q: Array, u: Array) -> Array:
        return functional.integrate_positions(tree, q, u, 1.0)

    q, v = step_of_runge_kutta(accelerate, move, rotations_of(tree), state.q, state.v, h)
    q1, v1 = functional.step(tree, state.q, state.v, tau, h, method="rk4")
    np.testing.assert_allclose(q1, q, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(v1, v, rtol=1e-9, atol=1e-9)
    # The other method, written out in its two lines.
    v = state.v + h * accelerate(state.q, state.v)
    q1, v1 = functional.step(tree, state.q, state.v, tau, h)
    np.testing.assert_allclose(v1, v, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(q1, move(state.q, h * v), rtol=1e-12, atol=1e-12)


def spinning_top() -> mbt.MultibodyTree:
    """A free body with two equal moments of inertia, its centre of mass off the origin of its frame."""
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.make_from_central_inertia(2.0, [0.1, 0.2, 0.3], np.diag([0.2, 0.2, 0.1]))
    tree.add_body(mbt.RigidBody("top", inertia))
    tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -10.0]))
    tree.finalize()
    return tree


@pytest.mark.parametrize(("method", "order", "error"), [("semi_implicit_euler", 1, 3e-2), ("rk4", 4, 1e-9)])
def test_tumbling_body_in_closed_form(method: str, order: int, error: float) -> None:
    """R = exp(t [L / I1]) R0 exp(t [(1/I3 - 1/I1) L3 e3]), and the centre of mass falls on a parabola."""
    tree, t = spinning_top(), 1.0
    com, moments = np.array([0.1, 0.2, 0.3]), np.array([0.2, 0.2, 0.1])
    R0 = mbt.math.exp_so3([0.3, -0.5, 0.9])
    w_B, v_com = np.array([1.0, -2.0, 3.0]), np.array([0.3, 0.1, 2.0])
    q0 = np.concatenate([mbt.math.matrix_to_quaternion(R0), [1.0, 2.0, 3.0]])
    v0 = np.concatenate([R0 @ w_B, v_com - np.cross(R0 @ w_B, R0 @ com)])
    L = R0 @ (moments * w_B)
    spin = (1 / moments[2] - 1 / moments[0]) * (moments * w_B)[2]
    R1 = mbt.math.exp_so3(t * L / moments[0]) @ R0 @ mbt.math.exp_so3([0, 0, t * spin])
    w1 = R1 @ (R1.T @ L / moments)
    fallen = np.array([0, 0, -10.0])
    p1 = q0[4:] + R0 @ com + t * v_com + t**2 / 2 * fallen - R1 @ com
    exact = np.concatenate([R1.ravel(), p1, w1, v_com + t * fallen - np.cross(w1, R1 @ com)])

    def distance(steps: int) -> float:
        tau = np.broadcast_to(np.zeros(6), (steps, 6))
        q, v = functional.rollout(tree, q0, v0, tau, t / steps, method=method, every=steps)
        R = mbt.math.quaternion_to_matrix(q[-1, :4])
        return float(np.abs(np.concatenate([R.ravel(), q[-1, 4:], v[-1]]) - exact).max())

    coarse, fine = distance(500), distance(1000)
    assert fine < error
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.15)


def test_momentum_without_gravity() -> None:
    """Internal joints, springs and damping conserve momentum, up to the method's error."""
    tree = tumbling_bodies(0.05).edit()
    tree.remove(tree.gravity_field)
    tree.finalize()
    q0, v0, _ = start_of(tree)
    v0[6:] = np.random.default_rng(3).normal(size=v0.size - 6)
    drifts = []
    for steps in (100, 200):
        tau = np.broadcast_to(np.zeros_like(v0), (steps, v0.size))
        q, v = functional.rollout(tree, q0, v0, tau, 1.0 / steps, method="rk4", every=steps // 10)
        context = tree.create_default_context(len(q))
        context.q, context.v = q, v
        momentum = tree.calc_spatial_momentum_in_world_about_point(context, np.zeros(3))
        drifts.append(np.abs(momentum - momentum[0]).max())
    assert drifts[1] < 1e-6
    assert drifts[0] / drifts[1] > 12.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["everything", "tumbling"])
def test_derivatives_by_dual_numbers(name: str, method: str) -> None:
    """Exact derivatives along each tangent of q, each velocity and each force."""
    tree = tumbling_bodies(0.1) if name == "tumbling" else make_everything(user_written=False)
    state = random_state(tree, np.random.default_rng(5))
    nv, h = tree.num_velocities, 0.02
    tau = np.random.default_rng(6).normal(size=nv)
    context = tree.create_default_context()
    context.q = state.q
    seeds = np.eye(3 * nv)
    # At both ends, the map between velocities and rates of positions converts the tangents.
    q = mbt.autodiff.AutoDiffArray(state.q, tree.make_velocity_to_qdot_map(context) @ seeds[:nv])
    v = mbt.autodiff.AutoDiffArray(state.v, seeds[nv : 2 * nv])
    forces = mbt.autodiff.AutoDiffArray(tau, seeds[2 * nv :])
    q1, v1 = functional.step(tree.to_autodiff(), q, v, forces, h, method=method)
    context.q = q1.value
    dq1 = tree.make_qdot_to_velocity_map(context) @ q1.derivatives
    A, B = functional.step_derivatives(tree, state.q, state.v, tau, h, method=method)
    wanted = np.concatenate([dq1, v1.derivatives])
    np.testing.assert_allclose(np.hstack([A, B]), wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())


@pytest.mark.parametrize("method", METHODS)
def test_objects_compute_the_same(method: str) -> None:
    tree = tumbling_bodies(0.1)
    q0, v0, tau = start_of(tree)
    twin = tree.clone_to_scalar("mpmath")
    for function, forces in ((functional.step, tau), (functional.rollout, np.tile(tau, (2, 1)))):
        wanted = function(tree, q0, v0, forces, 0.01, method=method)
        got = function(twin, q0, v0, forces, 0.01, method=method)
        for mine, theirs in zip(got, wanted, strict=True):
            assert mine.shape == theirs.shape
            np.testing.assert_allclose(mine.astype(float), theirs, rtol=1e-12, atol=1e-12)


def test_leading_axes_in_other_scalars() -> None:
    tree = tumbling_bodies()
    q0, v0, tau = start_of(tree)
    ad = tree.to_autodiff()
    vs = v0 + np.arange(6.0).reshape(2, 3, 1)
    taus = np.broadcast_to(tau, (2, tau.size))
    wanted = functional.rollout(tree, q0, vs, taus, 0.01)
    for mine, theirs in zip(functional.rollout(ad, q0, vs, taus, 0.01), wanted, strict=True):
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine.value, theirs, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("batch", [(), (3,)])
def test_inputs_of_a_context(method: str, batch: tuple[int, ...]) -> None:
    """Actuation, applied forces, parameters of samples, locks: the same as by hand with forward dynamics."""
    tree = tumbling_bodies(0.1)
    q0, v0, _ = start_of(tree)
    context: Any = tree.create_default_context(batch)
    rng = np.random.default_rng(4)
    context.q, context.v = q0, v0
    context.actuation = rng.normal(size=(*batch, 1))
    forces = mbt.MultibodyForces(tree, batch)
    forces.body_forces = rng.normal(size=(*batch, tree.num_bodies, 6))
    forces.generalized_forces = rng.normal(size=(*batch, tree.num_velocities))
    context.applied_forces = forces
    tree.get_body_by_name("second").set_mass(context, rng.uniform(0.5, 1.0, batch)[()])
    tree.get_joint_by_name("hinge").lock(context)
    before = context._serials
    taus = rng.normal(size=(2, tree.num_velocities))
    q, v = tree.rollout(context, taus, 0.01, method=method)
    assert context._serials == before
    moving = context.clone()
    for i in range(2):
        if method == "semi_implicit_euler":
            moving.v = moving.v + 0.01 * tree.calc_forward_dynamics(moving, taus[i])
            moving.q = tree.integrate_positions(moving.q, moving.v, 0.01)
        else:
            for sample in np.ndindex(batch):
                _take_textbook_step(tree, context, moving, sample, taus[i])
        np.testing.assert_allclose(q[..., i + 1, :], moving.q, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(v[..., i + 1, :], moving.v, rtol=1e-10, atol=1e-12)
    hinge = tree.get_joint_by_name("hinge").velocity_start
    assert not v[..., hinge].any()


def _take_textbook_step(
    tree: mbt.MultibodyTree, context: Any, moving: Any, sample: tuple[int, ...], tau: Array
) -> None:
    one = context._sample(sample) if sample else context.clone()

    def accelerate(q: Array, v: Array) -> Array:
        one.q, one.v = q, v
        return tree.calc_forward_dynamics(one, tau)

    move = partial(lambda q, u: tree.integrate_positions(q, u, 1.0))
    start = np.array(moving.q), np.array(moving.v)
    q, v = step_of_runge_kutta(accelerate, move, rotations_of(tree), start[0][sample], start[1][sample], 0.01)
    start[0][sample], start[1][sample] = q, v
    moving.q, moving.v = start


def test_one_input_for_all_steps_or_samples() -> None:
    """Whatever the memory layout of the forces, the states are the same."""
    tree = tumbling_bodies(0.1)
    q0, v0, tau = start_of(tree)
    nv = tau.size
    per_step = np.random.default_rng(0).normal(size=(5, nv))
    per_sample = np.random.default_rng(1).normal(size=(2, 3, 1, nv))
    for spread in (
        np.broadcast_to(tau, (5, nv)),
        np.broadcast_to(per_step, (2, 3, 5, nv)),
        np.broadcast_to(per_sample, (2, 3, 5, nv)),
        np.broadcast_to(per_sample[:, :1], (2, 3, 5, nv)),
        np.broadcast_to(per_step[:1], (5, nv)),
        per_step[::-1],
    ):
        vs = np.broadcast_to(v0, (*spread.shape[:-2], nv))
        for got, wanted in zip(
            functional.rollout(tree, q0, vs, spread, 0.01),
            functional.rollout(tree, q0, vs.copy(), spread.copy(), 0.01),
            strict=True,
        ):
            np.testing.assert_array_equal(got, wanted)
    single = functional.rollout(tree, q0, v0, np.broadcast_to(tau, (5, nv)), 0.01)
    np.testing.assert_array_equal(single[0], functional.rollout(tree, q0, v0, np.tile(tau, (5, 1)), 0.01)[0])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("batch", [(), (4,), (0,), (2, 1)])
def test_no_steps_and_nothing_that_moves(batch: tuple[int, ...], method: str) -> None:
    tree = tumbling_bodies()
    q0, v0, _ = start_of(tree)
    nv = v0.size
    v = np.broadcast_to(v0, (*batch, nv))
    q1, v1 = functional.rollout(tree, q0, v, np.zeros((0, nv)), 0.1, method=method)
    assert q1.shape == (*batch, 1, tree.num_positions)
    np.testing.assert_array_equal(v1[..., 0, :], v)
    q1, v1 = functional.rollout(tree, q0, v, np.zeros((3, nv)), 0.1, method=method, every=4)
    assert v1.shape == (*batch, 1, nv)
    world = mbt.MultibodyTree()
    world.finalize()
    q1, v1 = functional.rollout(world, [], np.zeros((*batch, 0)), np.zeros((3, 0)), 0.1, method=method)
    assert q1.shape == v1.shape == (*batch, 4, 0)
    A, B = functional.step_derivatives(world, [], np.zeros((*batch, 0)), [], 0.1, method=method)
    assert A.shape == B.shape == (*batch, 0, 0)


@pytest.mark.parametrize("method", METHODS)
def test_states_without_accelerations(method: str) -> None:
    """A single state raises an error, however it is called; in a batch, only that sample becomes NaN."""
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.point_mass(1.0, [0, 0, 1.0])))
    twist = tree.add_joint(mbt.RevoluteJoint, "twist", tree.world_body, None, body, None, axis=[0, 1, 0])
    tree.finalize()
    context = tree.create_default_context(3)
    body.set_mass(context, [1.0, 0.0, 2.0])
    q, v = tree.rollout(context, np.ones((4, 1)), 0.1, method=method)
    assert np.isnan(v[1, 1:]).all()
    assert np.isnan(q[1, 1:]).all()
    assert np.isfinite(np.delete(v, 1, axis=0)).all()
    assert twist.num_velocities == 1
    single = tree.create_default_context()
    body.set_mass(single, 0.0)
    with pytest.raises(mbt.SingularityError, match="twist"):
        tree.rollout(single, np.ones((4, 1)), 0.1, method=method)
    # A quaternion of zero.
    free = tumbling_bodies()
    q0, v0, tau = start_of(free)
    q0[:4] = 0.0
    for function, forces in ((functional.step, tau), (functional.rollout, tau[None])):
        with pytest.raises(mbt.SingularityError):
            function(free, q0, v0, forces, 0.1, method=method)
    vs = functional.rollout(free, [q0, start_of(free)[0]], v0, tau[None], 0.1, method=method)[1]
    assert np.isnan(vs[0, 1]).all()
    assert np.isfinite(vs[1]).all()


@pytest.mark.parametrize("method", METHODS)
def test_elements_in_python(method: str) -> None:
    """Their forces act at every stage, at its time; single states and batches agree."""
    tree = tumbling_bodies(0.1, user_written=True)
    plain = tumbling_bodies(0.1)
    q0, v0, tau = start_of(tree)
    taus = np.tile(tau, (4, 1))
    q, v = functional.rollout(tree, q0, v0, taus, 0.02, method=method)
    assert np.abs(q - functional.rollout(plain, q0, v0, taus, 0.02, method=method)[0]).max() > 1e-6
    q_batch, v_batch = functional.rollout(tree, q0, np.tile(v0, (2, 1)), taus, 0.02, method=method)
    np.testing.assert_allclose(q_batch[1], q, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(v_batch[1], v, rtol=1e-11, atol=1e-12)


class Clock(mbt.ForceElement):
    """A force that grows with time, on the only velocity."""

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        forces.generalized_forces[..., 0] += context.time


def test_elements_in_python_see_the_time_of_a_stage() -> None:
    """Runge-Kutta integrates a force a(t) = t exactly: v = t^2 / 2, q = t^3 / 6."""
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.point_mass(1.0, [0, 0, 0])))
    tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, body, None, axis=[1, 0, 0])
    tree.add_force_element(Clock())
    tree.finalize()
    context = tree.create_default_context()
    q, v = tree.rollout(context, np.zeros((2, 1)), 0.5, method="rk4")
    np.testing.assert_allclose([q[-1, 0], v[-1, 0]], [1 / 6, 1 / 2], rtol=1e-14)
    assert context.time == 0.0
    dt = mbt.autodiff.initialize(0.5)
    ad = tree.to_autodiff()
    q, v = ad.rollout(ad.create_default_context(), np.zeros((2, 1)), dt, method="rk4")
    np.testing.assert_allclose([q[-1, 0].value, v[-1, 0].value], [1 / 6, 1 / 2], rtol=1e-14)
    # t = 2 dt.
    np.testing.assert_allclose(q[-1].derivatives, [[1.0]], rtol=1e-14)
    np.testing.assert_allclose(v[-1].derivatives, [[2.0]], rtol=1e-14)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("user_written", [False, True])
def test_nan_and_locks(method: str, user_written: bool) -> None:
    """NaN persists beside a locked joint."""
    tree = tumbling_bodies(0.1, user_written=user_written)
    context = state_of(tree)
    tree.get_joint_by_name("hinge").lock(context)
    taus = np.zeros((3, tree.num_velocities))
    taus[1] = np.nan
    _, v = tree.rollout(context, taus, 0.01, method=method)
    assert np.isfinite(v[1]).all()
    assert np.isnan(v[2:, :6]).all()


@pytest.mark.usefixtures("_same_threads_afterwards")
@pytest.mark.parametrize("every", [1, 3])
def test_threads_and_calls_do_not_show(monkeypatch: pytest.MonkeyPatch, every: int) -> None:
    """The same bits with any number of threads, and however steps are split among calls."""
    tree = tumbling_bodies(0.1)
    q0, _, tau = start_of(tree)
    v0 = np.random.default_rng(0).normal(size=(501, tau.size))
    taus = np.random.default_rng(1).normal(size=(20, tau.size))
    results = []
    for threads, work in ((1, 250_000), (3, 250_000), (1, 1), (2, 25)):
        mbt.set_num_threads(threads)
        monkeypatch.setattr("mbt.motion.rollouts._WORK_A_CALL", work)
        results.append(functional.rollout(tree, q0, v0, taus, 0.01, every=every))
    for q, v in results[1:]:
        np.testing.assert_array_equal(q, results[0][0])
        np.testing.assert_array_equal(v, results[0][1])
