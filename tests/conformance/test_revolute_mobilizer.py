"""The reference of RevoluteMobilizer, with inherited members: each is called, and its meaning checked."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import numpy as np
import pytest

import mbt
from mbt.math import make_pose

BALL = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
AXIS = np.array([2.0, -1.0, 2.0]) / 3.0


@pytest.fixture
def pin() -> SimpleNamespace:
    """A link on World, and another on it by the tested mobilizer, with q = 0.7 and v = 1.1."""
    tree = mbt.MultibodyTree()
    first = tree.add_body(mbt.RigidBody("first", BALL))
    second = tree.add_body(mbt.RigidBody("second", BALL))
    tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, first, None, axis=[1, 0, 0])
    frame_F = tree.add_frame(
        mbt.FixedOffsetFrame("F", first, make_pose([0.1, 0.2, 0.3], rpy=[0.3, 0.2, 0.1]))
    )
    mobilizer = tree.add_mobilizer(mbt.RevoluteMobilizer(frame_F, second.body_frame, AXIS))
    tree.finalize()
    context = tree.create_default_context()
    context.q, context.v = [0.2, 0.7], [0.4, 1.1]
    return SimpleNamespace(
        tree=tree, first=first, second=second, frame_F=frame_F, mobilizer=mobilizer, context=context
    )


def test_constructor() -> None:
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", BALL))
    # Nearly a unit vector, as from a file of limited precision.
    mobilizer = mbt.RevoluteMobilizer(tree.world_frame, link.body_frame, AXIS * (1 + 5e-7))
    np.testing.assert_allclose(mobilizer.revolute_axis, AXIS, rtol=0, atol=1e-15)
    for wrong in (AXIS * (1 + 2e-6), [0, 0, 0], [1, 1, 1]):
        with pytest.raises(mbt.ArgumentValueError, match="axis_F"):
            mbt.RevoluteMobilizer(tree.world_frame, link.body_frame, wrong)
    with pytest.raises(mbt.ArgumentTypeError, match="no compiled kernel"):
        mbt.Mobilizer(tree.world_frame, link.body_frame)


def test_angle(pin: SimpleNamespace) -> None:
    mobilizer, context = pin.mobilizer, pin.context
    assert mobilizer.get_angle(context) == 0.7
    assert mobilizer.get_angular_rate(context) == 1.1
    assert mobilizer.set_angle(context, -2.0) is mobilizer
    assert mobilizer.set_angular_rate(context, 3.0) is mobilizer
    np.testing.assert_array_equal(context.q, [0.2, -2.0])
    np.testing.assert_array_equal(context.v, [0.4, 3.0])
    stranger = pin.tree.clone().create_default_context()
    for method, *value in (
        (mobilizer.get_angle,),
        (mobilizer.set_angle, 1.0),
        (mobilizer.get_angular_rate,),
        (mobilizer.set_angular_rate, 1.0),
    ):
        with pytest.raises(mbt.ArgumentTypeError):
            method(None, *value)
        with pytest.raises(mbt.ContextMismatchError):
            method(stranger, *value)


def test_zero_state(pin: SimpleNamespace) -> None:
    mobilizer = pin.mobilizer
    for set_zero in (mobilizer.set_zero_configuration, mobilizer.set_zero_state):
        context = mbt.Context(pin.tree)
        context.q, context.v = [0.2, 0.7], [0.4, 1.1]
        assert set_zero(context) is mobilizer
        np.testing.assert_array_equal(context.q, [0.2, 0.0])
        np.testing.assert_array_equal(context.v, [0.4, 0.0])


def rotation(angle: float) -> np.ndarray:
    """Return a rotation by Rodrigues' formula."""
    K = np.array([[0, -AXIS[2], AXIS[1]], [AXIS[2], 0, -AXIS[0]], [-AXIS[1], AXIS[0], 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def test_across_mobilizer(pin: SimpleNamespace) -> None:
    mobilizer, context = pin.mobilizer, pin.context
    X_FM = mobilizer.calc_across_mobilizer_transform(context)
    np.testing.assert_allclose(X_FM, make_pose(R=rotation(0.7)), atol=1e-15)
    zero = pin.tree.create_default_context()
    np.testing.assert_array_equal(mobilizer.calc_across_mobilizer_transform(zero), np.eye(4))
    V_FM = mobilizer.calc_across_mobilizer_spatial_velocity(context, [2.0])
    np.testing.assert_allclose(V_FM, [*(2.0 * AXIS), 0, 0, 0], atol=1e-15)
    A_FM = mobilizer.calc_across_mobilizer_spatial_acceleration(context, [3.0])
    np.testing.assert_allclose(A_FM, [*(3.0 * AXIS), 0, 0, 0], atol=1e-15)
    for call in (
        mobilizer.calc_across_mobilizer_spatial_velocity,
        mobilizer.calc_across_mobilizer_spatial_acceleration,
    ):
        with pytest.raises(mbt.ShapeError):
            call(context, [1.0, 2.0])


def test_project_spatial_force(pin: SimpleNamespace) -> None:
    F_Mo_F = np.array([0.1, 0.2, 0.3, 10.0, 20.0, 30.0])
    tau = pin.mobilizer.project_spatial_force(pin.context, F_Mo_F)
    np.testing.assert_allclose(tau, [F_Mo_F[:3] @ AXIS], atol=1e-15)


def test_rates_of_positions(pin: SimpleNamespace) -> None:
    np.testing.assert_array_equal(pin.mobilizer.map_velocity_to_qdot(pin.context, [2.5]), [2.5])
    np.testing.assert_array_equal(pin.mobilizer.map_qdot_to_velocity(pin.context, [2.5]), [2.5])


def test_copies(pin: SimpleNamespace) -> None:
    mobilizer = pin.mobilizer
    with pytest.raises(mbt.ForeignElementError):
        copy.copy(mobilizer)
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", BALL))
    loose = mbt.RevoluteMobilizer(tree.world_frame, link.body_frame, AXIS)
    twin = copy.copy(loose)
    tree.add_mobilizer(twin)
    assert not loose.has_parent_tree
    assert twin.outboard_body is link


def test_clones(pin: SimpleNamespace) -> None:
    twin = pin.tree.clone()
    variant = twin.get_variant(pin.mobilizer)
    np.testing.assert_array_equal(variant.revolute_axis, pin.mobilizer.revolute_axis)
    assert variant.outboard_body is twin.get_variant(pin.second)


def test_sizes(pin: SimpleNamespace) -> None:
    assert pin.mobilizer.num_positions == 1
    assert pin.mobilizer.num_velocities == 1


def test_connections(pin: SimpleNamespace) -> None:
    mobilizer = pin.mobilizer
    assert mobilizer.inboard_frame is pin.frame_F
    assert mobilizer.outboard_frame is pin.second.body_frame
    assert mobilizer.inboard_body is pin.first
    assert mobilizer.outboard_body is pin.second
    topology = mobilizer.topology
    assert topology.index == mobilizer.index
    assert (topology.inboard_frame, topology.outboard_frame) == (pin.frame_F.index, 2)
    assert (topology.inboard_body, topology.outboard_body) == (pin.first.index, pin.second.index)
    assert (topology.num_positions, topology.positions_start) == (1, 1)
    assert (topology.num_velocities, topology.velocities_start) == (1, 1)
    assert topology.body_node == pin.second.node_index
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", BALL))
    loose = tree.add_mobilizer(mbt.RevoluteMobilizer(tree.world_frame, link.body_frame, AXIS))
    with pytest.raises(mbt.NotFinalizedError):
        _ = loose.topology


def test_slices(pin: SimpleNamespace) -> None:
    mobilizer = pin.mobilizer
    array = np.array([5.0, 6.0])
    for get in (
        mobilizer.get_positions_from_array,
        mobilizer.get_velocities_from_array,
        mobilizer.get_accelerations_from_array,
        mobilizer.get_generalized_forces_from_array,
    ):
        np.testing.assert_array_equal(get(array), [6.0])
        assert np.shares_memory(get(array), array)
        assert not get(array).flags.writeable
        assert array.flags.writeable
        with pytest.raises(mbt.ShapeError):
            get(np.zeros(3))
    for n, get_mutable in enumerate(
        (
            mobilizer.get_mutable_positions_from_array,
            mobilizer.get_mutable_velocities_from_array,
            mobilizer.get_mutable_accelerations_from_array,
            mobilizer.get_mutable_generalized_forces_from_array,
        )
    ):
        get_mutable(array)[:] = n
        np.testing.assert_array_equal(array, [5.0, n])


def test_positions_and_velocities(pin: SimpleNamespace) -> None:
    mobilizer, context = pin.mobilizer, pin.context
    np.testing.assert_array_equal(mobilizer.get_positions(context), [0.7])
    np.testing.assert_array_equal(mobilizer.get_velocities(context), [1.1])
    q, v = mobilizer.get_positions(context), mobilizer.get_velocities(context)
    mobilizer.set_positions(context, [0.8]).set_velocities(context, [1.2])
    # Snapshots, not views of the Context.
    np.testing.assert_array_equal([*q, *v], [0.7, 1.1])
    assert not q.flags.writeable
    assert not v.flags.writeable
    np.testing.assert_array_equal(context.q, [0.2, 0.8])
    np.testing.assert_array_equal(context.v, [0.4, 1.2])
    other = pin.tree.clone().create_default_context()
    with pytest.raises(mbt.ContextMismatchError):
        mobilizer.get_positions(other)
