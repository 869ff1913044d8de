"""A model saved as URDF is read back unchanged, except for what the warning names."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import mbt
from mbt.saving.urdf_values import rpy_of
from support.build import build_tree
from support.random_trees import CATALOGUE, random_model

POINT = mbt.SpatialInertia.point_mass(1.0, [0.1, 0.0, 0.0])
EXACT_KINDS = ("weld", "revolute", "prismatic", "screw")


def save(tree: mbt.MultibodyTree) -> tuple[str, str]:
    """The text, and the warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text = mbt.save_model(tree, format="urdf")
    return text, "\n".join(str(warning.message) for warning in caught)


def check_same(tree: mbt.MultibodyTree, twin: mbt.MultibodyTree) -> None:
    """The same motion, with the same names in the same order."""
    assert twin.position_names == tree.position_names
    assert twin.velocity_names == tree.velocity_names
    rng = np.random.default_rng(3)
    context, other = tree.create_default_context(), twin.create_default_context()
    context.q = other.q = tree.normalize_positions(rng.normal(size=tree.num_positions))
    context.v = other.v = rng.normal(size=tree.num_velocities)
    for result, expected in (
        (twin.calc_mass_matrix(other), tree.calc_mass_matrix(context)),
        (twin.calc_bias_term(other), tree.calc_bias_term(context)),
        (twin.calc_gravity_generalized_forces(other), tree.calc_gravity_generalized_forces(context)),
    ):
        np.testing.assert_allclose(
            result, expected, rtol=0, atol=1e-12 * max(1, abs(expected).max(initial=0))
        )
    X_WB, expected = (t.eval_position_kinematics(c).X_WB for t, c in ((twin, other), (tree, context)))
    for body in tree.bodies:
        row = twin.get_body_by_name(body.name).node_index
        np.testing.assert_allclose(X_WB[row], expected[body.node_index], rtol=0, atol=1e-12)
    for joint in tree.joints:
        copied = twin.get_joint_by_name(joint.name)
        assert np.array_equal(copied.default_damping_vector, joint.default_damping_vector)
        assert np.array_equal(copied.position_lower_limits, joint.position_lower_limits)
        assert np.array_equal(copied.position_upper_limits, joint.position_upper_limits)
        assert np.array_equal(copied.velocity_upper_limits, joint.velocity_upper_limits)
        assert np.array_equal(copied.acceleration_upper_limits, joint.acceleration_upper_limits)
        assert copied.effort_limit == joint.effort_limit
    for actuator in tree.joint_actuators:
        motor = twin.get_joint_actuator_by_name(actuator.name)
        assert motor.joint.name == actuator.joint.name
        assert motor.effort_limit == actuator.effort_limit
        assert motor.default_reflected_inertia == actuator.default_reflected_inertia


def check_read_again(tree: mbt.MultibodyTree, text: str) -> mbt.MultibodyTree:
    gravity = None if tree.gravity_field is None else tree.gravity_field.gravity_vector
    twin = mbt.load_model(text, strict=True, gravity=gravity)
    check_same(tree, twin)
    return twin


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_an_arm(base: str) -> None:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"), base=base)
    text, warning = save(tree)
    assert warning == ""
    twin = check_read_again(tree, text)
    assert twin.model_instances[2].name == "mbt_arm"
    assert mbt.save_model(tree, format="urdf", strict=True) == text


@pytest.mark.parametrize("seed", range(6))
def test_joints_with_one_degree_of_freedom(seed: int) -> None:
    """In either direction, with frames anywhere: only frames and their names change."""
    tree = build_tree(random_model(seed, 12, kinds=EXACT_KINDS))
    text, warning = save(tree)
    lines = [line for line in warning.splitlines()[1:] if "its frame M becomes" not in line]
    assert all("gravity" in line or "more" in line for line in lines), warning
    check_read_again(tree, text)


