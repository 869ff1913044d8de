"""Quadratic programs, by the solver of the extra `control`: the one place that knows it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.errors import MissingPackageError
from mbt.math.arrays import FloatArray

__all__ = ["QuadraticProgram"]

_EQUALITY = 5
# Of solutions that violate bounds least: weight of the distance from the round before, and rounds at most.
_NEAR, _ROUNDS = 1e-8, 20
_SETTINGS = {"primal_tol": 1e-9, "iter_limit": 1000}


class QuadraticProgram:
    """``min 1/2 x' H x + g' x`` with ``lower <= (x, A x) <= upper``; one after the other, warm started.

    Rows of A and bounds are read anew by each `solve`. Rows whose bounds are equal are equations if
    `is_equation` says so.
    """

    def __init__(self, A: FloatArray, lower: FloatArray, upper: FloatArray, is_equation: Any) -> None:
        self._A, self._lower, self._upper, self._is_equation = A, lower, upper, is_equation
        self._sense = np.where(is_equation, _EQUALITY, 0).astype(np.int32)
        self._model: Any = None
        self.num_iterations = 0

    def solve(self, H: FloatArray, g: FloatArray, is_cold: bool = False) -> Any:
        """Return x and the multipliers of all bounds; None where there is no x within the bounds.

        With `is_cold`, the result does not depend on the program before.
        """
        for _ in range(2):
            if self._model is None:
                self._model = _import_daqp().Model()
                self._model.settings = _SETTINGS
                flag, _ = self._model.setup(H, g, self._A, self._upper, self._lower, self._sense)
            else:
                start = (self._sense,) if is_cold else ()
                A = self._A if len(self._A) else None  # daqp refuses an update of no rows
                flag = self._model.update(H, g, A, self._upper, self._lower, *start)
            if flag >= 0:
                x, _, flag, info = self._model.solve()
                self.num_iterations = info["iterations"]
                if flag > 0:
                    return x, info["lam"]
            # The active set of the tick before can lead astray: once more without it.
            self._model = None
        return None

    def solve_with_least_violation(self, H: FloatArray, g: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the x that violates bounds least, in the sum of squares, and by how much each is violated.

        Equations hold. Each row is measured in its own largest bound, or in ones. Among those x the cost
        decides.
        """
        upper, lower = self._upper, self._lower
        n, m = len(g), len(upper)
        finite = np.where(np.isfinite(upper) & (np.abs(upper) < 1e20), np.abs(upper), 1.0)
        scale = np.where(self._is_equation, 0.0, np.maximum(finite, 1.0))
        loosened = np.flatnonzero(scale)
        slack = np.zeros((m, len(loosened)))
        slack[loosened, np.arange(len(loosened))] = scale[loosened]
        rows = np.vstack([np.eye(n), self._A])
        size = n + len(loosened)
        free = np.full(size, 1e30)
        loose = QuadraticProgram(
            np.hstack([rows, slack]),
            np.concatenate([-free, lower]),
            np.concatenate([free, upper]),
            np.concatenate([np.zeros(size, dtype=bool), self._is_equation]),
        )
        # The sum of squares alone has many solutions: each round stays near that of the one before.
        squares = np.diag(np.repeat([_NEAR, 1.0], [n, len(loosened)]))
        y = np.zeros(size)
        for _ in range(_ROUNDS):
            found = loose.solve(squares, -_NEAR * np.concatenate([y[:n], np.zeros(len(loosened))]))
            if found is None:
                break
            y, last = found[0], y
            if np.abs(y[n:] - last[n:]).max(initial=0.0) < 1e-9:
                break
        values = rows @ y[:n]
        excess = np.maximum(np.maximum(values - upper, lower - values), 0.0)
        spare = excess + 1e-9 * scale * (excess > 0.0)
        within = QuadraticProgram(self._A, lower - spare, upper + spare, self._is_equation)
        found = within.solve(H, g)
        return (y[:n] if found is None else found[0]), np.where(excess > 1e-6 * scale, excess, 0.0)


def _import_daqp() -> Any:
    try:
        import daqp
    except ImportError:
        raise MissingPackageError(
            "control by tasks solves quadratic programs with daqp, which is not installed: "
            'pip install "multibodytree[control]"'
        ) from None
    return daqp
