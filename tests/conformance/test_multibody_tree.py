"""The reference of MultibodyTree: each member is called, and its meaning checked."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import numpy as np
import pytest

import mbt
from mbt.math import inverse_pose, make_pose

MASS, LENGTH, DAMPING, G = 2.0, 0.5, 0.3, 9.81
POINT_MASS = mbt.SpatialInertia.point_mass(MASS, [0.0, 0.0, -LENGTH])
BALL = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)


@pytest.fixture
def pendulum() -> SimpleNamespace:
    """A point mass on a hinge about y; q = 0 is straight down. Beside it a free ball."""
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", POINT_MASS))
    hinge = tree.add_joint(
        mbt.RevoluteJoint, "hinge", tree.world_body, None, rod, None, axis=[0, 1, 0], damping=DAMPING
    )
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", rod, make_pose([0.0, 0.0, -LENGTH])))
    gravity = tree.add_force_element(mbt.UniformGravityFieldElement([0.0, 0.0, -G]))
    ball = tree.add_body(mbt.RigidBody("ball", BALL))
    tree.finalize()
    context = tree.create_default_context()
    hinge.set_angle(context, 0.7).set_angular_rate(context, 1.1)
    ball.inboard_joint.set_quaternion(context, [0.6, 0.0, 0.8, 0.0])
    return SimpleNamespace(
        tree=tree, rod=rod, hinge=hinge, tip=tip, gravity=gravity, ball=ball, context=context
    )


def test_a_new_tree_holds_world_only() -> None:
    tree = mbt.MultibodyTree()
    assert tree.bodies == (tree.world_body,)
    assert tree.frames == (tree.world_frame,)
    assert tree.world_frame is tree.world_body.body_frame
    assert (tree.num_bodies, tree.num_frames) == (1, 1)
    for elements in (tree.joints, tree.mobilizers, tree.force_elements, tree.joint_actuators):
        assert not elements


def test_counts(pendulum: SimpleNamespace) -> None:
    tree = pendulum.tree
    assert (tree.num_bodies, tree.num_frames, tree.num_joints) == (3, 4, 2)
    assert tree.num_mobilizers == tree.num_bodies - 1
    assert tree.num_force_elements == 1


def test_sizes(pendulum: SimpleNamespace) -> None:
    tree = pendulum.tree
    assert (tree.num_positions, tree.num_velocities, tree.num_states) == (8, 7, 15)
    assert tree.tree_height == 2
    alone = mbt.MultibodyTree()
    alone.finalize()
    assert alone.tree_height == 1


def test_elements_by_index(pendulum: SimpleNamespace) -> None:
    tree = pendulum.tree
    assert tree.get_body(mbt.BodyIndex(1)) is pendulum.rod
    assert tree.get_frame(mbt.FrameIndex(2)) is pendulum.tip
    assert tree.get_mobilizer(mbt.MobilizerIndex(0)) is pendulum.hinge.mobilizer
    assert pendulum.rod.node_index == mbt.BodyNodeIndex(1)
    for get in (tree.get_body, tree.get_frame, tree.get_mobilizer):
        for wrong in (-1, 4, 10**20):
            with pytest.raises(mbt.ElementIndexError):
                get(wrong)


def test_finalize() -> None:
    tree = mbt.MultibodyTree()
    bodies = [tree.add_body(mbt.RigidBody(name, BALL)) for name in "abc"]
    # c hangs on World, a on c, and b floats.
    tree.add_joint(mbt.WeldJoint, "j0", tree.world_body, None, bodies[2], None)
    tree.add_joint(mbt.WeldJoint, "j1", bodies[2], None, bodies[0], None)
    assert not tree.topology_is_valid
    tree.finalize()
    assert tree.topology_is_valid
    assert tree.topology.body == (0, 3, 1, 2)
    assert tree.topology.parent == (-1, 0, 1, 0)
    with pytest.raises(mbt.AlreadyFinalizedError):
        tree.finalize()
    body, frame = mbt.RigidBody("d", BALL), tree.bodies[1].body_frame
    late_frame = mbt.FixedOffsetFrame("f", tree.world_body)
    for add, *arguments in (
        (tree.add_body, body),
        (tree.add_body, mbt.RigidBody, BALL),
        (tree.add_frame, late_frame),
        (tree.add_frame, mbt.FixedOffsetFrame, tree.world_body, np.eye(4)),
        (tree.add_mobilizer, mbt.WeldMobilizer(tree.world_frame, frame, np.eye(4))),
        (tree.add_mobilizer, mbt.WeldMobilizer, tree.world_frame, frame, np.eye(4)),
        (tree.add_joint, mbt.WeldJoint, "j2", tree.world_body, None, bodies[1], None),
        (tree.add_force_element, mbt.UniformGravityFieldElement()),
        (tree.add_force_element, mbt.UniformGravityFieldElement, [0, 0, -1]),
    ):
        with pytest.raises(mbt.AlreadyFinalizedError):
            add(*arguments)
    assert (tree.num_bodies, tree.num_frames, tree.num_force_elements) == (4, 4, 0)


def test_contexts(pendulum: SimpleNamespace) -> None:
    tree, context = pendulum.tree, pendulum.context
    fresh = tree.create_default_context()
    np.testing.assert_array_equal(fresh.q, [0, 1, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(mbt.Context(tree).q, fresh.q)
    pendulum.rod.set_mass(context, 5.0)
    context.time = 3.0
    tree.set_default_context(context)
    np.testing.assert_array_equal(context.q, fresh.q)
    assert not context.v.any()
    assert pendulum.rod.get_mass(context) == MASS
    assert context.time == 0.0
    other = mbt.MultibodyTree()
    with pytest.raises(mbt.NotFinalizedError):
        other.create_default_context()
    other.finalize()
    for call in (other.set_default_context, other.calc_potential_energy, other.eval_position_kinematics):
        with pytest.raises(mbt.ContextMismatchError):
            call(context)


def test_clones_and_variants(pendulum: SimpleNamespace) -> None:
    tree, context = pendulum.tree, pendulum.context
    twin = tree.clone()
    for element in (pendulum.rod, pendulum.tip, pendulum.hinge, pendulum.hinge.mobilizer, pendulum.gravity):
        variant = twin.get_variant(element)
        assert variant is not element
        assert variant.parent_tree is twin
        assert (type(variant), variant.name, variant.index) == (type(element), element.name, element.index)
        assert tree.get_variant(variant) is element
    assert twin.topology == tree.topology
    twin_context = twin.create_default_context()
    twin_context.q, twin_context.v = context.q, context.v
    np.testing.assert_array_equal(
        twin.calc_forward_dynamics(twin_context), tree.calc_forward_dynamics(context)
    )
    with pytest.raises(mbt.ContextMismatchError):
        twin.calc_forward_dynamics(context)
    stranger = mbt.MultibodyTree()
    stranger.finalize()
    with pytest.raises(mbt.ForeignElementError):
        twin.get_variant(stranger.world_body)


def test_copies(pendulum: SimpleNamespace) -> None:
    twin = copy.copy(pendulum.tree)
    assert twin.bodies[1].parent_tree is twin
    assert pendulum.rod.parent_tree is pendulum.tree


def test_add_elements() -> None:
    tree = mbt.MultibodyTree()
    G_SP_E = np.diag([0.04, 0.05, 0.04])
    body = mbt.RigidBody("body", mbt.SpatialInertia(2.0, [0.0, 0.0, 0.1], G_SP_E))
    assert tree.add_body(body) is body
    assert body.body_frame.name == "body"
    assert body.default_mass == 2.0
    frame = mbt.FixedOffsetFrame("frame", body, make_pose([1, 0, 0]))
    assert tree.add_frame(frame) is frame
    mobilizer = mbt.RevoluteMobilizer(tree.world_frame, frame, [0, 0, 1])
    assert tree.add_mobilizer(mobilizer) is mobilizer
    gravity = mbt.UniformGravityFieldElement()
    assert tree.add_force_element(gravity) is gravity
    assert (tree.bodies[1], tree.frames[2]) == (body, frame)
    assert (tree.mobilizers, tree.force_elements) == ((mobilizer,), (gravity,))
    for add, element in (
        (tree.add_body, body),
        (tree.add_frame, frame),
        (tree.add_mobilizer, mobilizer),
        (tree.add_force_element, gravity),
    ):
        with pytest.raises(mbt.ForeignElementError, match="already"):
            add(element)
        with pytest.raises(mbt.ArgumentTypeError):
            add(None)
    with pytest.raises(mbt.TopologyError, match="two different frames"):
        mbt.RevoluteMobilizer(frame, frame, [0, 0, 1])
    with pytest.raises(mbt.TopologyError, match="connects already"):
        tree.add_mobilizer(mbt.RevoluteMobilizer(tree.world_frame, body.body_frame, [1, 0, 0]))


def test_add_by_class() -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody, BALL)
    frame = tree.add_frame(mbt.FixedOffsetFrame, body, make_pose([1, 0, 0]))
    mobilizer = tree.add_mobilizer(mbt.RevoluteMobilizer, tree.world_frame, frame, [0, 0, 1])
    gravity = tree.add_force_element(mbt.UniformGravityFieldElement, [0, 0, -1])
    assert [type(e) for e in (body, frame, mobilizer, gravity)] == [
        mbt.RigidBody,
        mbt.FixedOffsetFrame,
        mbt.RevoluteMobilizer,
        mbt.UniformGravityFieldElement,
    ]
    names = [body.name, frame.name, mobilizer.name, gravity.name]
    assert all(names)
    assert all(e.parent_tree is tree for e in (body, frame, mobilizer, gravity))


def test_add_joint() -> None:
    tree = mbt.MultibodyTree()
    a, b = (tree.add_body(mbt.RigidBody(name, BALL)) for name in "ab")
    X_BM = make_pose([0.1, 0.2, 0.3], rpy=[0.1, 0.2, 0.3])
    elbow = tree.add_joint(mbt.RevoluteJoint, "elbow", a, None, b, X_BM, axis=[0, 0, 3])
    assert elbow.frame_on_parent is a.body_frame
    assert elbow.frame_on_child is not b.body_frame
    np.testing.assert_array_equal(elbow.frame_on_child.get_fixed_pose_in_body_frame(), X_BM)
    np.testing.assert_array_equal(elbow.revolute_axis, [0, 0, 1])
    # An identity is a pose like any other.
    shoulder = tree.add_joint(mbt.RevoluteJoint, "shoulder", tree.world_body, np.eye(4), a, None, [1, 0, 0])
    assert shoulder.frame_on_parent is not tree.world_frame
    with pytest.raises(mbt.TopologyError, match="elbow"):
        tree.add_joint(mbt.RevoluteJoint("again", b.body_frame, a.body_frame, [1, 0, 0]))
    with pytest.raises(mbt.TopologyError):
        tree.add_joint(mbt.WeldJoint, "self", a, None, a, None)


def test_position_kinematics(pendulum: SimpleNamespace) -> None:
    tree, context = pendulum.tree, pendulum.context
    pc = tree.calc_position_kinematics_cache(context)
    b = pendulum.rod.node_index
    R_WB = np.array([[np.cos(0.7), 0, np.sin(0.7)], [0, 1, 0], [-np.sin(0.7), 0, np.cos(0.7)]])
    np.testing.assert_allclose(pc.X_WB[b, :3, :3], R_WB, atol=1e-15)
    np.testing.assert_array_equal(pc.X_BF[pendulum.tip.index, :3, 3], [0, 0, -LENGTH])
    np.testing.assert_array_equal(pc.H_FM[0], [0, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(pc.H_PB_W[0], [0, 1, 0, 0, 0, 0])
    np.testing.assert_allclose(pc.com_W[b], R_WB @ [0, 0, -LENGTH], atol=1e-15)
    np.testing.assert_allclose(pc.M_Bo_W[b][1, 1], MASS * LENGTH**2)
    np.testing.assert_array_equal(tree.eval_position_kinematics(context).X_WB, pc.X_WB)
    assert tree.eval_position_kinematics(context) is tree.eval_position_kinematics(context)


def test_velocity_kinematics(pendulum: SimpleNamespace) -> None:
    tree, context = pendulum.tree, pendulum.context
    pc = tree.calc_position_kinematics_cache(context)
    vc = tree.calc_velocity_kinematics_cache(context, pc)
    np.testing.assert_allclose(vc.V_WB[pendulum.rod.node_index], [0, 1.1, 0, 0, 0, 0])
    np.testing.assert_array_equal(tree.eval_velocity_kinematics(context).V_WB, vc.V_WB)
    # A cache is in sync if it was computed since the Context's last write, by it or a clone: not by values.
    tree.calc_velocity_kinematics_cache(context.clone(), pc)
    equal = tree.create_default_context()
    equal.q, equal.v = context.q, context.v
    with pytest.raises(mbt.StaleCacheError, match="another Context"):
        tree.calc_velocity_kinematics_cache(equal, pc)
    pendulum.hinge.set_angle(context, 0.8)
    with pytest.raises(mbt.StaleCacheError):
        tree.calc_velocity_kinematics_cache(context, pc)


def test_velocity_in_the_parent() -> None:
    # A slide along x of a link that a hinge about z has turned: V_PB is in P, V_WB in World.
    tree = mbt.MultibodyTree()
    turned, sliding = (tree.add_body(mbt.RigidBody(name, BALL)) for name in ("turned", "sliding"))
    tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, turned, None, axis=[0, 0, 1])
    tree.add_joint(mbt.PrismaticJoint, "slide", turned, None, sliding, None, axis=[1, 0, 0])
    tree.finalize()
    context = tree.create_default_context()
    context.q, context.v = [0.7, 2.0], [3.0, 5.0]
    vc = tree.calc_velocity_kinematics_cache(context)
    b = sliding.node_index
    along, across = np.array([np.cos(0.7), np.sin(0.7), 0]), np.array([-np.sin(0.7), np.cos(0.7), 0])
    np.testing.assert_allclose(vc.V_PB[b], [0, 0, 0, 5, 0, 0], atol=1e-15)
    np.testing.assert_allclose(vc.V_WB[b], [0, 0, 3, *(5 * along + 3 * 2 * across)], atol=1e-14)


def test_acceleration_kinematics(pendulum: SimpleNamespace) -> None:
    tree, context = pendulum.tree, pendulum.context
    vdot = np.array([2.0, 0, 0, 0, 0.1, 0.2, 0.3])
    ac = tree.calc_acceleration_kinematics_cache(context, vdot)
    A_WB = tree.calc_spatial_accelerations_from_vdot(context, vdot)
    np.testing.assert_array_equal(ac.A_WB, A_WB)
    np.testing.assert_array_equal(ac.vdot, vdot)
    np.testing.assert_allclose(pendulum.rod.get_from_spatial_acceleration_array(A_WB), [0, 2, 0, 0, 0, 0])
    np.testing.assert_allclose(pendulum.ball.get_from_spatial_acceleration_array(A_WB)[3:], [0.1, 0.2, 0.3])
    # The documented output: filled and returned; values read from it earlier stay as they were.
    before = ac.A_WB
    assert tree.calc_acceleration_kinematics_cache(context, 2.0 * vdot, ac=ac) is ac
    np.testing.assert_array_equal(ac.A_WB, 2.0 * A_WB)
    np.testing.assert_array_equal(before, A_WB)
    for wrong in (tree.eval_acceleration_kinematics(context), tree.eval_position_kinematics(context)):
        with pytest.raises(mbt.MbtError, match="ac: expected a AccelerationKinematicsCache"):
            tree.calc_acceleration_kinematics_cache(context, vdot, ac=wrong)


def test_inverse_dynamics(pendulum: SimpleNamespace) -> None:
    tree, context, b = pendulum.tree, pendulum.context, pendulum.rod.node_index
    vdot = np.array([2.0, 0, 0, 0, 0, 0, 0])
    # Gravity does not act unless passed.
    tau = tree.calc_inverse_dynamics(context, vdot)
    np.testing.assert_allclose(tau[0], MASS * LENGTH**2 * 2.0)
    forces = mbt.MultibodyForces(tree)
    forces.generalized_forces[0] = 0.25
    forces.body_forces[b] = [0.0, 0.5, 0.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(tree.calc_inverse_dynamics(context, vdot, forces)[0], tau[0] - 0.75)
    # The reaction at the hinge of a swinging point mass depends only on the motion; outputs in place.
    A_WB = np.full((tree.num_bodies, 6), np.nan)
    f_W = MASS * (-(1.1**2) * LENGTH * np.array([-np.sin(0.7), 0, -np.cos(0.7)]))
    f_W += MASS * 2.0 * LENGTH * np.array([-np.cos(0.7), 0, np.sin(0.7)])
    forces.set_zero()
    out = tree.calc_inverse_dynamics(
        context,
        vdot,
        forces,
        A_WB_array=A_WB,
        F_BMo_W_array=forces.body_forces,
        out=forces.generalized_forces,
    )
    np.testing.assert_allclose(out, tau)
    np.testing.assert_allclose(A_WB[b], [0, 2, 0, 0, 0, 0])
    np.testing.assert_allclose(forces.body_forces[b], [0, tau[0], 0, *f_W], atol=1e-14)


def test_force_elements_contribution(pendulum: SimpleNamespace) -> None:
    tree, context = pendulum.tree, pendulum.context
    forces = mbt.MultibodyForces(tree)
    forces.generalized_forces[:] = np.nan
    tree.calc_force_elements_contribution(context, forces)
    p_W = LENGTH * np.array([-np.sin(0.7), 0, -np.cos(0.7)])
    weight = np.array([0, 0, -MASS * G])
    np.testing.assert_allclose(
        forces.body_forces[pendulum.rod.node_index], [*np.cross(p_W, weight), *weight], atol=1e-14
    )
    np.testing.assert_allclose(forces.generalized_forces, [-DAMPING * 1.1, 0, 0, 0, 0, 0, 0])
    # With the caller's caches, which must be of the present state.
    pc = tree.calc_position_kinematics_cache(context)
    vc = tree.calc_velocity_kinematics_cache(context, pc)
    again = tree.calc_force_elements_contribution(context, mbt.MultibodyForces(tree), pc=pc, vc=vc)
    np.testing.assert_array_equal(again.body_forces, forces.body_forces)
    np.testing.assert_array_equal(again.generalized_forces, forces.generalized_forces)
    context.v = 2 * context.v
    before = forces.body_forces.copy()
    with pytest.raises(mbt.StaleCacheError, match="vc"):
        tree.calc_force_elements_contribution(context, forces, pc=pc, vc=vc)
    context.q = context.q + 0.1
    with pytest.raises(mbt.StaleCacheError, match="pc"):
        tree.calc_force_elements_contribution(context, forces, pc=pc)
    np.testing.assert_array_equal(forces.body_forces, before)


def test_energy(pendulum: SimpleNamespace) -> None:
    tree, context = pendulum.tree, pendulum.context
    np.testing.assert_allclose(tree.calc_potential_energy(context), -MASS * G * LENGTH * np.cos(0.7))
    np.testing.assert_allclose(tree.calc_conservative_power(context), -MASS * G * LENGTH * np.sin(0.7) * 1.1)


def test_mass_matrix_and_bias_term(pendulum: SimpleNamespace) -> None:
    tree, context = pendulum.tree, pendulum.context
    M = tree.calc_mass_matrix_via_inverse_dynamics(context)
    inertia = 0.4 * 1.0 * 0.1**2
    np.testing.assert_allclose(M, np.diag([MASS * LENGTH**2, *[inertia] * 3, 1, 1, 1]), atol=1e-14)
    np.testing.assert_array_equal(context.v[0], 1.1)
    np.testing.assert_allclose(tree.calc_bias_term(context), 0.0, atol=1e-14)


def test_bias_term() -> None:
    # Two point masses on rods in a plane. Gravity and damping do not enter C v.
    tree = mbt.MultibodyTree()
    upper, lower = (tree.add_body(mbt.RigidBody(name, POINT_MASS)) for name in ("upper", "lower"))
    X_UL = make_pose([0.0, 0.0, -LENGTH])
    for name, parent, X, child in (("h0", tree.world_body, None, upper), ("h1", upper, X_UL, lower)):
        tree.add_joint(mbt.RevoluteJoint, name, parent, X, child, None, axis=[0, 1, 0], damping=DAMPING)
    tree.add_force_element(mbt.UniformGravityFieldElement([0.0, 0.0, -G]))
    tree.finalize()
    context = tree.create_default_context()
    context.q, context.v = [0.7, 0.4], [1.1, -0.6]
    (v0, v1), h = context.v, MASS * LENGTH**2 * np.sin(0.4)
    np.testing.assert_allclose(tree.calc_bias_term(context), [-h * (2 * v0 * v1 + v1**2), h * v0**2])


def test_relative_poses(pendulum: SimpleNamespace) -> None:
    tree, context = pendulum.tree, pendulum.context
    X_WT = tree.calc_relative_transform(context, tree.world_frame, pendulum.tip)
    X = make_pose(p=LENGTH * np.array([-np.sin(0.7), 0, -np.cos(0.7)]), rpy=[0.0, 0.7, 0.0])
    np.testing.assert_allclose(X_WT, X, atol=1e-15)
    p_TQ = np.array([[0.1, 0.0], [0.2, 0.0], [0.3, 0.0]])
    p_WQ = tree.calc_points_positions(context, pendulum.tip, p_TQ, tree.world_frame)
    np.testing.assert_allclose(p_WQ, X[:3, :3] @ p_TQ + X[:3, 3:], atol=1e-15)
    X_TW = tree.calc_relative_transform(context, pendulum.tip, tree.world_frame)
    np.testing.assert_allclose(X_TW, inverse_pose(X_WT), atol=1e-15)
    for wrong in (np.zeros((2, 3)), np.zeros(4)):
        with pytest.raises(mbt.ShapeError):
            tree.calc_points_positions(context, pendulum.tip, wrong, tree.world_frame)
    with pytest.raises(mbt.ForeignElementError):
        tree.calc_relative_transform(context, mbt.MultibodyTree().world_frame, pendulum.tip)


def test_rates_of_positions(pendulum: SimpleNamespace) -> None:
    tree, context = pendulum.tree, pendulum.context
    v = np.array([1.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    qdot = tree.map_velocity_to_qdot(context, v)
    # A rotation by w dt about World's axes.
    w, x, y, z = 0.6, 0.0, 0.8, 0.0
    a, b, c = v[1:4]
    quaternion_rate = [
        -x * a - y * b - z * c,
        w * a + z * b - y * c,
        w * b - z * a + x * c,
        w * c + y * a - x * b,
    ]
    np.testing.assert_allclose(qdot, [1.1, *(0.5 * np.array(quaternion_rate)), 0.4, 0.5, 0.6], atol=1e-15)
    np.testing.assert_allclose(tree.map_qdot_to_velocity(context, qdot), v, atol=1e-15)
    with pytest.raises(mbt.ShapeError):
        tree.map_velocity_to_qdot(context, qdot)


def test_other_scalars() -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
    tree.finalize()
    for clone, name in (
        (tree.to_autodiff(), "autodiff"),
        (tree.to_symbolic(), "sympy"),
        (tree.clone_to_scalar("mpmath"), "mpmath"),
    ):
        assert clone.scalar_type.name == name
        assert clone.get_variant(body) is clone.bodies[1]
