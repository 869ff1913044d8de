"""Parameters by the elements that own them: masses, poses of frames, gravity, inertial parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.errors import ArgumentTypeError, quote
from mbt.tree import FixedOffsetFrame, RigidBody, UniformGravityFieldElement

__all__ = ["get_parameter", "parameter_shape", "set_parameter"]


def parameter_shape(tree: Any, owner: Any) -> tuple[int, ...]:
    """Return the shape of an element's parameter: the mass of a body, the pose of a frame in its parent.

    Raises
    ------
    ArgumentTypeError
        When the element has no parameter, or several.
    """
    if owner is tree:
        return (10 * (tree.num_bodies - 1),)
    for kind, shape in ((RigidBody, ()), (FixedOffsetFrame, (4, 4)), (UniformGravityFieldElement, (3,))):
        if isinstance(owner, kind):
            return shape
    raise ArgumentTypeError(
        "parameters: expected bodies (their masses), fixed offset frames (poses in their parents), uniform "
        f"gravity (its vector) or the tree (inertial parameters of all bodies) as keys, got {quote(owner)}"
    )


def set_parameter(tree: Any, context: Any, owner: Any, value: Any) -> None:
    """Set the value of a parameter in a Context."""
    if owner is tree:
        tree.set_inertial_parameters(context, value)
    elif isinstance(owner, RigidBody):
        owner.set_mass(context, value)
    elif isinstance(owner, FixedOffsetFrame):
        owner.set_pose_in_parent_frame(context, value)
    else:
        owner.set_gravity_vector(context, value)


def get_parameter(tree: Any, context: Any, owner: Any) -> Any:
    """Return the value of a parameter in a Context."""
    if owner is tree:
        return tree.get_inertial_parameters(context)
    if isinstance(owner, RigidBody):
        return np.asarray(owner.get_mass(context))
    if isinstance(owner, FixedOffsetFrame):
        return owner.get_pose_in_parent_frame(context)
    return owner.get_gravity_vector(context)
