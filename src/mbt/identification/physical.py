"""The best fit with physically consistent parameters: a convex problem, solved by a barrier method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbt.math.arrays import FloatArray
from mbt.math.pseudo_inertia import _parameters_of, _pseudo_inertia_of

__all__ = ["PhysicalFit", "fit_physical", "inside", "ridge"]

# Largest final distance from the minimal cost, in units of half a squared residual relative to the noise.
_GAP = 1e-7
_FALL = 0.02
_MOST_STEPS = 100
# Newton's method ends when the remaining decrease is this part of mu: for intermediate mu, and for the last.
_NEAR, _CENTERED = 0.5, 1e-2
# OpenBLAS factors matrices of up to this many entries with one thread; its threads wait for each other at
# each column.
_ONE_THREAD = 8192
_FEWEST_ROWS = 8
_SOLUTIONS = 3

# An orthonormal basis of symmetric matrices, (10, 4, 4), and its traces.
_ROWS, _COLUMNS = np.triu_indices(4)
_BASIS = np.zeros((10, 4, 4))
_BASIS[range(10), _ROWS, _COLUMNS] = np.where(_ROWS == _COLUMNS, 1.0, np.sqrt(0.5))
_BASIS[range(10), _COLUMNS, _ROWS] = _BASIS[range(10), _ROWS, _COLUMNS]
_TRACES = np.trace(_BASIS, axis1=1, axis2=2)


class PhysicalFit(NamedTuple):
    """Minimize ``(|R d - r|^2 + weight |d|^2) / 2``, with ``d = x - described``, over physical x.

    Physical means that the pseudo-inertia of each body, given by ten entries at the beginning of x, is
    positive definite, and that the entries ``x[positive]`` after them are > 0.
    """

    R: FloatArray  # (m, n)
    r: FloatArray  # (m,)
    weight: float  # > 0
    described: FloatArray  # (n,)
    start: FloatArray  # (n,), physical
    num_bodies: int
    positive: npt.NDArray[np.bool_]  # (n,)

    @property
    def bodies(self) -> slice:
        """Slice of the bodies' parameters in x."""
        return slice(0, 10 * self.num_bodies)

    def calc_error(self, x: FloatArray) -> FloatArray:
        """Return ``R d - r``."""
        return _times(self.R, x - self.described) - self.r

    def calc_cost(self, x: FloatArray) -> float:
        """Return the cost to minimize."""
        e, d = self.calc_error(x), x - self.described
        return 0.5 * float(e @ e + self.weight * (d @ d))

    def calc_barrier(self, x: FloatArray) -> float:
        """Return ``-log det`` of pseudo-inertias minus logarithms of positive entries; infinite outside."""
        values = x[self.positive]
        if values.min(initial=np.inf) <= 0.0:
            return np.inf
        try:
            L = np.linalg.cholesky(_pseudo_inertia_of(x[self.bodies].reshape(-1, 10)))
        except np.linalg.LinAlgError:
            return np.inf
        diagonal = np.diagonal(L, axis1=-2, axis2=-1)
        return -2.0 * float(np.log(diagonal).sum()) - float(np.log(values).sum())


def fit_physical(problem: PhysicalFit) -> FloatArray:
    """Return the minimizer.

    ``mu`` times the barrier is added to the cost for decreasing mu, and Newton's method tracks the minimizer;
    the cost is then within ``k mu`` of the minimum, where k is the number of eigenvalues and positive entries
    (Boyd and Vandenberghe, *Convex Optimization*, section 11.2).
    """
    k = max(4 * problem.num_bodies + int(problem.positive.sum()), 1)
    x = problem.start
    mu = max(_GAP, problem.calc_cost(x)) / k
    while k * mu > _GAP:
        x = _center(problem, x, mu, _NEAR)
        mu = max(mu * _FALL, 0.99 * _GAP / k)
    return _center(problem, x, mu, _CENTERED)


def _center(problem: PhysicalFit, x: FloatArray, mu: float, enough: float) -> FloatArray:
    """Return the minimizer with a barrier of weight mu, by Newton's method.

    Steps are ``U z`` with coordinates z in which prior and barrier are ``|z|^2 / 2``. Data may have 1e14
    times this weight, so no normal equations are formed.
    """
    R, w = problem.R, problem.weight
    for _ in range(_MOST_STEPS):
        d, e = x - problem.described, problem.calc_error(x)
        U, slope = _coordinates(problem, x, mu)
        slope += _transposed_times(U, w * d[:, np.newaxis])[:, 0]
        K = _transposed_times(U, R.T).T
        z = ridge(K, e - _times(K, slope)) - slope
        along_K = _times(K, z)
        decrement = float(along_K @ along_K + z @ z)
        if decrement <= enough * mu:
            return x
        step = _block_times(U, z)
        before, t = problem.calc_barrier(x), 1.0
        along = float(e @ along_K + w * (d @ step))
        across = 0.5 * float(along_K @ along_K + w * (step @ step))
        while True:
            new = x + t * step
            # The decrease of the cost, without cancellation.
            fall = t * along + t * t * across + mu * (problem.calc_barrier(new) - before)
            if fall <= -0.1 * t * decrement:
                x = new
                break
            t *= 0.5
            if t < 1e-10:
                return x
    return x


