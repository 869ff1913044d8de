"""Bounds of accelerations that keep positions and velocities within their limits, now and later."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["acceleration_bounds"]


def acceleration_bounds(
    q: Any, v: Any, q_limits: Any, v_limits: Any, vdot_limits: Any, braking: Any, dt: float
) -> tuple[Any, Any]:
    """Return lower and upper bounds of accelerations that are held for `dt`, shapes (n,) each.

    Within these bounds, positions and velocities stay within their limits, whether a step holds the
    accelerations constant or uses semi-implicit Euler. A later deceleration of `braking`, or less if
    acceleration limits require it, can still stop each joint before its limit (Del Prete 2018, "Joint
    position and velocity bounds in discrete-time acceleration or torque control of robot arms", algorithms 1
    to 3). If bounds contradict each other, braking as hard as allowed takes precedence. Each of the limits is
    a pair of arrays (n,), lower and upper.
    """
    down = np.minimum(braking, np.maximum(-vdot_limits[0], 0.0))
    up = np.minimum(braking, np.maximum(vdot_limits[1], 0.0))
    upper = _calc_upper(q, v, q_limits[1], v_limits[1], down, dt)
    lower = -_calc_upper(-q, -v, -q_limits[0], -v_limits[0], up, dt)
    # No bound demands more than `braking`, which also limits how fast a velocity returns to its limit.
    upper = np.minimum(np.maximum(upper, -down), vdot_limits[1])
    lower = np.maximum(np.minimum(lower, up), vdot_limits[0])
    middle = np.minimum(np.maximum(-v / dt, -down), up)
    middle = np.minimum(np.maximum(middle, vdot_limits[0]), vdot_limits[1])
    contradict = lower > upper
    return np.where(contradict, middle, lower), np.where(contradict, middle, upper)


def _calc_upper(q: Any, v: Any, q_max: Any, v_max: Any, braking: Any, dt: float) -> Any:
    room, stopping = q_max - q, -v / dt
    # The position after dt (algorithm 1), or the extreme one if the motion reverses within dt. Steps that use
    # the final velocity for all of dt go further than dt^2 / 2 if the joint speeds up.
    to_limit = room - dt * v
    at_end = np.where(to_limit > 0.0, 1.0, 2.0) / dt**2 * to_limit
    at_turn = np.minimum(stopping, -(v**2) / (2.0 * np.maximum(room, 1e-12)))
    of_position = np.where((v > 0.0) & (at_end <= stopping), at_turn, at_end)
    # Viability (algorithm 2): braking from the velocity after dt stops before the limit. If c < 0, the joint
    # may speed up.
    c = v**2 - 2.0 * braking * to_limit
    b = dt * (2.0 * v + np.where(c < 0.0, 2.0, 1.0) * braking * dt)
    discriminant = b**2 - 4.0 * dt**2 * c
    root = (np.sqrt(np.maximum(discriminant, 0.0)) - b) / (2.0 * dt**2)
    of_viability = np.where(discriminant >= 0.0, np.maximum(root, stopping), stopping)
    # The joint can stop at the end of the next tick: stopping earlier would reverse it and make it chatter.
    to_stop = to_limit - 0.5 * dt * v
    of_rest = np.where(to_stop > 0.0, 2.0 / 3.0, 1.0) / dt**2 * to_stop
    return np.minimum(np.minimum(of_position, of_viability), np.minimum(of_rest, (v_max - v) / dt))
