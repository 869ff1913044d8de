"""Sensors in implicit steps feel what the solver found: limits, stiction, constraints, contact."""

from __future__ import annotations

import numpy as np
import pytest

import mbt

G = 9.81
H = 2e-3


def box(mass=2.0):
    return mbt.SpatialInertia.solid_box_with_mass(mass, 0.2, 0.2, 0.2)


def test_an_imu_on_a_robot_that_stands_feels_its_weight():
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", box()))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    corners = [[x, y, -0.1] for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    tree.add_force_element(
        mbt.PointContact(body, corners, stiffness=1e4, dissipation=20.0, static_friction=0.8)
    )
    tree.add_sensor(mbt.Imu(body, "imu"))
    tree.finalize()
    context = tree.create_default_context()
    context.q = [1, 0, 0, 0, 0, 0, 0.1 - 2.0 * G / 4e4]
    context.applied_forces.body_forces[1, 3] = 5.0  # friction holds it
    motion = mbt.simulate(tree, context, 1.0, H, method="implicit")
    # The push tilts it on its feet, by 5 N * 0.1 m over their stiffness minus that of its weight.
    tilt = 0.5 / (4.0 * 1e4 * 0.1**2 - 2.0 * G * 0.1)
    expected = [0, 0, 0, -G * np.sin(tilt), 0, G * np.cos(tilt)]
    np.testing.assert_allclose(motion.sensors[-1], expected, rtol=0, atol=2e-5)
    context.q = [1, 0, 0, 0, 0, 0, 1.0]
    falling = mbt.simulate(tree, context, 0.1, H, method="implicit")
    # It falls, pushed by 5 N.
    np.testing.assert_allclose(
        falling.sensors[3:-1, 3:], [[2.5, 0, 0]] * (len(falling) - 4), rtol=0, atol=1e-6
    )


def make_slider(**options):
    tree = mbt.MultibodyTree()
    cart = tree.add_body(mbt.RigidBody("cart", box()))
    joint = tree.add_joint(
        mbt.PrismaticJoint, "rail", tree.world_body, None, cart, None, axis=[1, 0, 0], **options
    )
    return tree, cart, joint


def test_an_imu_feels_the_end_stop_that_its_joint_runs_into():
    tree, cart, _ = make_slider(pos_upper_limit=0.1)
    tree.add_sensor(mbt.Imu(cart, "imu"))
    tree.finalize()
    context = tree.create_default_context()
    context.v = [1.0]
    motion = mbt.simulate(tree, context, 0.2, H, method="implicit")
    felt = motion.sensors[:, 3]
    # The stop takes all of its momentum.
    assert H * felt[:-1].sum() == pytest.approx(-1.0, rel=1e-4)
    assert felt.min() < -0.4 / H
    np.testing.assert_allclose(felt, motion.vdot[:, 0], rtol=0, atol=1e-9)


def test_a_force_sensor_below_a_joint_that_sticks_feels_the_push():
    tree, cart, joint = make_slider()
    tree.add_force_element(mbt.JointFriction(joint, 10.0))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tip = tree.add_body(mbt.RigidBody("tip", box(1.0)))
    wrist = tree.add_joint(mbt.WeldJoint, "wrist", cart, None, tip, None, mbt.math.make_pose([0.5, 0, 0]))
    tree.add_sensor(mbt.ForceTorqueSensor(wrist, "wrist_force"))
    tree.add_sensor(mbt.ForceTorqueSensor(joint, "rail_force"))
    tree.finalize()
    context = tree.create_default_context()
    context.applied_forces.body_forces[tip.node_index, 3] = 6.0
    motion = mbt.simulate(tree, context, 0.1, H, method="implicit")
    assert abs(motion.v[-1, 0]) < 1e-6
    names = list(tree.sensor_names)
    last = dict(zip(names, motion.sensors[-1], strict=True))
    wrist_x = next(n for n in names if n.startswith("wrist_force") and n.endswith("force_x"))
    rail_x = next(n for n in names if n.startswith("rail_force") and n.endswith("force_x"))
    assert abs(last[wrist_x]) == pytest.approx(6.0, rel=1e-4)
    # Friction holds against the whole push; without it, the joint would transmit no force along its axis.
    assert abs(last[rail_x]) == pytest.approx(6.0, rel=1e-4)


