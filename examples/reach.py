"""An arm reaches for a pose by computed torque, within the limits of its motors.

    python examples/reach.py [--seconds 0.4] [--save reach.npz]

The controller computes the torques that its model needs to follow the path, and corrects the remaining error.
The arm that it moves is a tenth heavier than its model.
"""

from __future__ import annotations

import argparse

import numpy as np

import mbt
from mbt import functional
from mbt.models import model_path

GOAL = (1.2, 0.9, 0.6, -0.4, 0.5, 0.8)  # [rad]
STIFFNESS, DAMPING = 400.0, 40.0  # of the error [1/s^2, 1/s]


def path(share: float, seconds: float, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return position, velocity and acceleration on a minimum-jerk path."""
    s = min(share, 1.0)
    way, speed, push = (
        np.polyval(np.polyder([6.0, -15.0, 10.0, 0.0, 0.0, 0.0], k), s) / seconds**k * (end - start)
        for k in range(3)
    )
    return start + way, speed, push


def main() -> None:
    """Simulate, and print how close the arm came."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--save", metavar="OUT")
    options = parser.parse_args()
    tree = mbt.load_model(model_path("mbt_arm"))
    context = tree.create_default_context()
    for body in tree.bodies[1:]:
        body.set_mass(context, 1.1 * body.default_mass)
    start, end = context.q, np.array(GOAL)

    def control(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        q_wanted, v_wanted, vdot = path(time / options.seconds, options.seconds, start, end)
        vdot = vdot + STIFFNESS * (q_wanted - q) + DAMPING * (v_wanted - v)
        return functional.inverse_dynamics(tree, q, v, vdot)

    trajectory = mbt.simulate(
        tree, context, options.seconds + 0.5, method="rk4", control=control, limit_efforts=True
    )
    used = abs(trajectory.tau).max(axis=0) / tree.effort_upper_limits
    errors = abs(trajectory.q[-1] - end)
    print(f"in {trajectory.num_steps} steps, energy drift {abs(trajectory.energy_drift).max():.1e} J")
    for joint, share, error, count in zip(
        tree.velocity_names, used, errors, trajectory.num_limited, strict=True
    ):
        print(f"{joint:14} {share:5.0%} of its torque, {count:4} steps at the limit, {error:.4f} rad to go")
    if options.save:
        trajectory.save(options.save)


if __name__ == "__main__":
    main()
