"""Rollouts of public robots against the integrators of MuJoCo and Drake, over a second."""

# mypy: disable-error-code="arg-type"
# (the stubs of pydrake use an array type that no NumPy array has)

from __future__ import annotations

import xml.etree.ElementTree as ET
from functools import cache
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.public_robots import FOLDER

pytestmark = pytest.mark.oracle

Array = np.ndarray
DT, STEPS = 1e-3, 1000

ARMS = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
}
FREE = {
    "solo12": "solo_description/robots/solo12.urdf",
}
ROBOTS = {**ARMS, **FREE}


@cache
def text_of(name: str) -> str:
    """Return a robot's mechanism without shapes, friction and mimics, which libraries treat differently."""
    robot = ET.fromstring((FOLDER / ROBOTS[name]).read_text())
    for element in list(robot):
        if element.tag not in ("link", "joint"):
            robot.remove(element)
            continue
        for part in list(element):
            if part.tag in ("visual", "collision", "mimic"):
                element.remove(part)
            elif part.tag == "dynamics":
                part.attrib.pop("friction", None)
    if name in FREE:
        children = {child.attrib["link"] for child in robot.iter("child")}
        (root,) = (link.attrib["name"] for link in robot.iter("link") if link.attrib["name"] not in children)
        joint = ET.SubElement(robot, "joint", name="free_root", type="floating")
        ET.SubElement(robot, "link", name="world")
        ET.SubElement(joint, "parent", link="world")
        ET.SubElement(joint, "child", link=root)
    return ET.tostring(robot, encoding="unicode")


@cache
def problem(name: str) -> tuple[mbt.MultibodyTree, Array, Array]:
    """Return a robot and one of its states, in motion."""
    tree = mbt.load_model(text_of(name), base="fixed")
    rng = np.random.default_rng(8)
    dq, v = rng.uniform(-0.5, 0.5, (2, tree.num_velocities))
    return tree, tree.integrate_positions(tree.default_positions, dq, 1.0), v


@cache
def path_of(name: str, method: str) -> tuple[Array, Array]:
    tree, q, v = problem(name)
    return functional.rollout(tree, q, v, np.zeros((STEPS, tree.num_velocities)), DT, method=method)


def largest_difference(
    tree: mbt.MultibodyTree, path: tuple[Array, Array], other: tuple[Array, Array]
) -> float:
    """Return the largest difference of positions and velocities; velocities relative to their largest."""
    (q, v), (other_q, other_v) = path, other
    assert np.abs(tree.difference_positions(q[0], q[-1])).max() > 0.3
    dq = functional.difference_positions(tree, q, other_q)
    return max(np.abs(dq).max(), np.abs(v - other_v).max() / np.abs(v).max())


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
@pytest.mark.parametrize("name", ROBOTS)
def test_mujoco(name: str, method: str) -> None:
    mujoco = pytest.importorskip("mujoco", reason="needs the `oracle` extra")
    model = mujoco.MjModel.from_xml_string(text_of(name))
    kinds, flags = mujoco.mjtIntegrator, mujoco.mjtDisableBit
    model.opt.integrator = kinds.mjINT_RK4 if method == "rk4" else kinds.mjINT_EULER
    model.opt.timestep = DT
    model.opt.disableflags |= flags.mjDSBL_CONSTRAINT | flags.mjDSBL_EULERDAMP
    tree, q, v = problem(name)
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = coordinates.q_to_mujoco(q), coordinates.v_to_mujoco(q, v)
    qpos, qvel = [data.qpos.copy()], [data.qvel.copy()]
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
        qpos.append(data.qpos.copy())
        qvel.append(data.qvel.copy())
    theirs = coordinates.q_from_mujoco(qpos), coordinates.v_from_mujoco(qpos, qvel)
    assert largest_difference(tree, path_of(name, method), theirs) < 1e-10


def drake(name: str, scheme: str, dt: float) -> tuple[Array, Array]:
    """Return the states at every tenth of the second."""
    pytest.importorskip("pydrake", reason="needs the `oracle` extra")
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator

    plant: Any = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text_of(name), "urdf")
    if 'link name="world"' not in text_of(name):
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(problem(name)[0].bodies[1].name))
    plant.Finalize()
    tree, q, v = problem(name)
    to_q, to_v = np.zeros(tree.num_positions, int), np.zeros(tree.num_velocities, int)
    for joint in tree.joints:
        n, m = joint.num_positions, joint.num_velocities
        if n == 0:
            continue
        # Drake adds a free joint itself.
        theirs = plant.GetJointByName(joint.name if n == 1 else joint.child_body.name)
        to_q[joint.position_start : joint.position_start + n] = theirs.position_start() + np.arange(n)
        to_v[joint.velocity_start : joint.velocity_start + m] = theirs.velocity_start() + np.arange(m)
    simulator = Simulator(plant)
    ResetIntegratorFromFlags(simulator, scheme, dt)
    integrator, context = simulator.get_mutable_integrator(), simulator.get_mutable_context()
    integrator.set_fixed_step_mode(True)
    plant.SetPositions(context, q[np.argsort(to_q)])
    plant.SetVelocities(context, v[np.argsort(to_v)])
    simulator.Initialize()
    states = []
    for time in np.linspace(0.0, DT * STEPS, 11):
        simulator.AdvanceTo(time)
        states.append((plant.GetPositions(context)[to_q], plant.GetVelocities(context)[to_v]))
    positions, velocities = (np.array(part) for part in zip(*states, strict=True))
    return positions, velocities


def each_tenth(path: tuple[Array, Array]) -> tuple[Array, Array]:
    return path[0][:: STEPS // 10], path[1][:: STEPS // 10]


@pytest.mark.parametrize("name", ROBOTS)
def test_accurate_trajectories_of_drake(name: str) -> None:
    """Both with short steps; Drake's integrator is of order five."""
    theirs = drake(name, "runge_kutta5", DT / 5)
    tree, q, v = problem(name)
    rest = np.broadcast_to(0.0, (40 * STEPS, tree.num_velocities))
    path = functional.rollout(tree, q, v, rest, DT / 40, method="rk4", every=4 * STEPS)
    assert largest_difference(tree, path, theirs) < 1e-6


@pytest.mark.parametrize("name", ARMS)
def test_semi_implicit_euler_of_drake(name: str) -> None:
    theirs = drake(name, "semi_explicit_euler", DT)
    ours = path_of(name, "semi_implicit_euler")
    assert largest_difference(problem(name)[0], each_tenth(ours), theirs) < 1e-10
