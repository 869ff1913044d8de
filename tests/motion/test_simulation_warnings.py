"""Warnings of `simulate`: elements too fast for the steps, spins, limits, events that are NaN; failures."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import mbt
from motion.moving_models import falling_body, pendulum, tumbling_bodies
from support.linkages import calc_four_bar_angles, four_bar

SOLVERS = ("RK23", "RK45", "DOP853", "LSODA", "Radau", "BDF")
METHODS = ("semi_implicit_euler", "rk4", *SOLVERS)
# Moment of inertia of a 1 kg, 0.1 m box about its centre [kg m^2].
INERTIA = 1.0 * 2 * 0.1**2 / 12


def damped_box(damping: float = 10.0) -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.1, 0.1)))
    tree.add_joint(
        mbt.RevoluteJoint, "hinge", tree.world_body, None, box, None, axis=[0, 1, 0], damping=damping
    )
    tree.finalize()
    return tree


def sprung_box(stiffness: float) -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.1, 0.1)))
    hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, box, None, axis=[0, 1, 0])
    tree.add_force_element(mbt.RevoluteSpring(hinge, 0.0, stiffness))
    tree.finalize()
    return tree


def moving(tree: mbt.MultibodyTree, v: Any) -> Any:
    context = tree.create_default_context()
    context.v = v
    return context


def warned(
    tree: mbt.MultibodyTree, context: Any, *args: Any, method: str = "semi_implicit_euler", **keywords: Any
) -> tuple[mbt.Trajectory, str]:
    """Return a trajectory (explicit steps by default) and its last warning, or ""."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trajectory = mbt.simulate(tree, context, *args, method=method, **keywords)
    assert all(x.category is mbt.SimulationWarning for x in caught)
    # One warning before the first step, and one for a failure.
    assert len(caught) <= 1 + (trajectory.status == "failed")
    return trajectory, str(caught[-1].message) if caught else ""


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
def test_what_is_too_stiff_is_told_before_the_first_step(method: str) -> None:
    tree = damped_box()
    steps = []

    def control(time: float, q: Any, v: Any) -> list[float]:
        steps.append(time)
        return [0.0]

    with warnings.catch_warnings():
        warnings.simplefilter("error", mbt.SimulationWarning)
        with pytest.raises(
            mbt.SimulationWarning, match=r"^simulate: steps of 0.001 s are too long for the damping"
        ):
            mbt.simulate(tree, moving(tree, [1.0]), 0.5, method=method, control=control)
    assert steps == []


def test_what_comes_to_its_end_is_told_of_once() -> None:
    tree = damped_box()
    trajectory, message = warned(tree, moving(tree, [0.0]), 0.5)
    assert trajectory.status == "completed"
    assert "the damping of joint" in message


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
def test_damping_that_is_too_stiff_is_named_with_its_cure(method: str) -> None:
    tree = damped_box()
    trajectory, message = warned(tree, moving(tree, [1.0]), 0.5, method=method)
    assert trajectory.status == "failed"
    assert message.startswith("simulate: after 0.")
    assert (
        "steps of 0.001 s are too long for the damping of joint 'hinge', which acts at a rate of" in message
    )
    assert message.endswith("or method='implicit', 'Radau' or 'BDF'")
    rate = float(re.search(r"rate of (\S+) 1/s", message)[1])  # type: ignore[index]
    assert rate == pytest.approx(10.0 / INERTIA, rel=1e-2)
    assert trajectory.message in message
    # The cures help: q = v0 I / d at the end, up to a first-order error of at most v0 dt.
    dt = float(re.search(r"take dt = (\S+) s", message)[1])  # type: ignore[index]
    for cure in (
        {"dt": dt, "method": method},
        {"method": "implicit"},
        {"method": "Radau"},
        {"method": "BDF"},
    ):
        cured, message = warned(tree, moving(tree, [1.0]), 0.5, **cure)
        assert (cured.status, message) == ("completed", "")
        # q1 = q0 + dt v1 of the longer step, v1 = v0/(1 + dt d/I)
        of_order_one = {"semi_implicit_euler": 1.01 * dt, "implicit": 1e-3}
        error = of_order_one.get(cure["method"], 1e-7)
        assert cured.q[-1, 0] == pytest.approx(INERTIA / 10.0, abs=error)


