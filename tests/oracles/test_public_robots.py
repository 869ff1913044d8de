"""The robots of the package example-robot-data: read unchanged, and computed as by Pinocchio."""

import warnings

import numpy as np
import pytest

import mbt
from mbt.parsing import resolve_mesh
from support.public_robots import FOLDER, SHARE, load_robot

pin = pytest.importorskip("pinocchio", reason="needs the `oracle` extra")

pytestmark = pytest.mark.oracle

# It has no links: xacro should have inserted them.
EMPTY = FOLDER / "ur_description" / "urdf" / "ur3.urdf"
ROBOTS = [path for path in sorted(FOLDER.rglob("*.urdf")) if path != EMPTY]


def test_there_are_robots():
    assert len(ROBOTS) > 60
    with pytest.raises(mbt.ParseError, match="the robot has no <link>"):
        mbt.load_model(EMPTY)


@pytest.mark.parametrize("path", ROBOTS, ids=[path.stem for path in ROBOTS])
def test_dynamics(path):
    tree = load_robot(path)
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    joints = [joint for joint in tree.joints if joint.num_velocities]
    assert sorted(joint.name for joint in joints) == sorted(list(model.names)[1:])

    rng = np.random.default_rng(1)
    angles, speeds = rng.uniform(-1, 1, (2, len(joints)))
    q, v = np.zeros(tree.num_positions), np.zeros(tree.num_velocities)
    q_pin, v_pin, to_pin = pin.neutral(model), np.zeros(model.nv), np.zeros(len(joints), int)
    for joint, angle, speed in zip(joints, angles, speeds, strict=True):
        joint_pin = model.joints[model.getJointId(joint.name)]
        q[joint.position_start], v[joint.velocity_start] = angle, speed
        values = [angle] if joint_pin.nq == 1 else [np.cos(angle), np.sin(angle)]
        q_pin[joint_pin.idx_q : joint_pin.idx_q + joint_pin.nq] = values
        v_pin[joint_pin.idx_v] = speed
        to_pin[joint.velocity_start] = joint_pin.idx_v

    M = pin.crba(model, data, q_pin)
    M = np.triu(M) + np.triu(M, 1).T
    gravity = pin.computeGeneralizedGravity(model, data, q_pin)
    bias = pin.nonLinearEffects(model, data, q_pin, v_pin) - gravity
    for found, expected in (
        (mbt.functional.mass_matrix(tree, q), M[np.ix_(to_pin, to_pin)]),
        (mbt.functional.bias_term(tree, q, v), bias[to_pin]),
        (mbt.functional.gravity_generalized_forces(tree, q), -gravity[to_pin]),
    ):
        scale = np.abs(expected).max(initial=0.0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * scale)


# Descriptions with a fault of their own: massless links that nothing resists.
MASSLESS = ("romeo", "romeo_laas_small")
MOVING = [path for path in (*ROBOTS, *sorted(FOLDER.rglob("*.sdf"))) if path.stem not in MASSLESS]


@pytest.mark.parametrize("path", MOVING, ids=[path.stem + path.suffix for path in MOVING])
def test_implicit_steps_hold(path):
    """Three seconds with default settings: no more energy than from a fall and from returning to limits.

    Joints that start beyond their limits are back within a fifth of a second.
    """
    tree = load_robot(path)
    context = tree.create_default_context()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbt.SimulationWarning)
        motion = mbt.simulate(tree, context, 3.0, 2e-3, method="implicit")
    assert motion.status == "completed"
    beyond = np.maximum(tree.position_lower_limits - context.q, context.q - tree.position_upper_limits)
    M = np.diag(tree.calc_mass_matrix(context))
    led = 0.5 * M.sum() * (np.max(beyond, initial=0.0) / 0.2) ** 2
    fall = 0.5 * 9.81 * 3.0**2
    assert motion.energy.kinetic.max() <= led + 9.81 * fall * tree.calc_total_mass(context)
    assert motion.solver.residual.max() < 1e-6


@pytest.mark.parametrize("path", ROBOTS, ids=[path.stem for path in ROBOTS])
def test_meshes_are_there(path):
    for body in load_robot(path).bodies:
        for shape in (*body.visuals, *body.collisions):
            if shape.mesh is not None and shape.mesh.startswith("package://"):
                found = resolve_mesh(shape)
                assert found.is_file()
                assert resolve_mesh(shape, [SHARE, FOLDER]) == found
