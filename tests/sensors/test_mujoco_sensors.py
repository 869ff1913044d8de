"""Sensors of MJCF: the numbers of MuJoCo's ``sensordata``."""

import numpy as np
import pytest

import mbt

pytestmark = pytest.mark.oracle
mujoco = pytest.importorskip("mujoco")

SENSORS = """
  <accelerometer name="acc" site="tip"/> <gyro name="gyro" site="tip"/> <velocimeter site="tip"/>
  <accelerometer name="base_acc" site="chest"/> <gyro name="base_gyro" site="chest"/>
  <force name="force" site="tip"/> <torque name="torque" site="tip"/>
  <force name="wrist_force" site="wrist"/> <torque name="wrist_torque" site="wrist"/>
  <force name="two_force" site="two"/> <torque name="two_torque" site="two"/>
  <jointpos name="pos" joint="elbow"/> <jointvel name="vel" joint="elbow"/> <jointpos joint="slide"/>
  <ballquat name="quat" joint="ball"/>
  <framepos name="p" objtype="site" objname="tip"/> <framequat objtype="site" objname="tip"/>
  <framexaxis objtype="site" objname="tip"/> <frameyaxis objtype="xbody" objname="hand"/>
  <framezaxis objtype="geom" objname="lump"/>
  <framelinvel objtype="body" objname="hand"/> <frameangvel objtype="body" objname="hand"/>
  <framelinacc objtype="site" objname="tip"/> <frameangacc objtype="camera" objname="eye"/>
  <framelinacc objtype="body" objname="torso"/>
  <framepos objtype="site" objname="tip" reftype="xbody" refname="upper"/>
  <framequat objtype="geom" objname="lump" reftype="site" refname="chest"/>
  <framexaxis objtype="xbody" objname="hand" reftype="site" refname="chest"/>
  <framelinvel objtype="site" objname="tip" reftype="site" refname="chest"/>
  <frameangvel objtype="site" objname="tip" reftype="body" refname="torso"/>
  <framepos objtype="site" objname="fixed"/>
  <framelinvel objtype="site" objname="tip" reftype="site" refname="fixed"/>
"""

ROBOT = """
<mujoco>
  <option gravity="0.3 -0.2 -9.81"><flag contact="disable"/></option>
  <default><geom density="800"/></default>
  <worldbody>
    <site name="fixed" pos="0.1 0.2 0.3" euler="10 20 30"/>
    <body name="torso" pos="0 0 1">
      {base}
      <geom type="box" size="0.2 0.15 0.1" pos="0.01 0.02 0.03"/>
      <site name="chest" pos="0.1 0 0.05" euler="10 -20 35"/>
      <camera name="eye" pos="0.2 0 0.1" euler="5 6 7"/>
      <body name="upper" pos="0.1 0.2 0" euler="0 30 0">
        <joint name="ball" type="ball" damping="0.1"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
        <body name="fore" pos="0.3 0 0" euler="10 0 20">
          <joint name="elbow" axis="0 1 0.2" damping="0.2" armature="0.03" stiffness="2" springref="10"/>
          <joint name="slide" axis="1 0 0" type="slide" damping="0.3"/>
          <geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.025"/>
          <site name="two" pos="0.1 0.02 0" euler="0 0 40"/>
          <body name="hand" pos="0.25 0 0" euler="0 0 15">
            <geom name="lump" type="ellipsoid" size="0.08 0.05 0.02" pos="0.05 0.01 0" euler="3 2 1"/>
            <site name="wrist" pos="0 0.01 0.02"/>
            <body name="finger" pos="0.1 0 0"><joint name="finger" axis="0 0 1" armature="0.01"/>
              <geom type="box" size="0.03 0.01 0.01" pos="0.03 0 0"/>
              <site name="tip" pos="0.06 0 0" euler="20 -10 50"/>
            </body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="elbow" joint="elbow" gear="3"/>
    <position name="finger" joint="finger" kp="2" kv="0.1"/></actuator>
  <sensor>{sensors}</sensor>
</mujoco>
"""


