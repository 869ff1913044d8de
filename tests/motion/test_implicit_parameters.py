"""Derivatives of implicit steps by every parameter with derivatives in a Context, against differences."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt import functional
from motion.test_implicit_core import make_leg
from motion.test_implicit_derivatives import states_that_meet_all
from motion.test_implicit_elements import bushing, make_door, make_free_body, spring

H = 4e-3


def of(kind, tree):
    return [element for element in tree.force_elements if isinstance(element, kind)]


def set_gains(tree, context, x):
    servo = tree.joint_actuators[1]
    servo.set_stiffness(context, 40.0 + x)
    servo.set_damping(context, 0.5 + 0.1 * x)


def set_bushing(tree, context, x):
    (element,) = of(mbt.LinearBushingRollPitchYaw, tree)
    element.set_force_stiffness_constants(context, (1.0 + x) * np.array([1e4, 2e4, 1e4]))
    element.set_torque_damping_constants(context, (1.0 + x) * np.array([0.3, 0.6, 0.3]))


def set_spring(tree, context, x):
    (element,) = of(mbt.LinearSpringDamper, tree)
    element.set_stiffness(context, 1e4 * (1.0 + x))
    element.set_damping(context, 30.0 * (1.0 + x))


#: Parameter changes, each by a number near zero.
CHANGES = {
    "mass": lambda tree, context, x: tree.bodies[2].set_mass(context, 1.3 + x),
    "centre": lambda tree, context, x: tree.bodies[3].set_center_of_mass_in_body_frame(
        context, x * np.array([0.1, 0.2, 0.3])
    ),
    "damping": lambda tree, context, x: tree.get_joint_by_name("hinge2").set_damping(context, 0.2 + x),
    "friction": lambda tree, context, x: of(mbt.JointFriction, tree)[1].set_friction(
        context, 0.2 + x, 0.5 + 2.0 * x
    ),
    "spring": lambda tree, context, x: of(mbt.RevoluteSpring, tree)[0].set_stiffness(context, 30.0 * (1 + x)),
    "gains": set_gains,
    "targets": lambda tree, context, x: context.__setattr__("servo_positions", x * np.array([0.1, 0.2, 0.3])),
    "rotor": lambda tree, context, x: tree.joint_actuators[0].set_rotor_inertia(context, 0.01 + 0.1 * x),
    "contact": lambda tree, context, x: of(mbt.PointContact, tree)[0].set_stiffness(context, 3e3 * (1.0 + x)),
    "dissipation": lambda tree, context, x: of(mbt.PointContact, tree)[0].set_dissipation(context, 0.5 + x),
    "slip": lambda tree, context, x: of(mbt.PointContact, tree)[0].set_friction(context, 0.8 + x),
    "gravity": lambda tree, context, x: tree.gravity_field.set_gravity_vector(
        context, np.array([0.0, 1.0, 0.0]) * x - np.array([0.0, 0.0, 9.81])
    ),
    "inputs": lambda tree, context, x: context.__setattr__("actuation", x * np.array([1.0, 2.0, 3.0])),
    "push": lambda tree, context, x: context.applied_forces.__setattr__(
        "body_forces", x * np.ones((tree.num_bodies, 6))
    ),
}


def path_of(tree, changes, q, v, tau, x, steps=2, lock=None):
    """Return velocities and positions of a rollout in which each number of x changes one parameter."""
    context = tree.create_default_context()
    context.q, context.v = q, v
    if lock is not None:
        tree.get_joint_by_name(lock).lock(context)
    for change, number in zip(changes, x, strict=True):
        change(tree, context, number)
    return tree.rollout(context, np.tile(tau, (steps, 1)), H, method="implicit")


def check(tree, changes, q, v, tau, *, sizes=(2e-3, 1e-3), tolerance=1e-6, **options):
    along = path_of(
        tree.to_autodiff(), changes, q, v, tau, mbt.autodiff.initialize(np.zeros(len(changes))), **options
    )
    plain = path_of(tree, changes, q, v, tau, np.zeros(len(changes)), **options)
    for got, wanted in zip(along, plain, strict=True):
        np.testing.assert_allclose(got.value, wanted, rtol=0, atol=1e-12 * max(1.0, np.abs(wanted).max()))
    for i in range(len(changes)):
        found = []
        for size in sizes:
            x = size * np.eye(len(changes))[i]
            ends = [path_of(tree, changes, q, v, tau, s * x, **options) for s in (1.0, -1.0)]
            found.append([(a - b) / (2.0 * size) for a, b in zip(*ends, strict=True)])
        for got, (coarse, fine) in zip(along, zip(*found, strict=True), strict=True):
            expected = (4.0 * fine - coarse) / 3.0
            error = np.abs(got.derivatives[..., i] - expected).max()
            assert error < tolerance * max(1.0, np.abs(expected).max()), (i, error)


@pytest.mark.parametrize("sample", [0, 1])
def test_each_parameter_and_input_of_a_context_has_derivatives(sample):
    tree = make_leg(loop=False)
    q, v, tau = (x[sample] for x in states_that_meet_all(tree))
    check(tree, list(CHANGES.values()), q, v, tau)


def test_a_loop_and_a_lock_have_derivatives_by_masses():
    tree = make_leg(contact=False)
    q, v, tau = (x[0] for x in states_that_meet_all(tree))
    v = v.copy()
    v[7] = 0.0
    changes = [CHANGES[name] for name in ("mass", "centre", "damping")]
    check(tree, changes, q, 0.1 * v, tau, lock="hinge2", tolerance=1e-5)


@pytest.mark.parametrize("kind", [(bushing(1e4, 30.0), set_bushing), (spring(1e4, 30.0), set_spring)])
def test_elements_between_bodies_have_derivatives_by_their_constants(kind):
    make, change = kind
    tree = make_free_body(make)
    rng = np.random.default_rng(5)
    q = functional.integrate_positions(tree, tree.default_positions, 0.2 * rng.normal(size=6), 1.0)
    check(tree, [change], q, rng.normal(size=6), rng.normal(size=6))


def test_a_door_has_derivatives_by_its_state_and_by_the_length_of_the_step():
    tree = make_door(mbt.DoorHingeConfig())
    ad = tree.to_autodiff()
    q, v, tau, h = mbt.autodiff.initialize([0.2], [0.7], [0.3], H)
    along = functional.step(ad, q, v, tau, h, method="implicit")
    x = np.array([0.2, 0.7, 0.3, H])
    for i, size in enumerate((1e-4, 1e-4, 1e-4, 1e-6)):
        ends = [
            functional.step(tree, *np.split(y[:3], 3), y[3], method="implicit")
            for y in (x + size * np.eye(4)[i], x - size * np.eye(4)[i])
        ]
        for got, above, below in zip(along, *ends, strict=True):
            np.testing.assert_allclose(
                got.derivatives[..., i], (above - below) / (2.0 * size), rtol=1e-6, atol=1e-7
            )


def test_bodies_of_equal_moments_have_derivatives_by_mass():
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.add_joint(mbt.BallRpyJoint, "joint", tree.world_body, None, ball, mbt.math.make_pose([0, 0, 0.3]))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    change = lambda tree, context, x: tree.bodies[1].set_mass(context, 1.0 + x)  # noqa: E731
    check(tree, [change], np.array([0.1, 0.2, 0.3]), np.array([1.0, -2.0, 3.0]), np.array([0.1, 0.2, 0.3]))


def test_a_massless_body_that_damping_resists_has_derivatives():
    tree = mbt.MultibodyTree()
    parent = tree.world_body
    for name, mass in (("arm", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.2, 0.3)), ("tip", None)):
        body = tree.add_body(mbt.RigidBody(name, mass or mbt.SpatialInertia.zero()))
        tree.add_joint(mbt.RevoluteJoint, name, parent, None, body, None, axis=[0, 1, 0], damping=0.2)
        parent = body
    tree.finalize()
    change = lambda tree, context, x: tree.joints[1].set_damping(context, 0.2 + x)  # noqa: E731
    check(tree, [change], np.array([0.1, 0.2]), np.array([1.0, -2.0]), np.array([0.1, 0.2]))
    _, B = functional.step_derivatives(
        tree, np.zeros((2, 2)), np.ones((2, 2)), np.ones(2), H, method="implicit"
    )
    # The second joint has no inertia: its velocity is torque / damping.
    np.testing.assert_allclose(B[:, 3], [[0.0, 1.0 / 0.2]] * 2, rtol=1e-6, atol=1e-9)


def test_numbers_without_derivatives_take_the_steps_of_doubles():
    """Step by step from the same state, since rounding differences grow over later steps."""
    tree = make_leg(loop=False)
    numbers = tree.to_autodiff()
    for q, v, tau in zip(*states_that_meet_all(tree), strict=True):
        positions, velocities = functional.rollout(
            tree, q, v, np.tile(tau, (6, 1)), H, method="implicit", every=1
        )
        for k in range(6):
            got = functional.step(numbers, positions[k], velocities[k], tau, H, method="implicit")
            for x, wanted in zip(got, (positions[k + 1], velocities[k + 1]), strict=True):
                np.testing.assert_allclose(x.value, wanted, rtol=0, atol=1e-13)


def test_other_numbers_and_directions_of_time_are_refused():
    tree = make_leg(contact=False, loop=False)
    zero = np.zeros(9)
    with pytest.raises(mbt.ArgumentTypeError, match="'autodiff'"):
        functional.step(
            tree.clone_to_scalar("fraction"),
            tree.default_positions.tolist(),
            [0] * 9,
            [0] * 9,
            1,
            method="implicit",
        )
    with pytest.raises(mbt.ArgumentValueError, match="dt"):
        functional.step(tree.to_autodiff(), tree.default_positions, zero, zero, -H, method="implicit")
