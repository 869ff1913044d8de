"""Ticks of a controller by tasks, beside the same quadratic program in NumPy with Pinocchio and daqp.

    python benchmarks/control.py [--go1 FILE] [--h1 FILE] [--ticks 2000] [--rounds 5] [--loop 5]

A robot stands on points and sways: tasks for the trunk's orientation and position and for a posture, friction
pyramids, effort and velocity limits. The robot is one of those made here, or the Unitree Go1 or H1 from its
URDF file. States come from a motion of the controller, one tick per millisecond. Contenders take turns, tick
by tick, in one process on one thread with warm starts; their torques are asserted to agree. "floor" is the
median over states of the minimum over rounds: the time of an undisturbed tick. Then a loop at 1 kHz, paced by
the clock, calls the compiled controller for some seconds.
"""

from __future__ import annotations

import argparse
import gc
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mbt
from mbt import functional
from models import Array, Inertia, Joint, cylinder, write_urdf

DT, FRICTION, DAMPING, CONTACT, REGULAR = 1e-3, 0.7, 20.0, 1e5, 1e-4
POSTURE = 1e-3
Tick = Callable[[int], Array]


@dataclass
class Robot:
    """A robot and how it stands: the points of its feet, and its posture."""

    name: str
    urdf: str
    base: str
    feet: dict[str, Array]  # points (n, 3) by link
    bent: dict[str, float]  # position by a part of joint names


def quadruped() -> Robot:
    """Return a robot with four legs of three joints each, which stands on four points."""
    links, joints, feet = {"trunk": cylinder(8.0, 0.15, 0.1)}, [], {}
    for name, x, y in (("fl", 0.2, 0.1), ("fr", 0.2, -0.1), ("hl", -0.2, 0.1), ("hr", -0.2, -0.1)):
        parent, place = "trunk", (x, y, 0.0)
        for part, axis, length in (("hip", "1 0 0", 0.0), ("thigh", "0 1 0", -0.3), ("calf", "0 1 0", -0.3)):
            parent = _add(links, joints, parent, f"{name}_{part}", place, axis, length, 0.5)
            place = (0.0, 0.0, length)
        feet[parent] = np.array([[0.0, 0.0, -0.3]])
    return Robot("quadruped", write_urdf(links, joints), "trunk", feet, {"thigh": 0.7, "calf": -1.4})


def biped() -> Robot:
    """Return a robot with two legs of five joints and two arms of four, which stands on eight points."""
    links, joints, feet = {"pelvis": cylinder(20.0, 0.12, 0.5)}, [], {}
    sole = np.array([[x, y, -0.05] for x in (-0.08, 0.15) for y in (-0.04, 0.04)])
    parts = ("yaw", "0 0 1", 0.0), ("roll", "1 0 0", 0.0), ("hip", "0 1 0", -0.4), ("knee", "0 1 0", -0.4)
    for side, y in (("left", 0.1), ("right", -0.1)):
        parent, place = "pelvis", (0.0, y, 0.0)
        for part, axis, length in (*parts, ("ankle", "0 1 0", -0.05)):
            parent = _add(links, joints, parent, f"{side}_{part}", place, axis, length, 1.5)
            place = (0.0, 0.0, length)
        feet[parent], parent, place = sole, "pelvis", (0.0, 2.0 * y, 0.45)
        for part, axis in (("pitch", "0 1 0"), ("out", "1 0 0"), ("turn", "0 0 1"), ("elbow", "0 1 0")):
            parent = _add(links, joints, parent, f"{side}_{part}", place, axis, -0.25, 0.8)
            place = (0.0, 0.0, -0.25 if part == "turn" else 0.0)
    bent = {"hip": -0.4, "knee": 0.8, "ankle": -0.4}
    return Robot("biped", write_urdf(links, joints), "pelvis", feet, bent)


def _add(
    links: dict[str, Inertia],
    joints: list[Joint],
    parent: str,
    name: str,
    place: tuple[float, float, float],
    axis: str,
    length: float,
    mass: float,
) -> str:
    links[name] = Inertia()
    links[name].add(cylinder(mass, 0.03, abs(length) or 0.05), np.eye(3), np.array([0.0, 0.0, length]))
    joints.append(Joint(f"{name}_joint", "revolute", parent, name, np.eye(3), np.array(place), axis))
    return name