@pytest.mark.parametrize(
    "kind",
    ["weld", "revolute", "prismatic", "floating", "screw", "universal", "ball_rpy", "planar", "curvilinear"],
)
def test_every_kind_that_urdf_has(kind: str) -> None:
    tree = build_tree(CATALOGUE[f"one_{kind}"]() if kind != "weld" else CATALOGUE["all_weld"]())
    text, warning = save(tree)
    if kind == "floating" and "its damping is left out" in warning:
        assert tree.joints[0].default_damping_vector.any()
        tree.joints[0]._damping = np.zeros(6)
    elif kind in ("universal", "ball_rpy") and "its damping is left out" in warning:
        raise AssertionError(warning)
    assert "coordinates" not in warning
    check_read_again(tree, text)


def hang(
    joint_type: type[mbt.Joint], *args: object, X_BM: object = None
) -> tuple[mbt.MultibodyTree, mbt.Joint]:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", POINT))
    X_PF = mbt.math.make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3])
    joint = tree.add_joint(joint_type, "joint", tree.world_body, X_PF, body, X_BM, *args)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    return tree, joint


def test_a_cylinder_is_two_joints() -> None:
    X_BM = mbt.math.make_pose([0.1, 0.2, 0.3], rpy=[1, 2, 3])
    tree, joint = hang(mbt.CylindricalJoint, [0.6, 0.0, 0.8], [0.5, 0.25], X_BM=X_BM)
    text, warning = save(tree)
    assert "joint 'joint': it becomes two joints, with the link 'joint_child' between them" in warning
    joint.set_default_positions([0.1, 0.0])
    assert "joint 'joint': its default position is left out" in save(tree)[1]
    tree.finalize()
    twin = mbt.load_model(text)
    context, other = tree.create_default_context(), twin.create_default_context()
    context.q = other.q = [0.4, -0.3]
    context.v = other.v = [0.5, 0.6]
    np.testing.assert_allclose(twin.calc_mass_matrix(other), tree.calc_mass_matrix(context), atol=1e-14)
    np.testing.assert_allclose(
        twin.calc_forward_dynamics(other), tree.calc_forward_dynamics(context), atol=1e-12
    )


def test_limits_on_one_side_and_none() -> None:
    for lower, upper in ((-math.inf, 1.0), (-1.0, math.inf), (-math.inf, math.inf), (-1.0, 0.5)):
        for joint_type in (mbt.RevoluteJoint, mbt.PrismaticJoint):
            tree, joint = hang(joint_type, [0, 0, 1], lower, upper)
            text, warning = save(tree)
            assert warning == ""
            tree.finalize()
            check_read_again(tree, text)
            assert joint.effort_limit == math.inf


def test_all_of_a_joint() -> None:
    tree, joint = hang(mbt.RevoluteJoint, [0, 0.6, 0.8], -1.0, 2.0, 0.3)
    joint.set_velocity_limits([-3], [3]).set_acceleration_limits([-4], [4]).set_effort_limit(5.0)
    tree.add_joint_actuator("motor", joint, 5.0, rotor_inertia=0.25, gear_ratio=4.0)
    text, warning = save(tree)
    assert warning == ""
    assert 'xmlns:drake="http://drake.mit.edu"' in text
    tree.finalize()
    check_read_again(tree, text)


@pytest.mark.parametrize(
    "shape",
    [
        mbt.Shape("box", [1, 2, 3], mbt.math.make_pose([1, 0, 0]), name="b", color=[1, 0.5, 0, 1]),
        mbt.Shape("sphere", [0.5]),
        mbt.Shape("cylinder", [0.5, 1.0]),
        mbt.Shape("capsule", [0.5, 1.0]),
        mbt.Shape("ellipsoid", [0.5, 1.0, 2.0]),
        mbt.Shape("mesh", [1, 2, -1], mesh="package://arm/link.stl"),
        mbt.Shape("mesh", mesh="/tmp/link.stl"),
    ],
    ids=lambda shape: shape.kind,
)
def test_shapes(shape: mbt.Shape) -> None:
    tree, joint = hang(mbt.WeldJoint)
    joint.child_body.add_visual(shape)
    tree.world_body.add_visual(shape)
    text, warning = save(tree)
    assert warning == ""
    twin = mbt.load_model(text)
    assert twin.get_body_by_name("body").visuals == (shape,)
    assert twin.world_body.visuals == (shape,)


