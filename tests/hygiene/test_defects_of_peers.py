"""Defects found in other libraries, each with a test that mbt does not have it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbt
from support.differences import time_derivative

INERTIA = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
Z_AXIS = [0.0, 0.0, 1.0]


def _along_x(x: float) -> np.ndarray:
    return mbt.math.make_pose([x, 0.0, 0.0])


def _arm(damping: float = 0.0) -> tuple[mbt.MultibodyTree, mbt.RevoluteJoint, mbt.RigidBody]:
    """One link that turns about z of World, not finalized, without gravity."""
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", INERTIA))
    hinge = tree.add_joint(
        mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, axis=Z_AXIS, damping=damping
    )
    return tree, hinge, link


def _turning(tree: mbt.MultibodyTree, speed: float = 2.0, angle: float = 0.0) -> mbt.Context:
    context = tree.create_default_context()
    context.q, context.v = [angle], [speed]
    return context


# Frames whose pose was changed in the Context ---------------------------------------------------------------


def test_frame_velocity_ignores_no_changed_pose() -> None:
    """A tip moved from 1 m to 3 m moves three times as fast, by its velocity, Jacobian and positions."""
    tree, _, link = _arm()
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", link, _along_x(1.0)))
    tree.finalize()
    W = tree.world_frame
    context = _turning(tree)
    assert tip.calc_spatial_velocity_in_world(context)[4] == pytest.approx(2.0)
    tip.set_pose_in_parent_frame(context, _along_x(3.0))

    def position(t: float) -> np.ndarray:
        moved = context.clone()
        moved.q = context.q + t * context.v
        return tip.calc_pose_in_world(moved)[:3, 3]

    V_WF = tip.calc_spatial_velocity_in_world(context)
    np.testing.assert_allclose(V_WF, [0.0, 0.0, 2.0, 0.0, 6.0, 0.0], atol=1e-14)
    J = tree.calc_jacobian_spatial_velocity(context, "v", tip, np.zeros(3), W, W)
    np.testing.assert_allclose(J @ context.v, V_WF, atol=1e-14)
    np.testing.assert_allclose(time_derivative(position, 2.0), V_WF[3:], atol=1e-9)


def test_frame_acceleration_ignores_no_changed_pose() -> None:
    """At a steady 2 rad/s, 3 m away: 12 m/s^2 towards the axis."""
    tree, _, link = _arm()
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", link, _along_x(1.0)))
    tree.finalize()
    context = _turning(tree)
    np.testing.assert_allclose(
        tip.calc_spatial_acceleration_in_world(context)[3:], [-4.0, 0.0, 0.0], atol=1e-13
    )
    tip.set_pose_in_parent_frame(context, _along_x(3.0))
    A_WF = tip.calc_spatial_acceleration_in_world(context)
    np.testing.assert_allclose(A_WF, [0.0, 0.0, 0.0, -12.0, 0.0, 0.0], atol=1e-13)


# Energy -----------------------------------------------------------------------------------------------------


def test_power_forgets_no_joint_damping() -> None:
    tree, _, _ = _arm(damping=0.7)
    tree.finalize()
    assert tree.calc_non_conservative_power(_turning(tree)) == pytest.approx(-0.7 * 2.0**2)


@pytest.mark.parametrize("speed", [-2.0, 2.0])
def test_hinge_without_threshold_drives_no_motion(speed: float) -> None:
    """With `motion_threshold` zero, dry friction is off and viscous friction still brakes."""
    tree, joint, _ = _arm()
    config = mbt.DoorHingeConfig(
        spring_constant=0.0,
        dynamic_friction_torque=3.0,
        static_friction_torque=2.0,
        viscous_friction=1.0,
        catch_torque=0.0,
        motion_threshold=0.0,
    )
    hinge = tree.add_force_element(mbt.DoorHinge(joint, config))
    tree.finalize()
    context = _turning(tree, speed)
    forces = mbt.MultibodyForces(tree)
    tree.calc_force_elements_contribution(context, forces)
    np.testing.assert_allclose(forces.generalized_forces, [-speed])
    assert hinge.calc_hinge_frictional_torque(speed) == pytest.approx(-speed)
    assert tree.calc_non_conservative_power(context) == pytest.approx(-(speed**2))


def test_bushing_breaks_no_energy_of_the_model() -> None:
    """A model with a bushing has energies and powers, and they balance."""
    tree, _, link = _arm()
    frame = tree.add_frame(mbt.FixedOffsetFrame("far", tree.world_body, _along_x(0.5)))
    bushing = mbt.LinearBushingRollPitchYaw(
        frame, link.body_frame, [1.0, 2.0, 3.0], [0.1, 0.2, 0.3], [4.0, 5.0, 6.0], [0.4, 0.5, 0.6]
    )
    tree.add_force_element(bushing)
    tree.finalize()
    context = _turning(tree, angle=0.3)
    forces = mbt.MultibodyForces(tree)
    tree.calc_force_elements_contribution(context, forces)
    # The rotation is about z of World: one angle, and the translation (-0.5, 0, 0) as seen halfway.
    halfway = [-0.5 * np.cos(0.15), 0.5 * np.sin(0.15), 0.0]
    energy = 0.5 * (3.0 * 0.3**2 + np.array([4.0, 5.0, 6.0]) @ np.square(halfway))
    assert tree.calc_potential_energy(context) == pytest.approx(energy)
    power = tree.calc_conservative_power(context) + tree.calc_non_conservative_power(context)
    tau = tree.calc_inverse_dynamics(context, [0.0]) - tree.calc_inverse_dynamics(context, [0.0], forces)
    assert power == pytest.approx((tau @ context.v).item())


# Elements of another tree -----------------------------------------------------------------------------------


def test_frame_of_another_tree_is_not_taken_by_its_index() -> None:
    tree, _, link = _arm()
    other, _, foreign = _arm()
    tree.finalize()
    other.finalize()
    context = _turning(tree)
    with pytest.raises(mbt.ForeignElementError, match="link"):
        tree.calc_relative_transform(context, link.body_frame, foreign.body_frame)
    with pytest.raises(mbt.ForeignElementError, match="link"):
        link.body_frame.calc_pose(context, foreign.body_frame)


def test_force_element_takes_nothing_of_another_tree() -> None:
    tree, _, link = _arm()
    other, foreign_joint, foreign_link = _arm()
    for element in (
        mbt.RevoluteSpring(foreign_joint, 0.0, 1.0),
        mbt.DoorHinge(foreign_joint, mbt.DoorHingeConfig()),
        mbt.LinearSpringDamper(link, [0, 0, 0], foreign_link, [0, 0, 0], 1.0, 1.0, 1.0),
        mbt.LinearBushingRollPitchYaw(
            foreign_link.body_frame, link.body_frame, np.ones(3), np.ones(3), np.ones(3), np.ones(3)
        ),
    ):
        with pytest.raises(mbt.ForeignElementError):
            tree.add_force_element(element)
    assert not tree.force_elements
    tree.finalize()
    other.finalize()


# Parameters of a Context ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mass", [-1.0, np.nan, np.inf])
def test_no_impossible_mass_enters_a_context(mass: float) -> None:
    tree, _, link = _arm()
    tree.finalize()
    context = _turning(tree)
    M = tree.calc_mass_matrix(context)
    with pytest.raises(mbt.MbtError, match="mass"):
        link.set_mass(context, mass)
    assert link.get_mass(context) == 1.0
    np.testing.assert_array_equal(tree.calc_mass_matrix(context), M)


# Bodies welded together -------------------------------------------------------------------------------------


def test_spring_on_a_welded_body_is_not_moved_to_what_it_is_welded_to() -> None:
    """A spring acts the same on a point of a tool as on the same point of the link that carries the tool."""
    X_LT = mbt.math.make_pose([0.3, 0.2, 0.1], rpy=[0.4, 0.5, 0.6])
    p_TQ = np.array([0.1, -0.2, 0.3])

    def model(on_tool: bool) -> tuple[mbt.MultibodyTree, mbt.Context]:
        tree, _, link = _arm()
        tool = tree.add_body(mbt.RigidBody("tool", INERTIA))
        tree.add_joint(mbt.WeldJoint, "grip", link, None, tool, None, X_FM=X_LT)
        body, p_BQ = (tool, p_TQ) if on_tool else (link, X_LT[:3, :3] @ p_TQ + X_LT[:3, 3])
        tree.add_force_element(
            mbt.LinearSpringDamper(tree.world_body, [-1.0, 1.0, 0.5], body, p_BQ, 0.5, 10.0, 2.0)
        )
        tree.finalize()
        return tree, _turning(tree, angle=0.7)

    results = []
    for on_tool in (True, False):
        tree, context = model(on_tool)
        tau = tree.calc_inverse_dynamics(context, [0.0], include_force_elements=True)
        powers = [tree.calc_conservative_power(context), tree.calc_non_conservative_power(context)]
        results.append([*tau, tree.calc_potential_energy(context), *powers])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-13)
    assert np.abs(results[0]).min() > 0.1


# Contexts of another tree -----------------------------------------------------------------------------------


def test_context_of_another_tree_ends_no_process() -> None:
    tree, _, _ = _arm()
    tree.finalize()
    other = mbt.MultibodyTree()
    other.finalize()
    with pytest.raises(mbt.ContextMismatchError):
        tree.calc_inverse_dynamics(other.create_default_context(), [0.0])
    with pytest.raises(mbt.MbtError):
        tree.calc_inverse_dynamics(_turning(tree), [0.0], mbt.MultibodyForces(other))


# Axes -------------------------------------------------------------------------------------------------------


def test_long_axis_makes_no_shear() -> None:
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", INERTIA))
    hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, axis=[0, 0, 2])
    tree.finalize()
    np.testing.assert_array_equal(hinge.revolute_axis, Z_AXIS)
    context = _turning(tree, angle=np.pi / 2)
    R_WL = link.eval_pose_in_world(context)[:3, :3]
    np.testing.assert_allclose(R_WL, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    np.testing.assert_allclose(tree.calc_mass_matrix(context), [[0.4 * 0.1**2]])


@pytest.mark.parametrize("axis", [[0, 0, 0], [0, 0, np.nan], [0, 0, 2]])
def test_no_mobilizer_with_an_impossible_axis(axis: list[float]) -> None:
    """A mobilizer accepts only a unit axis."""
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", INERTIA))
    with pytest.raises(mbt.MbtError, match="axis"):
        tree.add_mobilizer(mbt.RevoluteMobilizer(tree.world_frame, link.body_frame, axis))
    assert not tree.mobilizers


# Names and indices ------------------------------------------------------------------------------------------


def test_unknown_name_gives_no_element() -> None:
    tree, _, _ = _arm()
    tree.finalize()
    for get in (tree.get_body_by_name, tree.get_frame_by_name):
        with pytest.raises(KeyError, match="link"):
            get("lnik")
    with pytest.raises(KeyError, match="hinge"):
        tree.get_joint_by_name("hnige")


def test_no_second_joint_of_the_same_name() -> None:
    tree, _, link = _arm()
    hand = tree.add_body(mbt.RigidBody("hand", INERTIA))
    with pytest.raises(mbt.MbtError, match="hinge"):
        tree.add_joint(mbt.RevoluteJoint, "hinge", link, None, hand, None, axis=Z_AXIS)
    assert tree.num_joints == 1


def test_list_is_no_error() -> None:
    tree, _, _ = _arm()
    tree.finalize()
    context = tree.create_default_context()
    context.q, context.v = [1], (2,)
    assert mbt.functional.inverse_dynamics(tree, [1], [2], [3]).shape == (1,)


@pytest.mark.parametrize("index", [77, 2, -3])
def test_index_out_of_range_gives_no_zeros(index: int) -> None:
    tree, _, _ = _arm()
    tree.finalize()
    with pytest.raises(IndexError, match=str(index)):
        tree.get_body(index)


def test_nan_resets_no_state_and_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tree, _, _ = _arm()
    tree.finalize()
    context = _turning(tree, angle=0.5)
    context.q = [np.nan]
    tree.calc_forward_dynamics(context)
    tree.calc_mass_matrix(context)
    assert np.isnan(context.q).all()
    np.testing.assert_array_equal(context.v, [2.0])
    assert not list(tmp_path.iterdir())
