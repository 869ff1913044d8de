"""The physical fit by Clarabel, a solver of semidefinite programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.errors import MissingPackageError, SingularityError
from mbt.identification.physical import PhysicalFit
from mbt.math.arrays import FloatArray
from mbt.math.pseudo_inertia import _pseudo_inertia_of

__all__ = ["fit_by_clarabel"]

_TOLERANCE = 1e-10
# Entries of a symmetric matrix as Clarabel stores them: upper triangle by columns, preserving inner products.
_COLUMNS, _ROWS = np.tril_indices(4)
_WEIGHTS = np.where(_ROWS == _COLUMNS, 1.0, np.sqrt(2.0))


def fit_by_clarabel(problem: PhysicalFit) -> FloatArray:
    """Return the minimum, moved towards ``problem.start`` as far as needed to be strictly inside."""
    clarabel, sparse = _import_clarabel()
    R, described = problem.R, problem.described
    (m, n), k = R.shape, problem.num_bodies
    places = np.flatnonzero(problem.positive)
    cones = np.zeros((10 * k + len(places), n))
    entries = (_pseudo_inertia_of(np.eye(10))[:, _ROWS, _COLUMNS] * _WEIGHTS).T
    cones[: 10 * k, : 10 * k] = np.kron(np.eye(k), entries)
    cones[10 * k + np.arange(len(places)), places] = 1.0
    # The unknowns are d and R d - r, which avoids products of R, whose squares exceed float64's precision.
    constraints = sparse.block_array([[R, -sparse.eye_array(m)], [-cones, None]], format="csc")
    weights = sparse.diags_array(np.repeat([problem.weight, 1.0], [n, m]), format="csc")
    kinds = [
        clarabel.ZeroConeT(m),
        *[clarabel.PSDTriangleConeT(4)] * k,
        clarabel.NonnegativeConeT(len(places)),
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOLERANCE
    right = np.concatenate([problem.r, cones @ described])
    solution = clarabel.DefaultSolver(weights, np.zeros(n + m), constraints, right, kinds, settings).solve()
    status = str(solution.status)
    if status not in ("Solved", "AlmostSolved"):
        raise SingularityError(
            f'identify: solver="clarabel" ended with {status}, as it does for logs with almost no noise; the '
            "default solver handles them"
        )
    x = described + np.array(solution.x)[:n]
    for t in np.logspace(-12.0, 0.0, 13):
        inner: FloatArray = x + t * (problem.start - x)
        if np.isfinite(problem.calc_barrier(inner)):
            break
    return inner


def _import_clarabel() -> tuple[Any, Any]:
    try:
        import clarabel
        from scipy import sparse
    except ImportError:
        raise MissingPackageError(
            'identify: solver="clarabel" needs clarabel, which is not installed: '
            'pip install "multibodytree[identification]"'
        ) from None
    return clarabel, sparse
