"""Linearizations of functions of `mbt.functional`: results, and Jacobians with respect to coordinates.

Those of dynamics, steps and poses use their own derivatives, for all samples at once; all others use numbers
with derivatives, one sample after the other. Derivatives of trees are along tangents, ``qdot = N(q) v``; they
are multiplied by ``N^+`` for coordinates, as a change of a quaternion along itself does not rotate anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mbt import functional
from mbt._core.model.element_types import Orientation
from mbt.autodiff import initialize
from mbt.math.arrays import FloatArray
from mbt.tree import MultibodyTree

__all__ = ["LINEARIZATIONS", "linearize_each", "make_coordinate_map"]

Arrays = Sequence[Any]
#: Results and their Jacobians: for each result one per operand, of shape (..., *result, *operand).
Linearization = tuple[Any, ...]


def linearize_each(
    evaluate: Callable[..., Arrays], operands: Arrays, shapes: Sequence[tuple[int, ...]]
) -> Linearization:
    """Linearize any function of operands with these shapes, after leading axes that all share.

    Parameters
    ----------
    evaluate : callable
        Takes operands of one sample that carry derivatives.
    """
    batch = operands[0].shape[: operands[0].ndim - len(shapes[0])]
    samples = [np.reshape(a, (-1, *shape)) for a, shape in zip(operands, shapes, strict=True)]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    rows = []
    for sample in zip(*samples, strict=True):
        variables = initialize(*sample)
        results = evaluate(*(variables if isinstance(variables, tuple) else (variables,)))
        rows.append(_split(results, ends, shapes))
    columns = map(np.stack, zip(*rows, strict=True))
    return tuple(np.reshape(column, (*batch, *column.shape[1:])) for column in columns)


def _split(results: Arrays, ends: Any, shapes: Sequence[tuple[int, ...]]) -> list[FloatArray]:
    parts = [np.asarray(result.value) for result in results]
    for result in results:
        by_operand = np.split(result.derivatives, ends, axis=-1)
        parts += [
            part.reshape(*np.shape(result.value), *shape)
            for part, shape in zip(by_operand, shapes, strict=True)
        ]
    return parts


def _make_map(tree: MultibodyTree, q: Any, *, to_qdot: bool = False) -> Any:
    """Return N^+ or N at positions, or None if they are the identity."""
    if tree.is_velocity_equal_to_qdot:
        return None
    batch_shape = q.shape[:-1]
    context: Any = (
        tree.create_default_context(batch_shape=batch_shape) if batch_shape else tree.create_default_context()
    )
    context.q = q
    return (tree.make_velocity_to_qdot_map if to_qdot else tree.make_qdot_to_velocity_map)(context)


def _along_coordinates(tree: MultibodyTree, q: Any, rates: Any) -> Any:
    """Convert rates (..., m, nv) along tangents to rates (..., m, nq) along coordinates."""
    N_plus = _make_map(tree, q)
    return rates if N_plus is None else rates @ N_plus


def make_coordinate_map(tree: MultibodyTree, q: Any) -> Any:
    """Return N(q), or None if qdot = v."""
    return _make_map(tree, q, to_qdot=True)


def _linearize_inverse_dynamics(tree: MultibodyTree, q: Any, v: Any, vdot: Any) -> Linearization:
    dq, dv, M = functional.inverse_dynamics_derivatives(tree, q, v, vdot)
    return functional.inverse_dynamics(tree, q, v, vdot), _along_coordinates(tree, q, dq), dv, M


def _linearize_forward_dynamics(tree: MultibodyTree, q: Any, v: Any, tau: Any) -> Linearization:
    dq, dv, M_inverse = functional.forward_dynamics_derivatives(tree, q, v, tau)
    return functional.forward_dynamics(tree, q, v, tau), _along_coordinates(tree, q, dq), dv, M_inverse


def _linearize_constrained_forward_dynamics(
    tree: MultibodyTree, q: Any, v: Any, tau: Any, **options: Any
) -> Linearization:
    rates = functional.constrained_forward_dynamics_derivatives(tree, q, v, tau, **options)
    of_vdot, of_multipliers = (_along_coordinates(tree, q, dq) for dq in (rates[0], rates[3]))
    results = functional.constrained_forward_dynamics(tree, q, v, tau, **options)
    return *results, of_vdot, *rates[1:3], of_multipliers, *rates[4:]


def _linearize_step(tree: MultibodyTree, q: Any, v: Any, tau: Any, **options: Any) -> Linearization:
    """Return N(q1) A N^+(q), as steps move tangents; and |q1| = |q| for quaternions."""
    nv = tree.num_velocities
    q1, v1 = functional.step(tree, q, v, tau, **options)
    A, B = functional.step_derivatives(tree, q, v, tau, **options)
    by_q, by_v = _along_coordinates(tree, q, A[..., :nv]), A[..., nv:]
    rates = [(x[..., :nv, :], x[..., nv:, :]) for x in (by_q, by_v, B)]
    q_rates, v_rates = zip(*rates, strict=True)
    N = _make_map(tree, q1, to_qdot=True)
    if N is not None:
        q_rates = tuple(N @ x for x in q_rates)
        for mobilizer in tree.mobilizers:
            if mobilizer._type.row.orientation == Orientation.QUATERNION:
                part = slice(mobilizer.position_start, mobilizer.position_start + 4)
                along = q[..., part] / np.sum(q[..., part] ** 2, axis=-1, keepdims=True)
                q_rates[0][..., part, part] += q1[..., part, None] * along[..., None, :]
    return q1, v1, *q_rates, *v_rates


def _linearize_frame_pose(tree: MultibodyTree, q: Any, *, frame: Any) -> Linearization:
    """Return the rates of rotations, R' = [w] R, and of positions."""
    X_WF = functional.frame_pose(tree, q, frame)
    J = _along_coordinates(tree, q, functional.frame_jacobian(tree, q, frame))
    rates = np.zeros((*X_WF.shape, J.shape[-1]))
    # The cross product of each column of J with each column of R.
    columns = np.cross(J[..., :3, None, :], X_WF[..., :3, :3, None], axis=-3)
    rates[..., :3, :3, :], rates[..., :3, 3, :] = columns, J[..., 3:, :]
    return X_WF, rates


def _linearize_distances(tree: MultibodyTree, q: Any, *, scene: Any) -> Linearization:
    d, J = scene.distances(q, jacobian=True)
    return d, _along_coordinates(tree, q, J)


#: Each takes a tree, the operands and the options of a function.
LINEARIZATIONS: dict[str, Callable[..., Linearization]] = {
    "inverse_dynamics": _linearize_inverse_dynamics,
    "forward_dynamics": _linearize_forward_dynamics,
    "constrained_forward_dynamics": _linearize_constrained_forward_dynamics,
    "step": _linearize_step,
    "frame_pose": _linearize_frame_pose,
    "distances": _linearize_distances,
}
