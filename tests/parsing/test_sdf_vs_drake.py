"""SDF against Drake."""

import numpy as np
import pytest

import mbt
from support.sdf_texts import joint, link, model, pose, robot, world

pytestmark = pytest.mark.oracle

A = link("a", pose("1 0.5 0 0.1 -0.2 0.5"))
B = link("b", pose("0 1 0.2 0.3 0.7 0"), mass=3.0)
C = link("c", pose("-1 0.3 0.2 0.3 0.7 -1.2"), mass=1.5)
FIX = joint("fix", "world", "a", "fixed", "")
OFF = pose("0.1 0.2 0.3 0.3 -0.5 1.1")
DYNAMICS = (
    "<dynamics><damping>0.5</damping><spring_stiffness>3</spring_stiffness>"
    "<spring_reference>0.2</spring_reference></dynamics>"
)
LIMITS = (
    "<limit><lower>-1</lower><upper>2</upper><effort>5</effort><velocity>6</velocity>"
    "<drake:acceleration>7</drake:acceleration></limit>"
)
ROTOR = "<drake:rotor_inertia>0.01</drake:rotor_inertia><drake:gear_ratio>5</drake:gear_ratio>"
AXIS = "<axis><xyz>1 2 -2</xyz>{}</axis>"
DAMPED = "<dynamics><damping>0.5</damping></dynamics>"

SPRING = (
    "<drake:linear_spring_damper>"
    "<drake:linear_spring_damper_body_A>c</drake:linear_spring_damper_body_A>"
    "<drake:linear_spring_damper_p_AP>0.1 0.2 0.3</drake:linear_spring_damper_p_AP>"
    "<drake:linear_spring_damper_body_B>b</drake:linear_spring_damper_body_B>"
    "<drake:linear_spring_damper_p_BQ>0.5 0.4 -0.3</drake:linear_spring_damper_p_BQ>"
    "<drake:linear_spring_damper_free_length>1.5</drake:linear_spring_damper_free_length>"
    "<drake:linear_spring_damper_stiffness>10</drake:linear_spring_damper_stiffness>"
    "<drake:linear_spring_damper_damping>0.3</drake:linear_spring_damper_damping>"
    "</drake:linear_spring_damper>"
)
BUSHING = (
    "<drake:linear_bushing_rpy>"
    "<drake:bushing_frameA>c</drake:bushing_frameA><drake:bushing_frameC>f</drake:bushing_frameC>"
    "<drake:bushing_torque_stiffness>1 2 3</drake:bushing_torque_stiffness>"
    "<drake:bushing_torque_damping>4 5 6</drake:bushing_torque_damping>"
    "<drake:bushing_force_stiffness>7 8 9</drake:bushing_force_stiffness>"
    "<drake:bushing_force_damping>10 11 12</drake:bushing_force_damping>"
    "</drake:linear_bushing_rpy>"
)

