"""Steps with ``method="implicit"``: against dense equations, textbook results, and known failures."""

from __future__ import annotations

import itertools
import pickle
import warnings

import numpy as np
import pytest

import mbt
from mbt import autodiff, functional
from mbt.motion.implicit import ImplicitSteps

G = 9.81

pytestmark = pytest.mark.usefixtures("form")


def make_chain(num=3, *, gravity=True, damping=0.0, spring=0.0, weld=True):
    """Links of different inertias on hinges about x, y, z in turn."""
    tree = mbt.MultibodyTree()
    parent = tree.world_body
    for i in range(num):
        M = mbt.SpatialInertia.solid_box_with_mass(1.0 + 0.3 * i, 0.1, 0.2, 0.5)
        body = tree.add_body(mbt.RigidBody(f"link{i}", M))
        axis = np.roll([1.0, 0.0, 0.0], i)
        if i == 0 and not weld:
            tree.add_joint(mbt.QuaternionFloatingJoint, "base", parent, None, body, None)
        else:
            X = mbt.math.make_pose([0.05, 0.1, -0.3])
            joint = tree.add_joint(
                mbt.RevoluteJoint, f"hinge{i}", parent, X, body, None, axis=axis, damping=damping
            )
            if spring:
                tree.add_force_element(mbt.RevoluteSpring(joint, 0.2, spring))
        parent = body
    if gravity:
        tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def make_slider(*elements, gravity=None, lower=-np.inf, upper=np.inf, mass=2.0):
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_box_with_mass(mass, 0.4, 0.2, 0.2)
    body = tree.add_body(mbt.RigidBody("cart", M))
    joint = tree.add_joint(
        mbt.PrismaticJoint, "rail", tree.world_body, None, body, None, axis=[1, 0, 0],
        pos_lower_limit=lower, pos_upper_limit=upper,
    )  # fmt: skip
    for make in elements:
        tree.add_force_element(make(joint))
    if gravity is not None:
        tree.add_force_element(mbt.UniformGravityFieldElement(gravity))
    tree.finalize()
    return tree


def make_block(gravity, friction=0.5):
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("block", mbt.SpatialInertia.solid_box_with_mass(2.0, 0.4, 0.4, 0.1)))
    corners = [[x, y, -0.05] for x in (-0.2, 0.2) for y in (-0.2, 0.2)]
    contact = mbt.PointContact(body, corners, stiffness=2e4, dissipation=1.0, static_friction=friction)
    tree.add_force_element(contact)
    tree.add_force_element(mbt.UniformGravityFieldElement(gravity))
    tree.finalize()
    return tree


def kinetic_energy(tree, q, v):
    return 0.5 * np.einsum("...i,...ij,...j", v, functional.mass_matrix(tree, q), v)


@pytest.mark.parametrize("h", [1e-3, 5e-3, 5e-2])
def test_damping_springs_and_gravity_from_rest_equal_the_dense_equation(h):
    damping, stiffness = 3.0, 400.0
    tree = make_chain(damping=damping, spring=stiffness)
    q, tau = np.array([0.3, -0.5, 0.9]), np.array([1.0, -2.0, 0.5])
    M, g = functional.mass_matrix(tree, q), functional.gravity_generalized_forces(tree, q)
    A = M + h * damping * np.eye(3) + h * h * stiffness * np.eye(3)
    expected = np.linalg.solve(A, h * (tau + g + stiffness * (0.2 - q)))
    q1, v1 = functional.step(tree, q, np.zeros(3), tau, h, method="implicit")
    np.testing.assert_allclose(v1, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(q1, q + h * v1, rtol=1e-14)


def test_strong_damping_of_a_light_body_does_not_blow_up():
    """v = v0 exp(-d t / I); explicit steps of 1 ms end in NaN."""
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("b", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.1, 0.1)))
    tree.add_joint(mbt.RevoluteJoint, "j", tree.world_body, None, body, None, axis=[0, 1, 0], damping=10.0)
    tree.finalize()
    q, v = functional.rollout(tree, [0.0], [1.0], np.zeros((500, 1)), 1e-3, method="implicit")
    inertia = functional.mass_matrix(tree, [0.0])[0, 0]
    assert abs(v[-1, 0]) < 1e-12
    # The angle before it comes to rest: v0 I / d.
    np.testing.assert_allclose(q[-1, 0], inertia / 10.0, rtol=1e-9)


def make_servo(kp=1e5, kd=30.0, limit=40.0):
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("cart", mbt.SpatialInertia.solid_box_with_mass(2.0, 0.4, 0.2, 0.2)))
    rail = tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, body, None, axis=[1, 0, 0])
    tree.add_joint_actuator("servo", rail, effort_limit=limit, stiffness=kp, damping=kd)
    tree.finalize()
    return tree


def test_servos_act_at_the_end_of_the_step_and_obey_their_effort_limits():
    kp, kd, limit, h = 1e5, 30.0, 40.0, 5e-3
    tree = make_servo(kp, kd, limit)
    context = tree.create_default_context()
    context.servo_velocities = [0.5]
    for target, push in ((1e-5, 0.0), (1.0, 0.0), (-1.0, 7.0)):
        context.servo_positions = [target]
        context.actuation = [push]
        q, v = tree.rollout(context, np.zeros((1, 1)), h, method="implicit")
        effort = np.clip(kp * (target - q[1, 0]) + kd * (0.5 - v[1, 0]), -limit, limit)
        np.testing.assert_allclose(2.0 * v[1, 0] / h, effort + push, rtol=1e-8)
        motion = mbt.simulate(tree, context, h, h, method="implicit")
        assert (motion.q == q).all()
        assert (motion.v == v).all()
        np.testing.assert_allclose(motion.tau[:, 0], effort + push, rtol=1e-8)
        assert motion.solver.saturated.tolist() == [[abs(target) == 1.0]]