def test_steps_that_nobody_can_take_are_no_cure() -> None:
    tree = damped_box(1e7)
    _, message = warned(tree, moving(tree, [1.0]), 0.1)
    assert "take dt" not in message
    assert message.endswith(
        "give more inertia to what it moves, as of a rotor, or take method='implicit', 'Radau' or 'BDF'"
    )
    for method in ("implicit", "Radau"):
        assert warned(tree, moving(tree, [1.0]), 0.1, method=method)[1] == ""


def test_implicit_steps_are_a_cure_of_stiff_elements_between_bodies() -> None:
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.1, 0.1)))
    tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, box, None, axis=[1, 0, 0])
    tree.add_force_element(mbt.LinearSpringDamper(tree.world_body, [-1, 0, 0], box, [0, 0, 0], 1.0, 0.0, 1e4))
    tree.finalize()
    message = warned(tree, moving(tree, [1.0]), 0.5)[1]
    assert "(LinearSpringDamper)" in message
    assert message.endswith("s, or method='implicit', 'Radau' or 'BDF'")
    assert warned(tree, moving(tree, [1.0]), 0.5, method="implicit")[1] == ""


class Pull(mbt.ForceElement):
    """A spring and a damper in Python, along the first velocity."""

    def __init__(self, joint, stiffness, damping):
        super().__init__(joint.model_instance)
        self.gains = stiffness, damping

    def do_calc_and_add_force_contribution(self, context, pc, vc, forces):
        stiffness, damping = self.gains
        forces.generalized_forces[..., 0] -= stiffness * context.q[..., 0] + damping * context.v[..., 0]


@pytest.mark.parametrize(
    ("gains", "is_fast"), [((1e7, 0.0), True), ((1e5, 0.0), False), ((0.0, 4e3), True), ((0.0, 1e3), False)]
)
def test_an_element_in_python_is_named_that_implicit_steps_cannot_follow(gains, is_fast) -> None:
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.1, 0.1)))
    rail = tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, box, None, axis=[1, 0, 0])
    tree.add_force_element(Pull(rail, *gains))
    tree.finalize()
    motion, message = warned(tree, moving(tree, [1.0]), 0.15, method="implicit")
    assert (motion.status == "failed" or np.abs(motion.v).max() > 10.0) == is_fast
    if not is_fast:
        assert message == ""
        return
    assert "(Pull)" in message
    assert "which implicit steps take at their beginning: it acts at a rate of" in message
    dt = float(message.split("take dt = ")[1].split()[0])
    assert message.endswith(f"take dt = {dt:g} s, or method='Radau' or 'BDF'")
    slow, again = warned(tree, moving(tree, [1.0]), 0.05, dt=dt, method="implicit")
    assert again == ""
    assert np.abs(slow.v).max() < 1.5


@pytest.mark.parametrize(("rate", "is_fast"), [(1.9e3, False), (2.1e3, True)])
def test_many_dampings_are_bounded_without_their_eigenvalues(
    monkeypatch: pytest.MonkeyPatch, rate: float, is_fast: bool
) -> None:
    tree = mbt.MultibodyTree()
    for i in range(30):
        box = tree.add_body(
            mbt.RigidBody(f"box{i}", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.1, 0.1))
        )
        joint = mbt.RevoluteJoint
        tree.add_joint(
            joint, f"j{i}", tree.world_body, None, box, None, axis=[0, 1, 0], damping=rate * INERTIA
        )
    tree.finalize()
    calls: list[Any] = []
    eig = np.linalg.eig

    def counted(A: Any) -> Any:
        calls.append(A)
        return eig(A)

    monkeypatch.setattr(np.linalg, "eig", counted)
    _, message = warned(tree, moving(tree, np.full(30, 1e-3)), 0.2)
    # Semi-implicit steps are stable for rates below 2 / dt.
    assert bool(calls) == is_fast
    assert ("too long for the damping of joint" in message) == is_fast


