"""Servos of MuJoCo: actuators with fixed gain and affine bias, compared with MuJoCo's forces."""

import numpy as np
import pytest

import mbt

pytestmark = pytest.mark.oracle
mujoco = pytest.importorskip("mujoco")

ACTUATORS = {
    "position": '<position joint="{j}" kp="30" kv="2"/>',
    "gear": '<position joint="{j}" kp="30" kv="2" gear="-3" ctrlrange="-1 0.5"/>',
    "force": '<position joint="{j}" kp="90" dampratio="0.7" gear="2" forcerange="-4 4" ctrlrange="-2 2"/>',
    "velocity": '<velocity joint="{j}" kv="5" gear="2" ctrlrange="-0.5 0.5"/>',
    "intvelocity": '<intvelocity joint="{j}" kp="40" kv="1.5" gear="0.5" actrange="-1 1"/>',
    "filtered": '<position joint="{j}" kp="20" timeconst="0.1"/>',
    "general": '<general joint="{j}" gaintype="fixed" gainprm="3" biastype="affine" biasprm="0.3 -4 -0.2"/>',
    "offset": '<general joint="{j}" gainprm="2" biastype="affine" biasprm="0.5 0 -0.7" gear="-1.5"/>',
    "parent": '<position jointinparent="{j}" kp="30" kv="2" gear="3"/>',
}


def make_text(actuators, joints=("hinge", "slide"), option=""):
    bodies = f"""<joint name="{joints[0]}" type="hinge" axis="0 1 0" ref="20" actuatorfrcrange="-90 90"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.04"/>
        <body name="b" pos="0 0 -0.5"><joint name="{joints[1]}" type="slide" axis="1 0 0.2"/>
        <geom type="capsule" fromto="0 0 0 0.2 0 -0.4" size="0.03"/></body>"""
    return f"""<mujoco>{option}<worldbody><body name="a" pos="0 0 1">{bodies}</body></worldbody>
        <actuator>{actuators}</actuator></mujoco>"""


def compare_forces(text, num=40, *, is_read=True):
    """Compare the efforts of servos on the joints with MuJoCo's at random states and controls."""
    model = mujoco.MjModel.from_xml_string(text)
    tree = mbt.interop.from_mujoco(model)
    assert [motor.is_servo for motor in tree.joint_actuators] == [is_read] * len(tree.joint_actuators)
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    rng = np.random.default_rng(7)
    qpos, qvel = rng.normal(size=(num, model.nq)), rng.normal(size=(num, model.nv))
    ctrl, act = rng.normal(size=(num, model.nu)), rng.normal(size=(num, model.na))
    expected = []
    for i in range(num):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:], data.ctrl[:], data.act[:] = qpos[i], qvel[i], ctrl[i], act[i]
        mujoco.mj_forward(model, data)
        expected.append(data.qfrc_actuator.copy())
    context = tree.create_default_context((num,))
    context.q = coordinates.q_from_mujoco(qpos)
    context.v = coordinates.v_from_mujoco(qpos, qvel)
    q_d, v_d = coordinates.servo_targets_from_mujoco(ctrl, act)
    context.servo_positions, context.servo_velocities = q_d, v_d
    tau = tree.calc_servo_efforts(context) @ tree.actuation_matrix.T
    expected = coordinates.v_from_mujoco(qpos, np.array(expected))
    assert is_read == (abs(expected).max() > 0.1)
    np.testing.assert_allclose(tau, expected, rtol=1e-12, atol=1e-12)
    return model, tree, coordinates


@pytest.mark.parametrize("joint", ["hinge", "slide"])
@pytest.mark.parametrize("kind", ACTUATORS)
def test_forces_are_those_of_mujoco(kind, joint):
    _, tree, _ = compare_forces(make_text(ACTUATORS[kind].format(j=joint)))
    assert "servos" not in tree.parse_reports[0].inactive


def test_forces_of_several_servos_add_up():
    """Without the joint's limit, which clips their sum in MuJoCo; here each actuator has its own limit."""
    text = make_text("".join(text.format(j="hinge") for text in ACTUATORS.values()))
    compare_forces(text.replace('actuatorfrcrange="-90 90"', ""))


def test_gains_are_those_of_the_joint():
    tree = mbt.load_model(make_text(ACTUATORS["gear"].format(j="hinge")))
    (servo,) = tree.joint_actuators
    assert (servo.default_stiffness, servo.default_damping, servo.effort_limit) == (270.0, 18.0, 90.0)
    (servo,) = mbt.load_model(make_text(ACTUATORS["force"].format(j="hinge"))).joint_actuators
    assert (servo.default_stiffness, servo.effort_limit) == (360.0, 8.0)


