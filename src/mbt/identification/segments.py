"""Simulations of all segments of a log in one batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.math.arrays import FloatArray

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Segments"]

# Step of finite differences, as part of the scale of each value.
_STEP = 1e-6


class Segments:
    """Simulated minus measured states of segments of a log, and their derivatives.

    Values are those of the user, (k,); initial states differ from the measured ones by s, (count, 2 nv): a
    step of the positions, then of the velocities. Residuals have shape (count, steps + 1, 2, nv).
    """

    def __init__(
        self,
        tree: MultibodyTree,
        q: FloatArray,
        v: FloatArray,
        tau: FloatArray,
        dt: float,
        steps: int,
        method: str,
        apply: Callable[[Any, FloatArray], object],
        targets: FloatArray | None,
        scales: FloatArray,
        upper: FloatArray,
    ) -> None:
        self.count, self.nv = len(tau) // steps, tree.num_velocities
        ends = np.arange(self.count)[:, None] * steps + np.arange(steps + 1)
        self.tree, self.dt, self.method, self.apply = tree, dt, method, apply
        self.q, self.v, self.tau = tree.normalize_positions(q[ends]), v[ends], tau[ends[:, :-1]]
        self.targets = None if targets is None else targets[ends[:, :-1]]
        self.scales, self.upper = scales, upper
        apart = tree.difference_positions(np.broadcast_to(self.q[:, :1], self.q.shape), self.q)
        self.moves = np.stack([apart, self.v], axis=-2)
        # The largest changes of positions and the largest velocities, (2, nv).
        self.sizes = np.abs(self.moves).max(axis=(0, 1))
        # The number of measured values minus that of initial states.
        self.freedom = 2 * self.nv * self.count * steps

    def residuals(self, x: FloatArray, s: FloatArray) -> FloatArray:
        """Return simulated minus measured states."""
        rest: FloatArray = self._of(x[None], s[None])[0]
        return rest

    def rates(self, x: FloatArray, s: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return derivatives of residuals by each value, (k, ...), and by each entry of s, (2 nv, ...)."""
        k, n = len(x), 2 * self.nv
        h = np.where(x + _STEP * self.scales > self.upper, -_STEP, _STEP) * self.scales
        moved_x, moved_s = np.tile(x, (k + n, 1)), np.tile(s, (k + n, 1, 1))
        moved_x[:k] += np.diag(h)
        moved_s[k:] += _STEP * np.eye(n)[:, None, :]
        steps = np.concatenate([h, np.full(n, _STEP)])
        J = (self._of(moved_x, moved_s) - rest) / steps[:, None, None, None, None]
        return J[:k], J[k:]

    def _of(self, x: FloatArray, s: FloatArray) -> FloatArray:
        """Return residuals for m values (m, k) and initial states (m, count, 2 nv)."""
        m, count, nv = len(x), self.count, self.nv
        context = self.tree.create_default_context(batch_shape=m * count)
        first = s.reshape(m * count, 2 * nv)
        context.q = self.tree.integrate_positions(np.tile(self.q[:, 0], (m, 1)), first[:, :nv], 1.0)
        context.v = np.tile(self.v[:, 0], (m, 1)) + first[:, nv:]
        self.apply(context, np.repeat(x, count, axis=0))
        with np.errstate(over="ignore", invalid="ignore"):
            q, v = (path.reshape(m, count, *path.shape[1:]) for path in self._roll_out(context, m))
            measured = np.broadcast_to(self.q, q.shape)
            apart = self.tree.difference_positions(measured, q)
            rest: FloatArray = np.stack([apart, v - self.v], axis=-2)
        return rest

    def _roll_out(self, context: Any, m: int) -> tuple[FloatArray, FloatArray]:
        tau = np.tile(self.tau, (m, 1, 1))
        if self.targets is None:
            return self.tree.rollout(context, tau, self.dt, method=self.method)
        targets = np.tile(self.targets, (m, 1, 1))
        states = [(np.array(context.q), np.array(context.v))]
        for i in range(tau.shape[1]):
            context.servo_positions = targets[:, i]
            q, v = self.tree.rollout(context, tau[:, i : i + 1], self.dt, method=self.method)
            context.q, context.v = q[:, 1], v[:, 1]
            context.time = context.time + self.dt
            states.append((q[:, 1], v[:, 1]))
        qs, vs = zip(*states, strict=True)
        return np.stack(qs, axis=1), np.stack(vs, axis=1)
