"""Robots that stand and are pushed, in implicit steps of a millisecond, under a controller by tasks.

    python benchmarks/standing.py [--go1 FILE.urdf] [--h1 FILE.urdf] [--ticks 100000] [--push 0.03]

Each robot stands on its feet by contact points of the simulation (`PointContact`), sways with its trunk, and
is pushed for the first 0.2 s of each half second, in a random direction, with a fraction of its weight. Ticks
with an infeasible program are counted. The largest distance of the trunk from its place and its velocity at
the end show whether the robot stood. Without files, the robots are the quadruped and the biped of
`control.py`.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import mbt
from control import DT, Robot, Workload, biped, go1, h1, quadruped
from mbt import functional


def stand(robot: Robot, num_ticks: int, push: float) -> None:
    """Simulate one robot, and print a summary."""
    work = Workload(robot, 1)
    tree, controller = work.tree, work.make_controller()
    world = tree.edit()
    for link, points in robot.feet.items():
        frame = world.get_frame_by_name(link)
        world.add_force_element(
            mbt.PointContact(frame, points, stiffness=1e5, dissipation=1.0, static_friction=0.9)
        )
    world.finalize()
    q, v = work.q[0].copy(), np.zeros(tree.num_velocities)
    heights = [functional.frame_pose(tree, q, link) @ _append_one(p) for link, p in robot.feet.items()]
    q[6] -= min(float(of_foot[2].min()) for of_foot in heights)
    X_WB = functional.frame_pose(tree, q, robot.base)
    weight = 9.81 * sum(body.default_mass for body in tree.bodies[1:])
    rng, pushed = np.random.default_rng(0), np.zeros_like(v)
    infeasible, farthest, most, result = 0, 0.0, 0, None
    start = time.perf_counter()
    for k in range(num_ticks):
        if k % 500 == 0:
            pushed[3:6] = push * weight * rng.normal(size=3)
        if k % 500 == 200:
            pushed[:] = 0.0
        sway = np.array([0.01, 0.02, 0.02]) * np.sin(np.array([3.0, 4.0, 5.0]) * DT * k)
        goals = [X_WB[:3, :3], X_WB[:3, 3] + sway, None]
        result = controller.solve(q, v, goals, out=result)
        infeasible += result.status != "optimal"
        most = max(most, result.num_iterations)
        q, v = functional.step(world, q, v, result.tau + pushed, DT, method="implicit")
        moved = functional.frame_pose(tree, q, robot.base)[:3, 3] - X_WB[:3, 3]
        farthest = max(farthest, float(np.linalg.norm(moved)))
    seconds = time.perf_counter() - start
    print(
        f"{robot.name}: {num_ticks} ticks in {seconds:.0f} s, {infeasible} infeasible; trunk at most "
        f"{farthest:.3f} m from its place, velocities at the end at most {np.abs(v).max():.3f}, at most "
        f"{most} steps of the solver in a tick",
        flush=True,
    )


def _append_one(points: np.ndarray) -> np.ndarray:
    """Return points (n, 3) as homogeneous columns (4, n)."""
    return np.vstack([points.T, np.ones(len(points))])


def main() -> None:
    """Simulate the robots of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--go1", metavar="FILE")
    parser.add_argument("--h1", metavar="FILE")
    parser.add_argument("--ticks", type=int, default=100_000)
    parser.add_argument("--push", type=float, default=0.03, help="standard deviation, relative to the weight")
    options = parser.parse_args()
    mbt.set_num_threads(1)
    robots = [make(path) for make, path in ((go1, options.go1), (h1, options.h1)) if path]
    for robot in robots or [quadruped(), biped()]:
        stand(robot, options.ticks, options.push)


if __name__ == "__main__":
    main()
