"""Counts limits and friction of joints, and contacts, which a tree stores but does not apply by itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from mbt.parsing.description import JointLimits, ModelDescription
from mbt.parsing.report import ParseReport
from mbt.tree.body import RigidBody
from mbt.tree.element import MultibodyElement
from mbt.tree.force_elements import JointFriction
from mbt.tree.joint import Joint
from mbt.tree.shape import Shape

__all__ = ["count_inactive", "count_inactive_elements"]


def count_inactive(model: ModelDescription, *, with_contacts: bool) -> None:
    """Count joints with position limits or friction, and shapes that would touch those of other links."""
    limited = sum(_is_limited(joint.limits) or _is_limited(joint.second_limits) for joint in model.joints)
    model.report.leave_inactive("limits", limited)
    if not model.friction_is_force:
        model.report.leave_inactive("frictions", sum(joint.friction > 0.0 for joint in model.joints))
    if not with_contacts:
        _count_contacts(model.report, [model.world_collisions, *(link.collisions for link in model.links)])


def count_inactive_elements(
    report: ParseReport,
    elements: Iterable[MultibodyElement],
    of_world: Sequence[Shape],
    *,
    with_contacts: bool,
) -> None:
    """Count the same among elements of a tree; shapes may be on World, too."""
    touching = [of_world]
    limited = slowed = 0
    for element in elements:
        if isinstance(element, RigidBody):
            touching.append(element.collisions)
        elif isinstance(element, Joint):
            limits = (element.position_lower_limits, element.position_upper_limits)
            limited += bool(np.isfinite(limits).any())
        elif isinstance(element, JointFriction):
            slowed += element.transition_velocity == math.inf
    report.leave_inactive("limits", limited)
    report.leave_inactive("frictions", slowed)
    if not with_contacts:
        _count_contacts(report, touching)


def _count_contacts(report: ParseReport, of_bodies: Sequence[Sequence[Shape]]) -> None:
    """Count shapes if several bodies have any. A plane is a floor: only World has one."""
    if sum(map(bool, of_bodies)) > 1:
        shapes = [shape for collisions in of_bodies for shape in collisions]
        report.leave_inactive("contacts", len(shapes))
        report.floors += [shape.name or "" for shape in shapes if shape.kind == "plane"]


def _is_limited(limits: JointLimits) -> bool:
    return limits.lower > -math.inf or limits.upper < math.inf
