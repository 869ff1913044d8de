"""A table of the public calls that take or return arrays, for tests that every call must pass.

Values are small multiples of 1/8, so that they are exact in float32 and in any byte order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import mbt
from mbt import functional
from mbt.math import make_pose
from support.description import Array


@dataclass(frozen=True)
class Call:
    """A public call with its array arguments.

    `function(tree)` is the callable, `positional(tree, context, *values)` its arguments; `arguments` maps an
    array argument to its shape, with "nq", "nv" and "nb" for the tree's sizes.
    """

    function: Callable[[mbt.MultibodyTree], Callable[..., Any]]
    positional: Callable[..., tuple[Any, ...]]
    arguments: dict[str, tuple[str | int, ...]]
    has_out: bool = True

    def run(self, tree: mbt.MultibodyTree, context: mbt.Context, *values: Any, **keywords: Any) -> Any:
        return self.function(tree)(*self.positional(tree, context, *values), **keywords)

    def shapes(self, tree: mbt.MultibodyTree) -> dict[str, tuple[int, ...]]:
        sizes = {"nq": tree.num_positions, "nv": tree.num_velocities, "nb": tree.num_bodies}
        return {
            name: tuple(sizes[n] if isinstance(n, str) else n for n in shape)
            for name, shape in self.arguments.items()
        }

    def values(self, tree: mbt.MultibodyTree, seed: int = 0) -> list[Array]:
        rng = np.random.default_rng(seed)
        return [rng.integers(1, 16, shape) / 8.0 for shape in self.shapes(tree).values()]


def _tip(tree: mbt.MultibodyTree) -> mbt.Frame:
    return tree.bodies[-1].body_frame


def _method(name: str, has_out: bool = True, **arguments: tuple[str | int, ...]) -> Call:
    """A method of the tree that takes the Context and then its array arguments."""
    return Call(lambda tree: getattr(tree, name), lambda tree, *rest: rest, arguments, has_out)


def _function(function: Callable[..., Any], has_out: bool = True, **arguments: tuple[str | int, ...]) -> Call:
    """A stateless function of the tree and its array arguments."""
    return Call(lambda tree: function, lambda tree, context, *values: (tree, *values), arguments, has_out)


def _setter(name: str, **arguments: tuple[str | int, ...]) -> Call:
    return Call(lambda tree: setattr, lambda tree, context, value: (context, name, value), arguments, False)


_POINTS = Call(
    lambda tree: tree.calc_points_positions,
    lambda tree, context, p: (context, _tip(tree), p, tree.world_frame),
    {"p_BQi": (3, 5)},
)
_TRANSFORM = Call(
    lambda tree: tree.calc_relative_transform,
    lambda tree, context: (context, tree.world_frame, _tip(tree)),
    {},
)
_JACOBIAN = Call(
    lambda tree: tree.calc_jacobian_spatial_velocity,
    lambda tree, context, p: (context, "v", _tip(tree), p, tree.world_frame, tree.world_frame),
    {"p_BoBp_B": (3,)},
)
_JACOBIAN_RATE = Call(
    lambda tree: tree.calc_jacobian_spatial_velocity_rate,
    lambda tree, context, p: (context, _tip(tree), p, tree.world_frame, _tip(tree)),
    {"p_BoBp_B": (3,)},
)
_IN_OPERATIONAL_SPACE = Call(
    lambda tree: tree.calc_operational_space_inverse_inertia,
    lambda tree, context: (context, _tip(tree)),
    {},
)
_ANGULAR_JACOBIAN = Call(
    lambda tree: tree.calc_jacobian_angular_velocity,
    lambda tree, context: (context, "qdot", _tip(tree), tree.world_frame, _tip(tree)),
    {},
)


def _of_points(name: str, *first: str) -> Call:
    """A method that takes points fixed to a frame, measured in World and expressed in the same frame."""
    return Call(
        lambda tree: getattr(tree, name),
        lambda tree, context, p: (context, *first, _tip(tree), p, tree.world_frame, _tip(tree)),
        {"p_BoBi_B": (3, 5)},
    )


def _of_center_of_mass(name: str) -> Call:
    return Call(
        lambda tree: getattr(tree, name),
        lambda tree, context: (context, "v", tree.world_frame, _tip(tree)),
        {},
    )


_BIAS = Call(
    lambda tree: tree.calc_bias_spatial_acceleration,
    lambda tree, context, p: (context, "v", _tip(tree), p, tree.world_frame, _tip(tree)),
    {"p_BoBp_B": (3,)},
)
_ANGULAR_BIAS = Call(
    lambda tree: tree.calc_bias_angular_acceleration,
    lambda tree, context: (context, "v", _tip(tree), tree.world_frame, _tip(tree)),
    {},
)
_ROTATION = Call(
    lambda tree: tree.calc_relative_rotation_matrix,
    lambda tree, context: (context, tree.world_frame, _tip(tree)),
    {},
)
_FRAME_JACOBIAN = Call(
    lambda tree: functional.frame_jacobian, lambda tree, context, q: (tree, q, _tip(tree)), {"q": ("nq",)}
)
_FRAME_POSE = Call(
    lambda tree: functional.frame_pose, lambda tree, context, q: (tree, q, _tip(tree)), {"q": ("nq",)}
)
_GOAL = make_pose([0.5, -0.25, 1.0], rpy=[0.5, 1.0, -0.75])
_POSE_ERROR = Call(
    lambda tree: functional.pose_error,
    lambda tree, context, q: (tree, q, _tip(tree), _GOAL),
    {"q": ("nq",)},
)
_FRAME_JACOBIAN_RATE = Call(
    lambda tree: functional.frame_jacobian_rate,
    lambda tree, context, q, v: (tree, q, v, _tip(tree)),
    {"q": ("nq",), "v": ("nv",)},
)
_FRAME_VELOCITY = Call(
    lambda tree: functional.frame_velocity,
    lambda tree, context, q, v: (tree, q, v, _tip(tree)),
    {"q": ("nq",), "v": ("nv",)},
)
_FRAME_BIAS = replace(_FRAME_VELOCITY, function=lambda tree: functional.frame_bias_acceleration)
_OPERATIONAL_SPACE = Call(
    lambda tree: functional.operational_space_inverse_inertia,
    lambda tree, context, q: (tree, q, _tip(tree)),
    {"q": ("nq",)},
)
_STEP = Call(
    lambda tree: functional.integrate_positions,
    lambda tree, context, q, v: (tree, q, v, 0.25),
    {"q": ("nq",), "v": ("nv",)},
)


def _joined(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the parts of its result joined in one array."""
    return lambda *arguments, **options: np.concatenate(function(*arguments, **options), -1)


