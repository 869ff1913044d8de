"""Planar joints and Drake's custom joints against Drake itself."""

import numpy as np
import pytest

import mbt
from support.urdf_texts import joint, link, robot

pytestmark = pytest.mark.oracle

ORIGIN = '<origin xyz="0.1 0.2 0.3" rpy="0.3 -0.5 1.1"/>'
COM = '<origin xyz="0.3 -0.2 0.1" rpy="0.2 0.1 0.5"/>'


def drake_joint(name, parent, child, kind, inside):
    text = joint(name, parent, child, kind, inside)
    return text.replace("joint name", "drake:joint name").replace("</joint>", "</drake:joint>")


JOINTS = {
    "planar": joint("j", "a", "b", "planar", ORIGIN + '<axis xyz="0 0 1"/><dynamics damping="1 2 3"/>'),
    "planar askew": joint(
        "j", "a", "b", "planar", ORIGIN + '<axis xyz="1 2 -2"/><dynamics damping="1 2 3"/>'
    ),
    "planar upside down": joint("j", "a", "b", "planar", ORIGIN + '<axis xyz="0 0 -3"/>'),
    "drake planar": drake_joint("j", "a", "b", "planar", ORIGIN + '<dynamics damping="1 2 3"/>'),
    "ball": drake_joint("j", "a", "b", "ball", ORIGIN + '<dynamics damping="0.5"/>'),
    "universal": drake_joint("j", "a", "b", "universal", ORIGIN + '<dynamics damping="0.5"/>'),
    "screw": drake_joint(
        "j",
        "a",
        "b",
        "screw",
        ORIGIN + '<axis xyz="1 2 -2"/><drake:screw_thread_pitch value="0.4"/><dynamics damping="0.5"/>',
    ),
}

CURVES = (
    '<drake:curves><drake:line_segment length="0.3"/><drake:circular_arc radius="0.5" angle="-0.8"/>'
    '<drake:circular_arc radius="0.2" angle="1.1"/></drake:curves>'
)
RING = '<drake:is_periodic value="true"/><drake:curves>{}</drake:curves>'.format(
    '<drake:circular_arc radius="0.15" angle="3.141592653589793"/><drake:line_segment length="0.1"/>' * 2
)
PLANE = '<drake:initial_tangent xyz="0 2 1"/><drake:plane_normal xyz="3 0 0"/>'
JOINTS |= {
    "curvilinear": drake_joint("j", "a", "b", "curvilinear", ORIGIN + CURVES),
    "curvilinear in a plane": drake_joint(
        "j", "a", "b", "curvilinear", ORIGIN + PLANE + CURVES + '<dynamics damping="0.5"/>'
    ),
    "curvilinear ring": drake_joint("j", "a", "b", "curvilinear", ORIGIN + PLANE + RING),
}

SPRING = (
    "<drake:linear_spring_damper>"
    '<drake:linear_spring_damper_body_A name="b"/><drake:linear_spring_damper_p_AP value="0.1 0.2 0.3"/>'
    '<drake:linear_spring_damper_body_B name="a"/><drake:linear_spring_damper_p_BQ value="1 0.4 -0.3"/>'
    '<drake:linear_spring_damper_free_length value="1.5"/>'
    '<drake:linear_spring_damper_stiffness value="10"/><drake:linear_spring_damper_damping value="0.3"/>'
    "</drake:linear_spring_damper>"
)
BUSHING = (
    "<drake:linear_bushing_rpy>"
    '<drake:bushing_frameA name="a"/><drake:bushing_frameC name="f"/>'
    '<drake:bushing_torque_stiffness value="1 2 3"/><drake:bushing_torque_damping value="4 5 6"/>'
    '<drake:bushing_force_stiffness value="7 8 9"/><drake:bushing_force_damping value="10 11 12"/>'
    "</drake:linear_bushing_rpy>"
)
FRAME = '<frame name="f" link="b" xyz="0.1 0.2 0.3" rpy="0.1 0.2 -0.3"/>'
JOINTS |= {"spring and damper": JOINTS["ball"] + SPRING, "bushing": JOINTS["ball"] + FRAME + BUSHING}


@pytest.mark.parametrize("kind", JOINTS)
def test_forward_dynamics(kind):
    """Poses, mass matrices and accelerations agree, so type, frames, axis, pitch and damping do."""
    plant_module = pytest.importorskip("pydrake.multibody.plant", reason="needs the `oracle` extra")
    from pydrake.multibody.parsing import Parser

    text = robot(link("a"), link("b", 2.0, origin=COM), JOINTS[kind])
    tree = mbt.load_model(text)
    plant = plant_module.MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "urdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("a"))
    plant.Finalize()
    for limits in ("position_lower_limits", "position_upper_limits"):
        expected = getattr(plant.GetJointByName("j"), limits)()
        np.testing.assert_allclose(getattr(tree.get_joint_by_name("j"), limits), expected, rtol=1e-15)
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v = rng.uniform(-1, 1, tree.num_positions), rng.normal(size=tree.num_velocities)
        compare(tree, plant, q, v)


def compare(tree, plant, q, v):
    context, other = tree.create_default_context(), plant.CreateDefaultContext()
    context.q, context.v = q, v
    plant.SetPositions(other, q)
    plant.SetVelocities(other, v)
    X_WB = plant.GetBodyByName("b").EvalPoseInWorld(other).GetAsMatrix4()
    np.testing.assert_allclose(tree.get_body_by_name("b").eval_pose_in_world(context), X_WB, atol=1e-14)
    M = plant.CalcMassMatrix(other)
    np.testing.assert_allclose(tree.calc_mass_matrix(context), M, atol=1e-13)
    vdot = plant.EvalTimeDerivatives(other).get_generalized_velocity().CopyToVector()
    np.testing.assert_allclose(tree.calc_forward_dynamics(context), vdot, atol=1e-11)
