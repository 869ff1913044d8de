"""Dissipated power is computed from dissipative forces alone: a stiff spring does not drown it."""

from __future__ import annotations

from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

import mbt

SCALARS = ("double", "batch", "autodiff")


def make(add: Any) -> tuple[mbt.MultibodyTree, mbt.ForceElement]:
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.3, 0.4, 0.5)
    inboard, joints = tree.world_body, []
    for i in range(2):
        body = tree.add_body(mbt.RigidBody(f"body{i}", inertia))
        X = mbt.math.make_pose([0.1, 0.2, 0.5], rpy=[0.3, 0.2, 0.1])
        joints.append(tree.add_joint(mbt.RevoluteJoint, f"pin{i}", inboard, X, body, None, axis=[0, 1, 1]))
        inboard = body
    element = tree.add_force_element(add(tree, joints))
    tree.finalize()
    return tree, element


STIFF = 1e14


def spring(tree: mbt.MultibodyTree, joints: Any) -> mbt.ForceElement:
    return mbt.LinearSpringDamper(tree.world_body, [1, 0, 0], tree.bodies[2], [0, 0.5, 0], 0.3, STIFF, 0.01)


def bushing(tree: mbt.MultibodyTree, joints: Any) -> mbt.ForceElement:
    """A bushing along one joint: it rotates about one axis, and its force acts without a drift."""
    frames = (joints[1].frame_on_parent, joints[1].frame_on_child)
    return mbt.LinearBushingRollPitchYaw(
        *frames, [STIFF] * 3, [0.01, 0.02, 0.03], [STIFF] * 3, [0.01, 0.02, 0.03]
    )


def hinge(tree: mbt.MultibodyTree, joints: Any) -> mbt.ForceElement:
    return mbt.DoorHinge(
        joints[1],
        mbt.DoorHingeConfig(
            spring_zero_angle_rad=-0.4, spring_constant=STIFF, dynamic_friction_torque=0.01,
            static_friction_torque=0.02, viscous_friction=0.03, catch_width=0.1, catch_torque=STIFF,
            motion_threshold=0.01,
        ),
    )  # fmt: skip


def friction(tree: mbt.MultibodyTree, joints: Any) -> mbt.ForceElement:
    return mbt.JointFriction(joints[1], coulomb_friction=0.5, breakaway_friction=0.75)


ELEMENTS = {"spring": spring, "bushing": bushing, "hinge": hinge, "friction": friction}
Q, V = [0.3, -0.2], [0.7, 0.4]


def number(x: Any) -> float:
    return float(np.ravel(getattr(x, "value", x))[0])


@pytest.mark.parametrize("which", ["conservative", "non_conservative"])
@pytest.mark.parametrize("name", ELEMENTS)
def test_each_power_is_that_of_fifty_digits(name: str, which: str) -> None:
    tree, element = make(ELEMENTS[name])
    method = f"calc_{which}_power"

    def power(twin: mbt.MultibodyTree, batch_shape: Any, q: Any, v: Any) -> list[float]:
        context = twin.create_default_context(batch_shape)
        context.q, context.v = q, v
        own = getattr(twin.get_variant(element), method)(context)
        whole = getattr(twin, method)(context)
        return [number(own), number(whole)]

    with mpmath.workdps(50):
        q, v = ([mpmath.mpf(x) for x in numbers] for numbers in (Q, V))
        wanted = power(tree.clone_to_scalar("mpmath"), (), q, v)
    for scalar in SCALARS:
        twin = tree.to_autodiff() if scalar == "autodiff" else tree
        got = power(twin, (3,) if scalar == "batch" else (), Q, V)
        np.testing.assert_allclose(got, wanted, rtol=1e-13, atol=1e-15)
    if which == "non_conservative":
        assert wanted[0] < 0.0


@pytest.mark.parametrize("name", ELEMENTS)
def test_powers_are_those_of_the_forces(name: str) -> None:
    """The sum of both: in fifty digits it loses nothing."""
    tree, element = make(ELEMENTS[name])
    twin = tree.clone_to_scalar("mpmath")
    with mpmath.workdps(50):
        context = twin.create_default_context()
        context.q, context.v = ([mpmath.mpf(x) for x in numbers] for numbers in (Q, V))
        forces = mbt.MultibodyForces(twin)
        variant = twin.get_variant(element)
        variant.calc_and_add_force_contribution(context, forces=forces)
        V_WB = twin.eval_velocity_kinematics(context).V_WB
        power = (forces.body_forces * V_WB).sum() + (forces.generalized_forces * context.v).sum()
        parts = variant.calc_conservative_power(context) + variant.calc_non_conservative_power(context)
        assert abs(power - parts) <= abs(power) * mpmath.mpf(10) ** -30


@pytest.mark.parametrize("scalar", SCALARS)
def test_a_hinge_stores_nothing_at_the_angle_zero(scalar: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        zero, stiffness, width, catch = rng.uniform(0.1, 3.0, 4)
        config = mbt.DoorHingeConfig(
            spring_zero_angle_rad=zero, spring_constant=stiffness, catch_width=width, catch_torque=catch
        )
        tree, element = make(lambda tree, joints, config=config: mbt.DoorHinge(joints[1], config))
        twin = tree.to_autodiff() if scalar == "autodiff" else tree
        context = twin.create_default_context((3,) if scalar == "batch" else ())
        hinge = twin.get_variant(element)
        assert number(hinge.calc_potential_energy(context)) == 0.0
        assert number(hinge.calc_hinge_stored_energy(0.0, context)) == 0.0
