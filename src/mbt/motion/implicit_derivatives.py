"""Derivatives of implicit steps, by the implicit function theorem at the minimum that a step finds.

There the gradient g(v1; q, v, tau, ...) of the convex function of docs/implicit_steps.md is zero, so
``dv1 = -H^-1 dg``, with its second derivatives H and the change dg at constant v1. A tree in numbers
with derivatives computes the terms of the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt import autodiff
from mbt.context.tangents import make_tangent_context
from mbt.errors import ArgumentTypeError, quote
from mbt.motion.implicit import ImplicitSteps, check_step
from mbt.motion.implicit_terms import Problem, Terms, calc_gradient, is_unclipped
from mbt.motion.rollouts import core_of
from mbt.scalars.tangents import take_values

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.motion.operands import Limits
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["differentiate_velocities", "roll_out_along"]

# The changes of all mass matrices computed at once have at most this many numbers.
_NUMBERS_AT_ONCE = 1 << 20


def differentiate_velocities(
    tree: MultibodyTree, q: FloatArray, v: FloatArray, tau: FloatArray, dt: Any, limits: Limits
) -> tuple[FloatArray, FloatArray]:
    """Return the velocity after a step, (..., nv), and its derivatives by q, v and tau, (..., nv, 3 nv).

    With the default parameters of a tree of doubles. A sample without a step is NaN.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        As `check_step`.
    SingularityError
        If a single state has a degree of freedom without inertia.
    """
    if tree.scalar_type.name != "double":
        raise ArgumentTypeError(
            "tree: expected a tree of doubles with method='implicit', got one of "
            f"{quote(tree.scalar_type.name)}"
        )
    check_step(tree, dt)
    h, nv = float(dt), tree.num_velocities
    context = tree.create_default_context(q.shape[:-1])
    joint_limits, limit_efforts = limits
    steps = ImplicitSteps(
        context, joint_limits=joint_limits, limit_efforts=limit_efforts, core=core_of(tree, limits)
    )
    v1 = steps.take(q, v, tau[..., np.newaxis, :], h).v[..., 0, :]
    changes = np.full((*v1.shape, 3 * nv), np.nan)
    one = tree.create_default_context()
    terms = Terms(one, one, make_tangent_context(one, None, None, None), limits)
    end, samples = v1, [x.reshape(-1, x.shape[-1]) for x in (q, v, tau, v1)]
    rows, found = np.flatnonzero(np.isfinite(samples[3]).all(axis=-1)), changes.reshape(-1, nv, 3 * nv)
    at_once = max(1, _NUMBERS_AT_ONCE // (2 * nv**3))
    for first in range(0, rows.size, at_once):
        part = rows[first : first + at_once]
        q, v, tau, v1 = (x[part] for x in samples)
        found[part] = _differentiate(terms, q, v, tau, v1, h)
    return end, changes


def _differentiate(
    terms: Terms, q: FloatArray, v: FloatArray, tau: FloatArray, v1: FloatArray, h: float
) -> FloatArray:
    """Return the derivatives of v1 by q, v and tau, (count, nv, 3 nv)."""
    count, nv = v.shape
    dq = autodiff.AutoDiffArray(np.zeros(nv), np.eye(nv, 2 * nv))
    along = np.broadcast_to(np.eye(nv, 2 * nv, nv), (count, nv, 2 * nv))
    positions = np.stack([terms.twin.integrate_positions(x, dq, 1.0) for x in q])
    problem = terms.set_up(positions, autodiff.AutoDiffArray(v, along), tau, h)
    H, change = _linearize(problem, v1)
    by_tau = -h * np.eye(nv) * is_unclipped(problem, v1)[:, np.newaxis, :]
    changes: FloatArray = -np.linalg.solve(H, np.concatenate([change, by_tau], axis=-1))
    return changes


def _linearize(problem: Problem, v1: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the second derivatives at the minimum near v1, and the derivatives of the gradient there."""
    count, nv = v1.shape
    plain = Problem(*(autodiff.value(part) for part in problem))
    along = np.broadcast_to(np.eye(nv), (count, nv, nv))
    for _ in range(2):  # The second time with the last digits right.
        at_end = calc_gradient(plain, autodiff.AutoDiffArray(v1, along))
        v1 = v1 - np.linalg.solve(at_end.derivatives, at_end.value[..., np.newaxis])[..., 0]
    return at_end.derivatives, calc_gradient(problem, v1).derivatives


def roll_out_along(
    context: Any, forces: Any, dt: Any, kept: int, every: int, limits: Limits
) -> tuple[Any, Any]:
    """Return the first state, and every n-th later one, with the derivatives of a Context.

    Parameters
    ----------
    context : Context
        Of a tree in numbers with derivatives: those of its state, parameters and inputs.
    forces : AutoDiffArray, shape (T or 1, nv)
        Generalized forces.
    dt : AutoDiffArray
        Length of a step [s].
    """
    tree, h = context.tree, float(autodiff.value(dt))
    values = take_values(context)
    joint_limits, limit_efforts = limits
    steps = ImplicitSteps(values, joint_limits=joint_limits, limit_efforts=limit_efforts)
    terms = Terms(values, context, context, limits)
    q, v = context.q, context.v
    states = [(q, v)]
    for i in range(kept * every):
        tau, time = forces[min(i, forces.shape[0] - 1)], context.time + i * dt
        q0, v0, plain = (autodiff.value(x) for x in (q, v, tau))
        v1 = steps.take(q0, v0, plain[np.newaxis], h, autodiff.value(time)).v[0]
        change = np.full((v1.size, 0), np.nan)
        if np.isfinite(v1).all():
            terms.here.time = time
            problem = terms.set_up(q[np.newaxis], v[np.newaxis], tau[np.newaxis], dt)
            H, change = (x[0] for x in _linearize(problem, v1[np.newaxis]))
            change = -np.linalg.solve(H, change)
        v = autodiff.AutoDiffArray(v1, change)
        q = tree.integrate_positions(q, v, dt)
        if (i + 1) % every == 0:
            states.append((q, v))
    qs, vs = zip(*states, strict=True)
    return np.stack(qs), np.stack(vs)
