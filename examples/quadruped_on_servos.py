"""A quadruped on servos trots in place, and is pushed.

    python examples/quadruped_on_servos.py [--seconds 6] [--push 120] [--record trot.html]

Each joint has a servo with a limited torque; feet are points with friction. Steps of 5 ms are implicit, so
that servos, limits and contact are stable. The gait is a function of time: diagonal pairs of legs bend in
turn, without feedback.
"""

from __future__ import annotations

import argparse

import numpy as np

import mbt

DT = 5e-3  # [s]
LINK = 0.25  # length of thigh and shin [m]
CROUCH = np.array(
    [[side * 0.12, 0.85, -1.4] for side in (1, -1, 1, -1)]
).ravel()  # hip, thigh, knee of each leg
FREQUENCY, LIFT = 3.0, 0.35  # of the gait [Hz], [rad]
FIRST_PUSH, PUSHED = 2.5, 0.1  # start of the first push, duration of each [s]


def build() -> mbt.MultibodyTree:
    """Return the robot: a trunk on four legs of three joints."""
    tree = mbt.MultibodyTree()
    trunk = tree.add_body(
        mbt.RigidBody("trunk", mbt.SpatialInertia.solid_box_with_mass(10.0, 0.5, 0.25, 0.12))
    )
    small = mbt.SpatialInertia.solid_sphere_with_mass(0.5, 0.05)
    rod = mbt.SpatialInertia(mass=0.5, p_PScm_E=[0, 0, -LINK / 2], G_SP_E=np.diag([0.021, 0.021, 1e-4]))
    for name, x, y in (
        ("front_left", 0.2, 0.12),
        ("front_right", 0.2, -0.12),
        ("hind_left", -0.2, 0.12),
        ("hind_right", -0.2, -0.12),
    ):
        parent = trunk
        for part, axis, place, inertia in (
            ("hip", [1, 0, 0], [x, y, 0], small),
            ("thigh", [0, 1, 0], [0, 0, 0], rod),
            ("shin", [0, 1, 0], [0, 0, -LINK], rod),
        ):
            link = tree.add_body(mbt.RigidBody(f"{name}_{part}", inertia))
            X_PF = mbt.math.make_pose(place)
            joint = tree.add_joint(mbt.RevoluteJoint, link.name, parent, X_PF, link, None, axis=axis)
            tree.add_joint_actuator(link.name, joint, effort_limit=45.0, stiffness=150.0, damping=4.0)
            parent = link
        foot = [0, 0, -LINK]
        tree.add_force_element(
            mbt.PointContact(link, foot, stiffness=2e4, dissipation=1.0, static_friction=0.8)
        )
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def posture(time: float) -> np.ndarray:
    """Return the servo targets: after 0.8 s the legs of one diagonal bend, then those of the other."""
    wave = LIFT * np.sin(2 * np.pi * FREQUENCY * time) * (time > 0.8)
    first, second = max(wave, 0.0), max(-wave, 0.0)
    bend = np.array([first, second, second, first])
    return CROUCH + np.column_stack([0 * bend, bend, -2 * bend]).ravel()


def push_at(time: float, force: float) -> np.ndarray:
    """Return the force on the trunk [N]: forwards, and 1.5 s later from the side."""
    if FIRST_PUSH <= time < FIRST_PUSH + PUSHED:
        return np.array([force, 0.0, 0.0])
    if FIRST_PUSH + 1.5 <= time < FIRST_PUSH + 1.5 + PUSHED:
        return np.array([0.0, force, 0.0])
    return np.zeros(3)


def trot(tree: mbt.MultibodyTree, seconds: float, force: float) -> np.ndarray:
    """Return the positions after each step, starting with a drop of 20 cm."""
    context = tree.create_default_context()
    context.q = [1, 0, 0, 0, 0, 0, 2 * LINK * np.cos(CROUCH[1]) + 0.2, *CROUCH]
    times = DT * np.arange(round(seconds / DT))
    tau = np.zeros((len(times), tree.num_velocities))
    tau[:, 3:6] = [push_at(time, force) for time in times]
    targets = np.array([posture(time) for time in times])
    motion = mbt.simulate(
        tree, context, len(times) * DT, DT, method="implicit", control=tau, servo_positions=targets
    )
    return motion.q


def main() -> None:
    """Let it trot, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--push", type=float, default=120.0, help="force of the pushes, 0.1 s each [N]")
    parser.add_argument("--record", metavar="PAGE", help="write a page that plays the motion")
    options = parser.parse_args()
    tree = build()
    q = trot(tree, options.seconds, options.push)
    tilt = np.degrees(2 * np.arccos(np.minimum(abs(q[:, 0]), 1.0)))
    height, late = q[:, 6], len(q) // 3
    print(f"trunk between {height[late:].min():.3f} and {height[late:].max():.3f} m after {late * DT:.1f} s")
    print(f"tilts by {tilt.max():.1f} degrees at most, by {tilt[-1]:.1f} at the end")
    print(f"has gone {q[-1, 4]:+.2f} m forwards and {q[-1, 5]:+.2f} m to the left")
    print("fell" if height[-1] < 0.2 else "did not fall")
    if options.record:
        mbt.record(tree, q, options.record, dt=DT)


if __name__ == "__main__":
    main()
