"""Least-squares steps of least norm for constraints, with memory only for the entries of their Jacobian.

A step is ``J' (J J' + mu)^-1 e``, with rows relative to their possible sizes. With rows in levels, of which
only neighbours share dofs, J J' is block tridiagonal, and is factored block by block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.math.arrays import FloatArray
    from mbt.tree.constraints.equations import Entries, Equations

__all__ = ["LeastSquares"]

# The least mu: motion below 1e-6 of a row's possible size is damped, and rounding suppressed.
_LEAST_DAMPING = 1e-12


class LeastSquares:
    """Steps at a state. All arrays have the batch axes of the entries in front.

    Parameters
    ----------
    equations : Equations
        The equations to solve.
    entries : Entries
        The entries of their Jacobian at the state; a sample with non-finite ones stays unchanged.
    is_free : ndarray of bool, shape (num_velocities,)
        The velocities that a step may change.
    """

    def __init__(self, equations: Equations, entries: Entries, is_free: npt.NDArray[np.bool_]) -> None:
        self._levels = equations.levels
        self._num_equations = equations.num_equations
        self._num_velocities = len(is_free)
        is_finite = np.isfinite(entries.values).all(axis=-1, keepdims=True)
        values = np.where(is_finite, entries.values, 0.0)
        sizes = np.where(is_finite, entries.sizes, 0.0)
        self._all = [level.matrix(values) for level in self._levels]
        self._sizes = [level.matrix(sizes) for level in self._levels]
        self._free, self._scales = [], []
        for level, J, size in zip(self._levels, self._all, self._sizes, strict=True):
            free = is_free[level.dofs]
            scale = np.sqrt((np.where(free, size, 0.0) ** 2).sum(axis=-1))
            scale = np.where(scale > 0.0, scale, 1.0)
            self._scales.append(scale)
            self._free.append(np.where(free, J, 0.0) / scale[..., None])

    def rates(self, v: FloatArray) -> FloatArray:
        """Return ``J v``."""
        return self._multiply(self._all, v)

    def sizes_of_rates(self, v: FloatArray) -> FloatArray:
        """Return the largest sizes that J v could have, from absolute values."""
        return self._multiply(self._sizes, np.abs(v))

    def solve(self, right: FloatArray, damping: FloatArray | float) -> FloatArray:
        """Return ``J' (J J' + mu)^-1 right`` of the free velocities, (..., num_velocities)."""
        mu = np.maximum(damping, _LEAST_DAMPING)
        x = np.zeros((*right.shape[:-1], self._num_velocities))
        couplings: list[tuple[FloatArray, FloatArray] | None] = []
        parts: list[FloatArray] = []
        for i, (level, J) in enumerate(zip(self._levels, self._free, strict=True)):
            A: FloatArray = J @ _transpose(J) + np.asarray(mu)[..., None, None] * np.eye(len(level.rows))
            b: FloatArray = right[..., level.rows] / self._scales[i]
            B = self._couple(i)
            coupling = couplings[-1] if i else None
            if coupling is not None:
                before, K = coupling
                A -= before @ K
                b -= _times(before, parts[-1])
            rights = [b[..., None]] if B is None else [_transpose(B), b[..., None]]
            solved: Any = np.linalg.solve(A, np.concatenate(rights, axis=-1))
            couplings.append(None if B is None else (B, solved[..., :-1]))
            parts.append(solved[..., -1])
        y = np.zeros(0)
        for i in reversed(range(len(parts))):
            coupling = couplings[i]
            y = parts[i] if coupling is None else parts[i] - _times(coupling[1], y)
            x[..., self._levels[i].dofs] += _times(_transpose(self._free[i]), y)
        return x

    def _couple(self, i: int) -> FloatArray | None:
        """Return the products of the rows of the next level with those of one, where they share dofs."""
        if i + 1 == len(self._levels):
            return None
        here, there = self._levels[i].shared
        if not here.size:
            return None
        product: FloatArray = self._free[i + 1][..., there] @ _transpose(self._free[i][..., here])
        return product

    def _multiply(self, matrices: list[FloatArray], v: FloatArray) -> FloatArray:
        product = np.zeros((*v.shape[:-1], self._num_equations))
        for level, J in zip(self._levels, matrices, strict=True):
            product[..., level.rows] = _times(J, v[..., level.dofs])
        return product


def _transpose(A: FloatArray) -> FloatArray:
    return np.swapaxes(A, -1, -2)


def _times(A: FloatArray, x: FloatArray) -> FloatArray:
    """Return ``A x``, for leading axes."""
    product: FloatArray = (A @ x[..., None])[..., 0]
    return product
