"""Calls that read or write a small part of a Context, or of forces, against the calls they abbreviate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from support.case import FEW, get_case


def moving_joints(tree: mbt.MultibodyTree) -> list[Any]:
    return [joint for joint in tree.joints if joint.num_velocities]


@pytest.mark.parametrize("name", FEW)
def test_parts_of_positions_and_velocities(name: str) -> None:
    """Lists, tuples, integers, strided and float32 arrays are accepted for a part as for a whole array."""
    tree = get_case(name).tree
    context, whole = tree.create_default_context(), tree.create_default_context()
    rng = np.random.default_rng(0)
    for joint in moving_joints(tree):
        q0, v0 = joint.position_start, joint.velocity_start
        q1, v1 = q0 + joint.num_positions, v0 + joint.num_velocities
        before = context.q, context.v, context.q.copy(), context.v.copy()
        for kind in (list, tuple, np.float32, lambda x: np.stack([x, x], 1)[:, 0], lambda x: np.rint(x) + 1):
            q, v = rng.normal(size=q1 - q0), rng.normal(size=v1 - v0)
            positions, velocities = whole.q.copy(), whole.v.copy()
            positions[q0:q1], velocities[v0:v1] = np.array(kind(q)), np.array(kind(v))
            whole.q, whole.v = positions, velocities
            joint.set_positions(context, kind(q)).set_velocities(context, kind(v))
            np.testing.assert_array_equal(context.q, whole.q)
            np.testing.assert_array_equal(context.v, whole.v)
            np.testing.assert_array_equal(
                tree.eval_body_spatial_velocity_in_world(context, tree.bodies[-1]),
                tree.eval_body_spatial_velocity_in_world(whole, tree.bodies[-1]),
            )
        # What was handed out before is a snapshot.
        np.testing.assert_array_equal(before[0], before[2])
        np.testing.assert_array_equal(before[1], before[3])


@pytest.mark.parametrize("value", [[1.0, 2.0], [], 0.5, "0.5", [[0.5]], None, [1j], np.ma.array([0.5])])
def test_a_part_of_another_kind(value: object) -> None:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    context, joint = tree.create_default_context(), moving_joints(tree)[-1]
    for write in (joint.set_positions, joint.set_velocities):
        with pytest.raises(
            (mbt.ShapeError, mbt.ArgumentTypeError), match=rf"joint '{joint.name}': [qv]: expected"
        ):
            write(context, value)
    assert not context.q.any()
    assert not context.v.any()


def test_a_quaternion_of_zero_changes_nothing() -> None:
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 1, 1, 1)))
    tree.finalize()
    context = tree.create_default_context()
    before = context.q.copy()
    with pytest.raises(mbt.SingularityError, match="zero"):
        box.inboard_mobilizer.set_positions(context, [0.0] * 7)
    np.testing.assert_array_equal(context.q, before)


def test_a_locked_hinge_keeps_still() -> None:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    context, joint = tree.create_default_context(), moving_joints(tree)[-1]
    joint.lock(context)
    for value in (0.5, np.float64(0.5)):
        with pytest.raises(mbt.ArgumentValueError, match="is locked"):
            joint.set_angular_rate(context, value)
    joint.set_angular_rate(context, 0.0).set_angle(context, 0.25)
    assert joint.get_angle(context) == 0.25


def test_parameters_of_one_context_are_its_own() -> None:
    """Each write changes one number, or one row, and no other Context."""
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    context = tree.create_default_context()
    defaults = context._parameter_vector
    joint, body = moving_joints(tree)[-1], tree.bodies[-1]
    joint.set_damping(context, 0.75)
    assert joint.get_damping(context) == 0.75
    body.set_mass(context, 3)
    assert body.get_mass(context) == 3.0
    com = 0.5 * body.calc_center_of_mass_in_body_frame(context)
    body.set_center_of_mass_in_body_frame(context, com)
    np.testing.assert_array_equal(body.calc_center_of_mass_in_body_frame(context), com)
    twin = context.clone()
    before = twin._parameter_vector
    body.set_mass(context, 1.0)
    assert body.get_mass(twin) == 3.0
    assert twin._parameter_vector is before
    np.testing.assert_array_equal(tree.create_default_context()._parameter_vector, defaults)
    assert np.count_nonzero(before != defaults) <= 5
    com[:] = 7.0
    assert body.calc_center_of_mass_in_body_frame(context).max() < 7.0
    context.freeze()
    with pytest.raises(mbt.FrozenContextError, match="mass"):
        body.set_mass(context, 2.0)


@pytest.mark.parametrize("name", FEW)
def test_motion_of_mass_centres_by_its_formula(name: str) -> None:
    """Equal to `np.cross` to the last bit."""
    case = get_case(name)
    tree, context, state = case.tree, case.tree.create_default_context(), case.state()
    context.q, context.v = state.q, np.linspace(-1.0, 1.0, case.tree.num_velocities)
    for body in list(tree.bodies)[1:4]:
        V, A = body.eval_spatial_velocity_in_world(context), body.eval_spatial_acceleration_in_world(context)
        R = body.eval_pose_in_world(context)[:3, :3]
        p = R @ body.calc_center_of_mass_in_body_frame(context)
        np.testing.assert_array_equal(
            body.calc_center_of_mass_translational_velocity_in_world(context), V[3:] + np.cross(V[:3], p)
        )
        np.testing.assert_array_equal(
            body.calc_center_of_mass_translational_acceleration_in_world(context),
            A[3:] + (np.cross(A[:3], p) + np.cross(V[:3], np.cross(V[:3], p))),
        )


@pytest.mark.parametrize("name", FEW)
def test_forces_at_points_by_their_formula(name: str) -> None:
    case = get_case(name)
    tree, context = case.tree, case.tree.create_default_context()
    context.q = case.state().q
    p, F = np.array([0.1, -0.2, 0.3]), np.array([1.0, 2.0, 3.0, -4.0, 5.0, 6.0])
    forces = mbt.MultibodyForces(tree)
    body, frame = tree.bodies[-1], tree.bodies[1].body_frame
    for given in ((p, F), (p.tolist(), F.tolist()), (np.stack([p, p], 1)[:, 0], F.astype(np.float32))):
        forces.set_zero()
        body.add_in_force(context, *given, frame, forces)
        R = frame.calc_pose_in_world(context)[:3, :3]
        wanted = np.concatenate([R @ (F[:3] + np.cross(p, F[3:])), R @ F[3:]])
        np.testing.assert_array_equal(body.get_force_in_world(context, forces), wanted)


def test_names_of_an_edited_tree_are_its_own() -> None:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    first = next(joint.name for joint in moving_joints(tree))
    q = tree.q_from_dict({first: 0.5})
    assert tree.dict_from_q(q)[first] == 0.5
    work = tree.edit()
    tool = work.add_body(mbt.RigidBody("tool", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    work.add_joint(mbt.RevoluteJoint, "tool_joint", work.bodies[1], None, tool, None, [0, 0, 1])
    work.finalize()
    changed = work.q_from_dict({first: 0.5, "tool_joint": 0.25})
    assert work.dict_from_q(changed)["tool_joint"] == 0.25
    assert len(changed) == len(q) + 1
    with pytest.raises(mbt.UnknownNameError):
        tree.q_from_dict({"tool_joint": 0.25})


@pytest.mark.parametrize("name", FEW)
def test_one_random_sample_is_the_first_of_one(name: str) -> None:
    """One state is drawn for all joints at once; samples are drawn joint by joint."""
    tree = get_case(name).tree
    one, many = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(3):
        np.testing.assert_allclose(
            tree.random_positions(one), tree.random_positions(many, (1,))[0], rtol=1e-15, atol=1e-15
        )
