"""Constrained dynamics of light and heavy parts, of redundant rows, and of parts that cannot move."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.math import make_pose
from support.constraints import equations_of
from support.kinds import values_of

ATTITUDES = ([0.0, 0.0, 0.0], [0.3, 0.4, 0.5])
Array = np.ndarray


def rod_of(mass: float, length: float) -> mbt.SpatialInertia:
    """Return a rod along x that ends at its far end, from the origin."""
    return mbt.SpatialInertia.solid_box_with_mass(mass, length, 0.02, 0.02).shift([-length / 2, 0, 0])


def loaded() -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    return tree


def slider_crank(mass: float, rpy: list[float]) -> tuple[mbt.MultibodyTree, Any]:
    """Return a slider-crank in motion, rotated by `rpy`, with a coupler of this mass."""
    tree, X = loaded(), make_pose([0, 0, 0], rpy=rpy)
    crank = tree.add_body(mbt.RigidBody("crank", rod_of(1.0, 0.3)))
    coupler = tree.add_body(mbt.RigidBody("coupler", rod_of(mass, 0.7)))
    slider = tree.add_body(mbt.RigidBody("slider", mbt.SpatialInertia.solid_cube_with_mass(1.0, 0.1)))
    drive = tree.add_joint(mbt.RevoluteJoint, "drive", tree.world_body, X, crank, None, [0, 1, 0])
    knee = make_pose([0.3, 0, 0])
    tree.add_joint(mbt.RevoluteJoint, "knee", crank, knee, coupler, None, [0, 1, 0])
    tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, X, slider, None, [1, 0, 0])
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", coupler, make_pose([0.7, 0, 0])))
    tree.add_constraint(mbt.BallConstraint("pin", slider, tip))
    tree.finalize()
    context = tree.create_default_context()
    for name, value in (("drive", -1.0), ("knee", 1.3)):
        tree.get_joint_by_name(name).set_angle(context, value)
    tree.assemble(context, fixed=[drive])
    drive.set_angular_rate(context, 3.0)
    tree.assemble(context, fixed=[drive])
    return tree, context


def acceleration_by_hand(tree: mbt.MultibodyTree, context: Any, rpy: list[float]) -> float:
    """Return the acceleration of the crank when the coupler has no mass, from one coordinate."""
    drive = tree.get_joint_by_name("drive")
    angle, rate = drive.get_angle(context), drive.get_angular_rate(context)
    down = make_pose([0, 0, 0], rpy=rpy)[:3, :3].T @ [0.0, 0.0, -9.81]

    def lever(a: float) -> float:
        """Return the change of the slider's position, by complex step."""
        z = a + 1e-20j
        return float((0.3 * np.cos(z) + np.sqrt(0.49 - (0.3 * np.sin(z)) ** 2)).imag / 1e-20)

    def inertia(a: float) -> float:
        return (0.3**2 + 0.02**2) / 12 + 0.15**2 + lever(a) ** 2

    change = (inertia(angle + 1e-6) - inertia(angle - 1e-6)) / 2e-6
    # The angle turns x towards -z.
    weight = 0.15 * (-np.sin(angle) * down[0] - np.cos(angle) * down[2]) + lever(angle) * down[0]
    return float((weight - change * rate**2 / 2) / inertia(angle))


def remainder_of(tree: mbt.MultibodyTree, context: Any, vdot: Array) -> float:
    """Return J vdot + Jdot v, relative to the size of its terms."""
    equations = equations_of(tree, context)
    size = np.abs(equations.J) @ np.abs(vdot) + np.abs(equations.bias)
    return float((np.abs(equations.J @ vdot + equations.bias)).max() / size.max())


@pytest.mark.parametrize("rpy", ATTITUDES)
@pytest.mark.parametrize("mass", [1.0, 1e-6, 1e-8, 1e-9])
def test_light_couplers(mass: float, rpy: list[float]) -> None:
    tree, context = slider_crank(mass, rpy)
    for tau in ([0.0, 0.0, 0.0], [0.1, 0.1, 0.1]):
        vdot, multipliers = tree.calc_constrained_forward_dynamics(context, tau)
        assert remainder_of(tree, context, vdot) < 1e-12
        back = tree.calc_inverse_dynamics(context, vdot, include_force_elements=True, multipliers=multipliers)
        np.testing.assert_allclose(back, tau, atol=1e-12)
    if mass == 1e-9:
        vdot = tree.calc_forward_dynamics(context)
        k = tree.get_joint_by_name("drive").velocity_start
        np.testing.assert_allclose(vdot[k], acceleration_by_hand(tree, context, rpy), rtol=1e-7)


