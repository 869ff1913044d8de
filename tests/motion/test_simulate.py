"""Simulations against closed forms, SciPy used directly, rollouts, and each other."""

from __future__ import annotations

import signal
import time
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from motion.moving_models import falling_body, pendulum, state_of, tumbling_bodies
from support.force_element_types import make_everything
from support.joint_types import random_state

integrate = pytest.importorskip("scipy.integrate", reason="needs the extra `sim`: pip install '.[sim]'")

FIXED = ("semi_implicit_euler", "rk4")
ACCURATE = ("rk4", "RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")


def exact_pendulum(times: np.ndarray, angle: float) -> np.ndarray:
    """The angle of a pendulum of 0.5 m that begins at rest, by SciPy's elliptic functions."""
    from scipy.special import ellipj, ellipk

    k, omega = np.sin(angle / 2.0) ** 2, np.sqrt(9.81 / 0.5)
    sn = ellipj(ellipk(k) - omega * times, k)[0]
    return np.asarray(2.0 * np.arcsin(np.sqrt(k) * sn))


@pytest.mark.parametrize("method", ACCURATE)
def test_pendulum(method: str) -> None:
    tree = pendulum()
    context = tree.create_default_context()
    context.q = [2.0]
    trajectory = mbt.simulate(tree, context, 2.0, 0.01, method=method, rtol=1e-8, atol=1e-10)
    assert trajectory.time.tolist() == pytest.approx(np.linspace(0.0, 2.0, 201).tolist(), abs=1e-15)
    np.testing.assert_allclose(trajectory.q[:, 0], exact_pendulum(trajectory.time, 2.0), atol=2e-6)
    assert (trajectory.status, trajectory.method) == ("completed", method)


@pytest.mark.parametrize(("method", "dt"), [("rk4", 0.002), ("DOP853", 0.01)])
def test_free_fall(method: str, dt: float) -> None:
    """A body falls like a point, however it tumbles, and keeps its angular momentum."""
    tree = falling_body()
    context = tree.create_default_context()
    context.v = [0.3, 5.0, 0.1, 1.0, 0.0, 2.0]
    trajectory = mbt.simulate(tree, context, 3.0, dt, method=method, rtol=1e-10, atol=1e-12)
    t = trajectory.time
    np.testing.assert_allclose(trajectory.q[:, 4], t, atol=1e-9)
    np.testing.assert_allclose(trajectory.q[:, 6], 2.0 * t - 0.5 * 9.81 * t**2, atol=1e-9)
    batch = tree.create_default_context(len(t))
    batch.q, batch.v = trajectory.q, trajectory.v
    L = tree.calc_spatial_momentum_in_world_about_point(batch, trajectory.q[:, 4:])[:, :3]
    np.testing.assert_allclose(L, np.broadcast_to(L[0], L.shape), atol=1e-8)
    # After many turns.
    np.testing.assert_allclose(np.linalg.norm(trajectory.q[:, :4], axis=1), 1.0, atol=1e-12)


