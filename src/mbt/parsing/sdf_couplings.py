"""SDF mimics and gearboxes: couplings between axes of joints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mbt.errors import quote
from mbt.math.arrays import FloatArray
from mbt.parsing.couplings import Couplings
from mbt.parsing.description import JointDescription, ModelDescription
from mbt.parsing.numbers import take_number as take_attribute
from mbt.parsing.sdf_axes import read_direction
from mbt.parsing.sdf_frames import SdfFrame
from mbt.parsing.sdf_joints import SdfJoint
from mbt.parsing.sdf_values import take_number, take_text
from mbt.parsing.xml_tree import Element

__all__ = ["read_couplings"]

_PARALLEL = 1.0 - 1e-9


def read_couplings(joints: list[SdfJoint], model: ModelDescription) -> None:
    """Read all mimics and gearboxes into ``model.couplers``.

    Parameters
    ----------
    joints : list of SdfJoint
        The joints, as `read_joint` returns them.
    model : ModelDescription
        The model, with all of its joints.

    Raises
    ------
    ParseError
        When a number is invalid.
    """
    couplings = Couplings(model)
    by_frame = {joint.frame: joint for joint in joints}
    for joint in joints:
        for axis, name in zip(joint.axes, joint.names, strict=True):
            if axis.mimic is not None and name is not None:
                _read_mimic(joint, axis.mimic, name, by_frame, couplings)
        if joint.is_gearbox:
            _Gearbox(joint, model, by_frame, couplings).read()
            continue
        of_drake = joint.element.take_first("drake:mimic")
        if of_drake is not None:
            _read_mimic_of_drake(joint, of_drake, by_frame, couplings)


def _read_mimic(
    joint: SdfJoint, mimic: Element, name: str, by_frame: dict[SdfFrame, SdfJoint], couplings: Couplings
) -> None:
    """Read ``q = multiplier (q_leader - reference) + offset``."""
    leader = mimic.require_name("joint")
    tag = mimic.take("axis") or "axis"
    multiplier, offset = take_number(mimic, "multiplier", 1.0), take_number(mimic, "offset", 0.0)
    reference = take_number(mimic, "reference", 0.0)
    master = _find_axis(joint, leader, tag, by_frame)
    couplings.add(joint.element, mimic, name, master, multiplier, offset - multiplier * reference)


def _read_mimic_of_drake(
    joint: SdfJoint, mimic: Element, by_frame: dict[SdfFrame, SdfJoint], couplings: Couplings
) -> None:
    leader = mimic.require_name("joint")
    multiplier, offset = take_attribute(mimic, "multiplier", 1.0), take_attribute(mimic, "offset", 0.0)
    master = _find_axis(joint, leader, "axis", by_frame)
    couplings.add(joint.element, mimic, joint.frame.name, master, multiplier, offset)


def _find_axis(joint: SdfJoint, leader: str, tag: str, by_frame: dict[SdfFrame, SdfJoint]) -> str:
    """Return the joint of the description for an axis of the leader, or the leader if there is none."""
    assert joint.frame.scope is not None
    frame = joint.frame.scope.seek(leader)
    if frame is None:
        return joint.frame.scope.prefix + leader
    found, index = by_frame.get(frame), 1 if tag == "axis2" else 0
    name = found.names[index] if found is not None and index < len(found.names) else None
    return name or frame.name


class _Gearbox:
    """A gearbox: the angle of its child is ``-gearbox_ratio`` times that of its parent.

    Both are measured relative to a third link: the parent's about ``axis``, the child's about ``axis2``. If a
    revolute joint connects that link to each of them, these joints are coupled.
    """

    def __init__(
        self,
        joint: SdfJoint,
        model: ModelDescription,
        by_frame: dict[SdfFrame, SdfJoint],
        couplings: Couplings,
    ) -> None:
        self.joint = joint
        self.model = model
        self.couplings = couplings
        self.by_frame = by_frame

    def read(self) -> None:
        """Couple the joints, or warn that one is missing."""
        element, frame = self.joint.element, self.joint.frame
        assert frame.scope is not None
        ratio = take_number(element, "gearbox_ratio", 1.0)
        body = take_text(element, "gearbox_reference_body")
        if body is None:
            element.repair("it is a gearbox without <gearbox_reference_body>", "the gearbox is left out")
            return
        reference = frame.scope.find(body, element, "gearbox_reference_body").find_link()
        parent = frame.scope.find(self.joint.parent, element, "parent").find_link()
        first = self._find_angle(reference, parent, "axis")
        second = self._find_angle(reference, frame.find_link(), "axis2")
        if first is None or second is None:
            missing = parent if first is None else frame.find_link()
            what = f"no revolute joint about its axis connects {quote(body)} and {quote(missing.name)}"
            element.repair(f"it is a gearbox, and {what}", "the gearbox is left out")
            return
        # sign_2 q_2 = -ratio sign_1 q_1
        (master, sign_1), (joint, sign_2) = first, second
        self.couplings.add(element, element, joint.name, master.name, -ratio * sign_1 * sign_2, 0.0)

    def _find_angle(
        self, reference: SdfFrame, link: SdfFrame, tag: str
    ) -> tuple[JointDescription, float] | None:
        """Return the revolute joint from one link to the other about an axis of the gearbox, and a sign."""
        axis = self.joint.element.take_first(tag)
        if axis is None and tag == "axis2":
            axis = self.joint.element.take_first("axis")
        n_J = (
            np.array([0.0, 0.0, 1.0])
            if axis is None
            else read_direction(self.joint.element, axis, self.joint.frame)
        )
        n_W = self.joint.frame.calc_pose_in_world()[:3, :3] @ n_J
        for made, frame in self._list_revolutes():
            ends = (made.parent, made.child)
            if ends not in ((reference.name, link.name), (link.name, reference.name)):
                continue
            axis_W: FloatArray = frame.calc_pose_in_world()[:3, :3] @ np.array(made.axis)
            cosine = float(n_W @ axis_W)
            if abs(cosine) > _PARALLEL:
                forward = 1.0 if ends == (reference.name, link.name) else -1.0
                return made, forward * (1.0 if cosine > 0.0 else -1.0)
        return None

    def _list_revolutes(self) -> Iterator[tuple[JointDescription, SdfFrame]]:
        frames = {name: joint.frame for joint in self.by_frame.values() for name in joint.names}
        for made in self.model.joints:
            if made.kind == "revolute" and made.name in frames:
                yield made, frames[made.name]
