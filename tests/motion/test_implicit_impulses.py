"""Trajectories of implicit steps report the forces that the steps found."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.motion.impulses import split
from motion.test_implicit_core import make_leg
from motion.test_implicit_steps import G, make_block, make_chain, make_slider

H = 2e-3

pytestmark = pytest.mark.usefixtures("form")


def simulate(tree, context, duration, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbt.SimulationWarning)
        return mbt.simulate(tree, context, duration, H, method="implicit", **options)


def falling_leg():
    tree = make_leg()
    context = tree.create_default_context()
    context.q = tree.integrate_positions(tree.default_positions, np.full(tree.num_velocities, 0.2), 1.0)
    context.v = np.linspace(-1.0, 1.0, tree.num_velocities)
    context.servo_positions = [0.3, -0.9, 1.4]
    context.applied_forces.generalized_forces[:] = 0.1
    return tree, context


def test_all_impulses_together_change_the_momentum() -> None:
    """M (v1 - v*) = h (sum of the forces), with v* from the momenta that the bodies bring along."""
    tree, context = falling_leg()
    motion = simulate(tree, context, 0.4)
    told = split(tree, motion._moved)
    assert (told.limit != 0.0).any()
    assert (told.friction != 0.0).any()
    assert np.abs(motion.contact_forces).max() > 1.0
    assert motion.solver.saturated.any()
    damping = np.concatenate([joint.get_damping_vector(context) for joint in tree.joints])
    here = tree.create_default_context()
    contacts = [x for x in tree.force_elements if isinstance(x, mbt.PointContact)]
    springs = [x for x in tree.force_elements if isinstance(x, mbt.RevoluteSpring)]
    for i in range(0, len(motion) - 1, 7):
        here.q = motion.q[i]
        v1 = motion.v[i + 1]
        np.testing.assert_allclose(motion.vdot[i], (v1 - motion.v[i]) / H, rtol=1e-9, atol=1e-9)
        force = motion.tau[i] + told.limit[i] + told.friction[i] - damping * v1 + 0.1
        force = force + tree.calc_gravity_generalized_forces(here)
        force = force + tree.calc_constraint_jacobian(here).T @ motion.multipliers[i]
        for spring in springs:
            k, x = spring.joint.velocity_start, spring.joint.position_start
            force[k] -= 30.0 * (motion.q[i, x] + H * v1[k] - 0.2)
        first = 0
        for contact in contacts:
            J = tree.calc_jacobian_translational_velocity(
                here, "v", contact.frame, contact.p_FC.T, tree.world_frame, tree.world_frame
            )
            force = force + J.T @ motion.contact_forces[i, first : first + contact.num_points].ravel()
            first += contact.num_points
        M = tree.calc_mass_matrix(here)
        change = M @ (v1 - told.carried[i]) / H
        scale = max(
            1.0, np.abs(force).max(), np.abs(told.limit[i]).max(), np.abs(motion.multipliers[i]).max()
        )
        np.testing.assert_allclose(change, force, rtol=0, atol=1e-6 * scale)


def test_a_block_that_lands_is_carried_by_its_contact_forces() -> None:
    tree = make_block([1.0, 0.0, -G])
    context = tree.create_default_context()
    context.q = [1, 0, 0, 0, 0, 0, 0.1]
    motion = simulate(tree, context, 0.5)
    force = motion.contact_forces.sum(axis=-2)
    change = np.diff(motion.v[:, 3:], axis=0) / H
    np.testing.assert_allclose(2.0 * (change - [1.0, 0.0, -G]), force[:-1], atol=1e-4)
    np.testing.assert_allclose(force[-1], [-2.0, 0.0, 2.0 * G], atol=1e-3)
    # The points lose energy to friction and dissipation.
    report = motion.audit()
    (element,) = (x for x in tree.force_elements if isinstance(x, mbt.PointContact))
    assert report[element._label].given < -0.5


def test_constraints_carry_what_hangs_on_them() -> None:
    tree = mbt.MultibodyTree()
    ball = mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1).shift([0, 0, 0.5])
    rod = tree.add_body(mbt.RigidBody("rod", ball))
    tree.add_constraint(mbt.BallConstraint("hook", tree.world_body, rod))
    tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -G]))
    tree.finalize()
    motion = simulate(tree, tree.create_default_context(), 0.2)
    np.testing.assert_allclose(np.abs(motion.multipliers[-1]), [0.0, 0.0, 2.0 * G], atol=1e-3)


def test_forces_turn_with_the_plane() -> None:
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    X = mbt.math.make_pose([0, 0, 0], rpy=[0.3, -0.2, 0.5])
    slope = tree.add_frame(mbt.FixedOffsetFrame("slope", tree.world_frame, X))
    tree.add_force_element(
        mbt.PointContact(ball, [0, 0, 0], slope, stiffness=1e4, dissipation=0.0, static_friction=0.0)
    )
    tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -G]))
    tree.finalize()
    motion = simulate(tree, tree.create_default_context(), 0.1)
    force = motion.contact_forces[-1, 0]
    np.testing.assert_allclose(np.cross(force, X[:3, 2]), 0.0, atol=1e-9)
    assert force @ X[:3, 2] > 1.0


def test_the_audit_of_an_impact_names_the_limit() -> None:
    tree = make_slider(lower=-1.0, upper=0.0035)
    context = tree.create_default_context()
    context.v = [1.0]
    motion = simulate(tree, context, 0.1)
    report = motion.audit()
    # The whole kinetic energy of 2 kg at 1 m/s.
    assert report["position limits"].given == pytest.approx(-1.0, rel=1e-4)
    assert report["integration"].given == pytest.approx(0.0, abs=1e-6)
    assert report.is_clean
    np.testing.assert_allclose(motion.work[-1], -1.0, rtol=1e-4)
    np.testing.assert_allclose(motion.energy_drift, 0.0, atol=1e-6)


def test_work_is_what_the_audit_gives_to_all_but_the_integration() -> None:
    tree, context = falling_leg()
    motion = simulate(tree, context, 0.3)
    report = motion.audit()
    total = sum(entry.given for entry in report.entries if entry.element != "integration")
    np.testing.assert_allclose(motion.work[-1], total, rtol=1e-7)
    np.testing.assert_allclose(
        motion.energy_drift[-1], report["integration"].given, rtol=0, atol=1e-7 * abs(total)
    )
    np.testing.assert_allclose(report.change, total + report["integration"].given, rtol=1e-7)


def test_the_drift_is_of_the_order_of_the_step() -> None:
    tree = make_chain(damping=0.2, spring=30.0, weld=False)
    drifts = []
    for h in (4e-3, 2e-3, 1e-3):
        context = tree.create_default_context()
        context.v = np.linspace(-1.0, 1.0, tree.num_velocities)
        motion = mbt.simulate(tree, context, 0.4, h, method="implicit")
        drifts.append(np.abs(motion.energy_drift).max())
    assert drifts[1] == pytest.approx(0.5 * drifts[0], rel=0.15)
    assert drifts[2] == pytest.approx(0.5 * drifts[1], rel=0.15)


def test_parts_samples_copies_and_batches_keep_them() -> None:
    tree, context = falling_leg()
    motion = simulate(tree, context, 0.1)
    sparse = simulate(tree, context, 0.1, every=5)
    for name in ("vdot", "multipliers", "contact_forces", "power"):
        whole = getattr(motion, name)
        np.testing.assert_array_equal(getattr(motion[::5], name)[:-1], whole[::5][:-1])
        np.testing.assert_allclose(getattr(sparse, name)[:-1], whole[::5][:-1], rtol=1e-12, atol=1e-12)
        for again in (pickle.loads(pickle.dumps(motion)), copy.deepcopy(motion)):
            np.testing.assert_array_equal(getattr(again, name), whole)
    both = tree.create_default_context(2)
    both.q, both.v = context.q, context.v
    both.servo_positions = context.servo_positions
    both.applied_forces.generalized_forces[:] = 0.1
    batch = simulate(tree, both, 0.1)
    for name in ("vdot", "multipliers", "contact_forces", "power", "work"):
        np.testing.assert_allclose(getattr(batch, name)[1], getattr(motion, name), rtol=1e-8, atol=1e-8)
        np.testing.assert_array_equal(getattr(batch.sample(1), name), getattr(batch, name)[1])


def test_momentum_of_what_falls_and_tumbles_is_kept() -> None:
    """A body's momentum is carried along, whatever the speed of the whole model."""
    tree = make_chain(4, gravity=False, weld=False)
    rng = np.random.default_rng(8)
    v = 3.0 * rng.normal(size=tree.num_velocities)
    context = tree.create_default_context()
    mass = sum(body.default_mass for body in tree.bodies[1:])
    ends = []
    for speed in (0.0, 1e3):
        v[5] = speed
        context.v = v
        motion = mbt.simulate(tree, context, 0.5, 5e-3, method="implicit")
        moving = tree.create_default_context(2)
        moving.q, moving.v = motion.q[-2:], np.stack([motion.v[-1]] * 2)
        # The velocity belongs to the positions one step earlier.
        ends.append(
            (mass * tree.calc_center_of_mass_translational_velocity_in_world(moving)[0], motion.v[-1])
        )
        moving.q, moving.v = np.stack([motion.q[0]] * 2), np.stack([motion.v[1]] * 2)
        start = mass * tree.calc_center_of_mass_translational_velocity_in_world(moving)[0]
        np.testing.assert_allclose(ends[-1][0], start, rtol=1e-11, atol=1e-8)
    # Internal motion does not depend on the speed of the whole.
    np.testing.assert_allclose(ends[1][1][6:], ends[0][1][6:], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ends[1][1][:3], ends[0][1][:3], rtol=1e-6, atol=1e-6)


def test_a_free_body_that_spins_keeps_its_energy_and_rods_too() -> None:
    for inertia in (
        mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.2, 0.4),
        mbt.SpatialInertia.solid_cylinder_with_mass(1.0, 0.3, 0.05, [0, 0, 1]),
        mbt.SpatialInertia.solid_cylinder_with_mass(1.0, 1e-4, 0.5, [0, 1, 0]),
    ):
        tree = mbt.MultibodyTree()
        tree.add_body(mbt.RigidBody("body", inertia))
        tree.finalize()
        q, v = tree.default_positions, np.array([3.0, 2.0, 50.0, 1.0, 0.0, 0.0])
        Q, V = functional.rollout(tree, q, v, np.zeros((2000, 6)), 2e-3, method="implicit", every=200)
        energy = [0.5 * b @ functional.mass_matrix(tree, a) @ b for a, b in zip(Q, V, strict=True)]
        np.testing.assert_allclose(energy, energy[0], rtol=1e-10)