def read_undamped(path: str) -> str:
    """Return the text of a file without joint damping and friction, which the Pinocchio contender omits."""
    return re.sub(r"<dynamics[^>]*/>", "", Path(path).read_text(encoding="utf-8"))


def go1(path: str) -> Robot:
    """Return the quadruped from a file."""
    feet = {f"{leg}_foot": np.zeros((1, 3)) for leg in ("FR", "FL", "RR", "RL")}
    return Robot("Go1", read_undamped(path), "trunk", feet, {"thigh": 0.8, "calf": -1.6})


def h1(path: str) -> Robot:
    """Return the humanoid from a file; with five joints per leg, its feet stay parallel."""
    sole = np.array([[x, y, -0.07] for x in (-0.08, 0.15) for y in (-0.03, 0.03)])
    feet = {f"{side}_ankle_link": sole for side in ("left", "right")}
    bent = {"hip_pitch": -0.4, "knee": 0.8, "ankle": -0.4}
    return Robot("H1", read_undamped(path), "pelvis", feet, bent)


class Workload:
    """A tree, a posture, and the states and goals of a motion."""

    def __init__(self, robot: Robot, count: int) -> None:
        self.robot = robot
        self.tree = tree = mbt.load_model(robot.urdf, base="floating")
        q = tree.default_positions.copy()
        self.motors = [joint for joint in tree.joints if joint.num_velocities == 1]
        for joint in self.motors:
            for name, angle in robot.bent.items():
                if name in joint.name:
                    q[joint.position_start] = angle
        self.posture = q
        X_WB = functional.frame_pose(tree, q, robot.base)
        t = DT * np.arange(count)[:, None]
        sway = np.array([0.01, 0.02, 0.03]) * np.sin(np.array([3.0, 4.0, 5.0]) * t)
        self.rotation, self.positions = X_WB[:3, :3].copy(), X_WB[:3, 3] + sway
        controller, result = self.make_controller(), None
        v = np.zeros(tree.num_velocities)
        self.q, self.v = [], []
        for k in range(count):
            self.q.append(q)
            self.v.append(v)
            result = controller.solve(q, v, self.goals(k), out=result)
            assert result.status == "optimal", result.violations
            v = v + DT * result.vdot
            q = functional.integrate_positions(tree, q, v, DT)

    def make_controller(self) -> mbt.TaskSpaceController:
        """Return a compiled controller."""
        contacts = [
            mbt.ContactPoints(link, points, friction=FRICTION, damping=DAMPING)
            for link, points in self.robot.feet.items()
        ]
        controller = mbt.TaskSpaceController(
            self.tree,
            contacts,
            dt=DT,
            limits=["effort", "velocity"],
            actuated=[joint.name for joint in self.motors],
            contact_weight=CONTACT,
            regularization=REGULAR,
        )
        controller.add_orientation(self.robot.base, stiffness=100, damping=20)
        controller.add_position(self.robot.base, stiffness=100, damping=20)
        controller.add_posture(self.posture, stiffness=30, damping=11, weight=POSTURE)
        return controller.compile()

    def goals(self, k: int) -> list[Any]:
        """Return the references of a tick."""
        return [self.rotation, self.positions[k], None]

    def states_of_pinocchio(self, model: Any) -> tuple[list[tuple[Array, Array]], Array, list[int]]:
        """Return states, posture and the indices of the motors' velocities, for a model of Pinocchio."""
        import pinocchio as pin

        places = [model.joints[model.getJointId(joint.name)] for joint in self.motors]
        at_q, at_v = [place.idx_q for place in places], [place.idx_v for place in places]
        own_q = [joint.position_start for joint in self.motors]
        own_v = [joint.velocity_start for joint in self.motors]

        def convert(own: Array, rates: Array) -> tuple[Array, Array]:
            X = functional.frame_pose(self.tree, own, self.robot.base)
            V = functional.frame_velocity(self.tree, own, rates, self.robot.base)
            q, v = pin.neutral(model), np.zeros(model.nv)
            q[:7] = pin.SE3ToXYZQUAT(pin.SE3(X))
            v[:3], v[3:6] = X[:3, :3].T @ V[3:], X[:3, :3].T @ V[:3]
            q[at_q], v[at_v] = own[own_q], rates[own_v]
            return q, v

        states = [convert(q, v) for q, v in zip(self.q, self.v, strict=True)]
        return states, convert(self.posture, np.zeros(self.tree.num_velocities))[0], at_v


