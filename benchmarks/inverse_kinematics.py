"""Inverse kinematics: success and time, beside EAIK, TRAC-IK, and loops of Pinocchio, mink, pink and placo.

    python benchmarks/inverse_kinematics.py [--model FILE:FRAME[:position]]... [--goals 1000] [--seeds 128]

Goals are the poses, or positions, of random configurations within limits, and starts are random; a success is
within 0.1 mm, 1 mrad and all limits, verified by forward kinematics. One thread. Contenders that solve one
goal per call take turns, goal by goal, in one process; a time is the minimum of five rounds, or of two for
contenders that take milliseconds, which solve only the first 100 goals. Pinocchio's loop is that of its
documentation, clipped to limits, with 100 iterations; mink and pink take 100 steps with daqp, placo with its
own solver; TRAC-IK (pytracik) has 50 ms and two threads; EAIK (eaik, urchin) has closed forms for some arms
of six joints. Other libraries take part if they are installed and goals are poses.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mbt
from mbt import functional
from mbt.models import model_path
from models import Array, seven_joint_arm

try:
    import pinocchio as pin
except ImportError:
    pin = None

RIGHT, TIGHT, STEPS, ROUNDS = 1e-3, 1e-4, 100, 5
Solve = Callable[[Array, Array], Array]


def limits_of(tree: mbt.MultibodyTree) -> tuple[Array, Array]:
    """Return limits, with one turn for joints without limits."""
    lower, upper = tree.position_lower_limits, tree.position_upper_limits
    return np.where(np.isfinite(lower), lower, -np.pi), np.where(np.isfinite(upper), upper, np.pi)


def without_shapes(text: str) -> str:
    """Return the URDF without shapes, whose meshes are not available, and with all its frames in MuJoCo."""
    root = ET.fromstring(text)
    for link in root.findall("link"):
        for kind in ("visual", "collision"):
            for shape in link.findall(kind):
                link.remove(shape)
    options = {"fusestatic": "false", "balanceinertia": "true", "boundmass": "1e-6", "boundinertia": "1e-9"}
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", options)
    return ET.tostring(root, encoding="unicode")


def is_right(tree: mbt.MultibodyTree, frame: str, q: Array, goals: Array) -> Array:
    """Return a mask of the positions that are solutions."""
    if goals.shape[-1] == 3:
        turned = np.zeros(len(goals))
        distance = np.linalg.norm(functional.frame_pose(tree, q, frame)[..., :3, 3] - goals, axis=-1)
    else:
        turned, distance = pose_errors(tree, frame, q, goals)
    lower, upper = tree.position_lower_limits - 1e-12, tree.position_upper_limits + 1e-12
    return (distance <= TIGHT) & (turned <= RIGHT) & np.all((q >= lower) & (q <= upper), axis=-1)


def pose_errors(tree: mbt.MultibodyTree, frame: str, q: Array, goals: Array) -> tuple[Array, Array]:
    """Return angles and distances between a frame and its goals."""
    X = functional.frame_pose(tree, q, frame)
    turn = mbt.math.log_so3(np.swapaxes(X[..., :3, :3], -1, -2) @ goals[..., :3, :3])
    return (
        np.linalg.norm(turn, axis=-1),
        np.linalg.norm(X[..., :3, 3] - goals[..., :3, 3], axis=-1),
    )


def pinocchio_loop(text: str, frame: str, tree: mbt.MultibodyTree) -> Solve:
    """Return the loop of Pinocchio's documentation."""
    model = pin.buildModelFromXML(text)
    data = model.createData()
    index = model.getFrameId(frame)
    lower, upper = tree.position_lower_limits, tree.position_upper_limits

    def solve(goal: Array, start: Array) -> Array:
        wanted, q = pin.SE3(goal), start.copy()
        for _ in range(STEPS):
            pin.framesForwardKinematics(model, data, q)
            difference = data.oMf[index].actInv(wanted)
            error = pin.log(difference).vector
            if np.linalg.norm(error[3:]) < RIGHT and np.linalg.norm(difference.translation) < TIGHT:
                break
            J = -pin.Jlog6(difference.inverse()) @ pin.computeFrameJacobian(model, data, q, index)
            q = np.clip(q - J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(6), error), lower, upper)
        return q

    return solve


def pink_loop(text: str, frame: str) -> Solve:
    """Return steps of pink with daqp."""
    import pink
    from pink.tasks import FrameTask

    model = pin.buildModelFromXML(text)
    task = FrameTask(frame, position_cost=1.0, orientation_cost=1.0)

    def solve(goal: Array, start: Array) -> Array:
        configuration = pink.Configuration(model, model.createData(), start)
        task.set_target(pin.SE3(goal))
        for _ in range(STEPS):
            error = task.compute_error(configuration)
            if np.linalg.norm(error[3:]) < RIGHT and np.linalg.norm(error[:3]) < TIGHT:
                break
            try:
                v = pink.solve_ik(configuration, [task], 1.0, solver="daqp", safety_break=False)
            except pink.exceptions.NoSolutionFound:
                break
            configuration.integrate_inplace(v, 1.0)
        return np.array(configuration.q)

    return solve


