"""Checks of an unpickled tree: that its parts fit together as in a tree that was built.

A pickle may be damaged. Whatever it holds, the outcome is the original tree, another tree that computes, or
an error that says so; everything that kernels, loops and indices rely on is checked. The time is linear in
the number of elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentValueError, quote
from mbt.math.curvilinear_path import PiecewiseConstantCurvatureTrajectory
from mbt.math.spatial_inertia import SpatialInertia
from mbt.topology import SpanningForest
from mbt.tree.actuator import JointActuator
from mbt.tree.body import RigidBody
from mbt.tree.constraints import Constraint, CouplerConstraint
from mbt.tree.coordinates import CoordinateOwner
from mbt.tree.element import MultibodyElement
from mbt.tree.finalization import FinalizationPlan
from mbt.tree.force_elements import CompiledForceElement, UniformGravityFieldElement
from mbt.tree.force_elements.door_hinge import DoorHinge, DoorHingeConfig
from mbt.tree.force_elements.joint_friction import JointFriction
from mbt.tree.frame import BodyFrame, FixedOffsetFrame, Frame
from mbt.tree.joint import Joint
from mbt.tree.mobilizer import Mobilizer
from mbt.tree.sensors import ForceTorqueSensor, FrameSensor, Imu, JointSensor, Sensor
from mbt.tree.shape import Shape

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["attributes_of", "check_elements", "check_structure"]

# Returns whether a value may be an attribute of an element.
Check = Callable[[Any, Any], bool]


def check_elements(tree: MultibodyTree) -> None:
    """Check the attributes of each element of an unpickled tree, except those of users' classes.

    Raises
    ------
    ArgumentValueError
        When an attribute is missing or invalid.
    """
    expected: dict[type[Any], dict[str, Check]] = {}
    for element in (*tree._elements.model_instances, *tree._elements.in_order()):
        kind = type(element)
        if kind not in expected:
            expected[kind] = attributes_of(kind)
        attributes = vars(element)
        for name, is_valid in expected[kind].items():
            if name not in attributes:
                if hasattr(kind, name):
                    continue
                raise _damaged(f"a {kind.__name__} has no {name.lstrip('_')}")
            if not _holds(is_valid, attributes[name], element):
                got = quote(attributes[name])
                raise _damaged(f"{name.lstrip('_')} of a {kind.__name__} is {got}")


def attributes_of(kind: type[Any]) -> dict[str, Check]:
    """Return the attributes that classes of mbt give an element, with the check of each."""
    references = {x.attribute: _element(x.kind) for x in getattr(kind, "_references", ())}
    constants = {x.attribute: _CONSTANTS[x.kind] for x in getattr(kind, "_made_with", ())}
    return {**references, **constants} | {
        name: check for base in kind.__mro__ for name, check in _ATTRIBUTES.get(base, {}).items()
    }


def check_structure(tree: MultibodyTree) -> None:
    """Check how the elements of an unpickled tree are connected, and give each the place that follows.

    Raises
    ------
    ArgumentValueError, TopologyError
        When it is not a tree, or not that which was finalized.
    """
    elements = tree._elements
    connections = elements.connections
    if type(connections) is not list or not all(_owned(c, (Joint, Mobilizer), tree) for c in connections):
        raise _damaged("its connections are not its joints and mobilizers")
    pairs: Any = tree._exclusions
    if type(pairs) is not tuple or not all(
        type(pair) is tuple and len(pair) == 2 and all(_owned(body, RigidBody, tree) for body in pair)
        for pair in pairs
    ):
        raise _damaged("its exclusions are not pairs of its bodies")
    elements.forget_graph()
    graph = elements.graph  # Made anew, from the connections.
    plan: Any = tree._plan
    if type(tree._family) is not (bytes if plan is not None else type(None)):
        raise _damaged(f"its family is {quote(tree._family)}")
    if plan is None:
        return
    if type(plan) is not FinalizationPlan or type(plan.forest) is not SpanningForest:
        raise _damaged("it has no plan")
    forest = plan.forest
    indices = (
        forest.body,
        forest.parent,
        forest.edge,
        forest.level,
        forest.subtree_end,
        forest.floating_bases,
    )
    if not all(type(i) is int for array in indices for i in array):
        raise _damaged("indices are not integers")
    elements.forget_graph()
    forest.check_invariants(graph)
    mobilizers = plan.mobilizer_of_node
    if len(mobilizers) != len(forest.body) - 1 or not all(_owned(m, Mobilizer, tree) for m in mobilizers):
        raise _damaged("its bodies have no mobilizers")
    for mobilizer, e in zip(mobilizers, forest.edge[1:], strict=True):
        is_free = e >= forest.num_graph_edges
        joint = mobilizer._joint
        if not (
            joint is not None and joint._is_ephemeral if is_free else connections[e] in (mobilizer, joint)
        ):
            raise _damaged("a body has the mobilizer of another one")
    for start, counts in (
        (plan.q_start, (m.num_positions for m in mobilizers)),
        (plan.v_start, (m.num_velocities for m in mobilizers)),
    ):
        if start != (0, *accumulate(counts, initial=0)) or not all(type(i) is int for i in start):
            raise _damaged("its coordinates are not in order")
    plan.place(elements)


def _damaged(what: str) -> ArgumentValueError:
    return ArgumentValueError(f"unpickling a MultibodyTree: it is damaged: {what}")


def _holds(is_valid: Check, value: Any, element: Any) -> bool:
    try:
        return is_valid(value, element)
    except MemoryError:
        raise
    except Exception:
        # A value of the wrong type.
        return False


def _owned(value: object, kind: type[Any] | tuple[type[Any], ...], tree: MultibodyTree) -> bool:
    return isinstance(value, kind) and value._tree is tree


# Checks of attributes.


def _is(*kinds: type[Any]) -> Check:
    return lambda value, element: type(value) in kinds


def _instance(kind: type[Any]) -> Check:
    return lambda value, element: isinstance(value, kind)


def _element(kind: type[Any]) -> Check:
    return lambda value, element: _owned(value, kind, element._tree)


def _optional(check: Check) -> Check:
    return lambda value, element: value is None or check(value, element)


def _array(shape: Callable[[Any], tuple[int, ...]], *, is_finite: bool = True) -> Check:
    def is_valid(value: Any, element: Any) -> bool:
        is_array = type(value) is np.ndarray and value.dtype == np.float64 and value.shape == shape(element)
        return is_array and not (~np.isfinite(value) if is_finite else np.isnan(value)).any()

    return is_valid


def _shape(*extents: int) -> Check:
    return _array(lambda element: extents)


def _limits(count: Callable[[Any], int]) -> Check:
    is_limit = _array(lambda element: (count(element),), is_finite=False)

    def is_valid(value: Any, element: Any) -> bool:
        return type(value) is tuple and len(value) == 2 and all(is_limit(limit, element) for limit in value)

    return is_valid


def _is_instance(value: Any, element: Any) -> bool:
    return type(value) is int and 0 <= value < len(element._tree._elements.model_instances)


def _is_config(value: Any, element: Any) -> bool:
    return type(value) is DoorHingeConfig and all(
        _is_number(number, element) for number in vars(value).values()
    )


def _is_inertia(value: Any, element: Any) -> bool:
    return isinstance(value, SpatialInertia) and bool(np.isfinite(value.as_matrix6()).all())


def _are_shapes(value: Any, element: Any) -> bool:
    return type(value) is tuple and all(type(shape) is Shape for shape in value)


def _are_parameters(value: Any, element: Any) -> bool:
    if not (type(value) is np.ndarray and value.dtype == np.float64 and value.ndim == 1):
        return False
    # The last number of friction may be infinite.
    finite = value[:-1] if isinstance(element, JointFriction) and value[-1:] == np.inf else value
    return bool(np.isfinite(finite).all()) and bool(element._type.takes_parameters(value.size))


def _are_quantities(value: Any, element: Any) -> bool:
    return type(value) is tuple and bool(value) and all(entry in element.known_quantities for entry in value)


def _is_joint_of_one_dof(value: Any, element: Any) -> bool:
    return _owned(value, Joint, element._tree) and value.num_velocities == 1


def _is_dof_of_joint(value: Any, element: Any) -> bool:
    joint = vars(element).get("_joint")
    return type(value) is int and isinstance(joint, Joint) and 0 <= value < joint.num_velocities


_INTEGER = _is(int)


def _is_number(value: Any, element: Any) -> bool:
    return type(value) is float and isfinite(value)


def _is_effort_limit(value: Any, element: Any) -> bool:
    return type(value) is float and value >= 0.0


# Constants of joints and mobilizers.
_CONSTANTS: Mapping[str, Check] = {
    "number": _is_number,
    "axis": _shape(3),
    "pose": _shape(4, 4),
    "path": _instance(PiecewiseConstantCurvatureTrajectory),
}

_ATTRIBUTES: Mapping[type[Any], dict[str, Check]] = {
    MultibodyElement: {
        "_name": lambda value, element: value is None or (type(value) is str and value != ""),
        "_model_instance": _is_instance,
        "_is_ephemeral": _is(bool),
    },
    RigidBody: {
        "_M_BBo_B": _is_inertia,
        "_body_frame": lambda value, element: (
            _owned(value, BodyFrame, element._tree) and vars(value).get("_body") is element
        ),
        "_node_index": _INTEGER,
        "_inboard_mobilizer": _optional(_element(Mobilizer)),
        "_visuals": _are_shapes,
        "_collisions": _are_shapes,
    },
    Frame: {"_body": _element(RigidBody)},
    FixedOffsetFrame: {
        "_parent_frame": lambda value, element: (
            _owned(value, Frame, element._tree)
            and value._index < element._index
            and vars(value).get("_body") is vars(element).get("_body")
        ),
        "_X_PF": _shape(4, 4),
    },
    CoordinateOwner: {"_position_start": _INTEGER, "_velocity_start": _INTEGER},
    Mobilizer: {
        "_declared_F": _element(Frame),
        "_declared_M": _element(Frame),
        "_is_reversed": _is(bool),
        "_joint": _optional(_element(Joint)),
    },
    Joint: {
        "_frame_on_parent": _element(Frame),
        "_frame_on_child": _element(Frame),
        "_mobilizer": _optional(_element(Mobilizer)),
        "_damping": _array(lambda element: (element.num_velocities,)),
        "_default_positions": _array(lambda element: (element.num_positions,)),
        "_position_limits": _limits(lambda element: element.num_positions),
        "_velocity_limits": _limits(lambda element: element.num_velocities),
        "_acceleration_limits": _limits(lambda element: element.num_velocities),
        "_effort_limit": _is_effort_limit,
    },
    UniformGravityFieldElement: {
        "_g_W": _shape(3),
        "_disabled_model_instances": lambda value, element: (
            type(value) is set and all(_is_instance(entry, element) for entry in value)
        ),
    },
    CompiledForceElement: {"_defaults": _are_parameters},
    DoorHinge: {"_config": _is_config},
    JointActuator: {
        "_joint": _element(Joint),
        "_dof": _is_dof_of_joint,
        "_effort_limit": _is_effort_limit,
        "_rotor_inertia": _is_number,
        "_gear_ratio": _is_number,
        "_stiffness": _is_number,
        "_damping": _is_number,
    },
    Constraint: {"_defaults": _array(lambda element: (element._type.row.num_parameters,))},
    Sensor: {"_quantities": _are_quantities, "_default_name": _instance(str)},
    Imu: {"_frame": _element(Frame)},
    ForceTorqueSensor: {"_joint": _element(Joint), "_frame": _element(Frame)},
    FrameSensor: {"_frame": _element(Frame), "_relative_to": _optional(_element(Frame))},
    JointSensor: {"_joint": _element(Joint)},
    CouplerConstraint: {
        "_joint0": _is_joint_of_one_dof,
        "_joint1": lambda value, element: (
            _is_joint_of_one_dof(value, element) and value is not vars(element).get("_joint0")
        ),
    },
}
