"""`Trajectory.audit` names the element, or the integration, where energy appears, and the step."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from motion.moving_models import falling_body, pendulum, tumbling_bodies
from support.linkages import assembled, four_bar


class Pusher(mbt.ForceElement):
    """Pushes along v[0] for a time; reports no power, or claims to be a spring without energy."""

    def __init__(self, force: float, begin: float, end: float, *, is_honest: bool = False) -> None:
        super().__init__()
        self.force, self.begin, self.end, self.is_honest = force, begin, end, is_honest

    def _push(self, context: Any) -> Any:
        is_on = (np.asarray(context.time) >= self.begin) & (np.asarray(context.time) < self.end)
        return np.where(is_on, self.force, 0.0) * np.sign(context.v[..., 0])

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        forces.generalized_forces[..., 0] += self._push(context)

    def do_calc_non_conservative_power(self, context: Any, pc: Any, vc: Any) -> Any:
        return self._push(context) * context.v[..., 0] if self.is_honest else 0.0 * context.v[..., 0]


class ForgetfulSpring(mbt.ForceElement):
    """A spring on q[0] without a potential energy."""

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        forces.generalized_forces[..., 0] -= 50.0 * context.q[..., 0]


def _with(element: mbt.ForceElement, damping: float = 0.0) -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0, 0, -0.5])))
    tree.add_joint(
        mbt.RevoluteJoint, "hinge", tree.world_body, None, rod, None, axis=[0, 1, 0], damping=damping
    )
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.add_force_element(element)
    tree.finalize()
    return tree


def _swing(tree: mbt.MultibodyTree, **options: Any) -> mbt.Trajectory:
    context = tree.create_default_context()
    context.q = np.full(tree.num_positions, 1.0) if tree.num_positions == 1 else tree.default_positions
    return mbt.simulate(tree, context, **{"duration": 1.0, "dt": 1e-3, "method": "rk4", **options})


CONSERVATIVE: dict[str, Callable[[], mbt.Trajectory]] = {
    "pendulum": lambda: _swing(pendulum()),
    "falling body": lambda: _swing(falling_body()),
    "tumbling bodies": lambda: _swing(tumbling_bodies()),
    "semi-implicit": lambda: _swing(pendulum(), dt=1e-5, method="semi_implicit_euler", every=10),
}


@pytest.mark.parametrize("name", CONSERVATIVE)
def test_conservative_motion_is_clean(name: str) -> None:
    report = CONSERVATIVE[name]().audit()
    assert report.is_clean, str(report)
    assert abs(report.change) < 1e-3 * report.scale
    # Gravity is exact, whatever the step length.
    gravity = next(entry for entry in report.entries if "Gravity" in entry.element)
    assert abs(gravity.peak) < 1e-9 * report.scale


def test_linkages_are_clean() -> None:
    """Constraints do no work when the velocities obey them."""
    tree = four_bar()
    context = assembled(tree, np.random.default_rng(1))
    report = mbt.simulate(tree, context, 0.5, 1e-3, method="rk4").audit()
    assert report.is_clean, str(report)
    for constraint in tree.constraints:
        assert abs(report[constraint._label].peak) < 1e-6 * report.scale


def test_damping_takes_what_is_lost() -> None:
    trajectory = _swing(pendulum(damping=0.5))
    report = trajectory.audit()
    assert report.is_clean, str(report)
    assert report.entries[0].element == "damping of joint 'hinge'"
    lost = trajectory.energy.total[-1] - trajectory.energy.total[0]
    np.testing.assert_allclose(report.entries[0].given, lost, rtol=1e-8)
    np.testing.assert_allclose(report.change, lost, rtol=1e-12)
    np.testing.assert_allclose(sum(e.given for e in report.entries), report.change, rtol=1e-12)


@pytest.mark.parametrize("is_honest", [False, True])
@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "DOP853"])
def test_an_element_that_gives_energy_is_named(method: str, is_honest: bool) -> None:
    """Whether or not it reports its power; with the time, though damping takes more overall."""
    if method == "DOP853":
        pytest.importorskip("scipy", reason="needs SciPy")
    element = Pusher(3.0, 0.4, 0.45, is_honest=is_honest)
    trajectory = _swing(_with(element, damping=0.3), method=method)
    report = trajectory.audit(tolerance=2e-3)
    assert not report.is_clean
    worst = report.suspects[0]
    assert worst.element == element._label
    assert worst.given > 0
    assert 0.39 <= worst.time <= 0.45
    assert trajectory.time[worst.step] == worst.time
    q = trajectory.q[(trajectory.time >= 0.4) & (trajectory.time <= 0.4501), 0]
    np.testing.assert_allclose(worst.given, 3.0 * abs(q[-1] - q[0]), rtol=0.05)
    assert element._label in str(report).splitlines()[0]


def test_an_element_that_brakes_is_none() -> None:
    element = Pusher(-0.2, 0.1, 0.9)
    report = _swing(_with(element)).audit()
    assert report[element._label].given < 0
    assert report.is_clean, str(report)


def test_a_spring_without_energy_is_named() -> None:
    """It gives energy as it unloads."""
    element = ForgetfulSpring()
    report = _swing(_with(element)).audit()
    assert report.suspects[0].element == element._label


def test_long_steps_are_named() -> None:
    """Errors grow with the step length; what each step computes exactly stays clean."""
    errors = []
    for dt in (0.1, 0.05):
        report = _swing(pendulum(), dt=dt, duration=3.0, method="semi_implicit_euler").audit()
        assert [entry.element for entry in report.suspects] == ["integration"]
        errors.append(abs(report["integration"].peak))
    assert errors[1] < errors[0]
    assert _swing(pendulum(), dt=0.01, duration=3.0).audit().is_clean


def test_control_may_give() -> None:
    tree = pendulum()
    trajectory = _swing(
        tree, control=lambda time, q, v: 0.5 * np.sign(v + 1e-9), method="semi_implicit_euler"
    )
    report = trajectory.audit(tolerance=5e-3)
    assert report.is_clean, str(report)
    assert report["control and actuators"].given > 0.1
    context = tree.create_default_context()
    context.applied_forces.generalized_forces[:] = 1.0
    report = mbt.simulate(tree, context, 1.0, 1e-3, method="rk4").audit()
    assert report.is_clean
    assert report["applied forces"].may_give
    assert report["applied forces"].given > 0


def test_contact_dissipates() -> None:
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    contact = tree.add_force_element(
        mbt.PointContact(ball, [[0.0, 0.0, 0.0]], stiffness=1e4, dissipation=0.5, static_friction=0.5)
    )
    tree.finalize()
    context = tree.create_default_context()
    context.q = [1, 0, 0, 0, 0, 0, 0.2]
    report = mbt.simulate(tree, context, 0.6, 1e-4, method="rk4").audit()
    assert report.is_clean, str(report)
    assert report[contact._label].given < 0
    assert report.entries[0].element == contact._label


def test_reports_show_themselves() -> None:
    report = _swing(pendulum(damping=0.1)).audit()
    assert str(pickle.loads(pickle.dumps(report))) == str(report)
    lines = str(report).splitlines()
    assert lines[0].startswith("energy audit: clean to 0.001 of ")
    assert lines[1].split()[:2] == ["element", "given"]
    assert "<table" in report._repr_html_()
    assert "clean" in repr(report)
    assert json.loads(json.dumps(report.as_dict()))["is_clean"] is True
    with pytest.raises(mbt.UnknownNameError, match="integration"):
        report["integrations"]
    bad = _swing(pendulum(), dt=0.1, method="semi_implicit_euler").audit()
    assert "SUSPECT" in str(bad)
    assert "in step" in repr(bad)


def test_parts_and_refusals(tmp_path: Any) -> None:
    tree = pendulum()
    trajectory = _swing(tree)
    assert trajectory[100:].audit().num_samples == 901
    with pytest.raises(mbt.ArgumentValueError, match="two or more samples"):
        trajectory[:1].audit()
    with pytest.raises(mbt.ArgumentValueError, match="tolerance"):
        trajectory.audit(tolerance=-1.0)
    trajectory.save(tmp_path / "x.npz")
    with pytest.raises(mbt.ArgumentValueError, match="from a file"):
        mbt.Trajectory.load(tmp_path / "x.npz").audit()
    context = tree.create_default_context(3)
    context.q = [[0.5], [np.nan], [1.0]]
    batch = mbt.simulate(tree, context, 0.1, 1e-3)
    with pytest.raises(mbt.ArgumentValueError, match=r"trajectory\.sample"):
        batch.audit()
    assert batch.sample(2).audit(tolerance=0.1).is_clean
    with pytest.raises(mbt.ArgumentValueError, match="finite, got 0"):
        batch.sample(1).audit()
