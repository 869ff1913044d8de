"""Springs, bushings and doors in implicit steps; limits of angles and of velocities."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.motion.impulses import split

H = 5e-3


def make_free_body(*elements, mass=2.0, gravity=None):
    """Return a free box with the given elements."""
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(mass, 0.3, 0.2, 0.1)))
    for make in elements:
        tree.add_force_element(make(tree, box))
    if gravity is not None:
        tree.add_force_element(mbt.UniformGravityFieldElement(gravity))
    tree.finalize()
    return tree


def bushing(k=4e5, d=300.0):
    """A bushing as stiff as a screw."""

    def make(tree, box):
        return mbt.LinearBushingRollPitchYaw(
            tree.world_frame, box, k * np.array([1e-2, 2e-2, 3e-2]), d * np.array([1e-2, 2e-2, 1e-2]),
            k * np.array([1.0, 2.0, 1.0]), d * np.array([1.0, 1.0, 2.0]),
        )  # fmt: skip

    return make


def spring(k=1e6, d=100.0):
    def make(tree, box):
        return mbt.LinearSpringDamper(tree.world_body, [0.0, 0.0, 1.0], box, [0.1, 0.05, 0.02], 0.98, k, d)

    return make


def make_door(config, *, inertia=1.0):
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_box_with_mass(12.0 * inertia, 1.0, 0.02, 1.0)
    door = tree.add_body(mbt.RigidBody("door", M))
    joint = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, door, None, axis=[0, 0, 1])
    tree.add_force_element(mbt.DoorHinge(joint, config))
    tree.finalize()
    return tree


def make_ball(kind, lower, upper):
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("arm", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.2, 0.4)))
    X_BM = mbt.math.make_pose([0.0, 0.0, 0.2])
    joint = tree.add_joint(kind, "shoulder", tree.world_body, None, body, X_BM)
    joint.set_position_limits(lower, upper)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def simulate(tree, context, duration, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", mbt.SimulationWarning)
        return mbt.simulate(tree, context, duration, H, method="implicit", **options)


@pytest.mark.parametrize("make", [bushing(), spring()])
def test_a_stiff_element_between_bodies_holds_and_comes_to_rest(make):
    tree = make_free_body(make, gravity=[0.0, 0.0, -9.81])
    context = tree.create_default_context()
    context.q = tree.integrate_positions(tree.default_positions, [0.05, -0.04, 0.06, 1e-3, 2e-3, -1e-3], 1.0)
    context.v = [0.5, -0.5, 0.2, 0.1, 0.2, 0.1]
    motion = simulate(tree, context, 1.0)
    assert np.isfinite(motion.q).all()
    # The box swings on the spring, and rests in the bushing.
    end = motion.final_context
    stretch = 2.0 * tree.force_elements[-2].calc_potential_energy(end)
    assert stretch < 0.02 * tree.force_elements[-2].calc_potential_energy(context)
    assert tree.calc_kinetic_energy(end) < 5.0
    # Explicit steps of this length blow up.
    q, _ = functional.rollout(tree, context.q, context.v, np.zeros((200, 6)), H)
    assert not np.isfinite(q).all() or np.abs(q).max() > 1e3


def test_a_bushing_sinks_by_the_weight_over_its_stiffness():
    tree = make_free_body(bushing(d=3e3), gravity=[0.0, 0.0, -9.81])
    motion = simulate(tree, tree.create_default_context(), 2.0)
    np.testing.assert_allclose(motion.q[-1][4:], [0.0, 0.0, -2.0 * 9.81 / 4e5], rtol=0, atol=1e-9)


@pytest.mark.parametrize("make", [bushing(), spring()])
def test_forces_between_bodies_are_those_of_the_element_at_the_end_of_the_step(make):
    """-k (s + h u) - d u is the force of an element with damping d + h k, at q0 with the next velocity."""
    tree = make_free_body(make)
    rng = np.random.default_rng(0)
    element = tree.force_elements[-1]
    for _ in range(5):
        q = tree.integrate_positions(tree.default_positions, 0.3 * rng.normal(size=6), 1.0)
        v = 0.1 * rng.normal(size=6)
        context = tree.create_default_context()
        context.q, context.v = q, v
        motion = simulate(tree, context, H)
        told = split(tree, motion._moved[0])
        end = tree.create_default_context()
        end.q, end.v = q, motion.v[1]
        if isinstance(element, mbt.LinearSpringDamper):
            element.set_damping(end, element.damping + H * element.stiffness)
        else:
            element.set_torque_damping_constants(
                end, element.torque_damping_constants + H * element.torque_stiffness_constants
            )
            element.set_force_damping_constants(
                end, element.force_damping_constants + H * element.force_stiffness_constants
            )
        still, zero = end.clone(), np.zeros(6)
        bias = tree.calc_coriolis_matrix(still) @ still.v
        force = bias - tree.calc_inverse_dynamics(end, zero, include_force_elements=True)
        M = tree.calc_mass_matrix(end)
        change = M @ (motion.v[1] - told.carried) / H
        np.testing.assert_allclose(change, force, rtol=0, atol=1e-6 * np.abs(force).max())


def test_the_audit_accounts_for_stiff_elements():
    tree = make_free_body(bushing(), spring())
    context = tree.create_default_context()
    context.q = tree.integrate_positions(tree.default_positions, [0.1, -0.1, 0.05, 1e-3, 2e-3, -1e-3], 1.0)
    motion = simulate(tree, context, 0.2)
    moved = motion._moved
    told = split(tree, moved)
    M = functional.mass_matrix(tree, motion.q[:-1])
    v1, carried = motion.v[1:], told.carried[:-1]
    gained = 0.5 * (np.einsum("ti,tij,tj->t", v1, M, v1) - np.einsum("ti,tij,tj->t", carried, M, carried))
    from mbt.motion.powers import _rates_of_potentials, calc_given, place

    moving = place(motion, context, slice(None))
    powers = calc_given(motion, moving, slice(None))
    along = place(motion, context, slice(None))
    along.v = 0.5 * (told.carried + motion.v + moved[:, :1] * told.vdot)
    rates = sum(_rates_of_potentials(along).values())
    work = H * (sum(powers.values()) - rates)[:-1]
    np.testing.assert_allclose(work, gained, rtol=0, atol=1e-6 * np.abs(gained).max())


def test_a_door_sticks_below_its_friction_and_turns_above():
    config = mbt.DoorHingeConfig(
        spring_constant=0.0, catch_torque=0.0, dynamic_friction_torque=3.0, static_friction_torque=2.0,
        viscous_friction=0.5, motion_threshold=1e-3,
    )  # fmt: skip
    tree = make_door(config)
    # Friction's largest torque at any speed.
    s = np.linspace(0.0, 1.0, 100001)
    holds = (3.0 * s + 4.0 * s * (1.0 - s * s))[s >= 1.0 / np.sqrt(3.0)][0]
    for share, moves in ((0.99, False), (1.05, True)):
        _, v = functional.rollout(tree, [0.3], [0.0], np.full((200, 1), share * holds), H, method="implicit")
        assert (abs(v[-1, 0]) > 0.05) == moves
        if not moves:
            assert np.abs(v).max() < 1e-4
    # Against viscous friction 0.5 the speed becomes (tau - 3) / 0.5.
    _, v = functional.rollout(tree, [0.3], [0.0], np.full((4000, 1), 4.0 + holds), H, method="implicit")
    np.testing.assert_allclose(v[-1], (1.0 + holds) / 0.5, rtol=1e-3)


def test_doors_of_a_batch_move_as_each_alone():
    tree = make_door(mbt.DoorHingeConfig())
    many, alone = tree.create_default_context((3,)), tree.create_default_context()
    many.q, many.v = [[0.1], [0.2], [0.3]], [[1.0], [-2.0], [0.0]]
    q, v = tree.rollout(many, np.ones((3, 5, 1)), H, method="implicit")
    for i in range(3):
        alone.q, alone.v = many.q[i], many.v[i]
        one = tree.rollout(alone, np.ones((5, 1)), H, method="implicit")
        np.testing.assert_array_equal(q[i], one[0])
        np.testing.assert_array_equal(v[i], one[1])


def test_a_stiff_door_spring_and_catch_hold():
    config = mbt.DoorHingeConfig(
        spring_zero_angle_rad=0.5, spring_constant=1e6, catch_torque=500.0, catch_width=1e-3
    )
    tree = make_door(config)
    q, v = functional.rollout(tree, [0.51], [0.0], np.zeros((400, 1)), H, method="implicit")
    assert np.abs(q - 0.5).max() < 0.011
    assert np.abs(v[-1]).max() < 1e-3


@pytest.mark.parametrize("kind", [mbt.BallRpyJoint, mbt.RpyFloatingJoint])
def test_limits_of_roll_pitch_and_yaw_hold(kind):
    free = [np.inf] * (0 if kind is mbt.BallRpyJoint else 3)
    lower, upper = [-0.3, -0.2, -np.inf, *(-x for x in free)], [0.4, 0.5, 0.7, *free]
    tree = make_ball(kind, lower, upper)
    context = tree.create_default_context()
    context.v = [2.0, 4.0, 6.0, *(0.0 for _ in free)]
    motion = simulate(tree, context, 0.6)
    angles = motion.q[:, :3]
    assert (angles > np.array(lower[:3]) - 1e-3).all()
    assert (angles < np.array(upper[:3]) + 1e-3).all()
    touched = (angles < np.array(lower[:3]) + 1e-3) | (angles > np.array(upper[:3]) - 1e-3)
    assert touched.any(axis=0).sum() >= 2
    assert (motion.solver.at_limit[:, :3].any(axis=0) == touched.any(axis=0)).all()
    assert not motion.solver.at_limit[:, 3:].any()
    # The limits' forces push back, and enter the momentum balance.
    told = split(tree, motion._moved)
    k = int(np.flatnonzero(motion.solver.at_limit.any(axis=-1))[0])
    assert np.abs(told.limit[k]).max() > 0.1
    F = functional.inverse_dynamics(tree, motion.q[k], 0.0 * motion.v[k], 0.0 * motion.v[k])
    change = functional.mass_matrix(tree, motion.q[k]) @ (motion.v[k + 1] - told.carried[k]) / H
    np.testing.assert_allclose(change, told.limit[k] - F, rtol=0, atol=1e-6 * np.abs(change).max())
    free_steps = functional.rollout(
        tree, context.q, context.v, np.zeros((120, tree.num_velocities)), H, method="implicit"
    )
    np.testing.assert_array_equal(free_steps[0], motion.q)


def test_velocity_limits_act_on_request():
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("arm", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.2, 0.4)))
    joint = tree.add_joint(
        mbt.RevoluteJoint, "hinge", tree.world_body, None, body, None, axis=[0, 1, 0], pos_upper_limit=1.0
    )
    joint.set_velocity_limits([-2.0], [1.5])
    tree.finalize()
    context = tree.create_default_context()
    push = np.full((100, 1), 1.0)
    context.q = [-20.0]
    free = simulate(tree, context, 0.5, control=push)
    assert free.v.max() > 5.0
    for sign, limit in ((1.0, 1.5), (-1.0, -2.0)):
        held = simulate(tree, context, 0.5, control=sign * push, velocity_limits=True)
        np.testing.assert_allclose(held.v[-1], limit, rtol=1e-4)
        assert held.solver.at_limit[-1].all()
    # Beyond its limit, a joint comes back no faster than its velocity limit.
    context.q = [3.0]
    back = simulate(tree, context, 0.5, velocity_limits=True)
    np.testing.assert_allclose(back.v[1], -2.0, rtol=2e-3)


def test_samples_do_not_depend_on_threads():
    tree = make_free_body(bushing(), gravity=[0.0, 0.0, -9.81])
    rng = np.random.default_rng(1)
    q = tree.integrate_positions(tree.default_positions, 0.01 * rng.normal(size=(50, 6)), 1.0)
    v, tau = rng.normal(size=(50, 6)), rng.normal(size=(50, 6, 6))
    before = mbt.get_num_threads()
    found = []
    try:
        for threads in (1, 3):
            mbt.set_num_threads(threads)
            path = functional.rollout(tree, q, v, tau, H, method="implicit", every=2)
            one = functional.step(tree, q, v, tau[:, 0], H, method="implicit")
            context = tree.create_default_context((50,))
            context.q, context.v = q, v
            motion = mbt.simulate(tree, context, 4 * H, H, method="implicit", control=tau[:, :4])
            found.append([x.tobytes() for x in (*path, *one, motion.q, motion.v, motion._moved)])
    finally:
        mbt.set_num_threads(before)
    assert found[0] == found[1]
    alone = functional.rollout(tree, q[7], v[7], tau[7], H, method="implicit", every=2)
    assert alone[1].tobytes() == np.frombuffer(found[0][1]).reshape(50, 4, 6)[7].tobytes()


@pytest.mark.parametrize(("roll", "rate"), [(0.9, 0.0), (0.9, 3.0), (0.45, 2.0), (-0.6, -1.0)])
def test_an_angle_beyond_its_limit_comes_back_as_a_hinge_does(roll, rate):
    """If only the roll moves, the path is that of a hinge."""
    paths = []
    for kind in (mbt.BallRpyJoint, mbt.RevoluteJoint):
        tree = mbt.MultibodyTree()
        body = tree.add_body(mbt.RigidBody("arm", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.2, 0.4)))
        if kind is mbt.RevoluteJoint:
            limits = {"pos_lower_limit": -0.4, "pos_upper_limit": 0.5}
            joint = tree.add_joint(kind, "joint", tree.world_body, None, body, None, axis=[1, 0, 0], **limits)
        else:
            joint = tree.add_joint(kind, "joint", tree.world_body, None, body, None)
            joint.set_position_limits([-0.4, -1.0, -2.0], [0.5, 1.0, 2.0])
        tree.finalize()
        context = tree.create_default_context()
        context.q = np.eye(1, tree.num_positions)[0] * roll
        context.v = np.eye(1, tree.num_velocities)[0] * rate
        motion = mbt.simulate(tree, context, 1.0, H, method="implicit")
        paths.append((motion.q[:, 0], motion.v[:, 0], motion.solver.at_limit[:, 0]))
    for ball, hinge in zip(*paths, strict=True):
        np.testing.assert_allclose(ball, hinge, rtol=0, atol=1e-6)
    assert -0.4 - 1e-2 < paths[0][0][-1] < 0.5 + 1e-2
