"""Links without mass, or with almost none: solved where a loop moves them, and refused elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.math import make_pose

Array = np.ndarray

Z = [0.0, 0.0, 1.0]
LENGTH = 2.0
# Velocities of the mechanism with the link, in depth-first order.
RODS, LINK = [0, 1, 3], 2


def rod(mass: float, length: float = LENGTH) -> mbt.SpatialInertia:
    if mass == 0.0:
        return mbt.SpatialInertia.zero()
    return mbt.SpatialInertia.solid_box_with_mass(mass, length, 0.1, 0.1).shift([-length / 2, 0, 0])


def four_bar(*, with_end: bool, end: float = 0.0, scale: float = 1.0) -> tuple[mbt.MultibodyTree, Any]:
    """Return two rods, one behind the other, and a third whose end meets that of the second.

    They meet in a massless fourth link, on a hinge there and welded to the third; or without it, in a ball.
    """
    tree = mbt.MultibodyTree()
    masses = scale * np.array([1.0, 1.5, 0.7])
    a, b, c = (tree.add_body(mbt.RigidBody(f"rod{i}", rod(m))) for i, m in enumerate(masses))
    tree.add_joint(mbt.RevoluteJoint, "1", tree.world_body, None, a, None, Z)
    tree.add_joint(mbt.RevoluteJoint, "2", a, make_pose([LENGTH, 0, 0]), b, None, Z)
    tree.add_joint(mbt.RevoluteJoint, "3", tree.world_body, make_pose([LENGTH, 0, 0]), c, None, Z)
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", c, make_pose([LENGTH, 0, 0])))
    if with_end:
        link = tree.add_body(mbt.RigidBody("end", rod(end)))
        tree.add_joint(mbt.RevoluteJoint, "4", b, make_pose([LENGTH, 0, 0]), link, None, Z)
        tree.add_constraint(mbt.WeldConstraint("closure", link, tip))
    else:
        knee = tree.add_frame(mbt.FixedOffsetFrame("knee", b, make_pose([LENGTH, 0, 0])))
        tree.add_constraint(mbt.BallConstraint("closure", knee, tip))
    tree.add_force_element(mbt.UniformGravityFieldElement([0.3, -9.81, 0.0]))
    tree.finalize()
    return tree, place(tree, tree.create_default_context())


def place(tree: mbt.MultibodyTree, context: Any) -> Any:
    """Set the state of one of the mechanisms: a parallelogram in motion."""
    q, v = [1.2, -1.2, 1.2, 1.2], [0.7, -0.7, 0.7, 0.7]
    context.q, context.v = q[: tree.num_positions], v[: tree.num_velocities]
    return context


@pytest.fixture(scope="module")
def loop() -> tuple[mbt.MultibodyTree, Any]:
    return four_bar(with_end=True)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("end", [0.0, 1e-30, 1e-16, 1e-13])
def test_accelerations_are_those_without_the_link(scale: float, end: float) -> None:
    tree, context = four_bar(with_end=True, end=scale * end, scale=scale)
    other, at = four_bar(with_end=False, scale=scale)
    tau = scale * np.array([3.0, -2.0, 1.0])
    of_all = np.insert(tau, LINK, 0.0)
    vdot = tree.calc_forward_dynamics(context, of_all)
    desired = other.calc_forward_dynamics(at, tau)
    np.testing.assert_allclose(vdot[RODS], desired, rtol=0, atol=1e-11 * abs(desired).max())
    # The fourth link turns with the third.
    np.testing.assert_allclose(vdot[LINK], desired[2] - desired[1] - desired[0], rtol=0, atol=1e-10)
    forces = tree.calc_constrained_forward_dynamics(context, of_all)[1]
    ball = other.calc_constrained_forward_dynamics(at, tau)[1]
    R = tree.get_frame_by_name("end").calc_rotation_matrix_in_world(context)  # in axes of the first frame
    R_knee = other.get_frame_by_name("knee").calc_rotation_matrix_in_world(at)
    np.testing.assert_allclose(R @ forces[3:], R_knee @ ball, rtol=0, atol=1e-8 * abs(ball).max())


def test_a_force_on_the_massless_joint_goes_through_the_loop(loop: tuple[mbt.MultibodyTree, Any]) -> None:
    """It acts like a torque between the second and the third rod, which the ball leaves free."""
    tree, context = loop
    other, at = four_bar(with_end=False)
    vdot = tree.calc_forward_dynamics(context, [0.0, 0.0, 5.0, 0.0])
    # On the link, hence on the third rod; less on the second, and so on joints 1 and 2 by their own axes.
    desired = other.calc_forward_dynamics(at, [-5.0, -5.0, 5.0])
    np.testing.assert_allclose(vdot[RODS], desired, rtol=0, atol=1e-10 * abs(desired).max())


def test_batches_autodiff_and_functions_agree(loop: tuple[mbt.MultibodyTree, Any]) -> None:
    tree, context = loop
    tau = np.array([1.0, 2.0, -1.0, 0.5])
    vdot, multipliers = tree.calc_constrained_forward_dynamics(context, tau)
    q, v = np.tile(context.q, (9, 1)), np.tile(context.v, (9, 1))
    for many, one in zip(
        functional.constrained_forward_dynamics(tree, q, v, tau), (vdot, multipliers), strict=True
    ):
        np.testing.assert_allclose(many, np.tile(one, (9, 1)), rtol=0, atol=1e-9 * abs(one).max())
    np.testing.assert_allclose(functional.forward_dynamics(tree, context.q, context.v, tau), vdot, rtol=1e-12)
    twin = tree.to_autodiff()
    at = twin.create_default_context()
    at.q = mbt.autodiff.initialize(context.q)
    at.v = context.v
    by_q = twin.calc_forward_dynamics(at, tau).derivatives
    direction = np.array([1.0, -1.0, 1.0, 1.0])  # along the mechanism
    h = 1e-6
    ends = [functional.forward_dynamics(tree, context.q + s * h * direction, context.v, tau) for s in (1, -1)]
    np.testing.assert_allclose(by_q @ direction, (ends[0] - ends[1]) / (2 * h), rtol=0, atol=1e-5)


def test_an_impact_is_that_without_the_link(loop: tuple[mbt.MultibodyTree, Any]) -> None:
    tree, context = loop
    other, at = four_bar(with_end=False)
    struck, of_other = context.clone(), at.clone()
    struck.v, of_other.v = [2.0, 0.5, 0.25, -1.0], [2.0, 0.5, -1.0]
    v1, _ = tree.calc_impulse_dynamics(struck)
    desired, _ = other.calc_impulse_dynamics(of_other)
    np.testing.assert_allclose(v1[RODS], desired, rtol=0, atol=1e-10)
    assert abs(tree.calc_constraint_jacobian(struck) @ v1).max() < 1e-10


def test_it_can_be_simulated(loop: tuple[mbt.MultibodyTree, Any]) -> None:
    tree, context = loop
    other, at = four_bar(with_end=False)
    trajectory = mbt.simulate(tree, context, 0.5, 2e-3, method="rk4")
    reference = mbt.simulate(other, at, 0.5, 2e-3, method="rk4")
    assert trajectory.status == "completed"
    np.testing.assert_allclose(trajectory.q[:, RODS], reference.q, rtol=0, atol=1e-8)
    tau = np.zeros((3, 100, 4))
    q, _ = functional.rollout(tree, np.tile(context.q, (3, 1)), np.tile(context.v, (3, 1)), tau, 2e-3)
    assert np.isfinite(q).all()


def test_what_no_loop_moves_is_refused(loop: tuple[mbt.MultibodyTree, Any]) -> None:
    tree, context = loop
    free = context.clone()
    tree.constraints[0].set_enabled_in(free, False)
    for call in (
        tree.calc_forward_dynamics,
        tree.calc_constrained_forward_dynamics,
        tree.calc_impulse_dynamics,
    ):
        with pytest.raises(mbt.SingularityError, match="velocity 2, of joint '4', has no inertia"):
            call(free)
    with pytest.raises(mbt.SingularityError, match="has no inertia"):
        tree.calc_forward_dynamics_derivatives(context)


def test_a_loop_through_the_axis_moves_nothing_about_it() -> None:
    tree = mbt.MultibodyTree()
    arm = tree.add_body(mbt.RigidBody("arm", rod(1.0)))
    link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.RevoluteJoint, "shoulder", tree.world_body, None, arm, None, Z)
    tree.add_joint(mbt.RevoluteJoint, "spinner", arm, make_pose([LENGTH, 0, 0]), link, None, [1, 0, 0])
    post = tree.add_frame(mbt.FixedOffsetFrame("post", tree.world_body, make_pose([LENGTH + 0.5, 0, 0])))
    on_axis = tree.add_frame(mbt.FixedOffsetFrame("on_axis", link, make_pose([0.5, 0, 0])))
    tree.add_constraint(mbt.BallConstraint("pin", on_axis, post))
    tree.finalize()
    context = tree.create_default_context()
    for q in ([0.0, 0.0], [0.0, 0.8]):
        context.q = q
        with pytest.raises(mbt.SingularityError, match="joint 'spinner', has no inertia"):
            tree.calc_forward_dynamics(context)
    many = functional.forward_dynamics(tree, np.zeros((9, 2)), np.zeros((9, 2)), np.zeros((9, 2)))
    assert np.isnan(many).all()


@pytest.mark.parametrize("mass", [1e-9, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 1e-18])
def test_a_slider_crank_does_not_feel_how_light_its_coupler_is(mass: float) -> None:
    """With a light coupler, accelerations differ from those without mass by about its share of the masses."""

    def crank_with(mass: float) -> Array:
        tree = mbt.MultibodyTree()
        crank = tree.add_body(mbt.RigidBody("crank", rod(1.0, 0.3)))
        coupler = tree.add_body(mbt.RigidBody("coupler", rod(mass, 0.8)))
        slider = tree.add_body(mbt.RigidBody("slider", mbt.SpatialInertia.solid_cube_with_mass(1.0, 0.1)))
        tree.add_joint(mbt.RevoluteJoint, "drive", tree.world_body, None, crank, None, [0, 1, 0])
        tree.add_joint(mbt.RevoluteJoint, "knee", crank, make_pose([0.3, 0, 0]), coupler, None, [0, 1, 0])
        tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, slider, None, [1, 0, 0])
        end = tree.add_frame(mbt.FixedOffsetFrame("end", coupler, make_pose([0.8, 0, 0])))
        tree.add_constraint(mbt.BallConstraint("pin", end, slider))
        tree.add_force_element(mbt.UniformGravityFieldElement())
        tree.finalize()
        context = tree.create_default_context()
        context.q = [-0.7, 1.0, 0.9]
        tree.assemble(context)
        context.v = [2.0, 0.0, 0.0]
        tree.assemble(context)
        vdot = tree.calc_forward_dynamics(context)
        J = tree.calc_constraint_jacobian(context)
        assert abs(J @ vdot + tree.calc_constraint_bias(context)).max() < 1e-11
        return vdot

    np.testing.assert_allclose(crank_with(mass), crank_with(1e-7), rtol=0, atol=1e-5)
    np.testing.assert_allclose(crank_with(mass), crank_with(0.0), rtol=0, atol=1e-10 + 100 * mass)