def test_limit_efforts_holds_for_inputs_and_servos_together():
    tree = make_servo(limit=40.0)
    context = tree.create_default_context()
    context.servo_positions, context.actuation = [1.0], [30.0]
    motion = mbt.simulate(tree, context, 0.01, 5e-3, method="implicit", limit_efforts=True)
    np.testing.assert_allclose(motion.v[1, 0], 40.0 / 2.0 * 5e-3, rtol=1e-9)
    assert motion.num_limited.tolist() == [2]
    assert (motion.tau == 40.0).all()
    context.actuation = [-30.0]
    motion = mbt.simulate(tree, context, 0.01, 5e-3, method="implicit", limit_efforts=True)
    np.testing.assert_allclose(motion.v[1, 0], 10.0 / 2.0 * 5e-3, rtol=1e-9)
    assert motion.num_limited.tolist() == [0]


def test_effort_limits_hold_by_default_in_all_that_makes_steps():
    h, weak, strong = 5e-3, 40.0 / 2.0 * 5e-3, 70.0 / 2.0 * 5e-3
    tree = make_servo(0.0, 0.0, limit=40.0)
    context = tree.create_default_context()
    for options, expected in (
        ({}, weak),
        ({"limit_efforts": True}, weak),
        ({"limit_efforts": False}, strong),
    ):
        options = {"method": "implicit", **options}
        motion = mbt.simulate(tree, context, h, h, control=[70.0], **options)
        found = [
            motion.v[1],
            functional.step(tree, [0.0], [0.0], [70.0], h, **options)[1],
            functional.step(tree, np.zeros((3, 1)), [0.0], [70.0], h, **options)[1][2],
            functional.rollout(tree, [0.0], [0.0], [[70.0]], h, **options)[1][1],
            tree.rollout(context, [[70.0]], h, **options)[1][1],
            autodiff.value(functional.step(tree.to_autodiff(), [0.0], [0.0], [70.0], h, **options)[1]),
        ]
        np.testing.assert_allclose(found, np.full((6, 1), expected), rtol=1e-9)
    # Explicit steps do not limit efforts, and raise an error if asked to.
    assert mbt.simulate(tree, context, h, h, control=[70.0]).v[1, 0] == strong
    for call in (
        lambda: functional.step(tree, [0.0], [0.0], [70.0], h, limit_efforts=True),
        lambda: functional.rollout(tree, [0.0], [0.0], [[70.0]], h, method="rk4", limit_efforts=True),
        lambda: tree.rollout(context, [[70.0]], h, limit_efforts=True),
        lambda: functional.step_derivatives(tree, [0.0], [0.0], [70.0], h, limit_efforts=True),
    ):
        with pytest.raises(mbt.ArgumentValueError, match=r"limit_efforts: .*np\.clip"):
            call()
    with pytest.raises(mbt.ArgumentTypeError, match="joint_limits"):
        functional.step(tree, [0.0], [0.0], [0.0], h, joint_limits=2)


def test_position_limits_can_be_turned_off_in_all_that_makes_steps():
    h = 5e-3
    tree = make_slider(lower=-0.4, upper=0.5)
    context = tree.create_default_context()
    context.q, context.v = [0.499], [5.0]
    options = {"method": "implicit", "joint_limits": False}
    found = [
        functional.step(tree, [0.499], [5.0], [0.0], h, **options)[0],
        functional.rollout(tree, [0.499], [5.0], [[0.0]], h, **options)[0][1],
        tree.rollout(context, [[0.0]], h, **options)[0][1],
    ]
    with pytest.warns(mbt.SimulationWarning, match="joint_limits=False"):
        found.append(mbt.simulate(tree, context, h, h, **options).q[1])
    np.testing.assert_allclose(found, np.full((4, 1), found[0]), rtol=1e-12)
    assert found[0] > 0.52


def test_gains_of_each_sample_of_a_batch_and_default_targets_act():
    tree, h = make_servo(limit=np.inf), 5e-3
    context = tree.create_default_context(3)
    kp, kd = np.array([0.0, 10.0, 1e4]), np.array([5.0, 0.0, 20.0])
    tree.joint_actuators[0].set_stiffness(context, kp).set_damping(context, kd)
    context.q, context.v = np.full((3, 1), 0.2), np.full((3, 1), 1.0)
    _, v = tree.rollout(context, np.zeros((1, 1)), h, method="implicit")
    expected = (2.0 * 1.0 - h * kp * 0.2) / (2.0 + h * kd + h * h * kp)
    np.testing.assert_allclose(v[:, 1, 0], expected, rtol=1e-10)
    # mbt.functional has the default gains, and the default positions as targets.
    tree = make_servo(1e3, 0.0, np.inf)
    _, v1 = functional.step(tree, [0.2], [0.0], [0.0], h, method="implicit")
    np.testing.assert_allclose(v1, -h * 1e3 * 0.2 / (2.0 + h * h * 1e3), rtol=1e-10)


