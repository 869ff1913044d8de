"""The convex problem of an implicit step: the velocity that minimises a strictly convex function."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.math.arrays import FloatArray

__all__ = ["Contacts", "Drives", "Problem", "solve"]

#: Largest residual of the gradient, relative to its terms.
TOLERANCE = 1e-13
# Residuals below this may be rounding alone.
_ROUNDING = 1e-10
_MOST_ITERATIONS = 60
# A line search ends when the slope is below this fraction of the initial slope.
_SLOPE = 1e-3
_MOST_TRIALS = 40


@dataclass
class Contacts:
    """Points in contact, or about to be.

    Attributes
    ----------
    J : ndarray, shape (batch, points, 3, nv)
        Jacobians of the points' velocities: two rows along the plane, one away from it.
    stiffness, dissipation, depth : ndarray, shape (batch, points)
        Constants of the normal force, and depth of the points.
    friction : ndarray, shape (batch, points)
        The largest impulse of friction [N s].
    slope : ndarray, shape (batch, points)
        Impulse of friction per speed while a point sticks [N s^2/m].
    """

    J: FloatArray
    stiffness: FloatArray
    dissipation: FloatArray
    depth: FloatArray
    friction: FloatArray
    slope: FloatArray


@dataclass
class Drives:
    """Forces along dofs: ``clip(given + clip(effort - slope v, -limit, limit), lower, upper)`` [N m, N].

    Attributes
    ----------
    dofs : ndarray of int, shape (num_servos,)
        The dof that each servo drives.
    effort, slope : ndarray, shape (batch, num_servos)
        Effort of servos at v = 0, and its decrease per velocity.
    limit : ndarray, shape (num_servos,)
        Largest effort of each.
    given : ndarray, shape (batch, nv)
        Forces that do not depend on v.
    lower, upper : ndarray, shape (nv,)
        Limits of their sum.
    """

    dofs: npt.NDArray[np.intp]
    effort: FloatArray
    slope: FloatArray
    limit: FloatArray
    given: FloatArray
    lower: FloatArray
    upper: FloatArray

    def calc(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return unclipped servo efforts, (batch, num_servos), and forces before limits, (batch, nv)."""
        wanted = self.effort - self.slope * v[:, self.dofs]
        total = self.given.copy()
        np.add.at(total.T, self.dofs, np.clip(wanted, -self.limit, self.limit).T)
        return wanted, total

    def force(self, v: FloatArray) -> FloatArray:
        """Return the forces along dofs."""
        limited: FloatArray = np.clip(self.calc(v)[1], self.lower, self.upper)
        return limited

    def steepness(self, v: FloatArray) -> FloatArray:
        """Return the decrease of the forces per velocity, (batch, nv)."""
        wanted, total = self.calc(v)
        slopes = np.zeros(total.shape)
        np.add.at(slopes.T, self.dofs, (self.slope * (np.abs(wanted) < self.limit)).T)
        return slopes * ((total > self.lower) & (total < self.upper))