@pytest.mark.parametrize(("method", "bound"), [("semi_implicit_euler", 2.0), ("rk4", 2.785)])
def test_the_bound_of_a_step_is_that_of_the_method(method: str, bound: float) -> None:
    tree = damped_box()
    for part, is_stable in ((0.85, True), (1.05, False)):
        dt = part * bound * INERTIA / 10.0
        trajectory, message = warned(tree, moving(tree, [1e-3]), 150 * dt, dt, method=method)
        assert (abs(trajectory.v[-1, 0]) < 1e-3) == is_stable
        assert ("the damping of joint 'hinge'" in message) != is_stable
    tree = sprung_box(1.0)
    for part, is_stable in ((0.85, True), (1.05, False)):
        dt = part * {2.0: 2.0, 2.785: 2.828}[bound] * np.sqrt(INERTIA)
        _, message = warned(tree, moving(tree, [1e-3]), 150 * dt, dt, method=method)
        assert bool(re.search(r"force element '\w+' \(RevoluteSpring\)", message)) != is_stable


def test_energy_from_nowhere_is_told_of_loops_that_begin_open() -> None:
    """Energy gained in closing the loop does not count; energy gained afterwards does."""
    tree = four_bar().edit()
    wheel = mbt.SpatialInertia.solid_cylinder_with_mass(1.0, 0.3, 0.05, [0, 0, 1.0])
    body = tree.add_body(mbt.RigidBody("wheel", wheel))
    tree.finalize()
    joint = next(x for x in tree.joints if x.child_body is body)
    context = tree.create_default_context()
    q = context.q.copy()
    q[:3] = calc_four_bar_angles(0.7)
    q[1] += 1e-3
    context.q = q
    for speed, is_told in ((0.0, False), (50.0, True)):
        v = np.zeros(tree.num_velocities)
        v[joint.velocity_start : joint.velocity_start + 3] = [0.01 * speed, 0.0, speed]
        context.v = v
        trajectory, message = warned(tree, context, 10.0)
        energy = trajectory.energy.total
        assert (energy.max() > 1e3 * abs(energy[0])) == is_told
        assert ("the energy grew" in message) == is_told, message


def test_a_body_that_spins_too_fast_is_named() -> None:
    tree = mbt.MultibodyTree()
    tree.add_body(
        mbt.RigidBody("wheel", mbt.SpatialInertia.solid_cylinder_with_mass(1.0, 0.3, 0.05, [0, 0, 1.0]))
    )
    tree.finalize()
    context = moving(tree, [0.5, 0, 50, 0, 0, 0])
    trajectory, message = warned(tree, context, 10.0)
    assert trajectory.energy.total[-1] > 1e3 * trajectory.energy.total[0]
    assert re.match(
        r"simulate: the energy grew by \S+ J, from 56.\d J of motion, and nothing drives", message
    )
    assert "too long for body 'wheel', which turns at " in message
    assert "method='implicit', 'rk4' or 'RK45'" in message
    for method in ("implicit", "rk4", "RK45"):
        assert warned(tree, context, 0.5, method=method)[1] == ""


def test_what_moves_well_does_not_warn() -> None:
    for tree in (pendulum(), pendulum(damping=0.2), falling_body(), tumbling_bodies(damping=0.05)):
        context = tree.create_default_context()
        context.v = np.full(tree.num_velocities, 0.5)
        for method in ("semi_implicit_euler", "rk4"):
            assert warned(tree, context, 2.0, method=method)[1] == ""


def slider(lower: float, upper: float) -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("finger", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    joint = tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, body, None, axis=[1, 0, 0])
    joint.set_position_limits([lower], [upper])
    tree.finalize()
    return tree


@pytest.mark.parametrize("method", METHODS)
def test_a_joint_that_passes_its_limit(method: str) -> None:
    tree = slider(-0.01, 0.04)
    _, message = warned(tree, moving(tree, [1.0]), 0.2, method=method)
    assert message == (
        "simulate: joint 'slide' passed its upper limit 0.04 m at 0.041 s: position limits only act with "
        "method='implicit'"
    )
    _, message = warned(tree, moving(tree, [-1.0]), 0.2, method=method)
    assert "passed its lower limit -0.01 m at 0.011 s" in message
    assert warned(tree, moving(tree, [0.1]), 0.2, method=method)[1] == ""