JOINTS = {
    "revolute": joint("j", "a", "b", "revolute", OFF + AXIS.format(DYNAMICS + LIMITS) + ROTOR),
    "continuous": joint("j", "a", "b", "continuous", OFF + AXIS.format(DAMPED + LIMITS)),
    "prismatic": joint("j", "a", "b", "prismatic", OFF + AXIS.format(DYNAMICS + LIMITS) + ROTOR),
    "screw": joint(
        "j", "a", "b", "screw", OFF + AXIS.format(DAMPED) + "<screw_thread_pitch>-0.4</screw_thread_pitch>"
    ),
    "old screw": joint("j", "a", "b", "screw", OFF + AXIS.format(DAMPED) + "<thread_pitch>-9</thread_pitch>"),
    "screw of both": joint(
        "j",
        "a",
        "b",
        "screw",
        OFF + AXIS.format("") + "<thread_pitch>9</thread_pitch><screw_thread_pitch>2</screw_thread_pitch>",
    ),
    "ball": joint("j", "a", "b", "ball", OFF),
    "fixed": joint("j", "a", "b", "fixed", OFF),
    "universal": joint(
        "j",
        "a",
        "b",
        "universal",
        OFF + f"<axis><xyz>0 3 4</xyz>{DAMPED}</axis><axis2><xyz>0 4 -3</xyz>{DAMPED}</axis2>",
    ),
    "planar": '<drake:joint name="j" type="planar"><drake:parent>a</drake:parent><drake:child>b'
    "</drake:child><drake:damping>1 2 3</drake:damping></drake:joint>",
    "weak motor": joint("j", "a", "b", "revolute", AXIS.format("<limit><effort>0</effort></limit>")),
    "limits beyond all": joint(
        "j", "a", "b", "revolute", AXIS.format("<limit><lower>-inf</lower><velocity>-1</velocity></limit>")
    ),
}
TEXTS = {kind: robot(A, B, FIX, text) for kind, text in JOINTS.items()}
TEXTS |= {
    f"axis of SDF {version}": robot(A, B, joint("j", "a", "b", inside=OFF + AXIS.format("")), version=version)
    for version in ("1.4", "1.5", "1.6", "1.7", "1.8", "1.9", "1.10", "1.11", "1.12")
}
TEXTS |= {
    f"use_parent_model_frame {flag} of SDF {version}": robot(
        A,
        B,
        joint(
            "j",
            "a",
            "b",
            inside=OFF + AXIS.format(f"<use_parent_model_frame>{flag}</use_parent_model_frame>"),
        ),
        version=version,
    )
    for version in ("1.5", "1.6")
    for flag in ("true", "0")
}
CHAIN = (
    link("a", pose("1 0 0 0.4 0 0")),
    link("b", pose("0 1 0 0 0.3 0", relative_to="j")),
    link("c", pose("", relative_to="f")),
    '<frame name="f" attached_to="b">' + pose("0 0 1 0 0 0.2") + "</frame>",
    '<frame name="g">' + pose("0 0 2 0 0.1 0.2", relative_to="k") + "</frame>",
    joint("j", "a", "b", inside=pose("0.1 0 0 0 0 1", relative_to="a") + "<axis><xyz>0 1 0</xyz></axis>"),
)
INNER = model(
    "inner",
    pose("0 0 1 0.2 0 0"),
    link("tip", pose("1 0 0 0 0 0")),
    link("base"),
    '<frame name="port">' + pose("0 0.3 0 0 0 0.7") + "</frame>",
    joint("swing", "base", "tip"),
    attributes='canonical_link="base"',
)
PLACED = INNER.replace("canonical_link", 'placement_frame="port" canonical_link')
TEXTS |= {
    "relative_to and expressed_in": robot(
        *CHAIN,
        joint(
            "k",
            "b",
            "c",
            inside=pose("0 0 0.1 0 0.3 0", relative_to="j")
            + '<axis><xyz expressed_in="g">1 1 0</xyz></axis>',
        ),
    ),
    "in the model": robot(
        *CHAIN, joint("k", "b", "c", inside='<axis><xyz expressed_in="__model__">1 1 0</xyz></axis>')
    ),
    "frames as ends": robot(*CHAIN, joint("k", "f", "c", inside=OFF + AXIS.format(""))),
    "joints as ends": robot(*CHAIN, joint("k", "j", "c", inside=OFF + AXIS.format(""))),
    "poses in degrees": robot(
        link("a", pose("1 2 3 40 50 60", degrees="true")),
        link("b", pose("1 2 3  0.1 0.2 0.3 0.4", rotation_format="quat_xyzw")),
        joint("j", "a", "b"),
    ),
    "model with a pose": robot(pose("1 2 3 0.1 0.2 0.3"), A, B, FIX, joint("j", "a", "b"), version="1.7"),
    "placement_frame": robot(
        pose("1 2 3 0.1 0.2 0.3"), A, B, joint("j", "a", "b"), attributes='placement_frame="b"'
    ),
    "nested": robot(
        A,
        INNER,
        joint(
            "j", "a", "inner::base", inside=pose("0 1 0 0 0.3 0", relative_to="inner::port") + AXIS.format("")
        ),
    ),
    "nested and placed": robot(
        A,
        PLACED,
        joint(
            "j",
            "a",
            "inner",
            inside=pose("0 0 0 1 0 0", relative_to="inner")
            + '<axis><xyz expressed_in="inner::tip">0 1 1</xyz></axis>',
        ),
    ),
    "nested alone": robot(INNER),
    "static": robot(A, B, "<static>true</static>", joint("j", "a", "b", "fixed", "")),
    "world": world(
        model("m", pose("1 0 0 0.5 0 0"), A, B, joint("j", "a", "b")),
        model("n", "<static>1</static>", pose("1 0 2 0 0 0", relative_to="m"), link("x")),
        '<frame name="ff">' + pose("0 0 1 0 0 0", relative_to="n") + "</frame>",
        joint("w", "n::x", "m::a", "fixed", ""),
    ),
    "world of one": world(model("m", pose("1 0 0 0.5 0 0"), A, B, joint("j", "a", "b"))),
    "without inertial": robot(
        '<link name="a"/>', '<link name="b"><inertial><mass>3</mass></inertial></link>', joint("j", "a", "b")
    ),
    "spring and damper": robot(A, B, C, FIX, joint("j", "a", "b"), SPRING),
    "bushing": robot(A, B, C, FIX, '<frame name="f" attached_to="b">', OFF, "</frame>", BUSHING),
    "bushing of links": robot(A, B, C, BUSHING.replace(">f<", ">b<")),
    "two parents": robot(A, B, C, joint("j", "a", "c"), joint("k", "b", "c", "fixed", "")),
    "density": robot(
        '<link name="a"><inertial auto="true"/>'
        '<collision name="box">'
        + OFF
        + "<density>700</density><geometry><box><size>0.1 0.2 0.3</size></box></geometry></collision>"
        '<collision name="ball">'
        + pose("0 0 1 0 0 0")
        + "<geometry><sphere><radius>0.1</radius></sphere></geometry></collision>"
        '<collision name="can">'
        + OFF
        + "<geometry><cylinder><radius>0.1</radius><length>0.3</length></cylinder></geometry></collision>"
        '<collision name="pill">'
        + OFF
        + "<geometry><capsule><radius>0.1</radius><length>0.3</length></capsule></geometry></collision>"
        '<collision name="egg">'
        + OFF
        + "<geometry><ellipsoid><radii>0.1 0.2 0.3</radii></ellipsoid></geometry></collision></link>",
        '<link name="b"><inertial auto="true"><mass>2</mass></inertial>'
        '<collision name="box"><geometry><box><size>0.1 0.2 0.3</size></box></geometry></collision></link>',
        joint("j", "a", "b"),
    ),
}


