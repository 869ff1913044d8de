"""Rollouts of trees with servos, whose efforts depend on the state: one step after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.context.checks import check_parts, write_parts
from mbt.errors import SingularityError
from mbt.math.arrays import as_count
from mbt.motion.operands import as_spread_array, broadcast
from mbt.motion.rollouts import rollout_context
from mbt.tree.servos import calc_efforts, read_servos

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.motion.shape_contacts import TouchingShapes

__all__ = ["rollout_with_servos"]


def rollout_with_servos(
    context: Context,
    tau: object,
    dt: Any,
    out: object = None,
    *,
    method: object,
    every: object,
    contacts: TouchingShapes | None,
) -> tuple[Any, Any]:
    """Return the states that a Context with servos reaches, as `rollout_context` does.

    Servo efforts are those at the beginning of each step.
    """
    tree = context.tree
    forces = as_spread_array(tree, tau, "tau", (..., None, tree.num_velocities))
    broadcast({"tau": forces.shape[:-2]}, context.batch_shape)
    stride = as_count(every, "every")
    num_kept = forces.shape[-2] // stride
    servos = read_servos(tree, context)
    batch, sizes = context.batch_shape, (tree.num_positions, tree.num_velocities)
    outs: Any = (None, None)
    if out is not None:
        outs = check_parts(out, [(*batch, num_kept + 1, n) for n in sizes], context._numbers)
    # Arguments of later steps are the same, so checking the first step is enough.
    rollout_context(context, forces[..., :0, :], dt, method=method, contacts=contacts)
    q, v = (np.full((*batch, num_kept + 1, n), np.nan) for n in sizes)
    moving, start = context.clone(), context.time
    # In the order of `mbt.simulate`, so that sums round alike.
    dofs = [actuator.velocity_start for actuator in tree.joint_actuators]
    forces = context._numbers.add_at(forces, dofs, context.actuation[..., np.newaxis, :])
    moving.actuation = np.zeros_like(context.actuation)
    q[..., 0, :], v[..., 0, :] = moving.q, moving.v
    B = tree.actuation_matrix[:, servos.actuators].T
    for i in range(num_kept * stride):
        with np.errstate(invalid="ignore"):  # from samples that are not finite
            efforts = calc_efforts(servos, moving.q, moving.v) @ B
        try:
            q1, v1 = rollout_context(
                moving, (forces[..., i, :] + efforts)[..., np.newaxis, :], dt, method=method
            )
        except SingularityError:
            if i == 0:
                raise
            break  # It stays NaN from here on.
        moving.q, moving.v, moving.time = q1[..., 1, :], v1[..., 1, :], start + (i + 1) * dt
        if (i + 1) % stride == 0:
            row = (i + 1) // stride
            q[..., row, :], v[..., row, :] = moving.q, moving.v
    return write_parts(context._numbers, outs, (q, v))