@pytest.mark.parametrize("h", [1e-3, 5e-3, 2e-2])
def test_a_joint_stops_at_its_limit(h):
    tree = make_slider(lower=-0.4, upper=0.5)
    q, v = functional.rollout(tree, [0.0], [5.0], np.full((100, 1), 3.0), h, method="implicit")
    assert 0.5 - 1e-3 < q[-1, 0] < 0.5 + 1e-3
    assert q.max() < 0.5 + 1e-3
    assert abs(v[-1, 0]) < 1e-3
    # It is free to move the other way.
    q, v = functional.rollout(tree, [0.5], [0.0], np.full((5, 1), -3.0), h, method="implicit")
    np.testing.assert_allclose(v[-1, 0], -3.0 / 2.0 * 5 * h, rtol=1e-6)


def test_a_joint_beyond_its_limit_comes_back_slowly():
    """In 0.2 s and a step, not in one step at 20 m/s; then nothing stops it."""
    tree = make_slider(lower=0.0)
    q, v = functional.rollout(tree, [-0.1], [0.0], np.zeros((100, 1)), 5e-3, method="implicit")
    assert np.abs(v).max() < 0.1 / 0.2
    assert q[40, 0] < 0.0 < q[42, 0]


def make_four_bar(R, *, weld=False, size=1.0):
    """A four-bar linkage in a plane turned by R; its hinges make one equation of its ball redundant."""
    tree, bodies = mbt.MultibodyTree(), []
    rod = mbt.SpatialInertia.solid_box_with_mass(0.5, 0.3 * size, 0.05 * size, 0.05 * size)
    places = (None, mbt.math.make_pose([0.3 * size, 0, 0]), mbt.math.make_pose([0.4 * size, 0, 0]))
    parent, base = tree.world_body, mbt.math.make_pose([0, 0, 0], R=R)
    for i, X in enumerate(places):
        link = tree.add_body(mbt.RigidBody(f"rod{i}", rod))
        joint = tree.add_joint(
            mbt.RevoluteJoint, f"pin{i}", parent, base if i == 0 else X, link, None, axis=[0, 0, 1]
        )
        joint.set_default_angle([0.4, 0.9, 1.1][i])
        bodies.append(link)
        parent = link
    at_rest = tree.clone()
    at_rest.finalize()
    X_WB = at_rest.calc_relative_transform(
        at_rest.create_default_context(), at_rest.world_frame, at_rest.get_body_by_name("rod2")
    )
    end = X_WB @ mbt.math.make_pose([0.3 * size, 0, 0])
    ground = tree.add_frame(mbt.FixedOffsetFrame("ground", tree.world_body, end))
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", bodies[-1], mbt.math.make_pose([0.3 * size, 0, 0])))
    tree.add_constraint((mbt.WeldConstraint if weld else mbt.BallConstraint)("loop", ground, tip))
    tree.finalize()
    return tree


@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("rpy", [(0, 0, 0), (np.pi / 2, 0, 0), (0.3, -1.1, 0.7)])
def test_equations_that_follow_from_others_do_nothing(rpy, size):
    """At rest the linkage stays so, in motion it gains no energy: rounding is not taken for an equation."""
    tree = make_four_bar(mbt.math.rpy_to_matrix(rpy), size=size)
    context = tree.create_default_context()
    motion = mbt.simulate(tree, context, 0.1, 1e-3, method="implicit")
    assert abs(motion.v).max() < 1e-9
    J = tree.calc_constraint_jacobian(context)
    context.v = np.linalg.svd(J)[2][-1] * 3.0  # the only motion that the loop leaves
    motion = mbt.simulate(tree, context, 1.0, 1e-3, method="implicit")
    energy = motion.energy.total
    assert (np.diff(energy) < 1e-3 * energy[0]).all()
    assert 0.5 * energy[0] < energy[-1] <= 1.001 * energy[0]


def test_a_loop_that_holds_a_joint_beyond_its_limit_wins():
    """Pulling a joint back must not feed energy into a loop: it stays closed and at rest."""
    tree = make_four_bar(np.eye(3), weld=True)  # no motion is left
    tree = tree.edit()
    tree.get_joint_by_name("pin1").set_position_limits([-0.5], [0.2])  # it stands at 0.9
    tree.finalize()
    context = tree.create_default_context()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbt.SimulationWarning)
        motion = mbt.simulate(tree, context, 1.0, 2e-3, method="implicit")
    assert abs(motion.v).max() < 0.1
    assert abs(motion.q - motion.q[0]).max() < 3e-3
    assert abs(motion.v[-1]).max() < 1e-9


def test_damping_resists_where_no_mass_does():
    """A massless link between two coaxial hinges, one of them damped: the rod moves as on a single hinge."""
    tree = mbt.MultibodyTree()
    inner = tree.add_body(mbt.RigidBody("inner", mbt.SpatialInertia.zero()))
    rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0.5, 0, 0])))
    tree.add_joint(mbt.RevoluteJoint, "a", tree.world_body, None, inner, None, axis=[0, 0, 1], damping=0.3)
    tree.add_joint(mbt.RevoluteJoint, "b", inner, None, rod, None, axis=[0, 0, 1])
    tree.finalize()
    _, v = functional.rollout(tree, [0.1, 0.2], [0.0, 0.0], np.full((50, 2), 0.6), 1e-2, method="implicit")
    # Both hinges transmit 0.6 N m to the rod, to first order in h; nothing is left for the damper.
    np.testing.assert_allclose(v[-1].sum(), 0.6 / (2.0 * 0.25) * 0.5, rtol=1e-3)
    np.testing.assert_allclose(v[-1, 0], 0.0, atol=1e-9)


