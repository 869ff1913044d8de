"""A four-bar linkage, closed by a ball constraint: a motor turns the crank, the rocker swings.

    python examples/four_bar.py [--seconds 4] [--plot four_bar.png]

Three bars in a chain; the tip of the last one is held on a post.
"""

from __future__ import annotations

import argparse

import numpy as np

import mbt

CRANK, COUPLER, ROCKER, POST = (
    0.2,
    0.5,
    0.4,
    0.5,
)  # lengths, and the distance of the two pins on the ground [m]


def build() -> mbt.MultibodyTree:
    """Return the linkage. Bars lie along the x axes of their frames, and rotate about y."""
    tree = mbt.MultibodyTree()
    inboard, X_PF = tree.world_body, np.eye(4)
    for name, length in (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER)):
        bar = mbt.SpatialInertia.solid_box_with_mass(2.0 * length, length, 0.02, 0.02).shift(
            [-length / 2, 0, 0]
        )
        body = tree.add_body(mbt.RigidBody(name, bar))
        pin = tree.add_joint(
            mbt.RevoluteJoint, f"{name}_pin", inboard, X_PF, body, None, axis=[0, 1, 0], damping=0.01
        )
        if name == "crank":
            tree.add_joint_actuator("motor", pin)
        inboard, X_PF = body, mbt.math.make_pose([length, 0, 0])
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", inboard, X_PF))
    post = tree.add_frame(mbt.FixedOffsetFrame("post", tree.world_body, mbt.math.make_pose([POST, 0, 0])))
    tree.add_constraint(mbt.BallConstraint("closure", post, tip))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def close(crank: float) -> np.ndarray:
    """Return positions that close the loop for a crank angle: two circles intersect."""
    start = CRANK * np.exp(1j * crank)
    way = POST - start
    to_post, length = np.angle(way), abs(way)
    corner = np.arccos((COUPLER**2 + length**2 - ROCKER**2) / (2 * COUPLER * length))
    coupler = to_post + corner
    rocker = np.angle(POST - start - COUPLER * np.exp(1j * coupler))
    # Angles about y go from z to x, in the opposite sense to a drawing of x and z.
    return -np.array([crank, coupler - crank, rocker - coupler])


def main() -> None:
    """Turn the crank, and print the motion of the rocker."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--plot", metavar="OUT", help="draw the motion, with matplotlib")
    options = parser.parse_args()
    tree = build()
    context = tree.create_default_context()
    context.q = close(1.0)

    def control(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([4.0 * (6.0 - v[0]), 0.0, 0.0])  # a motor with a speed controller

    trajectory = mbt.simulate(tree, context, options.seconds, method="rk4", control=control)
    rocker = trajectory.q.sum(axis=1)
    print(f"the crank has turned {trajectory.q[-1, 0] / (2 * np.pi):.1f} times")
    print(f"the rocker swings from {np.ptp(rocker):.3f} rad end to end")
    print(f"largest gap at the post {abs(trajectory.constraint_errors).max():.1e} m")
    print(f"largest drift of the energy {abs(trajectory.energy_drift).max():.1e} J")
    if options.plot:
        trajectory.plot().savefig(options.plot)


if __name__ == "__main__":
    main()