def test_paths_of_meshes_lead_to_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "out").mkdir()
    text = '<robot name="arm"><link name="cover"><visual><geometry><mesh filename="meshes/a.stl"/></geometry>'
    text += "</visual></link></robot>"
    (tmp_path / "arm.urdf").write_text(text, encoding="utf-8")
    tree = mbt.load_model(tmp_path / "arm.urdf")
    mbt.save_model(tree, tmp_path / "out" / "arm.urdf")
    written = (tmp_path / "out" / "arm.urdf").read_text(encoding="utf-8")
    assert 'filename="../meshes/a.stl"' in written
    assert f'filename="{tmp_path}/meshes/a.stl"' in mbt.save_model(tree, format="urdf")


# Losses.


def losses_of(change: object) -> str:
    tree, joint = hang(mbt.RevoluteJoint, [0, 0, 1])
    change(tree, joint)  # type: ignore[operator]
    text, warning = save(tree)
    mbt.load_model(text, strict=True)
    if warning:
        with pytest.raises(mbt.ArgumentValueError, match="URDF cannot hold all of this model"):
            mbt.save_model(tree, format="urdf", strict=True)
    return warning


LOSSES = {
    "default position": (
        lambda t, j: j.set_default_angle(0.5),
        "joint 'joint': its default position is left out",
    ),
    "velocities": (lambda t, j: j.set_velocity_limits([-1], [2]), "its velocity limit is the same in both"),
    "spring": (
        lambda t, j: t.add_force_element(mbt.RevoluteSpring(j, 0.0, 1.0)),
        "force element 'RevoluteSpring_1': a RevoluteSpring, which is left out",
    ),
    "friction": (
        lambda t, j: t.add_force_element(mbt.JointFriction(j, 0.5)),
        "that joints have friction: read it with joint_friction=True",
    ),
    "friction at rest": (
        lambda t, j: t.add_force_element(mbt.JointFriction(j, 0.5, 0.7)),
        "only its Coulomb friction is kept",
    ),
    "motor": (
        lambda t, j: t.add_joint_actuator("motor", j, 2.0),
        "its effort limit becomes that of its joint too",
    ),
    "plane": (lambda t, j: t.world_body.add_collision(mbt.Shape("plane")), "one collision is a plane"),
    "colour": (
        lambda t, j: j.child_body.add_collision(mbt.Shape("sphere", [1], color=[1, 1, 1, 1])),
        "the colour of a collision is left out",
    ),
    "instances": (
        lambda t, j: t.add_body(mbt.RigidBody("free", POINT, t.add_model_instance("other"))),
        "model instances: all elements are in a single one",
    ),
    "name of the robot": (
        lambda t, j: t.add_model_instance("a\x01b"),
        "model instance 'a\\x01b': its name is 'a?b'",
    ),
    "names": (
        lambda t, j: t.add_body(mbt.RigidBody("body", POINT, t.add_model_instance("other"))),
        "body 'other::body': its name is 'other::body'",
    ),
    "mobilizer": (
        lambda t, j: t.add_mobilizer(
            mbt.RevoluteMobilizer(
                j.frame_on_child, t.add_body(mbt.RigidBody("m", POINT)).body_frame, [0, 0, 1]
            )
        ),
        "it becomes a joint",
    ),
    "ball": (
        lambda t, j: t.add_joint(
            mbt.QuaternionBallJoint, "ball", j.child_body, None, t.add_body(mbt.RigidBody("m", POINT)), None
        ),
        "joint 'ball': its quaternion becomes angles",
    ),
    "turned": (
        lambda t, j: t.add_joint(
            mbt.UniversalJoint, "u", t.add_body(mbt.RigidBody("m", POINT)), None, j.child_body, None
        ),
        "joint 'u': it is reversed to point outwards: its coordinates differ",
    ),
    "nothing": (lambda t, j: None, ""),
}


@pytest.mark.parametrize("name", LOSSES)
def test_what_is_lost_is_told(name: str) -> None:
    change, message = LOSSES[name]
    warning = losses_of(change)
    assert message in warning
    assert bool(message) == bool(warning)


