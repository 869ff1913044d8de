"""The least cost among physical parameters: lower bounds by duality, and the optional solver."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import mbt
from mbt.identification import Accumulator, accumulator, identify
from mbt.identification.physical import _GAP, fit_physical, ridge

ALL = {"friction": "viscous+coulomb+offset", "rotors": True}


def problems_of(monkeypatch, fit):
    """Return the problems that a fit solves, and their solutions."""
    seen = []

    def remember(problem):
        seen.append((problem, fit_physical(problem)))
        return seen[-1][1]

    monkeypatch.setitem(accumulator._SOLVERS, "barrier", remember)
    fit()
    return seen


def pseudo_inertias(pi):
    """Return J = [[tr(I)/2 1 - I, m c], [m c^T, m]] of each row of ten numbers."""
    m, x, y, z, xx, xy, yy, xz, yz, zz = np.moveaxis(pi, -1, 0)
    sums = [(yy + zz - xx) / 2, (xx + zz - yy) / 2, (xx + yy - zz) / 2]
    rows = [[sums[0], -xy, -xz, x], [-xy, sums[1], -yz, y], [-xz, -yz, sums[2], z], [x, y, z, m]]
    return np.moveaxis(np.array(rows), -1, 0)


def calc_lower_bound(problem, x):
    """Return a lower bound of the physical cost: the least Lagrangian, for multipliers in the dual cone.

    Any multipliers give a bound. Those from the barrier are good unless bodies are flat to rounding,
    those from the slope if forces have noise.
    """
    n, k = len(x), problem.num_bodies
    mu = 0.99 * _GAP / (4 * k + problem.positive.sum())
    basis = pseudo_inertias(np.eye(10))
    slope = problem.R.T @ problem.calc_error(x) + problem.weight * (x - problem.described)
    # <Z, J(unit)> of each of the ten numbers is the slope.
    entries = np.linalg.solve(
        basis.reshape(10, 16) @ basis.reshape(10, 16).T, slope[: 10 * k].reshape(-1, 10).T
    )
    values, vectors = np.linalg.eigh(np.einsum("kb,kij->bij", entries, basis))
    of_slope = (vectors * np.maximum(values, 0.0)[:, None]) @ vectors.swapaxes(1, 2)
    of_barrier = mu * np.linalg.inv(pseudo_inertias(x[: 10 * k].reshape(-1, 10)))
    bounds = []
    for Z, z in ((of_slope, np.maximum(slope, 0.0)), (of_barrier, mu / np.where(problem.positive, x, 1.0))):
        multipliers = np.where(problem.positive, z, 0.0)
        multipliers[: 10 * k] = np.einsum("bij,kij->bk", Z, basis).ravel()
        # Minimum of |R d - r|^2 / 2 + weight |d|^2 / 2 - multipliers (described + d).
        root = np.sqrt(problem.weight)
        rows = np.concatenate([problem.R, root * np.eye(n)])
        d = np.linalg.lstsq(rows, np.concatenate([problem.r, multipliers / root]), rcond=1e-16)[0]
        least = problem.described + d
        bounds.append(problem.calc_cost(least) - float(multipliers @ least))
    return max(bounds)


@pytest.mark.parametrize("noise", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("prior", [1e-3, 1.0])
@pytest.mark.parametrize("count", [20, 300])
def test_no_physical_parameters_cost_less(robot, rng, monkeypatch, noise, prior, count):
    """Also for logs without noise, whose data weigh 1e14 times as much as the prior."""
    log = robot.log(count, rng, noise=noise)
    ((problem, x),) = problems_of(monkeypatch, lambda: identify(robot.tree, *log, **ALL, prior=prior))
    cost = problem.calc_cost(x)
    assert np.isfinite(problem.calc_barrier(x))
    assert -1e-8 < cost - calc_lower_bound(problem, x) < 1e-6 * max(1.0, cost)
    # The optimum is on the boundary of physical parameters.
    assert np.linalg.eigvalsh(pseudo_inertias(x[: 10 * problem.num_bodies].reshape(-1, 10))).min() < 1e-3


@pytest.mark.parametrize(
    "options", [{"robust": True}, {"bodies": ["tool"]}, {"friction": "coulomb+stribeck"}]
)
def test_no_physical_parameters_of_other_fits_cost_less(robot, rng, monkeypatch, options):
    log = robot.log(60, rng)
    ((problem, x),) = problems_of(monkeypatch, lambda: identify(robot.tree, *log, **options))
    assert -1e-8 < problem.calc_cost(x) - calc_lower_bound(problem, x) < 1e-6


@pytest.mark.parametrize("shape", [(3, 5), (40, 300), (130, 140)])
def test_ridge_is_that_of_numpy(rng, shape):
    """In one piece, in several, and with a factor too large to be split."""
    K, e = rng.normal(size=shape), rng.normal(size=shape[0])
    both = np.concatenate([K, np.eye(shape[1])])
    z = np.linalg.lstsq(both, np.concatenate([-e, np.zeros(shape[1])]), rcond=None)[0]
    np.testing.assert_allclose(ridge(K, e), z, atol=1e-13)


@pytest.mark.oracle
def test_clarabel_finds_the_same(robot, rng):
    pytest.importorskip("clarabel")
    sums = Accumulator(robot.tree, **ALL)
    sums.add(*robot.log(200, rng, noise=10.0))
    ours, theirs = sums.solve(), sums.solve(solver="clarabel")
    assert mbt.math.is_physically_consistent(theirs.parameters).all()
    assert min(theirs.rotors.min(), theirs.friction["viscous"].min()) > 0.0
    np.testing.assert_allclose(theirs.parameters, ours.parameters, atol=1e-3)
    assert theirs.tree.num_bodies == robot.tree.num_bodies


@pytest.mark.oracle
def test_clarabel_tells_what_it_cannot_solve(robot, rng, monkeypatch):
    clarabel = pytest.importorskip("clarabel")
    settings = clarabel.DefaultSettings()
    settings.max_iter = 1
    monkeypatch.setattr(clarabel, "DefaultSettings", lambda: settings)
    with pytest.raises(mbt.SingularityError, match='solver="clarabel" ended with MaxIterations'):
        identify(robot.tree, *robot.log(50, rng), **ALL, solver="clarabel")


def test_solvers_that_are_not_there_are_refused(robot, rng, monkeypatch):
    log = robot.log(50, rng)
    with pytest.raises(mbt.ArgumentValueError, match="solver: expected 'barrier' or 'clarabel', got 'mosek'"):
        identify(robot.tree, *log, solver="mosek")
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(mbt.MissingPackageError, match=r"multibodytree\[identification\]"):
        identify(robot.tree, *log, solver="clarabel")
