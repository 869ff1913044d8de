"""Functions of arrays evaluated state by state on a Context, for forces and for elements in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.context.checks import forces_of
from mbt.context.context import Context
from mbt.context.multibody_forces import MultibodyForces
from mbt.context.user_forces import calc_user_forces
from mbt.errors import ShapeError, SingularityError
from mbt.math.arrays import FloatArray, as_float_array

if TYPE_CHECKING:
    from mbt.tree import MultibodyTree

__all__ = ["add_user_forces", "calc_single", "differentiate_each", "sum_of_forces"]


def add_user_forces(
    tree: MultibodyTree, q: object, v: object, external_forces: MultibodyForces | None
) -> MultibodyForces:
    """Return the forces of the user's elements for each state, plus the external forces.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree with force elements written in Python.
    q, v : array_like, shape (..., num_positions), (..., num_velocities)
        States; leading axes broadcast, also with those of the external forces.
    external_forces : MultibodyForces or None
        Other forces on the tree.
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


def calc_single(
    tree: MultibodyTree, method: str, operands: Sequence[FloatArray], **keywords: object
) -> FloatArray:
    """Return the result of a method of the tree for one state.

    `operands` are q, v, vdot or tau, and, if forces are applied, the body forces and generalized forces.
    """
    context = Context(tree)
    context.q, context.v = operands[:2]
    result: FloatArray = getattr(tree, method)(context, operands[2], _forces(tree, operands), **keywords)
    return result


def _forces(tree: MultibodyTree, operands: Sequence[FloatArray]) -> MultibodyForces | None:
    if len(operands) == 3:
        return None
    forces = MultibodyForces(tree)
    forces.body_forces[:], forces.generalized_forces[:] = operands[3:]
    return forces


def sum_of_forces(
    tree: MultibodyTree,
    body_forces: FloatArray,
    generalized_forces: FloatArray,
    external_forces: MultibodyForces | None,
) -> MultibodyForces:
    """Return the forces of each state, (..., 6 num_bodies) and (..., num_velocities), plus external ones."""
    body_forces = body_forces.reshape(*body_forces.shape[:-1], tree.num_bodies, 6)
    if external_forces is not None:
        more, more_generalized = forces_of(tree, external_forces, "external_forces", single=False)
        try:
            body_forces = body_forces + more
        except ValueError:
            raise ShapeError(
                f"leading axes do not broadcast: multipliers {body_forces.shape[:-2]}, "
                f"external_forces {more.shape[:-2]}"
            ) from None
        generalized_forces = generalized_forces + more_generalized
    total = MultibodyForces(tree, body_forces.shape[:-2])
    total.body_forces[...] = body_forces
    total.generalized_forces[...] = generalized_forces
    return total


def differentiate_each(
    tree: MultibodyTree,
    method: str,
    operands: Sequence[FloatArray],
    shape: tuple[int, ...],
    out: tuple[FloatArray, ...],
    **keywords: object,
) -> tuple[FloatArray, ...]:
    """Fill `out` with the results for each state of a method of the tree that returns derivatives.

    `operands` are q, v, vdot or tau, and, if forces are applied, the body forces and generalized forces. A
    singular state is an error if it is the only one; otherwise its results are NaN.
    """
    nv = tree.num_velocities
    cores = [(tree.num_positions,), (nv,), (nv,), (tree.num_bodies, 6), (nv,)]
    arrays = [np.broadcast_to(a, shape + core) for a, core in zip(operands, cores, strict=False)]
    context = Context(tree)
    calc: Callable[..., Any] = getattr(tree, method)
    for i in np.ndindex(shape):
        try:
            context.q, context.v = arrays[0][i], arrays[1][i]
            results = calc(context, arrays[2][i], _forces(tree, [array[i] for array in arrays]), **keywords)
        except SingularityError:
            if not shape:
                raise
            results = (np.nan,) * len(out)
        for array, result in zip(out, results, strict=True):
            array[i] = result
    return out
