"""The work of ``finalize()``: elements and their forest become flat arrays for the compiled core.

`make_plan` and `make_arrays` read the elements and change nothing; `FinalizationPlan.carry_out` changes them
and cannot fail, and `undo` is its inverse.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from mbt._core.door.compiled_model import join_numbers
from mbt._core.model.element_types import MobilizerType
from mbt.math.arrays import FloatArray
from mbt.math.poses import IDENTITY
from mbt.topology import SpanningForest, grow_forest
from mbt.topology.integers import shared_integers
from mbt.tree.force_elements import CompiledForceElement
from mbt.tree.frame import BodyFrame, FixedOffsetFrame
from mbt.tree.indices import BodyNodeIndex
from mbt.tree.joint import Joint
from mbt.tree.joints import QuaternionFloatingJoint
from mbt.tree.mobilizer import Mobilizer
from mbt.tree.parameters import Parameters
from mbt.tree.registry import ElementRegistry

__all__ = ["FinalizationPlan", "make_arrays", "make_plan", "undo"]

# Constants of the mobilizer of World.
_WELDED = IDENTITY.ravel()


class FinalizationPlan:
    """The place of each element of a tree.

    Attributes
    ----------
    forest : SpanningForest
        The place of each body.
    ephemeral_joints : list of Joint
        New joints from World to the bodies that have no other path to it.
    new_mobilizers : list of Mobilizer
        New mobilizers that model the joints, in the order of the joints.
    mobilizer_of_node : list of Mobilizer
        The inboard mobilizer of each node but World: entry ``b - 1`` belongs to node ``b``.
    q_start, v_start : tuple of int
        Index of the first position and velocity of each node, and as a last entry their total number.
    """

    def __init__(
        self,
        forest: SpanningForest,
        ephemeral_joints: list[Joint],
        new_mobilizers: list[Mobilizer],
        mobilizer_of_node: list[Mobilizer],
    ) -> None:
        self.forest = forest
        self.ephemeral_joints = ephemeral_joints
        self.new_mobilizers = new_mobilizers
        self.mobilizer_of_node = mobilizer_of_node
        # World has no mobilizer.
        types: list[type[Mobilizer]] = list(map(type, mobilizer_of_node))
        num_positions = {cls: len(cls.position_suffixes) for cls in set(types)}
        num_velocities = {cls: len(cls.velocity_suffixes) for cls in set(types)}
        q_start = [0, *accumulate(map(num_positions.__getitem__, types), initial=0)]
        v_start = [0, *accumulate(map(num_velocities.__getitem__, types), initial=0)]
        integers = shared_integers(max(q_start[-1], v_start[-1]) + 1)
        self.q_start = tuple([integers[start] for start in q_start])
        self.v_start = tuple([integers[start] for start in v_start])

    @property
    def num_positions(self) -> int:
        """Number of positions of the tree."""
        return self.q_start[-1]

    @property
    def num_velocities(self) -> int:
        """Number of velocities of the tree."""
        return self.v_start[-1]

    def node_of(self, joint: Joint) -> int:
        """Return the node whose inboard mobilizer models a joint: of its child, or its parent if reversed."""
        for body in (joint.child_body, joint.parent_body):
            node = self.forest.node_of_body[body._index]
            if node > 0 and self.mobilizer_of_node[node - 1].joint is joint:
                return node
        raise AssertionError(f"{joint!r} has no place")

    def default_positions(self) -> FloatArray:
        """Return the positions of a new Context."""
        joints = [(mobilizer._joint, mobilizer) for mobilizer in self.mobilizer_of_node]
        return join_numbers(
            [
                mobilizer._zero_positions() if joint is None else joint._default_positions
                for joint, mobilizer in joints
            ]
        )

    def carry_out(self, elements: ElementRegistry) -> None:
        """Add the new elements to the tree, and give each element its place. This cannot fail."""
        elements.adopt(self.ephemeral_joints, self.new_mobilizers)
        elements.forget_graph()
        self.place(elements)

    def place(self, elements: ElementRegistry) -> None:
        """Give each element its place."""
        bodies = elements.bodies.as_tuple()
        bodies[0]._place(BodyNodeIndex(0))
        # Not World, which has no mobilizer.
        nodes = zip(shared_integers(len(bodies))[1:], self.forest.body[1:], strict=False)
        starts = zip(self.q_start[1:], self.v_start[1:], strict=True)
        for (b, i), mobilizer, (q_start, v_start) in zip(nodes, self.mobilizer_of_node, starts, strict=False):
            body = bodies[i]
            body._place(BodyNodeIndex(b))
            body._inboard_mobilizer = mobilizer
            mobilizer._place(q_start, v_start)
            joint = mobilizer._joint
            if joint is not None:
                joint._mobilizer = mobilizer
                joint._place(q_start, v_start)
        for i, element in enumerate(_compiled_elements(elements)):
            element._core_index = i


def undo(elements: ElementRegistry) -> None:
    """Undo `FinalizationPlan.carry_out`: remove the elements it made, and all places."""
    for body in elements.bodies:
        body._place(BodyNodeIndex(-1))
        body._inboard_mobilizer = None
    for joint in elements.joints:
        joint._place(-1, -1)
        joint._mobilizer = None
    for mobilizer in elements.mobilizers:
        mobilizer._place(-1, -1)
    for force_element in elements.force_elements:
        force_element._core_index = -1
    elements.rebuild([e for e in (*elements.joints, *elements.mobilizers) if e.is_ephemeral])


def make_plan(elements: ElementRegistry) -> FinalizationPlan:
    """Return the place of each element.

    Raises
    ------
    TopologyError
        When the bodies and joints do not form a tree.
    """
    forest = grow_forest(elements.graph)
    ephemeral_joints = _make_ephemeral_joints(elements, forest)

    mobilizer_of_edge: list[Mobilizer] = []
    new_mobilizers: list[Mobilizer] = []
    for e, connection in enumerate([*elements.connections, *ephemeral_joints]):
        if isinstance(connection, Joint):
            mobilizer = connection._make_mobilizer()
            mobilizer._model(connection, is_reversed=forest.is_reversed[forest.node_of_edge[e]])
            new_mobilizers.append(mobilizer)
        else:
            mobilizer = connection
        mobilizer_of_edge.append(mobilizer)

    mobilizer_of_node = [mobilizer_of_edge[e] for e in forest.edge[1:]]
    return FinalizationPlan(forest, ephemeral_joints, new_mobilizers, mobilizer_of_node)


def make_arrays(
    elements: ElementRegistry, plan: FinalizationPlan, parameters: Parameters | None = None
) -> dict[str, Any]:
    """Return the arguments of ``TreeCore._compile``.

    Parameters
    ----------
    elements : ElementRegistry
        The elements.
    plan : FinalizationPlan
        Their places.
    parameters : Parameters, optional
        Default values of declared parameters; by default there are none.
    """
    gravity = elements.gravity_field
    return {
        **_mobilizer_arrays(plan),
        **_frame_arrays(elements, plan.forest, Parameters([], []) if parameters is None else parameters),
        **_body_arrays(elements, plan.forest),
        **_joint_arrays(elements, plan),
        **_force_element_arrays(elements, plan),
        **_constraint_arrays(elements, plan),
        "gravity": np.zeros(3) if gravity is None else gravity.gravity_vector.copy(),
    }


def _make_ephemeral_joints(elements: ElementRegistry, forest: SpanningForest) -> list[Joint]:
    """Return a free joint for each floating base, named after the body."""
    world_frame = elements.frames.as_tuple()[0]
    joints: list[Joint] = []
    taken: set[tuple[int, str]] = set()
    for base in forest.floating_bases:
        body = elements.bodies.as_tuple()[base]
        name = body.name
        while elements.joints.has(name, body.model_instance) or (body.model_instance, name) in taken:
            name += "_"
        taken.add((body.model_instance, name))
        joint = QuaternionFloatingJoint(name, world_frame, body.body_frame)
        joint._is_ephemeral = True
        joints.append(joint)
    return joints


def _mobilizer_arrays(plan: FinalizationPlan) -> dict[str, Any]:
    mobilizers = plan.mobilizer_of_node
    # World is welded to nothing.
    constants = [_WELDED, *[mobilizer._constants() for mobilizer in mobilizers]]
    classes: list[type[Mobilizer]] = list(map(type, mobilizers))
    types = {cls: int(cls._type) for cls in set(classes)}
    joints = [mobilizer._joint for mobilizer in mobilizers]
    damping = [
        np.zeros(mobilizer.num_velocities) if joint is None else joint._damping
        for joint, mobilizer in zip(joints, mobilizers, strict=True)
    ]
    return {
        "parent_node": list(plan.forest.parent),
        "mobilizer_type": [int(MobilizerType.WELD), *map(types.__getitem__, classes)],
        "mobilizer_reversed": [0, *[int(mobilizer._is_reversed) for mobilizer in mobilizers]],
        "inboard_frame": [
            0,
            *[(m._declared_M if m._is_reversed else m._declared_F)._index for m in mobilizers],
        ],
        "outboard_frame": [
            0,
            *[(m._declared_F if m._is_reversed else m._declared_M)._index for m in mobilizers],
        ],
        "q_start": list(plan.q_start),
        "v_start": list(plan.v_start),
        "mobilizer_constants": constants,
        "default_q": plan.default_positions(),
        "damping": join_numbers(damping),
    }


def _frame_arrays(
    elements: ElementRegistry, forest: SpanningForest, parameters: Parameters
) -> dict[str, Any]:
    frame_parent = [-1] * len(elements.frames)
    poses = [IDENTITY] * len(elements.frames)
    node_of_body = forest.node_of_body
    for i, frame in enumerate(elements.frames):
        if type(frame) is BodyFrame:
            continue
        if isinstance(frame, FixedOffsetFrame):
            frame_parent[i] = frame._parent_frame._index
            poses[i] = frame._X_PF
        elif frame._is_user_defined:
            frame_parent[i] = frame.body.body_frame._index
            poses[i] = frame._calc_user_pose(parameters)
    return {
        "frame_parent": frame_parent,
        "frame_node": [node_of_body[frame._body._index] for frame in elements.frames],
        "frame_X_PF": join_numbers(poses).reshape(-1, 4, 4),
    }


def _body_arrays(elements: ElementRegistry, forest: SpanningForest) -> dict[str, Any]:
    bodies = elements.bodies.as_tuple()
    inertias = [bodies[body]._M_BBo_B for body in forest.body]
    return {
        "mass": np.array([M_BBo_B._mass for M_BBo_B in inertias]),
        "p_BoBcm_B": join_numbers([M_BBo_B._com for M_BBo_B in inertias]).reshape(-1, 3),
        "G_BBo_B": join_numbers([M_BBo_B._unit_inertia._components for M_BBo_B in inertias]).reshape(-1, 6),
        "J_BBo_B": join_numbers([M_BBo_B._massless_inertia for M_BBo_B in inertias]).reshape(-1, 6),
    }


def _joint_arrays(elements: ElementRegistry, plan: FinalizationPlan) -> dict[str, Any]:
    node_of = {mobilizer._joint: b for b, mobilizer in enumerate(plan.mobilizer_of_node, start=1)}
    joints = elements.joints.as_tuple()
    # The elements of a copy have the ephemeral ones already.
    if plan.ephemeral_joints and not any(joint._is_ephemeral for joint in joints):
        joints += tuple(plan.ephemeral_joints)
    actuators = elements.actuators.as_tuple()
    return {
        "joint_frame": [joint._frame_on_child._index for joint in joints],
        "joint_node": [node_of[joint] for joint in joints],
        "actuator_dof": [plan.v_start[node_of[actuator._joint]] + actuator._dof for actuator in actuators],
        "rotor_inertia": np.array([actuator._rotor_inertia for actuator in actuators], dtype=np.float64),
        "gear_ratio": np.array([actuator._gear_ratio for actuator in actuators], dtype=np.float64),
    }


def _force_element_arrays(elements: ElementRegistry, plan: FinalizationPlan) -> dict[str, Any]:
    compiled = _compiled_elements(elements)
    gravity = elements.gravity_field
    disabled = set() if gravity is None else gravity._disabled_model_instances
    bodies = elements.bodies.as_tuple()
    instances = [bodies[body]._model_instance for body in plan.forest.body]
    return {
        "force_type": [int(element._type) for element in compiled],
        "force_places": [element._places(plan) for element in compiled],
        "force_parameters": [element._default_parameters() for element in compiled],
        "weightless": [int(instance in disabled) for instance in instances],
        "user_force_elements": tuple(
            element for element in elements.force_elements if element._is_user_defined
        ),
    }


def _constraint_arrays(elements: ElementRegistry, plan: FinalizationPlan) -> dict[str, Any]:
    constraints = elements.constraints.as_tuple()
    return {
        "constraint_type": [int(constraint._type) for constraint in constraints],
        "constraint_places": [constraint._places(plan) for constraint in constraints],
        "constraint_parameters": [constraint._default_parameters() for constraint in constraints],
    }


def _compiled_elements(elements: ElementRegistry) -> list[CompiledForceElement]:
    """Return the force elements of the compiled core besides gravity, in its order."""
    return [element for element in elements.force_elements if isinstance(element, CompiledForceElement)]
