"""Normal equations accumulated block by block, and their solution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from mbt.errors import ArgumentValueError, quote
from mbt.identification.columns import ROWS, Columns, as_noise, velocities_with_motors
from mbt.identification.conic import fit_by_clarabel
from mbt.identification.doubts import doubts_of_loops, doubts_of_ranges, doubts_of_sizes
from mbt.identification.identified import Identified
from mbt.identification.motors import MotorScales, MotorSums, fit_scales
from mbt.identification.physical import PhysicalFit, fit_physical, inside, ridge
from mbt.math.arrays import FloatArray, as_bool, as_nonnegative

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Accumulator", "scales"]

# Directions are determined if eigenvalues of the scaled normal equations exceed this part of the largest.
_SEEN = 1e-10
# Eigenvalues below this part of the largest are rounding errors.
_ROUNDED = 1e-14
# Columns whose square is below this part of the largest are rounding errors.
_NOTHING = 1e-24
# Residuals below this part of the measured force are rounding errors.
_ROUNDING = 1e-7
_HUBER = 1.345
# OpenBLAS uses one thread up to about this many multiplications. Its threads wait for each other at each
# call: next to other programs, that took a hundred times as long as the work itself.
_ONE_THREAD = 200_000
_FEWEST_ROWS = 16
_PASSES = 50
_SOLVERS = {"barrier": fit_physical, "clarabel": fit_by_clarabel}


Fit: TypeAlias = Callable[[PhysicalFit], FloatArray]


class Accumulator:
    """Sums for a fit, accumulated block by block: a log of any length needs the memory of one block.

    Parameters
    ----------
    tree : MultibodyTree
        The description, finalized. It is not changed.
    friction, rotors, bodies, motors, transition_velocity, stribeck_velocity
        As for `identify`.

    Examples
    --------
    >>> import mbt, numpy as np
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> sums = mbt.identification.Accumulator(tree, rotors=True)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(3):
    ...     q, v, vdot = rng.normal(size=(3, 100, 6))
    ...     context = tree.create_default_context(batch_shape=100)
    ...     context.q, context.v = q, v
    ...     sums.add(q, v, vdot, tree.calc_inverse_dynamics(context, vdot, include_force_elements=True))
    >>> sums.num_samples
    300
    >>> sums.solve().rank
    40
    """

    def __init__(
        self,
        tree: MultibodyTree,
        *,
        friction: str | None = None,
        rotors: bool = False,
        bodies: Iterable[str] | None = None,
        motors: bool = False,
        transition_velocity: float = 0.01,
        stribeck_velocity: float = 0.1,
    ) -> None:
        self._columns = Columns(tree, friction, rotors, bodies, transition_velocity, stribeck_velocity)
        nv, rank = tree.num_velocities, self._columns.base.rank
        self._A = np.zeros((nv, rank, rank))
        self._b = np.zeros((nv, rank))
        self._c = np.zeros(nv)
        self._total = np.zeros(nv)
        self._motors = MotorSums.zeros(nv, rank) if as_bool(motors, "motors") else None
        self._driven = velocities_with_motors(tree, "motors") if self._motors else np.arange(0)
        if not np.isin(self._driven, self._columns.measured).all():
            raise ArgumentValueError(
                "motors: expected a tree whose motors move independently, got one with constraints among them"
            )
        self._num_samples = 0
        self._opening = 0.0
        self._q_least = np.full(tree.num_positions, np.inf)
        self._q_largest = np.full(tree.num_positions, -np.inf)

    @property
    def num_samples(self) -> int:
        """Number of samples that were added."""
        return self._num_samples

    def add(self, q: object, v: object, vdot: object, tau: object, applied: object = None) -> None:
        """Add a block of samples; if an argument is rejected, nothing is added.

        Parameters
        ----------
        q : array_like, shape (n, num_positions)
            Positions.
        v, vdot, tau : array_like, shape (n, num_velocities)
            Velocities, accelerations, and generalized forces of the motors.
        applied : array_like, shape (n, num_velocities), optional
            Other known generalized forces, as for `identify`.

        Raises
        ------
        ShapeError, ArgumentTypeError, ArgumentValueError
            When an array has the wrong shape or type, or a number is not finite.
        """
        q, v, vdot, tau = self._columns.as_log(q, v, vdot, tau)
        extra = self._columns.as_applied(applied, q, tau)
        motors = self._motors
        A, b, c = np.zeros_like(self._A), np.zeros_like(self._b), np.zeros_like(self._c)
        with np.errstate(over="ignore", invalid="ignore"):
            for part, X, known in self._blocks(q, v, vdot, extra):
                force = (tau[part] - known).T
                motors = motors and motors.plus(MotorSums.of_block(X, tau[part], known))
                products = _products(np.concatenate([X, force[..., None]], axis=2))
                A += products[..., :-1]
                b += products[..., -1]
                c += (force * force).sum(axis=1)
            total = (tau**2).sum(axis=0)
        if not all(np.isfinite(part).all() for part in (A, b, c, total, *(motors or ()))):
            raise ArgumentValueError("the log has numbers so large that their squares overflow float64")
        self._A += A
        self._b += b
        self._c += c
        self._total += total
        self._motors = motors
        self._num_samples += len(q)
        self._opening = max(self._opening, self._columns.opening(q))
        self._q_least = np.minimum(self._q_least, q.min(axis=0, initial=np.inf))
        self._q_largest = np.maximum(self._q_largest, q.max(axis=0, initial=-np.inf))

    def _blocks(
        self, q: FloatArray, v: FloatArray, vdot: FloatArray, applied: FloatArray
    ) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield parts of a log, their columns (nv, n, rank) and their known forces (n, nv)."""
        kept = self._columns.base.independent
        for first in range(0, len(q), ROWS):
            part = slice(first, first + ROWS)
            X, known = self._columns.evaluate(q[part], v[part], vdot[part])
            # Grouped by velocity, with contiguous columns, so that BLAS can form the products.
            yield part, np.ascontiguousarray(X[..., kept].swapaxes(0, 1)), known - applied[part]

    def solve(
        self, *, noise: object = None, physical: bool = True, prior: float = 1e-3, solver: str = "barrier"
    ) -> Identified:
        """Solve the equations accumulated so far; more samples may be added afterwards.

        Parameters
        ----------
        noise, physical, prior, solver
            As for `identify`.

        Returns
        -------
        Identified

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError
            When an argument is invalid, or there are not more measured values than parameters.
        MissingPackageError, SingularityError
            When Clarabel is requested, but is not installed or fails.
        """
        columns = self._columns
        nv, rank = columns.tree.num_velocities, columns.base.rank
        weight = as_nonnegative(prior, "prior")
        is_physical = as_bool(physical, "physical")
        if not isinstance(solver, str) or solver not in _SOLVERS:
            raise ArgumentValueError(f"solver: expected 'barrier' or 'clarabel', got {quote(solver)}")
        fit = _SOLVERS[solver] if is_physical else None
        if is_physical and weight == 0.0:
            raise ArgumentValueError(
                "prior: expected a number > 0 with physical=True: motion does not determine all parameters"
            )
        own = len(columns.measured)
        if self.num_samples * own <= rank:
            raise ArgumentValueError(
                f"the log is too short: {self.num_samples} samples of {own} forces for {rank} base parameters"
            )
        sigma = None
        if noise is not None:
            sigma = as_noise(noise, nv)
        if self._motors is not None:
            return self._solve_with_motors(self._motors, sigma, fit, weight)
        return self._solve(self._estimate_noise() if sigma is None else sigma, fit, weight)

    def _solve_with_motors(
        self, motors: MotorSums, noise: FloatArray | None, fit: Fit | None, weight: float
    ) -> Identified:
        """Fit the scales of forces, then all other parameters with the scaled forces."""
        columns = self._columns
        floor = _ROUNDING * self._force_rms() + 1e-12
        found = fit_scales(
            self._A,
            motors,
            self._driven,
            noise,
            floor,
            self.num_samples,
            columns.base.regrouping @ columns.description(),
            columns.tree.velocity_names,
            _solve_base,
        )
        scaled = copy(self)
        scaled._b, scaled._c = motors.scaled(found.scales)
        scaled._total = found.scales**2 * self._total
        return scaled._solve(found.scales * found.noise, fit, weight, found)

    def _solve(
        self, sigma: FloatArray, fit: Fit | None, weight: float, motors: MotorScales | None = None
    ) -> Identified:
        columns = self._columns
        is_measured = np.isin(np.arange(len(sigma)), columns.measured)
        sigma = np.where(is_measured, sigma, np.inf)
        A, b = self._weighted(sigma)
        theta0 = columns.description()
        G = columns.base.regrouping
        phi, covariance, is_seen = _solve_base(A, b, G @ theta0)
        if motors is not None:
            covariance = motors.covariance
        scale = scales(theta0, columns.num_inertial)
        if weight > 0.0:
            theta = self._fit_all(A, b, theta0, scale, weight, fit)
        else:
            GS = G * scale
            theta = theta0 + scale * (np.linalg.pinv(GS) @ (phi - G @ theta0))
        return Identified(
            columns,
            theta,
            covariance,
            is_seen,
            _condition(A),
            sigma,
            self._rms(G @ theta),
            self._force_rms(),
            self.num_samples,
            self._doubts(G @ theta0),
            motors,
        )

    def _settle(
        self,
        q: FloatArray,
        v: FloatArray,
        vdot: FloatArray,
        tau: FloatArray,
        applied: FloatArray,
        noise: object,
    ) -> None:
        """Replace outlying forces by values whose least-squares fit equals the fit with Huber's function.

        At the solution, these values are the prediction plus psi / m, where psi is the residual clipped at
        1.345 times the noise, and m the fraction that is not clipped; their scatter also gives Huber's
        standard errors (Huber, *Robust Statistics*, section 7.8). Repeated replacement converges to it.
        """
        blocks = list(self._blocks(q, v, vdot, applied))
        given = None if noise is None else as_noise(noise, tau.shape[1])
        phi = phi0 = self._columns.base.regrouping @ self._columns.description()
        freedom = np.sqrt(1.0 - min(self._b.shape[1] / tau.size, 0.9))
        floor = _ROUNDING * self._force_rms() + 1e-12
        used = tau
        for _ in range(_PASSES):
            sigma = self._estimate_noise() if given is None else given
            new, covariance, _ = _solve_base(*self._weighted(sigma), phi0)
            error = np.sqrt(np.diag(covariance))
            is_settled = bool((np.abs(new - phi) <= 1e-4 * error + 1e-12).all())
            phi = new
            if is_settled:
                return
            predicted = np.concatenate([known + np.einsum("jnk,k->nj", X, phi) for _, X, known in blocks])
            rest = tau - predicted
            limit = given if given is not None else np.median(np.abs(rest), axis=0) / (0.6745 * freedom)
            limit = _HUBER * np.maximum(limit, floor)
            inside = np.maximum((np.abs(rest) < limit).mean(axis=0), 0.1)
            used = predicted + np.clip(rest, -limit, limit) / inside
            for part, X, known in blocks:
                force = (used[part] - known).T
                is_first = part.start == 0
                self._b = (0.0 if is_first else self._b) + np.einsum("jnk,jn->jk", X, force)
                self._c = (0.0 if is_first else self._c) + (force * force).sum(axis=1)

    def _delay(
        self,
        q: FloatArray,
        v: FloatArray,
        vdot: FloatArray,
        tau: FloatArray,
        applied: FloatArray,
        noise: FloatArray,
        most: int,
    ) -> float:
        """Return the delay of forces in samples, at most `most`, with the least residuals of the fit."""
        n, shifts = len(q), np.arange(-most, most + 1)
        w = np.where(np.isfinite(noise), 1.0 / noise**2, 0.0)
        rank = self._b.shape[1]
        A, b, c = np.zeros((rank, rank)), np.zeros((rank, len(shifts))), np.zeros(len(shifts))
        inner = slice(most, n - most)
        for part, X, known in self._blocks(q[inner], v[inner], vdot[inner], applied[inner]):
            rows = np.arange(n)[inner][part]
            forces = tau[rows[:, np.newaxis] + shifts].transpose(2, 0, 1) - known.T[..., np.newaxis]
            weighted = w[:, np.newaxis, np.newaxis] * X
            A += np.einsum("jnk,jnl->kl", weighted, X, optimize=True)
            b += (weighted.swapaxes(1, 2) @ forces).sum(axis=0)
            c += np.einsum("j,jns,jns->s", w, forces, forces)
        inverse = _solve_base(A, b[:, 0], np.zeros(rank))[1]
        left = c - (b * (inverse @ b)).sum(axis=0)
        k = int(np.argmin(left))
        if k in (0, len(shifts) - 1):
            return float(shifts[k])
        # The vertex of a parabola through three points.
        below, at, above = left[k - 1 : k + 2]
        return float(shifts[k] + 0.5 * (below - above) / max(below - 2.0 * at + above, 1e-300))

    def _fit_all(
        self,
        A: FloatArray,
        b: FloatArray,
        theta0: FloatArray,
        scale: FloatArray,
        weight: float,
        fit: Fit | None,
    ) -> FloatArray:
        columns = self._columns
        GS = columns.base.regrouping * scale
        # Differences from the description in units of the scales are of order 1.
        rows, values = _factor(A, b - A @ (columns.base.regrouping @ theta0))
        R = rows @ GS
        if fit is None:
            root = np.sqrt(weight)
            fitted: FloatArray = theta0 + scale * ridge(R / root, -values / root)
            return fitted
        n = columns.num_inertial
        mass, length = scale[0], scale[1] / scale[0]
        start = theta0.copy()
        start[:n] = inside(theta0[:n].reshape(-1, 10), mass, length).ravel()
        is_positive = np.zeros(len(theta0), dtype=bool)
        for term, _, part in columns.parts():
            is_positive[part] = term != "offset"
        start[is_positive] = np.maximum(start[is_positive], 1e-3)
        # Scaling all bodies by one mass and one length keeps them physical.
        problem = PhysicalFit(R, values, weight, theta0 / scale, start / scale, n // 10, is_positive)
        return scale * fit(problem)

    def _weighted(self, sigma: FloatArray) -> tuple[FloatArray, FloatArray]:
        w = 1.0 / sigma**2
        return np.einsum("j,jkl->kl", w, self._A), w @ self._b

    def _estimate_noise(self) -> FloatArray:
        """Return the standard deviation of each force, alternating between weights and fits."""
        n = self.num_samples
        floor = _ROUNDING * self._force_rms() + 1e-12
        sigma = np.maximum(self._force_rms(), floor)
        phi0 = self._columns.base.regrouping @ self._columns.description()
        for _ in range(20):
            phi, covariance, _ = _solve_base(*self._weighted(sigma), phi0)
            # The degrees of freedom of each force that the fitted parameters use.
            taken = np.einsum("jkl,kl->j", self._A, covariance) / sigma**2
            new = np.maximum(self._rms(phi) * np.sqrt(n / np.maximum(n - taken, 1.0)), floor)
            is_same = np.abs(new - sigma).max(initial=0.0) <= 1e-6 * sigma.max(initial=0.0)
            sigma = new
            if is_same:
                break
        return sigma

    def _doubts(self, phi0: FloatArray) -> tuple[str, ...]:
        tree = self._columns.tree
        described = np.einsum("k,jkl,l->j", phi0, self._A, phi0)
        return (
            *doubts_of_ranges(tree, self._q_least, self._q_largest),
            *doubts_of_loops(self._opening),
            *doubts_of_sizes(tree.velocity_names, self._b @ phi0, described, self._c),
        )

    def _rms(self, phi: FloatArray) -> FloatArray:
        squares = self._c - 2.0 * self._b @ phi + np.einsum("k,jkl,l->j", phi, self._A, phi)
        rms: FloatArray = np.sqrt(np.maximum(squares, 0.0) / max(self._num_samples, 1.0))
        return rms

    def _force_rms(self) -> FloatArray:
        rms: FloatArray = np.sqrt(self._total / max(self._num_samples, 1.0))
        return rms


def _products(Z: FloatArray) -> FloatArray:
    """Return the products of all columns but the last with all columns, (nv, r, r + 1).

    Z is (nv, n, r + 1): the columns, then the force.
    """
    r, n = Z.shape[2] - 1, Z.shape[1]
    rows = _ONE_THREAD // max(r * (r + 1), 1)
    if rows < _FEWEST_ROWS:
        rows = n  # Threads pay off for large products.
    total: FloatArray = np.zeros((len(Z), r, r + 1))
    for first in range(0, n, max(rows, 1)):
        part = Z[:, first : first + rows]
        total += part[..., :-1].swapaxes(1, 2) @ part
    return total


def _solve_base(
    A: FloatArray, b: FloatArray, phi0: FloatArray
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Return the base parameters, their covariance, and which of them the data determine.

    The others stay as in phi0.
    """
    S, D = _scaled(A)
    rest = D * (b - A @ phi0)
    if _saw_all(S):
        inverse = np.linalg.inv(S)
        return phi0 + D * (inverse @ rest), inverse * D * D[:, None], np.ones(len(D), dtype=bool)
    values, V = np.linalg.eigh(S)
    seen = values > _SEEN * values.max(initial=0.0)
    V_seen = V[:, seen]
    step = V_seen @ ((V_seen.T @ rest) / values[seen])
    covariance = (V_seen / values[seen]) @ V_seen.T * D * D[:, None]
    return phi0 + D * step, covariance, (V[:, ~seen] ** 2).sum(axis=1) < 1e-6


def _condition(A: FloatArray) -> float:
    """Return the condition number of the columns; infinite if the data do not determine all parameters."""
    values = np.linalg.eigvalsh(_scaled(A)[0])
    is_seen = len(values) and values[0] > _SEEN * values[-1]
    return float(np.sqrt(values[-1] / values[0])) if is_seen else np.inf


def _factor(A: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return F and f with ``A = F^T F`` and ``b = F^T f``, up to rounding."""
    S, D = _scaled(A)
    back = np.divide(1.0, D, out=np.zeros_like(D), where=D > 0.0)
    if _saw_all(S):
        L: FloatArray = np.asarray(np.linalg.cholesky(S), dtype=np.float64)
        f: FloatArray = np.asarray(np.linalg.solve(L, D * b), dtype=np.float64)
        return L.T * back, f
    values, V = np.linalg.eigh(S)
    is_sure = values > _ROUNDED * values.max(initial=0.0)
    root, rows = np.sqrt(values[is_sure]), V[:, is_sure].T
    F: FloatArray = root[:, None] * rows * back
    return F, (rows @ (D * b)) / root


def _scaled(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ``D A D``, whose diagonal is one, and the diagonal of D."""
    diagonal = np.diag(A)
    # Ignore columns that are rounding errors.
    is_column = diagonal > _NOTHING * diagonal.max(initial=0.0)
    D: FloatArray = np.where(is_column, 1.0 / np.sqrt(np.where(is_column, diagonal, 1.0)), 0.0)
    return A * D * D[:, None], D


def _saw_all(S: FloatArray) -> bool:
    """Return whether all eigenvalues are far from zero, without computing them, which would use threads."""
    try:
        np.linalg.cholesky(S - _SEEN * np.trace(S) * np.eye(len(S)))
    except np.linalg.LinAlgError:
        return False
    return True


def scales(theta0: FloatArray, num_inertial: int) -> FloatArray:
    """Return the change of each parameter that counts as large, from the mean body's mass and size."""
    bodies = theta0[:num_inertial].reshape(-1, 10)
    mass = float(bodies[:, 0].mean()) or 1.0
    trace = float(bodies[:, [4, 6, 9]].sum())
    length = np.sqrt(trace / bodies[:, 0].sum()) if trace > 0.0 and bodies[:, 0].sum() > 0.0 else 0.1
    one = mass * np.repeat([1.0, length, length**2], [1, 3, 6])
    return np.concatenate([np.tile(one, len(bodies)), np.maximum(theta0[num_inertial:], 1.0)])