def mink_loop(text: str, frame: str) -> Solve:
    """Return steps of mink with daqp."""
    import mink
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    configuration = mink.Configuration(model)
    task = mink.FrameTask(frame, "body", position_cost=1.0, orientation_cost=1.0)
    limits = [mink.ConfigurationLimit(model)]

    def solve(goal: Array, start: Array) -> Array:
        configuration.update(start)
        task.set_target(mink.SE3.from_matrix(goal))
        for _ in range(STEPS):
            error = task.compute_error(configuration)
            if np.linalg.norm(error[3:]) < RIGHT and np.linalg.norm(error[:3]) < TIGHT:
                break
            try:
                v = mink.solve_ik(configuration, [task], 1.0, "daqp", limits=limits)
            except mink.NoSolutionFound:
                break
            configuration.integrate_inplace(v, 1.0)
        return np.array(configuration.q)

    return solve


def placo_loop(text: str, frame: str, tree: mbt.MultibodyTree) -> Solve:
    """Return steps of placo."""
    import placo

    robot = placo.RobotWrapper("", placo.Flags.ignore_collisions, text)
    solver = placo.KinematicsSolver(robot)
    solver.mask_fbase(True)
    task = solver.add_frame_task(frame, np.eye(4))
    task.configure("goal", "soft", 1.0, 1.0)
    if list(robot.joint_names()) != [joint.name for joint in tree.joints if joint.num_positions]:
        raise AttributeError("placo has its joints in another order")
    state = robot.state.q.copy()

    def solve(goal: Array, start: Array) -> Array:
        task.T_world_frame = goal
        state[7:] = start
        robot.state.q = state
        for _ in range(STEPS):
            robot.update_kinematics()
            X = robot.get_T_world_frame(frame)
            turn = mbt.math.log_so3(X[:3, :3].T @ goal[:3, :3])
            if np.linalg.norm(turn) < RIGHT and np.linalg.norm(X[:3, 3] - goal[:3, 3]) < TIGHT:
                break
            try:
                solver.solve(True)
            except RuntimeError:
                break
        return np.array(robot.state.q[7:])

    return solve


def closed_form(text: str, frame: str, tree: mbt.MultibodyTree) -> Solve:
    """Return the EAIK branch within limits that is nearest to the start."""
    from eaik.IK_URDF import UrdfRobot

    with tempfile.NamedTemporaryFile("w", suffix=".urdf") as file:
        file.write(text)
        file.flush()
        try:
            robot = UrdfRobot(file.name)
        except RuntimeError as error:
            raise AttributeError(str(error)) from None
    # EAIK solves for a frame of its own on the last link.
    zero = np.zeros(tree.num_positions)
    offset = mbt.math.inverse_pose(functional.frame_pose(tree, zero, frame)) @ robot.fwdKin(zero)
    lower, upper = tree.position_lower_limits, tree.position_upper_limits

    def solve(goal: Array, start: Array) -> Array:
        answer = robot.IK(goal @ offset)
        q = np.array([x for x, is_off in zip(answer.Q, answer.is_LS, strict=True) if not is_off])
        q = q[np.all((q >= lower) & (q <= upper), axis=1)] if len(q) else q
        return np.array(q[np.abs(q - start).max(axis=1).argmin()]) if len(q) else start

    return solve


def trac_ik(text: str, frame: str, tree: mbt.MultibodyTree) -> Solve:
    """Return TRAC-IK: an iterative and an optimizing solver side by side, with random restarts."""
    import pytracik

    root = ET.fromstring(text)
    children = {joint.find("child").get("link") for joint in root.findall("joint")}  # type: ignore[union-attr]
    base = next(link.get("name") for link in root.findall("link") if link.get("name") not in children)
    chain = pytracik.TRAC_IK(base, frame, text, 5e-2, 0.5 * TIGHT, pytracik.SolveType.Speed)
    size = pytracik.get_num_joints(chain)

    def solve(goal: Array, start: Array) -> Array:
        w, x, y, z = mbt.math.matrix_to_quaternion(goal[:3, :3])
        q = start.copy()
        # The first entry tells whether it succeeded.
        q[:size] = pytracik.ik(chain, start[:size], *goal[:3, 3], x, y, z, w)[1:]
        return q

    return solve


def problem(tree: mbt.MultibodyTree, frame: str, is_position: bool) -> mbt.InverseKinematics:
    """Return a problem with one task."""
    ik = mbt.InverseKinematics(tree)
    (ik.add_position if is_position else ik.add_pose)(frame)
    return ik