def test_an_audit_of_a_simulation_that_failed_is_finite():
    tree = make_slider(gravity=[1.0, 0.0, 0.0])
    with pytest.warns(mbt.SimulationWarning, match="not finite"):
        motion = mbt.simulate(
            tree, tree.create_default_context(), 0.1, 1e-2, method="implicit",
            control=lambda t, q, v: [np.nan if t >= 0.05 else 0.0],
        )  # fmt: skip
    assert motion.status == "failed"
    assert np.isfinite(motion.power[:-1]).all()  # the power of the last step is unknown
    assert "not finite" in motion.audit().message


def test_the_power_of_a_motion_that_fails_at_once_is_not_finite():
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    context = tree.create_default_context()
    context.v = [0.0, 0.0, 1e300, 0.0, 0.0, 0.0]
    with pytest.warns(mbt.SimulationWarning, match="after 0 s: the state is not finite"):
        motion = mbt.simulate(tree, context, 0.1, 1e-2, method="implicit")
    assert np.isnan(motion.power).all()
    assert motion.work.tolist() == [0.0]


def test_dry_friction_holds_below_and_slips_above():
    tree = make_slider(lambda joint: mbt.JointFriction(joint, 4.0))
    for force, expected in ((3.96, 0.0), (4.04, 0.04 / 2.0), (-6.0, -2.0 / 2.0)):
        _, v = functional.rollout(tree, [0.0], [0.0], np.full((40, 1), force), 5e-3, method="implicit")
        np.testing.assert_allclose(v[-1, 0], expected * 0.2, atol=1e-6)


@pytest.mark.parametrize("h", [2e-3, 5e-3])
def test_a_block_sticks_and_slides_like_a_textbook_says(h):
    mu, N = 0.5, 2.0 * G
    for part in (0.99, 1.01, 1.5):
        tree = make_block([part * mu * G, 0.0, -G], mu)
        q0, depth = tree.default_positions.copy(), N / (4 * 2e4)
        q0[6] = 0.05 - depth
        steps = round(0.3 / h)
        q, v = functional.rollout(tree, q0, np.zeros(6), np.zeros((steps, 6)), h, method="implicit")
        half = steps // 2
        slid = (v[-1, 3] - v[half, 3]) / ((steps - half) * h)
        if part < 1.0:
            assert np.abs(v[half:]).max() < 1e-4
            assert np.linalg.norm(q[-1, 4:] - q[half, 4:]) < 1e-5
        else:
            np.testing.assert_allclose(slid, (part - 1.0) * mu * G, atol=1e-3 * G)
        np.testing.assert_allclose(0.05 - q[-1, 6], depth, rtol=1e-3)


@pytest.mark.parametrize("h", [1e-3, 5e-3, 2e-2])
@pytest.mark.parametrize("weld", [True, False])
def test_without_forces_energy_never_grows(h, weld):
    """Velocities belong to the positions where they were found: q - v h of the returned state."""
    tree = make_chain(gravity=False, weld=weld)
    rng = np.random.default_rng(5)
    n = 300
    q = np.tile(tree.default_positions, (n, 1))
    q = functional.integrate_positions(tree, q, rng.normal(size=(n, tree.num_velocities)), 1.0)
    v = 10.0 ** rng.uniform(-2, 3, size=(n, 1)) * rng.normal(size=(n, tree.num_velocities))
    before = kinetic_energy(tree, functional.integrate_positions(tree, q, v, -h), v)
    for _ in range(5):
        q1, v = functional.step(tree, q, v, np.zeros(tree.num_velocities), h, method="implicit")
        after = kinetic_energy(tree, q, v)
        assert (after <= before * (1.0 + 1e-12)).all()
        q, before = q1, after


def test_errors_halve_with_the_step():
    tree = make_chain(damping=0.2, weld=False)
    q0 = tree.default_positions
    v0 = np.random.default_rng(1).normal(size=tree.num_velocities)
    context = tree.create_default_context()
    context.q, context.v = q0, v0
    exact = mbt.simulate(tree, context, 0.4, 1e-4, method="rk4", every=4000)
    errors = []
    for h in (8e-3, 4e-3, 2e-3):
        steps = round(0.4 / h)
        tau = np.zeros((steps, tree.num_velocities))
        _, v = functional.rollout(tree, q0, v0, tau, h, method="implicit", every=steps)
        errors.append(np.linalg.norm(v[-1] - exact.v[-1]))
    ratios = np.array(errors[:-1]) / errors[1:]
    assert (ratios > 1.7).all(), errors
    assert (ratios < 2.3).all(), errors


def test_the_condition_of_the_minimum_holds_in_each_step():
    tree = make_block([1.0, 0.0, -G])
    steps, h = ImplicitSteps(tree.create_default_context()), 5e-3
    q, v = tree.default_positions.copy(), np.array([0.3, -2.0, 0.5, 1.0, 0.5, -1.0])
    q[6] = 0.15
    for _ in range(200):
        taken = steps.take(q, v, np.zeros((1, 6)), h)
        (q,), (v,) = taken.q, taken.v
        assert taken.solver.residual < 1e-8
    assert np.abs(v[3:]).max() < 1e-3  # at rest


