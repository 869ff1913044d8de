"""Compiled implicit steps against the NumPy version, ``support.convex_steps``."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.motion.implicit import ImplicitSteps, make_core
from support.convex_steps import ConvexSteps

pytestmark = pytest.mark.usefixtures("form")


def make_leg(
    *, floating=True, limits=True, servos=True, springs=True, friction=True, contact=True, loop=True
):
    """Links with every term that implicit steps support, on a floating base or fixed to World."""
    tree = mbt.MultibodyTree()
    bodies = []
    parent = tree.world_body
    for i in range(4):
        M = mbt.SpatialInertia.solid_box_with_mass(1.0 + 0.3 * i, 0.1, 0.2, 0.3 + 0.05 * i)
        body = tree.add_body(mbt.RigidBody(f"link{i}", M))
        X = mbt.math.make_pose([0.02, 0.05, -0.2])
        if i == 0 and floating:
            tree.add_joint(mbt.QuaternionFloatingJoint, "base", parent, None, body, None)
        else:
            joint = tree.add_joint(
                mbt.RevoluteJoint, f"hinge{i}", parent, X, body, None, axis=np.roll([1.0, 0.0, 0.0], i),
                damping=0.1 * i, pos_lower_limit=-0.4 if limits else -np.inf,
                pos_upper_limit=0.6 if limits else np.inf,
            )  # fmt: skip
            if servos:
                tree.add_joint_actuator(
                    f"servo{i}", joint, effort_limit=2.0 + i, stiffness=20.0 * i, damping=0.5
                )
            if springs:
                tree.add_force_element(mbt.RevoluteSpring(joint, 0.2, 30.0))
            if friction:
                tree.add_force_element(mbt.JointFriction(joint, 0.2, 0.5))
        bodies.append(body)
        parent = body
    tree.add_force_element(mbt.UniformGravityFieldElement())
    if contact:
        corners = [[x, y, -0.2] for x in (-0.05, 0.05) for y in (-0.05, 0.05)]
        tree.add_force_element(
            mbt.PointContact(bodies[-1], corners, stiffness=3e3, dissipation=0.5, static_friction=0.8)
        )
        knee = mbt.PointContact(bodies[1], [[0, 0.1, 0]], stiffness=1e4, dissipation=0.0, static_friction=0.3)
        tree.add_force_element(knee)
    if loop:
        rod = mbt.DistanceConstraint("rod", bodies[0], [0.0, 0.0, 0.0], bodies[2], [0.0, 0.0, 0.1], 0.35)
        tree.add_constraint(rod)
    tree.finalize()
    return tree


def random_states(tree, count, rng):
    q = np.tile(tree.default_positions, (count, 1))
    q = functional.integrate_positions(tree, q, rng.normal(size=(count, tree.num_velocities)), 0.7)
    return q, 10.0 ** rng.uniform(-3, 1, size=(count, 1)) * rng.normal(size=(count, tree.num_velocities))


def compare(context, q, v, tau, h, **options):
    found, expected = ImplicitSteps(context, **options), ConvexSteps(context, **options)
    # Sweeps do not use the Jacobians of NumPy: their roundings differ, and constraints amplify them by 1e6.
    rtol = 1e-9 if make_core(context).has_sweeps else 1e-10
    for i in range(len(q)):
        taken = found.take(q[i], v[i], tau[i : i + 1], h)
        (q1,), (v1,) = taken.q, taken.v
        q2, v2 = expected.step(q[i], v[i], tau[i], h)
        scale = max(1.0, np.abs(v[i]).max(), np.abs(v2).max())
        np.testing.assert_allclose(v1, v2, rtol=0, atol=rtol * scale)
        np.testing.assert_allclose(q1, q2, rtol=0, atol=0.1 * rtol * scale)
        assert taken.solver.residual < 1e-8
        np.testing.assert_allclose(taken.drive[0], expected.drive, rtol=0, atol=1e-6)
        for a, b in zip(taken.solver[2:], expected.done[2:], strict=True):
            assert (a == b).all()
        assert (taken.is_clipped == expected.is_clipped).all()


KINDS = ("limits", "servos", "springs", "friction", "contact", "loop")


@pytest.mark.parametrize("count", [5, pytest.param(20, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("kind", [*KINDS, "all", "none"])
@pytest.mark.parametrize("floating", [True, False])
def test_each_term_equals_that_in_numpy(kind, floating, count):
    tree = make_leg(floating=floating, **{name: kind in (name, "all") for name in KINDS})
    rng = np.random.default_rng(3)
    q, v = random_states(tree, count, rng)
    tau = rng.normal(size=v.shape)
    for h in (1e-3, 1e-2):
        compare(tree.create_default_context(), q, v, tau, h)


def test_locks_parameters_applied_forces_and_limits_equal_those_in_numpy():
    tree = make_leg()
    rng = np.random.default_rng(4)
    q, v = random_states(tree, 10, rng)
    v[:, 7] = 0.0
    tau = 5.0 * rng.normal(size=v.shape)
    context = tree.create_default_context()
    tree.get_joint_by_name("hinge2").lock(context)
    context.servo_positions, context.servo_velocities = rng.normal(size=(2, 3))
    for body in tree.bodies[1:]:
        body.set_mass(context, rng.uniform(0.5, 2.0))
    for element in tree.force_elements:
        if isinstance(element, mbt.PointContact):
            element.set_stiffness(context, 5e3)
        elif isinstance(element, mbt.JointFriction):
            element.set_friction(context, 0.3, 0.6)
        elif isinstance(element, mbt.RevoluteSpring):
            element.set_stiffness(context, 12.0)
    context.applied_forces.body_forces[:] = rng.normal(size=(tree.num_bodies, 6))
    context.applied_forces.generalized_forces[:] = rng.normal(size=tree.num_velocities)
    for options in ({}, {"joint_limits": False}, {"limit_efforts": True}):
        compare(context, q, v, tau, 4e-3, **options)


def test_samples_of_a_batch_have_their_own_parameters():
    tree = make_leg(loop=False)
    rng = np.random.default_rng(5)
    q, v = random_states(tree, 3, rng)
    tau = rng.normal(size=(3, 6, tree.num_velocities))
    context = tree.create_default_context(3)
    context.q, context.v = q, v
    tree.bodies[2].set_mass(context, [0.5, 1.0, 2.0])
    context.servo_positions = rng.normal(size=(3, 3))
    path = tree.rollout(context, tau, 3e-3, method="implicit", every=2)
    assert [x.shape[:2] for x in path] == [(3, 4), (3, 4)]
    expected = ConvexSteps(context)
    for k in range(6):
        q, v = expected.step(q, v, tau[:, k], 3e-3)
        if k % 2:
            np.testing.assert_allclose(path[1][:, (k + 1) // 2], v, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(path[0][:, -1], q, rtol=0, atol=1e-9)


def test_a_light_body_that_moves_fast_equals_that_in_numpy():
    tree = make_leg(contact=False, loop=False)
    rng = np.random.default_rng(6)
    q, v = random_states(tree, 10, rng)
    compare(tree.create_default_context(), q, 1e2 * v, 0.0 * v, 1e-2)


def test_trees_are_released():
    import gc
    import weakref

    tree = make_leg()
    q, v = tree.default_positions, np.zeros(tree.num_velocities)
    functional.step(tree, q, v, v, 1e-3, method="implicit")
    gone = weakref.ref(tree)
    del tree
    gc.collect()
    assert gone() is None
