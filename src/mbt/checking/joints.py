"""Checks the limits, units and lengths of joints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mbt.errors import quote
from mbt.tree.joints.revolute import RevoluteJoint

if TYPE_CHECKING:
    from mbt.checking.subject import Subject
    from mbt.tree.body import RigidBody
    from mbt.tree.joint import Joint
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["check_joints", "check_keyframes", "check_lengths"]

# Links of a robot are shorter [m].
_LONGEST = 25.0
# Limits beyond two turns are implausible for a hinge, unless they are so large that they mean none.
_DEGREES = 2.0 * math.pi + 0.3
_NO_LIMIT = 1e3
# Smaller round numbers, such as 10, are more likely to mean no limit than degrees.
_FEWEST_DEGREES = 30.0
# Files may write keyframes with more or fewer digits than limits [rad, m].
_ROUNDING = 1e-6


def check_joints(tree: MultibodyTree, subject: Subject) -> None:
    """Check the limits of each joint."""
    for joint in tree.joints:
        if joint.num_velocities == 1 and not joint.is_ephemeral:
            subject.attempt(joint, _check_joint, joint, subject)


def _check_joint(joint: Joint, subject: Subject) -> None:
    lower, upper = float(joint.position_lower_limits[0]), float(joint.position_upper_limits[0])
    if lower == upper:
        message = f"its limits are the same, {lower:g}: it cannot move"
        subject.report("warning", "limits", joint, message, 'widen them, or make it type="fixed"')
    elif isinstance(joint, RevoluteJoint):
        _check_angle_limits(joint, lower, upper, subject)
    _check_default(joint, lower, upper, subject)
    if float(joint.velocity_upper_limits[0]) == 0.0:
        message = "its velocity limit is zero"
        subject.report("note", "limits", joint, message, "leave it out if there is none")
    if joint.effort_limit == 0.0:
        message = "its effort limit is zero: nothing drives it"
        subject.report("note", "limits", joint, message, "give the effort limit if it has a motor")


def _check_angle_limits(joint: Joint, lower: float, upper: float, subject: Subject) -> None:
    ends = [end for end in (lower, upper) if math.isfinite(end) and end != 0.0]
    largest = max(map(abs, ends), default=0.0)
    if largest <= _DEGREES:
        return
    if largest >= _NO_LIMIT:
        message = f"its limits {lower:g} and {upper:g} do not limit it"
        subject.report("note", "limits", joint, message, 'write type="continuous"')
    elif largest >= _FEWEST_DEGREES and all((end / 5.0).is_integer() for end in ends):
        message = f"its limits {lower:g} and {upper:g} look like degrees: angles are in radians"
        cure = f"if so, write {math.radians(lower):.9g} and {math.radians(upper):.9g}"
        subject.report("warning", "angle-unit", joint, message, cure)


def _check_default(joint: Joint, lower: float, upper: float, subject: Subject) -> None:
    position = float(joint.default_positions[0])
    if not lower <= position <= upper:
        message = f"its default position {position:g} is outside of its limits, {lower:g} to {upper:g}"
        cure = "set positions within the limits before anything is computed"
        subject.report("note", "default-position", joint, message, cure)


def check_keyframes(tree: MultibodyTree, subject: Subject) -> None:
    """Find named positions in the file that are outside of the limits of a joint."""
    joints = {joint.name: joint for joint in tree.joints if joint.num_positions == 1}
    for report in tree.parse_reports:
        for keyframe, positions in report.named_positions.items():
            for name, position in positions.items():
                joint = joints.get(name)
                if joint is None or not isinstance(position, float):
                    continue
                lower, upper = joint.position_lower_limits[0], joint.position_upper_limits[0]
                if lower - _ROUNDING <= position <= upper + _ROUNDING:
                    continue
                message = (
                    f"keyframe {quote(keyframe)} has it at {position:g}, outside of {lower:g} to {upper:g}"
                )
                cure = "correct the keyframe, or the range"
                subject.report("warning", "keyframe-outside-limits", joint, message, cure)


def check_lengths(tree: MultibodyTree, subject: Subject) -> None:
    """Find lengths of joints, mass centres and shapes that are unlikely to be in metres."""
    for joint in tree.joints:
        if not (joint.is_ephemeral or joint.parent_body.is_world):
            subject.attempt(joint, _check_place, joint, subject)
    for body in tree.bodies[1:]:
        subject.attempt(body, _check_lengths_of_body, body, subject)


def _check_place(joint: Joint, subject: Subject) -> None:
    for frame in (joint.frame_on_parent, joint.frame_on_child):
        length = math.hypot(*frame._default_pose()[:3, 3])
        if length > _LONGEST:
            message = f"it is {length:.4g} m from the origin of its link {frame.body.name!r}"
            subject.report("warning", "length-unit", joint, message, "lengths are in m: are they in mm?")


def _check_lengths_of_body(body: RigidBody, subject: Subject) -> None:
    distance = math.hypot(*body.default_com) if body.default_mass > 0.0 else 0.0
    if distance > _LONGEST:
        message = f"its mass centre is {distance:.4g} m from its origin"
        subject.report("warning", "length-unit", body, message, "lengths are in m: are they in mm?")
    sizes = [max(s.size) for s in (*body.visuals, *body.collisions) if s.kind not in ("plane", "mesh")]
    if sizes and max(sizes) > _LONGEST:
        message = f"one of its shapes has a length of {max(sizes):.4g} m"
        subject.report("warning", "length-unit", body, message, "lengths are in m: are they in mm?")
