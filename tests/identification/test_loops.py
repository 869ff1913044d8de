"""Identification of mechanisms with loops: forces along the motions that constraints allow."""

import pickle

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.identification import Accumulator, PayloadEstimator, design_excitation, identify, validate
from mbt.identification.loops import Loops
from support.linkages import calc_four_bar_angles, delta, four_bar, stewart


def with_motors(tree, names, damping=0.0):
    work = tree.edit()
    for name in names:
        joint = work.get_joint_by_name(name)
        joint.set_default_damping(damping)
        work.add_joint_actuator(f"{name}_motor", joint)
    work.finalize()
    return work


@pytest.fixture(scope="module")
def robot():
    return with_motors(delta(), [f"motor_{i}" for i in range(3)], damping=0.3)


@pytest.fixture(scope="module")
def log(robot):
    return log_of(robot, 130, 0.0, np.random.default_rng(0))


def log_of(tree, count, noise, rng):
    """Return motions under random motor forces: constrained dynamics gives the accelerations."""
    drives = np.flatnonzero(tree.actuation_matrix.any(axis=1))
    context, log = tree.create_default_context(), []
    tree.assemble(context)
    start = context.q
    for _ in range(count):
        context.q = start
        G = tree.calc_constraint_jacobian(context)
        step = rng.normal(size=tree.num_velocities)
        step -= np.linalg.pinv(G) @ (G @ step)
        context.q = tree.integrate_positions(context.q, 0.4 * step / np.linalg.norm(step), 1.0)
        context.v = 3.0 * rng.normal(size=tree.num_velocities)
        tree.assemble(context)
        tau = np.zeros(tree.num_velocities)
        tau[drives] = 2.0 * rng.normal(size=len(drives))
        vdot = tree.calc_constrained_forward_dynamics(context, tau)[0]
        tau[drives] += noise * rng.normal(size=len(drives))
        log.append((context.q, context.v, vdot, tau))
    return [np.array(rows) for rows in zip(*log, strict=True)]


def test_base_parameters_are_as_many_as_motion_can_tell(robot, log):
    # Independent: another basis of the null space, from singular values, at other states.
    rows, context = [], robot.create_default_context()
    for state in zip(*(array[:40] for array in log[:3]), strict=True):
        context.q, context.v = state[:2]
        free = np.linalg.svd(robot.calc_constraint_jacobian(context))[2][6:].T
        rows.append(free.T @ robot.calc_inverse_dynamics_regressor(context, state[2]))
    values = np.linalg.svd(np.concatenate(rows), compute_uv=False)
    rank = Accumulator(robot)._columns.base.rank
    assert values[rank - 1] > 1e-6 * values[0] > 1e-9 * values[0] > values[rank]


def test_open_loops_are_told(robot, log):
    q = log[0].copy()
    q[:, 0] += 0.1
    texts = identify(robot, q, *log[1:], physical=False).warnings
    assert any("compute those of joints without sensors with" in text for text in texts)


@pytest.mark.parametrize("physical", [False, True])
def test_truth_lies_within_the_standard_errors(robot, log, physical):
    rng = np.random.default_rng(0)
    drives = np.flatnonzero(robot.actuation_matrix.any(axis=1))
    tau = log[3].copy()
    tau[:, drives] += 0.05 * rng.normal(size=(len(tau), len(drives)))
    fitted, fresh = ([array[part] for array in (*log[:3], tau)] for part in (slice(100), slice(100, None)))
    described = robot.edit()
    for body in described.bodies[1:]:
        M = body.default_spatial_inertia
        body.set_default_spatial_inertia(mbt.SpatialInertia(1.2 * M.mass, M.com, M.unit_inertia))
    described.finalize()
    found = identify(described, *fitted, friction="viscous", physical=physical)
    damping = np.concatenate([joint.default_damping_vector for joint in robot.joints])
    truth = found.base.calc_values(np.concatenate([robot.get_inertial_parameters(), damping]))
    seen = np.isfinite(found.base_standard_errors)
    assert seen.any()
    error = np.abs(found.base_values - truth) / found.base_standard_errors
    assert (error[seen] < 4.0).all()
    np.testing.assert_allclose(found.noise[drives], 0.05, rtol=0.2)
    assert np.isinf(np.delete(found.noise, drives)).all()
    check = validate(found, *fresh)
    np.testing.assert_allclose(check.noise_ratio[drives], 1.0, atol=0.4)
    assert not found.warnings or all("condition" in text or "determine" in text for text in found.warnings)
    assert "motor_0" in found.report()
    if physical:
        assert found.tree.num_constraints == robot.num_constraints


