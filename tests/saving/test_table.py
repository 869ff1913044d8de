"""The table of docs/saving.md: what URDF can hold, and what the warning says."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mbt

PAGE = Path(__file__).parents[2] / "docs" / "saving.md"
ROWS = {
    cells[0]: (cells[1], cells[2])
    for line in PAGE.read_text(encoding="utf-8").partition("| of the model |")[2].splitlines()[2:]
    if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 3
}
POINT = mbt.SpatialInertia.point_mass(1.0, [0.1, 0.0, 0.0])
PATH = mbt.PiecewiseConstantCurvatureTrajectory([0, 1], [0.5], [1, 0, 0], [0, 0, 1])
Tree = mbt.MultibodyTree


def hang(
    tree: Tree, joint_type: type[mbt.Joint], *arguments: object, X_BM: object = None, turned: bool = False
) -> mbt.Joint:
    body = tree.add_body(mbt.RigidBody(f"body{tree.num_bodies}", POINT))
    ends = (tree.world_body, None, body, X_BM)
    return tree.add_joint(
        joint_type, f"joint{tree.num_joints}", *(ends[2:] + ends[:2] if turned else ends), *arguments
    )


def hinge(tree: Tree) -> mbt.RevoluteJoint:
    joint = hang(tree, mbt.RevoluteJoint, [0, 0, 1])
    assert isinstance(joint, mbt.RevoluteJoint)
    return joint


def free(tree: Tree) -> mbt.RigidBody:
    return tree.add_body(mbt.RigidBody("free", POINT))


def coupled(tree: Tree) -> None:
    first, second = hinge(tree), hinge(tree)
    tree.add_constraint(mbt.CouplerConstraint(second.name, second, first, -2.0, 0.5))


EXAMPLES: dict[str, Callable[[Tree], object]] = {
    "`WeldJoint`": lambda t: hang(t, mbt.WeldJoint, mbt.math.make_pose([1, 2, 3], rpy=[1, 1, 1])),
    "`RevoluteJoint`": hinge,
    "`PrismaticJoint`": lambda t: hang(t, mbt.PrismaticJoint, [0, 0, 1]),
    "`ScrewJoint`": lambda t: hang(t, mbt.ScrewJoint, [0, 0, 1], 0.1),
    "`PlanarJoint`": lambda t: hang(t, mbt.PlanarJoint, [0.1, 0.2, 0.3]),
    "`UniversalJoint`": lambda t: hang(t, mbt.UniversalJoint, 0.1),
    "`BallRpyJoint`": lambda t: hang(t, mbt.BallRpyJoint, 0.1),
    "`CurvilinearJoint`": lambda t: hang(t, mbt.CurvilinearJoint, PATH, 0.1),
    "`QuaternionFloatingJoint`, a free body": lambda t: (hang(t, mbt.QuaternionFloatingJoint), free(t)),
    "`QuaternionBallJoint`": lambda t: hang(t, mbt.QuaternionBallJoint),
    "`RpyFloatingJoint`": lambda t: hang(t, mbt.RpyFloatingJoint),
    "`CylindricalJoint`": lambda t: hang(t, mbt.CylindricalJoint, [0, 0, 1]),
    "a joint with several velocities that points to World": lambda t: hang(t, mbt.BallRpyJoint, turned=True),
    "mobilizers without a joint": lambda t: t.add_mobilizer(
        mbt.RevoluteMobilizer(t.world_frame, free(t).body_frame, [0, 0, 1])
    ),
    "frames of joints that the child link does not have": lambda t: hang(
        t, mbt.RevoluteJoint, [0, 0, 1], X_BM=mbt.math.make_pose([1, 0, 0])
    ),
    "limits of position, velocity, acceleration and effort": lambda t: (
        hang(t, mbt.RevoluteJoint, [0, 0, 1], -1.0, 2.0)
        .set_velocity_limits([-1], [1])
        .set_acceleration_limits([-1], [1])
        .set_effort_limit(3.0)
    ),
    "a velocity limit that differs in both directions": lambda t: hinge(t).set_velocity_limits([-1], [2]),
    "damping of a joint": lambda t: hinge(t).set_default_damping(0.5),
    "damping of a free body": lambda t: hang(t, mbt.QuaternionFloatingJoint, 0.5),
    "default positions": lambda t: hinge(t).set_default_angle(0.5),
    "`JointFriction`": lambda t: t.add_force_element(mbt.JointFriction(hinge(t), 0.5)),
    "`CouplerConstraint` named after the joint": coupled,
    "`BallConstraint`": lambda t: t.add_constraint(
        mbt.BallConstraint("ball_constraint", free(t), t.world_body)
    ),
    "the name and the stabilization of a `BallConstraint`": lambda t: t.add_constraint(
        mbt.BallConstraint("hook", free(t), t.world_body)
    ),
    "other constraints": lambda t: t.add_constraint(mbt.WeldConstraint("glue", free(t), t.world_body)),
    "`LinearSpringDamper`": lambda t: t.add_force_element(
        mbt.LinearSpringDamper(free(t), [0, 0, 1], t.world_body, [0, 0, 0], 0.5, 2.0, 0.1)
    ),
    "`LinearBushingRollPitchYaw`": lambda t: t.add_force_element(
        mbt.LinearBushingRollPitchYaw(free(t), t.world_body, *np.ones((4, 3)))
    ),
    "actuators, with rotor and gear": lambda t: t.add_joint_actuator(
        "motor", hinge(t), rotor_inertia=0.1, gear_ratio=3.0
    ),
    "an actuator on one of several degrees of freedom of a joint": lambda t: t.add_joint_actuator(
        "motor", hang(t, mbt.BallRpyJoint, 0.1), dof=1
    ),
    "an effort limit of an actuator that its joint does not have": lambda t: t.add_joint_actuator(
        "motor", hinge(t), 5.0
    ),
    "frames": lambda t: t.add_frame(mbt.FixedOffsetFrame("tip", free(t), mbt.math.make_pose([1, 0, 0]))),
    "shapes": lambda t: free(t).add_visual(mbt.Shape("box", [1, 2, 3])),
    "a plane": lambda t: t.world_body.add_collision(mbt.Shape("plane")),
    "usual gravity": lambda t: None,
    "other gravity": lambda t: t.gravity_field.set_default_gravity_vector([0, 0, -1.62]),  # type: ignore[union-attr]
    "`RevoluteSpring` and other force elements": lambda t: t.add_force_element(
        mbt.RevoluteSpring(hinge(t), 0.0, 1.0)
    ),
    "several model instances": lambda t: (
        free(t),
        t.add_body(mbt.RigidBody("other", POINT, t.add_model_instance("other"))),
    ),
    "the default model instance": free,
    "a name that two elements of a kind have, or that XML cannot hold": lambda t: (
        free(t),
        t.add_body(mbt.RigidBody("free", POINT, t.add_model_instance("other"))),
    ),
}


def test_the_table_and_its_examples_are_the_same() -> None:
    assert list(EXAMPLES) == list(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_rows(row: str) -> None:
    in_urdf, expected = ROWS[row]
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    EXAMPLES[row](tree)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text = mbt.save_model(tree, format="urdf")
    message = "".join(str(warning.message) for warning in caught)
    assert expected in message
    assert bool(expected) == bool(message), message
    said = re.findall("`<?(\\S+?)[ >=`]", in_urdf)
    assert not said or any(f'"{word}"' in text or f"<{word}" in text for word in said)
    # JSON preserves all of it.
    twin = mbt.load_model(mbt.save_model(tree, format="json"))
    tree.finalize()
    assert mbt.save_model(twin, format="json") == mbt.save_model(tree, format="json")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*mimics", category=mbt.ModelWarning)
        again = mbt.load_model(text)
    if not expected:
        context, other = tree.create_default_context(), again.create_default_context()
        context.v = other.v = np.arange(1.0, tree.num_velocities + 1)
        np.testing.assert_allclose(
            again.calc_bias_term(other), tree.calc_bias_term(context), atol=1e-12, rtol=0
        )