def ticks_of_mbt(work: Workload) -> dict[str, Tick]:
    """Return ticks of mbt: torques of the motors, in the order of their names."""
    controller = work.make_controller()
    goals = [work.goals(k) for k in range(len(work.q))]
    result = controller.solve(work.q[0], work.v[0], goals[0])

    def tick(k: int) -> Array:
        return controller.solve(work.q[k], work.v[k], goals[k], out=result).tau

    return {"mbt": tick}


def ticks_of_pinocchio(work: Workload) -> dict[str, Tick]:
    """Return ticks of the same program, in NumPy with Pinocchio and daqp."""
    import daqp
    import pinocchio as pin

    robot, tree = work.robot, work.tree
    model = pin.buildModelFromXML(robot.urdf, pin.JointModelFreeFlyer())
    data, nv = model.createData(), model.nv
    states, q0, at_v = work.states_of_pinocchio(model)
    own_v = [joint.velocity_start for joint in work.motors]
    base = model.getFrameId(robot.base)
    feet = [(model.getFrameId(link), points) for link, points in robot.feet.items()]
    num_points = sum(map(len, robot.feet.values()))
    nf, world = 3 * num_points, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    n, num_motors = nv + nf, nv - 6
    mu = FRICTION * np.cos(np.pi / 4.0)
    pyramid = np.array([[1.0, 0, -mu], [-1.0, 0, -mu], [0, 1.0, -mu], [0, -1.0, -mu]])
    unit = 9.81 * sum(body.default_mass for body in tree.bodies[1:]) / num_points
    A = np.zeros((nv + 4 * num_points, n))
    A[nv:, nv:] = np.kron(np.eye(num_points), pyramid)
    upper, lower = np.full(n + len(A), 1e30), np.full(n + len(A), -1e30)
    upper[n + nv :] = 0.0
    lower[nv + 2 : n : 3] = 0.0
    sense = np.zeros(len(upper), np.int32)
    sense[n : n + 6] = 5
    top, effort = np.zeros(nv), np.zeros(nv)
    top[at_v], effort[at_v] = tree.velocity_upper_limits[own_v], tree.effort_upper_limits[own_v]
    solver = daqp.Model()
    solver.settings = {"primal_tol": 1e-9, "iter_limit": 1000}
    is_set_up = False
    zero, eye = np.zeros(nv), np.eye(nv)

    def tick(k: int) -> Array:
        nonlocal is_set_up
        q, v = states[k]
        pin.forwardKinematics(model, data, q, v, zero)
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        M, h = pin.crba(model, data, q), pin.nonLinearEffects(model, data, q, v)
        H, g, T = REGULAR * eye, np.zeros(nv), [M]
        for frame, points in feet:
            J = pin.getFrameJacobian(model, data, frame, world)
            bias = pin.getFrameClassicalAcceleration(model, data, frame, world)
            R, w = data.oMf[frame].rotation, J[3:] @ v
            center = R @ points.mean(axis=0)
            J = np.vstack([J[:3] - pin.skew(center) @ J[3:], J[3:]])
            a = bias.linear + np.cross(bias.angular, center) + np.cross(w, np.cross(w, center))
            rows, at_rest = J[:3], a
            if len(points) > 1:
                rows, at_rest = J, np.concatenate([a, bias.angular])
            r = -DAMPING * (rows @ v) - at_rest
            H, g = H + CONTACT * rows.T @ rows, g - CONTACT * rows.T @ r
            T += [-unit * (J[:3] - pin.skew(R @ p - center) @ J[3:]).T for p in points]
        J = pin.getFrameJacobian(model, data, base, world)
        bias, X = pin.getFrameClassicalAcceleration(model, data, base, world), data.oMf[base]
        e = X.rotation @ pin.log3(X.rotation.T @ work.rotation)
        V = J @ v
        r = np.concatenate(
            [
                100.0 * (work.positions[k] - X.translation) - 20.0 * V[:3] - bias.linear,
                100.0 * e - 20.0 * V[3:] - bias.angular,
            ]
        )
        H, g = H + J.T @ J, g - J.T @ r
        r = 30.0 * pin.difference(model, q, q0)[6:] - 11.0 * v[6:]
        H[range(6, nv), range(6, nv)] += POSTURE
        g[6:] -= POSTURE * r
        T = np.hstack(T)
        whole = REGULAR * np.eye(n)
        whole[:nv, :nv] = H
        A[:nv] = T
        lower[n : n + nv], upper[n : n + nv] = -effort - h, effort - h
        lower[6:nv], upper[6:nv] = (-top[6:] - v[6:]) / DT, (top[6:] - v[6:]) / DT
        cost = np.concatenate([g, np.zeros(nf)])
        if is_set_up:
            solver.update(whole, cost, A, upper, lower)
        else:
            solver.setup(whole, cost, A, upper, lower, sense)
            is_set_up = True
        x, _, flag, _ = solver.solve()
        assert flag > 0
        tau = T @ x + h
        found = np.zeros(tree.num_velocities)
        found[own_v] = tau[at_v]
        return found

    assert num_motors == len(at_v)
    return {"NumPy with pin and daqp": tick}