def test_constraints_hold():
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_box_with_mass(1.0, 0.05, 0.05, 1.0)
    body = tree.add_body(mbt.RigidBody("rod", M))
    tree.add_joint(mbt.QuaternionFloatingJoint, "free", tree.world_body, None, body, None)
    pin = tree.add_frame(mbt.FixedOffsetFrame("pin", body.body_frame, mbt.math.make_pose([0.0, 0.0, 0.5])))
    tree.add_constraint(mbt.BallConstraint("pin", tree.world_frame, pin))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    context = tree.create_default_context()
    context.q = [np.cos(0.4), np.sin(0.4), 0, 0, 0, 0.5 * np.sin(0.8), -0.5 * np.cos(0.8)]
    trajectory = mbt.simulate(tree, context, 1.0, 2e-3, method="implicit")
    assert np.abs(trajectory.constraint_errors).max() < 2e-3
    exact = mbt.simulate(tree, context, 1.0, 1e-3, method="rk4")
    np.testing.assert_allclose(trajectory.q[-1], exact.q[-1], atol=2e-2)


def test_batches_rollouts_simulations_and_single_steps_agree():
    tree = make_chain(damping=0.1, weld=False)
    rng = np.random.default_rng(2)
    q = np.tile(tree.default_positions, (3, 1))
    v = rng.normal(size=(3, tree.num_velocities))
    tau = 0.1 * rng.normal(size=(3, 4, tree.num_velocities))
    Q, V = functional.rollout(tree, q, v, tau, 1e-2, method="implicit")
    for i in range(3):
        a, b = q[i], v[i]
        for k in range(4):
            a, b = functional.step(tree, a, b, tau[i, k], 1e-2, method="implicit")
        np.testing.assert_allclose(Q[i, -1], a, rtol=0, atol=1e-12)
        np.testing.assert_allclose(V[i, -1], b, rtol=0, atol=1e-11)
    context = tree.create_default_context()
    context.q, context.v = q[0], v[0]
    trajectory = mbt.simulate(tree, context, 0.04, 1e-2, method="implicit", control=tau[0])
    np.testing.assert_allclose(trajectory.q, Q[0], rtol=0, atol=1e-12)
    _, of_context = tree.rollout(context, tau[0], 1e-2, method="implicit")
    np.testing.assert_allclose(of_context, V[0], rtol=0, atol=1e-12)


def test_a_locked_joint_stays_and_forces_of_a_context_act():
    tree = make_chain()
    context = tree.create_default_context()
    tree.get_joint_by_name("hinge1").lock(context)
    context.applied_forces.generalized_forces[:] = [5.0, 7.0, 0.0]
    trajectory = mbt.simulate(tree, context, 0.1, 1e-3, method="implicit")
    assert (trajectory.q[:, 1] == 0.0).all()
    assert (trajectory.v[:, 1] == 0.0).all()
    exact = mbt.simulate(tree, context, 0.1, 1e-3, method="rk4")
    np.testing.assert_allclose(trajectory.q[-1], exact.q[-1], rtol=2e-2, atol=1e-6)


