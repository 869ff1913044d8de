"""Ticks of a controller by tasks beside TSID: differences of the torques, and the times of both.

    python benchmarks/control_beside_tsid.py [--go1 FILE] [--h1 FILE] [--ticks 500] [--rounds 5]

Needs an environment of its own, in which both mbt and TSID run. These wheels from PyPI work together:

    pip install daqp tsid==1.7.1 pin==3.4.0 "cmeel-urdfdom<5" "cmeel-tinyxml2<11"

The robots of `benchmarks/control.py`, or a Unitree Go1 and H1, sway on four and eight points, and both
libraries solve the same program: tasks for the trunk's pose and for a posture, contacts whose motion is
penalized by a cost, friction pyramids, effort and velocity limits. Then effort limits are lowered to a part
of the torques needed, so that bounds are active. Torques are asserted to agree to 1e-6 of the largest. Ticks
take turns on one thread; the minimum and median of all are printed, in microseconds. Like mbt, TSID is called
from Python.
"""

from __future__ import annotations

import argparse
import gc
import re
import statistics
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
from tsid import tsid_pywrap as tsid  # the wheel's package does not import it itself

import mbt
from control import DAMPING, DT, FRICTION, Robot, Tick, Workload, biped, go1, h1, quadruped
from models import Array

# Weights: the force weight is large enough that the program is well conditioned and solvers can agree.
CONTACT, POSTURE, FORCE = 1e3, 1e-1, 1e-3
# Added by TSID's solver to the diagonal of its cost.
REGULAR = 1e-8


def ticks_of_mbt(work: Workload) -> Tick:
    """Return ticks of mbt: torques of the motors."""
    robot = work.robot
    places = [joint.velocity_start for joint in work.motors]
    contacts = [  # one point each, as in TSID: several points in one contact would be held as one body
        mbt.ContactPoints(link, p, friction=FRICTION, damping=DAMPING)
        for link, points in robot.feet.items()
        for p in points
    ]
    controller = mbt.TaskSpaceController(
        work.tree,
        contacts,
        dt=DT,
        limits=["effort", "velocity"],
        actuated=[joint.name for joint in work.motors],
        contact_weight=CONTACT,
        regularization=REGULAR,
    )
    controller.add_orientation(robot.base, stiffness=100, damping=20)
    controller.add_position(robot.base, stiffness=100, damping=20)
    controller.add_posture(work.posture, stiffness=30, damping=11, weight=POSTURE)
    for contact in contacts:
        controller.add_contact_force(contact, weight=FORCE)
    controller.compile()
    none = [np.zeros((contact.num_points, 3)) for contact in contacts]
    result = controller.solve(work.q[0], work.v[0], [*work.goals(0), *none])

    def tick(k: int) -> Array:
        controller.solve(work.q[k], work.v[k], [*work.goals(k), *none], out=result)
        return result.tau[places]

    return tick


def add_points(model: pin.Model, robot: Robot) -> list[str]:
    """Add a frame for each point on which a robot stands, and return the names of the frames."""
    names = []
    for link, points in robot.feet.items():
        index = model.getFrameId(link)
        frame = model.frames[index]
        for i, p in enumerate(points):
            names.append(f"{link}_point_{i}")
            X = frame.placement * pin.SE3(np.eye(3), p)
            model.addFrame(pin.Frame(names[-1], frame.parentJoint, index, X, pin.FrameType.OP_FRAME))
    return names