# Their results have parts, and so does `out`.
ROLLOUTS: dict[str, Call] = {
    "rollout": Call(
        lambda tree: functional.rollout,
        lambda tree, context, q0, v0, tau: (tree, q0, v0, tau, 0.125),
        {"q0": ("nq",), "v0": ("nv",), "tau": (2, "nv")},
    ),
    "tree.rollout": Call(
        lambda tree: tree.rollout, lambda tree, context, tau: (context, tau, 0.125), {"tau": (2, "nv")}
    ),
}
_ROLLOUT = replace(ROLLOUTS["rollout"], function=lambda tree: _joined(functional.rollout), has_out=False)
_CONTEXT_ROLLOUT = replace(
    ROLLOUTS["tree.rollout"],
    # Only the states after the initial one, which is the state of the Context.
    function=lambda tree: (
        lambda *arguments, **options: _joined(tree.rollout)(*arguments, **options)[..., 1:, :].copy()
    ),
    has_out=False,
)


def _of_one_step(function: Callable[..., Any]) -> Call:
    return Call(
        lambda tree: _joined(function),
        lambda tree, context, q, v, tau: (tree, q, v, tau, 0.125),
        {"q": ("nq",), "v": ("nv",), "tau": ("nv",)},
        False,
    )


METHODS: dict[str, Call] = {
    "calc_inverse_dynamics": _method("calc_inverse_dynamics", known_vdot=("nv",)),
    "calc_forward_dynamics": _method("calc_forward_dynamics", tau_applied=("nv",)),
    # Their `out` is a tuple, which has its own tests.
    "calc_inverse_dynamics_derivatives": _method(
        "calc_inverse_dynamics_derivatives", False, known_vdot=("nv",)
    ),
    "calc_forward_dynamics_derivatives": _method(
        "calc_forward_dynamics_derivatives", False, tau_applied=("nv",)
    ),
    "calc_mass_matrix": _method("calc_mass_matrix"),
    "calc_mass_matrix_via_inverse_dynamics": _method("calc_mass_matrix_via_inverse_dynamics"),
    "calc_bias_term": _method("calc_bias_term"),
    "calc_coriolis_matrix": _method("calc_coriolis_matrix"),
    "calc_gravity_generalized_forces": _method("calc_gravity_generalized_forces"),
    "calc_spatial_accelerations_from_vdot": _method(
        "calc_spatial_accelerations_from_vdot", known_vdot=("nv",)
    ),
    "calc_points_positions": _POINTS,
    "calc_relative_transform": _TRANSFORM,
    "calc_jacobian_spatial_velocity": _JACOBIAN,
    "calc_relative_rotation_matrix": _ROTATION,
    "calc_jacobian_angular_velocity": _ANGULAR_JACOBIAN,
    "calc_jacobian_translational_velocity": _of_points("calc_jacobian_translational_velocity", "v"),
    "calc_jacobian_position_vector": _of_points("calc_jacobian_position_vector"),
    "calc_jacobian_center_of_mass_translational_velocity": _of_center_of_mass(
        "calc_jacobian_center_of_mass_translational_velocity"
    ),
    "calc_bias_spatial_acceleration": _BIAS,
    "calc_bias_angular_acceleration": _ANGULAR_BIAS,
    "calc_bias_translational_acceleration": _of_points("calc_bias_translational_acceleration", "v"),
    "calc_bias_center_of_mass_translational_acceleration": _of_center_of_mass(
        "calc_bias_center_of_mass_translational_acceleration"
    ),
    "calc_reaction_forces": _method("calc_reaction_forces"),
    "calc_mass_matrix_inverse": _method("calc_mass_matrix_inverse"),
    "calc_inverse_dynamics_regressor": _method("calc_inverse_dynamics_regressor", known_vdot=("nv",)),
    "calc_kinetic_energy_regressor": _method("calc_kinetic_energy_regressor"),
    "calc_potential_energy_regressor": _method("calc_potential_energy_regressor"),
    "calc_centroidal_momentum_matrix": _method("calc_centroidal_momentum_matrix"),
    "make_velocity_to_qdot_map": _method("make_velocity_to_qdot_map"),
    "make_qdot_to_velocity_map": _method("make_qdot_to_velocity_map"),
    "map_acceleration_to_qddot": _method("map_acceleration_to_qddot", vdot=("nv",)),
    "map_qddot_to_acceleration": _method("map_qddot_to_acceleration", qddot=("nq",)),
    "map_velocity_to_qdot": _method("map_velocity_to_qdot", v=("nv",)),
    "map_qdot_to_velocity": _method("map_qdot_to_velocity", qdot=("nq",)),
    "calc_center_of_mass_position_in_world": _method("calc_center_of_mass_position_in_world"),
    "calc_center_of_mass_translational_velocity_in_world": _method(
        "calc_center_of_mass_translational_velocity_in_world"
    ),
    "calc_center_of_mass_translational_acceleration_in_world": _method(
        "calc_center_of_mass_translational_acceleration_in_world"
    ),
    "calc_jacobian_spatial_velocity_rate": _JACOBIAN_RATE,
    "calc_operational_space_inverse_inertia": _IN_OPERATIONAL_SPACE,
    "calc_momentum_regressor": _method("calc_momentum_regressor", p_WoP_W=(3,)),
    "calc_spatial_momentum_in_world_about_point": _method(
        "calc_spatial_momentum_in_world_about_point", p_WoP_W=(3,)
    ),
    "tree.rollout": _CONTEXT_ROLLOUT,
}

