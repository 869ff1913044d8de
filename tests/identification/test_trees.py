"""Trees other than arms: floating bodies, joints with several velocities, two motors on one joint."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt.identification import identify


def box(mass):
    return mbt.SpatialInertia.solid_box_with_mass(mass, 0.3, 0.2, 0.1).shift([0.02, -0.01, -0.15])


def add_link(tree, name, joint_type, parent, **options):
    body = tree.add_body(mbt.RigidBody(name, box(1.0)))
    tree.add_joint(joint_type, name, parent, mbt.math.make_pose([0.1, 0.0, -0.3]), body, None, **options)
    return body


@pytest.fixture(scope="module")
def floating():
    tree = mbt.MultibodyTree()
    base = tree.add_body(mbt.RigidBody("base", box(4.0)))
    thigh = add_link(tree, "hip", mbt.UniversalJoint, base)
    shank = add_link(tree, "knee", mbt.RevoluteJoint, thigh, axis=[0, 1, 0])
    add_link(tree, "ankle", mbt.QuaternionBallJoint, shank)
    knee = tree.get_joint_by_name("knee")
    tree.add_joint_actuator("first", knee, rotor_inertia=1e-4, gear_ratio=10.0)
    tree.add_joint_actuator("second", knee, rotor_inertia=1e-4, gear_ratio=20.0)
    tree.add_joint_actuator(
        "swing", tree.get_joint_by_name("hip"), dof=1, rotor_inertia=2e-4, gear_ratio=10.0
    )
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def log_of(tree, count, rng, noise=1e-3):
    q = np.array([tree.random_positions(rng) for _ in range(count)])
    v, vdot = rng.normal(size=(2, count, tree.num_velocities))
    context = tree.create_default_context(batch_shape=count)
    context.q, context.v = q, v
    tau = tree.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    return q, v, vdot, tau + noise * rng.normal(size=tau.shape)


def test_friction_and_rotors_of_all_kinds_of_joints_are_in_the_tree_found(floating, rng):
    real = floating.edit()
    for i, joint in enumerate(real.joints):
        if not joint.is_ephemeral:
            joint.set_default_damping_vector(0.1 * (i + 1.0 + np.arange(joint.num_velocities)))
    real.add_force_element(mbt.JointFriction(real.get_joint_by_name("knee"), 0.5))
    for body in real.bodies[1:]:
        body.set_default_spatial_inertia(box(1.2 * body.default_mass))
    real.finalize()
    log = log_of(real, 400, rng)
    found = identify(floating, *log, friction="viscous+coulomb", rotors=True)
    base = slice(0, 6)
    for values in (found.friction["viscous"], found.friction["coulomb"], found.rotors):
        np.testing.assert_array_equal(values[base], 0.0)
    assert np.flatnonzero(found.friction["coulomb"]).tolist() == [8]
    assert np.flatnonzero(found.rotors).tolist() == [7, 8]
    assert np.abs(found.rotors[[7, 8]] - [0.02, 0.05]).max() < 5e-3
    assert found.friction["coulomb"][8] == pytest.approx(0.5, abs=0.01)
    for joint in real.joints:
        damping = found.tree.joints[joint.index].default_damping_vector
        np.testing.assert_allclose(damping, joint.default_damping_vector, atol=0.01)
    first, second, _ = found.tree.joint_actuators
    assert first.default_reflected_inertia == pytest.approx(found.rotors[8])
    assert second.default_reflected_inertia == 0.0
    # The tree predicts as the fit does: nothing was lost.
    q, v, vdot, tau = log_of(real, 50, rng)
    context = found.tree.create_default_context(batch_shape=50)
    context.q, context.v = q, v
    predicted = found.tree.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    np.testing.assert_allclose(tau - predicted, found.calc_residuals(q, v, vdot, tau), atol=1e-9)
    assert np.abs(tau - predicted).max() < 0.05


@pytest.mark.parametrize("physical", [False, True])
def test_a_robot_that_floats_and_stands_on_something(floating, physical):
    """Forces at the foot are known, those of the base are zero: the truth is within the standard errors."""
    real = floating.edit()
    for i, body in enumerate(real.bodies[1:]):
        body.set_default_spatial_inertia(box((1.1 + 0.1 * i) * body.default_mass))
    real.finalize()
    off = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        q, v, vdot, tau = log_of(real, 300, rng, noise=0.0)
        context = real.create_default_context(batch_shape=300)
        context.q, context.v = q, v
        foot = real.get_frame_by_name("ankle")
        J = real.calc_jacobian_translational_velocity(
            context, "v", foot, [0.0, 0.0, -0.3], real.world_frame, real.world_frame
        )
        push = [0.0, 0.0, 60.0] + 10.0 * rng.normal(size=(300, 3))
        applied = np.einsum("nij,ni->nj", J, push)
        noise = np.full(floating.num_velocities, 0.05)
        noise[:6] = 0.02
        # Motors exert what contact does not; the base has no motor.
        tau = tau - applied + noise * rng.normal(size=tau.shape)
        found = identify(floating, q, v, vdot, tau, applied=applied, noise=noise, physical=physical)
        truth = found.base.calc_values(real.get_inertial_parameters())
        off.append(np.abs(found.base_values - truth) / found.base_standard_errors)
        assert found.parameters[:, 0].sum() == pytest.approx(
            real.get_inertial_parameters()[::10].sum(), rel=1e-3
        )
    assert (np.array(off) < 3.0).mean() > 0.98
    # Without the contact forces the robot would seem weightless.
    blind = identify(floating, q, v, vdot, tau, noise=noise, physical=physical)
    assert np.abs((blind.base_values - truth) / blind.base_standard_errors).max() > 100.0


def test_forces_that_are_not_measured_weigh_nothing(floating, rng):
    """A floating base tells most: without it fewer parameters are found, and its noise has no effect."""
    q, v, vdot, tau = log_of(floating, 300, rng)
    noise = np.full(floating.num_velocities, 1e-3)
    noise[:6] = np.inf
    spoiled = tau.copy()
    spoiled[:, :6] = 1e3 * rng.normal(size=(300, 6))
    found = identify(floating, q, v, vdot, spoiled, noise=noise)
    same = identify(floating, q, v, vdot, tau, noise=noise)
    np.testing.assert_allclose(found.base_values, same.base_values, rtol=1e-6, atol=1e-9)
    assert not any(text.startswith("the log does not determine") for text in found.warnings) or found.unseen


def test_a_description_without_masses_will_do(floating, rng):
    log = log_of(floating, 400, rng)
    empty = floating.edit()
    for body in empty.bodies[1:]:
        body.set_default_spatial_inertia(mbt.SpatialInertia.zero())
    empty.finalize()
    found = identify(empty, *log, prior=1e-6)
    assert mbt.math.is_physically_consistent(found.parameters).all()
    assert found.parameters[:, 0].sum() == pytest.approx(7.0, rel=1e-3)


def test_what_cannot_be_fitted_is_refused(floating, robot):
    q = np.zeros((100, 6))
    bare = floating.edit()
    for actuator in list(bare.joint_actuators):
        bare.remove(actuator)
    bare.finalize()
    with pytest.raises(mbt.ArgumentValueError, match="rotors: the tree has no actuators"):
        identify(bare, *log_of(bare, 10, np.random.default_rng(0)), rotors=True)
    still = mbt.MultibodyTree()
    with pytest.raises(mbt.NotFinalizedError):
        identify(still, q, q, q, q)
    still.finalize()
    with pytest.raises(mbt.ArgumentValueError, match="without velocities"):
        identify(still, q, q, q, q)
    with pytest.raises(mbt.ArgumentTypeError, match="doubles, got one of autodiff"):
        identify(robot.tree.to_autodiff(), q, q, q, q)
