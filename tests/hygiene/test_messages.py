"""Messages stay short, however long the names in them are, and show both ends of long names."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt


def _name(kind: str) -> str:
    return f"{kind}_{'long' * 750}_end"


BALL = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)


def _build(*, finalize: bool = True) -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    instance = tree.add_model_instance(_name("instance"))
    bodies = [tree.add_body(mbt.RigidBody(_name(f"body{i}"), BALL, instance)) for i in range(3)]
    weightless = tree.add_body(mbt.RigidBody(_name("massless"), mbt.SpatialInertia.zero(), instance))
    world = tree.world_body
    hinge = tree.add_joint(mbt.RevoluteJoint, _name("hinge"), world, None, bodies[0], None, axis=[0, 0, 1])
    tree.add_joint(mbt.BallRpyJoint, _name("ball"), bodies[0], None, bodies[1], None)
    tree.add_joint(mbt.QuaternionBallJoint, _name("quaternion"), bodies[1], None, bodies[2], None)
    tree.add_joint(mbt.PrismaticJoint, _name("slide"), world, None, weightless, None, axis=[0, 0, 1])
    tree.add_frame(mbt.FixedOffsetFrame(_name("frame"), bodies[0].body_frame, np.eye(4), instance))
    tree.add_joint_actuator(_name("motor"), hinge)
    tree.add_force_element(mbt.LinearSpringDamper(bodies[0], [0, 0, 0], world, [0, 0, 0], 1.0, 1.0, 1.0))
    if finalize:
        tree.finalize()
    return tree


Action = Callable[[mbt.MultibodyTree], Any]

BUILDING: dict[str, Action] = {
    "the same body": lambda t: t.add_body(mbt.RigidBody(_name("body1"), BALL, 2)),
    "the same joint": lambda t: t.add_joint(
        mbt.WeldJoint, _name("hinge"), t.bodies[3], None, t.bodies[4], None
    ),
    "the same two bodies": lambda t: t.add_joint(
        mbt.WeldJoint, _name("more"), t.world_body, None, t.bodies[1], None
    ),
    "one body": lambda t: t.add_joint(mbt.WeldJoint, _name("more"), t.bodies[1], None, t.bodies[1], None),
    "the same instance": lambda t: t.add_model_instance(_name("instance")),
    "not finalized": lambda t: t.bodies[1].node_index,
    "a body of another tree": lambda t: t.add_joint(
        mbt.WeldJoint, _name("more"), t.bodies[1], None, _build().bodies[3], None
    ),
    "limits": lambda t: t.joints[0].set_position_limits([1.0], [0.0]),
    "effort": lambda t: t.joint_actuators[0].set_effort_limit(-1.0),
    "a name for a number": lambda t: t.joints[0].set_position_limits(_name("text"), [0.0]),
    "a name for an index": lambda t: mbt.RigidBody(_name("body"), BALL, _name("instance")),  # type: ignore[arg-type]
    "two dofs": lambda t: t.add_joint_actuator(_name("other"), t.joints[1]),
    "copy": lambda t: copy.copy(t.bodies[1]),
    "a pose": lambda t: t.add_joint(mbt.WeldJoint, _name("more"), t.bodies[3], "x", t.bodies[4], None),
}

COMPUTING: dict[str, Action] = {
    "body": lambda t: t.get_body_by_name(_name("bodyx")),
    "joint": lambda t: t.get_joint_by_name("hinge"),
    "frame": lambda t: t.get_frame_by_name(_name("framex")),
    "actuator": lambda t: t.get_joint_actuator_by_name(_name("motorx")),
    "model instance": lambda t: t.get_model_instance_by_name(_name("instancex")),
    "in an instance": lambda t: t.get_body_by_name(_name("bodyx"), t.bodies[1].model_instance),
    "finalized": lambda t: t.joints[0].set_position_limits([1.0], [2.0]),
    "mass": lambda t: t.bodies[1].set_mass(t.create_default_context(), -1.0),
    "massless": lambda t: t.calc_forward_dynamics(t.create_default_context()),
    "spring": lambda t: t.calc_potential_energy(t.create_default_context()),
    "zero quaternion": lambda t: setattr(t.create_default_context(), "q", np.zeros(t.num_positions)),
    "gimbal lock": lambda t: _at_gimbal_lock(t),
    "locked": lambda t: _moving_while_locked(t),
    "no such joint": lambda t: t.get_positions_from_array(_name("model"), np.zeros(9)),  # type: ignore[arg-type]
    "foreign frame": lambda t: t.calc_relative_transform(
        t.create_default_context(), _build().frames[5], t.world_frame
    ),
    "wrong keys": lambda t: t.q_from_dict({_name("jointx"): 0.0}),
    "scalar": lambda t: t.clone_to_scalar(_name("scalar")),
}


def _at_gimbal_lock(tree: mbt.MultibodyTree) -> None:
    context = tree.create_default_context()
    tree.joints[1].set_angles(context, [0.0, np.pi / 2, 0.0])
    tree.make_velocity_to_qdot_map(context)


def _moving_while_locked(tree: mbt.MultibodyTree) -> None:
    context = tree.create_default_context()
    tree.joints[0].lock(context)
    context.v = np.ones(tree.num_velocities)


@pytest.mark.parametrize("what", [*BUILDING, *COMPUTING])
def test_long_names_are_shortened(what: str) -> None:
    tree = _build(finalize=what in COMPUTING)
    with pytest.raises(mbt.MbtError) as raised:
        {**BUILDING, **COMPUTING}[what](tree)
    message = str(raised.value)
    assert len(message) < 500, message
    assert "long" * 20 not in message


def test_warnings_and_descriptions_are_short_too() -> None:
    tree = _build()
    for element in (*tree.bodies, *tree.frames, *tree.joints, *tree.mobilizers, *tree.joint_actuators):
        assert len(repr(element)) < 300


def test_a_long_loop_is_not_told_in_full() -> None:
    tree = mbt.MultibodyTree()
    bodies = [tree.world_body, *(tree.add_body(mbt.RigidBody(f"body{i}", BALL)) for i in range(500))]
    for i in range(501):
        tree.add_joint(mbt.WeldJoint, f"joint{i}", bodies[i], None, bodies[(i + 1) % 501], None)
    with pytest.raises(mbt.TopologyError, match=r"'joint490' and 491 more close .*'body490' and 491 more"):
        tree.finalize()
