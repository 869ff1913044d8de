"""Bodies bounce, stick, slide and stand as the laws of contact say."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbt
from support.description import Array
from support.reference_contact import ContactNumbers, friction_coefficient, restitution

G = 9.81
MASS = 2.0
BOX = mbt.SpatialInertia.solid_box_with_mass(MASS, 0.4, 0.3, 0.2)
CORNERS = np.array([[x, y, -0.1] for x in (-0.2, 0.2) for y in (-0.15, 0.15)])


def move(tree: mbt.MultibodyTree, q: Any, v: Any, end: float, stop: Any = None) -> Any:
    """Integrate the motion without inputs until `end` [s], or until `stop(q, v)` falls through zero."""
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    context = tree.create_default_context()
    events = []
    if stop is not None:
        events.append(lambda t, y: stop(y[: q.size], y[q.size :]))
        events[0].terminal, events[0].direction = True, -1

    def rate(t: float, y: Array) -> Array:
        context.q, context.v = y[: q.size], y[q.size :]
        qdot = tree.map_velocity_to_qdot(context, context.v)
        return np.concatenate([qdot, tree.calc_forward_dynamics(context)])

    result = solve_ivp(
        rate, (0, end), np.concatenate([q, v]), "DOP853", rtol=1e-10, atol=1e-12, events=events
    )
    assert result.success
    return result


def ball(dissipation: float, gravity: float = 0.0, stiffness: float = 5e4) -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(MASS, 0.1)))
    tree.add_joint(mbt.PrismaticJoint, "fall", tree.world_body, None, body, None, axis=[0, 0, 1])
    tree.add_force_element(
        mbt.PointContact(
            body, [0, 0, -0.1], stiffness=stiffness, dissipation=dissipation, static_friction=0.5
        )
    )
    tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -gravity]))
    tree.finalize()
    return tree


@pytest.mark.parametrize("speed", [0.2, 2.0])
@pytest.mark.parametrize("dissipation", [0.0, 0.3, 3.0])
def test_a_ball_leaves_with_the_share_of_its_speed_that_is_known_exactly(
    dissipation: float, speed: float
) -> None:
    tree = ball(dissipation)
    # From touching the plane until it is back there.
    result = move(tree, [0.1], [-speed], 1.0, stop=lambda q, v: 0.1 - 1e-13 - q[0] if v[0] > 0 else 1.0)
    leaving = result.y[1, -1]
    assert result.t[-1] < 1.0
    expected = restitution(dissipation, speed) if dissipation else 1.0
    assert leaving / speed == pytest.approx(expected, rel=1e-8)


def test_restitution_at_low_speed_is_what_the_documentation_says() -> None:
    assert restitution(0.3, 1e-3) == pytest.approx(1 - 2 / 3 * 0.3e-3, abs=1e-7)


def test_a_dropped_ball_rises_by_its_restitution() -> None:
    tree = ball(0.3, G, stiffness=5e7)
    height = 0.5
    impact = move(tree, [0.1 + height], [-1e-9], 2.0, stop=lambda q, v: q[0] - 0.1)
    speed = -impact.y[1, -1]
    assert speed == pytest.approx(np.sqrt(2 * G * height), rel=1e-9)
    top = move(tree, impact.y[:1, -1], impact.y[1:, -1], 1.0, stop=lambda q, v: v[0] if q[0] > 0.1 else 1.0)
    e = restitution(0.3, speed)
    # Gravity also acts during the impact, which is brief because the ground is stiff.
    assert top.y[0, -1] - 0.1 == pytest.approx(e**2 * height, rel=2e-3)


def block(slope: float, c: ContactNumbers) -> tuple[mbt.MultibodyTree, mbt.PointContact]:
    tree = mbt.MultibodyTree()
    plane = tree.add_frame(
        mbt.FixedOffsetFrame("plane", tree.world_body, mbt.math.make_pose(rpy=[0, slope, 0]))
    )
    body = tree.add_body(mbt.RigidBody("block", BOX))
    contact = tree.add_force_element(mbt.PointContact(body, CORNERS, plane, **c._asdict()))
    tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -G]))
    tree.finalize()
    return tree, contact


def rest_on(slope: float, stiffness: float) -> Array:
    """The pose of the block, as deep in the slope as its weight presses it."""
    depth = MASS * G * np.cos(slope) / (4 * stiffness)
    X = mbt.math.make_pose(rpy=[0, slope, 0])
    p = X[:3, :3] @ [0, 0, 0.1 - depth]
    return np.concatenate([mbt.math.matrix_to_quaternion(X[:3, :3]), p])


def downhill(slope: float) -> Array:
    return np.array([np.cos(slope), 0, -np.sin(slope)])


def test_a_block_on_a_slope_sticks() -> None:
    slope, c = np.arctan(0.3), ContactNumbers(2e3, 1.0, 0.8, 0.6, 0.05)
    tree, contact = block(slope, c)
    result = move(tree, rest_on(slope, c.stiffness), np.zeros(6), 1.0)
    creep = result.y[-3:, -1] @ downhill(slope)
    # It creeps at the speed at which friction holds it, a fifth of the stiction speed.
    assert friction_coefficient(c, creep) == pytest.approx(0.3, rel=1e-3)
    assert creep < 0.21 * c.stiction_speed
    forces = contact.calc_contact_forces(state_of(tree, result.y[:, -1]))
    np.testing.assert_allclose(forces.sum(axis=0), [0, 0, MASS * G], rtol=0, atol=1e-2)


def test_a_block_on_a_steep_slope_slides() -> None:
    slope, c = np.arctan(0.6), ContactNumbers(2e3, 1.0, 0.3, 0.2, 0.05)
    tree, _ = block(slope, c)
    settled = move(tree, rest_on(slope, c.stiffness), np.zeros(6), 0.5)
    q, v = settled.y[:7, -1], settled.y[7:, -1]
    speed = v[3:] @ downhill(slope)
    assert speed > 3 * c.stiction_speed
    vdot = mbt.functional.forward_dynamics(tree, q, v, np.zeros(6))
    expected = G * (np.sin(slope) - c.dynamic_friction * np.cos(slope)) * downhill(slope)
    np.testing.assert_allclose(vdot[3:], expected, atol=2e-3)
    # From rest, minus the speed lost before it slides fast.
    assert speed == pytest.approx(0.5 * G * (np.sin(slope) - 0.2 * np.cos(slope)), rel=0.02)


def state_of(tree: mbt.MultibodyTree, y: Array) -> mbt.Context:
    context = tree.create_default_context()
    context.q, context.v = y[: tree.num_positions], y[tree.num_positions :]
    return context


@pytest.mark.parametrize("moves", [False, True], ids=["on World", "on a tray"])
def test_energy_and_its_losses_add_up(moves: bool) -> None:
    """A tumbling box on the ground, or on a tray that it pushes."""
    tree = mbt.MultibodyTree()
    tray = None
    if moves:
        tray = tree.add_body(mbt.RigidBody("tray", BOX))
        X = mbt.math.make_pose(rpy=[0.1, 0.2, 0.3])
        lift = tree.add_joint(mbt.PrismaticJoint, "lift", tree.world_body, X, tray, None, axis=[0, 0, 1])
        tree.add_force_element(mbt.PrismaticSpring(lift, 0.0, 400.0))
    body = tree.add_body(mbt.RigidBody("box", BOX))
    contact = mbt.PointContact(
        body, CORNERS, tray, stiffness=900.0, dissipation=0.4, static_friction=0.6, dynamic_friction=0.4,
        stiction_speed=0.1,
    )  # fmt: skip
    tree.add_force_element(contact)
    tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -G]))
    tree.finalize()
    context = tree.create_default_context()
    start = body.inboard_joint.position_start
    q, v = context.q.copy(), np.linspace(-1.0, 1.0, tree.num_velocities)
    q[start : start + 7] = [0.9, 0.3, 0.2, np.sqrt(0.06), 0, 0, 0.3]

    def state(y: Array) -> mbt.Context:
        context.q, context.v = y[: q.size], y[q.size : q.size + v.size]
        return context

    def rate(t: float, y: Array) -> Array:
        c = state(y)
        power = tree.calc_non_conservative_power(c)
        return np.concatenate([tree.map_velocity_to_qdot(c, c.v), tree.calc_forward_dynamics(c), [power]])

    y0 = np.concatenate([q, v, [0.0]])
    result = solve_ivp(rate, (0, 0.6), y0, "DOP853", rtol=1e-9, atol=1e-11)
    energies = [tree.calc_potential_energy(state(y)) + tree.calc_kinetic_energy(state(y)) for y in result.y.T]
    # The work of dissipation, which is not negligible.
    assert result.y[-1, -1] < -0.5
    np.testing.assert_allclose(energies - result.y[-1], energies[0], atol=1e-6)


def quadruped() -> tuple[mbt.MultibodyTree, list[mbt.PointContact]]:
    """A trunk on four legs with three joints each, the size of a 2.5 kg dog; one point per foot."""
    tree = mbt.MultibodyTree()
    trunk = tree.add_body(mbt.RigidBody("trunk", mbt.SpatialInertia.solid_box_with_mass(1.2, 0.4, 0.2, 0.06)))
    feet = []
    for x in (-0.2, 0.2):
        for y in (-0.15, 0.15):
            inboard: Any = trunk
            name = f"{x}_{y}"
            for part, axis, p in (
                ("hip", [1, 0, 0], [x, y, 0]),
                ("thigh", [0, 1, 0], [0, 0, 0]),
                ("shank", [0, 1, 0], [0, 0, -0.16]),
            ):
                M = mbt.SpatialInertia.solid_box_with_mass(0.1, 0.03, 0.03, 0.16).shift([0, 0, 0.08])
                outboard = tree.add_body(mbt.RigidBody(f"{part}{name}", M))
                joint = tree.add_joint(
                    mbt.RevoluteJoint, f"{part}{name}", inboard, mbt.math.make_pose(p), outboard, None, axis
                )
                joint.set_default_damping_vector([0.05])
                inboard = outboard
            ends = mbt.PointContact(
                inboard,
                [0, 0, -0.16],
                stiffness=3e3,
                dissipation=1.0,
                static_friction=0.9,
                stiction_speed=0.05,
            )
            feet.append(tree.add_force_element(ends))
    tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -G]))
    tree.finalize()
    return tree, feet


def test_a_quadruped_lands_and_stands() -> None:
    tree, feet = quadruped()
    legs = np.tile([0.0, 0.7, -1.4], 4)
    weight = G * tree.calc_total_mass(tree.create_default_context())
    q = np.concatenate([[1, 0, 0, 0, 0, 0, 0.32 * np.cos(0.7) + 0.02], legs])
    v = np.zeros(18)
    dt = 2e-4
    for _ in range(6000):
        tau = np.concatenate([np.zeros(6), 15.0 * (legs - q[7:]) - 0.3 * v[6:]])
        v = v + dt * mbt.functional.forward_dynamics(tree, q, v, tau)
        q = mbt.functional.integrate_positions(tree, q, v, dt)
    context = tree.create_default_context()
    context.q, context.v = q, v
    forces = np.concatenate([foot.calc_contact_forces(context) for foot in feet])
    np.testing.assert_allclose(forces.sum(axis=0), [0, 0, weight], atol=5e-3 * weight)
    # Upright, level, at rest; every foot carries a share and sticks.
    assert abs(q[1:4]).max() < 0.05
    assert abs(v).max() < 0.02
    assert forces[:, 2].min() > 0.15 * weight
    depths = np.concatenate([foot.calc_depths(context) for foot in feet])
    np.testing.assert_allclose(depths, forces[:, 2] / 3e3, rtol=0.01)


def test_blocks_of_a_batch_slide_as_far_as_their_friction_lets_them() -> None:
    """In one rollout, with a friction coefficient for each sample."""
    tree, contact = block(0.0, ContactNumbers(2e3, 1.0, 0.5, 0.5, 0.01))
    context = tree.create_default_context(9)
    friction = np.linspace(0.2, 0.6, 9)
    contact.set_friction(context, friction)
    # Low, so that it does not tip: the distance does not depend on the mass centre.
    context.q, context.v = rest_on(0.0, 2e3), [0, 0, 0, 1.0, 0, 0]
    q, v = tree.rollout(context, np.zeros((6000, 6)), 1e-4, every=6000)
    way = q[:, -1, 4] - q[:, 0, 4]
    np.testing.assert_allclose(way, 1.0 / (2 * friction * G), rtol=0.02)
    assert abs(v[:, -1, 3:]).max() < 0.01


def test_friction_of_the_stiffest_contact_of_implicit_steps() -> None:
    """Stiffer contacts rest at depths lost in rounding, and are refused."""
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", BOX))
    feet = tree.add_force_element(
        mbt.PointContact(box, CORNERS, stiffness=1e4, dissipation=1.0, static_friction=0.8)
    )
    tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -G]))
    tree.finalize()
    context = tree.create_default_context()
    context.q, context.v = [1, 0, 0, 0, 0, 0, 0.1], [0, 0, 0, 1.0, 0, 0]
    feet.set_stiffness(context, 1e14 * MASS)
    motion = mbt.simulate(tree, context, 0.5, 1e-3, method="implicit")
    # One step without friction, in which the points land.
    assert motion.q[-1, 4] == pytest.approx(1.0 / (2 * 0.8 * G) + 1e-3, rel=0.02)
    batch = tree.create_default_context(2)
    for name, most, unit in (("stiffness", 1e14 * MASS, "N/m"), ("dissipation", 1e12, "s/m")):
        message = f"{name}: expected at most {most:.3g} {unit} in implicit steps of this model, got "
        for own, numbers in ((context.clone(), 1.1 * most), (batch.clone(), [1.0, 1.1 * most])):
            getattr(feet, f"set_{name}")(own, numbers)
            with pytest.raises(mbt.ArgumentValueError, match=re.escape(message)):
                mbt.simulate(tree, own, 0.01, method="implicit")
            mbt.simulate(tree, batch, 0.01, method="implicit")
    stiff = tree.edit()
    stiff.force_elements[0].set_default_stiffness(1e200)
    stiff.finalize()
    with pytest.raises(mbt.ArgumentValueError, match=r"stiffness: expected at most 2e\+14 N/m"):
        mbt.functional.step(stiff, context.q, context.v, np.zeros(6), 1e-3, method="implicit")
