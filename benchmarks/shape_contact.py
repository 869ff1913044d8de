"""Contact of shapes beside contact of points: implicit steps of a standing quadruped.

    python benchmarks/shape_contact.py GO1.urdf [--steps 400] [--rounds 15]

The robot, a Unitree Go1 from its URDF file, is held by servos and stands in steps of 2 ms: on points in the
middle of its feet, at the depth of the bottom of the balls; on the balls of its feet; with all its shapes on
the floor; and with all its shapes on the floor and on one another. All take turns, with one thread. Printed
are the minimum and median CPU time per step in microseconds, and the median of the ratios to contact of
points in the same round.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import mbt
from mbt import functional

DT, RADIUS, FEET = 2e-3, 0.02, ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
STANCE = {"hip": 0.0, "thigh": 0.8, "calf": -1.6}


def load(path: str, with_points: bool) -> mbt.MultibodyTree:
    """Return the robot, with a servo on each joint of its legs."""
    tree = mbt.load_model(path, base="floating").edit()
    for joint in tree.joints:
        if joint.num_velocities == 1:
            tree.add_joint_actuator(f"{joint.name} servo", joint, stiffness=100.0, damping=4.0)
    for foot in FEET if with_points else ():
        frame = tree.get_frame_by_name(foot)
        tree.add_force_element(
            mbt.PointContact(frame, [[0, 0, -RADIUS]], stiffness=1e5, dissipation=10.0, static_friction=0.8)
        )
    tree.finalize()
    return tree


def make_call(tree: mbt.MultibodyTree, steps: int, contacts: mbt.ShapeContact | None) -> Callable[[], Any]:
    """Return a function that simulates the steps."""
    q = tree.default_positions.copy()
    targets = np.zeros(tree.num_actuators)
    for i in range(tree.num_actuators):
        actuator = tree.get_joint_actuator(i)
        kind = next(name for name in STANCE if name in actuator.joint.name)
        targets[i] = q[actuator.joint.position_start] = STANCE[kind]
    heights = [functional.frame_pose(tree, q, foot)[2, 3] for foot in FEET]
    q[6] += RADIUS - min(heights)
    context = tree.create_default_context()
    context.servo_positions = targets
    context.q = q
    tau = np.zeros((steps, tree.num_velocities))
    options: dict[str, Any] = {} if contacts is None else {"contacts": contacts}

    def run() -> Any:
        return tree.rollout(context, tau, DT, method="implicit", **options)

    return run


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    mbt.set_num_threads(1)
    on_points, tree = load(options.file, True), load(options.file, False)
    floor = mbt.Shape("plane", name="floor")
    scene = mbt.CollisionModel(tree, obstacles=[floor])
    owners = sorted({shape.owner for shape in scene._shapes} - {"floor"})
    scenes = {
        "feet on the floor": mbt.CollisionModel(tree, [(foot, "floor") for foot in FEET], obstacles=[floor]),
        "all on the floor": mbt.CollisionModel(tree, [(x, "floor") for x in owners], obstacles=[floor]),
        "all pairs": scene,
    }
    calls = {"points": make_call(on_points, options.steps, None)}
    for name, each in scenes.items():
        calls[f"{name} ({each.num_pairs})"] = make_call(tree, options.steps, mbt.ShapeContact(each))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(options.rounds):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(1e6 * (time.process_time() - start) / options.steps)
    for name, own in times.items():
        ratio = np.median(np.divide(own, times["points"]))
        print(f"{name:24} {min(own):7.2f} {np.median(own):7.2f} us   {ratio:.2f}")


if __name__ == "__main__":
    main()
