"""Quadratic programs, by the solver of the extra `control`: the one place that knows it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.errors import MissingPackageError
from mbt.math.arrays import FloatArray

__all__ = ["QuadraticProgram"]

_EQUALITY = 5
_SETTINGS = {"primal_tol": 1e-9, "iter_limit": 1000}


class QuadraticProgram:
    """``min 1/2 x' H x + g' x`` with ``lower <= (x, A x) <= upper``; one after the other, warm started.

    Rows of A and bounds are read anew by each `solve`. Rows whose bounds are equal are equations if
    `is_equation` says so.
    """

    def __init__(self, A: FloatArray, lower: FloatArray, upper: FloatArray, is_equation: Any) -> None:
        self._A, self._lower, self._upper, self._is_equation = A, lower, upper, is_equation
        self._model: Any = None
        self.num_iterations = 0

    def solve(self, H: FloatArray, g: FloatArray) -> Any:
        """Return x and the multipliers of all bounds; None where there is no x within the bounds."""
        for _ in range(2):
            if self._model is None:
                self._model = _import_daqp().Model()
                self._model.settings = _SETTINGS
                sense = np.where(self._is_equation, _EQUALITY, 0).astype(np.int32)
                flag, _ = self._model.setup(H, g, self._A, self._upper, self._lower, sense)
            else:
                flag = self._model.update(H, g, self._A, self._upper, self._lower)
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

        Equations hold. Each row is measured in its own largest bound, or in ones.
        """
        upper, lower = self._upper, self._lower
        n, m = len(g), len(upper)
        finite = np.where(np.isfinite(upper) & (np.abs(upper) < 1e20), np.abs(upper), 1.0)
        scale = np.where(self._is_equation, 0.0, np.maximum(finite, 1.0))
        loosened = np.flatnonzero(scale)
        rows = np.vstack([np.eye(n), self._A])
        slack = np.zeros((m, len(loosened)))
        slack[loosened, np.arange(len(loosened))] = scale[loosened]
        weight = 1e6 * max(1.0, float(np.abs(H).max()), float(np.abs(g).max()))
        big = np.zeros((n + len(loosened),) * 2)
        big[:n, :n] = H
        big[range(n, len(big)), range(n, len(big))] = weight
        free = np.full(n + len(loosened), 1e30)
        program = QuadraticProgram(
            np.hstack([rows, slack]),
            np.concatenate([-free, lower]),
            np.concatenate([free, upper]),
            np.concatenate([np.zeros(len(free), dtype=bool), self._is_equation]),
        )
        found = program.solve(big, np.concatenate([g, np.zeros(len(loosened))]))
        if found is None:
            return np.full(n, np.nan), np.full(m, np.nan)
        x = found[0][:n]
        values = rows @ x
        return x, np.maximum(np.maximum(values - upper, lower - values), 0.0)


def _import_daqp() -> Any:
    try:
        import daqp
    except ImportError:
        raise MissingPackageError(
            "control by tasks solves quadratic programs with daqp, which is not installed: "
            'pip install "multibodytree[control]"'
        ) from None
    return daqp