def measure(robot: Robot, count: int, rounds: int, seconds: float) -> None:
    """Print the figures of one robot."""
    work = Workload(robot, count)
    ticks: dict[str, Tick] = {}
    for make in (ticks_of_mbt, ticks_of_pinocchio):
        try:
            ticks |= make(work)
        except ImportError as error:
            print(f"  {make.__name__}: not measured ({error})")
    for k in range(0, count, 10):
        results = [tick(k).copy() for tick in ticks.values()]
        for other in results[1:]:
            np.testing.assert_allclose(other, results[0], atol=2e-3 * np.abs(results[0]).max())
    times = {name: np.zeros((rounds, count)) for name in ticks}
    gc.disable()
    for i in range(rounds):
        for k in range(count):
            for name, tick in ticks.items():
                begin = time.perf_counter()
                tick(k)
                times[name][i, k] = time.perf_counter() - begin
    print(f"{robot.name}: {work.tree.num_velocities} dofs, {sum(map(len, robot.feet.values()))} points [us]")
    for name, all_times in times.items():
        p50, late = 1e6 * np.quantile(all_times, [0.5, 0.999])
        floor = 1e6 * np.median(all_times.min(axis=0))
        print(f"  {name:24s} floor {floor:7.1f}   p50 {p50:7.1f}   p99.9 {late:8.1f}")
    if seconds:
        paced = pace(ticks["mbt"], count, round(1e3 * seconds))
        p50, late, last = 1e6 * np.quantile(paced, [0.5, 0.999, 1.0])
        print(f"  {'mbt, a loop at 1 kHz':24s} p50 {p50:.1f}   p99.9 {late:.1f}   longest {last:.1f}")
    gc.enable()


def pace(tick: Tick, count: int, num_ticks: int) -> Array:
    """Return the durations of ticks that start once per millisecond."""
    times, start = np.zeros(num_ticks), time.perf_counter()
    for i in range(num_ticks):
        due = start + 1e-3 * i
        while (left := due - time.perf_counter()) > 0.0:
            if left > 2e-4:
                time.sleep(left - 1e-4)
        begin = time.perf_counter()
        tick(i % count)
        times[i] = time.perf_counter() - begin
    return times


def main() -> None:
    """Measure the robots of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--go1", metavar="FILE")
    parser.add_argument("--h1", metavar="FILE")
    parser.add_argument("--ticks", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--loop", type=float, default=5.0, metavar="SECONDS")
    options = parser.parse_args()
    mbt.set_num_threads(1)
    robots = [make(path) for make, path in ((go1, options.go1), (h1, options.h1)) if path]
    for robot in robots or [quadruped(), biped()]:
        measure(robot, options.ticks, options.rounds, options.loop)


if __name__ == "__main__":
    main()
