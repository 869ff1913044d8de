"""Parameters accessed by the elements that own them: masses, poses, gravity, damping, friction, stiffness."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.errors import ArgumentTypeError, quote
from mbt.tree import FixedOffsetFrame, Joint, JointActuator, RigidBody, UniformGravityFieldElement
from mbt.tree.force_elements import (
    JointFriction,
    LinearSpringDamper,
    PointContact,
    PrismaticSpring,
    RevoluteSpring,
)

__all__ = ["get_parameter", "parameter_shape", "set_parameter"]

_SHAPES: tuple[tuple[type, tuple[int, ...]], ...] = (
    (RigidBody, ()),
    (FixedOffsetFrame, (4, 4)),
    (UniformGravityFieldElement, (3,)),
)
#: Element types with one parameter or a few consecutive ones, with their names in a Context.
_NUMBERS: tuple[tuple[type, tuple[str, ...]], ...] = (
    (RevoluteSpring, ("stiffness",)),
    (PrismaticSpring, ("stiffness",)),
    (JointFriction, ("coulomb_friction", "breakaway_friction")),
    (LinearSpringDamper, ("stiffness", "damping")),
    (PointContact, ("stiffness", "dissipation", "static_friction", "dynamic_friction")),
)


def parameter_shape(tree: Any, owner: Any) -> tuple[int, ...]:
    """Return the shape of the parameters of an element, such as the mass of a body or the pose of a frame.

    Raises
    ------
    ArgumentTypeError
        When the element has none.
    """
    if owner is tree:
        return (10 * (tree.num_bodies - 1),)
    for kind, shape in _SHAPES:
        if isinstance(owner, kind):
            return shape
    if isinstance(owner, Joint):
        return (owner.num_velocities,)
    if isinstance(owner, JointActuator) and owner.is_servo:
        return (2,)
    for kind, names in _NUMBERS:
        if isinstance(owner, kind):
            return () if len(names) == 1 else (len(names),)
    raise ArgumentTypeError(
        "parameters: expected bodies (their masses), fixed offset frames (poses in their parents), uniform "
        "gravity (its vector), joints (damping), servos (stiffness and damping), springs (stiffness), "
        "LinearSpringDamper, JointFriction or PointContact (their constants), or the tree (inertial "
        f"parameters of all bodies) as keys, got {quote(owner)}"
    )


def set_parameter(tree: Any, context: Any, owner: Any, value: Any) -> None:
    """Set the value of a parameter in a Context."""
    if owner is tree:
        tree.set_inertial_parameters(context, value)
    elif isinstance(owner, RigidBody):
        owner.set_mass(context, value)
    elif isinstance(owner, FixedOffsetFrame):
        owner.set_pose_in_parent_frame(context, value)
    elif isinstance(owner, UniformGravityFieldElement):
        owner.set_gravity_vector(context, value)
    elif isinstance(owner, Joint):
        owner.set_damping_vector(context, value)
    elif isinstance(owner, RevoluteSpring | PrismaticSpring):
        owner.set_stiffness(context, value)
    elif isinstance(owner, JointFriction):
        owner.set_friction(context, value[..., 0], value[..., 1])
    else:
        owner.set_stiffness(context, value[..., 0])
        if isinstance(owner, PointContact):
            owner.set_dissipation(context, value[..., 1])
            owner.set_friction(context, value[..., 2], value[..., 3])
        else:
            owner.set_damping(context, value[..., 1])


def get_parameter(tree: Any, context: Any, owner: Any) -> Any:
    """Return the value of a parameter in a Context."""
    if owner is tree:
        return tree.get_inertial_parameters(context)
    if isinstance(owner, RigidBody):
        return np.asarray(owner.get_mass(context))
    if isinstance(owner, FixedOffsetFrame):
        return owner.get_pose_in_parent_frame(context)
    if isinstance(owner, UniformGravityFieldElement):
        return owner.get_gravity_vector(context)
    if isinstance(owner, Joint):
        return owner.get_damping_vector(context)
    if isinstance(owner, JointActuator):
        return np.stack([owner.stiffness(context), owner.damping(context)], axis=-1)
    names = next(names for kind, names in _NUMBERS if isinstance(owner, kind))
    values = [np.asarray(getattr(owner, f"get_{name}")(context)) for name in names]
    return values[0] if len(values) == 1 else np.stack(values, axis=-1)