@pytest.mark.parametrize("case", TEXTS)
def test_dynamics(case):
    """Poses, mass matrices and accelerations agree."""
    plant_module = pytest.importorskip("pydrake.multibody.plant", reason="needs the `oracle` extra")
    from pydrake.multibody.parsing import Parser

    tree = mbt.load_model(TEXTS[case])
    plant = plant_module.MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(TEXTS[case], "sdf")
    plant.Finalize()
    assert tree.num_bodies == plant.num_bodies()
    assert tree.num_velocities == plant.num_velocities()
    pairs = [(ours, plant.GetJointByName(ours.name)) for ours in tree.joints if ours.num_velocities]
    for ours, theirs in pairs:
        compare_limits(ours, theirs)
    compare_motors(tree, plant)
    rng = np.random.default_rng(1)
    context, other = tree.create_default_context(), plant.CreateDefaultContext()
    compare_states(tree, context, plant, other, pairs)
    for _ in range(3):
        q, v = context.q.copy(), rng.normal(size=tree.num_velocities)
        for ours, _ in pairs:
            if ours.num_positions == ours.num_velocities:
                q[positions(ours)] = rng.uniform(-1, 1, ours.num_positions)
        context.q, context.v = q, v
        their_q, their_v = plant.GetPositions(other), plant.GetVelocities(other)
        for ours, theirs in pairs:
            their_q[their_positions(theirs)], their_v[their_velocities(theirs)] = (
                q[positions(ours)],
                v[velocities(ours)],
            )
        plant.SetPositions(other, their_q)
        plant.SetVelocities(other, their_v)
        compare_states(tree, context, plant, other, pairs)


def compare_states(tree, context, plant, other, pairs):
    for body in tree.bodies:
        X_WB = plant.GetBodyByName(body.name).EvalPoseInWorld(other).GetAsMatrix4()
        np.testing.assert_allclose(body.eval_pose_in_world(context), X_WB, atol=1e-13)
    if pairs:
        rows = np.concatenate([velocities(ours) for ours, _ in pairs])
        their_rows = np.concatenate([their_velocities(theirs) for _, theirs in pairs])
        M = plant.CalcMassMatrix(other)[np.ix_(their_rows, their_rows)]
        np.testing.assert_allclose(tree.calc_mass_matrix(context)[np.ix_(rows, rows)], M, atol=1e-12)
        vdot = plant.EvalTimeDerivatives(other).get_generalized_velocity().CopyToVector()
        np.testing.assert_allclose(tree.calc_forward_dynamics(context)[rows], vdot[their_rows], atol=1e-9)


def compare_limits(ours, theirs):
    for bound in ("position", "velocity", "acceleration"):
        for side in ("lower", "upper"):
            expected = np.array(getattr(theirs, f"{bound}_{side}_limits")())
            expected[abs(expected) >= 1e16] *= np.inf
            if theirs.type_name() in ("revolute", "prismatic"):
                np.testing.assert_array_equal(getattr(ours, f"{bound}_{side}_limits"), expected)


def compare_motors(tree, plant):
    ours = {
        motor.name: (motor.effort_limit, motor.default_rotor_inertia, motor.default_gear_ratio)
        for motor in tree.joint_actuators
    }
    theirs = [plant.get_joint_actuator(index) for index in plant.GetJointActuatorIndices()]
    assert ours == {
        motor.name(): (motor.effort_limit(), motor.default_rotor_inertia(), motor.default_gear_ratio())
        for motor in theirs
    }


def positions(joint):
    return np.arange(joint.position_start, joint.position_start + joint.num_positions)


def velocities(joint):
    return np.arange(joint.velocity_start, joint.velocity_start + joint.num_velocities)


def their_positions(joint):
    return np.arange(joint.position_start(), joint.position_start() + joint.num_positions())


def their_velocities(joint):
    return np.arange(joint.velocity_start(), joint.velocity_start() + joint.num_velocities())
