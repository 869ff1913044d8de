"""The best fit among parameters that bodies can have: a convex problem, solved by a barrier method."""

from __future__ import annotations

import numpy as np

from mbt.errors import SingularityError
from mbt.math.arrays import FloatArray
from mbt.math.pseudo_inertia import _parameters_of, _pseudo_inertia_of

__all__ = ["fit_physical", "inside"]

# What is added to the diagonal, of ones, until it has a Cholesky factor: data may weigh 1e14 times as much
# as the prior. A Newton step changes by it, the minimum does not.
_JITTERS = (1e-14, 1e-12, 1e-10, 1e-8)
_MOST_STEPS = 100
_TOO_MUCH = (
    "identify: the data outweigh the prior too much for float64, as a log without noise of a robot that "
    "hardly moves does; move it more, or raise prior or noise"
)
# Newton's method ends where the rest of the fall is this part of mu.
_CENTERED = 1e-2
# A gap that is good enough where a smaller one is lost in rounding.
_ROUGH = 1e-4
_FALL = 0.02
_BASIS = _pseudo_inertia_of(np.eye(10))


def fit_physical(
    H: FloatArray, g: FloatArray, start: FloatArray, num_bodies: int, positive: FloatArray, gap: float
) -> FloatArray:
    """Minimize ``x H x / 2 - g x`` over x whose bodies are physical and whose numbers `positive` are > 0.

    Physical means that the pseudo-inertia of each body, of ten numbers at the front of x, is positive
    definite. ``-mu log det`` of it is added for a falling mu, and Newton's method follows the minimum; with k
    the number of eigenvalues and positive numbers, the cost is then within ``k mu`` of the least (Boyd and
    Vandenberghe, *Convex Optimization*, section 11.2). H must be positive definite, `start` inside.
    """
    k = max(4 * num_bodies + int(positive.sum()), 1)
    x = start.copy()
    slope = H @ x - g
    mu = max(gap, float(slope @ _solve_positive(H, slope)) / k)
    rough = max(gap, _ROUGH)
    x = _center(H, g, x, num_bodies, positive, mu)
    while k * mu > rough:
        mu = max(mu * _FALL, 0.99 * rough / k)
        x = _center(H, g, x, num_bodies, positive, mu)
    while k * mu > gap:
        mu = max(mu * _FALL, 0.99 * gap / k)
        try:
            x = _center(H, g, x, num_bodies, positive, mu)
        except SingularityError:
            break  # Logs without noise leave float64 no room for more.
    return x


def _center(
    H: FloatArray,
    g: FloatArray,
    x: FloatArray,
    num_bodies: int,
    positive: FloatArray,
    mu: float,
) -> FloatArray:
    """Return the minimum with a barrier of weight mu, by Newton's method."""
    n = 10 * num_bodies
    of_body = np.arange(n).reshape(-1, 10)
    blocks = (of_body[:, :, None], of_body[:, None, :])
    places = np.flatnonzero(positive)
    for _ in range(_MOST_STEPS):
        slope = H @ x - g
        gradient, hessian = slope.copy(), H.copy()
        # J^-1 dJ of each number of each body, (num_bodies, 10, 4, 4).
        try:
            inverse = np.linalg.inv(_pseudo_inertia_of(x[:n].reshape(-1, 10)))
        except np.linalg.LinAlgError as error:
            raise SingularityError(_TOO_MUCH) from error
        P = inverse[:, None] @ _BASIS
        gradient[:n] -= mu * np.trace(P, axis1=2, axis2=3).ravel()
        flat = P.reshape(-1, 10, 16)
        hessian[blocks] += mu * (flat @ P.swapaxes(2, 3).reshape(-1, 10, 16).swapaxes(1, 2))
        gradient[places] -= mu / x[places]
        hessian[places, places] += mu / x[places] ** 2
        diagonal = np.diag(hessian)
        if not (diagonal > 0.0).all():
            raise SingularityError(_TOO_MUCH)
        scale = 1.0 / np.sqrt(diagonal)
        step = scale * _solve_positive(hessian * scale * scale[:, None], -gradient * scale)
        decrement = -float(gradient @ step)
        if decrement <= _CENTERED * mu:
            return x
        before, t = _barrier(x, num_bodies, places), 1.0
        along, across = float(slope @ step), 0.5 * float(step @ (H @ step))
        while True:
            new = x + t * step
            # The difference of costs, without cancellation.
            fall = t * along + t * t * across + mu * (_barrier(new, num_bodies, places) - before)
            if fall <= -0.1 * t * decrement:
                x = new
                break
            t *= 0.5
            if t < 1e-10:
                return x
    return x


def _solve_positive(M: FloatArray, rhs: FloatArray) -> FloatArray:
    """Return ``M^-1 rhs`` of a positive definite M, as far as float64 tells that it is."""
    unit = np.mean(np.diag(M))
    for jitter in _JITTERS:
        shifted = M + (jitter * unit) * np.eye(len(M))
        try:
            np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            continue
        solution: FloatArray = np.asarray(np.linalg.solve(shifted, rhs), dtype=np.float64)
        return solution
    raise SingularityError(_TOO_MUCH)


def _barrier(x: FloatArray, num_bodies: int, places: np.ndarray) -> float:
    """Return ``-log det`` of pseudo-inertias, minus logarithms of positive numbers; infinite outside."""
    values = x[places]
    if values.size and values.min() <= 0.0:
        return np.inf
    try:
        L = np.linalg.cholesky(_pseudo_inertia_of(x[: 10 * num_bodies].reshape(-1, 10)))
    except np.linalg.LinAlgError:
        return np.inf
    diagonal = np.diagonal(L, axis1=-2, axis2=-1)
    return -2.0 * float(np.log(diagonal).sum()) - float(np.log(values).sum())


def inside(pi: FloatArray, mass: float, length: float) -> FloatArray:
    """Return parameters of bodies, (n, 10), whose pseudo-inertias are positive definite by a margin."""
    J = _pseudo_inertia_of(pi)
    unit = np.array([length, length, length, 1.0])
    values, vectors = np.linalg.eigh(J / (unit * unit[:, None]))
    least = 1e-3 * np.maximum(values.max(axis=-1, keepdims=True), mass)
    J = (vectors * np.maximum(values, least)[:, None, :]) @ np.swapaxes(vectors, -1, -2)
    return _parameters_of(J * (unit * unit[:, None]))