@dataclass
class Problem:
    """``1/2 v' M v - p' v`` plus convex terms, for each sample of a batch.

    Attributes
    ----------
    dt : float
        Length of the step [s].
    M : ndarray, shape (batch, nv, nv)
        Mass matrix.
    p : ndarray, shape (batch, nv)
        Momentum plus the impulses of all forces that do not depend on v.
    linear : ndarray, shape (batch, nv)
        Impulse against v, per velocity: ``h damping + h**2 stiffness``.
    lower, upper : ndarray, shape (batch, nv)
        Velocities that limits allow.
    limit_slope : ndarray, shape (batch, nv)
        Impulse per velocity beyond them.
    back, pull : ndarray, shape (batch, nv)
        Velocities at which joints beyond their limits return, and the impulses for this from rest.
    friction, friction_slope : ndarray, shape (batch, nv)
        Largest impulse of dry friction, and impulse per velocity at rest.
    drives : Drives
        Inputs and servos.
    rows, row_target, row_slope : ndarray, shapes (batch, m, nv), (batch, m), (batch, m)
        Constraints: Jacobian, target velocities along the rows, and impulses per missing velocity.
    contacts : Contacts or None
    """

    dt: float
    M: FloatArray
    p: FloatArray
    linear: FloatArray
    lower: FloatArray
    upper: FloatArray
    limit_slope: FloatArray
    back: FloatArray
    pull: FloatArray
    friction: FloatArray
    friction_slope: FloatArray
    drives: Drives
    rows: FloatArray
    row_target: FloatArray
    row_slope: FloatArray
    contacts: Contacts | None = None
    scale: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        # Scales momenta of all dofs to one unit.
        self.scale = 1.0 / np.sqrt(np.einsum("bii->bi", self.M))

    def silence(self, samples: npt.NDArray[np.bool_]) -> None:
        """Remove all impulses from some samples, which have no solution."""
        own = (self.p, self.drives.given, self.rows, self.row_target, self.row_slope)
        for array in own if self.contacts is None else (*own, *vars(self.contacts).values()):
            array[samples] = 0.0

    def limit_impulse(self, v: FloatArray) -> FloatArray:
        """Return the impulses of position limits against v."""
        stop = np.fmax(v - self.upper, 0.0) - np.fmax(self.lower - v, 0.0)
        impulse: FloatArray = self.limit_slope * stop + self._pull_impulse(v)
        return impulse

    def _pull_slope(self) -> FloatArray:
        slope: FloatArray = self.pull / np.where(self.back == 0.0, 1.0, np.abs(self.back))
        return slope

    def _pull_impulse(self, v: FloatArray) -> FloatArray:
        inwards, zero = self.back > 0.0, np.zeros(v.shape)
        lower, upper = np.where(inwards, -self.pull, zero), np.where(inwards, zero, self.pull)
        impulse: FloatArray = np.clip(self._pull_slope() * (v - self.back), lower, upper)
        return impulse

    def gradient(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient at v, and its magnitude relative to its terms, (batch,)."""
        terms = [
            np.einsum("bij,bj->bi", self.M, v),
            -self.p,
            self.linear * v,
            self.limit_impulse(v),
            np.clip(self.friction_slope * v, -self.friction, self.friction),
            -self.dt * self.drives.force(v),
        ]
        size = sum(np.abs(term) for term in terms)
        if self.rows.shape[1]:
            missing = self.row_slope * (self.row_target - np.einsum("bmi,bi->bm", self.rows, v))
            terms.append(-np.einsum("bmi,bm->bi", self.rows, missing))
            size = size + np.einsum("bmi,bm->bi", np.abs(self.rows), np.abs(missing))
        if self.contacts is not None:
            J = self.contacts.J
            normal, _, tangential, *_ = self._touch(v)
            impulses = np.concatenate([tangential, normal[..., np.newaxis]], axis=-1)
            terms.append(-np.einsum("bcki,bck->bi", J, impulses))
            size = size + np.einsum("bcki,bck->bi", np.abs(J), np.abs(impulses))
        gradient: FloatArray = sum(terms, np.zeros(v.shape))
        norms = [np.linalg.norm(x * self.scale, axis=-1) for x in (gradient, size)]
        return gradient, norms[0] / np.maximum(norms[1], 1e-300)

    def hessian(self, v: FloatArray) -> FloatArray:
        """Return the matrix of second derivatives, (batch, nv, nv)."""
        pulled = self._pull_impulse(v)
        is_pulled = (pulled != 0.0) & (np.abs(pulled) < self.pull)
        diagonal = self.linear + self.limit_slope * ((v < self.lower) | (v > self.upper))
        diagonal = diagonal + self._pull_slope() * is_pulled
        sticks = np.abs(self.friction_slope * v) < self.friction
        diagonal = diagonal + self.friction_slope * sticks
        diagonal = diagonal + self.dt * self.drives.steepness(v)
        H = self.M + diagonal[..., np.newaxis] * np.eye(diagonal.shape[-1])
        if self.rows.shape[1]:
            H = H + np.einsum("bmi,bm,bmj->bij", self.rows, self.row_slope, self.rows, optimize=True)
        if self.contacts is not None:
            _, slope, _, along, direction, across = self._touch(v)
            G = np.zeros((*slope.shape, 3, 3))
            outer = direction[..., :, np.newaxis] * direction[..., np.newaxis, :]
            G[..., :2, :2] = across[..., np.newaxis, np.newaxis] * (np.eye(2) - outer)
            G[..., :2, :2] += along[..., np.newaxis, np.newaxis] * outer
            G[..., 2, 2] = slope
            J = self.contacts.J
            H = H + np.einsum("bcki,bckl,bclj->bij", J, G, J, optimize=True)
        return H

    def _touch(self, v: FloatArray) -> tuple[FloatArray, ...]:
        """Return normal impulses, their slopes, tangential impulses, and slopes along and across the slip."""
        contacts, h = self.contacts, self.dt
        assert contacts is not None
        u = np.einsum("bcki,bi->bck", contacts.J, v)
        un, slip = u[..., 2], u[..., :2]
        elastic = h * contacts.stiffness * np.fmax(contacts.depth - h * un, 0.0)
        damped = np.fmax(1.0 - contacts.dissipation * un, 0.0)
        slope = h * contacts.stiffness * h * (elastic > 0.0) * damped
        slope = slope + elastic * contacts.dissipation * (damped > 0.0)
        speed = np.linalg.norm(slip, axis=-1)
        sticks = contacts.slope * speed < contacts.friction
        safe = np.where(speed > 0.0, speed, 1.0)
        across = np.where(sticks, contacts.slope, contacts.friction / safe)
        along = np.where(sticks, contacts.slope, 0.0)
        return (
            elastic * damped,
            slope,
            -across[..., np.newaxis] * slip,
            along,
            slip / safe[..., np.newaxis],
            across,
        )


def solve(
    problem: Problem, start: FloatArray, other: FloatArray
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.intp]]:
    """Return the velocities at the minimum, (batch, nv), residuals and numbers of iterations, (batch,).

    Newton's method with an exact line search, from the one of two velocities with the smaller residual.
    Samples do not influence each other: finished ones no longer change.
    """
    there, here = problem.gradient(other)[1], problem.gradient(start)[1]
    is_better = (there < here) & (here > TOLERANCE)
    v = np.where(is_better[:, np.newaxis], other, start)
    gradient, residual = problem.gradient(v)
    iterations = np.zeros(v.shape[0], dtype=np.intp)
    for _ in range(_MOST_ITERATIONS):
        active = residual > TOLERANCE
        if not active.any():
            break
        H = problem.hessian(v)
        direction = np.where(
            active[:, np.newaxis], -np.linalg.solve(H, gradient[..., np.newaxis])[..., 0], 0.0
        )
        v1 = v + _find_length(problem, v, direction, gradient)[:, np.newaxis] * direction
        gradient1, residual1 = problem.gradient(v1)
        iterations += active
        # The last digits may no longer improve.
        stuck = active & (residual1 >= residual) & (residual < _ROUNDING)
        v, gradient = (
            np.where(stuck[:, np.newaxis], old, new) for old, new in ((v, v1), (gradient, gradient1))
        )
        residual = np.where(stuck, residual, residual1)
        if not (active & ~stuck).any():
            break
    return v, residual, iterations


def _find_length(problem: Problem, v: FloatArray, direction: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return the step length to the minimum along a direction, (batch,): the root of an increasing slope."""
    first = (direction * gradient).sum(axis=-1)
    length = np.ones(v.shape[0])
    low, high = np.zeros_like(length), np.full_like(length, np.inf)
    slope_low, slope_high = first.copy(), np.zeros_like(length)
    for _ in range(_MOST_TRIALS):
        trial, _ = problem.gradient(v + length[:, np.newaxis] * direction)
        slope = (direction * trial).sum(axis=-1)
        bad = (np.abs(slope) > _SLOPE * np.abs(first)) & (first < 0.0) & ~((slope < 0.0) & (length >= 1.0))
        if not bad.any():
            break
        above = bad & (slope > 0.0)
        below = bad & ~above
        # Illinois rule: halve the slope at the end that stays.
        slope_low = np.where(above, np.where(high < np.inf, 0.5 * slope_low, slope_low), slope_low)
        slope_high = np.where(below, 0.5 * slope_high, slope_high)
        high, slope_high = np.where(above, length, high), np.where(above, slope, slope_high)
        low, slope_low = np.where(below, length, low), np.where(below, slope, slope_low)
        with np.errstate(invalid="ignore", divide="ignore"):
            between = (low * slope_high - high * slope_low) / (slope_high - slope_low)
        before = length
        length = np.where(bad, np.where(np.isfinite(between), between, 0.5 * (low + length)), length)
        if (length == before).all():
            break
    return length
