"""The force elements that users write in Python, as the compiled methods of a tree ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mbt.context.checks import forces_of
from mbt.context.context import Context
from mbt.context.multibody_forces import MultibodyForces
from mbt.errors import ShapeError
from mbt.math.arrays import FloatArray, as_float_array

if TYPE_CHECKING:
    from mbt._core.context import ContextCore, PositionKinematicsCache, VelocityKinematicsCache
    from mbt.tree import MultibodyTree
    from mbt.tree.force_elements import ForceElement

__all__ = ["add_user_forces", "calc_user_forces", "calc_user_generalized_forces", "differentiate_user_forces"]

# Of central differences: the cube root of the rounding error.
STEP = 6e-6


def calc_user_forces(
    elements: Sequence[ForceElement],
    context: ContextCore,
    pc: PositionKinematicsCache,
    vc: VelocityKinematicsCache,
) -> MultibodyForces:
    """Return the sum of the forces of these elements."""
    forces = MultibodyForces(context.tree)
    for element in elements:
        element.calc_and_add_force_contribution(context, pc, vc, forces)
    return forces


def add_user_forces(
    tree: MultibodyTree, q: object, v: object, external_forces: MultibodyForces | None
) -> MultibodyForces:
    """Return the forces of the user's elements for each state, plus the external forces.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree with such elements.
    q, v : array_like, shape (..., num_positions), (..., num_velocities)
        States; leading axes broadcast, also with those of the external forces.
    external_forces : MultibodyForces or None
        What else acts.
    """
    q_array = as_float_array(q, "q", (..., tree.num_positions))
    v_array = as_float_array(v, "v", (..., tree.num_velocities))
    shapes = [q_array.shape[:-1], v_array.shape[:-1]]
    if external_forces is not None:
        forces_of(tree, external_forces, "external_forces", single=False)
        shapes.append(external_forces.batch_shape)
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(f"leading axes do not broadcast: q {shapes[0]}, v {shapes[1]}") from None
    total = MultibodyForces(tree, shape)
    q_array = np.broadcast_to(q_array, (*shape, tree.num_positions))
    v_array = np.broadcast_to(v_array, (*shape, tree.num_velocities))
    body_forces, generalized_forces = total.body_forces, total.generalized_forces
    context = Context(tree)
    for i in np.ndindex(shape):
        context.q, context.v = q_array[i], v_array[i]
        forces = calc_user_forces(
            tree._user_force_elements or (),
            context,
            tree.eval_position_kinematics(context),
            tree.eval_velocity_kinematics(context),
        )
        body_forces[i] = forces.body_forces
        generalized_forces[i] = forces.generalized_forces
    if external_forces is not None:
        body_forces += external_forces.body_forces
        generalized_forces += external_forces.generalized_forces
    return total


def calc_user_generalized_forces(tree: MultibodyTree, context: ContextCore) -> FloatArray:
    """Return what the user's elements do to the degrees of freedom: J' F + tau, (num_velocities,)."""
    return tree._calc_user_generalized_forces(context)


def differentiate_user_forces(tree: MultibodyTree, context: Context) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives of J' F + tau of the user's elements along each dof, by central differences.

    The elements run 4 nv times on a copy of the Context. Errors are about 1e-10 of the size of the forces and
    of their third derivatives.
    """
    moved = context.clone()
    # A locked dof has derivatives too, and would refuse the step.
    moved._set_locked(0, tree.num_velocities, False)
    q, v = np.array(context.q), np.array(context.v)
    identity = np.eye(tree.num_velocities)
    by_q = np.empty((tree.num_velocities, tree.num_velocities))
    by_v = np.empty_like(by_q)

    def differentiate(name: str, values: FloatArray, direction: FloatArray, column: FloatArray) -> None:
        setattr(moved, name, values + STEP * direction)
        column[:] = calc_user_generalized_forces(tree, moved)
        setattr(moved, name, values - STEP * direction)
        column -= calc_user_generalized_forces(tree, moved)
        column /= 2 * STEP
        setattr(moved, name, values)

    for j, unit in enumerate(identity):
        differentiate("q", q, tree.map_velocity_to_qdot(context, unit), by_q[:, j])
        differentiate("v", v, unit, by_v[:, j])
    return by_q, by_v
