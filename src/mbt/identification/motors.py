"""The scales of measured motor forces, fitted together with all parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbt.errors import ArgumentValueError
from mbt.math.arrays import FloatArray

__all__ = ["MotorScales", "MotorSums", "fit_scales"]

_MOST_STEPS = 100
# The search ends with a step below this part of the standard errors.
_SETTLED = 1e-4

Solver = Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]]


class MotorSums(NamedTuple):
    """Sums over samples for each velocity: products of columns, measured forces and known forces."""

    X_tau: FloatArray
    X_known: FloatArray
    tau_tau: FloatArray
    tau_known: FloatArray
    known_known: FloatArray

    @classmethod
    def zeros(cls, nv: int, rank: int) -> MotorSums:
        """Return the sums without any samples."""
        return cls(*np.zeros((2, nv, rank)), *np.zeros((3, nv)))

    @classmethod
    def of_block(cls, X: FloatArray, tau: FloatArray, known: FloatArray) -> MotorSums:
        """Return the sums for columns (nv, n, rank) and forces (n, nv)."""
        both = np.stack([tau.T, known.T], axis=-1)
        by_columns = np.einsum("jnk,jnm->jkm", X, both)
        squares = np.einsum("jnk,jnm->jkm", both, both)
        return cls(
            by_columns[..., 0], by_columns[..., 1], squares[:, 0, 0], squares[:, 0, 1], squares[:, 1, 1]
        )

    def plus(self, other: MotorSums) -> MotorSums:
        """Return the sums of both."""
        return MotorSums(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def scaled(self, k: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the products of ``k tau - known`` with the columns and with itself."""
        b = k[:, None] * self.X_tau - self.X_known
        return b, k * k * self.tau_tau - 2.0 * k * self.tau_known + self.known_known


class MotorScales(NamedTuple):
    """Fitted scales: true forces are `scales` times the measured ones.

    The covariance is that of the base parameters, the noise that of the measured forces.
    """

    scales: FloatArray
    standard_errors: FloatArray
    covariance: FloatArray
    noise: FloatArray


def fit_scales(
    A: FloatArray,
    sums: MotorSums,
    places: np.ndarray,
    noise: FloatArray | None,
    floor: FloatArray,
    num_samples: int,
    phi: FloatArray,
    names: tuple[str, ...],
    solve: Solver,
) -> MotorScales:
    """Minimize ``(tau - g (known + X phi))^2 / noise^2`` over phi and the scales 1 / g by Gauss-Newton.

    The scale divides the prediction, so that no column contains noise, which would bias estimates to zero.
    """
    r, nv = len(phi), len(A)
    g = np.ones(nv)
    sigma = np.maximum(np.sqrt(sums.tau_tau / num_samples), floor) if noise is None else noise
    for _ in range(_MOST_STEPS):
        H, gradient = _equations(A, sums, phi, g, 1.0 / sigma**2)
        kept = np.concatenate([np.arange(r), r + places])
        step, covariance, is_seen = solve(H[np.ix_(kept, kept)], gradient[kept], np.zeros(len(kept)))
        if not is_seen[r:].all():
            missing = ", ".join(names[i] for i in places[~is_seen[r:]])
            raise ArgumentValueError(
                f"motors: this log does not determine the scales of {missing}: with motion alone, doubling "
                "all masses and scales fits equally well. Something must be known: forces of contacts, or of "
                "a payload in a part of the log (applied=), springs, or bodies that are not fitted (bodies=)"
            )
        before, t = _squares(A, sums, phi, g) @ (1.0 / sigma**2), 1.0
        while True:
            new_phi, new_g = phi + t * step[:r], g.copy()
            new_g[places] += t * step[r:]
            rest = _squares(A, sums, new_phi, new_g)
            if rest @ (1.0 / sigma**2) <= before * (1.0 + 1e-12) or t < 1e-6:
                break
            t *= 0.5
        phi, g = new_phi, new_g
        errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        is_last = bool((np.abs(step) <= _SETTLED * errors + 1e-12).all())
        if noise is None:
            freedom = max(num_samples - len(kept) / nv, 1.0)
            new = np.maximum(np.sqrt(np.maximum(rest, 0.0) / freedom), floor)
            is_last &= bool(np.abs(new - sigma).max() <= 1e-6 * sigma.max())
            sigma = new
        if is_last:
            break
    if not (g > 0.0).all():
        wrong = ", ".join(names[i] for i in np.flatnonzero(g <= 0.0))
        raise ArgumentValueError(
            f"motors: the forces of {wrong} have the wrong sign, or are unrelated to the motion"
        )
    own = np.zeros(nv)
    own[places] = errors[r:] / g[places] ** 2
    return MotorScales(1.0 / g, own, covariance[:r, :r], sigma)


def _squares(A: FloatArray, sums: MotorSums, phi: FloatArray, g: FloatArray) -> FloatArray:
    """Return the sums of squared residuals."""
    measured, predicted = _products(A, sums, phi)
    squares: FloatArray = sums.tau_tau - 2.0 * g * measured + g * g * predicted
    return squares


def _products(A: FloatArray, sums: MotorSums, phi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sums of measured times predicted forces, and of squared predicted forces."""
    measured = sums.tau_known + sums.X_tau @ phi
    predicted = sums.known_known + 2.0 * sums.X_known @ phi + np.einsum("k,jkl,l->j", phi, A, phi)
    return measured, predicted


def _equations(
    A: FloatArray, sums: MotorSums, phi: FloatArray, g: FloatArray, w: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the normal equations for a step of phi, followed by all g."""
    r, nv = len(phi), len(g)
    measured, predicted = _products(A, sums, phi)
    X_predicted = sums.X_known + A @ phi
    H = np.zeros((r + nv, r + nv))
    H[:r, :r] = np.einsum("j,jkl->kl", w * g * g, A)
    H[:r, r:] = ((w * g)[:, None] * X_predicted).T
    H[r:, :r] = H[:r, r:].T
    H[r:, r:] = np.diag(w * predicted)
    slope = (w * g) @ (sums.X_tau - g[:, None] * X_predicted)
    return H, np.concatenate([slope, w * (measured - g * predicted)])