def contenders(
    text: str, frame: str, tree: mbt.MultibodyTree, seeds: int, is_position: bool
) -> dict[str, Solve]:
    """Return solvers of one goal per call."""
    ik = problem(tree, frame, is_position)
    found: dict[str, Solve] = {
        f"mbt, {seeds} seeds": lambda goal, start: ik.solve([goal], start, seeds=seeds, max_steps=STEPS).q,
        "mbt, one seed": lambda goal, start: ik.solve([goal], start, seeds=1, max_steps=STEPS).q,
    }
    if is_position:
        return found
    text = without_shapes(text)
    makers: dict[str, Callable[[], Solve]] = {
        "pin, NumPy loop": lambda: pinocchio_loop(text, frame, tree),
        "pink": lambda: pink_loop(text, frame),
        "mink": lambda: mink_loop(text, frame),
        "placo": lambda: placo_loop(text, frame, tree),
        "EAIK": lambda: closed_form(text, frame, tree),
        "TRAC-IK": lambda: trac_ik(text, frame, tree),
    }
    for name, make in makers.items():
        try:
            found[name] = make()
        except (ImportError, AttributeError) as error:
            print(f"  {name}: not measured ({error})")
    return found


def measure(name: str, text: str, frame: str, is_position: bool, count: int, seeds: int) -> None:
    """Print the table for one robot."""
    tree = mbt.load_model(text)
    rng = np.random.default_rng(0)
    lower, upper = limits_of(tree)
    goals = goals_at(tree, rng.uniform(lower, upper, (count, tree.num_positions)), frame, is_position)
    starts = rng.uniform(lower, upper, (count, tree.num_positions))
    print(f"{name}, {tree.num_velocities} joints, {count} goals")
    solvers = contenders(text, frame, tree, seeds, is_position)
    shown = min(count, 100)  # goals for contenders that take milliseconds
    sizes = {key: count if key.startswith("mbt") else shown for key in solvers}
    times = {key: np.full(size, np.inf) for key, size in sizes.items()}
    answers = {key: np.empty((size, tree.num_positions)) for key, size in sizes.items()}
    for turn in range(ROUNDS):
        for i in range(count):
            for key, solve in solvers.items():
                if i >= sizes[key] or (turn > 1 and not key.startswith("mbt")):
                    continue
                begin = time.perf_counter()
                answers[key][i] = solve(goals[i], starts[i])
                times[key][i] = min(times[key][i], time.perf_counter() - begin)
    for key, seconds in times.items():
        right = is_right(tree, frame, answers[key], goals[: len(seconds)])
        median, slow = np.quantile(seconds, [0.5, 0.99]) * 1e6
        print(f"  {key:20s} {right.mean():7.2%}   median {median:8.1f} us   p99 {slow:8.1f} us")
    ik = problem(tree, frame, is_position)
    found = ik.solve([goals], starts, seeds=seeds)
    seconds = least(lambda: ik.solve([goals], starts, seeds=seeds))
    right = is_right(tree, frame, found.q, goals)
    print(f"  batch of {count}: {right.mean():.2%}, {seconds / count * 1e6:.1f} us per goal")
    path = starts[0] + np.linspace(0.0, 1.0, 4096)[:, None] * (starts[1] - starts[0])
    near = path + rng.uniform(-0.02, 0.02, path.shape)
    along = goals_at(tree, path, frame, is_position)
    warm = ik.solve([along], near)
    seconds = least(lambda: ik.solve([along], near))
    print(
        f"  4096 goals along a path, from 0.02 rad away: {np.mean(warm.success):.2%}, "
        f"{seconds * 1e3:.2f} ms, {np.mean(warm.num_steps):.1f} steps each"
    )


def goals_at(tree: mbt.MultibodyTree, q: Array, frame: str, is_position: bool) -> Array:
    """Return poses of a frame, or its positions."""
    X = functional.frame_pose(tree, q, frame)
    return np.array(X[..., :3, 3]) if is_position else X


def least(call: Callable[[], Any], rounds: int = 7) -> float:
    """Return the minimum time of a call."""
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def main() -> None:
    """Measure the models of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", action="append", default=[], metavar="FILE:FRAME[:position]")
    parser.add_argument("--goals", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=128)
    options = parser.parse_args()
    mbt.set_num_threads(1)
    texts = []
    for model in options.model:
        is_position = model.endswith(":position")
        path, _, frame = model.removesuffix(":position").rpartition(":")
        texts.append((path, Path(path).read_text(encoding="utf-8"), frame, is_position))
    if not texts:
        seven = seven_joint_arm()
        last = mbt.load_model(seven.urdf).bodies[-1].name
        arm = model_path("mbt_arm").read_text(encoding="utf-8")
        texts = [("mbt_arm", arm, "tool", False), (seven.name, seven.urdf, last, False)]
    for name, text, frame, is_position in texts:
        measure(name, text, frame, is_position, options.goals, options.seeds)


if __name__ == "__main__":
    main()