def test_a_tumbling_body_against_euler_equations() -> None:
    """SciPy integrates Euler's equations in the body's axes."""
    tree = falling_body(gravity=0.0)
    context = tree.create_default_context()
    w0, moments = np.array([0.01, 6.0, 0.02]), np.array([0.1, 0.2, 0.25])
    context.v = [*w0, 0.0, 0.0, 0.0]

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        (w, x, y_, z), w_B = y[:4], y[4:]
        a, b, c = w_B
        qdot = 0.5 * np.array([-x * a - y_ * b - z * c, w * a + y_ * c - z * b,
                               w * b + z * a - x * c, w * c + x * b - y_ * a])  # fmt: skip
        return np.concatenate([qdot, np.cross(moments * w_B, w_B) / moments])

    times = np.linspace(0.0, 4.0, 41)
    peer = integrate.solve_ivp(
        rates, (0.0, 4.0), [1.0, 0.0, 0.0, 0.0, *w0], "DOP853", times, rtol=1e-12, atol=1e-12
    )
    for method, every in (("rk4", 50), ("DOP853", 1)):
        dt = 0.1 / every
        trajectory = mbt.simulate(tree, context, 4.0, dt, method=method, every=every, rtol=1e-9, atol=1e-10)
        same = np.abs((trajectory.q[:, :4] * peer.y[:4].T).sum(axis=1))
        np.testing.assert_allclose(same, 1.0, atol=1e-7)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_against_scipy_directly(method: str) -> None:
    """The same equations, integrated in q and qdot = v."""
    tree = pendulum(damping=0.3)
    context = tree.create_default_context()
    context.q, context.v, context.time = [1.0], [0.5], 2.0

    def control(time: float, q: np.ndarray, v: np.ndarray) -> Any:
        return [np.sin(3.0 * time) - 0.5 * v[0]]

    def rates(t: float, y: np.ndarray) -> list[float]:
        vdot = functional.forward_dynamics(tree, y[:1], y[1:], control(t, y[:1], y[1:]))
        return [y[1], vdot[0]]

    trajectory = mbt.simulate(tree, context, 1.5, 0.05, method=method, control=control, rtol=1e-9, atol=1e-11)
    peer = integrate.solve_ivp(
        rates, (2.0, 3.5), [1.0, 0.5], "DOP853", trajectory.time, rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(trajectory.q[:, 0], peer.y[0], atol=1e-7)
    np.testing.assert_allclose(trajectory.v[:, 0], peer.y[1], atol=1e-7)
    np.testing.assert_allclose(trajectory.tau[:, 0], np.sin(3.0 * trajectory.time) - 0.5 * trajectory.v[:, 0])


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_rows_of_a_solver(method: str) -> None:
    """Each row holds for its step, both in the motion and in the record."""
    tree = pendulum(damping=0.3)
    context = tree.create_default_context()
    context.q, context.time = [1.0], 2.0
    rows = np.array([[3.0], [-1.0], [4.0], [-1.5], [5.0]])
    trajectory = mbt.simulate(tree, context, 0.5, 0.1, method=method, control=rows, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(trajectory.tau, rows[[0, 1, 2, 3, 4, 4]])
    q, v = np.array([1.0]), np.array([0.0])
    for k, row in enumerate(rows):
        peer = integrate.solve_ivp(
            lambda t, y, tau=row: [y[1], functional.forward_dynamics(tree, y[:1], y[1:], tau)[0]],
            (0.0, 0.1), [q[0], v[0]], "DOP853", rtol=1e-12, atol=1e-12,
        )  # fmt: skip
        q, v = peer.y[:1, -1], peer.y[1:, -1]
        np.testing.assert_allclose([*trajectory.q[k + 1], *trajectory.v[k + 1]], [*q, *v], atol=1e-7)


def test_every_joint_and_force_element() -> None:
    """Steps on the group agree with SciPy in tangents, and with cubic interpolation between samples."""
    tree = make_everything(user_written=False)
    context = random_state(tree, np.random.default_rng(7))
    context.v = 0.3 * context.v
    steps = mbt.simulate(tree, context, 0.05, 1e-4, method="rk4", every=20)
    solver = mbt.simulate(tree, context, 0.05, 2e-3, method="DOP853", rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(steps.time, solver.time, rtol=1e-15)
    moved = functional.difference_positions(tree, steps.q[0], steps.q[-1])
    assert (abs(moved) > 1e-5).all()
    np.testing.assert_allclose(functional.difference_positions(tree, steps.q, solver.q), 0.0, atol=1e-7)
    np.testing.assert_allclose(steps.v, solver.v, atol=1e-5)
    q, v = solver[::2].interpolate(solver.time[1:-1:2])
    np.testing.assert_allclose(functional.difference_positions(tree, q, solver.q[1:-1:2]), 0.0, atol=1e-4)
    np.testing.assert_allclose(v, solver.v[1:-1:2], atol=1e-2)


def test_a_ball_that_bounces() -> None:
    """The work of contact equals the energy lost; each bounce is lower."""
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(0.5, 0.1)))
    contact = mbt.PointContact(ball, [0, 0, -0.1], stiffness=5e3, dissipation=0.1, static_friction=0.5)
    tree.add_force_element(contact)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    context = tree.create_default_context()
    context.q, context.v = [1, 0, 0, 0, 0, 0, 0.6], [0, 0, 0, 0.3, 0, 0]
    turns = []
    for dt in (2e-4, 1e-4):
        trajectory = mbt.simulate(tree, context, 1.5, dt, method="rk4", events=lambda t, q, v: v[5])
        loss = trajectory.energy.total[0] - trajectory.energy.total[-1]
        assert loss > 0.5
        assert abs(trajectory.energy_drift).max() < 1e-3 * loss
        turns.append(trajectory.events[0].q[:, 6])
    heights = turns[1][turns[1] > 0.1]
    assert len(heights) >= 2
    assert (np.diff([0.6, *heights]) < -0.05).all()
    # The force's rate jumps when the ball touches, which costs the fourth order.
    np.testing.assert_allclose(turns[0], turns[1], atol=2e-3)


@pytest.mark.parametrize("method", FIXED)
def test_fixed_steps_are_those_of_a_rollout(method: str) -> None:
    tree = tumbling_bodies(0.1)
    context = state_of(tree)
    tau = np.random.default_rng(1).normal(size=(600, tree.num_velocities))
    q, v = functional.rollout(tree, context.q, context.v, tau, 2e-3, method=method)
    trajectory = mbt.simulate(tree, context, 1.2, 2e-3, method=method, control=tau)
    np.testing.assert_allclose(trajectory.q, q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(trajectory.v, v, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(trajectory.tau, tau[np.r_[:600, 599]])
    assert trajectory.num_steps == 600
    thinned = mbt.simulate(tree, context, 1.2, 2e-3, method=method, control=tau, every=70)
    kept = [*range(0, 600, 70), 600]
    for name in ("time", "q", "v"):
        np.testing.assert_array_equal(getattr(thinned, name), getattr(trajectory, name)[kept])
    np.testing.assert_array_equal(thinned.tau, tau[[*range(0, 600, 70), 599]])


@pytest.mark.parametrize("method", FIXED)
def test_a_control_function_is_held_for_a_step(method: str) -> None:
    """Passing its recorded forces as an array gives the same states; it is called once a step, in order."""
    tree = tumbling_bodies(0.1)
    context = state_of(tree)
    asked = []

    def control(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        asked.append(time)
        assert not q.flags.writeable
        return -0.3 * v + np.sin(20.0 * time)

    driven = mbt.simulate(tree, context, 0.7, 1e-3, method=method, control=control)
    own = np.empty(tree.num_velocities)
    reusing = mbt.simulate(
        tree, context, 0.7, 1e-3, method=method,
        control=lambda t, q, v: np.add(-0.3 * v, np.sin(20.0 * t), out=own),
    )  # fmt: skip
    np.testing.assert_array_equal(reusing.tau, driven.tau)
    assert asked == driven.time[:-1].tolist()
    np.testing.assert_allclose(driven.tau[:-1], -0.3 * driven.v[:-1] + np.sin(20.0 * driven.time[:-1, None]))
    known = mbt.simulate(tree, context, 0.7, 1e-3, method=method, control=driven.tau[:-1])
    np.testing.assert_allclose(known.q, driven.q, rtol=0, atol=1e-12)


def test_the_last_step_may_be_shorter() -> None:
    tree = falling_body()
    context = tree.create_default_context()
    context.time = 5.0
    trajectory = mbt.simulate(tree, context, 0.25, 0.1, method="rk4", control=np.zeros((3, 6)))
    np.testing.assert_allclose(trajectory.time, [5.0, 5.1, 5.2, 5.25], rtol=1e-15)
    np.testing.assert_allclose(trajectory.q[:, 6], -0.5 * 9.81 * (trajectory.time - 5.0) ** 2, atol=1e-14)
    sampled = mbt.simulate(tree, context, 0.25, 0.1, method="RK45")
    np.testing.assert_array_equal(sampled.time, trajectory.time)
    short = mbt.simulate(tree, context, 0.01, 0.1, method="rk4")
    np.testing.assert_array_equal(short.time, [5.0, 5.01])


@pytest.mark.parametrize("method", [*FIXED, "RK45"])
def test_the_context_stays_as_it_is_and_results_are_the_same_again(method: str) -> None:
    tree = tumbling_bodies(0.2)
    context = state_of(tree)
    context.actuation = [0.2]
    context.applied_forces.body_forces[2, 4] = 0.7
    before = context.clone()
    first, second = (mbt.simulate(tree, context, 0.1, method=method) for _ in range(2))
    for name in ("q", "v", "time", "actuation"):
        np.testing.assert_array_equal(getattr(context, name), getattr(before, name))
    for name in ("time", "q", "v", "tau", "vdot"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@pytest.mark.parametrize("method", [*FIXED, "DOP853"])
def test_a_simulation_goes_on_from_the_final_context(method: str) -> None:
    tree = tumbling_bodies(0.2)
    context = state_of(tree)
    context.actuation = [0.2]
    context.applied_forces.generalized_forces[3] = 0.4
    whole = mbt.simulate(tree, context, 0.5, 0.01, method=method, rtol=1e-9, atol=1e-11)
    half = mbt.simulate(tree, context, 0.25, 0.01, method=method, rtol=1e-9, atol=1e-11)
    rest = mbt.simulate(tree, half.final_context, 0.25, 0.01, method=method, rtol=1e-9, atol=1e-11)
    assert rest.time[0] == half.time[-1] == 0.25
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], atol=1e-8)
    np.testing.assert_allclose(rest.v[-1], whole.v[-1], atol=1e-8)


@pytest.mark.parametrize("method", [*FIXED, "RK45"])
def test_inputs_and_parameters_of_the_context_act(method: str) -> None:
    tree = tumbling_bodies(0.1)
    context = state_of(tree)
    tree.bodies[1].set_mass(context, 3.0)
    context.actuation = [0.2]
    context.applied_forces.body_forces[2] = [0.1, 0.2, 0.3, -1.0, 0.4, 0.5]
    context.applied_forces.generalized_forces[1] = -0.6
    control = np.linspace(-0.2, 0.3, tree.num_velocities)
    trajectory = mbt.simulate(tree, context, 1e-4, 1e-4, method=method, control=control)
    vdot = tree.calc_forward_dynamics(context, control)
    np.testing.assert_allclose((trajectory.v[1] - trajectory.v[0]) / 1e-4, vdot, rtol=2e-2, atol=2e-2)
    np.testing.assert_allclose(trajectory.vdot[0], vdot, rtol=1e-12)
    np.testing.assert_allclose(trajectory.tau, np.tile(control + 0.2 * (np.arange(10) == 9), (2, 1)))


@pytest.mark.parametrize("method", [*FIXED, "RK45"])
def test_locked_joints_stay(method: str) -> None:
    tree = tumbling_bodies(0.1)
    context = state_of(tree)
    hinge = tree.get_joint_by_name("hinge")
    hinge.lock(context)
    trajectory = mbt.simulate(tree, context, 0.2, method=method)
    place = hinge.position_start
    np.testing.assert_array_equal(trajectory.q[:, place], context.q[place])
    assert not trajectory.v[:, hinge.velocity_start].any()
    assert not trajectory.vdot[:, hinge.velocity_start].any()
    assert np.ptp(trajectory.q[:, 6]) > 0.05
    assert hinge.is_locked(trajectory.final_context)


@pytest.mark.parametrize("method", FIXED)
def test_batches(method: str) -> None:
    """Samples move as they would alone, with their own parameters; only a bad one becomes NaN."""
    tree = tumbling_bodies(0.1)
    rng = np.random.default_rng(3)
    batch = tree.create_default_context((2, 3))
    batch.q = tree.random_positions(rng, shape=(2, 3))
    batch.v = rng.normal(size=(2, 3, tree.num_velocities))
    batch.actuation = rng.normal(size=(2, 3, 1))
    tree.bodies[2].set_mass(batch, rng.uniform(1.0, 2.0, size=(2, 3)))

    def control(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return -0.1 * v

    together = mbt.simulate(tree, batch, 0.1, method=method, control=control)
    assert (together.batch_shape, together.q.shape) == ((2, 3), (2, 3, 101, tree.num_positions))
    single = batch._sample((1, 2))
    alone = mbt.simulate(tree, single, 0.1, method=method, control=control)
    sample = together.sample((1, 2))
    for name in ("q", "v", "vdot", "tau", "power", "work", "energy_drift"):
        np.testing.assert_allclose(getattr(sample, name), getattr(alone, name), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(getattr(together, name)[1, 2], getattr(alone, name), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(together.energy.total[1, 2], alone.energy.total, rtol=1e-12)
    np.testing.assert_array_equal(together.final_context.q, together.q[:, :, -1])

    v = batch.v.copy()
    v[0, 1, 2] = np.nan
    batch.v = v
    spoiled = mbt.simulate(tree, batch, 0.1, method=method, control=control)
    assert np.isnan(spoiled.v[0, 1, -1]).all()
    np.testing.assert_array_equal(spoiled.q[1], together.q[1])


@pytest.mark.parametrize("method", [*FIXED, "RK45"])
def test_force_elements_of_users(method: str) -> None:
    """Their forces may change with time: here they match a time-varying applied force."""
    tree, plain = tumbling_bodies(0.1, user_written=True), tumbling_bodies(0.1)
    context = state_of(tree)
    trajectory = mbt.simulate(tree, context, 0.2, 5e-3, method=method, rtol=1e-9, atol=1e-11)

    def control(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        now = plain.create_default_context()
        now.q = q
        J = plain.calc_jacobian_spatial_velocity(
            now, "v", plain.bodies[2].body_frame, [0, 0, 0], plain.world_frame, plain.world_frame
        )
        return np.asarray(2.0 * time * J[3])

    peer = mbt.simulate(
        plain, state_of(plain), 0.2, 5e-3, method="DOP853", control=control, rtol=1e-9, atol=1e-11
    )
    atol = {"semi_implicit_euler": 0.05, "rk4": 1e-7, "RK45": 1e-7}[method]
    np.testing.assert_allclose(trajectory.q, peer.q, atol=atol)
    without = mbt.simulate(plain, state_of(plain), 0.2, 5e-3, method="DOP853")
    assert abs(without.q[-1] - peer.q[-1]).max() > 1e-3
    passed = mbt.simulate(tree, context, 0.2, 5e-3, method=method, control=lambda t, q, v: 0.0 * v)
    np.testing.assert_allclose(passed.q, mbt.simulate(tree, context, 0.2, 5e-3, method=method).q, atol=1e-9)


def test_effort_limits() -> None:
    tree = pendulum(effort_limit=1.5)
    context = tree.create_default_context()
    context.actuation = [0.5]
    wanted = np.linspace(-4.0, 4.0, 81)[:-1, np.newaxis]
    free = mbt.simulate(tree, context, 0.8, 0.01, control=wanted)
    assert not free.num_limited.any()
    np.testing.assert_allclose(free.tau[:-1], wanted + 0.5, atol=1e-14)
    for control in (wanted, lambda t, q, v: wanted[round(t / 0.01)]):
        limited = mbt.simulate(tree, context, 0.8, 0.01, control=control, limit_efforts=True)
        np.testing.assert_allclose(limited.tau[:-1], np.clip(wanted + 0.5, -1.5, 1.5), atol=1e-14)
        assert limited.num_limited.tolist() == [np.count_nonzero(abs(wanted + 0.5) > 1.5 + 1e-12)]
    q, _ = functional.rollout(tree, context.q, context.v, limited.tau[:-1], 0.01)
    np.testing.assert_allclose(limited.q, q, atol=1e-12)


def test_what_is_not_finite_any_more_ends_the_simulation() -> None:
    tree = pendulum()
    context = tree.create_default_context()
    context.q = [0.5]
    calls = []

    def control(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        calls.append(time)
        assert np.isfinite(q).all()
        return np.array([np.inf if time > 0.0295 else 0.0])

    with pytest.warns(mbt.SimulationWarning, match=r"simulate: after 0.03 s: the state is not finite"):
        trajectory = mbt.simulate(tree, context, 1.0, control=control)
    assert trajectory.status == "failed"
    np.testing.assert_allclose(trajectory.time, np.arange(31) * 1e-3, atol=1e-15)
    assert np.isfinite(trajectory.q).all()
    assert len(calls) == 31
    rows = np.zeros((1000, 1))
    rows[700:] = 1e308
    with pytest.warns(mbt.SimulationWarning, match="not finite"):
        trajectory = mbt.simulate(tree, context, 1.0, control=rows)
    assert 0.7 <= trajectory.time[-1] < 0.71
    assert np.isfinite(trajectory.q).all()


@pytest.mark.parametrize("user_written", [False, True], ids=["compiled", "in python"])
def test_a_locked_joint_beside_what_is_not_finite(user_written: bool) -> None:
    tree = tumbling_bodies(user_written=user_written)
    context, batch = state_of(tree), tree.create_default_context(3)
    for each in (context, batch):
        tree.get_joint_by_name("hinge").lock(each)
    too_much = np.full(10, 1e308)
    _, v = tree.rollout(context, np.tile(too_much, (5, 1)), 1e-3)
    assert np.isnan(v[-1, :9]).all()
    for control in (too_much, lambda t, q, v: too_much):
        with pytest.warns(mbt.SimulationWarning, match="not finite"):
            assert mbt.simulate(tree, context, 0.1, control=control).status == "failed"
    v = np.zeros((3, 10))
    v[1, 0] = np.nan
    batch.v = v
    trajectory = mbt.simulate(tree, batch, 0.6, 2e-3)
    assert np.isnan(trajectory.q[1, -1]).any()
    assert np.isfinite(trajectory.q[[0, 2]]).all()
    assert not trajectory.v[[0, 2], :, 9].any()


class Snap(mbt.ForceElement):
    """Fails after a while."""

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        if np.max(context.time) > 0.055:
            raise mbt.SingularityError("it snapped")


@pytest.mark.parametrize("method", [*FIXED, "RK45"])
def test_what_becomes_singular_ends_the_simulation(method: str) -> None:
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.add_force_element(Snap())
    tree.finalize()
    with pytest.warns(mbt.SimulationWarning, match=r"after 0[.\d]* s: it snapped"):
        trajectory = mbt.simulate(tree, tree.create_default_context(), 1.0, 0.01, method=method)
    assert trajectory.status == "failed"
    assert 0.0 <= trajectory.time[-1] <= 0.065


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = pendulum()
    context = tree.create_default_context()
    context.q = [0.5]
    for method in ("rk4", "RK45"):
        shares: list[float] = []
        mbt.simulate(tree, context, 2.0, method=method, progress=shares.append)
        assert len(shares) > 3
        assert shares == sorted(shares)
        assert (shares[0] > 0.0, shares[-1]) == (True, pytest.approx(1.0))


def test_the_bar_of_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = pendulum()
    context = tree.create_default_context()
    bars: list[Any] = []

    class Bar:
        def __init__(self, **keywords: Any) -> None:
            self.n, self.total, self.closed = 0.0, keywords["total"], False
            bars.append(self)

        def update(self, more: float) -> None:
            self.n += more

        def close(self) -> None:
            self.closed = True

    import sys
    from types import ModuleType

    module = ModuleType("tqdm.auto")
    module.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    mbt.simulate(tree, context, 1.0, progress=True)
    assert [(bar.n, bar.total, bar.closed) for bar in bars] == [(pytest.approx(1.0), 1.0, True)]

    def fail(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mbt.simulate(tree, context, 1.0, progress=True, control=fail)
    assert bars[1].closed
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    mbt.simulate(tree, context, 1.0, progress=True)


class Interrupted(BaseException):
    """Stands for the exception of Ctrl-C."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="sends a signal of POSIX")
@pytest.mark.parametrize("batch_shape", [(), (3000,)])
def test_ctrl_c_ends_a_long_simulation_at_once(batch_shape: tuple[int, ...]) -> None:
    tree = tumbling_bodies()
    context = tree.create_default_context(batch_shape)

    def interrupt(*_: object) -> None:
        raise Interrupted

    start = time.process_time()
    assert mbt.simulate(tree, context, 0.01).status == "completed"
    short = time.process_time() - start  # takes seconds in instrumented builds
    before = signal.signal(signal.SIGALRM, interrupt)
    start = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Interrupted):
            mbt.simulate(tree, context, 1e4, method="rk4", every=10**7)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert time.process_time() - start < 1.5 + short
    assert mbt.simulate(tree, context, 0.01).status == "completed"
