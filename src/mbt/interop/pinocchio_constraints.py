"""Constraints of Pinocchio, which are kept apart from its models, as constraints of a tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.parsing.description import ConstraintDescription, FrameDescription, ModelDescription
from mbt.parsing.mujoco_names import unused

__all__ = ["add_constraints"]

_KINDS = {"PointAnchorConstraintModel": "ball", "FrameAnchorConstraintModel": "weld"}
_RIGID_KINDS = {"CONTACT_3D": "ball", "CONTACT_6D": "weld"}


def add_constraints(constraints: object, links: list[str], description: ModelDescription) -> None:
    """Add constraints between two joints to a description.

    Parameters
    ----------
    constraints : iterable
        Any of ``RigidConstraintModel``, ``PointAnchorConstraintModel`` and ``FrameAnchorConstraintModel``.
    links : list of str
        The link of each joint of the model.
    description : ModelDescription
        The description to which they are added.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When a constraint is of another type, or of another model.
    """
    if not isinstance(constraints, Iterable):
        raise ArgumentTypeError(f"constraints: expected a list, got {type(constraints).__name__}")
    taken = {coupler.name for coupler in description.couplers}
    for i, constraint in enumerate(constraints):
        what = f"constraints[{i}]"
        kind = _find_kind(constraint, what)
        joints = int(constraint.joint1_id), int(constraint.joint2_id)
        if max(joints) >= len(links):
            raise ArgumentValueError(f"{what}: expected one of this model, which has no joint {max(joints)}")
        if links[joints[0]] == links[joints[1]]:
            raise ArgumentValueError(f"{what}: expected two joints, got {quote(links[joints[0]])} twice")
        name = unused(constraint.name or f"constraint_{i}", taken)
        poses = constraint.joint1_placement, constraint.joint2_placement
        A, B = [
            FrameDescription(f"{name}_{k}", links[joint], np.array(X.homogeneous), 0)
            for k, (joint, X) in enumerate(zip(joints, poses, strict=True), start=1)
        ]
        description.constraints.append(ConstraintDescription(name, kind, A, B))


def _find_kind(constraint: Any, what: str) -> str:
    type_name = type(constraint).__name__
    if type_name == "RigidConstraintModel":
        kind = _RIGID_KINDS.get(constraint.type.name)
        rest = np.array(constraint.desired_contact_placement.homogeneous) - np.eye(4)
    else:
        kind = _KINDS.get(type_name)
        rest = np.array(getattr(constraint, "desired_constraint_offset", 0.0))
    if kind is None:
        shown = ", ".join(["RigidConstraintModel", *_KINDS])
        raise ArgumentTypeError(f"{what}: expected one of {shown}, got {type_name}")
    if np.any(rest):
        raise ArgumentValueError(f"{what}: its frames must not coincide: change a placement instead")
    return kind
