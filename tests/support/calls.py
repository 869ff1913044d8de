"""One table of the public calls that take or give arrays, for tests that every call must pass.

Values are small multiples of 1/8, so that they are the same numbers in float32 and in any byte order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mbt
from mbt import functional
from support.description import Array


@dataclass(frozen=True)
class Call:
    """A public call: `run(tree, context, *values, out=...)`.

    `arguments` maps each array argument to its shape, with "nq", "nv" and "nb" for the tree's sizes.
    """

    run: Callable[..., Any]
    arguments: dict[str, tuple[str | int, ...]]
    has_out: bool = True

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


def _points(tree: mbt.MultibodyTree, context: mbt.Context, p: Any, **keywords: Any) -> Any:
    return tree.calc_points_positions(context, _tip(tree), p, tree.world_frame, **keywords)


def _transform(tree: mbt.MultibodyTree, context: mbt.Context, **keywords: Any) -> Any:
    return tree.calc_relative_transform(context, tree.world_frame, _tip(tree), **keywords)


def _jacobian(tree: mbt.MultibodyTree, context: mbt.Context, p: Any, **keywords: Any) -> Any:
    W = tree.world_frame
    return tree.calc_jacobian_spatial_velocity(context, "v", _tip(tree), p, W, W, **keywords)


def _frame_jacobian(tree: mbt.MultibodyTree, q: Any, **keywords: Any) -> Any:
    return functional.frame_jacobian(tree, _tip(tree), q, **keywords)


def _method(name: str) -> Callable[..., Any]:
    return lambda tree, context, *values, **keywords: getattr(tree, name)(context, *values, **keywords)


def _function(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda tree, context, *values, **keywords: f(tree, *values, **keywords)


def _setter(name: str) -> Callable[..., Any]:
    return lambda tree, context, value: setattr(context, name, value)


METHODS: dict[str, Call] = {
    "calc_inverse_dynamics": Call(_method("calc_inverse_dynamics"), {"known_vdot": ("nv",)}),
    "calc_forward_dynamics": Call(_method("calc_forward_dynamics"), {"tau_applied": ("nv",)}),
    "calc_mass_matrix": Call(_method("calc_mass_matrix"), {}),
    "calc_mass_matrix_via_inverse_dynamics": Call(_method("calc_mass_matrix_via_inverse_dynamics"), {}),
    "calc_bias_term": Call(_method("calc_bias_term"), {}),
    "calc_coriolis_matrix": Call(_method("calc_coriolis_matrix"), {}),
    "calc_gravity_generalized_forces": Call(_method("calc_gravity_generalized_forces"), {}),
    "calc_spatial_accelerations_from_vdot": Call(
        _method("calc_spatial_accelerations_from_vdot"), {"known_vdot": ("nv",)}
    ),
    "calc_points_positions": Call(_points, {"p_BQi": (3, 5)}),
    "calc_relative_transform": Call(_transform, {}),
    "calc_jacobian_spatial_velocity": Call(_jacobian, {"p_BoBp_B": (3,)}),
    "map_velocity_to_qdot": Call(_method("map_velocity_to_qdot"), {"v": ("nv",)}),
    "map_qdot_to_velocity": Call(_method("map_qdot_to_velocity"), {"qdot": ("nq",)}),
    # Three numbers are no bulk output: these have no `out`.
    "calc_center_of_mass_position_in_world": Call(
        _method("calc_center_of_mass_position_in_world"), {}, has_out=False
    ),
    "calc_center_of_mass_translational_velocity_in_world": Call(
        _method("calc_center_of_mass_translational_velocity_in_world"), {}, has_out=False
    ),
    "calc_spatial_momentum_in_world_about_point": Call(
        _method("calc_spatial_momentum_in_world_about_point"), {"p_WoP_W": (3,)}, has_out=False
    ),
}

SCALARS: dict[str, Call] = {
    name: Call(_method(name), {}, has_out=False)
    for name in (
        "calc_potential_energy",
        "calc_kinetic_energy",
        "calc_conservative_power",
        "calc_non_conservative_power",
        "calc_total_mass",
    )
}

FUNCTIONS: dict[str, Call] = {
    "inverse_dynamics": Call(
        _function(functional.inverse_dynamics), {"q": ("nq",), "v": ("nv",), "vdot": ("nv",)}
    ),
    "forward_dynamics": Call(
        _function(functional.forward_dynamics), {"q": ("nq",), "v": ("nv",), "tau": ("nv",)}
    ),
    "mass_matrix": Call(_function(functional.mass_matrix), {"q": ("nq",)}),
    "bias_term": Call(_function(functional.bias_term), {"q": ("nq",), "v": ("nv",)}),
    "gravity_generalized_forces": Call(_function(functional.gravity_generalized_forces), {"q": ("nq",)}),
    "body_poses": Call(_function(functional.body_poses), {"q": ("nq",)}),
    "frame_jacobian": Call(_function(_frame_jacobian), {"q": ("nq",)}),
}

SETTERS: dict[str, Call] = {
    "context.q": Call(_setter("q"), {"q": ("nq",)}, has_out=False),
    "context.v": Call(_setter("v"), {"v": ("nv",)}, has_out=False),
}

CALLS: dict[str, Call] = METHODS | SCALARS | FUNCTIONS | SETTERS
WITH_OUT = [name for name, call in CALLS.items() if call.has_out]
WITH_ARGUMENTS = [(name, argument) for name, call in CALLS.items() for argument in call.arguments]