def assert_same(tree, values, expected):
    """Compare values with MuJoCo's; a quaternion and its negative are the same rotation."""
    expected = expected.copy()
    for sensor in tree.sensors:
        if sensor.quantities == ("quaternion",):
            expected[sensor.columns] *= np.sign(expected[sensor.columns] @ values[sensor.columns])
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("base", ['<freejoint name="root"/>', "", '<joint name="yaw" axis="0 0 1"/>'])
def test_values_are_those_of_mujoco(base):
    model = mujoco.MjModel.from_xml_string(ROBOT.format(base=base, sensors=SENSORS))
    tree = mbt.interop.from_mujoco(model)
    assert "sensor" not in tree.parse_reports[0].ignored
    assert (tree.num_sensors, tree.num_sensor_values) == (model.nsensor, model.nsensordata)
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    rng = np.random.default_rng(11)
    context = tree.create_default_context()
    for _ in range(20):
        data = mujoco.MjData(model)
        mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
        data.qvel[:], data.ctrl[:] = rng.normal(size=model.nv), rng.normal(size=model.nu)
        data.qfrc_applied[:] = rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        context.q = coordinates.q_from_mujoco(data.qpos)
        context.v = coordinates.v_from_mujoco(data.qpos, data.qvel)
        context.actuation = coordinates.actuation_from_mujoco(data.actuator_force)
        tau = coordinates.v_from_mujoco(data.qpos, data.qfrc_applied)
        values = tree.calc_sensors(context, tau)
        for sensor, start, size in zip(tree.sensors, model.sensor_adr, model.sensor_dim, strict=True):
            assert sensor.columns == slice(start, start + size)
        assert_same(tree, values, data.sensordata)


def test_forces_on_bodies_reach_the_sensors():
    model = mujoco.MjModel.from_xml_string(ROBOT.format(base='<freejoint name="root"/>', sensors=SENSORS))
    tree = mbt.interop.from_mujoco(model)
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    rng = np.random.default_rng(12)
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
    data.qvel[:] = rng.normal(size=model.nv)
    data.xfrc_applied[1:] = rng.normal(size=(model.nbody - 1, 6))
    mujoco.mj_forward(model, data)
    context = tree.create_default_context()
    context.q = coordinates.q_from_mujoco(data.qpos)
    context.v = coordinates.v_from_mujoco(data.qpos, data.qvel)
    context.servo_positions = context.q[[tree.joint_actuators[i].joint.position_start for i in (0, 1)]]
    tau = tree.actuation_matrix @ coordinates.actuation_from_mujoco(data.actuator_force)
    forces = mbt.MultibodyForces(tree)
    for i in range(1, model.nbody):
        body = tree.get_body_by_name(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, i))
        force, torque = data.xfrc_applied[i, :3], data.xfrc_applied[i, 3:]
        # At the mass centre in MuJoCo, at the origin here.
        p = data.xipos[i] - data.xpos[i]
        forces.body_forces[body.node_index] = [*(torque + np.cross(p, force)), *force]
    values = tree.calc_sensors(context, tau, forces)
    assert_same(tree, values, data.sensordata)


def test_names_are_kept():
    tree = mbt.load_model(ROBOT.format(base='<freejoint name="root"/>', sensors=SENSORS))
    assert isinstance(tree.get_sensor_by_name("acc"), mbt.Imu)
    assert tree.get_sensor_by_name("acc").frame.name == "tip"
    assert tree.get_sensor_by_name("sensor_2").quantities == ("velocimeter",)
    assert tree.get_sensor_by_name("wrist_force").joint.type_name == "weld"
    assert tree.get_sensor_by_name("two_force").joint.name == "slide"
    assert tree.sensor_names[:3] == ("acc_accelerometer_x", "acc_accelerometer_y", "acc_accelerometer_z")


def test_others_are_counted():
    others = """<touch site="tip"/><clock/><subtreecom body="torso"/><actuatorpos actuator="elbow"/>
        <gyro site="tip" cutoff="3"/><force site="chest"/><torque site="fixed"/>"""
    tree = mbt.load_model(ROBOT.format(base='<freejoint name="root"/>', sensors=others))
    assert [type(sensor) for sensor in tree.sensors] == [mbt.Imu]
    assert {"sensor": 6, "sensor@cutoff": 1}.items() <= tree.parse_reports[0].ignored.items()


def test_a_base_that_is_held_or_freed():
    text = ROBOT.format(base="", sensors='<force name="f" site="chest"/><gyro site="chest"/>')
    fixed = mbt.load_model(text)
    assert fixed.num_sensors == 2
    assert fixed.get_sensor_by_name("f").joint.child_body.name == "torso"
    free = mbt.load_model(text, base="floating")
    # A free joint transmits no force.
    np.testing.assert_allclose(free.create_default_context().sensors, 0.0, atol=1e-12)
