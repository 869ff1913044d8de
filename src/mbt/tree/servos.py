"""Servos: actuators with a stiffness and a damping, which drive their joints to the targets of a Context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbt._core.engines.context import ContextCore
from mbt.errors import ArgumentTypeError, quote
from mbt.math.leading_axes import entries_of
from mbt.tree.context_access import raise_context_mismatch

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["CURE_OF_MOTORS", "Servos", "calc_efforts", "calc_servo_efforts", "has_servos", "read_servos"]

#: Advice in errors about plain motors. URDF and SDF have no servos, so most readers loaded a model.
CURE_OF_MOTORS = (
    "motors become servos with a stiffness or a damping, in add_joint_actuator or, for a model from a file, "
    "by set_default_stiffness and set_default_damping in tree.edit()"
)


class Servos(NamedTuple):
    """The servos of a tree in index order, with their numbers in a Context; plain motors are left out.

    Attributes
    ----------
    actuators : ndarray of int, shape (num_servos,)
        Index of each among the actuators of the tree.
    positions, dofs : ndarray of int, shape (num_servos,)
        Index of its joint in q and in v.
    stiffness, damping : ndarray, shape (..., num_servos)
        Gains [N m/rad, N/m] and [N m s/rad, N s/m].
    q_d, v_d : ndarray, shape (..., num_servos)
        Targets.
    effort_limits : ndarray, shape (num_servos,)
        Largest efforts [N m, N]; inf where there is no limit.
    """

    actuators: npt.NDArray[np.intp]
    positions: npt.NDArray[np.intp]
    dofs: npt.NDArray[np.intp]
    stiffness: FloatArray
    damping: FloatArray
    q_d: FloatArray
    v_d: FloatArray
    effort_limits: FloatArray


def has_servos(tree: MultibodyTree) -> bool:
    """Return whether any actuator of a tree is a servo."""
    return any(actuator.is_servo for actuator in tree.joint_actuators)


def read_servos(tree: MultibodyTree, context: Context) -> Servos:
    """Return the servos of `tree` with the gains and targets of `context`, in doubles.

    Raises
    ------
    ArgumentTypeError, ContextMismatchError
        When it is not a Context of the tree, or of a scalar other than double.
    """
    servos, actuators, positions, dofs, effort_limits = _servos_of(tree, context)
    if context.batch_shape:
        values = np.empty((4, *context.batch_shape, len(servos)))
        for i, servo in enumerate(servos):
            gains, target = servo._servo_values(context)
            for k, pair in enumerate((gains, target)):
                values[2 * k, ..., i], values[2 * k + 1, ..., i] = pair[..., 0], pair[..., 1]
    else:
        # Arrays of two are slow to write one by one.
        pairs = [servo._servo_values(context) for servo in servos]
        values = np.array(pairs, dtype=np.float64).reshape(-1, 4).T.copy()
    stiffness, damping, q_d, v_d = values
    return Servos(actuators, positions, dofs, stiffness, damping, q_d, v_d, effort_limits)


def _servos_of(tree: MultibodyTree, context: Context) -> tuple[Any, ...]:
    """Check a Context, and return the result of `_find_servos`."""
    if not isinstance(context, ContextCore) or context.tree is not tree:
        raise_context_mismatch(tree, context)
    if tree.scalar_type.name != "double":
        raise ArgumentTypeError(
            f"context: expected a Context of doubles, got one of {quote(tree.scalar_type.name)}, for which "
            "servo efforts are not computed"
        )
    found: tuple[Any, ...] = tree._fact("servos", lambda: _find_servos(tree))
    return found


def _find_servos(tree: MultibodyTree) -> tuple[Any, ...]:
    """Return the servos, and those fields of `Servos` that no Context changes."""
    servos = [actuator for actuator in tree.joint_actuators if actuator.is_servo]
    places = [(servo.index, servo.joint.position_start, servo.velocity_start) for servo in servos]
    indices = np.array(places, dtype=np.intp).reshape(-1, 3).T
    limits = np.array([servo.effort_limit for servo in servos], dtype=np.float64)
    for array in (indices, limits):
        array.setflags(write=False)
    return servos, *indices, limits


def calc_servo_efforts(tree: MultibodyTree, context: Context) -> FloatArray:
    """Return the efforts of all actuators as servos; see ``MultibodyTree.calc_servo_efforts``."""
    has_any = bool(_servos_of(tree, context)[0])
    efforts = np.zeros((*context.batch_shape, len(tree.joint_actuators)))
    if has_any:
        servos = read_servos(tree, context)
        efforts[..., servos.actuators] = calc_efforts(servos, context.q, context.v)
    return efforts


def calc_efforts(servos: Servos, q: FloatArray, v: FloatArray) -> FloatArray:
    """Return the effort of each servo [N m, N], clipped to its limit, shape (..., num_servos)."""
    # Ordinary arrays: the views of a Context take twice as long.
    effort = servos.stiffness * (servos.q_d - entries_of(np.asarray(q), servos.positions))
    effort += servos.damping * (servos.v_d - entries_of(np.asarray(v), servos.dofs))
    # As `np.clip`, which takes several times as long.
    clipped: FloatArray = np.minimum(np.maximum(effort, -servos.effort_limits), servos.effort_limits)
    return clipped
