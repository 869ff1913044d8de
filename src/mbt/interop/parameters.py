"""Functions of `mbt.functional` with parameters of elements as operands, evaluated in a Context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mbt.context.owned_parameters import get_parameter, parameter_shape, set_parameter
from mbt.errors import MbtError
from mbt.motion.rollouts import rollout_context
from mbt.tree import MultibodyTree

__all__ = ["check_parametric", "evaluate_with_parameters", "get_parameter", "parameter_shape"]

#: Equivalents of the functions of these names, taking a tree, a Context, and operands other than q and v.
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
    "step": lambda tree, context, tau, dt, **options: _step(context, tau, dt, **options),
    "frame_pose": lambda tree, context, frame: frame.calc_pose_in_world(context),
}


def _step(context: Any, tau: Any, dt: Any, **options: Any) -> tuple[Any, Any]:
    # As `mbt.functional.step`: servos act in implicit steps only.
    path = rollout_context(context, tau[..., np.newaxis, :], dt, **options)
    return path[0][..., 1, :], path[1][..., 1, :]


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
        set_parameter(tree, context, owner, value)
    rest = dict(operands)
    context.q = rest.pop("q")
    if "v" in rest:
        context.v = rest.pop("v")
    return _METHODS[name](tree, context, *rest.values(), **options)


def check_parametric(name: str) -> None:
    """Raise unless a function takes parameters."""
    if name not in _METHODS:
        raise MbtError(f"parameters: {name} takes none; these do: {', '.join(sorted(_METHODS))}")
