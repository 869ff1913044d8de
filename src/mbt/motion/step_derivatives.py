"""Derivatives of steps of time: how the next state changes with the current state and with the forces."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import numpy as np

from mbt import math
from mbt._core.api import step_derivatives as compiled
from mbt._core.api.configuration import integrate_positions
from mbt._core.api.stateless import forward_dynamics
from mbt._core.api.stateless_constraints import constrained_forward_dynamics
from mbt._core.api.stateless_derivatives import (
    constrained_forward_dynamics_derivatives,
    forward_dynamics_derivatives,
)
from mbt._core.engines.lane_engine import get_num_threads
from mbt.context.checks import check_tuple, write_parts
from mbt.math.poses import skew
from mbt.motion.operands import IMPLICIT, check_limits, check_method, goes_back, take_operands
from mbt.motion.rollouts import core_of
from mbt.motion.stages import STAGES, calc_step_rate, find_turning_dofs
from mbt.scalars.stand_ins import standing_in

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt._core.solvers.implicit_steps import ImplicitCore
    from mbt.math.arrays import FloatArray
    from mbt.motion.operands import Limits
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["step_derivatives"]


def step_derivatives(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike,
    dt: float,
    *,
    method: str = "semi_implicit_euler",
    joint_limits: bool = True,
    limit_efforts: bool | None = None,
    out: tuple[FloatArray | None, FloatArray | None] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives of the state that `step` returns, with respect to the state and the forces.

    Tangents stand for changes of positions, as everywhere: ``[dq; dv]`` with one number for each velocity,
    ``q -> integrate_positions(q, dq, 1)``, at either end of the step.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities.
    tau : array_like, shape (..., num_velocities)
        Generalized forces, the same all through the step [N m, N]. Leading axes broadcast.
    dt : float
        Length of the step [s], of either sign; greater than zero with ``method="implicit"``.
    method : {"semi_implicit_euler", "rk4", "implicit"}, optional
        How the step is made, see `rollout`. The derivatives of implicit steps are those of the terms that act
        in the step: contacts that touch, friction that sticks or slips, limits that push.
    joint_limits, limit_efforts : bool, optional
        As in `step`.
    out : tuple of two (ndarray or None), optional
        Arrays of the shapes of the results, float64, C-contiguous, written in place and returned. Left
        untouched when an argument is rejected.

    Returns
    -------
    A : ndarray, shape (..., 2 num_velocities, 2 num_velocities)
        ``[dq1; dv1] = A [dq; dv]``.
    B : ndarray, shape (..., 2 num_velocities, num_velocities)
        ``[dq1; dv1] = B dtau``.

    Raises
    ------
    ArgumentValueError
        If there is no such method, or `dt` is not finite.
    ShapeError, ArgumentTypeError
        If an array does not have the right shape or type.
    SingularityError
        If a single state has no accelerations; in a batch that sample is NaN.
    """
    tree = standing_in(tree)
    number = check_method(method)
    limits = check_limits(method, joint_limits, limit_efforts)
    core = core_of(tree, limits) if number == IMPLICIT and _is_length(dt) else None
    matrices = None
    if number != IMPLICIT:
        matrices = compiled.step_derivatives(tree, q, v, tau, dt, number, out)
    elif core is not None and out is None:
        matrices = core.differentiate_one(tree, q, v, tau, dt)
    if matrices is not None:
        return matrices
    outs = check_tuple(out, 2)
    batch, arrays = take_operands(tree, {"q": q, "v": v, "tau": tau})
    if core is not None:
        parts = _differentiate_implicit_steps(core, batch, arrays, dt)
        if parts is not None:
            A, B = write_parts(tree._numbers, outs, parts)
            return A, B
    stages = _Stages(tree, batch, arrays, tree._numbers.as_finite_array(dt, "dt", ()))
    if number == IMPLICIT:
        changes = stages.differentiate_implicit(limits)
    else:
        changes = stages.differentiate_runge_kutta() if number else stages.differentiate_euler()
    jacobian = np.concatenate(changes, axis=-2)
    num_rates = 2 * tree.num_velocities
    parts = [jacobian[..., :num_rates].copy(), jacobian[..., num_rates:].copy()]
    A, B = write_parts(tree._numbers, outs, parts)
    return A, B


def _is_length(dt: object) -> TypeGuard[float]:
    return isinstance(dt, float) and 0.0 < dt < np.inf


def _differentiate_implicit_steps(
    core: ImplicitCore, batch: tuple[int, ...], arrays: Sequence[Any], dt: float
) -> list[FloatArray] | None:
    """Return A and B from compiled code; None if it cannot differentiate all that acts, or if it fails."""
    count = prod(batch)
    q, v, tau = (np.ascontiguousarray(x).reshape(count, x.shape[-1]) for x in arrays)
    found = core.differentiate(q, v, tau, dt, get_num_threads())
    if found is None or (not batch and found[2][0]):
        return None
    return [x.reshape(*batch, *x.shape[1:]) for x in found[:2]]