def test_a_force_sensor_in_a_loop_feels_the_constraint():
    """A rod on a hinge, held by a ball at its far end: each carries half of the weight."""
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.solid_box_with_mass(3.0, 1.0, 0.05, 0.05)))
    X = mbt.math.make_pose([-0.5, 0, 0])
    hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, rod, X, axis=[0, 1, 0])
    tree.add_force_element(mbt.UniformGravityFieldElement())
    ends = [
        tree.add_frame(mbt.FixedOffsetFrame(f"end{i}", body.body_frame, mbt.math.make_pose([x, 0, 0])))
        for i, (body, x) in enumerate(((tree.world_body, 1.0), (rod, 0.5)))
    ]
    tree.add_constraint(mbt.BallConstraint("end", *ends))
    tree.add_sensor(mbt.ForceTorqueSensor(hinge, "force"))
    tree.finalize()
    motion = mbt.simulate(tree, tree.create_default_context(), 0.2, H, method="implicit")
    values = dict(zip(tree.sensor_names, motion.sensors[-1], strict=True))
    assert abs(values["force_force_z"]) == pytest.approx(1.5 * G, rel=1e-3)


def test_an_imu_feels_shapes_and_springs_between_bodies_in_batches():
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    ball.add_collision(mbt.Shape("sphere", [0.1]))
    hung = tree.add_body(mbt.RigidBody("hung", box(1.0)))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.add_force_element(
        mbt.LinearSpringDamper(tree.world_body, [2, 0, 2], hung, [0, 0, 0], 0.5, 100.0, 20.0)
    )
    tree.add_sensor(mbt.Imu(ball, "ball"))
    tree.add_sensor(mbt.Imu(hung, "hung"))
    tree.finalize()
    contacts = mbt.ShapeContact(mbt.CollisionModel(tree, obstacles=[mbt.Shape("plane", name="floor")]))
    context = tree.create_default_context(2)
    height = 2.0 - 0.5 - G / 100.0
    context.q = [
        [1, 0, 0, 0, 0, 0, 0.1, 1, 0, 0, 0, 2, 0, height],
        [1, 0, 0, 0, 0, 0, 0.5, 1, 0, 0, 0, 2, 0, height],
    ]
    motion = mbt.simulate(tree, context, 0.2, H, method="implicit", contacts=contacts)
    accelerometers = motion.sensors.reshape(2, -1, 2, 6)[..., 3:]
    np.testing.assert_allclose(accelerometers[0, -1], [[0, 0, G]] * 2, rtol=0, atol=2e-2)
    np.testing.assert_allclose(accelerometers[1, 5], [[0, 0, 0], [0, 0, G]], rtol=0, atol=1e-6)


def test_smooth_motion_reads_as_explicit_steps_do():
    tree = mbt.load_model(mbt.models.model_path("mbt_arm")).edit()
    tree.add_sensor(mbt.Imu(tree.bodies[-1], "imu"))
    tree.add_sensor(mbt.ForceTorqueSensor(tree.joints[3], "force"))
    tree.add_sensor(mbt.JointSensor(tree.joints[2]))
    tree.finalize()
    context = tree.create_default_context()
    context.q = [0.0, 0.4, 0.3, 0.1, 0.2, 0.0]
    differences = []
    for dt in (2e-4, 1e-4):
        ends = [
            mbt.simulate(tree, context, 0.02, dt, method=method).sensors[-2] for method in ("implicit", "rk4")
        ]
        differences.append(np.abs(ends[0] - ends[1]).max() / np.abs(ends[1]).max())
    assert differences[1] < 0.01
    assert differences[1] < 0.6 * differences[0]  # of order one
