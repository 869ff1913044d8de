"""Readers construct elements by a faster path, with the same result as the constructors."""

import math
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.math.poses import IDENTITY
from mbt.tree.indices import ModelInstanceIndex

LINK = """<link name="{}"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0"
izz="1"/></inertial></link>"""
ROBOT = f"""<robot name="{{}}">{LINK.format("base")}{LINK.format("arm")}
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/>
<limit lower="-1" upper="2" velocity="3" effort="4"/></joint>
<transmission name="drive" type="SimpleTransmission"><joint name="hinge"/><actuator name="motor"/>
</transmission>
</robot>"""


def attributes(element: object) -> dict[str, Any]:
    """Return the contents of an element, as far as they can be compared."""
    values = dict(vars(element))
    frame = values.pop("_body_frame", None)
    if frame is not None:
        values |= {f"frame{name}": value for name, value in vars(frame).items() if value is not element}
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else repr(value)
        for name, value in values.items()
    }


def make_frames() -> tuple[mbt.Frame, mbt.Frame]:
    """Return the frames of two bodies."""
    bodies = [mbt.RigidBody(name, mbt.SpatialInertia.zero(), 1) for name in ("parent", "child")]
    return bodies[0].body_frame, bodies[1].body_frame


def test_what_joints_share_keeps_the_sign_of_zero() -> None:
    """Whichever sign comes first."""
    for lower in (0.0, -0.0, 0.0):
        joint = mbt.RevoluteJoint._of_numbers(
            "joint", *make_frames(), [0.0, 0.0, 1.0], 0.0, (lower, 0.0, 1.0, 1.0, 1.0)
        )
        assert math.copysign(1.0, joint.position_lower_limits[0]) == math.copysign(1.0, lower)


@pytest.mark.parametrize("kind", [mbt.RevoluteJoint, mbt.PrismaticJoint])
@pytest.mark.parametrize(
    "limits",
    [
        (-math.inf, math.inf, math.inf, math.inf, math.inf),
        (-1.0, math.inf, math.inf, 4.0, math.inf),
        (-1.0, 2.0, 3.0, math.inf, 5.0),
        (2.0, 2.0, 0.0, 0.0, 0.0),
    ],
)
@pytest.mark.parametrize("axis", [[0.0, -0.0, 2.0], [1e-300, 1e-300, 0.0], [0.3, -0.4, 0.5]])
def test_joint_of_numbers_is_the_constructed_one(
    kind: type[mbt.RevoluteJoint], limits: tuple[float, ...], axis: list[float]
) -> None:
    lower, upper, velocity, acceleration, effort = limits
    frames = make_frames()
    wanted = kind("joint", *frames, axis, lower, upper, 0.5, effort_limit=effort)
    wanted.set_velocity_limits([-velocity], [velocity])
    wanted.set_acceleration_limits([-acceleration], [acceleration])
    made = kind._of_numbers("joint", *frames, axis, 0.5, (lower, upper, velocity, acceleration, effort))
    assert attributes(made) == attributes(wanted)
    assert made._axis.tobytes() == wanted._axis.tobytes()
    mobilizer = made._make_mobilizer()
    declared = kind._mobilizer_type(*frames, axis_F=made._axis)  # type: ignore[call-arg]
    # The constructor normalises once more.
    np.testing.assert_allclose(declared._constants(), made._axis, rtol=1e-15)
    assert attributes(mobilizer) == attributes(declared) | {"_axis": made._axis.tolist()}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"axis": [0.0, 0.0, 0.0]}, "joint 'joint': axis: expected a nonzero vector"),
        ({"axis": [0.0, math.nan, 0.0]}, "joint 'joint': axis: expected finite"),
        ({"damping": -1.0}, "joint 'joint': damping"),
        ({"damping": math.inf}, "joint 'joint': damping"),
        ({"limits": (2.0, 1.0, 1.0, 1.0, 1.0)}, "position limits: expected lower <= upper"),
        ({"limits": (math.nan, 1.0, 1.0, 1.0, 1.0)}, "position limits"),
        ({"limits": (math.inf, math.inf, 1.0, 1.0, 1.0)}, "position limits: .* not both inf or -inf"),
        ({"limits": (-math.inf, -math.inf, 1.0, 1.0, 1.0)}, "position limits: .* not both inf or -inf"),
        ({"limits": (0.0, 1.0, -1.0, 1.0, 1.0)}, "velocity limits: expected lower <= upper"),
        ({"limits": (0.0, 1.0, 1.0, -1.0, 1.0)}, "acceleration limits: expected lower <= upper"),
        ({"limits": (0.0, 1.0, 1.0, 1.0, -1.0)}, "effort_limit: expected a number >= 0"),
    ],
)
def test_joint_of_numbers_refuses_what_the_constructor_does(changed: dict[str, Any], message: str) -> None:
    arguments = {"axis": [0.0, 0.0, 1.0], "damping": 0.0, "limits": (0.0, 1.0, 1.0, 1.0, 1.0), **changed}
    with pytest.raises(mbt.ArgumentValueError, match=message):
        mbt.RevoluteJoint._of_numbers("joint", *make_frames(), **arguments)


def test_body_and_frame_are_the_constructed_ones() -> None:
    M = mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)
    instance = ModelInstanceIndex(1)
    body = mbt.RigidBody._of_checked("link", M, instance)
    assert attributes(body) == attributes(mbt.RigidBody("link", M, 1))
    made = mbt.FixedOffsetFrame._of_checked("tip", body.body_frame, IDENTITY, instance)
    assert attributes(made) == attributes(mbt.FixedOffsetFrame("tip", body, None, 1))


def test_robots_with_the_same_names_are_told_apart() -> None:
    tree = mbt.MultibodyTree()
    left = mbt.parsing.add_model(tree, ROBOT.format("left"))
    right = mbt.parsing.add_model(tree, ROBOT.format("right"))
    for instance in (left, right):
        arm, hinge = tree.get_body_by_name("arm", instance), tree.get_joint_by_name("hinge", instance)
        assert arm.model_instance == hinge.model_instance == instance
        assert tree.get_frame_by_name("arm", instance) is arm.body_frame
        assert tree.get_joint_actuator_by_name("motor", instance).joint is hinge
    with pytest.raises(mbt.ArgumentValueError, match="in each of the model instances 'left'"):
        tree.get_joint_by_name("hinge")
    assert [body.index for body in tree.bodies] == list(range(5))
    assert [frame.index for frame in tree.frames] == list(range(len(tree.frames)))
    assert tree.joints[1].model_instance == left
    assert tree.joints[3].model_instance == right
    assert tree._elements.graph.body_names[1:] == ["left::base", "left::arm", "right::base", "right::arm"]
    tree.finalize()
    assert tree.num_positions == 2