def test_limits_of_samples_and_of_what_begins_outside() -> None:
    tree = slider(0.1, 0.2)
    assert warned(tree, moving(tree, [-1.0]), 0.2)[1] == ""
    batch = tree.create_default_context(3)
    batch.q = [[0.15]] * 3
    batch.v = [[0.0], [np.nan], [-1.0]]
    _, message = warned(tree, batch, 0.2)
    assert "joint 'slide' passed its lower limit 0.1 m at 0.051 s" in message


@pytest.mark.parametrize("method", [*METHODS, "implicit"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_all_solvers_treat_what_is_not_finite_alike(method: str, value: float) -> None:
    tree = pendulum()
    context = tree.create_default_context()
    context.q = [0.5]

    def control(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([value if time > 0.0295 else 0.0])

    trajectory, message = warned(tree, context, 1.0, method=method, control=control)
    assert trajectory.status == "failed"
    # Steps of fixed length hold their forces to the end of the step.
    last, reference = (30, "rk4") if method in SOLVERS else (31, method)
    assert re.match(r"simulate: after 0\.0(29\d*|3) s: the state is not finite", message)
    assert message.endswith(f": the control function returned {value} for hinge_w")
    np.testing.assert_allclose(trajectory.time, np.arange(last) * 1e-3, atol=1e-15)
    exact = mbt.simulate(tree, context, 1e-3 * (last - 1), method=reference)
    np.testing.assert_allclose(trajectory.q, exact.q, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_control_that_runs_away_ends_a_simulation(method: str) -> None:
    tree = pendulum()
    context = moving(tree, [1.0])

    def control(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return 50.0 * v**3  # diverges in finite time

    trajectory, message = warned(tree, context, 1.0, 1e-3, method=method, control=control)
    assert trajectory.status == "failed"
    assert 0.004 < trajectory.time[-1] < 0.02
    assert np.isfinite(trajectory.q).all()
    assert np.isfinite(trajectory.v).all()
    assert "not finite" in message or "step size became too small" in message
    assert trajectory.audit().message == trajectory.message


def test_steps_that_shrink_for_ever_end_a_simulation() -> None:
    tree = pendulum()
    trajectory, message = warned(
        tree, moving(tree, [1e200]), 1.0, method="LSODA", control=lambda time, q, v: 1e3 * v
    )
    assert trajectory.status == "failed"
    assert re.search("the control function returned .* for hinge_w", message)


@pytest.mark.parametrize("method", ["BDF", "Radau", "LSODA", "RK45"])
def test_errors_of_a_control_are_not_those_of_a_solver(method: str) -> None:
    tree = pendulum()

    def control(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if time > 0.01:
            raise ValueError("mine")
        return np.zeros(1)

    with pytest.raises(ValueError, match="mine"):
        mbt.simulate(tree, moving(tree, [1.0]), 1.0, method=method, control=control)


@pytest.mark.parametrize("method", ["rk4", "RK45"])
def test_an_event_that_is_nan(method: str) -> None:
    tree = pendulum()
    context = tree.create_default_context()
    context.q = [0.5]
    whole = mbt.simulate(tree, context, 1.0, method=method, events=lambda t, q, v: q[0])

    def event(time: float, q: np.ndarray, v: np.ndarray) -> float:
        return np.nan if 0.1 < time < 0.2 else float(q[0])

    trajectory, message = warned(tree, context, 1.0, method=method, events=event)
    assert re.match(r"simulate: events\[0\] returned NaN, first at 0\.1\d* s; it cannot", message)
    np.testing.assert_allclose(trajectory.events[0].time, whole.events[0].time, atol=1e-12)


def test_the_audit_of_what_failed() -> None:
    tree = damped_box()
    trajectory, _ = warned(tree, moving(tree, [1.0]), 0.5)
    report = trajectory.audit()
    assert not report.is_clean
    assert 2 <= report.num_samples <= len(trajectory)
    assert all(np.isfinite((x.given, x.largest, x.peak)).all() for x in report.entries)
    assert report["damping of joint 'hinge'"].given < 0.0
    assert "the damping of joint 'hinge'" in report.message
    assert "the simulation failed after" in str(report)
    assert report.as_dict()["message"] == trajectory.message


def standing_box(**settings: float) -> tuple[mbt.MultibodyTree, Any]:
    """Return a box that slides to rest on the ground."""
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(2.0, 0.4, 0.2, 0.2)))
    corners = [[x, y, -0.1] for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
    ground = {"stiffness": 1e4, "dissipation": 1.0, "static_friction": 0.8, **settings}
    tree.add_force_element(mbt.PointContact(box, corners, **ground))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    context = tree.create_default_context()
    context.q, context.v = [1, 0, 0, 0, 0, 0, 0.1], [0, 0, 0, 0.1, 0, 0]
    return tree, context


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
@pytest.mark.parametrize(
    "settings", [{"stiction_speed": 1e-3}, {"stiffness": 1e8}], ids=["stiction", "stiff"]
)
def test_contact_that_is_too_stiff(method: str, settings: dict[str, float]) -> None:
    trajectory, message = warned(*standing_box(**settings), 0.6, method=method)
    assert "too long for force element 'PointContact_0' (PointContact), which acts at a rate of" in message
    assert warned(*standing_box(), 0.6, method=method)[1] == ""
    dt = float(re.search(r"take dt = (\S+) s", message)[1])  # type: ignore[index]
    cured, message = warned(*standing_box(**settings), 0.6, dt, method=method)
    assert message == ""
    assert np.abs(cured.v[-1]).max() < 0.01
    # Uncured, it chatters or flies away; with the cure, shorter steps agree.
    finer = mbt.simulate(*standing_box(**settings), 0.6, dt / 3, method=method)
    assert np.abs(cured.v[-1] - finer.v[-1]).max() < 1e-4
    assert np.abs(trajectory.v[-1] - finer.v[-1]).max() > 5e-3


def fallen_box(drift: float, **settings: float) -> tuple[mbt.MultibodyTree, Any]:
    tree, context = standing_box(**settings)
    context.q, context.v = [1, 0, 0, 0, 0, 0, 0.15], [0, 0, 0, drift, 0, 0]
    return tree, context


@pytest.mark.parametrize(
    ("drift", "settings"),
    [
        (0.0, {"stiffness": 2e4, "dissipation": 0.0}),  # nothing slides, however stiff friction is
        (0.5, {"stiffness": 1e4, "dissipation": 1.0}),  # friction is too stiff for a few steps
        (0.5, {"stiffness": 1e5, "dissipation": 1.0}),  # friction throws and turns the box
        (0.5, {"stiffness": 4e4, "dissipation": 0.0}),
    ],
)
def test_an_impact_is_a_symptom_where_it_goes_wrong(drift: float, settings: dict[str, float]) -> None:
    tree, context = fallen_box(drift, **settings)
    trajectory, message = warned(tree, context, 0.18)
    true = mbt.simulate(tree, context, 0.18, 1e-5, method="semi_implicit_euler")
    M = tree.calc_mass_matrix(context)
    dv = trajectory.v[-1] - true.v[-1]
    error = np.sqrt(dv @ M @ dv / (true.v[-1] @ M @ true.v[-1]))
    assert ("too long for force element" in message) == (error > 0.2)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
def test_short_simulations_are_looked_at_too(method: str) -> None:
    box = damped_box()
    assert (
        "too long for the damping of joint 'hinge'" in warned(box, moving(box, [1.0]), 3e-3, method=method)[1]
    )
    tree = servo_box(1e5, 0.0)
    assert "too long for the servo" in warned(tree, moving(tree, [1e-3]), 3e-3, method=method)[1]
    wheel = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_cylinder_with_mass(1.0, 0.3, 0.05, [0, 0, 1])
    wheel.add_body(mbt.RigidBody("wheel", M))
    wheel.finalize()
    context = wheel.create_default_context()
    context.v = [1000.0, 0, 3000.0, 0, 0, 0]
    assert "wheel" in warned(wheel, context, 5e-3, method=method)[1]


@pytest.mark.parametrize("steps", [30, 300])
def test_a_contact_that_throws_what_lands_is_found_between_samples(steps: int) -> None:
    tree, context = standing_box(stiffness=1e8)
    context.q, context.v = [1, 0, 0, 0, 0, 0, 0.1 + 1e-6], np.zeros(6)
    message = warned(tree, context, steps * 1e-3)[1]
    assert "too long for force element 'PointContact_0' (PointContact)" in message


def servo_box(stiffness: float, damping: float, effort_limit: float = np.inf) -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.1, 0.1)))
    hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, box, None, axis=[0, 1, 0])
    tree.add_joint_actuator("knee", hinge, effort_limit, stiffness=stiffness, damping=damping)
    tree.finalize()
    return tree


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
@pytest.mark.parametrize(("share", "is_stable"), [(0.9, True), (1.1, False)])
@pytest.mark.parametrize("kind", ["stiffness", "damping"])
def test_a_servo_that_is_too_stiff_is_named(method: str, share: float, is_stable: bool, kind: str) -> None:
    """Held efforts need ``h d < 2``; undamped semi-implicit steps also need ``h^2 k < 4``."""
    dt = 1e-3
    if kind == "damping":
        tree = servo_box(0.0, share * 2.0 * INERTIA / dt)
    else:
        tree = servo_box(share * 4.0 * INERTIA / dt**2, 0.0)
    # It soon leaves this neighbourhood, where its efforts are below their limit.
    trajectory, message = warned(tree, moving(tree, [1e-3]), 150 * dt, dt, method=method)
    assert ("the servo of joint actuator 'knee'" in message) != is_stable
    if not is_stable:
        assert re.search(r"take dt = \S+ s, or method='implicit', 'Radau' or 'BDF'", message)
        assert abs(trajectory.v[-1]).max() > 0.1


def test_a_servo_at_its_limit_is_not_stiff() -> None:
    tree = servo_box(10.0 * INERTIA / 1e-6, 0.0, effort_limit=1e-3)
    context = tree.create_default_context()
    context.servo_positions = [1.0]  # so far that its effort is always at the limit
    assert warned(tree, context, 0.15)[1] == ""


def test_a_driven_body_that_spins_too_fast_is_named() -> None:
    """Energy is no symptom in a driven model, but steps of half the length lead elsewhere."""
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("brick", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.3, 0.2, 0.1)))
    tree.finalize()
    context = moving(tree, [220.0, 200.0, 250.0, 0, 0, 0])
    control = np.array([0, 0, 0, 0.0, 0, 1.0])
    message = warned(tree, context, 0.1, control=control)[1]
    assert re.match(
        r"simulate: steps of 0.001 s are too long for body 'brick', which turns at \d+ rad/s", message
    )
    # A ball turning as fast causes no warning, nor do shorter steps.
    ball = mbt.MultibodyTree()
    ball.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.3)))
    ball.finalize()
    assert warned(ball, moving(ball, context.v), 0.2, control=control)[1] == ""
    assert warned(tree, context, 0.01, dt=1e-5, control=control)[1] == ""


