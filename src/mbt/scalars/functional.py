"""The functions of `mbt.functional` for trees of other scalars than double: one state after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.context.checks import frame_index
from mbt.errors import ArgumentTypeError, ShapeError, SingularityError
from mbt.math.arrays import check_leading_axes

if TYPE_CHECKING:
    from mbt.scalars.arrays import ScalarArrays
    from mbt.scalars.context import ScalarContext
    from mbt.scalars.tree import ScalarTree

__all__ = [
    "bias_term",
    "body_poses",
    "center_of_mass",
    "difference_positions",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "frame_jacobian",
    "frame_pose",
    "gravity_generalized_forces",
    "integrate_positions",
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


def frame_pose(tree: ScalarTree, q: Any, frame: Any, *, out: Any = None) -> Any:
    """See `mbt.functional.frame_pose`."""
    f, W = tree.frames[frame_index(tree, frame, "frame")], tree.world_frame

    def calc(c: ScalarContext) -> Any:
        return tree.calc_relative_transform(c, W, f)

    return tree._numbers.write(out, _calc_each(tree, (4, 4), calc, q), "out")


def frame_jacobian(tree: ScalarTree, q: Any, frame: Any, *, expressed_in: Any = None, out: Any = None) -> Any:
    """See `mbt.functional.frame_jacobian`."""
    f, W = tree.frames[frame_index(tree, frame, "frame")], tree.world_frame
    E = W if expressed_in is None else tree.frames[frame_index(tree, expressed_in, "expressed_in")]

    def calc(c: ScalarContext) -> Any:
        return tree.calc_jacobian_spatial_velocity(c, "v", f, np.zeros(3), W, E)

    return tree._numbers.write(out, _calc_each(tree, (6, tree.num_velocities), calc, q), "out")


def center_of_mass(tree: ScalarTree, q: Any, *, out: Any = None) -> Any:
    """See `mbt.functional.center_of_mass`."""
    return tree._numbers.write(
        out, _calc_each(tree, (3,), tree.calc_center_of_mass_position_in_world, q), "out"
    )


def integrate_positions(tree: ScalarTree, q: Any, v: Any, dt: Any, *, out: Any = None) -> Any:
    """See `mbt.functional.integrate_positions`."""
    numbers = tree._numbers
    time = numbers.as_finite_array(dt, "dt", (...,))
    operands = _Operands(
        numbers, [("q", q, (tree.num_positions,)), ("v", v, (tree.num_velocities,)), ("dt", time, ())]
    )
    return numbers.write(out, operands.calc_each((tree.num_positions,), tree.integrate_positions), "out")


def difference_positions(tree: ScalarTree, q0: Any, q1: Any, *, out: Any = None) -> Any:
    """See `mbt.functional.difference_positions`."""
    core = (tree.num_positions,)
    operands = _Operands(tree._numbers, [("q0", q0, core), ("q1", q1, core)])
    return tree._numbers.write(
        out, operands.calc_each((tree.num_velocities,), tree.difference_positions), "out"
    )


class _Operands:
    """Arrays with leading axes, converted and broadcast.

    Each is a name, what was given, and the shape behind the leading axes.
    """

    def __init__(self, numbers: ScalarArrays, operands: Sequence[tuple[str, Any, tuple[int, ...]]]) -> None:
        self._numbers = numbers
        self._given = [numbers.as_float_array(x, name, (..., *core)) for name, x, core in operands]
        leads = [x.shape[: x.ndim - len(core)] for x, (_, _, core) in zip(self._given, operands, strict=True)]
        for (name, _, _), lead in zip(operands, leads, strict=True):
            check_leading_axes(lead, name)
        try:
            self._lead = np.broadcast_shapes(*leads)
        except ValueError:
            described = ", ".join(
                f"{name} {lead}" for (name, _, _), lead in zip(operands, leads, strict=True)
            )
            raise ShapeError(f"leading axes do not broadcast: {described}") from None
        self._arrays = [
            np.broadcast_to(x, (*self._lead, *core))
            for x, (_, _, core) in zip(self._given, operands, strict=True)
        ]

    def calc_each(self, shape: tuple[int, ...], calc: Callable[..., Any]) -> Any:
        """Return the results of `calc` on the operands of each state, with leading axes in front.

        `shape` is that of one result. A singular state is an error when it is the only one, NaN otherwise.
        """
        results = []
        for i in np.ndindex(self._lead):
            try:
                results.append(calc(*(array[i] for array in self._arrays)))
            except SingularityError:
                if not self._lead:
                    raise
                results.append(self._numbers.scale(self._zeros(shape), np.nan))
        if not results:
            return self._zeros((*self._lead, *shape))
        return np.stack(results).reshape(*self._lead, *shape) if self._lead else results[0]

    def _zeros(self, shape: tuple[int, ...]) -> Any:
        return self._numbers.zeros(shape, *self._given)


def _calc_each(
    tree: ScalarTree, shape: tuple[int, ...], calc: Callable[..., Any], q: Any, v: Any = None, **third: Any
) -> Any:
    """Return the results of ``calc(context)``, or ``calc(context, third)``, with leading axes in front."""
    operands = [("q", q, (tree.num_positions,))]
    if v is not None:
        operands += [(name, x, (tree.num_velocities,)) for name, x in {"v": v, **third}.items()]
    context = tree.create_default_context()

    def calc_one(q: Any, v: Any = None, *third: Any) -> Any:
        context.q = q
        if v is not None:
            context.v = v
        return calc(context, *third)

    return _Operands(tree._numbers, operands).calc_each(shape, calc_one)


def _three(tree: ScalarTree, out: Any, matrices: Any) -> Any:
    """Return three matrices of one array with an axis for them, or write them into three arrays."""
    outs = (None,) * 3 if out is None else out
    if not isinstance(outs, tuple):
        raise ArgumentTypeError(f"out: expected a tuple of 3 arrays, got {type(out).__name__}")
    if len(outs) != 3:
        raise ShapeError(f"out: expected a tuple of 3 arrays, got {len(outs)}")
    parts = (matrices[..., i, :, :].copy() for i in range(3))
    return tree._numbers.write_all(
        *((into, part, f"out[{i}]") for i, (into, part) in enumerate(zip(outs, parts, strict=True)))
    )