@pytest.mark.parametrize("mass", [1e-8, 1e-9])
def test_light_couplers_in_batches_and_other_scalars(mass: float) -> None:
    tree, context = slider_crank(mass, ATTITUDES[1])
    tau = np.array([0.1, 0.2, 0.3])
    desired = tree.calc_constrained_forward_dynamics(context, tau)
    # Each sample equals its result alone, whatever the others are.
    v = context.v * np.array([[1.0], [0.0], [40.0], [1.0], [-3.0], [1.0], [0.3], [7.0], [1e4]])
    together = functional.constrained_forward_dynamics(tree, context.q, v, tau)
    for i in range(len(v)):
        alone = functional.constrained_forward_dynamics(tree, context.q, v[[i]], tau)
        for part, own in zip(together, alone, strict=True):
            np.testing.assert_array_equal(part[i], own[0])
    for part, own in zip(together, desired, strict=True):
        np.testing.assert_allclose(part[0], own, rtol=1e-10, atol=1e-12)
    for scalar in ("autodiff", "mpmath"):
        twin = tree.clone_to_scalar(scalar)
        other = twin.create_default_context()
        other.q, other.v = context.q, context.v
        for part, own in zip(twin.calc_constrained_forward_dynamics(other, tau), desired, strict=True):
            np.testing.assert_allclose(values_of(part), own, rtol=1e-9, atol=1e-12)


def rope(num_links: int, payload: float, light: float = 1.0, is_reversed: bool = False) -> tuple[Any, Any]:
    """Return free bodies, each held by the one before it, with a payload as the last."""
    tree, length = loaded(), 0.1
    bodies = [
        tree.add_body(
            mbt.RigidBody(f"link{i}", mbt.SpatialInertia.solid_box_with_mass(mass, length, 0.02, 0.03))
        )
        for i, mass in enumerate([light] * (num_links - 1) + [payload])
    ]
    ends = []
    for i, body in enumerate(bodies):
        inboard = (
            tree.world_body
            if i == 0
            else tree.add_frame(mbt.FixedOffsetFrame(f"end{i}", bodies[i - 1], make_pose([length / 2, 0, 0])))
        )
        start = tree.add_frame(mbt.FixedOffsetFrame(f"start{i}", body, make_pose([-length / 2, 0, 0])))
        ends.append((f"pin{i}", inboard, start))
    for pair in reversed(ends) if is_reversed else ends:
        tree.add_constraint(mbt.BallConstraint(*pair))
    tree.finalize()
    context = tree.create_default_context()
    X = make_pose([0, 0, 0], rpy=[0.0, 0.7, 0.2])
    for i, body in enumerate(bodies):
        joint = next(joint for joint in tree.joints if joint.child_body is body)
        joint.set_pose(context, X @ make_pose([length * (i + 0.5), 0, 0]))
    return tree, context


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(("payload", "light"), [(1.0, 1.0), (1e6, 1.0), (1e6, 1e-3), (1.0, 1e-9)])
def test_ropes(payload: float, light: float, is_reversed: bool) -> None:
    tree, context = rope(12, payload, light, is_reversed)
    vdot = tree.calc_forward_dynamics(context)
    assert remainder_of(tree, context, vdot) < 1e-11
    # Modelled as a chain of ball joints, nothing is constrained.
    chain, length = loaded(), 0.1
    inboard, X = chain.world_body, np.eye(4)
    for i in range(12):
        mass = payload if i == 11 else light
        inertia = mbt.SpatialInertia.solid_box_with_mass(mass, length, 0.02, 0.03)
        body = chain.add_body(mbt.RigidBody(f"link{i}", inertia))
        start = make_pose([-length / 2, 0, 0])
        chain.add_joint(mbt.BallRpyJoint, f"pin{i}", inboard, X, body, start)
        inboard, X = body, make_pose([length / 2, 0, 0])
    chain.finalize()
    same = chain.create_default_context()
    chain.get_joint_by_name("pin0").set_angles(same, [0.0, 0.7, 0.2])
    if payload / light < 1e5:
        A = chain.calc_spatial_accelerations_from_vdot(same, chain.calc_forward_dynamics(same))
        B = tree.calc_spatial_accelerations_from_vdot(context, vdot)
        np.testing.assert_allclose(B, A, atol=1e-8 * np.abs(A).max())


def four_bar_with(angle: float, rpy: list[float] | None = None) -> tuple[mbt.MultibodyTree, Any]:
    """Return a four-bar of 1.6 kg, one axis of which is off by an angle."""
    tree = loaded()
    base = make_pose([0, 0, 0], rpy=rpy or [0.0, 0.0, 0.0])
    inboard, X = tree.world_body, base
    for i, (mass, length) in enumerate(((0.3, 0.3), (0.8, 0.8), (0.5, 0.5))):
        body = tree.add_body(mbt.RigidBody(f"bar{i}", rod_of(mass, length)))
        axis = [0.0, np.cos(angle), np.sin(angle)] if i == 1 else [0.0, 1.0, 0.0]
        tree.add_joint(mbt.RevoluteJoint, f"pin{i}", inboard, X, body, None, axis)
        inboard, X = body, make_pose([length, 0, 0])
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", inboard, X))
    post = tree.add_frame(mbt.FixedOffsetFrame("post", tree.world_body, base @ make_pose([0.7, 0, 0])))
    tree.add_constraint(mbt.BallConstraint("closure", post, tip))
    tree.finalize()
    context = tree.create_default_context()
    context.q = [-0.9, 0.7, 1.1]
    return tree, context