def test_trajectories_have_what_the_solver_did_in_each_step():
    tree = make_slider(lower=-0.4, upper=0.02)
    context = tree.create_default_context(2)
    context.v = [[5.0], [0.0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        motion = mbt.simulate(tree, context, 0.012, 5e-3, method="implicit", every=2)
    solver = motion.solver
    assert solver.at_limit[..., 0].tolist() == [[True, True, True], [False, False, False]]
    assert solver.saturated.shape == (2, 3, 0)
    assert solver.iterations.shape == solver.residual.shape == (2, 3)
    assert solver.iterations[1].tolist() == [0, 0, 0]
    told = f"<SolverSteps of 6: at most {solver.iterations.max()} iterations, residual at most "
    assert repr(solver).startswith(told)
    assert repr(solver).endswith(", 3 with joints at limits, 0 with saturated servos>")
    assert motion.sample(0).solver.at_limit.all()
    assert motion[:1].solver.iterations.shape == (2, 3)
    again = pickle.loads(pickle.dumps(motion))
    assert (again.solver.residual == solver.residual).all()
    assert not again.solver.residual.flags.writeable
    assert mbt.simulate(tree, tree.create_default_context(), 0.01, method="rk4").solver is None


def test_limits_can_be_turned_off():
    tree = make_slider(lower=-0.4, upper=0.02)
    context = tree.create_default_context()
    context.v = [5.0]
    with pytest.warns(mbt.SimulationWarning, match="do not act with joint_limits=False"):
        motion = mbt.simulate(tree, context, 0.02, 5e-3, method="implicit", joint_limits=False)
    np.testing.assert_allclose(motion.q[-1], 0.1, rtol=1e-12)


def test_events_are_found_within_implicit_steps():
    tree = make_slider(upper=1.0)
    context = tree.create_default_context()
    context.v = [5.0]

    def passes(time, q, v):
        return q[0] - 0.112

    passes.terminal = True
    motion = mbt.simulate(tree, context, 1.0, 5e-3, method="implicit", events=passes)
    np.testing.assert_allclose(motion.time[-1], 0.112 / 5.0, rtol=1e-9)
    assert motion.solver.residual.shape == (motion.num_steps,)


def test_a_state_that_is_not_finite_ends_a_simulation_and_a_sample_of_a_batch():
    tree = make_slider(gravity=[1.0, 0.0, 0.0])
    context = tree.create_default_context()
    with pytest.warns(mbt.SimulationWarning, match="not finite"):
        motion = mbt.simulate(
            tree, context, 0.1, 1e-2, method="implicit", control=lambda t, q, v: [np.nan if t > 0.05 else 0.0]
        )
    assert motion.status == "failed"
    assert np.isfinite(motion.v).all()
    q, v = functional.rollout(tree, [[0.0], [np.nan]], [0.0], np.zeros((3, 1)), 1e-2, method="implicit")
    np.testing.assert_allclose(v[0, :, 0], [0.0, 0.01, 0.02, 0.03], rtol=1e-12)
    assert np.isnan(q[1, 1:]).all()


def test_elements_in_python_act_and_know_the_time():
    class Push(mbt.ForceElement):
        def do_calc_and_add_force_contribution(self, context, pc, vc, forces):
            forces.generalized_forces[..., 0] += 2.0 * np.asarray(context.time)

    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("cart", mbt.SpatialInertia.solid_box_with_mass(2.0, 0.4, 0.2, 0.2)))
    tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, body, None, axis=[1, 0, 0])
    tree.add_force_element(Push())
    tree.finalize()
    _, v = functional.rollout(tree, [0.0], [0.0], np.zeros((3, 1)), 0.5, method="implicit")
    np.testing.assert_allclose(v[:, 0], [0.0, 0.0, 0.25, 0.75], rtol=1e-12)
    tau = np.zeros((2, 3, 1))
    _, v = functional.rollout(tree, [0.0], [0.0], tau, 0.5, method="implicit", every=2)
    np.testing.assert_allclose(v[..., 0], [[0.0, 0.25]] * 2, rtol=1e-12)
    assert functional.rollout(tree, [0.0], [0.0], tau[:, :0], 0.5, method="implicit")[0].shape == (2, 1, 1)
    motion = mbt.simulate(tree, tree.create_default_context(), 1.5, 0.5, method="implicit")
    np.testing.assert_allclose(motion.v[:, 0], [0.0, 0.0, 0.25, 0.75], rtol=1e-12)


def test_nothing_makes_steps_too():
    tree = make_slider()
    for count, steps in ((0, 3), (2, 0), (0, 0)):
        shape = (count, steps, 1)
        q, v = functional.rollout(tree, [0.0], [1.0], np.zeros(shape), 1e-3, method="implicit")
        assert q.shape == v.shape == (count, steps + 1, 1)
    fixed = mbt.MultibodyTree()
    body = fixed.add_body(mbt.RigidBody("b", mbt.SpatialInertia.point_mass(1.0, [0, 0, 1.0])))
    fixed.add_joint(mbt.WeldJoint, "weld", fixed.world_body, None, body, None)
    fixed.finalize()
    q, v = functional.step(fixed, np.zeros(0), np.zeros(0), np.zeros(0), 1e-3, method="implicit")
    assert (q.shape, v.shape) == ((0,), (0,))
    motion = mbt.simulate(fixed, fixed.create_default_context(), 0.01, method="implicit")
    assert motion.solver.residual.tolist() == [0.0] * 10


def test_a_dof_without_inertia_is_an_error_and_nan_in_a_batch():
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("point", mbt.SpatialInertia.point_mass(1.0, [0, 0, 0])))
    tree.add_joint(mbt.RevoluteJoint, "spin", tree.world_body, None, body, None, axis=[0, 0, 1])
    tree.finalize()
    one = np.zeros(1)
    with pytest.raises(mbt.errors.SingularityError, match="spin"):
        functional.step(tree, one, one, one, 1e-3, method="implicit")
    _, v = functional.step(tree, np.zeros((2, 1)), one, one, 1e-3, method="implicit")
    assert np.isnan(v).all()


def test_out_is_written_and_may_be_the_state():
    tree = make_chain()
    q, v, tau = np.array([0.3, -0.5, 0.9]), np.zeros(3), np.ones(3)
    expected = functional.step(tree, q, v, tau, 1e-3, method="implicit")
    found = functional.step(tree, q, v, tau, 1e-3, method="implicit", out=(q, v))
    assert found[0] is q
    for a, b in zip((q, v), expected, strict=True):
        assert (a == b).all()
    only = np.empty(3)
    half = functional.step(tree, q, v, tau, 1e-3, method="implicit", out=(None, only))
    assert half[1] is only
    assert (only == functional.step(tree, q, v, tau, 1e-3, method="implicit")[1]).all()