def _coordinates(
    problem: PhysicalFit, x: FloatArray, mu: float
) -> tuple[tuple[FloatArray, FloatArray], FloatArray]:
    """Return U, for bodies (num_bodies, 10, 10) and other entries, and the gradient of mu times barrier."""
    w, of_bodies, positive = problem.weight, problem.bodies, problem.positive
    # Pseudo-inertias L L^T change by L S L^T, which changes the barrier by -log det(1 + S).
    L = np.linalg.cholesky(_pseudo_inertia_of(x[of_bodies].reshape(-1, 10)))[:, np.newaxis]
    E = np.swapaxes(_parameters_of(L @ _BASIS @ np.swapaxes(L, -1, -2)), 1, 2)
    unit = np.broadcast_to(np.sqrt(mu) * np.eye(10), E.shape)
    inverse = np.linalg.inv(np.linalg.qr(np.concatenate([unit, np.sqrt(w) * E], axis=1), mode="r"))
    rest, is_positive = x[of_bodies.stop :], positive[of_bodies.stop :]
    size = np.where(is_positive, rest, 1.0)
    root = np.sqrt(np.where(is_positive, mu, 0.0) + w * size * size)
    slope = np.concatenate([-mu * (_TRACES @ inverse).ravel(), np.where(is_positive, -mu, 0.0) / root])
    return (E @ inverse, size / root), slope


def _block_times(U: tuple[FloatArray, FloatArray], z: FloatArray) -> FloatArray:
    """Return ``U z``."""
    of_bodies, of_others = U
    n = 10 * len(of_bodies)
    parts = np.einsum("bxz,bz->bx", of_bodies, z[:n].reshape(-1, 10))
    return np.concatenate([parts.ravel(), of_others * z[n:]])


def _transposed_times(U: tuple[FloatArray, FloatArray], M: FloatArray) -> FloatArray:
    """Return ``U^T M``."""
    of_bodies, of_others = U
    n = 10 * len(of_bodies)
    parts = np.swapaxes(of_bodies, 1, 2) @ M[:n].reshape(len(of_bodies), 10, M.shape[1])
    return np.concatenate([parts.reshape(n, M.shape[1]), of_others[:, np.newaxis] * M[n:]])


def _times(M: FloatArray, x: FloatArray) -> FloatArray:
    """Return ``M x`` without using threads."""
    product: FloatArray = np.einsum("ij,j->i", M, x)
    return product


def ridge(K: FloatArray, e: FloatArray) -> FloatArray:
    """Return the z with least ``|K z + e|^2 + |z|^2``, by an orthogonal factor T of ``K K^T + 1 = T^T T``.

    z and ``y = K z + e`` are the minimum-norm solution of ``y - K z = e``. T is computed from K and 1 rather
    than from the product, and the solution is refined iteratively: logs without noise need the accuracy.
    """
    m, n = K.shape
    T = np.eye(m)
    rows = _ONE_THREAD // max(m, 1) - m
    if rows < _FEWEST_ROWS:
        rows = n  # Threads pay off for large factors.
    for first in range(0, n, max(rows, 1)):
        T = np.asarray(np.linalg.qr(np.concatenate([T, K[:, first : first + rows].T]), mode="r"))
    y, z = np.zeros(m), np.zeros(n)
    for _ in range(_SOLUTIONS):
        more = np.linalg.solve(T, np.linalg.solve(T.T, e + _times(K, z) - y))
        y += more
        z -= _times(K.T, more)
    return z


def inside(pi: FloatArray, mass: float, length: float) -> FloatArray:
    """Return nearby parameters of bodies, (n, 10), with pseudo-inertias that are well positive definite."""
    J = _pseudo_inertia_of(pi)
    unit = np.array([length, length, length, 1.0])
    values, vectors = np.linalg.eigh(J / (unit * unit[:, None]))
    least = 1e-3 * np.maximum(values.max(axis=-1, keepdims=True), mass)
    J = (vectors * np.maximum(values, least)[:, None, :]) @ np.swapaxes(vectors, -1, -2)
    return _parameters_of(J * (unit * unit[:, None]))
