"""Models with fewer positions: joints of a tree become welds."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, NotFinalizedError, quote
from mbt.math.arrays import FloatArray, as_finite_array
from mbt.tree.actuator import JointActuator
from mbt.tree.constraints import CouplerConstraint
from mbt.tree.element import MultibodyElement
from mbt.tree.force_elements.on_joint import JointForceElement
from mbt.tree.joint import Joint
from mbt.tree.joints import QuaternionFloatingJoint, WeldJoint, WeldMobilizer
from mbt.tree.multibody_tree import MultibodyTree
from mbt.tree.sensors import ForceTorqueSensor, JointSensor

if TYPE_CHECKING:
    from mbt.tree.mobilizer import Mobilizer

__all__ = ["lock_joints"]

# Largest disagreement of coupled positions, relative to the larger one, or in rad or m.
_TOLERANCE = 1e-9

# The locked mobilizers, with their positions.
Positions = dict["Mobilizer", FloatArray]


def lock_joints(
    tree: MultibodyTree, joints: Mapping[Any, object] | Iterable[str | Joint | Mobilizer]
) -> MultibodyTree:
    """Return a model in which some joints of a tree are welds.

    The result is a new, finalized tree. Each locked joint is a `WeldJoint` of the same name and index there,
    with the pose X_FM that the joint has at its position; bodies, frames and all else keep names and order.
    Its q is that of `tree` without the locked positions, v likewise. `tree` does not change. (If a joint that
    ``finalize()`` made is locked, the others become ordinary joints of the model.)

    Elements that act only along a locked joint are removed: actuators, springs, friction, damping, limits,
    and a `JointSensor`; a `ForceTorqueSensor` moves to the weld. The inertia of its rotor, which no longer
    turns, is removed too; with ``joint.lock(context)`` and in the mass matrix of `tree` it does not affect
    other joints either.

    Joints that a `CouplerConstraint` couples to a locked one are locked where the coupler puts them, and the
    coupler is removed.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree. It need not compute in doubles; the result does.
    joints : mapping of str to array_like, or iterable of str
        Positions by name, as `MultibodyTree.q_from_dict` takes them: ``{"wrist": 0.3}``, also
        ``{"left::wrist": 0.3}``; or names alone, for default positions. A joint or mobilizer may stand for
        its name, even one that ``finalize()`` made: a floating base is locked at a pose.

    Returns
    -------
    MultibodyTree

    Raises
    ------
    NotFinalizedError
        Before ``tree.finalize()``.
    UnknownNameError
        When there is no such joint; the message lists the nearest names.
    ArgumentValueError
        When coupled joints are to be locked where their coupler does not allow it; when an element written in
        Python refers to a locked joint; when a quaternion is zero.
    ArgumentTypeError, ShapeError
        When `joints` is neither of these, or a position has another size.

    See Also
    --------
    MultibodyTree.edit : A copy for all other changes.

    Examples
    --------
    >>> import mbt
    >>> arm = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> name = arm.joints[-2].name
    >>> small = mbt.lock_joints(arm, {name: 0.3})
    >>> arm.num_positions - small.num_positions, small.joints[-2].type_name
    (1, 'weld')
    """
    if not isinstance(tree, MultibodyTree):
        raise ArgumentTypeError(f"lock_joints: tree: expected a MultibodyTree, got {type(tree).__name__}")
    if not tree.is_finalized:
        raise NotFinalizedError("lock_joints: the tree must be finalized first.")
    positions = _positions_to_lock(tree, joints)
    _follow_couplers(tree, positions)
    work = tree.edit()
    if any(mobilizer.joint is not None and mobilizer.joint.is_ephemeral for mobilizer in positions):
        _keep_floating_joints(work, tree)
    # A mobilizer without positions is a weld already.
    welds = dict(_make_weld(work, mobilizer, q) for mobilizer, q in positions.items() if q.size)
    for sensor in work.sensors:
        if isinstance(sensor, ForceTorqueSensor):
            sensor._joint = cast("Joint", welds.get(sensor.joint, sensor.joint))
    work._elements.rebuild(_elements_on(welds, work), welds)
    work.finalize()
    return work


def _positions_to_lock(tree: MultibodyTree, joints: object) -> Positions:
    """Return the position at which the caller locks each mobilizer."""
    if isinstance(joints, (str, bytes, Joint)) or not isinstance(joints, Iterable):
        raise ArgumentTypeError(
            "lock_joints: joints: expected a mapping of names to positions, or a list of names, got "
            f"{quote(joints)}"
        )
    lookup = tree._lookup("lock_joints")
    items = joints.items() if isinstance(joints, Mapping) else ((key, None) for key in joints)
    positions: Positions = {}
    for key, value in items:
        mobilizer = lookup.find(key, "lock_joints")
        if mobilizer in positions:
            raise ArgumentValueError(f"lock_joints: joints: {_label(mobilizer)} is given twice")
        positions[mobilizer] = (
            _as_positions(mobilizer, value) if isinstance(joints, Mapping) else _default_positions(mobilizer)
        )
    return positions


def _as_positions(mobilizer: Mobilizer, value: object) -> FloatArray:
    what, size = f"lock_joints: position of {_label(mobilizer)}", mobilizer.num_positions
    q = as_finite_array(value, what)
    return as_finite_array([q] if size == 1 and q.ndim == 0 else q, what, (size,))


def _default_positions(mobilizer: Mobilizer) -> FloatArray:
    return mobilizer._zero_positions() if mobilizer.joint is None else mobilizer.joint.default_positions


def _follow_couplers(tree: MultibodyTree, positions: Positions) -> None:
    """Lock the joints that are coupled to locked ones: ``q0 = gear_ratio q1 + offset``.

    Raises
    ------
    ArgumentValueError
        When two positions contradict their coupler.
    """
    couplers: dict[Mobilizer, list[CouplerConstraint]] = {}
    for constraint in tree.constraints:
        if isinstance(constraint, CouplerConstraint):
            for joint in (constraint.joint0, constraint.joint1):
                couplers.setdefault(joint.mobilizer, []).append(constraint)
    waiting = deque(positions)
    while waiting:
        for coupler in couplers.get(waiting.popleft(), ()):
            first, second = coupler.joint0.mobilizer, coupler.joint1.mobilizer
            ratio, offset = coupler.default_gear_ratio, coupler.default_offset
            if second in positions:
                follower, q = first, ratio * positions[second] + offset
            elif ratio != 0.0:
                follower, q = second, (positions[first] - offset) / ratio
            else:
                # The first stands still wherever the second is.
                follower, q = first, np.array([offset])
            if follower not in positions:
                positions[follower] = q
                waiting.append(follower)
            elif not math.isclose(positions[follower][0], q[0], rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
                raise ArgumentValueError(
                    f"lock_joints: {_label(follower)} is at {positions[follower][0]:g}, but {coupler._label} "
                    f"puts it at {q[0]:g}, where the other joint is locked"
                )


def _keep_floating_joints(work: MultibodyTree, tree: MultibodyTree) -> None:
    """Add the joints that ``finalize()`` made to a copy to edit, so that all bodies keep their order."""
    for joint in tree.joints:
        if joint.is_ephemeral:
            frame_M = work.bodies[joint.child_body.index].body_frame
            work.add_joint(QuaternionFloatingJoint(joint.name, work.world_frame, frame_M))


def _make_weld(
    work: MultibodyTree, mobilizer: Mobilizer, q: FloatArray
) -> tuple[MultibodyElement, MultibodyElement]:
    """Return the joint of `work`, or the mobilizer without one, for a mobilizer at q; and its weld."""
    X_FM = mobilizer._calc_declared_pose(q)
    if not np.isfinite(X_FM).all():
        raise ArgumentValueError(
            f"lock_joints: position of {_label(mobilizer)}: expected those of a finite pose, with a "
            f"quaternion that is not zero, got {q.tolist()}"
        )
    if mobilizer.joint is not None:
        joint = work.joints[mobilizer.joint.index]
        return joint, WeldJoint(joint.name, joint.frame_on_parent, joint.frame_on_child, X_FM)
    old = work.mobilizers[mobilizer.index]
    weld = WeldMobilizer(old.inboard_frame, old.outboard_frame, X_FM, model_instance=old.model_instance)
    weld._name = old.name
    return old, weld


def _elements_on(joints: Container[MultibodyElement], tree: MultibodyTree) -> list[MultibodyElement]:
    """Return the elements that act only along these joints: locking removes them.

    Raises
    ------
    ArgumentValueError
        When another element refers to one of them.
    """
    gone: list[MultibodyElement] = []
    for element in tree._elements.in_order():
        needed = [joint for joint, _ in element._needs() if joint in joints]
        if needed and not isinstance(
            element, (JointActuator, JointForceElement, CouplerConstraint, JointSensor)
        ):
            raise ArgumentValueError(
                f"lock_joints: {element._label}, a {type(element).__name__}, refers to {needed[0]._label}, "
                "which would become a weld: remove it first, on tree.edit()"
            )
        gone += [element] if needed else []
    return gone


def _label(mobilizer: Mobilizer) -> str:
    return (mobilizer.joint or mobilizer)._label
