"""Messages of ROS as dictionaries: joint states and transforms. ROS need not be installed.

A dictionary has the fields of its message, so ``rosidl_runtime_py.set_message_fields`` fills a message with
it. Functions that read also take a message, or any object with these fields. A `robot_description` is the
text of a URDF, which `mbt.load_model` takes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, ShapeError, quote
from mbt.interop.joints import find_joint
from mbt.math import as_pose, make_pose, matrix_to_quaternion
from mbt.math.arrays import as_finite, as_float_array, describe_type
from mbt.tree.constraints import CouplerConstraint

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.math.arrays import FloatArray
    from mbt.tree.body import RigidBody
    from mbt.tree.joint import Joint
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = [
    "JointStateArrays",
    "make_joint_state",
    "make_transform",
    "make_transforms",
    "read_joint_state",
    "read_transform",
]

_FIELDS = ("position", "velocity", "effort")


class JointStateArrays(NamedTuple):
    """The contents of a message, in the order of a tree.

    Attributes
    ----------
    q : ndarray, shape (num_positions,)
        Positions [rad, m].
    v : ndarray, shape (num_velocities,)
        Velocities [rad/s, m/s].
    tau : ndarray, shape (num_velocities,)
        Generalized forces [N m, N].
    """

    q: FloatArray
    v: FloatArray
    tau: FloatArray


def make_joint_state(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike | None = None,
    tau: npt.ArrayLike | None = None,
    *,
    time: float = 0.0,
) -> dict[str, Any]:
    """Return a ``sensor_msgs/JointState``, which holds only joints with one degree of freedom.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (num_positions,)
        Positions.
    v, tau : array_like, shape (num_velocities,), optional
        Velocities and generalized forces; without them these fields are empty.
    time : float, optional
        Time of the header [s].

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array does not have the right shape or type.

    Examples
    --------
    >>> import mbt
    >>> from mbt.interop import ros
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> message = ros.make_joint_state(tree, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    >>> message["name"][:2], message["position"][:2], message["velocity"]
    (['waist', 'shoulder'], [0.1, 0.2], [])
    >>> ros.read_joint_state(tree, {"name": ["elbow"], "position": [1.5]}).q
    array([0. , 0. , 1.5, 0. , 0. , 0. ])
    """
    sizes = tree.num_positions, tree.num_velocities, tree.num_velocities
    joints = [joint for joint in tree.joints if _has_one_dof(joint)]
    message: dict[str, Any] = {"header": _header(time, ""), "name": [joint.name for joint in joints]}
    for field, argument, value, size in zip(_FIELDS, ("q", "v", "tau"), (q, v, tau), sizes, strict=True):
        array = None if value is None else as_float_array(value, argument, (size,))
        message[field] = [] if array is None else [float(array[_place(joint, field)]) for joint in joints]
    return message


def read_joint_state(
    tree: MultibodyTree,
    message: Any,
    *,
    q: npt.ArrayLike | None = None,
    v: npt.ArrayLike | None = None,
    tau: npt.ArrayLike | None = None,
    model_instance: int | str | None = None,
    ignore_unknown: bool = False,
) -> JointStateArrays:
    """Return positions, velocities and forces; a ``sensor_msgs/JointState`` provides some of them.

    Joints may come in any order. A mimic joint that the message does not name follows its master.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    message : mapping or object
        A message with `name`, and `position`, `velocity`, `effort`, each of the same length, empty or
        missing.
    q, v, tau : array_like, optional
        Values of joints that the message does not name; by default the tree's default positions, and zeros.
    model_instance : int or str, optional
        The model instance of the joints, if several have joints of these names.
    ignore_unknown : bool, optional
        Whether the message may name joints that the tree does not have.

    Raises
    ------
    UnknownNameError
        When a joint is not in the tree.
    ArgumentValueError
        When one is named twice, or does not have exactly one degree of freedom.
    ShapeError, ArgumentTypeError
        When a field and the names differ in length, or a field does not hold numbers.
    """
    names = _field(message, "name", "message")
    is_list = isinstance(names, Sequence) and not isinstance(names, (str, bytes))
    if not (is_list and all(isinstance(name, str) for name in names)):
        raise ArgumentTypeError(f"message: expected names in name, got {describe_type(names)}")
    if len(set(names)) < len(names):
        raise ArgumentValueError(f"message: expected each joint once, got {quote(list(names))}")
    found = _find_joints(tree, names, model_instance, ignore_unknown)
    for joint in found:
        if joint is not None and not _has_one_dof(joint):
            raise ArgumentValueError(
                f"message: expected joints with one degree of freedom, but {joint._label} has "
                f"{joint.num_velocities}"
            )
    base = (
        (tree.default_positions if q is None else q, "q", tree.num_positions),
        (np.zeros(tree.num_velocities) if v is None else v, "v", tree.num_velocities),
        (np.zeros(tree.num_velocities) if tau is None else tau, "tau", tree.num_velocities),
    )
    arrays = [np.array(as_float_array(value, name, (size,))) for value, name, size in base]
    for field, array in zip(_FIELDS, arrays, strict=True):
        given = _field(message, field, "message", ())
        numbers = as_float_array(given, f"message: {field}", (None,))
        if numbers.size not in (0, len(names)):
            raise ShapeError(
                f"message: {field}: expected {len(names)} numbers, one for each name, got {numbers.size}"
            )
        if numbers.size:
            named = {joint for joint in found if joint is not None}
            for joint, number in zip(found, numbers, strict=True):
                if joint is not None:
                    array[_place(joint, field)] = number
            if field != "effort":
                _let_mimics_follow(tree, array, field, named)
    return JointStateArrays(*arrays)


def _let_mimics_follow(tree: MultibodyTree, array: FloatArray, field: str, done: set[Joint]) -> None:
    """Set joints that mimic one in `done`, and those that mimic them in turn."""
    couplers = [c for c in tree.constraints if isinstance(c, CouplerConstraint)]
    while True:
        ready = [c for c in couplers if c.joint1 in done and c.joint0 not in done]
        if not ready:
            return
        for coupler in ready:
            offset = coupler.default_offset if field == "position" else 0.0
            source = array[_place(coupler.joint1, field)]
            array[_place(coupler.joint0, field)] = coupler.default_gear_ratio * source + offset
            done.add(coupler.joint0)


def make_transform(X_AB: npt.ArrayLike, parent: str, child: str, *, time: float = 0.0) -> dict[str, Any]:
    """Return a ``geometry_msgs/TransformStamped``: the pose of `child` in `parent`, quaternion (x, y, z, w).

    Raises
    ------
    ShapeError, ArgumentTypeError, ArgumentValueError
        When `X_AB` is not a pose, (4, 4).
    """
    X = as_pose(X_AB, "X_AB")
    w, x, y, z = matrix_to_quaternion(X[:3, :3]).tolist()
    translation = dict(zip("xyz", X[:3, 3].tolist(), strict=True))
    return {
        "header": _header(time, parent),
        "child_frame_id": child,
        "transform": {"translation": translation, "rotation": {"x": x, "y": y, "z": z, "w": w}},
    }


def make_transforms(
    tree: MultibodyTree, q: npt.ArrayLike, *, world: str = "world", time: float = 0.0
) -> list[dict[str, Any]]:
    """Return the transforms that ``robot_state_publisher`` publishes: each body in its parent, by name.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (num_positions,)
        Positions.
    world : str, optional
        The name of World.
    time : float, optional
        Time of the headers [s].

    Returns
    -------
    list of dict
        A ``geometry_msgs/TransformStamped`` for each body except World, a parent before its children.

    Examples
    --------
    >>> import mbt
    >>> from mbt.interop import ros
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> transform = ros.make_transforms(tree, tree.default_positions)[0]
    >>> transform["header"]["frame_id"], transform["child_frame_id"]
    ('world', 'base')
    """
    context = tree.create_default_context()
    context.q = as_float_array(q, "q", (tree.num_positions,))
    X_PB = tree.eval_position_kinematics(context).X_PB
    names = {body: body.name for body in tree.bodies}
    names[tree.world_body] = world
    return [
        make_transform(X_PB[body.node_index], names[_parent(body)], names[body], time=time)
        for body in tree.node_bodies[1:]
    ]


def read_transform(message: Any) -> FloatArray:
    """Return the pose (4, 4) of a ``TransformStamped`` or ``Transform``, a mapping or an object.

    Raises
    ------
    ArgumentTypeError
        When it lacks these fields.
    ArgumentValueError
        When its quaternion is zero, or a number is not finite.
    """
    transform = _field(message, "transform", "message", message)
    p, r = (_field(transform, name, "message") for name in ("translation", "rotation"))
    position = [as_finite(_field(p, axis, "message: translation"), f"message: {axis}") for axis in "xyz"]
    quaternion = [as_finite(_field(r, axis, "message: rotation"), f"message: {axis}") for axis in "wxyz"]
    if not any(quaternion):
        raise ArgumentValueError("message: expected a rotation, got a quaternion of zeros")
    pose: FloatArray = make_pose(position, quaternion=np.divide(quaternion, math.hypot(*quaternion)))
    return pose


def _parent(body: RigidBody) -> RigidBody:
    mobilizer = body.inboard_mobilizer
    assert mobilizer is not None
    return mobilizer.inboard_body


def _header(time: float, frame: str) -> dict[str, Any]:
    seconds, rest = divmod(round(as_finite(time, "time") * 1e9), 10**9)
    return {"stamp": {"sec": seconds, "nanosec": rest}, "frame_id": frame}


def _has_one_dof(joint: Joint) -> bool:
    return joint.num_positions == joint.num_velocities == 1


def _place(joint: Joint, field: str) -> int:
    return joint.position_start if field == "position" else joint.velocity_start


def _find_joints(
    tree: MultibodyTree, names: Any, model_instance: int | str | None, ignore_unknown: bool
) -> list[Joint | None]:
    by_name: dict[str, Joint | None] = {}
    for joint in tree.joints:
        # None if several joints have this name.
        by_name[joint.name] = None if joint.name in by_name else joint
    if model_instance is None and all(by_name.get(name) for name in names):
        return [by_name[name] for name in names]
    return [
        None if ignore_unknown and name not in by_name else find_joint(tree, name, model_instance)
        for name in names
    ]


_NOTHING: Any = object()


def _field(message: Any, name: str, what: str, default: Any = _NOTHING) -> Any:
    """Return a field of a mapping or an object."""
    is_mapping = isinstance(message, Mapping)
    value = message.get(name, default) if is_mapping else getattr(message, name, default)
    if value is _NOTHING:
        raise ArgumentTypeError(f"{what}: expected {name}, got {describe_type(message)} without it")
    return value
