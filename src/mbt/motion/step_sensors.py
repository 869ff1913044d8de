"""Sensor values in implicit steps, from the accelerations and the forces that the solver found."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.quantities.names import Quantity
from mbt.motion.implicit import take_anew
from mbt.motion.impulses import split
from mbt.motion.over_time import contacts_of
from mbt.motion.powers import at_end, place
from mbt.tree.force_elements.springs_and_dampers import SpringsAndDampers

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.motion.trajectory import Trajectory

__all__ = ["calc_sensors"]

# Number of states computed at once.
_STATES_A_CALL = 1 << 12


def calc_sensors(trajectory: Trajectory, context: Context) -> FloatArray:
    """Return the sensor values of a tree at all samples, (..., n, num_sensor_values).

    Forces on bodies are those of the steps after the samples. Generalized forces are those that the
    accelerations of the steps require; they pass through the joints.
    """
    moved: Any = trajectory._moved
    # Forces that steps compute themselves are added explicitly.
    own, touched = take_anew(context), _forces_of_shapes(trajectory, context)
    most = max(1, _STATES_A_CALL // max(1, math.prod(context.batch_shape)))
    parts = []
    for first in range(0, len(trajectory), most):
        now = slice(first, first + most)
        moving, given = place(trajectory, own, now), place(trajectory, context, now)
        told = split(context.tree, moved[..., now, :])
        forces = moving.applied_forces
        forces.body_forces[...] += _forces_on_bodies(given, told, moved[..., now, :])
        if touched is not None:
            forces.body_forces[...] += touched[..., now, :, :]
        for constraint in context.tree.constraints:
            constraint.set_enabled_in(moving, False)
        forces.generalized_forces[...] = 0.0
        needed = context.tree.calc_inverse_dynamics(moving, told.vdot, forces, include_force_elements=True)
        forces.generalized_forces[...] = needed
        parts.append(context.tree.calc_sensors(moving))
    return np.concatenate(parts, axis=len(context.batch_shape))


def _forces_on_bodies(given: Any, told: Any, moved: FloatArray) -> FloatArray:
    """Return the forces of contact points, elements between bodies and constraints, (..., num_bodies, 6)."""
    tree = given.tree
    forces = given._new_forces()
    first = 0
    for element in contacts_of(tree):
        A, C = element.half_space_frame, element.frame
        R_WA = tree.calc_relative_transform(given, tree.world_frame, A)[..., :3, :3]
        f_W = told.contact[..., first : first + element.num_points, :] @ np.swapaxes(R_WA, -1, -2)
        first += element.num_points
        points = np.swapaxes(element.get_p_FC(given), -1, -2)
        p_W = np.swapaxes(tree.calc_points_positions(given, C, points, tree.world_frame), -1, -2)
        for body, sign in ((C.body, 1.0), (A.body, -1.0)):
            _add_forces_at(given, forces.body_forces, body, p_W, sign * f_W)
    v1 = given.v + moved[..., :1] * told.vdot
    for element in tree.force_elements:
        if isinstance(element, SpringsAndDampers):
            element.calc_and_add_force_contribution(at_end(element, given, v1, moved), forces=forces)
    result: FloatArray = forces.body_forces
    if tree.num_constraint_equations:
        both = given._evaluate(Quantity.CONSTRAINT_FORCES, (), told.multipliers)
        result = result + both[..., : 6 * tree.num_bodies].reshape(result.shape)
    return result


def _add_forces_at(moving: Any, body_forces: FloatArray, body: Any, p_W: FloatArray, f_W: FloatArray) -> None:
    """Add forces at points in World, (..., k, 3), to those on a body about its origin."""
    origin = moving.tree.eval_position_kinematics(moving).X_WB[..., body.node_index, :3, 3]
    arm = p_W - origin[..., np.newaxis, :]
    body_forces[..., body.node_index, :3] += np.cross(arm, f_W).sum(axis=-2)
    body_forces[..., body.node_index, 3:] += f_W.sum(axis=-2)


def _forces_of_shapes(trajectory: Trajectory, context: Context) -> FloatArray | None:
    """Return the forces of shapes in contact, (..., n, num_bodies, 6); None without contact of shapes."""
    contact: Any = trajectory._contact
    if contact is None:
        return None
    from mbt.motion.shape_contacts import find_touches

    tree, n = context.tree, len(trajectory)
    X_WB = np.asarray(tree.eval_position_kinematics(place(trajectory, context, slice(None))).X_WB)
    origins = X_WB.reshape(-1, n, *X_WB.shape[-3:])[..., :3, 3]
    forces = np.zeros((*origins.shape[:-1], 6))
    ends = contact.nodes_of_pairs()
    for i, (rows, _) in enumerate(find_touches(trajectory, context, trajectory.v)):
        sample, pair = rows[:, 0].astype(np.intp), rows[:, 1].astype(np.intp)
        p_W, f_W = rows[:, 2:5], rows[:, 8:11]
        for end, sign in ((0, -1.0), (1, 1.0)):  # They act on the second shape.
            node = ends[pair, end]
            f = sign * f_W
            torque = np.cross(p_W - origins[i, sample, node], f)
            np.add.at(forces[i], (sample, node), np.concatenate([torque, f], axis=-1))
    return forces.reshape(*X_WB.shape[:-2], 6)
