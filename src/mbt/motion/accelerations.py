"""Accelerations of a model in motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from mbt.context.context import Context

__all__ = ["calc_vdot", "rest_where_locked"]


def calc_vdot(context: Context, tau: Any, stabilize: bool | Literal[-1] = True) -> Any:
    """Return the accelerations of a Context with its inputs and these forces, (..., num_velocities).

    Errors of constraints decay, as in compiled steps; with -1 they decay backwards in time.
    """
    tree = context.tree
    if tree.num_constraint_equations:
        vdot, _ = tree.calc_constrained_forward_dynamics(context, tau, stabilize=stabilize)
    else:
        vdot = tree.calc_forward_dynamics(context, tau)
    return rest_where_locked(context, vdot)


def rest_where_locked(context: Context, rates: Any) -> Any:
    """Return velocities or accelerations: zero for locked dofs, even where the others are NaN."""
    locked = context._locked_dofs()
    is_of_doubles = isinstance(rates, np.ndarray) and rates.dtype == np.float64
    return np.where(locked, 0.0, rates) if is_of_doubles and locked.any() else rates
