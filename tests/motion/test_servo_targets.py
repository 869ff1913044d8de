"""Targets of servos that change during a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt

DT, STEPS = 2e-3, 40


def arm() -> mbt.MultibodyTree:
    """Return two links with a servo, a plain motor between them, and a second servo."""
    tree = mbt.MultibodyTree()
    parent: Any = tree.world_body
    for i, gains in enumerate(({"stiffness": 80.0, "damping": 3.0}, {}, {"stiffness": 20.0, "damping": 1.0})):
        link = tree.add_body(mbt.RigidBody(f"link{i}", mbt.SpatialInertia.solid_sphere_with_mass(0.5, 0.1)))
        X_PF = mbt.math.make_pose([0.2, 0, 0.1])
        axis = np.eye(3)[i]
        joint = tree.add_joint(
            mbt.RevoluteJoint, f"joint{i}", parent, X_PF, link, None, axis=axis, damping=0.1
        )
        tree.add_joint_actuator(f"motor{i}", joint, effort_limit=6.0, **gains)
        parent = link
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


@pytest.fixture(scope="module")
def tree() -> mbt.MultibodyTree:
    return arm()


def targets_at(time: float) -> np.ndarray:
    return np.array([0.5 * np.sin(9 * time), 7.0, 0.3 - time])


def rates_at(time: float) -> np.ndarray:
    return np.array([4.5 * np.cos(9 * time), -3.0, -1.0])


def context_of(tree: mbt.MultibodyTree) -> Any:
    context = tree.create_default_context()
    context.q, context.v = [0.2, -0.1, 0.3], [0.5, 0.1, -0.2]
    return context


def step_by_step(tree: mbt.MultibodyTree, method: str) -> np.ndarray:
    """Return the positions after each step, from one-step simulations with targets set in a Context."""
    context, found = context_of(tree), []
    for k in range(STEPS):
        context.servo_positions, context.servo_velocities = targets_at(k * DT), rates_at(k * DT)
        context = mbt.simulate(tree, context, DT, DT, method=method).final_context
        found.append(context.q)
    return np.array(found)


@pytest.mark.parametrize("method", ["implicit", "semi_implicit_euler", "rk4"])
def test_arrays_and_functions_are_targets_of_each_step(tree: mbt.MultibodyTree, method: str) -> None:
    wanted = step_by_step(tree, method)
    times = DT * np.arange(STEPS)
    rows = np.array([targets_at(time) for time in times]), np.array([rates_at(time) for time in times])
    for positions, velocities in (rows, [lambda t, q, v: targets_at(t), lambda t, q, v: rates_at(t)]):
        motion = mbt.simulate(
            tree, context_of(tree), STEPS * DT, DT, method=method, servo_positions=positions,
            servo_velocities=velocities,
        )  # fmt: skip
        np.testing.assert_allclose(motion.q[1:], wanted, rtol=0, atol=1e-13)
    still = mbt.simulate(tree, context_of(tree), STEPS * DT, DT, method=method)
    assert abs(still.q[-1] - wanted[-1]).max() > 0.01


def test_solvers_of_scipy_ask_functions(tree: mbt.MultibodyTree) -> None:
    """The same as a control that computes these efforts for plain motors."""
    pytest.importorskip("scipy")
    plain = tree.edit()
    for actuator in plain.joint_actuators:
        if actuator.is_servo:
            actuator.set_default_stiffness(0.0).set_default_damping(0.0)
    plain.finalize()

    def control(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        effort = [80.0, 0.0, 20.0] * (targets_at(time) - q) + [3.0, 0.0, 1.0] * (rates_at(time) - v)
        return np.clip(effort, -6.0, 6.0)

    options: dict[str, Any] = {"method": "DOP853", "rtol": 1e-9, "atol": 1e-11}
    wanted = mbt.simulate(plain, context_of(plain), 0.2, 0.1, control=control, **options)
    motion = mbt.simulate(
        tree, context_of(tree), 0.2, 0.1, servo_positions=lambda t, q, v: targets_at(t),
        servo_velocities=lambda t, q, v: rates_at(t), **options,
    )  # fmt: skip
    np.testing.assert_allclose(motion.q, wanted.q, rtol=0, atol=1e-8)


@pytest.mark.parametrize("method", ["implicit", "rk4"])
def test_samples_have_targets_of_their_own(tree: mbt.MultibodyTree, method: str) -> None:
    batch: Any = tree.create_default_context(2)
    batch.q, batch.v = context_of(tree).q, context_of(tree).v
    rows = np.array([[targets_at(k * DT * (1 + s)) for k in range(STEPS)] for s in range(2)])
    together = mbt.simulate(tree, batch, STEPS * DT, DT, method=method, servo_positions=rows)
    one = mbt.simulate(tree, batch, STEPS * DT, DT, method=method, servo_positions=rows[1, 0])
    for s in range(2):
        alone = mbt.simulate(tree, context_of(tree), STEPS * DT, DT, method=method, servo_positions=rows[s])
        np.testing.assert_allclose(together.q[s], alone.q, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(one.q[0], one.q[1])


def test_an_event_in_a_step_sees_its_targets(tree: mbt.MultibodyTree) -> None:
    def passes(time: float, q: np.ndarray, v: np.ndarray) -> float:
        return float(q[0] - 0.25)

    options: dict[str, Any] = {"method": "implicit", "servo_positions": lambda t, q, v: targets_at(t)}
    motion = mbt.simulate(tree, context_of(tree), 100 * DT, DT, events=passes, **options)
    [time] = motion.events[0].time
    k = int(time / DT)
    near = mbt.simulate(tree, context_of(tree), k * DT, DT, **options).final_context
    near.servo_positions = targets_at(k * DT)
    there = mbt.simulate(tree, near, time - k * DT, DT, method="implicit")
    assert there.q[-1, 0] == pytest.approx(0.25, abs=1e-9)


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        (np.zeros((STEPS, 2)), r"servo_positions: expected shape \(40, 3\), a row for each step"),
        ([np.nan, 0, 0], "servo_positions"),
        (lambda t, q, v: [1.0], r"the result of servo_positions: .*\(3,\).*\(1,\)"),
        (lambda t, q, v: "here", "the result of servo_positions"),
    ],
)
def test_wrong_targets_are_named(tree: mbt.MultibodyTree, targets: Any, words: str) -> None:
    with pytest.raises(mbt.MbtError, match=words):
        mbt.simulate(tree, context_of(tree), STEPS * DT, DT, servo_positions=targets)


@pytest.mark.parametrize("method", ["implicit", "semi_implicit_euler", "rk4"])
@pytest.mark.parametrize("which", ["servo_positions", "servo_velocities"])
def test_a_target_that_is_nan_moves_nothing(tree: mbt.MultibodyTree, method: str, which: str) -> None:
    """The effort limit does not turn NaN into a number."""
    options: dict[str, Any] = {which: lambda t, q, v: [0.0, 0.0, np.nan if t > 4.5 * DT else 0.0]}
    with pytest.warns(mbt.SimulationWarning, match="not finite: .* nan$") as warned:
        motion = mbt.simulate(tree, context_of(tree), STEPS * DT, DT, method=method, **options)
    assert motion.status == "failed"
    assert motion.num_steps <= 6
    if method == "implicit":
        assert f"{which} of actuator 'motor2' is nan" in str(warned[0].message)


@pytest.mark.parametrize("count", [1, 3, 20])
def test_a_target_that_is_nan_ends_its_sample_alone(tree: mbt.MultibodyTree, count: int) -> None:
    batch = tree.create_default_context(count)
    targets = np.zeros((count, 3))
    targets[count // 2, 2] = np.nan
    batch.servo_positions = targets
    q, v = tree.rollout(batch, np.zeros((count, 4, 3)), DT, method="implicit")
    is_lost = np.isnan(q[:, 1:]).all(axis=(1, 2)) & np.isnan(v[:, 1:]).all(axis=(1, 2))
    assert np.flatnonzero(is_lost).tolist() == [count // 2]
    assert np.isfinite(np.delete(q, count // 2, axis=0)).all()
    # With an infinite target, the effort is at its limit.
    batch.servo_positions = np.where(np.isnan(targets), np.inf, targets)
    q, _ = tree.rollout(batch, np.zeros((count, 4, 3)), DT, method="implicit")
    assert np.isfinite(q).all()


def test_a_tree_without_servos_takes_none() -> None:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    with pytest.raises(mbt.ArgumentValueError, match="servo_velocities: expected none, as no actuator"):
        mbt.simulate(tree, tree.create_default_context(), 0.1, servo_velocities=np.zeros(6))


def test_motors_of_a_file_say_how_they_become_servos() -> None:
    """Targets without a servo are refused, not dropped. The cure that the message names works."""
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"), actuators="all")
    context = tree.create_default_context()
    cure = r"set_default_stiffness and set_default_damping in tree\.edit\(\)$"
    with pytest.raises(mbt.ArgumentValueError, match=f"servo_positions: expected zeros.*{cure}"):
        context.servo_positions = np.full(6, 0.2)
    with pytest.raises(mbt.ArgumentValueError, match=f"servo_velocities: expected zeros.*{cure}"):
        context.servo_velocities = np.full(6, 0.2)
    context.servo_positions, context.servo_velocities = np.zeros((2, 6))  # as read
    for variant in (tree.to_autodiff(), tree.to_symbolic()):
        other = variant.create_default_context()
        other.servo_positions = other.servo_positions
    with pytest.raises(mbt.ArgumentValueError, match=f"servo_positions: expected none.*{cure}"):
        mbt.simulate(tree, context, 0.1, servo_positions=np.full(6, 0.2))
    with pytest.raises(mbt.ArgumentValueError, match=f"stiffness: expected a servo.*{cure}"):
        tree.joint_actuators[0].set_stiffness(context, 10.0)

    work = tree.edit()
    work.joint_actuators[0].set_default_stiffness(10.0)
    work.finalize()
    context = work.create_default_context()
    context.servo_positions = np.full(6, 0.2)
    assert context.servo_positions.tolist() == [0.2, 0.0, 0.0, 0.0, 0.0, 0.0]
