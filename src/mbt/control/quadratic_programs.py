"""Quadratic programs, solved by the package of the extra `control`; no other module uses it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.errors import MissingPackageError
from mbt.math.arrays import FloatArray

__all__ = ["QuadraticProgram"]

_EQUALITY = 5
# For least-violation solutions: weight of the distance from the previous round, and largest number of rounds.
_NEAR, _ROUNDS = 1e-8, 20
_SETTINGS = {"primal_tol": 1e-9, "iter_limit": 1000}


class QuadraticProgram:
    """``min 1/2 x' H x + g' x`` with ``lower <= (x, A x) <= upper``; a warm-started sequence of programs.

    Each `solve` reads A and the bounds again. Rows marked in `is_equation`, whose bounds are equal, are
    equations.
    """

    def __init__(self, A: FloatArray, lower: FloatArray, upper: FloatArray, is_equation: Any) -> None:
        self._A, self._lower, self._upper, self._is_equation = A, lower, upper, is_equation
        self._sense = np.where(is_equation, _EQUALITY, 0).astype(np.int32)
        self._model: Any = None
        self.num_iterations = 0

    def solve(self, H: FloatArray, g: FloatArray, is_cold: bool = False) -> Any:
        """Return x and the multipliers of all bounds; None if no x satisfies the bounds.

        With `is_cold`, the result does not depend on the previous program.
        """
        for _ in range(2):
            if self._model is None:
                self._model = _import_daqp().Model()
                self._model.settings = _SETTINGS
                flag, _ = self._model.setup(H, g, self._A, self._upper, self._lower, self._sense)
            else:
                start = (self._sense,) if is_cold else ()
                A = self._A if len(self._A) else None  # daqp rejects an update without rows
                flag = self._model.update(H, g, A, self._upper, self._lower, *start)
            if flag >= 0:
                x, _, flag, info = self._model.solve()
                self.num_iterations = info["iterations"]
                if flag > 0:
                    return x, info["lam"]
            # The active set of the previous tick can mislead the solver: try again without it.
            self._model = None
        return None

    def solve_with_least_violation(self, H: FloatArray, g: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the x with the least sum of squared bound violations, and the violation of each bound.

        Equations hold. Each row is scaled by its largest bound, or by one. Among the minimizers, the cost
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
        # The sum of squares alone has many minimizers: each round stays near the previous solution.
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
