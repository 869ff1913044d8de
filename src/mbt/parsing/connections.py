"""Makes the force elements, constraints and sensors between the joints and links of a description."""

from __future__ import annotations

import math
from typing import Protocol

from mbt.parsing.description import (
    WORLD,
    ConstraintDescription,
    FrameDescription,
    ModelDescription,
    SpringDescription,
)
from mbt.tree.body import RigidBody
from mbt.tree.constraints import (
    BallConstraint,
    Constraint,
    CouplerConstraint,
    DistanceConstraint,
    WeldConstraint,
)
from mbt.tree.force_elements import (
    ForceElement,
    JointFriction,
    LinearBushingRollPitchYaw,
    LinearSpringDamper,
    PrismaticSpring,
    RevoluteSpring,
)
from mbt.tree.frame import Frame
from mbt.tree.indices import ModelInstanceIndex
from mbt.tree.joint import Joint
from mbt.tree.joints import PrismaticJoint, RevoluteJoint
from mbt.tree.sensors import ForceTorqueSensor, FrameSensor, Imu, JointSensor, Sensor

__all__ = ["Places", "make_constraints", "make_force_elements", "make_sensors"]


class Places(Protocol):
    """The elements made from the joints, links and frames of a description."""

    joints: dict[str, Joint]

    def split(self, name: str) -> tuple[str, ModelInstanceIndex]:
        """Return the name of an element in its model instance, and that instance."""

    def find_point(self, link: str, p: list[float]) -> tuple[RigidBody, list[float]]:
        """Return the body that a link becomes, and a point of the link on it."""

    def find_frame(self, frame: FrameDescription) -> Frame:
        """Return the frame made from a description; without a name, it is the frame of its link."""


def make_force_elements(model: ModelDescription, places: Places) -> list[ForceElement]:
    """Return friction and springs of joints, then springs and bushings between links."""
    speed = {} if model.friction_is_force else {"transition_velocity": math.inf}
    made: list[ForceElement] = [
        JointFriction(places.joints[joint.name], joint.friction, **speed)
        for joint in model.joints
        if joint.friction
    ]
    made += [_make_spring(places.joints[spring.joint], spring) for spring in model.springs]
    for spring in model.spring_dampers:
        ends = *places.find_point(spring.link_A, spring.p_AP), *places.find_point(spring.link_B, spring.p_BQ)
        made.append(LinearSpringDamper(*ends, spring.free_length, spring.stiffness, spring.damping))
    for bushing in model.bushings:
        frames = places.find_frame(bushing.frame_A), places.find_frame(bushing.frame_C)
        made.append(LinearBushingRollPitchYaw(*frames, *bushing.constants))
    return made


def make_constraints(model: ModelDescription, places: Places) -> list[Constraint]:
    """Return couplers of joints, then the constraints that close loops."""
    made: list[Constraint] = [
        CouplerConstraint(
            places.split(coupler.name)[0],
            places.joints[coupler.joint],
            places.joints[coupler.master],
            coupler.multiplier,
            coupler.offset,
        )
        for coupler in model.couplers
    ]
    taken = {(constraint.model_instance, constraint.name) for constraint in made}
    for description in model.constraints:
        name = places.split(description.name)[0]
        constraint = _make_constraint(name, description, places)
        # It belongs to the model instance of a link, where another model may have a constraint of this name.
        while (constraint.model_instance, name) in taken:
            name += "_"
            constraint = _make_constraint(name, description, places)
        taken.add((constraint.model_instance, name))
        made.append(constraint)
    return made


def make_sensors(model: ModelDescription, places: Places) -> list[Sensor]:
    """Return the sensors, without those on joints that are absent because a root is welded or left free."""
    inboard = {id(joint.child_body): joint for joint in places.joints.values()}
    sensors: list[Sensor] = []
    for description in model.sensors:
        name, quantities = places.split(description.name)[0], [description.quantity]
        sensor: Sensor
        if description.kind == "joint":
            if description.joint not in places.joints:
                continue
            sensor = JointSensor(places.joints[description.joint], name, quantities=quantities)
        else:
            assert description.frame is not None
            frame = places.find_frame(description.frame)
            if description.kind == "imu":
                sensor = Imu(frame, name, quantities=quantities)
            elif description.kind == "force_torque":
                joint = inboard.get(id(frame.body))
                if joint is None:
                    continue
                sensor = ForceTorqueSensor(joint, name, frame=frame, quantities=quantities)
            else:
                other = description.relative_to
                A = None if other is None else places.find_frame(other)
                sensor = FrameSensor(frame, name, relative_to=A, quantities=quantities)
        sensors.append(sensor)
    return sensors


def _make_spring(joint: Joint, spring: SpringDescription) -> ForceElement:
    if isinstance(joint, PrismaticJoint):
        return PrismaticSpring(joint, spring.reference, spring.stiffness)
    assert isinstance(joint, RevoluteJoint)
    return RevoluteSpring(joint, spring.reference, spring.stiffness)


def _make_constraint(name: str, constraint: ConstraintDescription, places: Places) -> Constraint:
    ends = [(constraint.frame_A, constraint.p_AP), (constraint.frame_B, constraint.p_BQ)]
    # It belongs to the model of B, so B must not be World.
    ends.sort(key=lambda end: end[0].link != WORLD)
    (A, p_AP), (B, p_BQ) = [(places.find_frame(frame), p) for frame, p in ends]
    if constraint.kind == "rod":
        return DistanceConstraint(name, A, p_AP, B, p_BQ, constraint.distance)
    return (WeldConstraint if constraint.kind == "weld" else BallConstraint)(name, A, B)
