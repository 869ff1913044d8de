"""Derivatives along each degree of freedom: by dual numbers, exact to rounding, and by finite differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import mbt
from mbt._core.engines.lane_engine import lane_count
from mbt._core.quantities.names import Quantity
from support.description import Array
from support.engines import evaluate_dual

Triple = tuple[Array, Array, Array]
Function = Callable[[Array, Array], Array]


def derivatives_by_dual(tree: mbt.MultibodyTree, function: Quantity, q: Array, v: Array, x: Array) -> Triple:
    """Return the derivatives along ``qdot = N(q) e_j``, with respect to v and to the third input.

    For inverse or forward dynamics with all force elements and default parameters.
    """
    compiled = tree._compiled
    assert compiled is not None
    context = tree.create_default_context()
    context.q = q
    nv, parameters = tree.num_velocities, compiled.default_parameters
    start = parameters.size
    seeds = np.zeros((start + q.size + 2 * nv, 3 * nv))
    seeds[start : start + q.size, :nv] = tree.make_velocity_to_qdot_map(context)
    seeds[start + q.size :, nv:] = np.eye(2 * nv)
    W = lane_count()
    blocks = [
        evaluate_dual(tree, function, parameters, q, v, x, np.ascontiguousarray(seeds[:, i : i + W]))[1]
        for i in range(0, 3 * nv, W)
    ]
    columns = np.concatenate([np.zeros((nv, 0)), *blocks], axis=1)
    return columns[:, :nv], columns[:, nv : 2 * nv], columns[:, 2 * nv :]


def largest_errors(actual: Triple, desired: Triple) -> list[float]:
    """Return the largest error of each matrix, relative to one plus its largest entry."""
    return [
        float(np.max(np.abs(a - b), initial=0.0) / (1.0 + np.max(np.abs(b), initial=0.0)))
        for a, b in zip(actual, desired, strict=True)
    ]


def differences(
    f: Function, tree: mbt.MultibodyTree, q: Array, v: Array, step: float, dofs: Array | None = None
) -> tuple[Array, Array]:
    """Return central differences of f(q, v) along ``qdot = N(q) e_j``, and along v for `dofs` (or all)."""
    context = tree.create_default_context()
    context.q = q
    N, nv = tree.make_velocity_to_qdot_map(context), tree.num_velocities
    by_q = [(f(q + step * n, v) - f(q - step * n, v)) / (2 * step) for n in N.T]
    units = np.eye(nv) if dofs is None else np.eye(nv)[dofs]
    by_v = [(f(q, v + step * e) - f(q, v - step * e)) / (2 * step) for e in units]
    return np.array(by_q).reshape(nv, nv).T, np.array(by_v).reshape(-1, nv).T
