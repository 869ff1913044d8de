"""A gripper closes on a box and lifts it, by friction alone.

    python examples/grasp_a_box.py [--mass 0.2] [--friction 0.8]

Two pads slide on a hand, and the hand moves up; servos drive all three. The shapes of pads, box and floor
make contact.
"""

from __future__ import annotations

import argparse

import numpy as np

import mbt

SOLID = mbt.SpatialInertia.solid_box_with_mass
PADS = 0.08  # distance of the pads from the centre when the hand is open [m]


def build(mass: float) -> mbt.MultibodyTree:
    """Return the hand over a box that stands on World."""
    tree = mbt.MultibodyTree()
    hand = tree.add_body(mbt.RigidBody("hand", SOLID(1.0, 0.2, 0.1, 0.05)))
    X_WF = mbt.math.make_pose([0, 0, 0.2])
    lift = tree.add_joint(mbt.PrismaticJoint, "lift", tree.world_body, X_WF, hand, None, axis=[0, 0, 1])
    tree.add_joint_actuator("lift", lift, effort_limit=30.0, stiffness=1000.0, damping=100.0)
    for name, side in (("left", -1.0), ("right", 1.0)):
        pad = tree.add_body(mbt.RigidBody(name, SOLID(0.1, 0.02, 0.04, 0.04)))
        pad.add_collision(mbt.Shape("box", [0.02, 0.04, 0.04]))
        X_HF = mbt.math.make_pose([PADS * side, 0, -0.16])
        slider = tree.add_joint(mbt.PrismaticJoint, name, hand, X_HF, pad, None, axis=[-side, 0, 0])
        tree.add_joint_actuator(name, slider, effort_limit=10.0, stiffness=1000.0, damping=20.0)
    box = tree.add_body(mbt.RigidBody("box", SOLID(mass, 0.06, 0.06, 0.08)))
    box.add_collision(mbt.Shape("box", [0.06, 0.06, 0.08]))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def main() -> None:
    """Close, lift, and print the state of the box."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mass", type=float, default=0.2, help="of the box [kg]")
    parser.add_argument("--friction", type=float, default=0.8)
    options = parser.parse_args()

    tree = build(options.mass)
    scene = mbt.CollisionModel(tree, obstacles=[mbt.Shape("plane", name="floor")])
    contacts = mbt.ShapeContact(scene, options.friction)
    context = tree.create_default_context()
    place = tree.position_names.index("box_qw")
    q = context.q.copy()
    q[place : place + 7] = [1, 0, 0, 0, 0.004, 0, 0.04]  # slightly off centre
    context.q = q
    for what, targets in (("closed", [0, 0.05, 0.05]), ("lifted", [0.1, 0.05, 0.05])):
        context.servo_positions = targets
        motion = mbt.simulate(tree, context, 0.7, 5e-3, method="implicit", contacts=contacts)
        context = motion.final_context
        touching = motion.contacts[-1]
        squeeze = sum(
            force @ normal
            for names, force, normal in zip(touching.names, touching.force_W, touching.n_W, strict=True)
            if names == ("left", "box")
        )
        height = context.q[place + 6] - 0.04
        print(f"{what}: the left pad presses with {squeeze:.1f} N, the box is {1e3 * height:.0f} mm up")
    X_WB = mbt.math.make_pose(quaternion=context.q[place : place + 4])
    tilt = np.rad2deg(np.arccos(np.clip(X_WB[2, 2], -1.0, 1.0)))
    print(
        f"it tilts by {tilt:.2f} degrees, and touches {' and '.join(sorted({n[0] for n in touching.names}))}"
    )


if __name__ == "__main__":
    main()
