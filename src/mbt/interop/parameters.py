"""Functions of `mbt.functional` with parameters of elements as operands: in a Context that has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mbt.errors import ArgumentTypeError, MbtError, quote
from mbt.tree import FixedOffsetFrame, MultibodyTree, RigidBody, UniformGravityFieldElement

__all__ = ["check_parametric", "evaluate_with_parameters", "get_parameter", "parameter_shape"]

#: The same as the functions of these names, of a tree, a Context, and operands other than q and v.
_METHODS: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": lambda tree, context, vdot: tree.calc_inverse_dynamics(
        context, vdot, include_force_elements=True
    ),
    "forward_dynamics": lambda tree, context, tau: tree.calc_forward_dynamics(context, tau),
    "mass_matrix": lambda tree, context: tree.calc_mass_matrix(context),
    "bias_term": lambda tree, context: tree.calc_bias_term(context),
    "gravity_generalized_forces": lambda tree, context: tree.calc_gravity_generalized_forces(context),
    "center_of_mass": lambda tree, context: tree.calc_center_of_mass_position_in_world(context),
    "center_of_mass_velocity": lambda tree, context: tree.calc_center_of_mass_translational_velocity_in_world(
        context
    ),
    "centroidal_momentum_matrix": lambda tree, context: tree.calc_centroidal_momentum_matrix(context),
    "frame_pose": lambda tree, context, frame: frame.calc_pose_in_world(context),
}


def parameter_shape(tree: MultibodyTree, owner: Any) -> tuple[int, ...]:
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


def _set(tree: MultibodyTree, context: Any, owner: Any, value: Any) -> None:
    if owner is tree:
        tree.set_inertial_parameters(context, value)
    elif isinstance(owner, RigidBody):
        owner.set_mass(context, value)
    elif isinstance(owner, FixedOffsetFrame):
        owner.set_pose_in_parent_frame(context, value)
    else:
        owner.set_gravity_vector(context, value)


def get_parameter(tree: MultibodyTree, context: Any, owner: Any) -> Any:
    """Return the value of a parameter in a Context."""
    if owner is tree:
        return tree.get_inertial_parameters(context)
    if isinstance(owner, RigidBody):
        return np.asarray(owner.get_mass(context))
    if isinstance(owner, FixedOffsetFrame):
        return owner.get_pose_in_parent_frame(context)
    return owner.get_gravity_vector(context)


def evaluate_with_parameters(
    tree: MultibodyTree,
    name: str,
    options: Mapping[str, Any],
    operands: Mapping[str, Any],
    parameters: Mapping[Any, Any],
) -> Any:
    """Return the result of a function; all operands and parameters have the same leading axes."""
    q = operands["q"]
    batch_shape = q.shape[:-1]
    context: Any = (
        tree.create_default_context(batch_shape=batch_shape) if batch_shape else tree.create_default_context()
    )
    for owner, value in parameters.items():
        _set(tree, context, owner, value)
    rest = dict(operands)
    context.q = rest.pop("q")
    if "v" in rest:
        context.v = rest.pop("v")
    return _METHODS[name](tree, context, *rest.values(), **options)


def check_parametric(name: str) -> None:
    """Raise unless a function takes parameters."""
    if name not in _METHODS:
        raise MbtError(f"parameters: {name} takes none; these do: {', '.join(sorted(_METHODS))}")
