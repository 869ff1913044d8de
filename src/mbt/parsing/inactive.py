"""Limits of joints and contacts of a description: a tree knows them, but nothing of it obeys them."""

from __future__ import annotations

import math

from mbt.parsing.description import JointLimits, ModelDescription

__all__ = ["count_inactive"]


def count_inactive(model: ModelDescription) -> None:
    """Count joints with limits of their positions, and shapes that would touch those of other links.

    A plane is a floor: it has no end, so that nothing but World carries it.
    """
    limited = sum(_is_limited(joint.limits) or _is_limited(joint.second_limits) for joint in model.joints)
    touching = [link.collisions for link in model.links if link.collisions]
    if model.world_collisions:
        touching.append(model.world_collisions)
    model.report.leave_inactive("limits", limited)
    if len(touching) > 1:
        shapes = [shape for collisions in touching for shape in collisions]
        model.report.leave_inactive("contacts", len(shapes))
        model.report.floors += [shape.name or "" for shape in shapes if shape.kind == "plane"]


def _is_limited(limits: JointLimits) -> bool:
    return limits.lower > -math.inf or limits.upper < math.inf