SCALARS: dict[str, Call] = {
    name: _method(name, False)
    for name in (
        "calc_potential_energy",
        "calc_kinetic_energy",
        "calc_conservative_power",
        "calc_non_conservative_power",
        "calc_total_mass",
    )
}

FUNCTIONS: dict[str, Call] = {
    "inverse_dynamics": _function(functional.inverse_dynamics, q=("nq",), v=("nv",), vdot=("nv",)),
    "forward_dynamics": _function(functional.forward_dynamics, q=("nq",), v=("nv",), tau=("nv",)),
    "inverse_dynamics_derivatives": _function(
        functional.inverse_dynamics_derivatives, False, q=("nq",), v=("nv",), vdot=("nv",)
    ),
    "forward_dynamics_derivatives": _function(
        functional.forward_dynamics_derivatives, False, q=("nq",), v=("nv",), tau=("nv",)
    ),
    "mass_matrix": _function(functional.mass_matrix, q=("nq",)),
    "bias_term": _function(functional.bias_term, q=("nq",), v=("nv",)),
    "gravity_generalized_forces": _function(functional.gravity_generalized_forces, q=("nq",)),
    "body_poses": _function(functional.body_poses, q=("nq",)),
    "frame_pose": _FRAME_POSE,
    "frame_jacobian": _FRAME_JACOBIAN,
    "frame_jacobian_rate": _FRAME_JACOBIAN_RATE,
    "operational_space_inverse_inertia": _OPERATIONAL_SPACE,
    "momentum_regressor": _function(functional.momentum_regressor, q=("nq",), v=("nv",)),
    "center_of_mass": _function(functional.center_of_mass, q=("nq",)),
    "center_of_mass_velocity": _function(functional.center_of_mass_velocity, q=("nq",), v=("nv",)),
    "center_of_mass_jacobian": _function(functional.center_of_mass_jacobian, q=("nq",)),
    "spatial_momentum": _function(functional.spatial_momentum, q=("nq",), v=("nv",)),
    "centroidal_momentum_matrix": _function(functional.centroidal_momentum_matrix, q=("nq",)),
    "centroidal_momentum_bias": _function(functional.centroidal_momentum_bias, q=("nq",), v=("nv",)),
    "frame_velocity": _FRAME_VELOCITY,
    "frame_bias_acceleration": _FRAME_BIAS,
    "pose_error": _POSE_ERROR,
    "integrate_positions": _STEP,
    "difference_positions": _function(functional.difference_positions, q0=("nq",), q1=("nq",)),
}