@pytest.mark.parametrize(
    ("gravity", "message"),
    [
        (None, "that there is no gravity: read it with gravity=None"),
        ([0, 0, -1.62], "read it with gravity=[0.0, 0.0, -1.62]"),
    ],
)
def test_gravity(gravity: list[float] | None, message: str) -> None:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"), gravity=gravity)
    assert message in save(tree)[1]


@pytest.mark.parametrize(("of_joint", "expected"), [(math.inf, 2.0), (3.0, 3.0)])
def test_one_effort_limit_for_both(of_joint: float, expected: float) -> None:
    tree, joint = hang(mbt.RevoluteJoint, [0, 0, 1])
    joint.set_effort_limit(of_joint)
    tree.add_joint_actuator("motor", joint, 2.0)
    twin = mbt.load_model(save(tree)[0], strict=True)
    assert twin.joint_actuators[0].effort_limit == twin.get_joint_by_name("joint").effort_limit == expected


def test_couplers_are_mimics() -> None:
    tree = mbt.MultibodyTree()
    joints = []
    for name in ("left", "right", "middle"):
        pad = tree.add_body(mbt.RigidBody(f"{name}_pad", POINT))
        joints.append(tree.add_joint(mbt.PrismaticJoint, name, tree.world_body, None, pad, None, [0, 1, 0]))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.add_constraint(mbt.CouplerConstraint("right", joints[1], joints[0], -0.1, 0.25))
    text, warning = save(tree)
    assert warning == ""
    with pytest.warns(mbt.ModelWarning, match="mimics"):
        twin = mbt.load_model(text)
    (coupler,) = twin.constraints
    assert isinstance(coupler, mbt.CouplerConstraint)
    assert (coupler.joint1.name, coupler.default_gear_ratio, coupler.default_offset) == ("left", -0.1, 0.25)
    tree.add_constraint(mbt.CouplerConstraint("again", joints[1], joints[2]))
    tree.add_constraint(mbt.CouplerConstraint("belt", joints[2], joints[0]))
    warning = save(tree)[1]
    assert "constraint 'again': it is left out" in warning
    assert "constraint 'belt': its name is 'middle'" in warning


def make_sprung() -> mbt.MultibodyTree:
    """Links with a spring, a bushing at general frames, and a ball that closes a loop."""
    box = mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.2, 0.3)
    X = mbt.math.make_pose([0.1, 0.2, 0.3], rpy=[0.1, 0.2, 0.3])
    tree = mbt.MultibodyTree()
    robot = tree.add_model_instance("robot")
    left, right, load = [tree.add_body(mbt.RigidBody(name, box, robot)) for name in ("left", "right", "load")]
    hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, X, left, None, [0, 0, 1])
    tree.add_joint(mbt.RevoluteJoint, "knee", left, X, right, None, [0, 0.6, 0.8])
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", right, X))
    hook = tree.add_frame(mbt.FixedOffsetFrame("hook", load, X))
    tree.add_force_element(
        mbt.LinearSpringDamper(left, [0.1, 0.2, 0.3], tree.world_body, [1, 0, 0], 0.3, 5.0, 0.2)
    )
    for frame in (hinge.frame_on_parent, left, tip):
        constants = np.random.default_rng(frame.index).uniform(1, 2, (4, 3))
        tree.add_force_element(mbt.LinearBushingRollPitchYaw(frame, hook, *constants))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.add_constraint(mbt.BallConstraint("ball_constraint", hook, tip))
    tree.finalize()
    return tree


def test_springs_bushings_and_balls() -> None:
    tree = make_sprung()
    text, warning = save(tree)
    assert warning == ""
    twin = check_read_again(tree, text)
    rng = np.random.default_rng(4)
    q, v = tree.random_positions(rng), rng.normal(size=tree.num_velocities)
    for compute in (mbt.functional.inverse_dynamics, mbt.functional.forward_dynamics):
        expected = compute(tree, q, v, 0.0 * v)
        np.testing.assert_allclose(compute(twin, q, v, 0.0 * v), expected, rtol=1e-11, atol=1e-11)
    (ball,) = twin.constraints
    assert (ball.name, type(ball)) == ("ball_constraint", mbt.BallConstraint)
    # Each gap is in the axes of its own frame A.
    gaps = [np.linalg.norm(mbt.functional.constraint_errors(t, q)) for t in (tree, twin)]
    np.testing.assert_allclose(*gaps, rtol=1e-14)


