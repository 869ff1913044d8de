"""A description becomes elements of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbt.errors import AlreadyFinalizedError, ArgumentTypeError, ArgumentValueError
from mbt.math.poses import make_pose
from mbt.parsing.description import WORLD, JointDescription, ModelDescription
from mbt.tree.actuator import JointActuator
from mbt.tree.body import RigidBody
from mbt.tree.force_elements import JointFriction
from mbt.tree.frame import FixedOffsetFrame, Frame
from mbt.tree.indices import ModelInstanceIndex
from mbt.tree.joint import Joint
from mbt.tree.joints import (
    BallRpyJoint,
    PlanarJoint,
    PrismaticJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    ScrewJoint,
    UniversalJoint,
    WeldJoint,
)

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["add_description", "check_base", "check_tree"]


def check_base(base: object) -> str:
    """Return `base` if it says what becomes of the roots."""
    if not isinstance(base, str):
        raise ArgumentTypeError(f"base: expected 'fixed' or 'floating', got {type(base).__name__}")
    if base not in ("fixed", "floating"):
        raise ArgumentValueError(f"base: expected 'fixed' or 'floating', got {base!r}")
    return base


def check_tree(tree: MultibodyTree, model: ModelDescription) -> None:
    """Check that a model can be added to a tree.

    Raises
    ------
    AlreadyFinalizedError
        When the tree is finalized.
    ArgumentValueError
        When a model instance has the name already.
    """
    if tree.is_finalized:
        raise AlreadyFinalizedError("add_model: the tree is finalized. Add models before finalize().")
    if tree.has_model_instance_named(model.name):
        raise ArgumentValueError(
            f"model_name: there is a model instance named {model.name!r} already: name this one otherwise"
        )


def add_description(tree: MultibodyTree, model: ModelDescription, base: str) -> ModelInstanceIndex:
    """Add a checked description to a tree that passed `check_tree`, and return the new model instance.

    Every element is constructed before the first is added: what a constructor refuses leaves the tree as it
    is.

    Parameters
    ----------
    tree : MultibodyTree
        A tree that is not finalized.
    model : ModelDescription
        The robot.
    base : str
        ``"fixed"`` welds each root to World, ``"floating"`` leaves it free.
    """
    elements = _Elements(tree, model)
    if base == "fixed":
        for root in model.roots:
            elements.weld_to_world(root)
    tree.add_model_instance(model.name)
    for body in elements.bodies.values():
        if body is not tree.world_body:
            tree.add_body(body)
    for frame in elements.frames.values():
        tree.add_frame(frame)
    for joint in elements.joints.values():
        tree.add_joint(joint)
    for actuator in elements.actuators:
        tree.add_joint_actuator(actuator)
    for friction in elements.frictions:
        tree.add_force_element(friction)
    tree.parse_reports.append(model.report)
    return elements.instance


class _Elements:
    """The elements of a description, constructed for a model instance that is still to be added."""

    def __init__(self, tree: MultibodyTree, model: ModelDescription) -> None:
        self.instance = ModelInstanceIndex(tree.num_model_instances)
        self.bodies = {WORLD: tree.world_body}
        self.frames: dict[str, FixedOffsetFrame] = {}
        self.joints: dict[str, Joint] = {}
        for link in model.links:
            self.bodies[link.name] = RigidBody(link.name, link.M_BBo_B, self.instance)
        # Frames of the file come first: those of joints give way where a name is taken.
        for frame in model.frames:
            self._make_frame(frame.name, frame.link, frame.X_BF)
        for joint in model.joints:
            self.joints[joint.name] = self._make_joint(joint)
        self.actuators = [
            JointActuator(
                actuator.name,
                self.joints[actuator.joint],
                actuator.effort_limit,
                rotor_inertia=actuator.rotor_inertia,
                gear_ratio=actuator.gear_ratio,
            )
            for actuator in model.actuators
        ]
        self.frictions = [
            JointFriction(self.joints[joint.name], joint.friction) for joint in model.joints if joint.friction
        ]

    def weld_to_world(self, root: str) -> None:
        name = f"{root}_to_world"
        while name in self.joints:
            name += "_"
        world_frame = self.bodies[WORLD].body_frame
        self.joints[name] = WeldJoint(name, world_frame, self.bodies[root].body_frame)

    def _make_frame(self, name: str, link: str, X_BF: object = None) -> Frame:
        while name in self.frames or name in self.bodies:
            name += "_"
        self.frames[name] = FixedOffsetFrame(name, self.bodies[link], X_BF, self.instance)
        return self.frames[name]

    def _make_joint(self, joint: JointDescription) -> Joint:
        frame_F = self._make_frame(f"{joint.name}_parent", joint.parent, joint.X_PF)
        frame_M: Frame = self.bodies[joint.child].body_frame
        if joint.child == WORLD or joint.R_BM is not None:
            # A joint belongs to the model instance of this frame, so it must not be World's own.
            X_BM = None if joint.R_BM is None else make_pose(R=joint.R_BM)
            frame_M = self._make_frame(f"{joint.name}_child", joint.child, X_BM)
        ends = (joint.name, frame_F, frame_M)
        if joint.kind == "weld":
            return WeldJoint(*ends)
        if joint.kind == "floating":
            return QuaternionFloatingJoint(*ends)
        if joint.kind == "planar":
            return PlanarJoint(*ends, joint.damping)
        (damping,) = joint.damping
        if joint.kind == "ball":
            return BallRpyJoint(*ends, damping)
        if joint.kind == "universal":
            return UniversalJoint(*ends, damping)
        limits = joint.limits
        one_axis: ScrewJoint | RevoluteJoint | PrismaticJoint
        if joint.kind == "screw":
            one_axis = ScrewJoint(*ends, joint.axis, joint.screw_pitch, damping)
            one_axis.set_position_limits([limits.lower], [limits.upper])
        else:
            kind = RevoluteJoint if joint.kind == "revolute" else PrismaticJoint
            one_axis = kind(*ends, joint.axis, limits.lower, limits.upper, damping)
        one_axis.set_velocity_limits([-limits.velocity], [limits.velocity])
        one_axis.set_acceleration_limits([-limits.acceleration], [limits.acceleration])
        return one_axis
