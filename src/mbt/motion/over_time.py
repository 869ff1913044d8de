"""Quantities of a tree at every state of a trajectory, computed in lanes; and their integrals over time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.math.leading_axes import flatten
from mbt.motion.accelerations import calc_vdot
from mbt.scalars.repeated_context import repeat_context
from mbt.tree.force_elements import PointContact

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["RESULTS", "VECTORS", "calc_over_time", "contacts_of", "integrals_over_steps"]

# Number of states computed at once.
_STATES_A_CALL = 1 << 14


def _calc_passive_power(context: Context, _: FloatArray) -> Any:
    """Power of damping, of force elements without potential, and of applied forces [W]."""
    tree = context.tree
    power: Any = tree.calc_non_conservative_power(context)
    if context._has_applied_forces:
        forces = context.applied_forces
        V_WB = tree.eval_velocity_kinematics(context).V_WB
        power = power + (forces.body_forces * V_WB).sum((-2, -1))
        power = power + (forces.generalized_forces * context.v).sum(-1)
    return power


def _calc_multipliers(context: Context, tau: FloatArray) -> Any:
    return context.tree.calc_constrained_forward_dynamics(context, tau, stabilize=True)[1]


def _calc_contact_forces(context: Context, _: FloatArray) -> Any:
    """Force at each point of each `PointContact`, in one row."""
    forces: list[Any] = [flatten(x.calc_contact_forces(context), 2) for x in contacts_of(context.tree)]
    return np.concatenate([np.zeros((*context.batch_shape, 0)), *forces], axis=-1)


def contacts_of(tree: MultibodyTree) -> list[PointContact]:
    """Return the elements that act at contact points."""
    return [element for element in tree.force_elements if isinstance(element, PointContact)]


#: Functions of a batch of states and the forces there, by name.
RESULTS: dict[str, Callable[[Context, FloatArray], Any]] = {
    "vdot": calc_vdot,
    "kinetic_energy": lambda context, _: context.tree.calc_kinetic_energy(context),
    "potential_energy": lambda context, _: context.tree.calc_potential_energy(context),
    "passive_power": _calc_passive_power,
    "constraint_errors": lambda context, _: context.tree.calc_constraint_errors(context),
    "multipliers": _calc_multipliers,
    "contact_forces": _calc_contact_forces,
    "sensors": lambda context, tau: context.tree.calc_sensors(context, tau),
}

#: Results that are a vector at each state; the others are scalars.
VECTORS = frozenset(("vdot", "constraint_errors", "multipliers", "contact_forces", "sensors"))


def calc_over_time(
    name: str, context: Context, time: FloatArray, q: FloatArray, v: FloatArray, tau: FloatArray
) -> FloatArray:
    """Return one of `RESULTS` at every state, with the parameters and applied forces of a Context.

    Parameters
    ----------
    name : str
        Name of the quantity.
    context : Context
        Of one state or a batch.
    time, q, v, tau : ndarray, shapes (n,), (..., n, nq), (..., n, nv), (..., n, nv)
        States and the forces there.

    Returns
    -------
    ndarray, shape (..., n) or (..., n, k)
    """
    most = max(1, _STATES_A_CALL // max(1, math.prod(context.batch_shape)))
    parts = []
    for first in range(0, max(1, time.size), most):
        now = slice(first, first + most)
        moving = repeat_context(context, time[now].size)
        moving.time, moving.q, moving.v = time[now], q[..., now, :], v[..., now, :]
        parts.append(RESULTS[name](moving, tau[..., now, :]))
    return np.concatenate(parts, axis=len(context.batch_shape))


def integrals_over_steps(time: FloatArray, rate: FloatArray) -> FloatArray:
    """Return the integrals between successive samples, (..., n - 1), of a rate (..., n).

    If all steps are equal, they are those of the cubic polynomial through the two samples and their
    neighbours (at either end, through the nearest four samples), otherwise of the trapezoidal rule.
    """
    steps = np.diff(time)
    integrals: FloatArray = 0.5 * steps * (rate[..., :-1] + rate[..., 1:])
    # The last step may be shorter.
    count = steps.size - int(steps.size > 1 and not np.isclose(steps[-1], steps[0], rtol=1e-6))
    if count < 3 or not np.allclose(steps[:count], steps[0], rtol=1e-6, atol=0.0):
        return integrals
    y, h = rate[..., : count + 1], steps[0] / 24.0
    first, second, third, fourth = y[..., :-3], y[..., 1:-2], y[..., 2:-1], y[..., 3:]
    integrals[..., 1 : count - 1] = h * (13.0 * (second + third) - first - fourth)
    integrals[..., 0] = h * (9.0 * y[..., 0] + 19.0 * y[..., 1] - 5.0 * y[..., 2] + y[..., 3])
    integrals[..., count - 1] = h * (9.0 * y[..., -1] + 19.0 * y[..., -2] - 5.0 * y[..., -3] + y[..., -4])
    return integrals
