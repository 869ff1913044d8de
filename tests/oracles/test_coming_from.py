"""The tables about Pinocchio, Drake and MuJoCo: both cells of each row give the same numbers."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from tests.support.coming_from import ARM, Names, arm, assert_same, common, evaluate, rows_of

import mbt
from mbt import functional

pytestmark = pytest.mark.oracle

MJCF = """<mujoco><option timestep="0.001"/><worldbody>
<body name="upper" pos="0 0 1">{base}<inertial pos="0 0 -.2" mass="2" diaginertia=".03 .03 .01"/>
<site name="tip" pos="0 .1 -.4"/>
<body name="lower" pos="0 0 -.4"><joint name="elbow" axis="0 1 0" range="-60 90"{more}/>
<inertial pos="0 .05 -.2" mass="1" diaginertia=".02 .02 .005"/>
<body name="hand" pos="0 0 -.4"><joint name="wrist" axis="1 0 0"/>
<inertial pos="0 0 -.1" mass=".5" diaginertia=".01 .01 .005"/></body></body></body>
</worldbody><actuator><motor joint="elbow"/></actuator></mujoco>"""


def pinocchio_names(heading: str) -> Names:
    """Return the names that the tables about Pinocchio use."""
    pinocchio = pytest.importorskip("pinocchio", reason="needs the `oracle` extra")
    text = arm()
    if heading == "A free base":
        model = pinocchio.buildModelFromXML(text, pinocchio.JointModelFreeFlyer())
        tree = mbt.interop.from_pinocchio(model)
        coordinates = mbt.interop.PinocchioCoordinates(tree, model)
        q_pin = pinocchio.integrate(model, pinocchio.neutral(model), np.linspace(0.1, 1.0, model.nv))
        v_pin, tau_pin = np.random.default_rng(2).normal(size=(2, model.nv))
        q = coordinates.q_from_pinocchio(q_pin)
        names = common(tree, q, coordinates.v_from_pinocchio(q_pin, v_pin))
        names |= {"q_pin": q_pin, "v_pin": v_pin, "tau_pin": tau_pin}
        names |= {"tau": coordinates.tau_from_pinocchio(q_pin, tau_pin)}
        return names | {"R": mbt.math.quaternion_to_matrix(q[:4])}
    model, tree = pinocchio.buildModelFromXML(text), mbt.load_model(text)
    frame = tree.get_frame_by_name("tool")
    names = common(tree)
    names |= {"frame": frame, "frame_id": model.getFrameId("tool"), "row": frame.body.node_index}
    names |= {"q0": names["q"], "q1": names["q"] + names["v"]}
    return names | {"pinocchio": pinocchio, "model": model, "data": model.createData()}


def mujoco_names(heading: str) -> Names:
    """Return the names that the tables about MuJoCo use."""
    mujoco = pytest.importorskip("mujoco", reason="needs the `oracle` extra")
    is_free = heading == "A free joint"
    base = '<freejoint name="base"/>' if is_free else '<joint name="shoulder" axis="0 0 1"/>'
    model = mujoco.MjModel.from_xml_string(MJCF.format(base=base, more=""))
    tree, data = mbt.interop.from_mujoco(model), mujoco.MjData(model)
    if is_free:
        coordinates = mbt.interop.MujocoCoordinates(tree, model)
        q_mj, v_mj = data.qpos, data.qvel
        mujoco.mj_integratePos(model, q_mj, np.linspace(0.1, 1.0, model.nv), 1.0)
        v_mj[:] = np.random.default_rng(2).normal(size=model.nv)
        q = coordinates.q_from_mujoco(q_mj)
        names = common(tree, q, coordinates.v_from_mujoco(q_mj, v_mj))
        return names | {"q_mj": q_mj, "v_mj": v_mj, "R": mbt.math.quaternion_to_matrix(q[:4])}
    names = common(tree)
    data.qpos, data.qvel, data.qfrc_applied = names["q"], names["v"], names["tau"]
    mujoco.mj_forward(model, data)
    names |= {"q1": names["q"].copy(), "dq": np.zeros(model.nv), "M": np.zeros((model.nv, model.nv))}
    names |= {"jacp": np.zeros((3, model.nv)), "jacr": np.zeros((3, model.nv)), "elbow_id": 1}
    names |= {"row": tree.get_body_by_name("hand").node_index, "body_id": model.body("hand").id}
    names |= {"site": tree.get_frame_by_name("tip"), "site_id": model.site("tip").id}
    return names | {"mujoco": mujoco, "model": model, "data": data}


def drake_names(heading: str) -> Names:
    """Return the names that the tables about Drake use."""
    pytest.importorskip("pydrake", reason="needs the `oracle` extra")
    from pydrake.multibody import tree as drake_tree
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(arm(), "urdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.Finalize()
    names = common(mbt.load_model(arm()))
    plant_context = plant.CreateDefaultContext()
    plant.SetPositionsAndVelocities(plant_context, np.concatenate([names["q"], names["v"]]))
    names |= {"plant": plant, "plant_context": plant_context, "points": np.arange(6.0).reshape(3, 2)}
    names |= {"F_tool": plant.GetFrameByName("tool"), "f_tool": names["tree"].get_frame_by_name("tool")}
    names |= {"W": plant.world_frame(), "w": names["tree"].world_frame}
    kinds = ("JacobianWrtVariable", "MultibodyForces")
    return names | {kind: getattr(drake_tree, kind) for kind in kinds}


@pytest.mark.parametrize(("heading", "theirs", "ours"), rows_of("pinocchio.md"))
def test_row_about_pinocchio(heading: str, theirs: str, ours: str) -> None:
    names = pinocchio_names(heading)
    assert_same(evaluate(theirs, names), evaluate(ours, names))


@pytest.mark.parametrize(("heading", "theirs", "ours"), rows_of("mujoco.md"))
def test_row_about_mujoco(heading: str, theirs: str, ours: str) -> None:
    names = mujoco_names(heading)
    if "mj_inverse" in theirs:
        names["data"].qacc = names["a"]
    assert_same(evaluate(theirs, names), evaluate(ours, names))


@pytest.mark.parametrize(("heading", "theirs", "ours"), rows_of("drake.md"))
def test_row_about_drake(heading: str, theirs: str, ours: str) -> None:
    names = drake_names(heading)
    assert_same(evaluate(theirs, names), evaluate(ours, names))


# Tables of defaults. The arm of mbt has damping, rotors, and a root link with mass.


def test_defaults_of_pinocchio() -> None:
    pinocchio = pytest.importorskip("pinocchio", reason="needs the `oracle` extra")
    model, tree = pinocchio.buildModelFromXML(ARM), mbt.load_model(ARM)
    base = tree.get_body_by_name("base").default_mass
    context = tree.create_default_context()
    assert (model.nv, tree.num_velocities, mbt.load_model(ARM, base="floating").num_velocities) == (6, 6, 12)
    assert (model.nq, tree.num_positions) == (7, 6)  # the last joint is continuous
    assert base > 0
    assert np.isclose(pinocchio.computeTotalMass(model), tree.calc_total_mass(context) - base)
    np.testing.assert_array_equal(model.gravity.linear, tree.gravity_field.gravity_vector)
    assert mbt.load_model(ARM, gravity=None).gravity_field is None

    # In motion, torques differ by the damping; only mbt counts rotors.
    q, v, no = pinocchio.neutral(model), np.ones(6), np.zeros(6)
    theirs = pinocchio.rnea(model, model.createData(), q, v, no)
    ours = functional.inverse_dynamics(tree, context.q, v, no)
    damping = [joint.default_damping for joint in tree.joints if joint.num_velocities]
    assert min(damping) > 0
    np.testing.assert_allclose(ours - theirs, damping)
    assert not model.armature.any()
    rotors = np.diag(functional.mass_matrix(tree, context.q) - pinocchio.crba(model, model.createData(), q))
    reflected = [motor.default_rotor_inertia * motor.default_gear_ratio**2 for motor in tree.joint_actuators]
    assert min(reflected) > 0
    np.testing.assert_allclose(rotors, reflected)


def test_defaults_of_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco", reason="needs the `oracle` extra")
    hinge = '<joint name="shoulder" axis="0 0 1"/>'
    text = MJCF.format(base=hinge, more=' damping="0.5" armature="0.1"')
    model = mujoco.MjModel.from_xml_string(text)
    tree = mbt.load_model(text)
    np.testing.assert_allclose(np.degrees(model.jnt_range[1]), [-60, 90])
    np.testing.assert_array_equal(
        model.jnt_range[1], [tree.position_lower_limits[1], tree.position_upper_limits[1]]
    )
    assert mujoco.MjModel.from_xml_string("<mujoco/>").opt.timestep == 0.002
    assert inspect.signature(mbt.simulate).parameters["dt"].default == 0.001
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_EULER
    assert mbt.simulate(tree, tree.create_default_context(), 0.01).method == "implicit"
    assert not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT
    assert not any(isinstance(element, mbt.PointContact) for element in tree.force_elements)
    assert model.dof_armature[1] == 0.1
    assert np.isclose(functional.mass_matrix(tree, [0, 0, 0])[1, 1], _bare(text) + 0.1)

    # In MuJoCo, damping is a separate force; here it acts in forward and inverse dynamics.
    data = mujoco.MjData(model)
    data.qvel = v = np.array([0.0, 2.0, 0.0])
    mujoco.mj_forward(model, data)
    assert data.qfrc_passive.tolist() == [0.0, -1.0, 0.0]
    held = functional.inverse_dynamics(tree, data.qpos, v, 0 * v)
    np.testing.assert_allclose(held, data.qfrc_bias - data.qfrc_passive, atol=1e-14)
    gravity = functional.gravity_generalized_forces(tree, data.qpos)
    np.testing.assert_allclose(functional.bias_term(tree, data.qpos, v), data.qfrc_bias + gravity, atol=1e-14)

    # No force acts at joint limits.
    beyond = np.array([0.0, 10.0, 0.0])
    assert abs(functional.inverse_dynamics(tree, beyond, 0 * v, 0 * v)).max() < 10.0


def _bare(text: str) -> float:
    """Return the mass matrix's entry at the elbow, without the rotor."""
    tree = mbt.load_model(text.replace('armature="0.1"', ""))
    return float(functional.mass_matrix(tree, [0, 0, 0])[1, 1])


def test_defaults_of_drake() -> None:
    pytest.importorskip("pydrake", reason="needs the `oracle` extra")
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(arm(), "urdf")
    plant.Finalize()
    assert (plant.num_velocities(), mbt.load_model(arm()).num_velocities) == (12, 6)
    np.testing.assert_array_equal(
        plant.gravity_field().gravity_vector(), mbt.load_model(arm()).gravity_field.gravity_vector
    )
    assert mbt.MultibodyTree().gravity_field is None

    names = drake_names("")
    tree, context, a = names["tree"], names["context"], names["a"]
    with_all = tree.calc_inverse_dynamics(context, a, include_force_elements=True)
    alone = tree.calc_inverse_dynamics(context, a)
    np.testing.assert_allclose(alone - with_all, tree.calc_gravity_generalized_forces(context), atol=1e-12)
