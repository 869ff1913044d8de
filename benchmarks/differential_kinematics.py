"""Velocities of inverse kinematics, beside a loop around Pinocchio, and pink and mink where installed.

    python benchmarks/differential_kinematics.py [--model FILE:FRAME,FRAME]... [--states 200]

One step towards a pose of the first frame, points of the other frames, and a posture, for random states near
the goals; the root of a `--model` is free. Contenders take turns, state by state, in one process and on one
thread; a time is the median over states of the minimum of seven rounds. All obey position limits, and
velocity limits too, except mink and the row that says so. All but mbt solve their problem with daqp.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mbt
from inverse_kinematics import without_shapes
from mbt import functional
from mbt.models import model_path
from models import Array, seven_joint_arm

DT, GAIN, ROUNDS = 0.005, 0.5, 7
POSTURE = 1e-3
Step = Callable[[int], Array]


class Workload:
    """A robot, its states, and goals for them."""

    def __init__(self, name: str, text: str, frames: list[str], count: int, base: str) -> None:
        self.name, self.text, self.frames = name, text, frames
        self.tree = tree = mbt.load_model(text, base=base)
        self.is_floating = tree.num_positions != tree.num_velocities
        rng = np.random.default_rng(0)
        self.moves = 0.3 * rng.normal(size=(count, tree.num_velocities))
        moves = self.moves
        self.q = functional.integrate_positions(tree, tree.default_positions, moves, 1.0)
        self.q = np.clip(self.q, tree.position_lower_limits, tree.position_upper_limits)
        near = functional.integrate_positions(tree, self.q, 0.05 * rng.normal(size=moves.shape), 1.0)
        self.goals = [functional.frame_pose(tree, near, frame) for frame in frames]
        self.goals[1:] = [np.ascontiguousarray(X[:, :3, 3]) for X in self.goals[1:]]


def steps_of_mbt(work: Workload) -> dict[str, Step]:
    """Return velocities of mbt, with and without velocity limits."""
    ik = mbt.InverseKinematics(work.tree)
    ik.add_pose(work.frames[0])
    for frame in work.frames[1:]:
        ik.add_position(frame)
    ik.add_posture(work.tree.default_positions, weight=POSTURE)
    rows = [[goal[i].copy() for goal in work.goals] for i in range(len(work.q))]
    states, out = [q.copy() for q in work.q], np.empty(work.tree.num_velocities)
    return {
        "mbt": lambda i: ik.velocities(states[i], rows[i], DT, gain=GAIN, out=out),
        "mbt, no velocity limits": lambda i: ik.velocities(
            states[i], rows[i], DT, gain=GAIN, velocity_limits=False, out=out
        ),
    }


def pinocchio_model(work: Workload) -> tuple[Any, Array]:
    """Return a model, and the index of each of its dofs in mbt."""
    import pinocchio as pin

    model = pin.buildModelFromXML(work.text, *([pin.JointModelFreeFlyer()] if work.is_floating else []))
    # Its dofs in the order of mbt: linear before angular, joints by name.
    order = [3, 4, 5, 0, 1, 2] if work.is_floating else []
    for joint in work.tree.joints:
        if joint.num_velocities == 1 and model.existJointName(joint.name):
            order.append(model.joints[model.getJointId(joint.name)].idx_v)
    return model, np.argsort(order)


def steps_of_pinocchio(work: Workload) -> dict[str, Step]:
    """Return a step with Pinocchio and daqp: one problem with bounds, in which the posture has a weight."""
    import daqp
    import pinocchio as pin

    model, place = pinocchio_model(work)
    data, nv = model.createData(), model.nv
    indices = [model.getFrameId(frame) for frame in work.frames]
    position = [work.tree.num_positions - nv + k for k in range(nv)]
    limits = work.tree.velocity_lower_limits, work.tree.velocity_upper_limits
    lower, upper = work.tree.position_lower_limits, work.tree.position_upper_limits
    q0 = pin.neutral(model)

    def step(i: int) -> Array:
        own = work.q[i]
        q = pin.integrate(model, q0, work.moves[i][place])
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        X = data.oMf[indices[0]].actInv(pin.SE3(work.goals[0][i]))
        rows = [
            -pin.Jlog6(X.inverse()) @ pin.getFrameJacobian(model, data, indices[0], pin.ReferenceFrame.LOCAL)
        ]
        errors = [pin.log(X).vector]
        for index, goal in zip(indices[1:], work.goals[1:], strict=True):
            world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
            rows.append(pin.getFrameJacobian(model, data, index, world)[:3])
            errors.append(goal[i] - data.oMf[index].translation)
        rows[0] = -rows[0]
        J, e = np.concatenate(rows), GAIN * np.concatenate(errors)
        way = GAIN * pin.difference(model, q, q0)
        H = J.T @ J + (POSTURE**2 + 1e-8) * np.eye(nv)
        g = -J.T @ e - POSTURE**2 * way
        low = np.maximum(np.maximum(DT * limits[0], (lower - own)[position]), -1e3)[place]
        high = np.minimum(np.minimum(DT * limits[1], (upper - own)[position]), 1e3)[place]
        return daqp.solve(H, g, np.zeros((0, nv)), high, low, np.zeros(nv, np.int32))[0] / DT

    return {"pin, NumPy and daqp": step}


def steps_of_pink(work: Workload) -> dict[str, Step]:
    """Return a step of pink with daqp."""
    import pink
    import pinocchio as pin
    from pink.tasks import FrameTask, PostureTask

    model, place = pinocchio_model(work)
    q0 = pin.neutral(model)
    tasks = [FrameTask(work.frames[0], position_cost=1.0, orientation_cost=1.0, gain=GAIN)]
    tasks += [FrameTask(f, position_cost=1.0, orientation_cost=0.0, gain=GAIN) for f in work.frames[1:]]
    posture = PostureTask(cost=POSTURE, gain=GAIN)
    posture.set_target(q0)
    configuration = pink.Configuration(model, model.createData(), q0)
    low, high = model.lowerPositionLimit, model.upperPositionLimit

    def step(i: int) -> Array:
        configuration.update(np.clip(pin.integrate(model, q0, work.moves[i][place]), low, high))
        tasks[0].set_target(pin.SE3(work.goals[0][i]))
        for task, goal in zip(tasks[1:], work.goals[1:], strict=True):
            task.set_target(pin.SE3(np.eye(3), goal[i]))
        return np.asarray(
            pink.solve_ik(configuration, [*tasks, posture], DT, solver="daqp", safety_break=False)
        )

    return {"pink": step}


def steps_of_mink(work: Workload) -> dict[str, Step]:
    """Return a step of mink with daqp."""
    import mink
    import mujoco

    spec = mujoco.MjSpec.from_string(without_shapes(work.text))
    order = [3, 4, 5, 0, 1, 2] if work.is_floating else []
    if work.is_floating:
        spec.worldbody.first_body().add_freejoint()
    model = spec.compile()
    order += [
        int(model.joint(joint.name).dofadr[0]) for joint in work.tree.joints if joint.num_velocities == 1
    ]
    place = np.argsort(order)
    tasks = [mink.FrameTask(work.frames[0], "body", position_cost=1.0, orientation_cost=1.0, gain=GAIN)]
    tasks += [
        mink.FrameTask(f, "body", position_cost=1.0, orientation_cost=0.0, gain=GAIN) for f in work.frames[1:]
    ]
    posture = mink.PostureTask(model, cost=POSTURE, gain=GAIN)
    posture.set_target(model.qpos0)
    configuration, limits = mink.Configuration(model), [mink.ConfigurationLimit(model)]

    def step(i: int) -> Array:
        q = model.qpos0.copy()
        mujoco.mj_integratePos(model, q, work.moves[i][place], 1.0)
        configuration.update(q)
        tasks[0].set_target(mink.SE3.from_matrix(work.goals[0][i]))
        for task, goal in zip(tasks[1:], work.goals[1:], strict=True):
            task.set_target(mink.SE3.from_rotation_and_translation(mink.SO3.identity(), goal[i]))
        return np.asarray(mink.solve_ik(configuration, [*tasks, posture], DT, "daqp", limits=limits))

    return {"mink": step}


def measure(work: Workload) -> None:
    """Print the table for one robot."""
    count = len(work.q)
    nv = work.tree.num_velocities
    print(f"{work.name}: {nv} dofs, {len(work.frames)} tasks and a posture, {count} states")
    steps: dict[str, Step] = {}
    for make in (steps_of_mbt, steps_of_pinocchio, steps_of_pink, steps_of_mink):
        try:
            steps |= make(work)
        except (ImportError, AttributeError) as error:
            print(f"  {make.__name__.rpartition('_')[2]}: not measured ({error})")
    times = {name: np.full(count, np.inf) for name in steps}
    for _ in range(ROUNDS):
        for i in range(count):
            for name, step in steps.items():
                begin = time.perf_counter()
                step(i)
                times[name][i] = min(times[name][i], time.perf_counter() - begin)
    least = np.median(times["mbt"])
    for name, seconds in times.items():
        median, slow = np.quantile(seconds, [0.5, 0.99])
        times_of = f"median {median * 1e6:7.1f} us   p99 {slow * 1e6:7.1f} us   {median / least:6.1f}x"
        print(f"  {name:24s} {times_of}")
    ik = mbt.InverseKinematics(work.tree)
    ik.add_pose(work.frames[0])
    for frame in work.frames[1:]:
        ik.add_position(frame)
    ik.add_posture(work.tree.default_positions, weight=POSTURE)
    q, goals = np.tile(work.q, (20, 1)), [np.concatenate([goal] * 20) for goal in work.goals]
    out, seconds = np.empty((len(q), work.tree.num_velocities)), []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        ik.velocities(q, goals, DT, gain=GAIN, out=out)
        seconds.append(time.perf_counter() - begin)
    print(f"  mbt, a batch of {len(q)}: {min(seconds) / len(q) * 1e6:.1f} us per state")


def main() -> None:
    """Measure the robots of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", action="append", default=[], metavar="FILE:FRAME,FRAME")
    parser.add_argument("--states", type=int, default=200)
    options = parser.parse_args()
    mbt.set_num_threads(1)
    robots = [model.rpartition(":") for model in options.model]
    works = [(path, Path(path).read_text(encoding="utf-8"), frames.split(",")) for path, _, frames in robots]
    if not works:
        seven = seven_joint_arm()
        bodies = [body.name for body in mbt.load_model(seven.urdf).bodies]
        arm = model_path("mbt_arm").read_text(encoding="utf-8")
        works = [("mbt_arm", arm, ["tool"]), (seven.name, seven.urdf, [bodies[-1], bodies[4]])]
    for name, text, frames in works:
        measure(Workload(name, text, frames, options.states, "floating" if robots else "fixed"))


if __name__ == "__main__":
    main()