def ticks_of_tsid(work: Workload) -> Tick:
    """Return ticks of TSID."""
    robot = work.robot
    model = pin.buildModelFromXML(robot.urdf, pin.JointModelFreeFlyer())
    points = add_points(model, robot)
    states, posture, at_v = work.states_of_pinocchio(model)
    own_v = [joint.velocity_start for joint in work.motors]
    wrapper = tsid.RobotWrapper(model, tsid.FLOATING_BASE_SYSTEM, False)
    program = tsid.InverseDynamicsFormulationAccForce("program", wrapper, False)
    program.computeProblemData(0.0, *states[0])
    kept: list[Any] = []
    for name in points:
        contact = tsid.ContactPoint(
            name, wrapper, name, np.array([0.0, 0.0, 1.0]), FRICTION / np.sqrt(2.0), 0.0, 1e9
        )
        contact.setKp(np.zeros(3))
        contact.setKd(np.full(3, DAMPING))
        contact.useLocalFrame(False)
        contact.setRegularizationTaskWeightVector(np.ones(3))
        contact.setReference(wrapper.framePosition(program.data(), model.getFrameId(name)))
        program.addRigidContact(contact, FORCE, CONTACT, 1)
        kept.append(contact)
    trunk = tsid.TaskSE3Equality("trunk", wrapper, robot.base)
    trunk.setKp(np.full(6, 100.0))
    trunk.setKd(np.full(6, 20.0))
    trunk.useLocalFrame(False)
    program.addMotionTask(trunk, 1.0, 1, 0.0)
    joints = tsid.TaskJointPosture("posture", wrapper)
    joints.setKp(np.full(len(at_v), 30.0))
    joints.setKd(np.full(len(at_v), 11.0))
    joints.setReference(tsid.TrajectoryEuclidianConstant("posture", posture[7:]).computeNext())
    program.addMotionTask(joints, POSTURE, 1, 0.0)
    top, most = np.zeros(len(at_v)), np.zeros(len(at_v))
    top[np.array(at_v) - 6] = work.tree.velocity_upper_limits[own_v]
    most[np.array(at_v) - 6] = work.tree.effort_upper_limits[own_v]
    motors = tsid.TaskActuationBounds("efforts", wrapper)
    motors.setBounds(-most, most)
    program.addActuationTask(motors, 1.0, 0, 0.0)
    speeds = tsid.TaskJointBounds("velocities", wrapper, DT)
    speeds.setVelocityBounds(-top, top)
    program.addMotionTask(speeds, 1.0, 0, 0.0)
    goals = [
        tsid.TrajectorySE3Constant("trunk", pin.SE3(work.rotation, p)).computeNext() for p in work.positions
    ]
    solver = tsid.SolverHQuadProgFast("solver")
    solver.resize(program.nVar, program.nEq, program.nIn)
    kept += [trunk, joints, motors, speeds, wrapper, model]

    def tick(k: int) -> Array:
        trunk.setReference(goals[k])
        found = solver.solve(program.computeProblemData(DT * k, *states[k]))
        assert found.status == 0, found.status
        assert kept
        torques: Array = program.getActuatorForces(found)[np.array(at_v) - 6]
        return torques

    return tick


def compare(robot: Robot, count: int, rounds: int) -> float:
    """Print the differences and times of one robot, and return its largest torque."""
    work = Workload(robot, count)
    efforts = work.tree.effort_upper_limits[[joint.velocity_start for joint in work.motors]]
    ticks = {"mbt": ticks_of_mbt(work), "TSID": ticks_of_tsid(work)}
    torques = {name: np.array([tick(k).copy() for k in range(count)]) for name, tick in ticks.items()}
    size = float(np.abs(torques["mbt"]).max())
    off = np.abs(torques["mbt"] - torques["TSID"]).max() / size
    bound = np.isclose(np.abs(torques["mbt"]), efforts, rtol=1e-9).any(axis=1).mean()
    print(f"{robot.name}: torques up to {size:.4g} N m, at a limit in {100 * bound:.0f} % of ticks")
    print(f"  largest difference, relative to the largest torque: {off:.1e}")
    assert off < 1e-6, off
    times: dict[str, list[float]] = {name: [] for name in ticks}
    gc.disable()
    for _ in range(rounds):
        for k in range(count):
            for name, tick in ticks.items():
                start = time.perf_counter()
                tick(k)
                times[name].append(1e6 * (time.perf_counter() - start))
    gc.enable()
    for name, all_times in times.items():
        print(f"  {name:6} {min(all_times):8.1f} {statistics.median(all_times):8.1f}")
    return size


def main() -> None:
    """Compare."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--go1", metavar="FILE")
    parser.add_argument("--h1", metavar="FILE")
    parser.add_argument("--ticks", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    mbt.set_num_threads(1)
    four = go1(options.go1) if options.go1 else quadruped()
    for robot in (four, h1(options.h1) if options.h1 else biped()):
        size = compare(robot, options.ticks, options.rounds)
        weaker = re.sub(r'effort="[^"]*"', f'effort="{0.9 * size}"', robot.urdf)
        compare(replace(robot, urdf=weaker), options.ticks, options.rounds)


if __name__ == "__main__":
    main()
