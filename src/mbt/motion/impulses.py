"""Forces in implicit steps, as the solver found them: each acts for the length of a step.

`implicit_step.pxd` writes a row of numbers for each step; a trajectory keeps the rows of the steps that
follow its samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbt.motion.over_time import contacts_of

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.motion.trajectory import Trajectory
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = [
    "OF_IMPULSES",
    "calc_of_impulses",
    "count_told",
    "middle_of",
    "middle_velocities",
    "split",
    "works_of_steps",
]

#: Quantities that a trajectory of implicit steps computes from these rows, not from its states.
OF_IMPULSES = frozenset(("vdot", "multipliers", "contact_forces", "passive_power"))
# Number of states computed at once.
_STATES_A_CALL = 1 << 12


class Told(NamedTuple):
    """The contents of a row.

    Attributes
    ----------
    vdot : ndarray, shape (..., num_velocities)
        Change of the velocity, divided by time.
    carried : ndarray, shape (..., num_velocities)
        The velocity that the bodies would have without forces.
    limit, friction : ndarray, shape (..., num_velocities)
        Forces of position limits, and of dry friction in joints [N m, N].
    multipliers : ndarray, shape (..., num_constraint_equations)
        Multipliers of the constraints.
    contact : ndarray, shape (..., num_points, 3)
        Forces at contact points, along the axes of the plane [N].
    """

    vdot: FloatArray
    carried: FloatArray
    limit: FloatArray
    friction: FloatArray
    multipliers: FloatArray
    contact: FloatArray


def count_told(tree: MultibodyTree) -> int:
    """Return the size of a row: the length of the step, then the contents of `Told`."""
    points = sum(contact.num_points for contact in contacts_of(tree))
    return 1 + 4 * tree.num_velocities + tree.num_constraint_equations + 3 * points


def split(tree: MultibodyTree, moved: FloatArray) -> Told:
    """Return the contents of rows, (..., `count_told`)."""
    nv, m = tree.num_velocities, tree.num_constraint_equations
    ends = np.cumsum([1, nv, nv, nv, nv, m])
    _, vdot, carried, limit, friction, multipliers, contact = np.split(moved, ends, axis=-1)
    points = contact.reshape(*contact.shape[:-1], contact.shape[-1] // 3, 3)
    return Told(vdot, carried, limit, friction, multipliers, points)


def middle_of(moved: FloatArray, v: FloatArray) -> FloatArray:
    """Return the mean of the velocities without forces and at the end of steps.

    Impulses times this velocity are exactly the change of the kinetic energy in the step.
    """
    nv = v.shape[-1]
    vdot, carried = moved[..., 1 : 1 + nv], moved[..., 1 + nv : 1 + 2 * nv]
    middle: FloatArray = 0.5 * (carried + v + moved[..., :1] * vdot)
    return middle


def middle_velocities(trajectory: Trajectory) -> FloatArray:
    """Return `middle_of` the steps of a trajectory."""
    moved: Any = trajectory._moved
    return middle_of(moved, trajectory.v)


def works_of_steps(trajectory: Trajectory, power: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the work between samples, (..., n - 1), and its error.

    The error is zero where samples are consecutive steps; elsewhere the power between samples is linear.
    """
    moved: Any = trajectory._moved
    lengths = np.diff(trajectory.time)
    held, line = lengths * power[..., :-1], 0.5 * lengths * (power[..., 1:] + power[..., :-1])
    is_whole = np.isclose(lengths, moved[..., :-1, 0], rtol=1e-6, atol=0.0)
    return np.where(is_whole, held, line), np.where(is_whole, 0.0, np.abs(line - held))


def calc_of_impulses(name: str, trajectory: Trajectory, context: Context) -> FloatArray:
    """Return one of `OF_IMPULSES` at all samples, (..., n) or (..., n, k)."""
    moved: Any = trajectory._moved
    told = split(context.tree, moved)
    if name == "vdot":
        return told.vdot.copy()
    if name == "multipliers":
        return told.multipliers.copy()
    from mbt.motion.powers import CONTROL, calc_given, place

    parts = []
    for first in range(0, len(trajectory), _STATES_A_CALL):
        now = slice(first, first + _STATES_A_CALL)
        moving = place(trajectory, context, now)
        if name == "contact_forces":
            parts.append(_turn_to_world(moving, told.contact[..., now, :, :]))
        else:
            given = calc_given(trajectory, moving, now)
            parts.append(sum((x for key, x in given.items() if key != CONTROL), np.zeros(moving.batch_shape)))
    return np.concatenate(parts, axis=len(context.batch_shape))


def _turn_to_world(moving: Any, forces: FloatArray) -> FloatArray:
    """Return forces at points in World, in one row, (..., 3 num_points)."""
    tree, first, parts = moving.tree, 0, [np.zeros((*moving.batch_shape, 0))]
    for contact in contacts_of(tree):
        X_WA = tree.calc_relative_transform(moving, tree.world_frame, contact.half_space_frame)
        turned = forces[..., first : first + contact.num_points, :] @ np.swapaxes(X_WA[..., :3, :3], -1, -2)
        parts.append(turned.reshape(*moving.batch_shape, 3 * contact.num_points))
        first += contact.num_points
    return np.concatenate(parts, axis=-1)
