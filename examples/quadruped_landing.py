"""A quadruped falls on its feet, and comes to stand.

    python examples/quadruped_landing.py [--height 0.3] [--seconds 2] [--plot landing.png]

A trunk on four legs of two links; the feet are contact points. A motor on each joint emulates a spring and a
damper, within its torque limit.
"""

from __future__ import annotations

import argparse

import numpy as np

import mbt

LINK = 0.25  # length of thigh and shin [m]
CROUCH = np.tile([0.7, -1.4], 4)  # hip and knee of each leg [rad]
STIFFNESS, DAMPING = 150.0, 5.0  # of the legs [N m/rad, N m s/rad]
GROUND = {"stiffness": 2e4, "dissipation": 1.0, "static_friction": 0.8, "stiction_speed": 0.1}


def add_leg(tree: mbt.MultibodyTree, trunk: mbt.RigidBody, name: str, hip: list[float]) -> mbt.PointContact:
    """Add thigh, shin, motors and foot; return the contact element of the foot."""
    rod = mbt.SpatialInertia(mass=0.5, p_PScm_E=[0, 0, -LINK / 2], G_SP_E=np.diag([0.021, 0.021, 1e-4]))
    thigh = tree.add_body(mbt.RigidBody(f"{name}_thigh", rod))
    shin = tree.add_body(mbt.RigidBody(f"{name}_shin", rod))
    for joint, parent, child, place in (
        ("hip", trunk, thigh, hip),
        ("knee", thigh, shin, [0, 0, -LINK]),
    ):
        X_PF = mbt.math.make_pose(place)
        hinge = tree.add_joint(
            mbt.RevoluteJoint, f"{name}_{joint}", parent, X_PF, child, None, axis=[0, 1, 0], damping=0.05
        )
        tree.add_joint_actuator(f"{name}_{joint}", hinge, effort_limit=45.0)
    return tree.add_force_element(mbt.PointContact(shin, [0, 0, -LINK], **GROUND))


def build() -> tuple[mbt.MultibodyTree, list[mbt.PointContact]]:
    """Return the robot, and its feet."""
    tree = mbt.MultibodyTree()
    box = mbt.SpatialInertia.solid_box_with_mass(10.0, 0.5, 0.25, 0.12)
    trunk = tree.add_body(mbt.RigidBody("trunk", box))
    feet = [
        add_leg(tree, trunk, f"{end}_{side}", [x, y, 0.0])
        for end, x in (("front", 0.2), ("hind", -0.2))
        for side, y in (("left", 0.12), ("right", -0.12))
    ]
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree, feet


def hold(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the torques that pull the legs to the crouch."""
    return np.append(np.zeros(6), STIFFNESS * (CROUCH - q[7:]) - DAMPING * v[6:])


def main() -> None:
    """Let it fall, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--height", type=float, default=0.3, help="of the feet above the ground [m]")
    parser.add_argument("--seconds", type=float, default=2.0, help="after touchdown")
    parser.add_argument("--plot", metavar="OUT", help="draw the landing, with matplotlib")
    options = parser.parse_args()
    tree, feet = build()
    context = tree.create_default_context()
    height = 2 * LINK * np.cos(CROUCH[0]) + options.height
    context.q = [np.cos(0.05), np.sin(0.05), 0, 0, 0, 0, height, *CROUCH]  # tilted by 0.1 rad

    def touches(time: float, q: np.ndarray, v: np.ndarray) -> float:
        now = tree.create_default_context()
        now.q = q
        return max(foot.calc_depths(now)[0] for foot in feet)

    touches.terminal = True  # type: ignore[attr-defined]
    fall = mbt.simulate(tree, context, 2.0, 1e-3, method="rk4", control=hold, events=touches)
    print(f"touches the ground after {fall.time[-1]:.4f} s at {-fall.v[-1, 5]:.2f} m/s")

    # Contact is stiff: use implicit steps, which are the default here.
    landing = mbt.simulate(tree, fall.final_context, options.seconds, control=hold)
    states = tree.create_default_context(len(landing))
    states.q, states.v = landing.q, landing.v
    forces = sum(foot.calc_contact_forces(states).sum(axis=1) for foot in feet)
    weight = 9.81 * tree.calc_total_mass(context)
    print(f"largest force {forces[:, 2].max() / weight:.1f} times its weight of {weight:.0f} N")
    print(f"motors at their limits in {landing.num_limited.max() / landing.num_steps:.1%} of the steps")
    print(f"work of ground, joints and motors {landing.work[-1]:.1f} J")
    print(f"stands: trunk at {landing.q[-1, 6]:.3f} m, feet bear {forces[-1, 2] / weight:.4f} of its weight,")
    print(f"creeping at {abs(landing.v[-1]).max():.1e} rad/s or m/s")
    if options.plot:
        landing.plot().savefig(options.plot)


if __name__ == "__main__":
    main()