def test_out_of_a_step_that_fails_is_left_alone():
    tree = make_chain()
    q, v, tau = np.array([0.3, -0.5, 0.9]), np.zeros(3), np.ones(3)
    for out, error in (
        (q, mbt.ArgumentTypeError),
        ((q,), mbt.ShapeError),
        ((q, np.full(4, 7.0)), mbt.ShapeError),
        ((q, v.astype(np.float32)), mbt.ArgumentTypeError),
    ):
        with pytest.raises(error, match=r"^out"):
            functional.step(tree, q, v, tau, 1e-3, method="implicit", out=out)
    assert (q == [0.3, -0.5, 0.9]).all()
    ghost = mbt.MultibodyTree()
    body = ghost.add_body(mbt.RigidBody("ghost", mbt.SpatialInertia.zero()))
    ghost.add_joint(mbt.PrismaticJoint, "haunt", ghost.world_body, None, body, None, axis=[0, 0, 1])
    ghost.finalize()
    state = np.full(1, 7.0), np.full(1, 7.0)
    with pytest.raises(mbt.SingularityError, match="haunt"):
        functional.step(ghost, *state, np.ones(1), 0.1, method="implicit", out=state)
    assert (np.stack(state) == 7.0).all()
    # NaN that was there before is not an error.
    state = q, np.full(3, np.nan)
    functional.step(tree, *state, tau, 1e-3, method="implicit", out=state)
    assert np.isnan(q).all()


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4", "implicit"])
def test_what_an_array_is_made_of_makes_no_difference(method: str):
    tree = make_chain()
    q, v, tau = np.array([0.25, -0.5, 1.0]), np.array([1.0, 0.0, -0.5]), np.array([0.5, 0.25, -1.0])
    forces = np.tile(tau, (6, 1))
    step = functional.step(tree, q, v, tau, 0.25, method=method)
    path = functional.rollout(tree, q, v, forces, 0.25, method=method, every=2)
    assert path[0].shape == (4, 3)
    kinds = {
        "list": lambda x: x.tolist(),
        "numbers of NumPy": lambda x: list(x),
        "float32": lambda x: x.astype(np.float32),
        "integers": lambda x: (4 * x).astype(int) / 4,
        "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
        "Fortran": lambda x: np.asfortranarray(np.stack([x, x]))[1],
    }
    for name, kind in kinds.items():
        for dt in (0.25, np.float64(0.25), np.float32(0.25), np.array(0.25)):
            found = functional.step(tree, kind(q), kind(v), kind(tau), dt, method=method)
            np.testing.assert_array_equal(found, step, err_msg=name)
            for many in (kind(forces), np.broadcast_to(kind(tau), (6, 3))):
                ends = functional.rollout(tree, kind(q), kind(v), many, dt, method=method, every=2)
                for x, y in zip(ends, path, strict=True):
                    np.testing.assert_array_equal(x, y, err_msg=name)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4", "implicit"])
def test_leading_axes_of_each_operand_broadcast(method: str):
    tree, batch = make_chain(), (5, 4)
    full = dict(zip("qv", np.random.default_rng(0).normal(size=(2, *batch, 3)), strict=True))
    full["tau"] = np.linspace(-1.0, 1.0, 5 * 4 * 3).reshape(*batch, 3)
    for name, lead in itertools.product(full, [(0, 0), (0,), (slice(1),), (slice(None), slice(1))]):
        some = {**full, name: full[name][lead]}
        whole = {**full, name: np.broadcast_to(some[name], full[name].shape).copy()}
        found, desired = (functional.step(tree, **x, dt=0.01, method=method) for x in (some, whole))
        np.testing.assert_array_equal(np.concatenate(found, -1), np.concatenate(desired, -1))
        paths = (
            functional.rollout(
                tree, x["q"], x["v"], x["tau"][..., None, :].repeat(3, -2), 0.01, method=method
            )
            for x in (some, whole)
        )
        found, desired = (np.concatenate(path, -1) for path in paths)
        np.testing.assert_array_equal(found, desired)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4", "implicit"])
@pytest.mark.parametrize("every", [0, -1, 2**31, 2**70])
def test_a_number_of_steps_out_of_range_is_named(method: str, every: int):
    tree = make_chain()
    for q in (np.zeros(3), np.zeros((2, 3))):
        with pytest.raises(
            mbt.ArgumentValueError, match=r"every: expected an integer (>= 1|<= 2147483647), got"
        ):
            functional.rollout(tree, q, np.zeros(3), np.zeros((4, 3)), 1e-3, method=method, every=every)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4", "implicit"])
def test_what_is_no_tree_is_named(method: str):
    with pytest.raises(mbt.ArgumentTypeError, match="tree: expected a MultibodyTree, got int"):
        functional.step(5, [0.0], [0.0], [0.0], 1e-3, method=method)


def test_a_constraint_that_is_off_does_not_act():
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.add_joint(mbt.QuaternionFloatingJoint, "free", tree.world_body, None, body, None)
    pin = tree.add_constraint(mbt.BallConstraint("pin", tree.world_frame, body.body_frame))
    tree.add_force_element(mbt.UniformGravityFieldElement([0.0, 0.0, -10.0]))
    tree.finalize()
    context = tree.create_default_context()
    motion = mbt.simulate(tree, context, 0.1, 1e-2, method="implicit")
    assert np.abs(motion.v).max() < 1e-5
    pin.set_enabled_in(context, False)
    motion = mbt.simulate(tree, context, 0.1, 1e-2, method="implicit")
    np.testing.assert_allclose(motion.v[-1, 5], -1.0, rtol=1e-12)


def test_a_free_joint_and_a_point_in_contact_land_and_rest():
    tree = make_block([0.0, 0.0, -G])
    context = tree.create_default_context()
    q = tree.default_positions.copy()
    q[6] = 0.1
    context.q = q
    motion = mbt.simulate(tree, context, 1.0, 5e-3, method="implicit")
    np.testing.assert_allclose(motion.q[-1, 6], 0.05 - 2.0 * G / (4 * 2e4), rtol=1e-4)
    assert np.abs(motion.v[-1]).max() < 1e-4
    assert motion.solver.residual.max() < 1e-8


