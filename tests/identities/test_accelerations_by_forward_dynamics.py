"""Accelerations of bodies and frames under all forces, their cache, and the reactions of the joints."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import mbt
from support.case import MOVING, get_case
from support.differences import derivative_tolerance, time_derivative
from support.quantities import QUANTITIES, State, assert_close


def loaded(model: str) -> tuple[mbt.MultibodyTree, mbt.Context, State]:
    """A Context with motors and applied forces."""
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    context.actuation = np.linspace(1.0, 2.0, case.tree.num_actuators)
    context.applied_forces.body_forces[1:] = state.body_forces[1:]
    context.applied_forces.generalized_forces[:] = state.tau
    return case.tree, context, state


def frames_of(tree: mbt.MultibodyTree) -> list[tuple[mbt.Frame, mbt.Frame, mbt.Frame]]:
    tool, inner, W = tree.get_frame_by_name("tool"), tree.bodies[1].body_frame, tree.world_frame
    return [
        (tool, W, W),
        (tool, inner, W),
        (inner, tool, tool),
        (tree.get_frame_by_name("wrist"), inner, tool),
    ]


@pytest.mark.parametrize("model", MOVING)
def test_same_as_forward_dynamics(model: str) -> None:
    tree, c, _ = loaded(model)
    cache = tree.eval_acceleration_kinematics(c)
    vdot = tree.calc_forward_dynamics(c)
    np.testing.assert_array_equal(cache.vdot, vdot)
    np.testing.assert_array_equal(cache.A_WB, tree.calc_spatial_accelerations_from_vdot(c, vdot))
    assert tree.eval_acceleration_kinematics(c) is cache
    for body in tree.bodies:
        A_WB = body.eval_spatial_acceleration_in_world(c)
        np.testing.assert_array_equal(A_WB, body.get_from_spatial_acceleration_array(cache.A_WB))
        np.testing.assert_array_equal(A_WB, tree.eval_body_spatial_acceleration_in_world(c, body))
        assert not A_WB.flags.writeable


CHANGES: dict[str, Callable[[mbt.MultibodyTree, mbt.Context], object]] = {
    "q": lambda tree, c: setattr(c, "q", c.q * 1.01),
    "v": lambda tree, c: setattr(c, "v", c.v * 1.01),
    "time": lambda tree, c: setattr(c, "time", 1.0),
    "actuation": lambda tree, c: setattr(c, "actuation", c.actuation + 1.0),
    "mass": lambda tree, c: tree.bodies[-1].set_mass(c, 5.0),
    "body force in place": lambda tree, c: c.applied_forces.body_forces.__setitem__((1, 2), 9.0),
    "generalized force in place": lambda tree, c: c.applied_forces.generalized_forces.__setitem__(0, 9.0),
    "no forces": lambda tree, c: c.applied_forces.set_zero(),
    "lock": lambda tree, c: c._set_locked(0, 1, True),
    "everything": lambda tree, c: tree.set_default_context(c),
}


@pytest.mark.parametrize("what", CHANGES)
def test_cache_follows(what: str) -> None:
    tree, c, _ = loaded("mixed20")
    before = tree.eval_acceleration_kinematics(c)
    kept = before.A_WB.copy(), before.vdot.copy()
    CHANGES[what](tree, c)
    after = tree.eval_acceleration_kinematics(c)
    assert after is not before
    np.testing.assert_array_equal(after.vdot, tree.calc_forward_dynamics(c))
    if what != "time":
        assert not np.array_equal(after.vdot, before.vdot)
    # Arrays that were handed out are unchanged.
    np.testing.assert_array_equal(before.A_WB, kept[0])
    np.testing.assert_array_equal(before.vdot, kept[1])


def test_clone_has_a_cache_of_its_own() -> None:
    tree, c, _ = loaded("mixed20")
    mine = tree.eval_acceleration_kinematics(c)
    other = c.clone()
    np.testing.assert_array_equal(tree.eval_acceleration_kinematics(other).vdot, mine.vdot)
    other.actuation = c.actuation + 1.0
    assert not np.array_equal(tree.eval_acceleration_kinematics(other).vdot, mine.vdot)
    assert tree.eval_acceleration_kinematics(c) is mine


@pytest.mark.parametrize("model", MOVING)
def test_frames_against_differences(model: str) -> None:
    """A_MF is the rate of V_MF seen by an observer on M, also where M moves."""
    tree, c, state = loaded(model)
    vdot = tree.calc_forward_dynamics(c)
    qdot = tree.map_velocity_to_qdot(c, state.v)
    speed = float(np.abs(state.v).sum())
    rate = speed + float(np.abs(vdot).max())
    length = get_case(model).reference.length_scale(state.q)
    tolerance = derivative_tolerance(8 * length * speed, rate)
    moved = tree.create_default_context()

    def at(t: float) -> mbt.Context:
        moved.q = state.q + t * qdot
        moved.v = state.v + t * vdot
        return moved

    for F, M, E in frames_of(tree):
        slope = time_derivative(lambda t, F=F, M=M: F.calc_spatial_velocity(at(t), M, M), rate)
        R_EM = M.calc_rotation_matrix(c, E)
        A_MF_E = F.calc_spatial_acceleration(c, M, E)
        assert np.max(np.abs(A_MF_E - np.concatenate([R_EM @ slope[:3], R_EM @ slope[3:]]))) <= tolerance


@pytest.mark.parametrize("model", MOVING)
def test_relative_accelerations(model: str) -> None:
    """A_M_BF = A_MF - A_MB; its rotational part is the rate in M of w_BF."""
    tree, c, _ = loaded(model)
    F, B = tree.get_frame_by_name("tool"), tree.bodies[1].body_frame
    M, E, W = tree.get_frame_by_name("camera_post"), tree.bodies[-1].body_frame, tree.world_frame
    A_WF, A_WB = F.calc_spatial_acceleration_in_world(c), B.calc_spatial_acceleration_in_world(c)
    scale = 1.0 + float(np.abs(A_WF).max() + np.abs(A_WB).max())
    np.testing.assert_array_equal(A_WF, F.calc_spatial_acceleration(c, W, W))
    assert_close(B.calc_spatial_acceleration_in_world(c), B.body.eval_spatial_acceleration_in_world(c), scale)
    assert_close(F.calc_relative_spatial_acceleration_in_world(c, B), A_WF - A_WB, scale)
    # The camera post does not move: accelerations measured in it equal those in World.
    R_EW = W.calc_rotation_matrix(c, E)
    desired = np.concatenate([R_EW @ (A_WF - A_WB)[:3], R_EW @ (A_WF - A_WB)[3:]])
    assert_close(F.calc_relative_spatial_acceleration(c, B, M, E), desired, 4 * scale)
    assert_close(F.calc_relative_spatial_acceleration(c, F, B, E), np.zeros(6), scale)


@pytest.mark.parametrize("model", MOVING)
def test_center_of_mass(model: str) -> None:
    """m a_cm is the sum of all forces on the bodies, as the reference balances them."""
    tree, c, state = loaded(model)
    reference = get_case(model).reference
    vdot = tree.calc_forward_dynamics(c)
    force = reference.inertial_forces(state.q, state.v, vdot)[:, 3:].sum(axis=0)
    a = tree.calc_center_of_mass_translational_acceleration_in_world(c)
    scale = QUANTITIES["forward_dynamics"].scale(reference, state)
    assert_close(reference.total_mass() * a, force, scale + reference.force_scale(state.q, state.v, vdot))


@pytest.mark.parametrize("model", MOVING)
def test_free_bodies(model: str) -> None:
    """Every body alone: reactions of its joints + gravity + applied force = its inertial force.

    The reactions are those documented: on the child as declared, at Jc in Jc; from them the
    forces on the parent follow. The tree's own direction does not matter.
    """
    tree, c, state = loaded(model)
    reference = get_case(model).reference
    vdot = tree.calc_forward_dynamics(c)
    reactions = tree.calc_reaction_forces(c)
    assert reactions.shape == (tree.num_joints, 6)
    p_cm = reference.com_positions(state.q)
    X_WB = reference.poses(state.q)
    total = np.zeros((tree.num_bodies, 6))
    for joint, F_Jc in zip(tree.joints, reactions, strict=True):
        X_WJc = joint.frame_on_child.calc_pose_in_world(c)
        t, f = X_WJc[:3, :3] @ F_Jc[:3], X_WJc[:3, :3] @ F_Jc[3:]
        for sign, body in ((1.0, joint.child_body), (-1.0, joint.parent_body)):
            i = body.node_index
            total[i] += sign * np.concatenate([t + np.cross(X_WJc[:3, 3] - p_cm[i], f), f])
    applied = reference.gravity_body_forces(state.q)
    applied[1:] += state.body_forces[1:]
    for i in range(1, tree.num_bodies):
        t, f = applied[i, :3], applied[i, 3:]
        total[i] += [*(t + np.cross(X_WB[i, :3, 3] - p_cm[i], f)), *f]
    desired = reference.inertial_forces(state.q, state.v, vdot)
    scale = reference.force_scale(state.q, state.v, vdot)
    scale += reference.length_scale(state.q) * float(np.abs(applied).sum() + np.abs(state.tau).sum())
    assert_close(total[1:], desired[1:], scale, factor=64.0)


@pytest.mark.parametrize("model", MOVING)
def test_share_of_the_joint(model: str) -> None:
    """Along its axis a one-dof joint transmits tau + damping + motor - rotor inertia x acceleration."""
    tree, c, state = loaded(model)
    reference = get_case(model).reference
    vdot = tree.calc_forward_dynamics(c)
    reactions = tree.calc_reaction_forces(c)
    tau = state.tau + reference.damping_forces(state.v) - reference.reflected_inertia * vdot
    for u, actuator in zip(c.actuation, tree.joint_actuators, strict=True):
        tau[actuator.joint.velocity_start] += u
    scale = reference.force_scale(state.q, state.v, vdot) + float(np.abs(state.body_forces).sum())
    for joint, F in zip(tree.joints, reactions, strict=True):
        if isinstance(joint, mbt.RevoluteJoint):
            share = F[:3] @ joint.revolute_axis
        elif isinstance(joint, mbt.PrismaticJoint):
            share = F[3:] @ joint.translation_axis
        else:
            continue
        assert_close(share, tau[joint.velocity_start], scale * reference.length_scale(state.q), factor=64.0)


def test_massless_tip() -> None:
    """Where forward dynamics has no solution, accelerations raise the same error, which names the joint."""
    tree = mbt.MultibodyTree()
    tip = tree.add_body(mbt.RigidBody("tip", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, tip, None, axis=[0, 0, 1])
    tree.finalize()
    c = tree.create_default_context()
    out = np.full((1, 6), 7.0)
    for call in (
        lambda: tree.eval_acceleration_kinematics(c),
        lambda: tip.eval_spatial_acceleration_in_world(c),
        lambda: tip.body_frame.calc_spatial_acceleration_in_world(c),
        lambda: tree.calc_reaction_forces(c, out=out),
    ):
        with pytest.raises(mbt.SingularityError, match="pin"):
            call()
    assert (out == 7.0).all()
