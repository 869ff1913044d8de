"""Steps in Python, for trees whose force elements compute in Python anyway.

The equations are those of `quantities/motion.pxd`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mbt._core.model.element_types import Orientation
from mbt.errors import SingularityError
from mbt.math.leading_axes import join
from mbt.motion.accelerations import calc_vdot, rest_where_locked
from mbt.motion.operands import goes_back

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["STAGES", "calc_step_rate", "find_turning_dofs", "move_context", "take_step"]

#: Of Runge-Kutta: the weight of each stage, and the time of the next one as a fraction of the step.
STAGES = ((1.0 / 6.0, 0.5), (1.0 / 3.0, 0.5), (1.0 / 3.0, 1.0), (1.0 / 6.0, None))


def find_turning_dofs(tree: MultibodyTree) -> list[int]:
    """Return the first index of each three velocities that are an angular velocity, not position rates."""
    return sorted(x.velocity_start for x in tree.mobilizers if x._type.row.orientation != Orientation.PLAIN)


def calc_step_rate(turning: Sequence[int], u: Any, v: Any) -> Any:
    """Return the rate of a step u from q0 to q = exp(u) q0, at velocities v there: (..., nv).

    This is v; for rotations w - u x w / 2 + u x (u x w) / 12.
    """
    parts, end = [], 0
    for k in turning:
        w, turn = v[..., k : k + 3], u[..., k : k + 3]
        uw = np.cross(turn, w)
        parts += [v[..., end:k], w - uw / 2.0 + np.cross(turn, uw) / 12.0]
        end = k + 3
    return join([*parts, v[..., end:]])


def move_context(context: Context, tau: Any, dt: Any, *, of_order_four: bool) -> None:
    """Move a Context by one step, with its inputs and generalized forces: NaN where there is no solution."""
    try:
        take_step(context, tau, dt, of_order_four=of_order_four)
    except SingularityError:
        context.v = rest_where_locked(context, context.v * np.nan)


def take_step(context: Context, tau: Any, dt: Any, *, of_order_four: bool) -> None:
    """Move a Context by one step.

    Raises
    ------
    SingularityError
        If one state has no accelerations; the Context then has an intermediate state.
    """
    (_take_runge_kutta_step if of_order_four else _take_euler_step)(context, tau, dt)


def _take_euler_step(context: Context, tau: Any, dt: Any) -> None:
    v = context.v + calc_vdot(context, tau, _direction(context, dt)) * dt
    _go(context, context.q, context.time, dt, v * dt, v)


def _take_runge_kutta_step(context: Context, tau: Any, dt: Any) -> None:
    turning = find_turning_dofs(context.tree)
    q0, v0, start = context.q, context.v, context.time
    u = v0 * 0.0
    mean_rate = mean_vdot = u
    direction = _direction(context, dt)
    for weight, reach in STAGES:
        vdot = calc_vdot(context, tau, direction)
        rate = calc_step_rate(turning, u, context.v)
        mean_rate, mean_vdot = mean_rate + rate * weight, mean_vdot + vdot * weight
        if reach is not None:
            part = dt * reach
            u = rate * part
            _go(context, q0, start, part, u, v0 + vdot * part)
    _go(context, q0, start, dt, mean_rate * dt, v0 + mean_vdot * dt)


def _direction(context: Context, dt: Any) -> bool | Literal[-1]:
    """Return the direction of time in which errors of constraints decay: that of the step."""
    return -1 if goes_back(context._numbers, dt) else True


def _go(context: Context, q0: Any, start: Any, dt: Any, u: Any, v: Any) -> None:
    context.q = context.tree.integrate_positions(q0, u, 1.0)
    context.v = v
    context.time = start + dt
