"""The functions of `mbt.functional` for trees of other scalars than double: one state after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.context.checks import frame_index
from mbt.errors import ShapeError, SingularityError
from mbt.math.arrays import check_leading_axes
from mbt.scalars.methods import ScalarMethods

if TYPE_CHECKING:
    from mbt.scalars.context import ScalarContext
    from mbt.scalars.tree import ScalarTree

__all__ = [
    "bias_term",
    "body_poses",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "frame_jacobian",
    "gravity_generalized_forces",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "mass_matrix",
]


def inverse_dynamics(
    tree: ScalarTree, q: Any, v: Any, vdot: Any, *, external_forces: Any = None, out: Any = None
) -> Any:
    """See `mbt.functional.inverse_dynamics`."""

    def calc(c: ScalarContext, x: Any) -> Any:
        return tree.calc_inverse_dynamics(c, x, external_forces, include_force_elements=True)

    return tree._numbers.write(out, _calc_each(tree, (tree.num_velocities,), calc, q, v, vdot=vdot), "out")


def forward_dynamics(
    tree: ScalarTree, q: Any, v: Any, tau: Any, *, external_forces: Any = None, out: Any = None
) -> Any:
    """See `mbt.functional.forward_dynamics`."""

    def calc(c: ScalarContext, x: Any) -> Any:
        return tree.calc_forward_dynamics(c, x, external_forces)

    return tree._numbers.write(out, _calc_each(tree, (tree.num_velocities,), calc, q, v, tau=tau), "out")


def inverse_dynamics_derivatives(
    tree: ScalarTree, q: Any, v: Any, vdot: Any, *, external_forces: Any = None, out: Any = None
) -> Any:
    """See `mbt.functional.inverse_dynamics_derivatives`."""

    def calc(c: ScalarContext, x: Any) -> Any:
        return np.stack(
            tree.calc_inverse_dynamics_derivatives(c, x, external_forces, include_force_elements=True)
        )

    shape = (3, tree.num_velocities, tree.num_velocities)
    return _three(tree, out, _calc_each(tree, shape, calc, q, v, vdot=vdot))


def forward_dynamics_derivatives(
    tree: ScalarTree, q: Any, v: Any, tau: Any, *, external_forces: Any = None, out: Any = None
) -> Any:
    """See `mbt.functional.forward_dynamics_derivatives`."""

    def calc(c: ScalarContext, x: Any) -> Any:
        return np.stack(tree.calc_forward_dynamics_derivatives(c, x, external_forces))

    shape = (3, tree.num_velocities, tree.num_velocities)
    return _three(tree, out, _calc_each(tree, shape, calc, q, v, tau=tau))


def mass_matrix(tree: ScalarTree, q: Any, *, out: Any = None) -> Any:
    """See `mbt.functional.mass_matrix`."""
    return tree._numbers.write(
        out, _calc_each(tree, (tree.num_velocities,) * 2, tree.calc_mass_matrix, q), "out"
    )


def bias_term(tree: ScalarTree, q: Any, v: Any, *, out: Any = None) -> Any:
    """See `mbt.functional.bias_term`."""
    return tree._numbers.write(
        out, _calc_each(tree, (tree.num_velocities,), tree.calc_bias_term, q, v), "out"
    )


def gravity_generalized_forces(tree: ScalarTree, q: Any, *, out: Any = None) -> Any:
    """See `mbt.functional.gravity_generalized_forces`."""
    return tree._numbers.write(
        out, _calc_each(tree, (tree.num_velocities,), tree.calc_gravity_generalized_forces, q), "out"
    )


def body_poses(tree: ScalarTree, q: Any, *, out: Any = None) -> Any:
    """See `mbt.functional.body_poses`."""

    def calc(c: ScalarContext) -> Any:
        return tree.eval_position_kinematics(c).X_WB.copy()

    return tree._numbers.write(out, _calc_each(tree, (tree.num_bodies, 4, 4), calc, q), "out")


def frame_jacobian(tree: ScalarTree, frame: Any, q: Any, *, out: Any = None) -> Any:
    """See `mbt.functional.frame_jacobian`."""
    f, W = tree.frames[frame_index(tree, frame, "frame")], tree.world_frame

    def calc(c: ScalarContext) -> Any:
        return tree.calc_jacobian_spatial_velocity(c, "v", f, np.zeros(3), W, W)

    return tree._numbers.write(out, _calc_each(tree, (6, tree.num_velocities), calc, q), "out")


def _calc_each(
    tree: ScalarTree, shape: tuple[int, ...], calc: Callable[..., Any], q: Any, v: Any = None, **third: Any
) -> Any:
    """Return the results of ``calc(context)``, or ``calc(context, third)``, with leading axes in front.

    `shape` is that of one result. A singular state is an error when it is the only one, and NaN otherwise.
    """
    numbers = tree._numbers
    sizes = [("q", q, tree.num_positions)]
    if v is not None:
        sizes += [(name, x, tree.num_velocities) for name, x in {"v": v, **third}.items()]
    operands = {name: numbers.as_float_array(x, name, (..., size)) for name, x, size in sizes}
    leads = {name: x.shape[:-1] for name, x in operands.items()}
    for name, axes in leads.items():
        check_leading_axes(axes, name)
    try:
        lead = np.broadcast_shapes(*leads.values())
    except ValueError:
        described = ", ".join(f"{name} {axes}" for name, axes in leads.items())
        raise ShapeError(f"leading axes do not broadcast: {described}") from None
    states = {name: np.broadcast_to(x, (*lead, x.shape[-1])) for name, x in operands.items()}
    context = tree.create_default_context()
    results = []
    for i in np.ndindex(lead):
        try:
            context.q = states["q"][i]
            if v is not None:
                context.v = states["v"][i]
            results.append(calc(context, *(states[name][i] for name in third)))
        except SingularityError:
            if not lead:
                raise
            results.append(numbers.scale(numbers.zeros(shape, *operands.values()), np.nan))
    if not results:
        return numbers.zeros((*lead, *shape), *operands.values())
    return np.stack(results).reshape(*lead, *shape) if lead else results[0]


def _three(tree: ScalarTree, out: Any, matrices: Any) -> Any:
    """Return three matrices of one array with an axis for them, or write them into three arrays."""
    return ScalarMethods(tree, tree._numbers)._write_all(
        out, tuple(matrices[..., i, :, :].copy() for i in range(3))
    )
