"""A delta robot draws a circle: three arms on the base move a platform by six rods that turn freely.

    python examples/delta_robot.py [--seconds 1] [--steps 500]

The rods are distance constraints. For the desired poses of the platform, `assemble` finds the angles of the
arms, for all instants at once; the motor torques follow from the equations of motion and the constraints. A
simulation with only these torques shows that they are right.
"""

from __future__ import annotations

import argparse

import numpy as np

import mbt

ARM, ROD, BASE, PLATFORM, WIDTH = 0.25, 0.6, 0.15, 0.06, 0.05  # lengths [m]
CENTER, RADIUS = np.array([0.0, 0.0, -0.55]), 0.12  # of the circle [m]


def build() -> mbt.MultibodyTree:
    """Return the robot. The platform is a free body: the rods leave it three translations."""
    tree = mbt.MultibodyTree()
    plate = mbt.SpatialInertia.solid_cylinder_with_mass(0.4, PLATFORM, 0.02, [0.0, 0.0, 1.0])
    platform = tree.add_body(mbt.RigidBody("platform", plate))
    tree.add_joint(mbt.QuaternionFloatingJoint, "platform", tree.world_body, None, platform, None)
    for i, angle in enumerate((0.0, 2.0 * np.pi / 3.0, -2.0 * np.pi / 3.0)):
        turn = mbt.math.make_pose(rpy=[0.0, 0.0, angle])
        bar = mbt.SpatialInertia.solid_box_with_mass(0.3, ARM, 0.03, 0.03).shift([-ARM / 2.0, 0.0, 0.0])
        arm = tree.add_body(mbt.RigidBody(f"arm_{i}", bar))
        shoulder = turn @ mbt.math.make_pose([BASE, 0.0, 0.0])
        tree.add_joint(mbt.RevoluteJoint, f"motor_{i}", tree.world_body, shoulder, arm, None, [0.0, 1.0, 0.0])
        for side in (-WIDTH, WIDTH):
            p_BQ = turn[:3, :3] @ [PLATFORM, side, 0.0]
            name = f"rod_{i}_{'left' if side < 0.0 else 'right'}"
            tree.add_constraint(mbt.DistanceConstraint(name, arm, [ARM, side, 0.0], platform, p_BQ, ROD))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def circle(time: np.ndarray, seconds: float) -> tuple[np.ndarray, ...]:
    """Return position, velocity and acceleration of the platform, each of shape (n, 3)."""
    rate = 2.0 * np.pi / seconds
    c, s, zero = np.cos(rate * time), np.sin(rate * time), np.zeros_like(time)
    p, v, a = (
        RADIUS * rate**k * np.stack(parts, axis=-1)
        for k, parts in enumerate([(c, s, zero), (-s, c, zero), (-c, -s, zero)])
    )
    return CENTER + p, v, a


def main() -> None:
    """Plan, simulate, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--steps", type=int, default=500)
    options = parser.parse_args()
    tree, dt = build(), options.seconds / options.steps
    platform = tree.get_joint_by_name("platform")
    of_platform = slice(platform.velocity_start, platform.velocity_start + 6)
    motors = [joint.velocity_start for joint in tree.joints if joint is not platform]

    # Positions and velocities of the arms in the middle of each step, because the torque is constant during a
    # step.
    time = dt * (np.arange(options.steps + 1) - 0.5)
    time[0] = 0.0
    p, v_p, a_p = circle(time, options.seconds)
    plan = tree.create_default_context(batch_shape=time.shape)
    q, v, vdot = plan.q.copy(), plan.v.copy(), plan.v.copy()
    q[:, platform.position_start + 4 : platform.position_start + 7] = p
    v[:, of_platform.start + 3 : of_platform.stop], vdot[:, of_platform.start + 3 : of_platform.stop] = (
        v_p,
        a_p,
    )
    plan.q, plan.v = q, v
    tree.assemble(plan, fixed=[platform])

    # Accelerations of the arms: J vdot + Jdot v = 0. Torques: ID(q, v, vdot) = S tau + J' multipliers.
    J, bias = tree.calc_constraint_jacobian(plan), tree.calc_constraint_bias(plan)
    known = (J @ vdot[..., None])[..., 0] + bias
    vdot[:, motors] = -(np.linalg.pinv(J[:, :, motors]) @ known[..., None])[..., 0]
    needed = tree.calc_inverse_dynamics(plan, vdot, include_force_elements=True)
    S = np.broadcast_to(np.eye(tree.num_velocities)[:, motors], (len(time), tree.num_velocities, len(motors)))
    both = np.concatenate([S, np.swapaxes(J, 1, 2)], axis=2)
    tau = np.zeros_like(needed)
    tau[:, motors] = np.linalg.solve(both, needed[..., None])[:, : len(motors), 0]
    print(f"arms turn from {plan.q[:, -3:].min():+.2f} to {plan.q[:, -3:].max():+.2f} rad,", end=" ")
    print(f"motors need {np.abs(tau).max():.2f} N m")

    start = tree.create_default_context()
    start.q, start.v = plan.q[0], plan.v[0]
    trajectory = mbt.simulate(tree, start, options.seconds, dt, method="rk4", control=tau[1:])
    reached = trajectory.q[:, platform.position_start + 4 : platform.position_start + 7]
    error = np.linalg.norm(reached - circle(trajectory.time, options.seconds)[0], axis=-1).max()
    print(f"the platform keeps to the circle within {1e6 * error:.1f} um")
    errors = mbt.functional.constraint_errors(tree, trajectory.q)
    print(f"the rods keep their lengths within {np.abs(errors).max():.0e} m")


if __name__ == "__main__":
    main()
