"""Steps and rollouts against MuJoCo's integrators, and against Drake's discrete plant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt

mujoco: Any = pytest.importorskip("mujoco", reason="needs the `oracle` extra")

pytestmark = pytest.mark.oracle

ARM = """
<mujoco>
  <option timestep="0.01" gravity="0.3 0.2 -9.81"><flag constraint="disable" eulerdamp="disable"/></option>
  <worldbody>
    <body name="a" pos="0 0 1">
      <joint name="a" axis="0 1 0" damping="0.1" stiffness="2" armature="0.02"/>
      <inertial pos="0.1 0 -0.2" mass="1.2" diaginertia="0.02 0.03 0.04"/>
      <body name="b" pos="0 0 -0.5" euler="20 30 40">
        <joint name="b" axis="1 0 1"/>
        <inertial pos="0 0.1 -0.2" mass="0.8" diaginertia="0.02 0.01 0.015"/>
        <body name="c" pos="0.1 0 -0.4">
          <joint name="c" type="slide" axis="0 1 1" stiffness="20"/>
          <inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.002 0.001 0.0015"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
FREE = """
<mujoco>
  <option timestep="0.01"><flag constraint="disable" eulerdamp="disable"/></option>
  <worldbody>
    <body name="trunk">
      <freejoint/>
      <inertial pos="0.1 0 -0.2" mass="1.2" diaginertia="0.02 0.03 0.04"/>
      <body name="arm" pos="0 0 -0.5">
        <joint name="shoulder" type="ball"/>
        <inertial pos="0 0.1 -0.2" mass="0.8" diaginertia="0.02 0.01 0.015"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
METHODS = {"semi_implicit_euler": "mjINT_EULER", "rk4": "mjINT_RK4"}


def compile_model(text: str, method: str, dt: float) -> Any:
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.integrator = getattr(mujoco.mjtIntegrator, METHODS[method])
    model.opt.timestep = dt
    return model


def roll_out_with_mujoco(model: Any, qpos: Any, qvel: Any, forces: Any) -> tuple[Any, Any]:
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = qpos, qvel
    states = [(data.qpos.copy(), data.qvel.copy())]
    for force in forces:
        data.qfrc_applied[:] = force
        mujoco.mj_step(model, data)
        states.append((data.qpos.copy(), data.qvel.copy()))
    qs, vs = zip(*states, strict=True)
    return np.array(qs), np.array(vs)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_steps_without_rotations_of_three_dofs(method: str) -> None:
    model = compile_model(ARM, method, 0.01)
    tree = mbt.interop.from_mujoco(model)
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    rng = np.random.default_rng(0)
    qpos, qvel, forces = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(100, 3))
    qs, vs = roll_out_with_mujoco(model, qpos, qvel, forces)
    tau = coordinates.v_from_mujoco(qs[:-1], forces)
    q, v = mbt.functional.rollout(tree, *start(coordinates, qpos, qvel), tau, 0.01, method=method)
    np.testing.assert_allclose(coordinates.q_to_mujoco(q), qs, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(coordinates.v_to_mujoco(q, v), vs, rtol=1e-9, atol=1e-9)


def start(coordinates: Any, qpos: Any, qvel: Any) -> tuple[Any, Any]:
    return coordinates.q_from_mujoco(qpos), coordinates.v_from_mujoco(qpos, qvel)


def distance_of_bodies_that_turn(method: str, steps: int) -> float:
    rng = np.random.default_rng(1)
    qpos, qvel, forces = rng.normal(size=11), rng.normal(size=9), np.zeros((steps, 9))
    model = compile_model(FREE, method, 0.5 / steps)
    tree = mbt.interop.from_mujoco(model)
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    mujoco.mj_normalizeQuat(model, qpos)
    qs, _ = roll_out_with_mujoco(model, qpos, qvel, forces)
    q, _ = mbt.functional.rollout(tree, *start(coordinates, qpos, qvel), forces, 0.5 / steps, method=method)
    return float(np.abs(tree.difference_positions(q[-1], coordinates.q_from_mujoco(qs[-1]))).max())


def test_the_same_euler_steps_of_bodies_that_turn() -> None:
    """Velocities are in other axes; a step rotates about the velocity itself, which is the same in both."""
    assert distance_of_bodies_that_turn("semi_implicit_euler", 100) < 1e-10


def test_the_same_motion_of_bodies_that_turn() -> None:
    """Stages rotate bodies differently, with errors of order four."""
    coarse, fine = (distance_of_bodies_that_turn("rk4", steps) for steps in (100, 200))
    assert fine < 1e-6
    assert coarse / fine == pytest.approx(16.0, rel=0.15)


DRAKE_ARM = """
<robot name="arm"><link name="world"/>
  <link name="a"><inertial><origin xyz="0.1 0 -0.2"/><mass value="1.2"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><origin xyz="0 0.1 -0.2"/><mass value="0.8"/>
    <inertia ixx="0.02" iyy="0.01" izz="0.015" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="a" type="continuous"><parent link="world"/><child link="a"/><axis xyz="0 1 0"/></joint>
  <joint name="b" type="continuous"><parent link="a"/><child link="b"/>
    <origin xyz="0 0 -0.5" rpy="0.3 0.5 0.7"/><axis xyz="1 0 0"/></joint>
</robot>
"""


def test_the_same_steps_as_a_discrete_plant_of_drake() -> None:
    analysis = pytest.importorskip("pydrake.systems.analysis", reason="needs the `oracle` extra")
    from pydrake.multibody.parsing import Parser  # type: ignore[import-not-found]
    from pydrake.multibody.plant import MultibodyPlant  # type: ignore[import-not-found]

    tree = mbt.load_model(DRAKE_ARM)
    q0, v0 = np.array([0.3, -0.5]), np.array([1.0, 2.0])
    q, v = mbt.functional.rollout(tree, q0, v0, np.zeros((200, 2)), 0.005)
    plant = MultibodyPlant(0.005)
    Parser(plant).AddModelsFromString(DRAKE_ARM, "urdf")
    plant.Finalize()
    simulator = analysis.Simulator(plant)
    context = simulator.get_mutable_context()
    plant.SetPositions(context, q0)
    plant.SetVelocities(context, v0)
    simulator.AdvanceTo(1.0)
    np.testing.assert_allclose(q[-1], plant.GetPositions(context), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(v[-1], plant.GetVelocities(context), rtol=1e-8, atol=1e-8)
