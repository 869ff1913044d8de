"""Derivatives of forward dynamics with constraints: of the whole solution, in numbers with derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.context.checks import forces_of
from mbt.context.tangents import make_tangent_context
from mbt.errors import SingularityError

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.context.multibody_forces import MultibodyForces
    from mbt.tree import MultibodyTree

__all__ = ["differentiate_constrained_dynamics"]


def differentiate_constrained_dynamics(
    tree: MultibodyTree,
    context: Context,
    tau_applied: Any,
    external_forces: MultibodyForces | None = None,
    *,
    stabilize: bool = False,
) -> tuple[Any, Any, Any]:
    """Return dvdot_dq along N, dvdot_dv and dvdot_dtau, (..., nv, nv), of any Context.

    A singular state is an error, and NaN where it is a sample of a batch.
    """
    shape, nv = context.batch_shape, tree.num_velocities
    samples: Any = context
    if external_forces is not None:
        name = "external_forces"
        if shape:
            forces = samples._external(external_forces, name)
        else:
            forces = forces_of(tree, external_forces, name, single=True)
        samples = context.clone()
        samples.applied_forces._add_arrays(*forces)
    if not shape:
        return _differentiate(tree, samples, tau_applied, stabilize)
    results = np.empty((3, *shape, nv, nv))
    for i in np.ndindex(shape):
        tau = None if tau_applied is None else np.broadcast_to(tau_applied, (*shape, nv))[i]
        try:
            with np.errstate(all="ignore"):
                results[(slice(None), *i)] = _differentiate(tree, samples._sample(i), tau, stabilize)
        except SingularityError:
            results[(slice(None), *i)] = np.nan
    return results[0], results[1], results[2]


def _differentiate(
    tree: MultibodyTree, context: Context, tau_applied: Any, stabilize: bool
) -> tuple[Any, Any, Any]:
    nv = tree.num_velocities
    N = tree.make_velocity_to_qdot_map(context)
    if not nv:
        return N, N, N
    q_rates = np.concatenate([N, np.zeros((N.shape[0], 2 * nv))], 1)
    moving = make_tangent_context(context, q_rates, np.eye(nv, 3 * nv, nv), None)
    tau = np.zeros(nv) if tau_applied is None else tau_applied
    seeds = moving.tree._lift(tau, np.eye(nv, 3 * nv, 2 * nv))
    vdot, _ = moving.tree.calc_constrained_forward_dynamics(moving, seeds, stabilize=stabilize)
    columns = moving.tree._derivatives_of(vdot, 3 * nv)
    # Contiguous, for the compiled core.
    return columns[:, :nv].copy(), columns[:, nv : 2 * nv].copy(), columns[:, 2 * nv :].copy()
