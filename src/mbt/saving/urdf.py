"""Writes a tree as URDF, with the extensions that mbt reads, and lists the losses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from mbt.errors import quote
from mbt.saving.urdf_drake_elements import make_ball, make_bushing, make_spring
from mbt.saving.urdf_joints import Connection, make_joint
from mbt.saving.urdf_links import make_link
from mbt.saving.urdf_losses import Losses
from mbt.saving.urdf_names import UrdfNames, without_control_characters
from mbt.saving.urdf_values import number, place_of
from mbt.tree.constraints import BallConstraint, Constraint, CouplerConstraint
from mbt.tree.constraints.constraint import STABILIZATION
from mbt.tree.finalization import make_plan
from mbt.tree.force_elements import (
    ForceElement,
    JointFriction,
    LinearBushingRollPitchYaw,
    LinearSpringDamper,
    UniformGravityFieldElement,
)
from mbt.tree.frame import BodyFrame, FixedOffsetFrame
from mbt.tree.indices import default_model_instance

if TYPE_CHECKING:
    from mbt.tree.actuator import JointActuator
    from mbt.tree.body import RigidBody
    from mbt.tree.frame import Frame
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["write_urdf"]

_WORLD = "world"
_NAMESPACE = "http://drake.mit.edu"
_USUAL_GRAVITY = [0.0, 0.0, -9.81]


def write_urdf(tree: MultibodyTree, folder: Path | None) -> tuple[str, Losses]:
    """Return a tree as URDF text, and the losses.

    Links and joints are in the order of the velocities. World is the link ``world``.

    Parameters
    ----------
    tree : MultibodyTree
        The model, finalized or not.
    folder : Path or None
        The folder of the file, for relative paths of meshes; if None, they become absolute.
    """
    writer = _Writer(tree, folder)
    writer.add_bodies()
    writer.add_frames()
    writer.add_constraints()
    writer.add_force_elements()
    writer.add_actuators()
    for sensor in tree.sensors:
        writer.losses.add("sensor", sensor.name, "it is left out")
    return writer.finish(), writer.losses


class _Writer:
    """The document being written, and the names in it."""

    def __init__(self, tree: MultibodyTree, folder: Path | None) -> None:
        self.tree = tree
        self.folder = folder
        self.losses = Losses()
        self.plan = tree._plan if tree._plan is not None else make_plan(tree._elements)
        instances = [instance.name for instance in tree.model_instances]
        own = instances[default_model_instance() + 1 :]
        self.names = UrdfNames(self.losses, instances)
        self.root = Element("robot", {"name": self.names.of_robot(own[0]) if own else "model"})
        self.links: dict[RigidBody, str] = {}
        self.frames: dict[Frame, str] = {}
        self.joints: dict[Any, Element] = {}
        if len({body.model_instance for body in tree.bodies if body is not tree.world_body}) > 1:
            self.losses.add_of_model("model instances: all elements are in a single one")

    def add_bodies(self) -> None:
        """Add links and joints, in the order of the velocities."""
        bodies = self.tree.bodies
        world = self.tree.world_body
        self.links[world] = self.names.reserve_link(_WORLD)
        order = [bodies[i] for i in self.plan.forest.body]
        for body in order[1:]:
            self.links[body] = self.names.of_link(body)
        mobilizers = self.plan.mobilizer_of_node
        for mobilizer in mobilizers:
            self.names.reserve_joint(mobilizer.joint or mobilizer)
        self.root.append(make_link(_WORLD, world, self.folder, self.losses))
        for body, mobilizer in zip(order[1:], mobilizers, strict=True):
            self.root.append(make_link(self.links[body], body, self.folder, self.losses))
            element = mobilizer.joint or mobilizer
            if mobilizer.joint is None:
                self.losses.add("mobilizer", mobilizer.name, "it becomes a joint")
            name = self.names.of_joint(element)
            parent = self.links[mobilizer.inboard_body]
            connection = Connection(name, parent, self.links[body], mobilizer)
            auxiliary = self.names.find_free(f"{name}_child")
            made = make_joint(connection, auxiliary, self.losses)
            if len(made) > 1:
                self.names.reserve(auxiliary)
            self.joints[element] = next(part for part in made if part.get("name") == name)
            self.root.extend(made)

    def add_frames(self) -> None:
        """Add the frames except those of bodies, and those that a reader makes for joints anyway."""
        of_joints = {
            (f"{joint.name}_{end}", frame)
            for joint in self.tree.joints
            for end, frame in (("parent", joint.frame_on_parent), ("child", joint.frame_on_child))
        }
        of_bushings = {
            frame
            for element in self.tree.force_elements
            if isinstance(element, LinearBushingRollPitchYaw)
            for frame in (element.frameA, element.frameC)
        }
        for frame in self.tree.frames:
            if isinstance(frame, BodyFrame):
                self.frames[frame] = self.links[frame.body]
                continue
            if (frame.name, frame) in of_joints and frame not in of_bushings:
                continue
            if not isinstance(frame, FixedOffsetFrame):
                self.losses.add("frame", frame.name, "it has the pose of its default parameters")
            name = self.frames[frame] = self.names.of_frame(frame)
            place = place_of(frame._default_pose())
            SubElement(self.root, "frame", {"name": name, "link": self.links[frame.body], **place})

    def add_constraints(self) -> None:
        """Add couplers as mimics of the following joints, and balls as elements of Drake."""
        for constraint in self.tree.constraints:
            name = self._add_constraint(constraint)
            if name is None:
                self.losses.add("constraint", constraint.name, "it is left out")
                continue
            if name != constraint.name:
                self.losses.add("constraint", constraint.name, f"its name is {quote(name)}")
            if tuple(constraint.default_stabilization) != STABILIZATION:
                self.losses.add("constraint", constraint.name, "its stabilization is left out")

    def _add_constraint(self, constraint: Constraint) -> str | None:
        """Return the name of a constraint when it is read; None if URDF has no such constraint."""
        if isinstance(constraint, BallConstraint):
            ball = make_ball(constraint, self.links)
            number_of_balls = sum(part.tag == ball.tag for part in self.root)
            self.root.append(ball)
            return "ball_constraint" + "_" * number_of_balls
        if not isinstance(constraint, CouplerConstraint):
            return None
        joint = self.joints[constraint.joint0]
        if joint.find("mimic") is not None:
            return None
        mimic = {
            "joint": self.names.of_joint(constraint.joint1),
            "multiplier": number(constraint.default_gear_ratio),
            "offset": number(constraint.default_offset),
        }
        SubElement(joint, "mimic", mimic)
        return self.names.of_joint(constraint.joint0)

    def add_actuators(self) -> None:
        """Add actuators as simple transmissions."""
        for actuator in self.tree.joint_actuators:
            joint = actuator.joint
            if joint.num_velocities > 1:
                what = "it is left out, as its joint has several degrees of freedom"
                self.losses.add("joint actuator", actuator.name, what)
                continue
            if actuator.effort_limit != joint.effort_limit:
                self._share_effort_limit(actuator)
            if 0.0 in (joint.effort_limit, actuator.effort_limit):
                self.losses.add(
                    "joint actuator", actuator.name, "readers leave it out, as its joint has no effort"
                )
            if actuator.is_servo:
                self.losses.add("joint actuator", actuator.name, "it becomes a motor, without its gains")
            name = self.names.of_actuator(actuator)
            transmission = SubElement(self.root, "transmission", name=f"{name}_transmission")
            SubElement(transmission, "type").text = "transmission_interface/SimpleTransmission"
            SubElement(transmission, "joint", name=self.names.of_joint(joint))
            motor = SubElement(transmission, "actuator", name=name)
            if actuator.default_rotor_inertia:
                SubElement(motor, "drake:rotor_inertia", value=number(actuator.default_rotor_inertia))
            if actuator.default_gear_ratio != 1.0:
                SubElement(motor, "drake:gear_ratio", value=number(actuator.default_gear_ratio))

    def _share_effort_limit(self, actuator: JointActuator) -> None:
        """Give a joint without an effort limit that of its actuator: URDF has a single one for both."""
        joint = self.joints[actuator.joint]
        limit = joint.find("limit")
        if limit is None:
            limit = SubElement(joint, "limit", effort=number(math.inf), velocity=number(math.inf))
        if limit.get("effort") == number(math.inf):
            limit.set("effort", number(actuator.effort_limit))
        self.losses.add("joint actuator", actuator.name, "its effort limit becomes that of its joint too")

    def add_force_elements(self) -> None:
        """Add friction of joints, and elements of Drake; gravity is left to the reader."""
        if self.tree._elements.gravity_field is None:
            self.losses.add_of_model("that there is no gravity: read it with gravity=None")
        for element in self.tree.force_elements:
            if isinstance(element, UniformGravityFieldElement):
                self._tell_of_gravity(element)
            elif not self._add_force_element(element):
                self.losses.add(
                    "force element", element.name, f"a {type(element).__name__}, which is left out"
                )

    def _tell_of_gravity(self, element: UniformGravityFieldElement) -> None:
        if element.gravity_vector.tolist() != _USUAL_GRAVITY:
            self.losses.add_of_model(f"gravity: read it with gravity={element.gravity_vector.tolist()}")
        if element._disabled_model_instances:
            self.losses.add_of_model("which model instances are exempt from gravity")

    def _add_force_element(self, element: ForceElement) -> bool:
        """Add a force element, and return whether URDF has it."""
        if isinstance(element, JointFriction):
            return self._add_friction(element)
        if isinstance(element, LinearSpringDamper):
            self.root.append(make_spring(element, self.links))
        elif isinstance(element, LinearBushingRollPitchYaw):
            self.root.append(make_bushing(element, self.frames))
        else:
            return False
        return True

    def _add_friction(self, element: JointFriction) -> bool:
        joint = self.joints[element.joint]
        dynamics = joint.find("dynamics")
        if dynamics is None:
            dynamics = SubElement(joint, "dynamics")
        if dynamics.get("friction") is not None:
            return False
        dynamics.set("friction", number(element.coulomb_friction))
        is_force = math.isfinite(element.transition_velocity)
        speed = {} if is_force else {"transition_velocity": math.inf}
        usual = JointFriction(element.joint, element.coulomb_friction, **speed)
        if usual._defaults.tolist() != element._defaults.tolist():
            self.losses.add("force element", element.name, "only its Coulomb friction is kept")
        if is_force:
            self.losses.add_of_model("that joints have friction: read it with joint_friction=True")
        return True

    def finish(self) -> str:
        """Return the text."""
        if any(
            part.tag.startswith("drake:") or "drake:acceleration" in part.attrib for part in self.root.iter()
        ):
            self.root.set("xmlns:drake", _NAMESPACE)
        indent(self.root)
        text = tostring(self.root, encoding="unicode")
        return f'<?xml version="1.0" encoding="utf-8"?>\n{without_control_characters(text)}\n'