# Composed of several quantities, they allocate room for those of all samples.
WITH_ROOM = {"spatial_momentum", "centroidal_momentum_bias", "pose_error"}

# Their results have parts.
STEPS: dict[str, Call] = {
    "rollout": _ROLLOUT,
    "step": _of_one_step(functional.step),
    "step_derivatives": _of_one_step(functional.step_derivatives),
}

# For trees with constraints.
CONSTRAINT_FUNCTIONS: dict[str, Call] = {
    "constraint_errors": _function(functional.constraint_errors, q=("nq",)),
    "constraint_jacobian": _function(functional.constraint_jacobian, q=("nq",)),
    "constraint_bias": _function(functional.constraint_bias, q=("nq",), v=("nv",)),
    "constrained_forward_dynamics": _function(
        functional.constrained_forward_dynamics, False, q=("nq",), v=("nv",), tau=("nv",)
    ),
    "impulse_dynamics": _function(functional.impulse_dynamics, False, q=("nq",), v=("nv",)),
    "constrained_forward_dynamics_derivatives": _function(
        functional.constrained_forward_dynamics_derivatives, False, q=("nq",), v=("nv",), tau=("nv",)
    ),
}


def _hold(tree: mbt.MultibodyTree, q: Array) -> tuple[Array, Array]:
    """Constrained inverse dynamics at rest, which all constraints allow."""
    nv = tree.num_velocities
    return functional.constrained_inverse_dynamics(tree, q, np.zeros(nv), np.zeros(nv), np.arange(nv))


CONSTRAINT_FUNCTIONS["constrained_inverse_dynamics"] = _function(_hold, False, q=("nq",))
CONSTRAINT_METHODS: dict[str, Call] = {
    "calc_constraint_errors": _method("calc_constraint_errors"),
    "calc_constraint_jacobian": _method("calc_constraint_jacobian"),
    "calc_constraint_bias": _method("calc_constraint_bias"),
    "calc_constrained_forward_dynamics": _method(
        "calc_constrained_forward_dynamics", False, tau_applied=("nv",)
    ),
    "calc_impulse_dynamics": _method("calc_impulse_dynamics", False),
    "calc_constrained_forward_dynamics_derivatives": _method(
        "calc_constrained_forward_dynamics_derivatives", False, tau_applied=("nv",)
    ),
}


def _helper(name: str, *rest: float, **arguments: tuple[str | int, ...]) -> Call:
    """A method of the tree that takes arrays and no Context."""
    return Call(lambda tree: getattr(tree, name), lambda tree, context, *values: (*values, *rest), arguments)


HELPERS: dict[str, Call] = {
    "tree.integrate_positions": _helper("integrate_positions", 0.25, q=("nq",), v=("nv",)),
    "tree.difference_positions": _helper("difference_positions", q0=("nq",), q1=("nq",)),
    "tree.normalize_positions": _helper("normalize_positions", q=("nq",)),
}

SETTERS: dict[str, Call] = {"context.q": _setter("q", q=("nq",)), "context.v": _setter("v", v=("nv",))}

CALLS: dict[str, Call] = METHODS | SCALARS | FUNCTIONS | STEPS | HELPERS | SETTERS
WITH_OUT = [name for name, call in CALLS.items() if call.has_out]
# These write into three matrices.
WITH_THREE_OUT = [name for name in CALLS if name.endswith("dynamics_derivatives")]
# Helpers check their arguments in Python.
COMPILED_WITH_OUT = [name for name in WITH_OUT if name not in HELPERS]
WITH_ARGUMENTS = [(name, argument) for name, call in CALLS.items() for argument in call.arguments]
