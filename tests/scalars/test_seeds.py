"""Everything in a Context can be seeded through public setters, and the dynamics have the derivatives."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import mbt
from mbt._core.engines.lane_engine import lane_count
from mbt.autodiff import AutoDiffArray, initialize
from scalars.scalar_trees import richardson
from support.declaring_elements import Spring
from support.description import Array
from support.force_element_types import make_everything
from support.joint_types import random_state

TREE = make_everything()
AD = TREE.to_autodiff()
STATE = random_state(TREE, np.random.default_rng(1))
VDOT = np.linspace(-1.0, 1.0, TREE.num_velocities)


def dynamics(tree: mbt.MultibodyTree, context: Any) -> Any:
    """Return both dynamics, and other results that depend on parameters."""
    tau = tree.calc_inverse_dynamics(context, VDOT, include_force_elements=True)
    energy = tree.calc_potential_energy(context) + tree.calc_kinetic_energy(context)
    return np.concatenate([tau, tree.calc_forward_dynamics(context), np.stack([energy])])


Setter = Callable[[Any, Any, Any], object]


def setters() -> dict[str, tuple[Any, Setter, Any]]:
    """Name -> element, setter (element, Context, value), and a value."""
    found: dict[str, tuple[Any, Setter, Any]] = {}

    def add(element: Any, name: str, value: Any) -> None:
        found[f"{element._label}.{name}"] = (element, lambda e, c, x: getattr(e, name)(c, x), value)

    for body in (TREE.bodies[1], TREE.bodies[-1]):
        add(body, "set_mass", body.default_mass)
        add(body, "set_center_of_mass_in_body_frame", body.default_com)
    for joint in TREE.joints:
        if joint.num_velocities:
            add(joint, "set_damping_vector", joint.get_damping_vector(STATE))
    for actuator in TREE.joint_actuators:
        add(actuator, "set_rotor_inertia", actuator.rotor_inertia(STATE))
        add(actuator, "set_gear_ratio", actuator.gear_ratio(STATE))
    for element in TREE.force_elements:
        for name in dir(element):
            if name.startswith("set_") and hasattr(element, "get_" + name[4:]):
                if name == "set_config":
                    continue
                if name == "set_constants":
                    for constant, value in element.get_constants(STATE).items():  # type: ignore[attr-defined]
                        found[f"{element._label}.{constant}"] = (
                            element,
                            lambda e, c, x, constant=constant: e.set_constants(c, **{constant: x}),
                            value,
                        )
                else:
                    add(element, name, getattr(element, "get_" + name[4:])(STATE))
        if isinstance(element, mbt.JointFriction):
            found[f"{element._label}.set_friction"] = (
                element,
                lambda e, c, x: e.set_friction(c, x[0], x[1]),
                [element.get_coulomb_friction(STATE), element.get_breakaway_friction(STATE)],
            )
    return found


SETTERS = setters()


@pytest.mark.parametrize("name", SETTERS)
def test_parameters_of_elements(name: str) -> None:
    element, set_value, value = SETTERS[name]
    value = np.asarray(value, dtype=float)
    rate = np.random.default_rng(3).normal(size=value.shape) * (np.abs(value) + (value == 0.0))
    double = TREE.create_default_context()
    double.q, double.v = STATE.q, STATE.v

    def along(step: float) -> Array:
        set_value(element, double, (value + step * rate)[()])
        return np.asarray(dynamics(TREE, double))

    is_bound = bool(np.any(value == 0.0)) and "damping" in name
    if is_bound:  # Zero is the least: step inwards.
        value = value + 0.1
    wanted = richardson(along)
    context = AD.create_default_context()
    context.q, context.v = STATE.q, STATE.v
    set_value(AD.get_variant(element), context, AutoDiffArray(value, rate[..., None]))
    got = dynamics(AD, context)
    assert got.num_derivatives == 1
    scale = 1.0 + np.max(np.abs(wanted))
    np.testing.assert_allclose(got.derivatives[:, 0], wanted, rtol=0, atol=1e-7 * scale)
    np.testing.assert_allclose(got.value, along(0.0), rtol=0, atol=1e-10 * scale)


def test_poses_of_frames() -> None:
    """Poses of the frames that a bushing connects."""
    frame = TREE.get_frame_by_name("bush_A")
    assert isinstance(frame, mbt.FixedOffsetFrame)
    X = frame.get_pose_in_parent_frame(STATE)
    double = TREE.create_default_context()
    double.q, double.v = STATE.q, STATE.v
    a = np.array([0.3, -0.5, 0.2])
    p = np.array([0.1, 0.4, -0.6])

    def moved(step: float) -> Array:
        turn = mbt.math.make_pose(step * p, quaternion=_quaternion(step * a))
        return np.asarray(X @ turn)

    def along(step: float) -> Array:
        frame.set_pose_in_parent_frame(double, moved(step))
        return np.asarray(dynamics(TREE, double))

    wanted = richardson(along)
    assert np.max(np.abs(wanted)) > 0.1
    twist = np.zeros((4, 4))
    twist[:3, :3], twist[:3, 3] = np.cross(np.eye(3), a), p
    context = AD.create_default_context()
    context.q, context.v = STATE.q, STATE.v
    AD.get_variant(frame).set_pose_in_parent_frame(context, AutoDiffArray(X, (X @ twist)[..., None]))
    np.testing.assert_allclose(dynamics(AD, context).derivatives[:, 0], wanted, atol=1e-7)


def _quaternion(turn: Array) -> Array:
    angle = float(np.linalg.norm(turn))
    return np.concatenate([[np.cos(angle / 2)], np.sinc(angle / 2 / np.pi) / 2 * turn])


@cache
def one_dof() -> tuple[mbt.MultibodyTree, mbt.MultibodyTree]:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.3)))
    joint = tree.add_joint(mbt.RevoluteJoint, "joint", tree.world_body, None, body, None, axis=[0, 0, 1])
    tree.add_force_element(Spring(joint))
    tree.add_force_element(Beat(joint))
    tree.add_joint_actuator("motor", joint)
    tree.finalize()
    return tree, tree.to_autodiff()


class Beat(mbt.ForceElement):
    """A torque that depends on time."""

    def __init__(self, joint: mbt.Joint) -> None:
        super().__init__(joint.model_instance)
        self.joint = joint

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        forces.generalized_forces[..., self.joint.velocity_start] += np.sin(3.0 * context.time)


def test_all_inputs_at_once() -> None:
    """State, time, actuation, three kinds of forces, and declared values of elements, in one `initialize`."""
    tree, ad = one_dof()
    spring: Any = ad.get_variant(tree.force_elements[0])
    context: Any = ad.create_default_context()
    external = mbt.MultibodyForces(ad)
    q, v, time, u, applied, more, k, setpoint, tau = initialize(
        [0.3], [0.2], 0.7, [1.5], [0.4], [0.6], [3.0, 0.5], [0.25], [0.9]
    )
    context.q, context.v, context.time, context.actuation = q, v, time, u
    context.set_numeric_parameter(spring.stiffness, k)
    context.set_discrete_state(spring.setpoint, setpoint)
    context.applied_forces.generalized_forces = applied
    external.generalized_forces = more
    vdot = ad.calc_forward_dynamics(context, tau, external)
    inertia = 2.0 * 0.4 * 0.09
    wanted = [-3.0, 0.0, 3.0 * np.cos(2.1), 1.0, 1.0, 1.0, -(0.3 - 0.5 - 0.25), 3.0, 3.0, 1.0]
    np.testing.assert_allclose(inertia * vdot.derivatives[0], wanted, rtol=1e-12, atol=1e-14)


def test_forces_take_seeds() -> None:
    """New forces are constants; adding a number with derivatives makes room for them."""
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.3)))
    joint = tree.add_joint(mbt.UniversalJoint, "joint", tree.world_body, None, body, None, damping=0.5)
    tree.finalize()
    ad = tree.to_autodiff()
    body, joint = ad.get_variant(body), ad.get_variant(joint)
    context: Any = ad.create_default_context()
    F, tau, v = initialize([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 7.0, [8.0, 9.0])
    context.v = v
    forces: Any = mbt.MultibodyForces(ad)
    body.add_in_force_in_world(context, F, forces)
    assert np.array_equal(forces.body_forces[1].derivatives, np.eye(6, 9))
    # Adding a constant keeps the derivatives.
    body.add_in_force_in_world(context, np.ones(6), forces)
    body.add_in_force(context, [1.0, 0.0, 0.0], F, ad.world_frame, forces)
    np.testing.assert_array_equal(forces.body_forces[1].value, [3.0, -1.0, 12.0, 9.0, 11.0, 13.0])
    wanted = 2.0 * np.eye(6, 9)
    wanted[1, 5], wanted[2, 4] = -1.0, 1.0
    np.testing.assert_array_equal(forces.body_forces[1].derivatives, wanted)
    joint.add_in_one_force(context, 1, tau, forces)
    joint.add_in_damping(context, forces)
    np.testing.assert_array_equal(forces.generalized_forces.value, [-4.0, 2.5])
    wanted = np.zeros((2, 9))
    wanted[0, 7], wanted[1, 8], wanted[1, 6] = -0.5, -0.5, 1.0
    np.testing.assert_array_equal(forces.generalized_forces.derivatives, wanted)
    before = forces.clone()
    with pytest.raises(mbt.ShapeError, match="derivatives"):
        body.add_in_force_in_world(context, initialize(np.ones(6)), forces)
    assert forces == before


def test_inputs_of_actuators_take_seeds() -> None:
    actuator = AD.joint_actuators[1]
    u: Any = initialize([1.0, 2.0])
    actuator.set_actuation_vector(3.0 * u[:1], u)
    np.testing.assert_array_equal(u.value, [1.0, 3.0])
    np.testing.assert_array_equal(u.derivatives, [[1.0, 0.0], [3.0, 0.0]])
    with pytest.raises(mbt.ShapeError, match="u_actuator"):
        actuator.set_actuation_vector(u, u)


W = lane_count()


@pytest.mark.parametrize("count", sorted({0, 1, W - 1, W, W + 1, 3 * W, 40}))
def test_any_number_of_directions(count: int) -> None:
    """Directions are computed in blocks, each as if alone."""
    rng = np.random.default_rng(count)
    dq, dv, dx = (rng.normal(size=(n, count)) for n in (STATE.q.size, STATE.v.size, VDOT.size))
    dm = rng.normal(size=count)

    def run(part: slice) -> list[AutoDiffArray]:
        context: Any = AD.create_default_context()
        context.q, context.v = AutoDiffArray(STATE.q, dq[:, part]), AutoDiffArray(STATE.v, dv[:, part])
        AD.bodies[1].set_mass(context, AutoDiffArray(2.0, dm[part]))
        x = AutoDiffArray(VDOT, dx[:, part])
        return [
            AD.calc_inverse_dynamics(context, x, include_force_elements=True),
            AD.calc_forward_dynamics(context, x),
            AD.calc_mass_matrix(context),
            AD.eval_position_kinematics(context).X_WB,
            np.stack([AD.calc_potential_energy(context)]),
        ]

    together = run(slice(None))
    assert all(result.num_derivatives == count for result in together)
    for i in range(count):
        for result, alone in zip(together, run(slice(i, i + 1)), strict=True):
            np.testing.assert_array_equal(result.derivatives[..., i], alone.derivatives[..., 0])
            np.testing.assert_array_equal(result.value, alone.value)


# With elements written in Python, derivatives take seconds.
@pytest.mark.parametrize("with_elements", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_numbers_of_directions_that_differ(with_elements: bool) -> None:
    """An error says so; nothing has changed, and the Context still computes."""
    context: Any = AD.create_default_context()
    context.q = AutoDiffArray(STATE.q, np.ones((STATE.q.size, 3)))
    context.v = STATE.v
    wanted = AD.calc_forward_dynamics(context)
    wrong = AutoDiffArray(VDOT, np.ones((VDOT.size, 4)))
    calls: list[Callable[[], object]] = [
        lambda: AD.calc_forward_dynamics(context, wrong),
        lambda: AD.calc_inverse_dynamics(context, wrong),
        lambda: AD.calc_inverse_dynamics_derivatives(context, wrong, include_force_elements=with_elements),
        lambda: AD.calc_inverse_dynamics_regressor(context, wrong),
        lambda: AD.map_velocity_to_qdot(context, wrong),
        lambda: AD.bodies[1].set_mass(context, initialize(2.0)) and AD.calc_mass_matrix(context),
    ]
    for call in calls[:-1]:
        with pytest.raises(mbt.ShapeError, match="derivatives"):
            call()
        again = AD.calc_forward_dynamics(context)
        np.testing.assert_array_equal(again.value, wanted.value)
        np.testing.assert_array_equal(again.derivatives, wanted.derivatives)
    with pytest.raises(mbt.ShapeError, match="derivatives"):
        calls[-1]()
    AD.bodies[1].set_mass(context, TREE.bodies[1].default_mass)
    np.testing.assert_array_equal(AD.calc_forward_dynamics(context).derivatives, wanted.derivatives)


def test_parameters_are_seeded_again() -> None:
    """With another number of directions, or none; a constant leaves no derivatives behind."""
    body = AD.bodies[1]
    context: Any = AD.create_default_context()
    for count in (1, 3, 0, 2):
        body.set_mass(context, AutoDiffArray(2.0, np.ones(count)))
        assert body.get_mass(context).num_derivatives == count
        assert AD.calc_mass_matrix(context).num_derivatives == count
    # With another seeded parameter, both must change together; otherwise nothing changes.
    other, serials = AD.bodies[2], context._serials
    before = other.get_mass(context)
    with pytest.raises(mbt.ShapeError, match="derivatives"):
        other.set_mass(context, AutoDiffArray(5.0, np.ones(3)))
    assert other.get_mass(context).value == before.value
    assert context._serials == serials
    other.set_mass(context, AutoDiffArray(5.0, np.ones(2)))
    body.set_mass(context, 2.0)
    other.set_mass(context, 5.0)
    assert AD.calc_mass_matrix(context).num_derivatives == 0
    joint = AD.joints[0]
    for count in (1, 3, 0):
        joint.set_angle(context, AutoDiffArray(0.3, np.ones(count)))  # type: ignore[attr-defined]
        assert context.q.num_derivatives == count


def test_inertial_parameters_are_seeded_again() -> None:
    """All at once: they may have another number of directions than those that they replace."""
    pi = TREE.get_inertial_parameters()
    context: Any = AD.create_default_context()
    for count in (2, 5, 0, 1):
        AD.set_inertial_parameters(context, AutoDiffArray(pi, np.ones((pi.size, count))))
        assert AD.get_inertial_parameters(context).num_derivatives == count
    own, other = AD.create_default_context(), AD.create_default_context()
    body = AD.bodies[1]
    body.set_mass(other, AutoDiffArray(2.0, np.ones(3)))
    M = body.calc_spatial_inertia_in_body_frame(other)
    body.set_mass(own, initialize(3.0))
    body.set_spatial_inertia_in_body_frame(own, M)
    assert body.get_mass(own).num_derivatives == 3
    AD.bodies[2].set_mass(context, initialize(3.0))
    serials = context._serials
    with pytest.raises(mbt.ShapeError, match="derivatives"):
        body.set_spatial_inertia_in_body_frame(context, M)
    assert context._serials == serials
    with pytest.raises(mbt.ArgumentTypeError):
        TREE.bodies[1].set_spatial_inertia_in_body_frame(TREE.create_default_context(), M)


def test_what_an_error_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failing element leaves the Context usable, and its own error is raised."""
    _, ad = one_dof()
    context: Any = ad.create_default_context()
    context.q = initialize([0.3])
    wanted = ad.calc_forward_dynamics(context)

    def fails(*_: object) -> None:
        raise KeyError("mine")

    with monkeypatch.context() as patch:
        patch.setattr(Beat, "do_calc_and_add_force_contribution", fails)
        for _ in range(3):
            with pytest.raises(KeyError, match="mine"):
                ad.calc_forward_dynamics(context)
    np.testing.assert_array_equal(ad.calc_forward_dynamics(context).derivatives, wanted.derivatives)
    np.testing.assert_array_equal(context.q.derivatives, [[1.0]])
