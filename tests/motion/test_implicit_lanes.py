"""Implicit steps of batches: several samples in the lanes of a register, each as if it were alone."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.motion.implicit import ImplicitSteps
from motion.moving_models import with_contact_and_friction
from support.case import get_case
from support.convex_steps import ConvexSteps

DT = 4e-3


@pytest.fixture(scope="module")
def leg():
    """A floating trunk on a leg, with every term that steps in lanes support."""
    tree = mbt.MultibodyTree()
    trunk = tree.add_body(mbt.RigidBody("trunk", mbt.SpatialInertia.solid_box_with_mass(3.0, 0.3, 0.2, 0.1)))
    tree.add_joint(mbt.QuaternionFloatingJoint, "base", tree.world_body, None, trunk, None)
    parent = trunk
    for k in range(3):
        link = tree.add_body(
            mbt.RigidBody(f"link{k}", mbt.SpatialInertia.solid_box_with_mass(0.5, 0.04, 0.04, 0.2))
        )
        joint = tree.add_joint(
            mbt.RevoluteJoint, f"hinge{k}", parent, mbt.math.make_pose([0.0, 0.01, -0.2]), link, None,
            axis=np.roll([1.0, 0.0, 0.0], min(k, 1)), damping=0.1, pos_lower_limit=-0.4, pos_upper_limit=0.5,
        )  # fmt: skip
        tree.add_joint_actuator(
            f"servo{k}", joint, effort_limit=3.0, stiffness=60.0, damping=0.5, rotor_inertia=1e-3
        )
        tree.add_force_element(mbt.JointFriction(joint, 0.1, 0.2))
        tree.add_force_element(mbt.RevoluteSpring(joint, 0.1, 5.0))
        parent = link
    sole = [[0.05, 0.0, -0.1], [-0.05, 0.0, -0.1]]
    tree.add_force_element(
        mbt.PointContact(parent, sole, stiffness=4e3, dissipation=0.5, static_friction=0.6)
    )
    tree.add_force_element(
        mbt.PointContact(trunk, [[0.1, 0, -0.05]], stiffness=4e3, dissipation=0.0, static_friction=0.3)
    )
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


@pytest.fixture(scope="module")
def states(leg):
    """States that stand, fall, slide, spin, or are beyond limits: (11, nq), (11, nv), and inputs (11, nv)."""
    rng = np.random.default_rng(5)
    moved = 0.4 * rng.normal(size=(11, leg.num_velocities))
    q = functional.integrate_positions(leg, np.tile(leg.default_positions, (11, 1)), moved, 1.0)
    # Feet from 20 mm below the ground to 200 mm above it.
    q[:, 6] += rng.uniform(-0.02, 0.2, size=11) - q[:, 6] + 0.7
    v = 10.0 ** rng.uniform(-3, 1, size=(11, 1)) * rng.normal(size=moved.shape)
    return q, v, 4.0 * rng.normal(size=moved.shape)


@pytest.fixture
def two_threads():
    before = mbt.get_num_threads()
    mbt.set_num_threads(2)
    yield
    mbt.set_num_threads(before)


def assert_equal_to_each_alone(tree, q, v, tau, steps):
    """Compare each step of the batch with single steps from the same state."""
    for _ in range(steps):
        q1, v1 = functional.step(tree, q, v, tau, DT, method="implicit")
        for i in range(len(q)):
            alone = functional.step(tree, q[i], v[i], tau[i], DT, method="implicit")
            np.testing.assert_allclose(q1[i], alone[0], rtol=0, atol=1e-11 * max(1.0, np.abs(v1[i]).max()))
            np.testing.assert_allclose(v1[i], alone[1], rtol=0, atol=1e-10 * max(1.0, np.abs(v1[i]).max()))
        q, v = q1, v1


def test_samples_of_a_batch_step_as_if_alone(leg, states):
    assert_equal_to_each_alone(leg, *states, 12)


def test_what_a_sample_gets_depends_on_no_other(leg, states, two_threads):
    q, v, tau = states
    forces = np.repeat(tau[:, np.newaxis], 40, axis=1)
    path = functional.rollout(leg, q, v, forces, DT, method="implicit")
    mbt.set_num_threads(1)
    for some in (slice(0, 2), slice(3, 10), [10, 0, 5, 5, 7], slice(None)):
        again = functional.rollout(leg, q[some], v[some], forces[some], DT, method="implicit")
        for x, y in zip(path, again, strict=True):
            np.testing.assert_array_equal(x[some], y)


def test_a_sample_that_is_not_finite_ends_and_the_others_go_on(leg, states):
    q, v, tau = states
    forces = np.repeat(tau[:, np.newaxis], 6, axis=1)
    good = functional.rollout(leg, q, v, forces, DT, method="implicit")
    bad_q, bad_v, bad_forces = q.copy(), v.copy(), forces.copy()
    bad_q[2, 5], bad_v[6, 1], bad_forces[9, 3, 0] = np.nan, np.inf, np.nan
    path = functional.rollout(leg, bad_q, bad_v, bad_forces, DT, method="implicit")
    others = [i for i in range(11) if i not in (2, 6, 9)]
    for x, y in zip(path, good, strict=True):
        np.testing.assert_array_equal(x[others], y[others])
        assert np.isnan(x[[2, 6], 1:]).all()
        np.testing.assert_array_equal(x[9, :4], y[9, :4])
        assert np.isnan(x[9, 4:]).all()


def test_a_sample_without_inertia_gets_what_it_gets_alone():
    tree = mbt.MultibodyTree()
    bead = tree.add_body(mbt.RigidBody("bead", mbt.SpatialInertia.point_mass(1.0, [0.0, 0.0, 0.0])))
    rail = tree.add_joint(
        mbt.PrismaticJoint, "rail", tree.world_body, None, bead, None, axis=[1.0, 0.0, 0.0], damping=2.0
    )
    tree.finalize()
    context = tree.create_default_context(5)
    bead.set_mass(context, [1.0, 2.0, 0.0, 3.0, 4.0])
    rail.set_damping(context, 2.0)
    context.v = np.full((5, 1), 3.0)
    path = tree.rollout(context, np.ones((5, 4, 1)), DT, method="implicit")
    # (m + h d) v1 = m v0 + h tau
    m, v = np.array([1.0, 2.0, 0.0, 3.0, 4.0]), np.full(5, 3.0)
    for k in range(4):
        v = (m * v + DT) / (m + 2.0 * DT)
        np.testing.assert_allclose(path[1][:, k + 1, 0], v, rtol=1e-12)


def test_samples_have_their_own_parameters_locks_and_forces(leg, states):
    q, v, tau = states
    rng = np.random.default_rng(8)
    batch = leg.create_default_context(11)
    batch.q, batch.v = q, v
    mass, targets, stiffness = rng.uniform(1, 4, 11), rng.normal(size=(11, 3)), rng.uniform(10, 90, (11, 3))
    contact = next(x for x in leg.force_elements if isinstance(x, mbt.PointContact))
    leg.bodies[1].set_mass(batch, mass)
    batch.servo_positions = targets
    for k, actuator in enumerate(leg.joint_actuators):
        actuator.set_stiffness(batch, stiffness[:, k])
    contact.set_stiffness(batch, 1e3 * mass)
    leg.get_joint_by_name("hinge1").lock(batch)
    q1, v1 = leg.rollout(batch, tau[:, np.newaxis], DT, method="implicit")
    for i in range(11):
        context = leg.create_default_context()
        context.q, context.v = q[i], v[i]
        leg.bodies[1].set_mass(context, mass[i])
        context.servo_positions = targets[i]
        for k, actuator in enumerate(leg.joint_actuators):
            actuator.set_stiffness(context, stiffness[i, k])
        contact.set_stiffness(context, 1e3 * mass[i])
        leg.get_joint_by_name("hinge1").lock(context)
        alone = leg.rollout(context, tau[i][np.newaxis], DT, method="implicit")
        scale = max(1.0, np.abs(alone[1]).max())
        np.testing.assert_allclose(q1[i], alone[0], rtol=0, atol=1e-11 * scale)
        np.testing.assert_allclose(v1[i], alone[1], rtol=0, atol=1e-10 * scale)


def make_shoulder():
    """A heavy link on hinges about z, y, z with limits; at y = 0 the z hinges share an axis."""
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement([0.3, -9.7, 1.0]))
    light = mbt.SpatialInertia.solid_sphere_with_mass(1e-8, 0.01)
    heavy = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.05).shift([0.01, 0.3, -0.02])
    parent = tree.world_body
    for name, axis, lower, inertia in (
        ("flex", [0, 0, 1], -np.pi, light), ("raise", [0, 1, 0], 0.0, light), ("turn", [0, 0, 1], 0.0, heavy),
    ):  # fmt: skip
        body = tree.add_body(mbt.RigidBody(f"{name} link", inertia))
        tree.add_joint(
            mbt.RevoluteJoint,
            name,
            parent,
            None,
            body,
            None,
            axis,
            pos_lower_limit=lower,
            pos_upper_limit=np.pi,
        )
        parent = body
    tree.finalize()
    return tree


def test_steps_near_gimbal_lock_end_soon():
    """Two hinges counter-rotate almost freely, up to a limit that is 1e16 times steeper."""
    tree, rng, count, h = make_shoulder(), np.random.default_rng(5), 1000, 1e-3
    angles = rng.uniform(-1, 1, count), 10.0 ** rng.uniform(-8, -3, count), rng.uniform(0, 3, count)
    q = np.stack(angles, axis=-1)
    v = 10.0 ** rng.uniform(-1, 2, (count, 1)) * rng.normal(size=q.shape)
    steps, none = ImplicitSteps(tree.create_default_context()), np.zeros((1, 3))
    singles = [steps.take(*state, none, h) for state in zip(q, v, strict=True)]
    assert max(one.solver.iterations.max() for one in singles) < 20
    # The rounding error of limits at some thousand radians per second.
    assert max(one.solver.residual.max() for one in singles) < 1e-6
    _, v1 = functional.step(tree, q, v, np.zeros_like(q), h, method="implicit")
    # Compare the heavy link only; rounding decides how the light ones turn.
    turn = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    expected = np.stack([one.v[0] for one in singles])
    scale = 1.0 + np.abs(expected).max(axis=-1, keepdims=True)
    assert np.abs((v1 - expected) @ turn.T / scale).max() < 1e-9


def test_steps_between_many_steep_kinks_come_to_their_end():
    """Newton's method alone would oscillate: limits, friction and contact of 94 velocities."""
    tree, h, seeds = with_contact_and_friction(get_case("long_branches").tree), 4e-3, [98, 130, 239, 517]
    nv = tree.num_velocities
    rngs = [np.random.default_rng(seed) for seed in seeds]
    moved = np.stack([2.0 * rng.normal(size=nv) for rng in rngs])
    q = functional.integrate_positions(tree, np.tile(tree.default_positions, (4, 1)), moved, 1.0)
    v, none = np.stack([1e-3 * rng.normal(size=nv) for rng in rngs]), np.zeros((4, nv))
    slow = ConvexSteps(tree.create_default_context())
    expected = np.stack([slow.step(*state, h)[1] for state in zip(q, v, none, strict=True)])
    alone = np.stack(
        [functional.step(tree, *state, h, method="implicit")[1] for state in zip(q, v, none, strict=True)]
    )
    assert np.abs(alone - expected).max() < 1e-8
    together = functional.step(tree, q, v, none, h, method="implicit")[1]
    assert np.abs(together - expected).max() < 1e-8