def test_a_payload_of_a_loop(robot):
    rng = np.random.default_rng(1)
    loaded = robot.edit()
    plate = loaded.get_body_by_name("platform")
    more = mbt.SpatialInertia.solid_box_with_mass(0.5, 0.1, 0.1, 0.1)
    plate.set_default_spatial_inertia(plate.default_spatial_inertia + more)
    loaded.finalize()
    payload = PayloadEstimator(robot, "platform", noise=np.full(robot.num_velocities, 0.01), forgetting=1.0)
    for sample in zip(*log_of(loaded, 25, 0.01, rng), strict=True):
        payload.update(*sample)
    assert payload.mass == pytest.approx(0.5, abs=0.02)


def test_motors_are_independent_where_they_can_be(robot):
    for tree, drives in ((robot, [0, 1, 2]), (with_motors(four_bar(), ["swing"]), [2])):
        np.testing.assert_array_equal(Loops(tree).independent, drives)
    fingers = mbt.MultibodyTree()
    joints = []
    for name in ("leader", "follower"):
        body = fingers.add_body(mbt.RigidBody(name, mbt.SpatialInertia.solid_cube_with_mass(0.1, 0.02)))
        joints.append(
            fingers.add_joint(mbt.PrismaticJoint, name, fingers.world_body, None, body, None, axis=[0, 1, 0])
        )
    fingers.add_constraint(mbt.CouplerConstraint("grip", *joints[::-1]))
    fingers.finalize()
    np.testing.assert_array_equal(Loops(fingers).independent, [0])
    both = with_motors(four_bar(), ["drive", "swing"])
    assert len(Loops(both).independent) == 1
    with pytest.raises(mbt.ArgumentValueError, match="motors: expected a tree whose motors"):
        Accumulator(both, motors=True)


