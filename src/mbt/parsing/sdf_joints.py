"""SDF joints: types, frames, axes and motors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mbt.errors import quote
from mbt.math.poses import IDENTITY
from mbt.math.spatial_inertia import SpatialInertia
from mbt.parsing.description import (
    ActuatorDescription,
    JointDescription,
    LinkDescription,
    ModelDescription,
    SpringDescription,
)
from mbt.parsing.sdf_axes import Axis, read_axis, take_positive
from mbt.parsing.sdf_frames import SdfFrame, calc_pose_between
from mbt.parsing.sdf_paths import SdfPathReader
from mbt.parsing.sdf_values import take_number, take_text, take_vector
from mbt.parsing.xml_tree import Element

__all__ = ["SdfJoint", "read_joint", "take_ends"]

# The types of <joint>, and the kind of joint that models each. A gearbox is not a joint of the tree.
_KINDS = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "screw": "screw",
    "universal": "universal",
    "revolute2": "universal",
    "ball": "ball",
    "fixed": "weld",
    "gearbox": "gearbox",
}
# The types of <drake:joint>.
_DRAKE_KINDS = {"curvilinear": "curvilinear", "planar": "planar"}
# For two axes: the largest cosine that counts as a right angle, and the smallest sine of distinct axes.
_RIGHT_ANGLE = 1e-12
_NO_ANGLE = 1e-6


@dataclass
class SdfJoint:
    """A joint as read: its axes, and for each the name of its joint in the description.

    A name is None if the axis shares a joint with the other axis.
    """

    element: Element
    frame: SdfFrame
    parent: str = ""
    axes: tuple[Axis, ...] = ()
    names: tuple[str | None, ...] = ()
    is_gearbox: bool = False


def take_ends(joint: Element) -> tuple[str, str]:
    """Return the names of the parent and child of a joint."""
    prefix = "drake:" if joint.tag == "drake:joint" else ""
    ends = []
    for role in ("parent", "child"):
        name = take_text(joint, prefix + role)
        if name is None:
            raise joint.error(f"the element <{prefix}{role}> is missing")
        ends.append(name)
    return ends[0], ends[1]


def read_joint(
    joint: Element, frame: SdfFrame, parent: str, model: ModelDescription, *, with_friction: bool
) -> SdfJoint:
    """Read a joint into `model`, with its springs and motors. A gearbox does not become a joint.

    Parameters
    ----------
    joint : Element
        The joint.
    frame : SdfFrame
        Its frame.
    parent : str
        The name of its parent.
    model : ModelDescription
        The description to fill.
    with_friction : bool
        Whether friction acts in all computations.

    Raises
    ------
    ParseError
        When its type cannot be modelled, an end does not exist, or a number is invalid.
    """
    kind = _take_kind(joint)
    if kind == "gearbox":
        return SdfJoint(joint, frame, parent, is_gearbox=True)
    reader = _JointReader(joint, frame, parent, model, with_friction)
    if kind == "universal":
        return reader.read_two_axes()
    if kind in ("revolute", "continuous", "prismatic", "screw"):
        return reader.read_one_axis(kind)
    return reader.read_other(kind)


def _take_kind(joint: Element) -> str:
    is_of_drake = joint.tag == "drake:joint"
    kinds = _DRAKE_KINDS if is_of_drake else _KINDS
    type_ = joint.take("type")
    hint = f"the types of <{joint.tag}> are {', '.join(kinds)}"
    if type_ is None:
        raise joint.missing("type", hint)
    if type_ not in kinds:
        raise joint.error(f"unknown type {quote(type_)}", hint)
    return kinds[type_]


class _JointReader:
    """Reads one joint whose ends are known."""

    def __init__(
        self, joint: Element, frame: SdfFrame, parent: str, model: ModelDescription, with_friction: bool
    ) -> None:
        assert frame.scope is not None
        self.joint = joint
        self.frame = frame
        self.model = model
        self.with_friction = with_friction
        self.parent_name = parent
        self.parent = frame.scope.find(parent, joint, "parent").find_link()
        self.child = frame.find_link()
        if self.parent is self.child:
            raise joint.error(f"it connects {quote(self.child.name)} to itself")
        if joint.tag == "drake:joint":
            # It connects the frames that it names, wherever these are initially.
            F, M = frame.scope.find(parent, joint, "parent"), frame.find_base()
        else:
            F = M = frame
        self.X_PF = calc_pose_between(self.parent, F)
        self.X_BM = calc_pose_between(self.child, M)

    def read_one_axis(self, kind: str) -> SdfJoint:
        axis = self._read_axis("axis")
        if kind == "continuous":
            axis.limits = axis.limits._replace(lower=-math.inf, upper=math.inf)
            kind = "revolute"
        made = self._make(self.frame.name, kind, self.parent.name, self.child.name)
        self._move_on_axis(made, axis)
        if kind == "screw":
            made.screw_pitch = _read_screw_pitch(self.joint)
        if axis.limits.effort != 0.0:
            self._add_motor(made)
        else:
            self._ignore_rotor()
        return self._return((axis,), made.name)

    def read_two_axes(self) -> SdfJoint:
        axes = self._read_axis("axis"), self._read_axis("axis2")
        a, b = axes[0].direction, axes[1].direction
        if np.linalg.norm(np.cross(a, b)) < _NO_ANGLE:
            raise self.joint.error("its two axes are parallel")
        is_plain = not any(axis.friction or axis.stiffness or axis.mimic or axis.has_motor for axis in axes)
        if is_plain and axes[0].damping == axes[1].damping and abs(a @ b) <= _RIGHT_ANGLE:
            return self._make_universal(axes)
        return self._make_two_revolutes(axes)

    def read_other(self, kind: str) -> SdfJoint:
        made = self._make(self.frame.name, kind, self.parent.name, self.child.name)
        if self.joint.tag == "drake:joint":
            self._dismiss_in_joint_of_drake()
        if kind == "planar":
            made.damping = tuple(take_vector(self.joint, "drake:damping", [0.0, 0.0, 0.0]))
            if min(made.damping) < 0.0:
                raise self.joint.error("its damping is negative: expected numbers >= 0")
        elif kind == "curvilinear":
            made.path = SdfPathReader().read(self.joint)
            made.damping = (take_positive(self.joint, self.joint, "drake:damping"),)
        elif kind == "ball":
            made.damping = (_read_damping_of_ball(self.joint),)
        return self._return(())

    def _dismiss_in_joint_of_drake(self) -> None:
        """Warn of elements that a ``<joint>`` has, but not a ``<drake:joint>``."""
        for tag in ("pose", "axis", "axis2"):
            child = self.joint.take_first(tag)
            if child is not None:
                self.joint.repair(f"a <drake:joint> has no <{tag}>", "ignored", at=child)
                child.dismiss()

    def _make_universal(self, axes: tuple[Axis, Axis]) -> SdfJoint:
        """Rotate F and M so that x and y are the axes."""
        made = self._make(self.frame.name, "universal", self.parent.name, self.child.name)
        a, b = axes[0].direction, axes[1].direction
        X_JF = np.eye(4)
        X_JF[:3, 0], X_JF[:3, 1], X_JF[:3, 2] = a, b, np.cross(a, b)
        made.X_PF, made.X_BM = self.X_PF @ X_JF, self.X_BM @ X_JF
        made.damping = (axes[0].damping,)
        made.limits, made.second_limits = axes[0].limits, axes[1].limits
        return self._return(axes, None, None)

    def _make_two_revolutes(self, axes: tuple[Axis, Axis]) -> SdfJoint:
        """Make a joint of each axis, with a massless link between them."""
        name = self.frame.name
        cross, other = self._find_free_name("cross"), self._find_free_name("axis2")
        self.model.links.append(LinkDescription(cross, SpatialInertia.zero(), self.joint.line))
        first = self._make(name, "revolute", self.parent.name, cross)
        second = self._make(other, "revolute", cross, self.child.name)
        first.X_BM, second.X_PF = None, IDENTITY
        for made, axis in zip((first, second), axes, strict=True):
            self._move_on_axis(made, axis)
            if axis.has_motor:
                self._add_motor(made)
        return self._return(axes, first.name, second.name)

    def _find_free_name(self, ending: str) -> str:
        assert self.frame.scope is not None
        name = f"{self.frame.name}_{ending}"
        while name.rpartition("::")[2] in self.frame.scope.names:
            name += "_"
        return name

    def _return(self, axes: tuple[Axis, ...], *names: str | None) -> SdfJoint:
        return SdfJoint(self.joint, self.frame, self.parent_name, axes, names)

    def _read_axis(self, tag: str) -> Axis:
        return read_axis(self.joint, tag, self.frame, with_friction=self.with_friction)

    def _make(self, name: str, kind: str, parent: str, child: str) -> JointDescription:
        made = JointDescription(name, kind, parent, child, self.X_PF, self.joint.line)
        if self.X_BM is not IDENTITY:
            made.X_BM = self.X_BM
        self.model.joints.append(made)
        return made

    def _move_on_axis(self, made: JointDescription, axis: Axis) -> None:
        made.axis = axis.direction.tolist()
        made.limits, made.damping, made.friction = axis.limits, (axis.damping,), axis.friction
        if axis.stiffness == 0.0:
            return
        if made.kind == "screw":
            self.joint.repair("it is a screw with a spring, which cannot be modelled", "it has no spring")
            return
        spring = SpringDescription(made.name, axis.stiffness, axis.reference, self.joint.line)
        self.model.springs.append(spring)

    def _ignore_rotor(self) -> None:
        for tag in ("drake:rotor_inertia", "drake:gear_ratio"):
            if self.joint.take_first(tag) is not None:
                self.model.report.ignore(f"joint/{tag} without a motor")

    def _add_motor(self, made: JointDescription) -> None:
        inertia = take_number(self.joint, "drake:rotor_inertia", 0.0)
        ratio = take_number(self.joint, "drake:gear_ratio", 1.0)
        if inertia < 0.0 or not math.isfinite(ratio * ratio * inertia):
            raise self.joint.error(f"rotor_inertia = {inertia:g} with gear_ratio = {ratio:g}: expected >= 0")
        motor = ActuatorDescription(made.name, made.name, made.limits.effort, inertia, ratio, self.joint.line)
        self.model.actuators.append(motor)


def _read_damping_of_ball(joint: Element) -> float:
    """Return the damping, the only property of an axis that a ball joint has."""
    axis = joint.take_first("axis")
    dynamics = None if axis is None else axis.take_first("dynamics")
    damping = 0.0 if dynamics is None else take_number(dynamics, "damping", 0.0)
    if damping < 0.0:
        raise joint.error(f"damping = {damping:g}: expected a number >= 0")
    return damping


def _read_screw_pitch(joint: Element) -> float:
    """Return the metres per turn; older files give radians per metre, with the opposite sign."""
    old = take_number(joint, "thread_pitch", math.nan)
    if any(child.tag == "screw_thread_pitch" for child in joint.children) or math.isnan(old):
        return take_number(joint, "screw_thread_pitch", 1.0)
    pitch = -2.0 * math.pi / old if old else math.inf
    if not math.isfinite(pitch):
        raise joint.error(f"thread_pitch = {old:g}: a turn would move it infinitely far")
    return pitch
