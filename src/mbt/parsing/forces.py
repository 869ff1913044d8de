"""Force elements of a description."""

from __future__ import annotations

from typing import Protocol

from mbt.parsing.description import FrameDescription, ModelDescription, SpringDescription
from mbt.tree.body import RigidBody
from mbt.tree.force_elements import (
    ForceElement,
    JointFriction,
    LinearBushingRollPitchYaw,
    LinearSpringDamper,
    PrismaticSpring,
    RevoluteSpring,
)
from mbt.tree.frame import Frame
from mbt.tree.joint import Joint
from mbt.tree.joints import PrismaticJoint, RevoluteJoint

__all__ = ["Places", "make_force_elements"]


class Places(Protocol):
    """What the joints, links and frames of a description have become."""

    joints: dict[str, Joint]

    def find_point(self, link: str, p: list[float]) -> tuple[RigidBody, list[float]]:
        """Return the body that a link becomes, and a point of the link on it."""

    def find_frame(self, frame: FrameDescription) -> Frame:
        """Return the frame of a link, which has no name of its own, a named one, or else a new one."""


def make_force_elements(model: ModelDescription, places: Places) -> list[ForceElement]:
    """Return friction and springs of joints, then springs and bushings between links."""
    made: list[ForceElement] = [
        JointFriction(places.joints[joint.name], joint.friction) for joint in model.joints if joint.friction
    ]
    made += [_make_spring(places.joints[spring.joint], spring) for spring in model.springs]
    for spring in model.spring_dampers:
        ends = *places.find_point(spring.link_A, spring.p_AP), *places.find_point(spring.link_B, spring.p_BQ)
        made.append(LinearSpringDamper(*ends, spring.free_length, spring.stiffness, spring.damping))
    for bushing in model.bushings:
        frames = places.find_frame(bushing.frame_A), places.find_frame(bushing.frame_C)
        made.append(LinearBushingRollPitchYaw(*frames, *bushing.constants))
    return made


def _make_spring(joint: Joint, spring: SpringDescription) -> ForceElement:
    if isinstance(joint, PrismaticJoint):
        return PrismaticSpring(joint, spring.reference, spring.stiffness)
    assert isinstance(joint, RevoluteJoint)
    return RevoluteSpring(joint, spring.reference, spring.stiffness)