# Messages of implicit steps about bodies -----------------------------------------------------------------


def two_links(inertia: mbt.SpatialInertia, **options: Any) -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    arm = tree.add_body(mbt.RigidBody("arm", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.2, 0.3)))
    tip = tree.add_body(mbt.RigidBody("tip", inertia))
    tree.add_joint(mbt.RevoluteJoint, "shoulder", tree.world_body, None, arm, None, axis=[0, 0, 1])
    tree.add_joint(mbt.RevoluteJoint, "wrist", arm, None, tip, None, axis=[1, 0, 0], **options)
    tree.finalize()
    return tree


def impossible(*moments: float) -> mbt.SpatialInertia:
    return mbt.SpatialInertia(0.5, np.zeros(3), mbt.UnitInertia(*moments), skip_validity_check=True)


def test_a_body_with_a_moment_of_inertia_that_no_body_has_is_named() -> None:
    tree = two_links(impossible(0.02, 0.02, -0.001))
    context = moving(tree, [1.0, 1.0])
    with pytest.warns(mbt.SimulationWarning, match=r"body 'tip' has a moment of inertia of -0.0005 kg"):
        mbt.simulate(tree, context, 0.05, method="implicit")


def test_a_joint_that_nothing_resists_is_named_where_implicit_steps_fail() -> None:
    # The arm turns its impossible axis into that of the other joint.
    tree = two_links(impossible(0.02, -1.0, 0.02))
    with pytest.warns(mbt.SimulationWarning):
        trajectory = mbt.simulate(tree, moving(tree, [0.0, 20.0]), 0.1, method="implicit")
    assert trajectory.status == "failed"
    assert "neither inertia nor damping resists joint 'shoulder': give body 'arm'" in trajectory.message


