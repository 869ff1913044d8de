"""The places of everything in one state, or in those of a batch, as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbt.errors import SingularityError
from mbt.math.poses import matrix_to_quaternion

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.motion.shape_contacts import ContactSample
    from mbt.tree.multibody_tree import MultibodyTree
    from mbt.viewer.scene import ModelScene

__all__ = ["FARTHEST", "MOST_STATES", "Snapshot", "take_snapshot"]

#: The most states of a batch that are drawn: more look like a cloud, and are slow in the browser.
MOST_STATES = 200
#: The largest coordinates that are drawn [m]: browsers use single precision.
FARTHEST = 1e12


class Snapshot(NamedTuple):
    """Poses of bodies, a row for each of n states; centre of mass, contacts and distances of the first one.

    The centre of mass of a model without mass is NaN.
    """

    X_WB: FloatArray  # (n, num_bodies, 4, 4)
    quaternions: FloatArray  # (n, num_bodies, 4), of the rotations
    com: FloatArray  # (3,)
    contacts: FloatArray  # (k, 3), of all points, in World [m]
    forces: FloatArray  # (k, 3) [N]
    distances: FloatArray  # (pairs,) [m]
    witnesses: FloatArray  # (pairs, 2, 3), points on both shapes of each pair, in World [m]


def take_snapshot(
    scene: ModelScene, context: Context, touching: ContactSample | None = None
) -> Snapshot | None:
    """Return the places of everything, or None if the state is not finite, singular, or too far away.

    Such states of a batch are left out; of more than `MOST_STATES`, evenly spaced ones are drawn. Shapes that
    are `touching` add their points to the contacts, and the forces on the bodies that can move.
    """
    tree = scene.tree
    try:
        X_WB = np.asarray(tree.eval_position_kinematics(context).X_WB).reshape(-1, tree.num_bodies, 4, 4)
    except SingularityError:
        return None
    is_somewhere = np.asarray((abs(X_WB) < FARTHEST).all(axis=(1, 2, 3)))
    if not is_somewhere[0]:
        return None
    points, forces = [np.empty((0, 3))], [np.empty((0, 3))]
    for element in scene.contacts:
        X_WF = _first(element.frame.calc_pose_in_world(context), 2)
        points.append(element.p_FC @ X_WF[:3, :3].T + X_WF[:3, 3])
        forces.append(np.nan_to_num(_first(element.calc_contact_forces(context), 2), posinf=0.0, neginf=0.0))
    if touching is not None and scene.touching is not None:
        shapes, pairs = scene.touching._shapes, scene.touching._pairs
        stands = np.array([shapes[pairs[i][1]].node == 0 for i in touching.pair], dtype=np.bool_)
        points.append(touching.p_W)
        forces.append(np.where(stands[:, np.newaxis], -touching.force_W, touching.force_W))
    X_WB = X_WB[is_somewhere]
    if len(X_WB) > MOST_STATES:
        X_WB = X_WB[np.linspace(0, len(X_WB) - 1, MOST_STATES).astype(int)]
    return Snapshot(
        X_WB,
        matrix_to_quaternion(X_WB[..., :3, :3]),
        _find_center_of_mass(tree, context),
        np.concatenate(points),
        np.concatenate(forces),
        *_find_distances(scene, context),
    )


def _find_distances(scene: ModelScene, context: Context) -> tuple[FloatArray, FloatArray]:
    if scene.collisions is None:
        return np.zeros(0), np.zeros((0, 2, 3))
    own = None if context.batch_shape else context
    d, p_WA, p_WB, _ = scene.collisions.distances(_first(context.q, 1), witness=True, context=own)
    return d, np.stack([p_WA, p_WB], axis=1)


def _find_center_of_mass(tree: MultibodyTree, context: Context) -> FloatArray:
    try:
        return _first(tree.calc_center_of_mass_position_in_world(context), 1)
    except SingularityError:
        return np.full(3, np.nan)


def _first(array: object, ndim: int) -> FloatArray:
    """Return the entry of the first state of a batch, or of the only one."""
    numbers = np.asarray(array, dtype=np.float64)
    first: FloatArray = numbers.reshape(-1, *numbers.shape[numbers.ndim - ndim :])[0]
    return first