def test_forces_along_the_motion_are_those_of_all_joints(robot):
    # Reduced forces have the power of the forces, for velocities that obey the constraints.
    loops, rng = Loops(robot), np.random.default_rng(2)
    q, v, vdot = loops.random_motions(5)
    context = robot.create_default_context(batch_shape=5)
    context.q, context.v = q, v
    G = robot.calc_constraint_jacobian(context)
    np.testing.assert_allclose(np.einsum("bij,bj->bi", G, v), 0.0, atol=1e-7)
    bias = robot.calc_constraint_bias(context)
    np.testing.assert_allclose(np.einsum("bij,bj->bi", G, vdot) + bias, 0.0, atol=1e-6)
    forces = rng.normal(size=v.shape)
    reduced = loops.reduce(G, forces)
    np.testing.assert_allclose((reduced * v).sum(axis=1), (forces * v).sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(loops.reduce(G, reduced), reduced)


def test_designed_motions_keep_loops_closed(robot):
    work = robot.edit()
    for i, motor in enumerate(work.joint_actuators):
        motor.set_effort_limit(3.0 + i)
        work.get_joint_by_name(f"motor_{i}").set_velocity_limits([-2.0], [2.0])
    work.finalize()
    design = design_excitation(work, rng=0, starts=1, steps=8, rate=50.0)
    np.testing.assert_array_equal(design.velocities, np.flatnonzero(robot.actuation_matrix.any(axis=1)))
    context = work.create_default_context(batch_shape=len(design.time))
    context.q, context.v = design.q, design.v
    np.testing.assert_allclose(work.calc_constraint_errors(context), 0.0, atol=1e-9)
    G = work.calc_constraint_jacobian(context)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", G, design.v), 0.0, atol=1e-10)
    still = np.einsum("nij,nj->ni", G, design.vdot) + work.calc_constraint_bias(context)
    np.testing.assert_allclose(still, 0.0, atol=1e-9)
    # Successive states follow the velocities: no jump to another closure of the loops.
    moved = work.difference_positions(design.q[:-1], design.q[1:])
    np.testing.assert_allclose(moved, 0.5 * 0.02 * (design.v[:-1] + design.v[1:]), atol=1e-3)
    tau, _ = functional.constrained_inverse_dynamics(work, design.q, design.v, design.vdot)
    assert (np.abs(tau[:, design.velocities]) <= [3.0, 4.0, 5.0]).all()
    assert np.abs(tau).max() > 2.0
    assert (np.abs(design.v[:, design.velocities]) <= 2.0).all()
    later = pickle.loads(pickle.dumps(design)).evaluate(design.time[:9] + 2.0 * design.period)
    for array, expected in zip(later, (design.q, design.v, design.vdot), strict=True):
        np.testing.assert_allclose(array, expected[:9], atol=1e-8)
    q, v, _ = design.evaluate(np.linspace(0.0, design.period, 3001))
    np.testing.assert_allclose(work.difference_positions(q[:-2], q[2:]), v[1:-1] * 2 / 300, atol=1e-4)
    tau = tau + 0.01 * np.random.default_rng(0).normal(size=tau.shape) * work.actuation_matrix.any(axis=1)
    found = identify(work, design.q, design.v, design.vdot, tau)
    np.testing.assert_allclose(found.noise[design.velocities], 0.01, rtol=0.15)


def test_a_designed_motion_of_a_four_bar_is_that_of_its_closed_form():
    tree = with_motors(four_bar(), ["drive"])
    design = design_excitation(tree, rng=0, starts=1, steps=4, rate=50.0, margin=1.0)
    assert np.ptp(design.q[:, 0]) > 1.0
    # The loop closes in two ways; the result keeps that of the default positions.
    context = tree.create_default_context()
    tree.assemble(context)
    above, below = calc_four_bar_angles(design.q[:, 0]), -calc_four_bar_angles(-design.q[:, 0])
    q = context.q
    is_above = is_turned(q, calc_four_bar_angles(q[0]))
    assert is_above != is_turned(q, -calc_four_bar_angles(-q[0]))
    assert is_turned(design.q, above if is_above else below)


def is_turned(q, expected):
    """Return whether angles are equal up to full turns."""
    return np.abs(np.exp(1j * q) - np.exp(1j * expected)).max() < 1e-8


def test_a_designed_motion_of_a_mechanism_keeps_clear_of_obstacles():
    work = with_motors(four_bar(), ["drive"]).edit()
    work.get_body_by_name("rocker").add_collision(
        mbt.Shape("sphere", [0.05], mbt.math.make_pose([0.7, 0, 0]))
    )
    work.finalize()
    free = design_excitation(work, rng=0, starts=1, steps=2)
    high = free.q[:, 2].max()
    tip = mbt.math.make_pose([1.0 + 0.7 * np.cos(high), 0.7 * np.sin(high), 0])
    scene = mbt.CollisionModel(work, obstacles=[mbt.Shape("sphere", [0.05], tip)])
    assert not scene.is_free(free.q).all()
    kept = design_excitation(work, rng=0, starts=1, steps=2, scene=scene, criterion="d_optimal")
    assert scene.is_free(kept.q).all()


def test_mechanisms_whose_motion_nothing_drives_are_refused():
    with pytest.raises(mbt.ArgumentValueError, match=r"'plate' has 6 velocities.*give motors to joints"):
        design_excitation(stewart())