def test_a_simulation_makes_the_steps_of_mujoco():
    """MuJoCo's Euler steps without implicit damping are semi-implicit ones with constant efforts."""
    option = '<option timestep="0.001" integrator="Euler"><flag eulerdamp="disable"/></option>'
    text = ACTUATORS["position"].format(j="hinge") + ACTUATORS["force"].format(j="slide")
    model, tree, coordinates = compare_forces(make_text(text, option=option))
    data = mujoco.MjData(model)
    data.ctrl[:] = [0.7, -0.2]
    mujoco.mj_step(model, data, 300)
    context = tree.create_default_context()
    context.servo_positions, context.servo_velocities = coordinates.servo_targets_from_mujoco(data.ctrl)
    motion = mbt.simulate(tree, context, 0.3, dt=1e-3, method="semi_implicit_euler")
    np.testing.assert_allclose(motion.q[-1], coordinates.q_from_mujoco(data.qpos), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(motion.v[-1], data.qvel, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("kind", [kind for kind in ACTUATORS if kind != "filtered"])
def test_implicit_steps_of_a_servo_are_those_of_mujoco_for_a_second(kind):
    """`implicitfast` takes the damping of a servo at the end of a step, and its stiffness at the start.

    With ``kv + h kp`` it matches the servo of mbt, whose stiffness also counts at the end. Where a servo
    leaves its limit, MuJoCo reacts one step later.
    """
    h, steps = 2e-3, 500
    option = f'<option timestep="{h}" integrator="implicitfast" gravity="0 0 0"/>'
    text = f"""<mujoco>{option}<worldbody><body name="a" pos="0 0 1">
        <joint name="slide" type="slide" axis="1 0 0.2" damping="0.3" ref="0.1" actuatorfrcrange="-90 90"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.04"/></body></worldbody>
        <actuator>{ACTUATORS[kind].format(j="slide")}</actuator></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    tree = mbt.interop.from_mujoco(model)
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    data = mujoco.MjData(model)
    mujoco.mj_resetData(model, data)
    data.ctrl[:] = 0.4
    model.actuator_biasprm[:, 2] += h * model.actuator_biasprm[:, 1]
    expected, targets = [], []
    for _ in range(steps):
        targets.append(coordinates.servo_targets_from_mujoco(data.ctrl.copy(), data.act.copy()))
        mujoco.mj_step(model, data)
        expected.append([*coordinates.q_from_mujoco(data.qpos), *data.qvel])
    q_d, v_d = np.moveaxis(np.array(targets), 1, 0)
    motion = mbt.simulate(
        tree, tree.create_default_context(), steps * h, h, method="implicit",
        servo_positions=q_d, servo_velocities=v_d,
    )  # fmt: skip
    assert np.abs(np.diff(expected, axis=0)).max() > 1e-4  # The arm moves.
    is_limited = motion.solver.saturated.any()
    assert is_limited == (kind == "force")
    tolerance = 1e-9 if not is_limited else 1e-2
    np.testing.assert_allclose(np.hstack([motion.q, motion.v])[1:], expected, rtol=0, atol=tolerance)


def test_motors_and_what_pushes_away_stay_motors():
    others = """<motor joint="hinge"/><damper joint="hinge" kv="1" ctrlrange="0 1"/>
        <general joint="hinge" gainprm="1" biastype="affine" biasprm="0 4 -1"/>
        <general joint="hinge" gainprm="1" biastype="affine" biasprm="0.5 0 0"/>"""
    with pytest.warns(mbt.ModelWarning, match=r"Read but not applied: 3 servos \(plain motors here\)"):
        tree = mbt.load_model(make_text(others))
    assert not any(motor.is_servo for motor in tree.joint_actuators)
    assert tree.parse_reports[0].inactive["servos"] == 3


@pytest.mark.parametrize(
    "option",
    [
        '<option><flag actuation="disable"/></option>',
        '<option actuatorgroupdisable="3"/>',
    ],
)
def test_servos_that_are_disabled_stay_motors(option):
    text = ACTUATORS["position"].format(j="hinge").replace("<position", '<position group="3"')
    model = mujoco.MjModel.from_xml_string(make_text(text, option=option))
    tree = mbt.interop.from_mujoco(model)
    assert not tree.joint_actuators[0].is_servo
    assert "servos" not in tree.parse_reports[0].inactive


def test_targets_need_activations():
    model = mujoco.MjModel.from_xml_string(make_text(ACTUATORS["intvelocity"].format(j="hinge")))
    tree = mbt.interop.from_mujoco(model)
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    with pytest.raises(mbt.errors.ArgumentValueError, match=r"act: expected the activations of MuJoCo"):
        coordinates.servo_targets_from_mujoco([0.1])
    q_d, v_d = coordinates.servo_targets_from_mujoco([[0.1], [0.2]], [0.5])
    np.testing.assert_allclose(q_d, [[1.0], [1.0]])
    np.testing.assert_array_equal(v_d, np.zeros((2, 1)))
