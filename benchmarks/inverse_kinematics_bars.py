"""Inverse kinematics of real robots: success, time, and the best results of other solvers.

    python benchmarks/inverse_kinematics_bars.py FOLDER [--goals 1000] [--only NAME]...

FOLDER has robots/ur10, panda, iiwa14, go1 and h1 with their URDFs. One thread; the time of one goal is the
minimum of three calls from Python. Lines that need SciPy or eaik (`pip install eaik urchin`) are left out if
these are not installed.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mbt
from inverse_kinematics import goals_at, is_right, least, limits_of, problem
from mbt import functional
from models import Array

SEEDS = 128
TURN = np.pi
# Name, file, frame, whether limits are narrowed to one turn, whether goals are positions.
ARMS = [
    ("UR10, limits +-pi", "ur10/ur10_robot.urdf", "ee_link", True, False),
    ("UR10", "ur10/ur10_robot.urdf", "ee_link", False, False),
    ("Panda", "panda/panda_arm_hand.urdf", "panda_hand", False, False),
    ("iiwa14", "iiwa14/iiwa14_primitive_collision.urdf", "iiwa_link_ee", False, False),
    ("Go1, a leg", "go1/go1.urdf", "FL_foot", False, True),
    ("H1, an arm", "h1/h1.urdf", "left_elbow_link", False, True),
]


def load(folder: Path, file: str, is_narrow: bool, base: str = "fixed") -> mbt.MultibodyTree:
    """Return a tree, with limits of half a turn to either side if `is_narrow`."""
    text = (folder / file).read_text(encoding="utf-8")
    if is_narrow:
        text = re.sub(r'(lower|upper)="(-?)[\d.]+"', rf'\1="\g<2>{TURN}"', text)
    return mbt.load_model(text, base=base)


def measure_arm(folder: Path, arm: Any, count: int) -> None:
    """Print success and time for random reachable goals, for a path, and for a step."""
    name, file, frame, is_narrow, is_position = arm
    tree = load(folder, file, is_narrow)
    rng = np.random.default_rng(0)
    lower, upper = limits_of(tree)
    goals = goals_at(tree, rng.uniform(lower, upper, (count, tree.num_positions)), frame, is_position)
    starts = rng.uniform(lower, upper, (count, tree.num_positions))
    ik = problem(tree, frame, is_position)
    found = ik.solve([goals], starts, seeds=SEEDS)
    right = is_right(tree, frame, found.q, goals)
    shown = min(count, 1000)
    times = np.full(shown, np.inf)
    for _ in range(3):
        for i in range(shown):
            begin = time.perf_counter()
            ik.solve([goals[i]], starts[i], seeds=SEEDS)
            times[i] = min(times[i], time.perf_counter() - begin)
    median, slow = np.quantile(times, [0.5, 0.99]) * 1e6
    print(f"{name}: {right.mean():.2%} of {count}; one goal: median {median:.0f} us, p99 {slow:.0f} us")
    path = starts[0] + np.linspace(0.0, 1.0, 4096)[:, None] * (starts[1] - starts[0])
    near = path + rng.uniform(-0.02, 0.02, path.shape)
    along = goals_at(tree, path, frame, is_position)
    warm = ik.solve([along], near)
    seconds = least(lambda: ik.solve([along], near), 60)
    # The time of a step: that of four more steps of attempts that never end early, in all lanes.
    seconds_of = {
        steps: least(
            lambda steps=steps: ik.solve_all(  # type: ignore[misc]
                [goals[0]], starts[0], seeds=4096, max_steps=steps, tolerance=(1e-12, 1e-12)
            ),
            60,
        )
        for steps in (1, 5)
    }
    step = (seconds_of[5] - seconds_of[1]) / (4 * 4096)
    print(
        f"  4096 goals along a path: {np.mean(warm.success):.2%}, {seconds * 1e3:.2f} ms; "
        f"{step * 1e9:.0f} ns per seed and step"
    )


def measure_out_of_reach(folder: Path, arm: Any, count: int) -> None:
    """Print how residuals for unreachable goals compare with the best of 100 runs of SciPy."""
    from scipy.optimize import least_squares

    name, file, frame, is_narrow, is_position = arm
    tree = load(folder, file, is_narrow)
    rng = np.random.default_rng(1)
    lower, upper = limits_of(tree)
    goals = goals_at(tree, rng.uniform(lower, upper, (count, tree.num_positions)), frame, is_position)
    places = goals if is_position else goals[:, :3, 3]
    places *= 3.0 / np.linalg.norm(places, axis=1)[:, None]
    ik = problem(tree, frame, is_position)
    found = ik.solve([goals], seeds=SEEDS)
    worst = -np.inf
    for i, goal in enumerate(goals):

        def residual(q: Array, goal: Array = goal) -> Array:
            if is_position:
                return goal - functional.frame_pose(tree, q, frame)[:3, 3]
            return functional.pose_error(tree, q, frame, goal)

        def jacobian(q: Array, goal: Array = goal) -> Array:
            if is_position:
                return -functional.frame_jacobian(tree, q, frame)[3:]
            return functional.pose_error(tree, q, frame, goal, jacobian=True)[1]

        best = min(
            least_squares(
                residual, rng.uniform(lower, upper), jacobian, bounds=(lower, upper), xtol=1e-12, ftol=1e-12
            ).cost
            for _ in range(100)
        )
        own = 0.5 * np.sum(found.error[i] ** 2)
        worst = max(worst, np.sqrt(2 * own) - np.sqrt(2 * best))
    print(f"{name}, {count} unreachable goals: at most {worst:.1e} above the best of 100 runs of SciPy")


def measure_humanoid(folder: Path, count: int) -> None:
    """Print success and time for a humanoid: feet fixed, centre of mass above them, a hand at its goal."""
    tree = load(folder, "h1/h1.urdf", False, base="floating")
    feet, hand = ["left_ankle_link", "right_ankle_link"], "left_elbow_link"
    point = [0.3, 0.0, 0.0]
    rng = np.random.default_rng(2)
    start = np.clip(tree.default_positions, tree.position_lower_limits, tree.position_upper_limits)
    for joint in tree.joints:
        bend = {"hip_pitch": -0.4, "knee": 0.8, "ankle": -0.4}
        for key, value in bend.items():
            if key in joint.name and joint.num_positions == 1:
                start[joint.position_start] = value
    X_feet = [functional.frame_pose(tree, start, foot) for foot in feet]
    center = functional.center_of_mass(tree, start)[:2]
    # Feasible goals: hand poses of random postures that were corrected to stand, with the arms anywhere.
    stand = mbt.InverseKinematics(tree)
    for foot in feet:
        stand.add_pose(foot)
    stand.add_center_of_mass("xy")
    moved = functional.integrate_positions(
        tree, start, 0.25 * rng.normal(size=(2 * count, tree.num_velocities)), 1.0
    )
    moved = np.clip(moved, tree.position_lower_limits, tree.position_upper_limits)
    standing = stand.solve([*X_feet, center], moved, seeds=4)
    q = standing.q[standing.success][:count]
    goals = functional.frame_pose(tree, q, hand)[:, :3] @ [*point, 1.0]
    ik = mbt.InverseKinematics(tree)
    for foot in feet:
        ik.add_pose(foot)
    ik.add_center_of_mass("xy")
    ik.add_position(hand, point)
    times, met = np.full(len(q), np.inf), np.zeros(len(q), np.bool_)
    for _ in range(2):
        for i, goal in enumerate(goals):
            begin = time.perf_counter()
            met[i] = ik.solve([*X_feet, center, goal], start, seeds=64).success
            times[i] = min(times[i], time.perf_counter() - begin)
    print(
        f"H1, {tree.num_velocities} dofs, both feet, centre of mass, a hand: {met.mean():.2%} of {len(q)}, "
        f"median {np.median(times) * 1e6:.0f} us, p99 {np.quantile(times, 0.99) * 1e6:.0f} us"
    )


def measure_velocities(folder: Path) -> None:
    """Print the time of velocities of five tasks and a posture."""
    tree = load(folder, "go1/go1.urdf", False, base="floating")
    feet = [f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR")]
    ik = mbt.InverseKinematics(tree)
    ik.add_pose("trunk")
    for foot in feet:
        ik.add_position(foot)
    ik.add_posture(tree.default_positions)
    rng = np.random.default_rng(3)
    out, times = np.empty(tree.num_velocities), []
    for _ in range(200):
        q = functional.integrate_positions(
            tree, tree.default_positions, 0.2 * rng.normal(size=tree.num_velocities), 1.0
        )
        q = np.clip(q, tree.position_lower_limits, tree.position_upper_limits)
        near = functional.integrate_positions(tree, q, 0.05 * rng.normal(size=tree.num_velocities), 1.0)
        goals = [functional.frame_pose(tree, near, "trunk")]
        goals += [functional.frame_pose(tree, near, foot)[:3, 3].copy() for foot in feet]
        times.append(least(lambda q=q, goals=goals: ik.velocities(q, goals, 0.005, gain=0.5, out=out), 9))
    median, slow = np.quantile(times, [0.5, 0.99]) * 1e6
    print(f"Go1, velocities of five tasks and a posture: median {median:.1f} us, p99 {slow:.1f} us")


def measure_branches(folder: Path, count: int) -> None:
    """Print for how many goals all branches of a closed form are found."""
    from eaik.IK_URDF import UrdfRobot

    path = folder / "ur10/ur10_robot.urdf"
    tree = load(folder, "ur10/ur10_robot.urdf", False)
    robot = UrdfRobot(str(path))
    rng = np.random.default_rng(4)
    lower, upper = -TURN * np.ones(6), TURN * np.ones(6)
    complete = total = 0
    for q in rng.uniform(lower, upper, (count, 6)):
        answer = robot.IK(robot.fwdKin(q))
        branches = np.array([x for x, is_off in zip(answer.Q, answer.is_LS, strict=True) if not is_off])
        ik = problem(tree, "ee_link", False)
        goal = functional.frame_pose(tree, q, "ee_link")
        # EAIK may use another frame on the last link: its branches are compared as joint positions.
        known = [x for x in branches if np.abs(functional.frame_pose(tree, x, "ee_link") - goal).max() < 1e-6]
        if not known:
            continue
        total += 1
        every = ik.solve_all([goal], q, seeds=4096)
        turned = np.angle(np.exp(1j * (every[None] - np.array(known)[:, None])))
        complete += bool((np.abs(turned).max(axis=2).min(axis=1) < 1e-2).all())
    print(f"UR10, all branches of a closed form: {complete} of {total} goals")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--goals", type=int, default=1000)
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    mbt.set_num_threads(1)
    folder, count = options.folder / "robots", options.goals
    parts: dict[str, Callable[[], None]] = {
        arm[0]: lambda arm=arm: measure_arm(folder, arm, count) for arm in ARMS
    }
    parts["velocities"] = lambda: measure_velocities(folder)
    parts["humanoid"] = lambda: measure_humanoid(folder, count)
    parts |= {
        f"out of reach: {arm[0]}": lambda arm=arm: measure_out_of_reach(folder, arm, max(count // 50, 1))
        for arm in ARMS
    }
    parts["branches"] = lambda: measure_branches(folder, count)
    for name, measure in parts.items():
        if options.only and not any(only in name for only in options.only):
            continue
        try:
            measure()
        except ImportError as error:
            print(f"{name}: not measured ({error})")


if __name__ == "__main__":
    main()
