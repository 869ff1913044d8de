"""Models of MuJoCo as trees, against MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.mjcf_texts import COUPLED, KEYS, LIMITS, LOSSY, MODELS, SEVERAL_CONTROLS, SHAPES

mujoco = pytest.importorskip("mujoco", reason="needs the `oracle` extra")
from support.mujoco_peer import assert_same_dynamics, compile_text, random_state  # noqa: E402

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("name", MODELS)
def test_same_dynamics(name: str) -> None:
    model = compile_text(MODELS[name])
    tree = mbt.interop.from_mujoco(model)
    assert_same_dynamics(tree, model)
    assert not tree.parse_reports[0].warnings


@pytest.mark.parametrize("name", MODELS)
def test_same_order(name: str) -> None:
    """The coordinates of every joint start at the same index."""
    model = compile_text(MODELS[name])
    tree = mbt.interop.from_mujoco(model)
    joints = [joint for joint in tree.joints if joint.num_velocities]
    assert [joint.position_start for joint in joints] == model.jnt_qposadr.tolist()
    assert [joint.velocity_start for joint in joints] == model.jnt_dofadr.tolist()
    names = [model.joint(i).name for i in range(model.njnt)]
    assert [joint.name for joint, name in zip(joints, names, strict=True) if name] == list(
        filter(None, names)
    )
    bodies = [body.name for body in tree.bodies if not {"after", "weightless"} & {*body.name.split("_")}]
    names = [model.body(i).name for i in range(model.nbody)]
    assert [own for own, name in zip(bodies, names, strict=True) if name] == list(filter(None, names))


@pytest.mark.parametrize("name", LOSSY)
def test_what_has_no_counterpart_is_told(name: str) -> None:
    text, words = LOSSY[name]
    with pytest.warns(mbt.ModelWarning) as caught:
        tree = mbt.interop.from_mujoco(compile_text(text))
    assert len(caught) == 1
    assert any(warning.text.startswith(words) for warning in tree.parse_reports[0].warnings)


def test_negative_damping_is_none() -> None:
    text, _ = LOSSY["negative damping"]
    with pytest.warns(mbt.ModelWarning):
        tree = mbt.interop.from_mujoco(compile_text(text))
    np.testing.assert_array_equal(tree.get_joint_by_name("j").default_damping, [0.0])


def test_a_specification_is_compiled_and_left_alone() -> None:
    spec = mujoco.MjSpec.from_string(MODELS["several_joints"])
    before = spec.to_xml()
    tree = mbt.interop.from_mujoco(spec)
    assert spec.to_xml() == before
    assert_same_dynamics(tree, spec.compile())


def test_default_positions_are_those_of_mujoco() -> None:
    for name in ("ref", "free", "ball", "forest"):
        model = compile_text(MODELS[name])
        tree = mbt.interop.from_mujoco(model)
        coordinates = mbt.interop.MujocoCoordinates(tree, model)
        qpos = coordinates.q_to_mujoco(tree.default_positions)
        np.testing.assert_allclose(qpos, model.qpos0, rtol=0, atol=1e-15)


def test_coordinates_there_and_back_in_batches() -> None:
    model = compile_text(MODELS["forest"])
    tree = mbt.interop.from_mujoco(model)
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    rng = np.random.default_rng(1)
    states = [[random_state(model, rng) for _ in range(3)] for _ in range(2)]
    qpos = np.array([[q for q, _ in row] for row in states])
    qvel = np.array([[v for _, v in row] for row in states])
    q, v = coordinates.q_from_mujoco(qpos), coordinates.v_from_mujoco(qpos, qvel)
    for i, j in np.ndindex(2, 3):
        np.testing.assert_array_equal(q[i, j], coordinates.q_from_mujoco(qpos[i, j]))
        single = coordinates.v_from_mujoco(qpos[i, j], qvel[i, j])
        np.testing.assert_allclose(v[i, j], single, rtol=0, atol=2e-15)
    np.testing.assert_array_equal(coordinates.q_to_mujoco(q), qpos)
    np.testing.assert_allclose(coordinates.v_to_mujoco(q, v), qvel, rtol=0, atol=4e-15)


def test_accelerations_and_forces_map_as_velocities_do() -> None:
    model = compile_text(MODELS["ball"])
    tree = mbt.interop.from_mujoco(model)
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    rng, data = np.random.default_rng(2), mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = random_state(model, rng)
    data.qfrc_applied[:] = rng.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    context = tree.create_default_context()
    context.q = coordinates.q_from_mujoco(data.qpos)
    context.v = coordinates.v_from_mujoco(data.qpos, data.qvel)
    tau = coordinates.v_from_mujoco(data.qpos, data.qfrc_applied)
    vdot = tree.calc_forward_dynamics(context, tau)
    np.testing.assert_allclose(coordinates.v_to_mujoco(context.q, vdot), data.qacc, rtol=1e-9, atol=1e-9)


def test_forces_of_motors_are_inputs() -> None:
    model = compile_text(MODELS["rotors"])
    tree = mbt.interop.from_mujoco(model)
    data = mujoco.MjData(model)
    data.ctrl[:] = [0.5, -0.25]
    mujoco.mj_forward(model, data)
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    actuation = coordinates.actuation_from_mujoco(data.actuator_force)
    np.testing.assert_array_equal(actuation, [3.5, -0.75])
    context = tree.create_default_context()
    context.actuation = actuation
    vdot = tree.calc_forward_dynamics(context)
    np.testing.assert_allclose(vdot, data.qacc, rtol=1e-9)


def test_a_joint_without_a_motor_has_an_armature() -> None:
    tree = mbt.interop.from_mujoco(compile_text(MODELS["armature"]))
    names = [(motor.name, motor.joint.name, motor.effort_limit) for motor in tree.joint_actuators]
    assert names == [("m", "j", np.inf), ("n", "j", np.inf), ("s_armature", "s", np.inf)]
    assert [motor.default_reflected_inertia for motor in tree.joint_actuators] == [0.3, 0.0, 2.0]


def test_clipping_leaves_the_torque_on_a_joint_without_a_motor() -> None:
    """An armature alone makes an actuator that carries it, but no motor drives the joint through it."""
    for name in ("armature", "armatures"):
        tree = mbt.interop.from_mujoco(compile_text(MODELS[name]))
        tau = np.linspace(-50.0, 40.0, tree.num_velocities)
        clipped = np.clip(tau, tree.effort_lower_limits, tree.effort_upper_limits)
        np.testing.assert_array_equal(clipped, tau)


def test_actuators_with_several_controls() -> None:
    model = compile_text(SEVERAL_CONTROLS)
    assert (model.nu, model.actuator_ctrlnum.tolist()) == (4, [1, 2, 1])
    for read, source in ((mbt.interop.from_mujoco, model), (mbt.load_model, SEVERAL_CONTROLS)):
        with pytest.warns(mbt.ModelWarning, match=r"Read but not applied: 1 servo \(a plain motor here\)"):
            tree = read(source)
        # The force of a DC motor depends on the velocity, but it is not a passive force.
        assert_same_dynamics(tree, model)
        motors = [(motor.name, motor.joint.name, motor.effort_limit) for motor in tree.joint_actuators]
        assert motors == [("first", "b", 6.0), ("second", "a", np.inf), ("third", "c", 3.5)]
        data = mujoco.MjData(model)
        data.ctrl[:], data.qvel[:] = [0.5, 0.3, 0.2, -0.25], [0.1, 0.2, 0.3]
        mujoco.mj_forward(model, data)
        coordinates = mbt.interop.MujocoCoordinates(tree, model)
        context = tree.create_default_context()
        context.v = coordinates.v_from_mujoco(data.qpos, data.qvel)
        context.actuation = coordinates.actuation_from_mujoco(data.actuator_force)
        np.testing.assert_allclose(tree.actuation_matrix @ context.actuation, data.qfrc_actuator, rtol=1e-14)
        np.testing.assert_allclose(tree.calc_forward_dynamics(context), data.qacc, rtol=1e-9)


def test_several_outputs_of_an_actuator_on_something_else() -> None:
    """Forces of the motors after it keep their own places."""
    ball = '<body><joint name="ball" type="ball"/><geom size=".1"/></body>'
    text = SEVERAL_CONTROLS.replace("<actuator>", '<actuator><orientation joint="ball"/>')
    model = compile_text(text.replace("<worldbody>", f"<worldbody>{ball}"))
    assert model.actuator_outnum.tolist() == [3, 1, 1, 1]
    with pytest.warns(mbt.ModelWarning, match="1 actuator is not on a hinge or slide, and left out"):
        tree = mbt.interop.from_mujoco(model)
    limits = {motor.name: motor.effort_limit for motor in tree.joint_actuators}
    assert limits == {"first": 6.0, "second": np.inf, "third": 3.5}
    assert_same_dynamics(tree, model)
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    forces = coordinates.actuation_from_mujoco([9.0, 9.0, 9.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(forces, [2.0, 10.0, 21.0])


@pytest.mark.parametrize("range_of", ["first", "third"])
def test_a_bad_number_names_its_actuator(range_of: str) -> None:
    model = compile_text(SEVERAL_CONTROLS)
    i = {"first": 0, "third": 2}[range_of]
    model.actuator_ctrlrange[model.actuator_ctrladr[i]] = [-1e200, 1.0]
    with pytest.raises(mbt.ArgumentValueError, match=f"actuator '{range_of}': ctrlrange is not finite"):
        mbt.interop.from_mujoco(model)


def test_armatures_of_several_degrees_of_freedom() -> None:
    model = compile_text(MODELS["armatures"])
    # Along World's axes, each armature may differ.
    model.dof_armature[6:9] = [0.5, 0.6, 0.0]
    tree = mbt.interop.from_mujoco(model)
    assert_same_dynamics(tree, model)
    names = [motor.name for motor in tree.joint_actuators]
    assert names == [
        *(f"{joint}_armature_w{axis}" for joint in "jk" for axis in "xyz"),
        *(f"loose_armature_{suffix}" for suffix in ("wx", "wy", "wz", "vx", "vy")),
    ]
    assert {motor.effort_limit for motor in tree.joint_actuators} == {np.inf}
    text = mbt.save_model(tree, format="json")
    assert_same_dynamics(mbt.load_model(text), model)
    held = mbt.interop.from_mujoco(model, base="fixed")
    assert [motor.joint.name for motor in held.joint_actuators] == ["j"] * 3 + ["k"] * 3


def test_an_armature_of_its_own_about_each_axis() -> None:
    model = compile_text(MODELS["armatures"])
    model.dof_armature[1] = 0.4
    with pytest.warns(
        mbt.ModelWarning, match="joint 'j' has an armature that is not the same about all axes"
    ):
        tree = mbt.interop.from_mujoco(model)
    assert {motor.joint.name for motor in tree.joint_actuators} == {"k", "loose"}


def test_limits() -> None:
    tree = mbt.interop.from_mujoco(compile_text(LIMITS))
    joints = {joint.name: joint for joint in tree.joints}
    np.testing.assert_allclose(joints["a"].position_lower_limits, [-np.pi / 2])
    np.testing.assert_allclose(joints["a"].position_upper_limits, [np.pi / 4])
    for name in "bcd":
        assert joints[name].position_upper_limits == np.inf
    assert joints["c"].effort_limit == 5.0
    limits = {motor.name: motor.effort_limit for motor in tree.joint_actuators}
    assert limits == {"plain": np.inf, "control": 8.0, "force": 4.0, "joint": 5.0, "servo": 14.0}
    assert tree.parse_reports[0].inactive == {"limits": 1}


def test_linear_equalities_of_joints_are_couplers() -> None:
    model = compile_text(COUPLED)
    tree = mbt.interop.from_mujoco(model)
    (coupler,) = tree.constraints
    assert isinstance(coupler, mbt.CouplerConstraint)
    assert (coupler.name, coupler.joint0.name, coupler.joint1.name) == ("gears", "a", "b")
    data = mujoco.MjData(model)
    data.qpos[1] = 0.7
    data.qpos[0] = coupler.default_gear_ratio * 0.7 + coupler.default_offset
    mujoco.mj_forward(model, data)
    assert abs(data.efc_pos[0]) < 1e-15
    assert tree.parse_reports[0].ignored == {"equality that is not active": 1}


def test_friction() -> None:
    text = MODELS["hinge"].replace('name="j"', 'name="j" frictionloss="0.4"')
    tree = mbt.interop.from_mujoco(compile_text(text))
    (friction,) = (element for element in tree.force_elements if isinstance(element, mbt.JointFriction))
    assert (friction.coulomb_friction, friction.transition_velocity) == (0.4, np.inf)
    assert not tree.parse_reports[0].ignored
    tree = mbt.interop.from_mujoco(compile_text(text), joint_friction=True)
    (friction,) = (element for element in tree.force_elements if isinstance(element, mbt.JointFriction))
    assert friction.coulomb_friction == 0.4
    assert not tree.parse_reports[0].ignored
    text = text.replace("<worldbody>", '<option><flag frictionloss="disable"/></option><worldbody>')
    tree = mbt.interop.from_mujoco(compile_text(text), joint_friction=True)
    assert not any(isinstance(element, mbt.JointFriction) for element in tree.force_elements)


def test_keyframes_are_named_positions() -> None:
    model = compile_text(KEYS)
    tree = mbt.interop.from_mujoco(model)
    named = tree.parse_reports[0].named_positions
    assert list(named) == ["home", "key_1"]
    assert named["home"] == {"a": [0, 1, 0, 0, 1, 2, 3], "j": 0.5}
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    for i, positions in enumerate(named.values()):
        np.testing.assert_array_equal(
            tree.q_from_dict(positions), coordinates.q_from_mujoco(model.key_qpos[i])
        )


def test_shapes_and_frames() -> None:
    with pytest.warns(mbt.ModelWarning, match=r"contacts of 4 shapes \(the floor 'ground' among them\)"):
        tree = mbt.interop.from_mujoco(compile_text(SHAPES))
    assert [shape.kind for shape in tree.world_body.collisions] == ["plane"]
    body = tree.get_body_by_name("a")
    assert [shape.name for shape in body.visuals] == ["box", "cover", "mesh"]
    assert [shape.name for shape in body.collisions] == ["box", "hull", "mesh"]
    box, cover, mesh = body.visuals
    assert (box.kind, box.size, box.color) == ("box", (0.2, 0.4, 0.6), (1, 0, 0, 1))
    np.testing.assert_array_equal(box.X_BG[:3, 3], [1, 2, 3])
    assert (cover.kind, cover.size, cover.color) == ("capsule", (0.1, 0.4), (0, 1, 0, 0.5))
    # A mesh sits at the origin of its own coordinates, not at its mass centre.
    assert (mesh.mesh, mesh.size, mesh.color) == ("thing", (2, 2, 2), None)
    np.testing.assert_allclose(mesh.X_BG, mbt.math.make_pose([1, 0, 0]), atol=1e-12)
    np.testing.assert_allclose(
        tree.get_frame_by_name("tip").get_fixed_pose_in_body_frame(),
        mbt.math.make_pose([0, 0, 1], rpy=[np.pi / 2, 0, 0]),
        atol=1e-15,
    )
    assert tree.get_frame_by_name("origin").body is tree.world_body
    assert tree.parse_reports[0].ignored == {"site without a name": 1}


def test_options() -> None:
    model = compile_text(MODELS["free"])
    tree = mbt.interop.from_mujoco(
        model, model_name="mine", base="fixed", gravity=[0, 0, -1], actuators="all"
    )
    assert tree.num_positions == 1
    assert tree.get_model_instance_by_name("mine")
    assert [motor.name for motor in tree.joint_actuators] == ["k"]
    (gravity,) = tree.force_elements
    np.testing.assert_array_equal(gravity.gravity_vector, [0, 0, -1])
    assert not mbt.interop.from_mujoco(model, gravity=None).force_elements
    assert mbt.interop.from_mujoco(compile_text(MODELS["hinge"]), base="floating").num_positions == 1
    welded = mbt.interop.from_mujoco(compile_text(MODELS["welded"]), base="floating")
    assert welded.joints[0].type_name == "quaternion_floating"


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"model": None}, mbt.ArgumentTypeError, "model: expected a mujoco.MjModel or mujoco.MjSpec"),
        ({"gravity": "moon"}, mbt.ArgumentValueError, "gravity: expected three numbers, 'model' or None"),
        ({"base": "high"}, mbt.ArgumentValueError, "base: expected"),
    ],
)
def test_bad_arguments(change: dict[str, object], error: type[mbt.MbtError], words: str) -> None:
    arguments = {"model": compile_text(MODELS["hinge"]), **change}
    with pytest.raises(error, match=words):
        mbt.interop.from_mujoco(**arguments)


def test_a_specification_that_does_not_compile() -> None:
    spec = mujoco.MjSpec.from_string("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>")
    with pytest.raises(mbt.ArgumentValueError, match=r"model: it does not compile: .*mass and inertia"):
        mbt.interop.from_mujoco(spec)


def test_coordinates_of_another_model() -> None:
    tree = mbt.interop.from_mujoco(compile_text(MODELS["hinge"]))
    with pytest.raises(mbt.UnknownNameError, match="no joint named 's'"):
        mbt.interop.MujocoCoordinates(tree, compile_text(MODELS["springs"]))
    with pytest.raises(mbt.ArgumentValueError, match="joint 'j' is prismatic, but in the tree revolute"):
        mbt.interop.MujocoCoordinates(tree, compile_text(MODELS["slide"]))
    coordinates = mbt.interop.MujocoCoordinates(tree, compile_text(MODELS["hinge"]))
    with pytest.raises(mbt.ShapeError, match="qpos"):
        coordinates.q_from_mujoco([1.0, 2.0])
