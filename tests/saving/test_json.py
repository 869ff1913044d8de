"""Models in JSON are read back as they were written, to the last bit."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest

import mbt
from support.build import build_tree
from support.copies import some_state
from support.force_element_types import make_everything
from support.model_state import model_state
from support.random_trees import CATALOGUE

POINT = mbt.SpatialInertia.point_mass(1.0, [0.1, 0.0, 0.0])


def as_json(tree: mbt.MultibodyTree) -> str:
    return mbt.save_model(tree, format="json")


def check_round_trip(tree: mbt.MultibodyTree) -> mbt.MultibodyTree:
    """The text contains everything a finalized tree has, and saving it again gives the same text."""
    text = as_json(tree)
    twin = mbt.load_model(text)
    if not tree.is_finalized:
        tree.finalize()
        assert as_json(tree) == text, "what finalize() makes is not written"
    assert model_state(twin) == model_state(tree)
    assert as_json(twin) == text
    return twin


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_shape_of_model(name: str) -> None:
    tree = build_tree(CATALOGUE[name](), finalize=False)
    twin = check_round_trip(tree)
    context, other = some_state(tree), some_state(twin)
    vdot = np.linspace(-1.0, 1.0, tree.num_velocities)
    assert np.array_equal(tree.calc_mass_matrix(context), twin.calc_mass_matrix(other))
    assert np.array_equal(
        tree.calc_inverse_dynamics(context, vdot, include_force_elements=True),
        twin.calc_inverse_dynamics(other, vdot, include_force_elements=True),
    )
    assert np.array_equal(
        tree.eval_position_kinematics(context).X_WB, twin.eval_position_kinematics(other).X_WB
    )


def test_every_joint_and_every_force_element() -> None:
    tree = make_everything(user_written=False)
    twin = check_round_trip(tree)
    vdot = tree.calc_forward_dynamics(some_state(tree))
    assert np.array_equal(vdot, twin.calc_forward_dynamics(some_state(twin)))
    assert as_json(pickle.loads(pickle.dumps(tree))) == as_json(tree) == as_json(tree.clone())


def test_states_of_models_differ_with_each_number() -> None:
    """Otherwise none of these tests would prove anything."""
    tree = build_tree(CATALOGUE["mixed8"]())
    text = as_json(tree)
    model = json.loads(text)
    model["bodies"][3]["M_BBo_B"]["com"][1] *= 1.0 + 2e-16
    assert model_state(mbt.load_model(json.dumps(model))) != model_state(tree)


def make_odd_tree() -> mbt.MultibodyTree:
    """Rare features: names that need care, frames between bodies, explicit mobilizers, ..."""
    tree = mbt.MultibodyTree()
    arm, inner = tree.add_model_instance("arm"), tree.add_model_instance("arm::gripper")
    tree.rename_model_instance(1, "bench")
    world = tree.world_body
    # Two bodies of the scoped name "arm::gripper::finger", two named "world".
    finger = tree.add_body(mbt.RigidBody("finger", POINT, inner))
    mount = tree.add_frame(mbt.FixedOffsetFrame("mount", world, np.diag([1.0, -1.0, -1.0, 1.0])))
    other = tree.add_body(mbt.RigidBody("gripper::finger", POINT, arm))
    second = tree.add_body(mbt.RigidBody("world", POINT))
    unnamed = tree.add_body(mbt.RigidBody(POINT, inner))
    rotor = tree.add_body(
        mbt.RigidBody(
            'rotor "é🤖"\n', mbt.SpatialInertia.make_from_central_inertia(0.0, [0, -0.0, 0.1], np.eye(3)), arm
        )
    )
    # Not in its parent's model instance.
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", finger, mbt.math.make_pose([0.0, -0.0, 0.1]), 1))
    hinge = tree.add_joint(
        mbt.RevoluteJoint("hinge", mount, finger.body_frame, [0.6, -0.0, 0.8], effort_limit=3.0)
    )
    slide = tree.add_joint(mbt.PrismaticJoint, "slide", world, None, other, None, [0, 0, 1])
    slide.set_position_limits([-math.inf], [0.25]).set_velocity_limits([-1.0], [2.0])
    slide.set_acceleration_limits([-0.0], [math.inf]).set_default_positions([-0.0])
    tree.add_mobilizer(mbt.ScrewMobilizer(tip, second.body_frame, [0, 1, 0], -0.02, model_instance=arm))
    ball = tree.add_joint(mbt.BallRpyJoint, "ball", world, None, unnamed, None)
    ball.set_default_damping_vector([0.1, 0.0, 0.3]).set_default_angles([0.1, 0.2, 0.3])
    path = mbt.PiecewiseConstantCurvatureTrajectory([0.0, 1.0], [0.3], [1, 2, 3], [3, 0, -1])
    wire = tree.add_joint(mbt.CurvilinearJoint, "wire", rotor, None, unnamed, None, path)
    wire.set_position_limits([-math.inf], [math.inf])
    tree.add_force_element(mbt.LinearSpringDamper(finger, [0, 0, 1], second, [1, 0, 0], 0.5, 10.0, 0.0))
    tree.add_force_element(mbt.UniformGravityFieldElement([0.0, -0.0, -1.62], [arm, 0]))
    tree.add_force_element(mbt.JointFriction(slide, 0.5, 0.7))
    tree.add_joint_actuator("motor", hinge, 3.0, rotor_inertia=1e-5, gear_ratio=-120.0)
    tree.add_joint_actuator("weak", slide)
    tree.add_constraint(mbt.CouplerConstraint("belt", slide, hinge, 0.1, -0.0))
    tree.add_constraint(mbt.WeldConstraint("glue", tip, second, stabilization=(-0.0, 1.0)))
    tree.add_constraint(mbt.DistanceConstraint("rod", mount, [0, -0.0, 1], second, [1, 0, 0], 0.3))
    X = mbt.math.make_pose([0, 0, 1], rpy=[0.1, 0.2, 0.3])
    finger.add_visual(mbt.Shape("box", [1, 2, 3], X, name="pad", color=[1, 0, 0.5, 1]))
    finger.add_visual(mbt.Shape("mesh", [1, -1, 1], mesh="package://arm/pad.stl", folder="/somewhere"))
    finger.add_collision(mbt.Shape("capsule", [0.1, 0.2]))
    world.add_collision(mbt.Shape("plane"))
    return tree


def test_odd_models() -> None:
    twin = check_round_trip(make_odd_tree())
    assert twin.get_joint_by_name("slide").position_upper_limits.tolist() == [0.25]
    assert math.copysign(1.0, twin.get_joint_by_name("slide").default_positions[0]) == -1.0


def test_names_that_removal_left() -> None:
    """Elements added without a name keep the name they were given."""
    tree = make_odd_tree()
    tree.finalize()
    edited = tree.edit()
    edited.remove(edited.force_elements[0])
    assert edited.force_elements[0].name == "UniformGravityFieldElement_1"
    check_round_trip(edited)


def test_a_deep_chain() -> None:
    tree = mbt.MultibodyTree()
    body = tree.world_body
    for i in range(5000):
        inboard, body = body, tree.add_body(mbt.RigidBody(f"body{i}", POINT))
        tree.add_joint(mbt.RevoluteJoint(f"joint{i}", inboard.body_frame, body.body_frame, [0, 0, 1]))
    twin = mbt.load_model(as_json(tree))
    assert twin.num_velocities == 5000
    assert twin.joints[-1].child_body.name == "body4999"


def test_a_tree_of_another_scalar_has_the_same_model() -> None:
    tree = build_tree(CATALOGUE["mixed3"]())
    assert as_json(tree.to_autodiff()) == as_json(tree)


# The text.


def test_it_is_strict_json() -> None:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    model = json.loads(as_json(make_odd_tree()), parse_constant=refuse)
    assert (model["format"], model["version"]) == ("mbt", 1)
    slide = next(joint for joint in model["joints"] if joint["name"] == "slide")
    assert slide["position_limits"] == [["-inf"], [0.25]]


def test_what_is_as_in_a_new_element_is_left_out() -> None:
    tree = mbt.MultibodyTree()
    for i, joint_type in enumerate((mbt.RevoluteJoint, mbt.BallRpyJoint, mbt.QuaternionFloatingJoint)):
        body = tree.add_body(mbt.RigidBody(f"b{i}", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        axis = {"axis": [0, 0, 1]} if i == 0 else {}
        joint = tree.add_joint(joint_type, f"j{i}", tree.world_body, None, body, None, **axis)
        positions = joint.default_positions
        # One joint at its initial positions, then all of them elsewhere.
        assert mbt.save_model(tree, format="json").count('"default_positions"') == i + (i == 2)
        joint.set_default_positions(positions + ([0.0] * 6 + [0.5] if i == 2 else 0.5))
        assert mbt.save_model(tree, format="json").count('"default_positions"') == i + 1


def test_another_mass_is_another_line() -> None:
    tree = build_tree(CATALOGUE["humanoid"]())
    edited = tree.edit()
    body = edited.bodies[5]
    body.set_default_spatial_inertia(mbt.SpatialInertia(7.5, body.default_com, body.default_unit_inertia))
    before, after = as_json(tree).splitlines(), as_json(edited).splitlines()
    assert len(before) == len(after)
    (changed,) = [new for old, new in zip(before, after, strict=True) if old != new]
    assert '"mass": 7.5' in changed


def test_names_that_no_encoding_holds() -> None:
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("half \ud800 of a pair, é", POINT))
    text = as_json(tree)
    assert '"half \\ud800 of a pair, é"' in text
    text.encode("utf-8")
    check_round_trip(tree)


# Reading into other trees.


def test_its_own_gravity_or_that_of_the_caller() -> None:
    text = as_json(make_odd_tree())
    assert mbt.load_model(text, gravity=None).gravity_field is None
    moon = mbt.load_model(text).gravity_field
    earth = mbt.load_model(text, gravity=(0.0, 0.0, -9.81)).gravity_field
    assert moon is not None
    assert earth is not None
    assert moon.gravity_vector[2] == -1.62
    assert (earth.gravity_vector[2], earth.index) == (-9.81, moon.index)
    assert not earth.is_enabled(2)
    bare = as_json(mbt.load_model(text, gravity=None))
    assert mbt.load_model(bare).gravity_field is None
    assert mbt.load_model(bare, gravity=[0, 0, -1]).gravity_field is not None


def test_another_name() -> None:
    text = as_json(make_odd_tree())
    names = [instance.name for instance in mbt.load_model(text, model_name="left").model_instances]
    assert names == ["WorldModelInstance", "bench", "left", "left::gripper"]
    plain = as_json(build_tree(CATALOGUE["arm7"]()))
    tree = mbt.load_model(plain, model_name="left")
    assert {body.model_instance for body in tree.bodies[1:]} == {2}
    assert tree.bodies[1].scoped_name == f"left::{tree.bodies[1].name}"


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_a_base_is_not_chosen(base: str) -> None:
    text = as_json(build_tree(CATALOGUE["arm7"]()))
    with pytest.raises(mbt.ArgumentValueError, match=r"base: a model in JSON itself defines .* tree.edit"):
        mbt.load_model(text, base=base)


def test_actuators_for_all_joints() -> None:
    tree = build_tree(CATALOGUE["mixed20"]())
    twin = mbt.load_model(as_json(tree), actuators="all")
    driven = {actuator.joint.name for actuator in twin.joint_actuators}
    assert driven == {joint.name for joint in tree.joints if joint.num_velocities == 1}
    assert twin.num_actuators == len(driven)


def test_two_of_a_model_in_one_tree() -> None:
    arm = build_tree(CATALOGUE["mixed8"]())
    text = as_json(arm)
    tree = mbt.MultibodyTree()
    X = mbt.math.make_pose([0.3, -0.4, 0.5], rpy=[0.1, 0.2, 0.3])
    assert mbt.parsing.add_model(tree, text, model_name="left", base_pose=X) == 2
    assert mbt.parsing.add_model(tree, text, model_name="right") == 3
    before = model_state(tree)
    for name in ("left", "right"):
        with pytest.raises(mbt.ArgumentValueError, match=f"model instance named '{name}' already"):
            mbt.parsing.add_model(tree, text, model_name=name)
    assert model_state(tree) == before
    mbt.parsing.add_model(tree, text)
    with pytest.raises(mbt.ArgumentValueError, match=r"there is a body named .* already"):
        mbt.parsing.add_model(tree, text)
    assert tree.gravity_field is None
    tree.finalize()
    context, alone = tree.create_default_context(), arm.create_default_context()
    poses, expected = tree.eval_position_kinematics(context).X_WB, arm.eval_position_kinematics(alone).X_WB
    for name, X_WM in (("left", X), ("right", np.eye(4))):
        instance = tree.get_model_instance_by_name(name)
        for body in arm.bodies[1:]:
            twin = tree.get_body_by_name(body.name, instance)
            np.testing.assert_allclose(poses[twin.node_index], X_WM @ expected[body.node_index], atol=1e-14)


def test_a_free_model_on_another_body() -> None:
    """Bodies that are free in the file are welded to the mount, and springs to World attach there."""
    ball = mbt.MultibodyTree()
    body = ball.add_body(mbt.RigidBody("ball", POINT))
    ball.add_force_element(mbt.LinearSpringDamper(ball.world_body, [0, 0, 2], body, [0, 0, 0], 1.0, 5.0, 0.0))
    ball.world_body.add_visual(mbt.Shape("sphere", [0.1]))
    tree = mbt.MultibodyTree()
    cart = tree.add_body(mbt.RigidBody("cart", POINT))
    tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, cart, None, [1, 0, 0])
    mbt.parsing.add_model(
        tree, as_json(ball), parent=cart, X_PF=mbt.math.make_pose([1, 0, 0]), model_name="m"
    )
    joint = tree.get_joint_by_name("ball_to_cart")
    assert isinstance(joint, mbt.WeldJoint)
    spring = tree.force_elements[0]
    assert isinstance(spring, mbt.LinearSpringDamper)
    assert spring.bodyA is cart
    assert spring.p_AP.tolist() == [1.0, 0.0, 2.0]
    assert cart.visuals[0].X_BG[:3, 3].tolist() == [1.0, 0.0, 0.0]
    tree.finalize()
    poses = tree.eval_position_kinematics(tree.create_default_context()).X_WB
    assert poses[tree.get_body_by_name("ball").node_index][:3, 3].tolist() == [1.0, 0.0, 0.0]


def test_a_free_model_elsewhere_in_world() -> None:
    text = as_json(build_tree(CATALOGUE["free_body"]()))
    X = mbt.math.make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3])
    tree = mbt.load_model(text, base_pose=X)
    poses = tree.eval_position_kinematics(tree.create_default_context()).X_WB
    np.testing.assert_allclose(poses[1], X, atol=1e-15)
    assert tree.num_velocities == 6


def test_a_finalized_tree_takes_no_model() -> None:
    tree = build_tree(CATALOGUE["arm7"]())
    with pytest.raises(mbt.AlreadyFinalizedError, match="add_model"):
        mbt.parsing.add_model(tree, as_json(tree), model_name="other")


def test_the_report() -> None:
    tree = mbt.load_model(as_json(make_odd_tree()))
    (report,) = tree.parse_reports
    assert (report.file, report.model_name) == ("<text>", "arm")
    assert (report.num_links, report.num_joints, report.num_actuators) == (5, 4, 2)


def test_a_prefix() -> None:
    text = as_json(make_odd_tree())
    tree = mbt.load_model(text, prefix="left_")
    assert tree.get_model_instance_name(3) == "left_arm::gripper"
    assert tree.get_body_by_name("left_finger").model_instance == 3
    mount = tree.get_joint_by_name("left_hinge").frame_on_parent
    assert mount.name == "left_mount"
    assert tree.get_joint_actuator_by_name("left_motor").joint.name == "left_hinge"
    both = mbt.MultibodyTree()
    mbt.parsing.add_model(both, text, prefix="left_")
    mbt.parsing.add_model(both, text, prefix="right_")
    both.finalize()
    assert both.num_velocities == 2 * tree.num_velocities
