"""Joints and force elements where their formulas are undefined: an error for one state, NaN in a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.joint_types import (
    MOVING_JOINT_TYPES,
    add_joint_of_type,
    add_random_body,
    random_positions,
    random_state,
)

GIMBALS = ("ball_rpy", "rpy_floating")
QUATERNIONS = ("quaternion_ball", "quaternion_floating")
DIRECTIONS = pytest.mark.parametrize("is_reversed", [False, True], ids=["forward", "reversed"])


def _one(kind: str, is_reversed: bool = False, massless: bool = False) -> mbt.MultibodyTree:
    """One body on a joint; or two, of which the second, on the joint, has no mass."""
    rng = np.random.default_rng(0)
    tree = mbt.MultibodyTree()
    base, joint_name = tree.world_body, "wrist"
    if massless:
        base = add_random_body(tree, rng, "heavy")
        add_joint_of_type(tree, "revolute", "shoulder", tree.world_body, base, rng)
        body = tree.add_body(mbt.RigidBody("ghost", mbt.SpatialInertia(0.0, np.zeros(3), np.zeros((3, 3)))))
    else:
        body = add_random_body(tree, rng, "body")
    add_joint_of_type(tree, kind, joint_name, base, body, rng, is_reversed=is_reversed)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


# Joints -----------------------------------------------------------------------------------------------------


@DIRECTIONS
@pytest.mark.parametrize("kind", MOVING_JOINT_TYPES)
def test_joint_that_moves_no_mass(kind: str, is_reversed: bool) -> None:
    """Forward dynamics names the joint; inverse dynamics and the mass matrix are not affected."""
    tree = _one(kind, is_reversed, massless=True)
    context = random_state(tree, np.random.default_rng(1))
    tau = np.ones(tree.num_velocities)
    with pytest.raises(mbt.SingularityError, match="wrist"):
        tree.calc_forward_dynamics(context, tau)
    with pytest.raises(mbt.SingularityError, match="wrist"):
        functional.forward_dynamics(tree, context.q, context.v, tau)
    batch = functional.forward_dynamics(tree, np.stack([context.q, context.q]), context.v, tau)
    assert np.isnan(batch).any(axis=-1).all()
    assert np.isfinite(tree.calc_inverse_dynamics(context, tau, include_force_elements=True)).all()
    assert np.linalg.eigvalsh(tree.calc_mass_matrix(context))[0] == pytest.approx(0.0, abs=1e-12)


@DIRECTIONS
@pytest.mark.parametrize("kind", QUATERNIONS)
def test_zero_quaternion(kind: str, is_reversed: bool) -> None:
    tree = _one(kind, is_reversed)
    good = random_state(tree, np.random.default_rng(1))
    q = good.q.copy()
    q[:4] = 0.0
    context = good.clone()
    with pytest.raises(mbt.SingularityError, match="wrist"):
        context.q = q
    np.testing.assert_array_equal(context.q, good.q)
    X_WB = functional.body_poses(tree, np.stack([good.q, q, good.q]))
    assert np.isnan(X_WB[1]).any()
    assert np.isfinite(X_WB[::2]).all()


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, 1e9 * np.pi + np.pi / 2])
@DIRECTIONS
@pytest.mark.parametrize("kind", GIMBALS)
def test_gimbal_lock(kind: str, is_reversed: bool, pitch: float) -> None:
    """Only the map from v to qdot is undefined."""
    tree = _one(kind, is_reversed)
    context = random_state(tree, np.random.default_rng(1))
    q = context.q.copy()
    q[1] = pitch
    context.q = q
    nv = tree.num_velocities
    out = np.full(tree.num_positions, 7.0)
    with pytest.raises(mbt.SingularityError, match="wrist"):
        tree.map_velocity_to_qdot(context, context.v, out=out)
    assert (out == 7.0).all()
    vdot = tree.calc_forward_dynamics(context, np.ones(nv))
    tau = tree.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    np.testing.assert_allclose(tau, np.ones(nv), atol=1e-10)
    # v = N+ qdot needs no division: yaw and roll turn about the same axis.
    assert np.isfinite(tree.map_qdot_to_velocity(context, np.ones(tree.num_positions))).all()


@DIRECTIONS
@pytest.mark.parametrize("kind", MOVING_JOINT_TYPES)
def test_nan_propagates(kind: str, is_reversed: bool) -> None:
    """It propagates to dependent results, without an error, and only within its sample."""
    tree = _one(kind, is_reversed)
    context = random_state(tree, np.random.default_rng(1))
    good, v = context.q.copy(), context.v.copy()
    bad = good.copy()
    # The last positions of some joints do not affect their dynamics.
    bad[0] = np.nan
    batch = functional.body_poses(tree, np.stack([good, bad, good]))
    assert np.isnan(batch[1, 1]).any()
    assert np.isfinite(batch[::2]).all()
    context.q = bad
    assert np.isnan(tree.eval_position_kinematics(context).X_WB[1]).any()
    tree.calc_forward_dynamics(context, np.ones(tree.num_velocities))
    tree.calc_inverse_dynamics(context, np.ones(tree.num_velocities), include_force_elements=True)
    tree.map_velocity_to_qdot(context, v)
    context.q, context.v = good, np.full_like(v, np.nan)
    assert np.isnan(tree.calc_kinetic_energy(context))


# Force elements ---------------------------------------------------------------------------------------------


def _slider(add: Callable[[mbt.MultibodyTree, mbt.RigidBody], Any]) -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, body, None, axis=[1, 0, 0])
    add(tree, body)
    tree.finalize()
    return tree


def _spring(tree: mbt.MultibodyTree, body: mbt.RigidBody) -> None:
    point = [0.1, 0.2, 0.3]
    tree.add_force_element(mbt.LinearSpringDamper(tree.world_body, point, body, point, 0.5, 10.0, 1.0))


def _tilted_bushing(tree: mbt.MultibodyTree, body: mbt.RigidBody) -> None:
    """A bushing whose frames are pitched by a quarter turn, wherever the body is."""
    frame = tree.add_frame(mbt.FixedOffsetFrame("mount", body, mbt.math.make_pose(rpy=[0.3, np.pi / 2, 0])))
    tree.add_force_element(
        mbt.LinearBushingRollPitchYaw(tree.world_frame, frame, np.ones(3), np.ones(3), np.ones(3), np.ones(3))
    )


# Element -> maker, and a singular position: a spring where its ends meet, this bushing anywhere.
SINGULAR = {"spring": (_spring, 0.0), "bushing": (_tilted_bushing, 0.3)}
FORCES: dict[str, Callable[[mbt.MultibodyTree, mbt.Context], Any]] = {
    "calc_force_elements_contribution": lambda tree, context: tree.calc_force_elements_contribution(
        context, mbt.MultibodyForces(tree)
    ),
    "calc_inverse_dynamics": lambda tree, context: tree.calc_inverse_dynamics(
        context, [0.0], include_force_elements=True
    ),
    "calc_forward_dynamics": lambda tree, context: tree.calc_forward_dynamics(context),
    "inverse_dynamics": lambda tree, context: functional.inverse_dynamics(tree, context.q, context.v, [0.0]),
    "forward_dynamics": lambda tree, context: functional.forward_dynamics(tree, context.q, context.v, [0.0]),
}


@pytest.mark.parametrize("call", FORCES)
@pytest.mark.parametrize("name", SINGULAR)
def test_singular_force(name: str, call: str) -> None:
    make, position = SINGULAR[name]
    tree = _slider(make)
    context = tree.create_default_context()
    context.q, context.v = [position], [1.0]
    with pytest.raises(mbt.SingularityError) as caught:
        FORCES[call](tree, context)
    # The message names the element, and its two ends.
    assert tree.force_elements[0].name in str(caught.value)


def test_singular_force_in_a_batch() -> None:
    tree = _slider(_spring)
    q = np.array([[0.3], [0.0], [0.7]])
    v, zero = np.ones((3, 1)), np.zeros((3, 1))
    for result in (
        functional.inverse_dynamics(tree, q, v, zero),
        functional.forward_dynamics(tree, q, v, zero),
    ):
        np.testing.assert_array_equal(np.isnan(result).ravel(), [False, True, False])


@pytest.mark.parametrize("call", FORCES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_bad_sensor_is_no_singularity(value: float, call: str) -> None:
    tree = _slider(_spring)
    context = tree.create_default_context()
    context.q, context.v = [value], [1.0]
    FORCES[call](tree, context)


@pytest.mark.parametrize("kind", MOVING_JOINT_TYPES)
def test_singular_states_are_rare(kind: str) -> None:
    """No error where nothing is singular: many random states."""
    tree = _one(kind)
    rng = np.random.default_rng(2)
    context = tree.create_default_context()
    for _ in range(20):
        context.q = random_positions(tree.joints[0], rng)
        vdot = tree.calc_forward_dynamics(context)
        assert np.isfinite(vdot).all()
        assert np.isfinite(tree.map_velocity_to_qdot(context, vdot)).all()