def test_damping_is_enough_for_a_massless_body() -> None:
    massless = mbt.SpatialInertia.zero()
    tree = two_links(massless)
    with pytest.raises(mbt.SingularityError, match="damping of the joint is enough"):
        mbt.simulate(tree, tree.create_default_context(), 0.05, method="implicit")
    tree = two_links(massless, damping=0.1)
    with pytest.raises(mbt.SingularityError, match="wrist"):
        mbt.simulate(tree, tree.create_default_context(), 0.05, method="rk4")
    trajectory = mbt.simulate(tree, tree.create_default_context(), 0.5, method="implicit", control=[0.0, 0.2])
    # Without inertia, the velocity is torque / damping.
    np.testing.assert_allclose(trajectory.q[-1], [0.0, 0.2 / 0.1 * 0.5], rtol=1e-9)


def test_degrees_in_place_of_radians_are_told() -> None:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    context = tree.create_default_context()
    context.q = [0.0, 45.0, 0.0, 0.0, 0.0, 0.0]
    for method in ("semi_implicit_euler", "implicit"):
        with pytest.warns(mbt.SimulationWarning) as caught:
            mbt.simulate(tree, context, 0.01, method=method)
        (message,) = {str(x.message) for x in caught}
        assert message.startswith("simulate: shoulder_q starts at 45 rad, far beyond its limits ")
        assert message.endswith("are these degrees?")
    batch = tree.create_default_context(2)
    batch.q = [np.zeros(6), np.full(6, 30.0)]
    with pytest.warns(mbt.SimulationWarning, match="waist_q starts at 30 rad"):
        mbt.simulate(tree, batch, 0.01)
    # Plausible angles: within a turn, or of a joint without limits; and lengths.
    context.q = [0.0, 5.0, 0.0, 0.0, 0.0, 0.0]
    assert warned(tree, context, 0.01)[1] == ""
    spinning = damped_box().create_default_context()
    spinning.q = [100.0]
    assert "degrees" not in warned(spinning.tree, spinning, 0.01)[1]
    long = slider(0.1, 0.2).create_default_context()
    long.q = [45.0]
    assert warned(long.tree, long, 0.01)[1] == ""


