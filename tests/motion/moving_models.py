"""Models whose motion is known, or that have no symmetry to hide errors."""

from __future__ import annotations

from typing import Any

import numpy as np

import mbt

__all__ = ["falling_body", "pendulum", "state_of", "tumbling_bodies", "with_contact_and_friction"]


def pendulum(damping: float = 0.0, **keywords: Any) -> mbt.MultibodyTree:
    """A point of 2 kg on a rod of 0.5 m, turning about y."""
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0, 0, -0.5])))
    y = [0, 1, 0]
    hinge = tree.add_joint(
        mbt.RevoluteJoint, "hinge", tree.world_body, None, rod, None, axis=y, damping=damping
    )
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.add_joint_actuator("motor", hinge, **keywords)
    tree.finalize()
    return tree


def falling_body(gravity: float = 9.81) -> mbt.MultibodyTree:
    """A free body with three different moments of inertia."""
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.make_from_central_inertia(1.5, [0, 0, 0], np.diag([0.1, 0.2, 0.25]))
    tree.add_body(mbt.RigidBody("brick", inertia))
    if gravity:
        tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -gravity]))
    tree.finalize()
    return tree


def tumbling_bodies(damping: float = 0.0, *, user_written: bool = False) -> mbt.MultibodyTree:
    """A free body with another on a ball joint and a third on a hinge, all without symmetry."""
    tree = mbt.MultibodyTree()
    bodies = [
        tree.add_body(
            mbt.RigidBody(name, mbt.SpatialInertia.make_from_central_inertia(mass, p, np.diag(inertia)))
        )
        for name, mass, p, inertia in (
            ("first", 1.3, [0.1, 0.2, -0.1], [0.1, 0.2, 0.25]),
            ("second", 0.7, [0.1, 0.0, -0.3], [0.03, 0.02, 0.025]),
            ("third", 0.4, [0.0, 0.1, -0.2], [0.03, 0.02, 0.015]),
        )
    ]
    X_PF = mbt.math.make_pose([0.1, 0.2, 0.3], rpy=[0.1, 0.2, 0.3])
    tree.add_joint(mbt.BallRpyJoint, "ball", bodies[0], X_PF, bodies[1], None, damping=damping)
    hinge = tree.add_joint(
        mbt.RevoluteJoint, "hinge", bodies[1], X_PF, bodies[2], None, axis=[1, 2, 3], damping=damping
    )
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.add_joint_actuator("motor", hinge, effort_limit=0.3)
    if user_written:
        tree.add_force_element(Wind())
    tree.finalize()
    return tree


class Wind(mbt.ForceElement):
    """A force on the second body that grows linearly with time."""

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        forces.body_forces[..., 2, 3] += 2.0 * np.asarray(context.time)


def state_of(tree: mbt.MultibodyTree, seed: int = 0) -> Any:
    """A Context with a generic state."""
    rng = np.random.default_rng(seed)
    context = tree.create_default_context()
    context.q = tree.random_positions(rng)
    context.v = rng.normal(size=tree.num_velocities)
    return context


def with_contact_and_friction(tree: mbt.MultibodyTree) -> mbt.MultibodyTree:
    """Return the tree with dry friction, and points of its last body deep in a tilted plane of World."""
    more = tree.edit()
    tilted = more.add_frame(
        mbt.FixedOffsetFrame(
            "slope", more.world_frame, mbt.math.make_pose([0.1, -0.2, 4.0], rpy=[0.3, 0.4, 0.5])
        )
    )
    more.add_force_element(
        mbt.PointContact(
            more.bodies[-1], [[0.2, 0.1, -0.3], [-0.1, 0.0, 0.3]], stiffness=300.0, dissipation=0.02,
            static_friction=0.9, dynamic_friction=0.3, stiction_speed=0.8, half_space_frame=tilted,
        )
    )  # fmt: skip
    for joint in more.joints:
        if joint.num_velocities == joint.num_positions == 1:
            more.add_force_element(mbt.JointFriction(joint, 0.2, 0.5))
    more.finalize()
    return more
