"""Ten thousand bodies, one after the other or side by side: no step is quadratic or recursive."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import mbt
from mbt import functional

NUM_BODIES = 10_000
LENGTH, MASS, RADIUS, GRAVITY = 0.3, 2.0, 0.1, 9.81


@cache
def _balls(shape: str) -> mbt.MultibodyTree:
    """Balls on rods along x, on hinges about y: a chain, or all on World."""
    tree = mbt.MultibodyTree()
    ball = mbt.SpatialInertia.solid_sphere_with_mass(MASS, RADIUS).shift([-LENGTH, 0, 0])
    X_PF = mbt.math.make_pose(p=[LENGTH, 0, 0])
    parent = tree.world_body
    for i in range(NUM_BODIES):
        body = tree.add_body(mbt.RigidBody(f"ball{i}", ball))
        tree.add_joint(mbt.RevoluteJoint, f"hinge{i}", parent, X_PF, body, None, axis=[0, 1, 0])
        if shape == "chain":
            parent = body
    tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -GRAVITY]))
    tree.finalize()
    return tree


def _weights(shape: str) -> np.ndarray:
    """The forces that hold the balls at q = 0: minus the moments of all weights outboard of each hinge."""
    arms = np.ones(NUM_BODIES) if shape == "star" else np.arange(NUM_BODIES, 0, -1.0)
    return -MASS * GRAVITY * LENGTH * arms * (arms + 1) / 2


@pytest.mark.parametrize("shape", ["chain", "star"])
def test_weights(shape: str) -> None:
    """Gravity alone, in closed form."""
    tree = _balls(shape)
    zero = np.zeros(NUM_BODIES)
    wanted = _weights(shape)
    tolerance = {"rtol": 1e-12, "atol": 0.0}
    np.testing.assert_allclose(functional.inverse_dynamics(tree, zero, zero, zero), wanted, **tolerance)
    np.testing.assert_allclose(-functional.gravity_generalized_forces(tree, zero), wanted, **tolerance)
    context = tree.create_default_context()
    np.testing.assert_allclose(-tree.calc_gravity_generalized_forces(context), wanted, **tolerance)
    # The x of the last ball by its pose, and the potential energy.
    X_WB = functional.body_poses(tree, zero)
    np.testing.assert_array_equal(X_WB, tree.eval_position_kinematics(context).X_WB)
    wanted_x = LENGTH * (NUM_BODIES if shape == "chain" else 1)
    assert X_WB[tree.bodies[-1].node_index, 0, 3] == pytest.approx(wanted_x, rel=1e-12)
    assert tree.calc_potential_energy(context) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("shape", ["chain", "star"])
def test_dynamics(shape: str) -> None:
    """Forward dynamics undoes inverse dynamics; Contexts, stateless calls and batches agree."""
    tree = _balls(shape)
    q, v, vdot = 1e-3 * np.random.default_rng(0).normal(size=(3, NUM_BODIES))
    context = tree.create_default_context()
    context.q, context.v = q, v
    tau = functional.inverse_dynamics(tree, q, v, vdot)
    scale = np.abs(tau).max()
    again = functional.forward_dynamics(tree, q, v, tau)
    # The residual, not the difference: a chain of 10,000 magnifies rounding by 10^9.
    assert np.abs(functional.inverse_dynamics(tree, q, v, again) - tau).max() <= 1e-12 * scale
    np.testing.assert_array_equal(tree.calc_inverse_dynamics(context, vdot, include_force_elements=True), tau)
    np.testing.assert_array_equal(tree.calc_forward_dynamics(context, tau), again)
    batch = functional.inverse_dynamics(tree, np.stack([q, 2 * q]), v, vdot)
    np.testing.assert_allclose(batch[0], tau, atol=1e-12 * scale)
    # Power: that of the forces equals the rates of kinetic and potential energy.
    bias = functional.bias_term(tree, q, v)
    np.testing.assert_array_equal(tree.calc_bias_term(context), bias)
    if shape == "star":
        inertia = MASS * (0.4 * RADIUS**2 + LENGTH**2)
        wanted = inertia * vdot - MASS * GRAVITY * LENGTH * np.cos(q)
        np.testing.assert_allclose(tau, wanted, rtol=1e-12)
        np.testing.assert_allclose(again, vdot, atol=1e-12)
        assert tree.calc_kinetic_energy(context) == pytest.approx(inertia / 2 * v @ v)


def test_mass_resists_every_joint() -> None:
    """A ball has 10^-12 of the inertia of the whole chain about its root: it is not taken for noise."""
    assert _balls("chain").finalize_report.massless_branches == ()


def test_loading() -> None:
    """A description in text gives the same kind of tree."""
    ball = f'<mass value="{MASS}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    links = "".join(f'<link name="l{i}"><inertial>{ball}</inertial></link>' for i in range(NUM_BODIES))
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i - 1}"/><child link="l{i}"/>'
        f'<origin xyz="{LENGTH} 0 0"/><axis xyz="0 1 0"/></joint>'
        for i in range(1, NUM_BODIES)
    )
    tree = mbt.load_model(f'<robot name="chain">{links}{joints}</robot>')
    assert tree.num_velocities == NUM_BODIES - 1
    assert tree.get_body_by_name(f"l{NUM_BODIES - 1}").node_index == NUM_BODIES
    assert tree.calc_total_mass(tree.create_default_context()) == pytest.approx(NUM_BODIES * MASS)


@pytest.mark.parametrize("leader", ["first", "before"])
def test_many_joints_that_mimic_another(leader: str) -> None:
    """Each constraint visits all bodies inboard of it once."""
    count = 3000
    tree = mbt.MultibodyTree()
    ball = mbt.SpatialInertia.solid_sphere_with_mass(MASS, RADIUS)
    body, hinges = tree.world_body, []
    for i in range(count):
        parent, body = body, tree.add_body(mbt.RigidBody(f"ball{i}", ball))
        hinges.append(
            tree.add_joint(mbt.RevoluteJoint, f"hinge{i}", parent, None, body, None, axis=[0, 1, 0])
        )
    for i in range(1, count):
        followed = hinges[0] if leader == "first" else hinges[i - 1]
        tree.add_constraint(mbt.CouplerConstraint(f"mimic{i}", hinges[i], followed))
    tree.finalize()
    q = np.linspace(0.0, 1.0, count)
    wanted = q[1:] - (q[0] if leader == "first" else q[:-1])
    np.testing.assert_allclose(functional.constraint_errors(tree, q), wanted, rtol=0, atol=1e-15)