def test_a_control_that_a_limit_of_zero_takes_is_told() -> None:
    box = damped_box().edit()
    box.joints[0].set_effort_limit(0.0)
    box.finalize()
    context = box.create_default_context()
    with pytest.warns(mbt.SimulationWarning, match=r"effort limit of hinge\S* is 0, .* limit_efforts=False"):
        still = mbt.simulate(box, context, 0.1, 5e-3, method="implicit", control=[1.0])
    assert not still.v.any()
    options = {"method": "implicit", "limit_efforts": False}
    assert mbt.simulate(box, context, 0.1, 5e-3, control=[1.0], **options).v.any()
    assert not mbt.simulate(box, context, 0.1, 5e-3, method="implicit").v.any()


@pytest.mark.parametrize(("height", "warns"), [(0.05, True), (0.099, False), (0.2, False)])
def test_what_starts_deep_in_the_floor_is_told(height: float, warns: bool) -> None:
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("{ball}", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    ball.add_collision(mbt.Shape("sphere", [0.1]))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    with_points = tree.edit()
    with_points.add_force_element(
        mbt.PointContact(
            with_points.get_body_by_name("{ball}"), [[0, 0, -0.1]],
            stiffness=1e4, dissipation=1.0, static_friction=0.5,
        )
    )  # fmt: skip
    tree.finalize()
    with_points.finalize()
    shapes = mbt.ShapeContact(mbt.CollisionModel(tree, obstacles=[mbt.Shape("plane", name="floor")]))
    wanted = {
        with_points: "points on body frame '{ball}' start 0.05 m below their plane, and come out slowly",
        tree: "'{ball}' and 'floor' overlap by 0.05 m at the start, and come out slowly",
    }
    for model, text in wanted.items():
        context = model.create_default_context()
        context.q = [1, 0, 0, 0, 0, 0, height]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mbt.simulate(
                model, context, 0.01, 1e-3, method="implicit", contacts=shapes if model is tree else None
            )
        assert [text in str(warning.message) for warning in caught] == [True] * warns