class _Stages:
    """Derivatives of one step by q, v and tau, as matrices (..., nv, 3 nv)."""

    def __init__(self, tree: MultibodyTree, batch: tuple[int, ...], arrays: Sequence[Any], dt: Any) -> None:
        self.tree, self.dt = tree, dt
        self.stabilize: bool | Literal[-1] = -1 if goes_back(tree._numbers, dt) else True
        self.q, self.v, self.tau = arrays
        nv = tree.num_velocities
        parts = np.eye(3 * nv).reshape(3, nv, 3 * nv)
        self.dq, self.dv, self.dtau = (np.broadcast_to(part, (*batch, nv, 3 * nv)) for part in parts)
        self.turning = find_turning_dofs(tree)

    def differentiate_euler(self) -> tuple[FloatArray, FloatArray]:
        """v1 = v + vdot dt, q1 = exp(v1 dt) q."""
        vdot = self.calc_vdot(self.q, self.v)
        dv1 = self.dv + self.dt * self.change_of_vdot(self.q, self.v, self.dq, self.dv)
        return self.move(self.dt * (self.v + self.dt * vdot), self.dt * dv1), dv1

    def differentiate_implicit(self, limits: Limits) -> tuple[FloatArray, FloatArray]:
        """v1 minimises the convex function, q1 = exp(v1 dt) q."""
        from mbt.motion.implicit_derivatives import differentiate_velocities

        v1, dv1 = differentiate_velocities(self.tree, self.q, self.v, self.tau, self.dt, limits)
        # A sample without a step has NaN derivatives.
        return self.move(self.dt * np.nan_to_num(v1), self.dt * dv1), dv1

    def differentiate_runge_kutta(self) -> tuple[FloatArray, FloatArray]:
        """Make the four stages of `take_runge_kutta_step`, each with its derivatives."""
        u, v, du, dv = np.zeros_like(self.v), self.v, np.zeros_like(self.dv), self.dv
        q, dq = self.q, self.dq
        sums: list[Any] = [0.0, 0.0, 0.0]
        for weight, reach in STAGES:
            vdot = self.calc_vdot(q, v)
            dvdot = self.change_of_vdot(q, v, dq, dv)
            rate, drate = calc_step_rate(self.turning, u, v), self.change_of_rate(u, v, du, dv)
            sums = [s + weight * x for s, x in zip(sums, (rate, drate, dvdot), strict=True)]
            if reach is not None:
                h = reach * self.dt
                u, v, du, dv = h * rate, self.v + h * vdot, h * drate, self.dv + h * dvdot
                q, dq = integrate_positions(self.tree, self.q, u, 1.0), self.move(u, du)
        rate, drate, dvdot = (self.dt * s for s in sums)
        return self.move(rate, drate), self.dv + dvdot

    def calc_vdot(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the accelerations of a step, in which errors of constraints die away."""
        if self.tree.num_constraints:
            return constrained_forward_dynamics(self.tree, q, v, self.tau, stabilize=self.stabilize)[0]
        return forward_dynamics(self.tree, q, v, self.tau)

    def change_of_vdot(self, q: FloatArray, v: FloatArray, dq: FloatArray, dv: FloatArray) -> FloatArray:
        if self.tree.num_constraints:
            by_q, by_v, by_tau, *_ = constrained_forward_dynamics_derivatives(
                self.tree, q, v, self.tau, stabilize=self.stabilize
            )
        else:
            by_q, by_v, by_tau = forward_dynamics_derivatives(self.tree, q, v, self.tau)
        change: FloatArray = by_q @ dq + by_v @ dv + by_tau @ self.dtau
        return change

    def move(self, u: FloatArray, du: FloatArray) -> FloatArray:
        """Change of exp(u) q: du + dq; for rotations J(u) du + exp([u]x) dq."""
        dq = self.dq + du
        for k in self.turning:
            part = u[..., k : k + 3]
            dq[..., k : k + 3, :] = (
                math.left_jacobian_so3(part) @ du[..., k : k + 3, :]
                + math.exp_so3(part) @ self.dq[..., k : k + 3, :]
            )
        return dq

    def change_of_rate(self, u: FloatArray, v: FloatArray, du: FloatArray, dv: FloatArray) -> FloatArray:
        """Change of `calc_step_rate`."""
        drate = dv.copy()
        for k in self.turning:
            part = slice(k, k + 3)
            U, W = skew(u[..., part]), skew(v[..., part])
            Uw = np.cross(u[..., part], v[..., part])
            drate[..., part, :] += (U @ U / 12 - U / 2) @ dv[..., part, :]
            drate[..., part, :] += (W / 2 - (skew(Uw) + U @ W) / 12) @ du[..., part, :]
        return drate
