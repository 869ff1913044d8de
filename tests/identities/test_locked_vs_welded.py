"""A locked joint acts as a weld: for accelerations, for reactions, and for a branch without mass."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.joint_types import MOVING_JOINT_TYPES, add_joint_of_type, add_random_body, random_state

CASES = pytest.mark.parametrize(
    ("kind", "is_reversed"),
    [
        pytest.param(kind, is_reversed, id=f"{kind} {'reversed' if is_reversed else 'forward'}")
        for kind in MOVING_JOINT_TYPES
        for is_reversed in (False, True)
    ],
)


def _tree(kind: str, is_reversed: bool, X_FM: np.ndarray | None = None) -> mbt.MultibodyTree:
    """World, a hinge, a body, the joint (given X_FM, a weld), a body, a slider, a body; and a free body."""
    rng = np.random.default_rng(5)
    tree = mbt.MultibodyTree()
    bodies = [tree.world_body] + [add_random_body(tree, rng, f"body{i}") for i in range(4)]
    add_joint_of_type(tree, "revolute", "hinge", bodies[0], bodies[1], rng, is_damped=True)
    add_joint_of_type(tree, "prismatic", "slider", bodies[2], bodies[3], rng, is_damped=True)
    if X_FM is None:
        add_joint_of_type(
            tree, kind, "joint", bodies[1], bodies[2], rng, is_reversed=is_reversed, is_damped=True
        )
    else:
        model = _tree(kind, is_reversed)
        joint = model.get_joint_by_name("joint")
        X_PF = joint.frame_on_parent.get_fixed_pose_in_body_frame()
        X_BM = joint.frame_on_child.get_fixed_pose_in_body_frame()
        parent, child = bodies[2:0:-1] if is_reversed else bodies[1:3]
        tree.add_joint(mbt.WeldJoint, "joint", parent, X_PF, child, X_BM, X_FM=X_FM)
    tree.add_force_element(mbt.UniformGravityFieldElement([1.0, 2.0, -9.0]))
    tree.add_force_element(
        mbt.LinearSpringDamper(bodies[3], [0.1, 0.2, 0.3], bodies[4], [0.3, 0.2, 0.1], 0.5, 20.0, 2.0)
    )
    tree.finalize()
    return tree


@CASES
def test_same_motion(kind: str, is_reversed: bool) -> None:
    tree = _tree(kind, is_reversed)
    locked = random_state(tree, np.random.default_rng(6))
    joint = tree.get_joint_by_name("joint")
    joint.lock(locked)
    X_FM = joint.frame_on_child.calc_pose(locked, joint.frame_on_parent)
    welded_tree = _tree(kind, is_reversed, X_FM)
    welded = welded_tree.create_default_context()
    others = [(tree.get_joint_by_name(j.name), j) for j in welded_tree.joints if j.num_velocities]
    rng = np.random.default_rng(7)
    tau, welded_tau = rng.normal(size=tree.num_velocities), np.zeros(welded_tree.num_velocities)
    for one, other in others:
        other.set_positions(welded, one.get_positions(locked))
        other.set_velocities(welded, one.get_velocities(locked))
        other.get_mutable_generalized_forces_from_array(welded_tau)[:] = (
            one.get_generalized_forces_from_array(tau)
        )
    locked.applied_forces.generalized_forces[:] = tau
    welded.applied_forces.generalized_forces[:] = welded_tau
    vdot = tree.calc_forward_dynamics(locked)
    welded_vdot = welded_tree.calc_forward_dynamics(welded)
    np.testing.assert_array_equal(joint.get_accelerations_from_array(vdot), 0.0)
    reactions, welded_reactions = (
        t.calc_reaction_forces(context) for t, context in ((tree, locked), (welded_tree, welded))
    )
    for one, other in others:
        np.testing.assert_allclose(
            one.get_accelerations_from_array(vdot),
            other.get_accelerations_from_array(welded_vdot),
            rtol=1e-10,
            atol=1e-10,
        )
    for joint in tree.joints:
        other = welded_tree.get_joint_by_name(joint.name)
        np.testing.assert_allclose(
            reactions[joint.index], welded_reactions[other.index], rtol=1e-9, atol=1e-9, err_msg=joint.name
        )
    for body in tree.bodies:
        np.testing.assert_allclose(
            body.eval_spatial_acceleration_in_world(locked),
            welded_tree.get_body_by_name(body.name).eval_spatial_acceleration_in_world(welded),
            atol=1e-9,
            err_msg=body.name,
        )
    energies = [
        (t.calc_kinetic_energy(c), t.calc_potential_energy(c), t.calc_non_conservative_power(c))
        for t, c in ((tree, locked), (welded_tree, welded))
    ]
    np.testing.assert_allclose(*energies, rtol=1e-12)


@CASES
def test_locked_joint_may_hold_nothing(kind: str, is_reversed: bool) -> None:
    """Where nothing moves, no mass is needed; unlocked, the lack of mass is an error again."""
    rng = np.random.default_rng(0)
    tree = mbt.MultibodyTree()
    heavy = add_random_body(tree, rng, "heavy")
    ghost = tree.add_body(mbt.RigidBody("ghost", mbt.SpatialInertia(0.0, np.zeros(3), np.zeros((3, 3)))))
    add_joint_of_type(tree, "revolute", "shoulder", tree.world_body, heavy, rng)
    wrist = add_joint_of_type(tree, kind, "wrist", heavy, ghost, rng, is_reversed=is_reversed)
    tree.finalize()
    context = random_state(tree, rng)
    with pytest.raises(mbt.SingularityError, match="wrist"):
        tree.calc_forward_dynamics(context)
    wrist.lock(context)
    assert np.isfinite(tree.calc_forward_dynamics(context)).all()
    wrist.unlock(context)
    with pytest.raises(mbt.SingularityError, match="wrist"):
        tree.calc_forward_dynamics(context)