def test_the_command_line_takes_implicit_steps(tmp_path):
    from mbt.cli import main

    out = tmp_path / "motion.npz"
    arm = str(mbt.models.model_path("mbt_arm"))
    assert (
        main(
            ["simulate", arm, "--method", "implicit", "--dt", "0.01", "--duration", "0.1", "--save", str(out)]
        )
        == 0
    )
    motion = mbt.Trajectory.load(out)
    assert (motion.method, motion.num_steps, motion.solver) == ("implicit", 10, None)


@pytest.mark.engine
def test_environments_take_implicit_steps():
    pytest.importorskip("gymnasium")
    from mbt.interop.gymnasium import VectorEnv

    tree = make_servo(kp=100.0, kd=1.0, limit=40.0)
    start = tree.create_default_context()
    envs = VectorEnv(start, 2, reward=lambda context, actions: 0.0, dt=5e-3, method="implicit")
    envs.reset(seed=0)
    targets = np.array([0.1, 0.2])
    observations, *_ = envs.step(targets[:, None])
    h = 5e-3
    expected = h * 100.0 * targets / (2.0 + h * 1.0 + h * h * 100.0)
    np.testing.assert_allclose(observations[:, 1], expected, rtol=1e-9)


def test_what_implicit_steps_cannot_do_is_refused():
    tree = make_slider()
    with pytest.raises(mbt.errors.ArgumentValueError, match="dt: expected a number > 0"):
        functional.step(tree, [0.0], [0.0], [0.0], -1e-3, method="implicit")
    symbolic = tree.to_symbolic()
    with pytest.raises(mbt.errors.ArgumentTypeError, match="of doubles"):
        functional.rollout(symbolic, [0.0], [0.0], [[0.0]], 1e-3, method="implicit")


@pytest.mark.oracle
def test_from_rest_a_step_equals_that_of_mujoco():
    mujoco = pytest.importorskip("mujoco")
    xml = """<mujoco><option timestep="0.005" integrator="implicitfast"/><worldbody>
      <body><joint name="a" axis="0 1 0" damping="2"/>
      <geom type="box" size=".05 .06 .2" pos=".1 0 .2" mass="1"/>
      <body pos="0 0 .4"><joint name="b" axis="1 0 0" damping="5"/>
      <geom type="box" size=".02 .03 .1" pos="0 .1 .1" mass="0.2"/></body></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.qpos[:] = q = np.array([0.4, -0.7])
    data.qfrc_applied[:] = tau = np.array([0.3, -0.1])
    mujoco.mj_step(model, data)
    tree = mbt.interop.from_mujoco(model)
    q1, v1 = functional.step(tree, q, np.zeros(2), tau, 5e-3, method="implicit")
    np.testing.assert_allclose(v1, data.qvel, rtol=1e-10)
    np.testing.assert_allclose(q1, data.qpos, rtol=1e-10)


def test_a_loop_that_cannot_close_ends_at_its_least_gap():
    # A rod of 1 m on a hinge should reach a point 1.2 m above. The constraint's equations are along the axes
    # of the rod, or of World: it makes no difference.
    for order in (1, -1):
        tree = mbt.MultibodyTree()
        rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.thin_rod_with_mass(1.0, 1.0, [1, 0, 0])))
        end, start = (mbt.math.make_pose([x, 0, 0]) for x in (0.5, -0.5))
        tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, rod, start, axis=[0, 1, 0])
        tip = tree.add_frame(mbt.FixedOffsetFrame("tip", rod, end))
        goal = tree.add_frame(mbt.FixedOffsetFrame("goal", tree.world_body, mbt.math.make_pose([0, 0, 1.2])))
        tree.add_constraint(mbt.BallConstraint("reach", *(tip, goal)[::order]))
        tree.finalize()
        q, v = functional.rollout(tree, [0.0], [0.0], np.zeros((1000, 1)), 5e-3, method="implicit")
        np.testing.assert_allclose(q[-1], -np.pi / 2, atol=1e-9)
        np.testing.assert_allclose(v[-1], 0.0, atol=1e-9)


def test_a_large_tree_moves_from_rest_by_mass_and_damping():
    """(M + h D) v1 = h tau. Most rows of the factor are nearly full; those of leaves are not."""
    tree, rng = mbt.MultibodyTree(), np.random.default_rng(0)
    inertia = mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.2, 0.3)
    parent = tree.world_body
    for i in range(60):
        body = tree.add_body(mbt.RigidBody(f"body{i}", inertia))
        axis = rng.normal(size=3)
        X = mbt.math.make_pose([0.1, 0.0, 0.2])
        tree.add_joint(
            mbt.RevoluteJoint, f"joint{i}", parent, X, body, None, axis / np.linalg.norm(axis), damping=0.5
        )
        parent = parent if i % 7 == 3 else body
    tree.finalize()
    n = tree.num_velocities
    q, tau = rng.uniform(-1.0, 1.0, (2, n))
    _, v1 = functional.step(tree, q, np.zeros(n), tau, 1e-2, method="implicit")
    A = functional.mass_matrix(tree, q) + 1e-2 * 0.5 * np.eye(n)
    desired = np.linalg.solve(A, 1e-2 * tau)
    np.testing.assert_allclose(v1, desired, rtol=1e-8, atol=1e-10)