@pytest.mark.parametrize("rpy", ATTITUDES)
@pytest.mark.parametrize("angle", [1.2e-16, 3.1416 - np.pi, 1.5708 - np.pi / 2, 0.7854 - np.pi / 4])
def test_angles_with_five_digits_close_no_loop_twice(angle: float, rpy: list[float]) -> None:
    exact, context = four_bar_with(0.0, rpy)
    exact.assemble(context)
    desired, forces = exact.calc_constrained_forward_dynamics(context)
    tree, other = four_bar_with(angle, rpy)
    other.q = context.q
    vdot, multipliers = tree.calc_constrained_forward_dynamics(other)
    np.testing.assert_allclose(vdot, desired, rtol=2e3 * abs(angle) + 1e-12)
    np.testing.assert_allclose(np.linalg.norm(multipliers), np.linalg.norm(forces), rtol=1e-2)
    # The forces are those that the accelerations need, all the same.
    back = tree.calc_inverse_dynamics(other, vdot, include_force_elements=True, multipliers=multipliers)
    np.testing.assert_allclose(back, 0.0, atol=1e-11)


def test_multipliers_of_what_cannot_move_are_zero() -> None:
    for distance in (1e-7, 1.0):
        tree = loaded()
        body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_cube_with_mass(1.0, 0.1)))
        joint = tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, body, None, [0, 0, 1])
        there = tree.add_frame(mbt.FixedOffsetFrame("there", tree.world_body, make_pose([distance, 0, 0])))
        tree.add_constraint(mbt.BallConstraint("apart", there, body))
        on_world = [
            tree.add_frame(mbt.FixedOffsetFrame(f"w{i}", tree.world_body, make_pose([i * distance, 0, 0])))
            for i in range(2)
        ]
        plate = tree.add_body(mbt.RigidBody("plate", mbt.SpatialInertia.solid_cube_with_mass(1.0, 0.1)))
        tree.add_joint(mbt.WeldJoint, "bolt", tree.world_body, None, plate, None)
        tree.add_constraint(mbt.WeldConstraint("rigid", on_world[1], plate))
        tree.finalize()
        context = tree.create_default_context()
        vdot, multipliers = tree.calc_constrained_forward_dynamics(context, stabilize=True)
        np.testing.assert_allclose(vdot, 0.0, atol=1e-12)
        np.testing.assert_allclose(multipliers, [0, 0, 9.81, 0, 0, 0, 0, 0, 0], rtol=1e-12)
        joint.lock(context)
        vdot, multipliers = tree.calc_constrained_forward_dynamics(context, stabilize=True)
        assert not vdot.any()
        assert not multipliers.any()


def twice_held() -> tuple[mbt.MultibodyTree, Any]:
    """Return a four-bar closed by two balls, where one would do."""
    tree, context = four_bar_with(0.0, ATTITUDES[1])
    work = tree.edit()
    ends = [work.get_frame_by_name(name) for name in ("post", "tip")]
    work.add_constraint(mbt.BallConstraint("again", *ends))
    work.finalize()
    other = work.create_default_context()
    other.q = context.q
    work.assemble(other)
    return work, other


def test_redundant_multipliers_are_the_least_ones() -> None:
    """By the pseudo-inverse, to rounding: of one state and of many."""
    tree, context = twice_held()
    vdot, multipliers = tree.calc_constrained_forward_dynamics(context, [0.3, -0.2, 0.1])
    J = tree.calc_constraint_jacobian(context)
    forces = J.T @ multipliers
    # All rows have one unit here, and so have both constraints.
    np.testing.assert_allclose(multipliers, np.linalg.pinv(J.T, rcond=1e-10) @ forces, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(multipliers[:3], multipliers[3:], rtol=1e-11, atol=1e-11)
    many = functional.constrained_forward_dynamics(
        tree, context.q, context.v * np.ones((9, 1)), [0.3, -0.2, 0.1]
    )
    for part, own in zip(many, (vdot, multipliers), strict=True):
        np.testing.assert_allclose(part, np.broadcast_to(own, part.shape), rtol=1e-11, atol=1e-11)


def test_contradictions_are_settled_by_least_squares() -> None:
    """Two rods that require different rates of change: stabilization asks each for its own."""
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_cube_with_mass(2.0, 0.1)))
    tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, body, None, [1, 0, 0])
    for i, length in enumerate((1.0, 2.0)):
        rod = mbt.DistanceConstraint(f"rod{i}", tree.world_body, [-1, 0, 0], body, [0, 0, 0], length)
        tree.add_constraint(rod)
    tree.finalize()
    context = tree.create_default_context()
    vdot, multipliers = tree.calc_constrained_forward_dynamics(context, stabilize=True)
    # Errors are 0 and -1, omega is 20: 0 and 400 are asked for.
    np.testing.assert_allclose(vdot, [200.0], rtol=1e-12)
    np.testing.assert_allclose(multipliers, [200.0, 200.0], rtol=1e-12)