def test_what_a_ball_of_urdf_has_not() -> None:
    tree = make_sprung().edit()
    hook, tip = tree.get_frame_by_name("hook"), tree.get_frame_by_name("tip")
    tree.add_constraint(mbt.BallConstraint("again", hook, tip, stabilization=[1, 1]))
    tree.add_constraint(mbt.WeldConstraint("glue", hook, tip))
    text, warning = save(tree)
    assert warning.splitlines()[1:] == [
        "  constraint 'again': its name is 'ball_constraint_'",
        "  constraint 'again': its stabilization is left out",
        "  constraint 'glue': it is left out",
    ]
    names = [constraint.name for constraint in mbt.load_model(text, strict=True).constraints]
    assert names == ["ball_constraint", "ball_constraint_"]


def test_names_that_xml_has_no_letters_for() -> None:
    tree = mbt.MultibodyTree()
    for name in ("a<&\"'>é🤖", "bell \a", " ", "half \ud800"):
        tree.add_body(mbt.RigidBody(name, POINT))
    text, _ = save(tree)
    twin = mbt.load_model(text.encode("utf-8"))
    assert twin.bodies[1].name == "a<&\"'>é🤖"
    assert twin.num_bodies == 5


def test_a_deep_chain() -> None:
    tree = mbt.MultibodyTree()
    body = tree.world_body
    for i in range(1200):
        inboard, body = body, tree.add_body(mbt.RigidBody(f"body{i}", POINT))
        tree.add_joint(mbt.RevoluteJoint(f"joint{i}", inboard.body_frame, body.body_frame, [0, 0, 1]))
    twin = mbt.load_model(save(tree)[0])
    assert twin.joints[-1].name == "joint1199"


def test_an_empty_tree() -> None:
    tree = mbt.MultibodyTree()
    twin = mbt.load_model(save(tree)[0])
    assert twin.num_bodies == 1


def test_point_masses_and_rods_stay_possible() -> None:
    """Rounding in the shift to the mass centre must not make an inertia impossible."""
    rng = np.random.default_rng(2)
    tree = mbt.MultibodyTree()
    for i in range(50):
        p, n = rng.normal(size=3), rng.normal(size=3)
        rod = mbt.SpatialInertia.thin_rod_with_mass(2.0, 0.5, n / np.linalg.norm(n)).shift(-p)
        tree.add_body(mbt.RigidBody(f"rod{i}", rod))
        tree.add_body(mbt.RigidBody(f"point{i}", mbt.SpatialInertia.point_mass(1.0, p)))
    mbt.load_model(save(tree)[0], strict=True)


@pytest.mark.parametrize("pitch", [0.3, math.pi / 2, -math.pi / 2, math.pi / 2 - 1e-9, -math.pi / 2 + 1e-7])
def test_rotations_are_exact_also_at_gimbal_lock(pitch: float) -> None:
    rng = np.random.default_rng(1)
    for roll, yaw in rng.uniform(-math.pi, math.pi, (50, 2)):
        R = mbt.math.rpy_to_matrix([roll, pitch, yaw])
        np.testing.assert_allclose(mbt.math.rpy_to_matrix(rpy_of(R)), R, rtol=0, atol=4e-16)


def test_the_text() -> None:
    tree, _ = hang(mbt.RevoluteJoint, [0, 0, 1])
    text, _ = save(tree)
    root = ElementTree.fromstring(text)
    assert root.tag == "robot"
    assert [child.tag for child in root] == ["link", "link", "joint"]
    assert text.startswith(
        '<?xml version="1.0" encoding="utf-8"?>\n<robot name="model">\n  <link name="world" />'
    )
