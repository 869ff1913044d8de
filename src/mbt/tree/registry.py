"""The elements of a tree, and their addition: it is checked completely before anything changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from mbt.errors import ArgumentTypeError, ArgumentValueError, ForeignElementError, quote
from mbt.math.spatial_inertia import SpatialInertia
from mbt.topology import JointGraph
from mbt.topology.integers import shared_integers
from mbt.tree.actuator import JointActuator
from mbt.tree.body import RigidBody
from mbt.tree.collection import ElementCollection
from mbt.tree.constraints import Constraint
from mbt.tree.element import MultibodyElement, as_model_instance
from mbt.tree.force_elements import ForceElement, UniformGravityFieldElement
from mbt.tree.frame import BodyFrame, FixedOffsetFrame, Frame
from mbt.tree.hooks import overrides
from mbt.tree.indices import default_model_instance, world_model_instance
from mbt.tree.joint import Joint
from mbt.tree.mobilizer import Mobilizer
from mbt.tree.model_instance import ModelInstance
from mbt.tree.references import elements_among
from mbt.tree.sensors import Sensor

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["ElementRegistry"]


class ElementRegistry:
    """The elements of one tree, and the graph of its bodies.

    Attributes
    ----------
    model_instances, bodies, frames, mobilizers, joints, force_elements, actuators, constraints, sensors
        The elements of each kind in index order, each an `ElementCollection`.
    connections : list of Joint or Mobilizer
        The element behind each edge of the graph.
    removed : WeakSet of MultibodyElement
        Removed elements; those that belong to no tree may come back.
    """

    def __init__(self, tree: MultibodyTree) -> None:
        self._tree = tree
        self.model_instances: ElementCollection[ModelInstance] = ElementCollection(ModelInstance.kind)
        self.bodies: ElementCollection[RigidBody] = ElementCollection(RigidBody.kind)
        self.frames: ElementCollection[Frame] = ElementCollection(Frame.kind)
        self.mobilizers: ElementCollection[Mobilizer] = ElementCollection(Mobilizer.kind)
        self.joints: ElementCollection[Joint] = ElementCollection(Joint.kind)
        self.force_elements: ElementCollection[ForceElement] = ElementCollection(ForceElement.kind)
        self.actuators: ElementCollection[JointActuator] = ElementCollection(JointActuator.kind)
        self.constraints: ElementCollection[Constraint] = ElementCollection(Constraint.kind)
        self.sensors: ElementCollection[Sensor] = ElementCollection(Sensor.kind)
        self._graph: JointGraph | None = JointGraph()
        self.connections: list[Joint | Mobilizer] = []
        self.removed: WeakSet[MultibodyElement] = WeakSet()

        for name in ("WorldModelInstance", "DefaultModelInstance"):
            self._own(ModelInstance(name), self.model_instances)
        world = RigidBody._of_checked("world", _NO_MASS, world_model_instance())
        self._own(world, self.bodies)
        self._own(world.body_frame, self.frames)

    @property
    def graph(self) -> JointGraph:
        """The graph of bodies and connections: body `i` of the graph is body `i` of the tree."""
        if self._graph is None:
            self._graph = self.make_graph()
        return self._graph

    def forget_graph(self) -> None:
        """Discard the graph, since elements may have changed: it is made anew at the next request."""
        self._graph = None

    @property
    def gravity_field(self) -> UniformGravityFieldElement | None:
        """The gravity element, if there is one."""
        return next((e for e in self.force_elements if isinstance(e, UniformGravityFieldElement)), None)

    @property
    def kinds(self) -> tuple[ElementCollection[Any], ...]:
        """All collections but that of model instances."""
        return (
            self.bodies,
            self.frames,
            self.joints,
            self.mobilizers,
            self.force_elements,
            self.actuators,
            self.constraints,
            self.sensors,
        )

    def in_order(self) -> tuple[MultibodyElement, ...]:
        """Return all elements that can declare parameters, kind by kind."""
        return tuple(chain.from_iterable(self.kinds))

    def user_frames(self) -> list[Frame]:
        """Return the frames whose pose is computed in Python."""
        others = [frame for frame in self.frames if type(frame) not in _COMPILED_FRAMES]
        return [frame for frame in others if frame._is_user_defined]

    # Additions: check everything, then change.

    def add_model_instance(self, instance: ModelInstance) -> None:
        """Add a model instance."""
        self._check_is_new(instance)
        self._check_instance_name_is_free(instance.name, "add_model_instance")
        self._own(instance, self.model_instances)

    def frame_named(self, name: str, argument: str) -> Frame:
        """Return the frame whose name, or scoped name, was given as `argument`."""
        return self.frames.named(name, self.model_instances, argument)

    def joint_named(self, name: str, argument: str) -> Joint:
        """Return the joint whose name, or scoped name, was given as `argument`."""
        return self.joints.named(name, self.model_instances, argument)

    def instance_at(self, value: object, argument: str) -> ModelInstance:
        """Return the model instance that was given as `argument`, by index, by name or itself."""
        instances = self.model_instances
        if isinstance(value, str):
            return instances.named(value, instances, argument)
        return instances.at(value, argument)

    def add_body(self, body: RigidBody) -> None:
        """Add a body with its frame."""
        self._check_is_new(body)
        _check_is_not_in_world(body)
        # The body frame has the same name, so it must be free among the frames as well.
        body._name = self._checked_name(body, self.bodies, self.frames)
        graph = self.graph  # The graph of the bodies before this one.
        self._own(body, self.bodies)
        self._own(body.body_frame, self.frames)
        graph.add_body(self._scoped(body.name, body.model_instance))

    def add_frame(self, frame: Frame) -> None:
        """Add a frame other than a body frame."""
        self._check_frame(frame)
        frame._name = self._checked_name(frame, self.frames)
        self._own(frame, self.frames)

    def add_mobilizer(self, mobilizer: Mobilizer) -> None:
        """Add a mobilizer without a joint."""
        self._check_is_new(mobilizer)
        self.check_is_owned(mobilizer.inboard_frame, type(mobilizer).__name__)
        self.check_is_owned(mobilizer.outboard_frame, type(mobilizer).__name__)
        name = self._checked_name(mobilizer, self.mobilizers)
        inboard, outboard = mobilizer.inboard_body.index, mobilizer.outboard_body.index
        label = f"{mobilizer.kind} {quote(self._scoped(name, mobilizer.model_instance))}"
        self.graph.add_edge(label, inboard, outboard, is_reversible=False)
        mobilizer._name = name
        self.connections.append(mobilizer)
        self._own(mobilizer, self.mobilizers)

    def add_joint(self, joint: Joint, new_frames: Sequence[Frame] = ()) -> None:
        """Add a joint, after the frames that were made for it."""
        self._check_is_new(joint)
        for frame in (joint.frame_on_parent, joint.frame_on_child):
            if frame not in new_frames:
                self.check_is_owned(frame, joint)
        self._checked_name(joint, self.joints)
        for frame in new_frames:
            self._check_frame(frame)
            self._checked_name(frame, self.frames, needed_by=joint)
        self._connect(joint, self._scoped("", joint._model_instance))
        for frame in new_frames:
            self._own(frame, self.frames)
        self._own(joint, self.joints)

    def add_force_element(self, element: ForceElement) -> None:
        """Add a force element."""
        self._check_is_new(element)
        _check_force_methods(element)
        self.check_needs(element, element._needs())
        if isinstance(element, UniformGravityFieldElement):
            self._check_gravity(element)
        element._name = self._checked_name(element, self.force_elements)
        self._own(element, self.force_elements)

    def add_joint_actuator(self, actuator: JointActuator) -> None:
        """Add a joint actuator."""
        self._check_is_new(actuator)
        self.check_is_owned(actuator.joint, actuator)
        self._checked_name(actuator, self.actuators)
        self._own(actuator, self.actuators)

    def add_constraint(self, constraint: Constraint) -> None:
        """Add a constraint."""
        self._check_is_new(constraint)
        self.check_needs(constraint, constraint._needs())
        self._checked_name(constraint, self.constraints)
        self._own(constraint, self.constraints)

    def add_sensor(self, sensor: Sensor) -> None:
        """Add a sensor."""
        self._check_is_new(sensor)
        self.check_needs(sensor, sensor._needs())
        sensor._name = self._checked_name(sensor, self.sensors)
        self._own(sensor, self.sensors)

    def add_model(
        self,
        bodies: Sequence[RigidBody],
        frames: Sequence[FixedOffsetFrame],
        joints: Sequence[Joint],
        actuators: Sequence[JointActuator],
    ) -> None:
        """Add the elements that a reader constructed for this tree: new ones that need only each other.

        All of them have names.
        """
        all_frames = [*[body._body_frame for body in bodies], *frames]
        for body in bodies:
            _check_is_not_in_world(body)
        # Body frames have the names of their bodies.
        names: list[Any] = [body._name for body in bodies]
        additions: tuple[tuple[Sequence[Any], ElementCollection[Any], list[Any]], ...] = (
            (bodies, self.bodies, names),
            (all_frames, self.frames, names + [frame._name for frame in frames]),
            (joints, self.joints, [joint._name for joint in joints]),
            (actuators, self.actuators, [actuator._name for actuator in actuators]),
        )
        if not all(collection.are_new(new) for _, collection, new in additions):
            # One by one: some may have the same name in different model instances.
            for body in bodies:
                self.add_body(body)
            for frame in frames:
                self.add_frame(frame)
            for joint in joints:
                self.add_joint(joint)
            for actuator in actuators:
                self.add_joint_actuator(actuator)
            return
        graph = self.graph  # The graph of the bodies before these.
        for elements, collection, new in additions:
            self._own_all(elements, collection, new)
        scopes = [self._scoped("", instance) for instance in range(len(self.model_instances))]
        for body, name in zip(bodies, names, strict=True):
            graph.add_body(scopes[body._model_instance] + name)
        for joint in joints:
            self._connect(joint, scopes[joint._model_instance])

    def rename(self, element: MultibodyElement, name: str) -> None:
        """Rename an element other than World; the frame of a body has its name too."""
        (own,) = (kind for kind in self.kinds if kind.holds(element))
        for kind in (own, self.frames) if isinstance(element, RigidBody) else (own,):
            other = kind.get(name, element.model_instance)
            if other is not None and name != element.name:
                raise ArgumentValueError(
                    f"rename: {element._label}: there is a {other.kind} named {quote(name)} already in its "
                    f"model instance: {other!r}. Choose another name."
                )
        if isinstance(element, RigidBody):
            self.frames.forget_name(element.body_frame)
        own.rename(element, name)
        if isinstance(element, RigidBody):
            self.frames.add_name(element.body_frame)
            self.graph.rename_body(element._index, element.scoped_name)
        elif isinstance(element, (Joint, Mobilizer)):
            self.graph.rename_edge(self.connections.index(element), _edge_label(element))

    def rename_model_instance(self, instance: ModelInstance, name: str) -> None:
        """Rename a model instance."""
        if name == instance.name:
            return
        self._check_instance_name_is_free(name, "rename_model_instance")
        self.model_instances.rename(instance, name)
        self.forget_graph()

    def adopt(self, joints: Sequence[Joint], mobilizers: Sequence[Mobilizer]) -> None:
        """Add the joints and mobilizers that ``finalize()`` made."""
        self._own_all(joints, self.joints)
        self._own_all(mobilizers, self.mobilizers)

    # Removals: nothing here can fail.

    def rebuild(
        self,
        gone: Sequence[MultibodyElement],
        instead: Mapping[MultibodyElement, MultibodyElement] | None = None,
    ) -> None:
        """Replace some elements by those in `instead`, and remove those that are `gone`; indices close up.

        No remaining element may need a removed one.
        """
        new: Mapping[MultibodyElement, Any] = {} if instead is None else instead
        out = set(map(id, gone))
        for kind in self.kinds:
            kind.rebuild([new.get(element, element) for element in kind if id(element) not in out])
        self.connections = [new.get(c, c) for c in self.connections if id(c) not in out]
        for element in (*gone, *new):
            element._tree, element._index = None, -1
        self.removed.update(gone)
        tree = self._tree
        if tree._exclusions:
            tree._exclusions = tuple(pair for pair in tree._exclusions if out.isdisjoint(map(id, pair)))
        for element in new.values():
            element._tree = self._tree
        self.forget_graph()

    # Checks.

    def check_user_elements(self) -> None:
        """Check the references of elements written in Python: they may have changed since the addition."""
        for element in (*self.user_frames(), *self.force_elements):
            if element._is_user_defined:
                self.check_needs(element, elements_among(element))

    def check_needs(self, element: MultibodyElement, needs: Iterable[tuple[MultibodyElement, str]]) -> None:
        """Check that all elements it refers to belong to this tree; see `check_is_owned`."""
        for needed, name in needs:
            self.check_is_owned(needed, f"{type(element).__name__}: {name}")

    def check_is_owned(self, element: MultibodyElement, needed_by: str | MultibodyElement) -> None:
        """Check that an element belongs to this tree; `needed_by` is what needs it, or its name.

        Raises
        ------
        ForeignElementError
            When it belongs to another tree, or to none.
        """
        if element._tree is self._tree:
            return
        if isinstance(needed_by, MultibodyElement):
            needed_by = needed_by._label
        if element._tree is None:
            raise ForeignElementError(
                f"{needed_by}: {element._label} belongs to no tree yet: add it first, with "
                f"tree.{element._adder}()."
            )
        raise ForeignElementError(
            f"{needed_by}: {element._label} belongs to another tree. Use elements of this tree"
            f"{self._describe_namesake(element)}."
        )

    def _check_is_new(self, element: MultibodyElement) -> None:
        if element._tree is not None:
            if element._tree is self._tree:
                owner = "this tree already. Add each element once"
            else:
                owner = "another tree. Construct a new one for this tree, or remove it there first"
            raise ForeignElementError(f"{element._adder}: {element._label} belongs to {owner}.")

    def _check_instance_name_is_free(self, name: str, method: str) -> None:
        if self.model_instances.has(name, None):
            other = self.model_instances.find(name, None, self.model_instances)
            raise ArgumentValueError(
                f"{method}: there is a model instance named {quote(name)} already, {other!r}. "
                "Choose another name."
            )

    def _describe_namesake(self, element: MultibodyElement) -> str:
        """Return how to find an element of this tree with the kind and name of a foreign one."""
        for collection, method in (
            (self.bodies, "get_body_by_name"),
            (self.frames, "get_frame_by_name"),
            (self.joints, "get_joint_by_name"),
        ):
            if collection._kind == element.kind and collection.has(element.name, None):
                return f": it has a {element.kind} of that name too, tree.{method}({quote(element.name)})"
        return ""

    def _scoped(self, name: str, model_instance: int) -> str:
        """Return a name behind that of its model instance, like ``scoped_name``."""
        if model_instance <= default_model_instance():
            return name
        return f"{self.model_instances.as_tuple()[model_instance].name}::{name}"

    def _check_gravity(self, element: UniformGravityFieldElement) -> None:
        gravity = self.gravity_field
        if gravity is not None:
            raise ArgumentValueError(
                "add_force_element: a tree has at most one UniformGravityFieldElement, and this one has "
                f"g_W = {gravity.gravity_vector.tolist()}. Change it in a Context with set_gravity_vector()."
            )
        element._check_instances(len(self.model_instances))

    def _check_frame(self, frame: Frame) -> None:
        self._check_is_new(frame)
        if isinstance(frame, FixedOffsetFrame):
            is_derived = type(frame) is not FixedOffsetFrame
            own = [name for name in _POSE_METHODS if overrides(frame, Frame, name)] if is_derived else []
            if own:
                raise ArgumentTypeError(
                    f"add_frame: {type(frame).__name__} has a method {own[0]}(), which is never called: a "
                    "FixedOffsetFrame has the pose it is given. Derive it from mbt.Frame."
                )
            self.check_is_owned(frame.parent_frame, frame)
        elif isinstance(frame, BodyFrame):
            raise ArgumentTypeError(f"add_frame: {frame._label} comes with its body: expected another frame")
        elif not frame._is_user_defined:
            raise ArgumentTypeError(
                f"add_frame: expected a FixedOffsetFrame, or a subclass of Frame with a method "
                f"do_calc_pose_in_body_frame(self, parameters), got {frame!r}"
            )
        self.check_is_owned(frame.body, frame)
        if frame._is_user_defined:
            self.check_needs(frame, elements_among(frame))

    def _checked_name(
        self,
        element: MultibodyElement,
        *collections: ElementCollection[Any],
        needed_by: MultibodyElement | None = None,
    ) -> str:
        """Return the name of an element, checked to be free, or a generated one.

        The error names the element, and the one that it is `needed_by`.
        """
        instance, count = element.model_instance, len(self.model_instances)
        if instance >= count:
            as_model_instance(instance, f"{element._label}: model_instance", count)
        if element._name is None:
            name = element._generated_name(len(collections[0]))
            while any(collection.has(name, instance) for collection in collections):
                name += "_"
            return name
        for collection in collections:
            other = collection.get(element._name, instance)
            if other is not None:
                where = f"model instance {quote(self.model_instances.at(instance, 'model_instance').name)}"
                who = element if needed_by is None else needed_by
                why = "" if needed_by is None else f"{needed_by._label} needs a {element._label}, but "
                raise ArgumentValueError(
                    f"{who._adder}: {why}there is a {other.kind} named {quote(element._name)} already in "
                    f"{where}: {other!r}. Choose another name, or another model instance."
                )
        return element._name

    def _own(self, element: Any, collection: ElementCollection[Any]) -> None:
        element._attach(self._tree, collection.append(element))

    def _connect(self, joint: Joint, scope: str) -> None:
        """Add an edge for a joint to the graph, labelled with its scope and name."""
        label = f"{joint.kind} {quote(scope + joint.name)}"
        parent, child = joint._frame_on_parent._body, joint._frame_on_child._body
        self.graph.add_edge(label, parent._index, child._index)
        self.connections.append(joint)

    def _own_all(
        self, elements: Sequence[Any], collection: ElementCollection[Any], names: list[str] | None = None
    ) -> None:
        """Add elements whose names were checked; `names`, if given, are known to be new."""
        start = len(collection)
        collection.extend(elements, names)
        tree, integers = self._tree, shared_integers(start + len(elements))
        for index, element in zip(integers[start:], elements, strict=False):
            element._tree = tree
            element._index = index

    def make_graph(self) -> JointGraph:
        """Return a new graph of the same bodies and connections, with their present names."""
        graph = JointGraph()
        for body in self.bodies.as_tuple()[1:]:
            graph.add_body(body.scoped_name)
        for element in self.connections:
            label = _edge_label(element)
            if isinstance(element, Joint):
                graph.add_edge(label, element.parent_body._index, element.child_body._index)
            else:
                inboard, outboard = element.inboard_body._index, element.outboard_body._index
                graph.add_edge(label, inboard, outboard, is_reversible=False)
        return graph


# World does not move, so its mass has no meaning.
_NO_MASS = SpatialInertia.zero()


def _edge_label(element: Joint | Mobilizer) -> str:
    return f"{element.kind} {quote(element.scoped_name)}"


# Nearly all frames have one of these types, which need no checks.
_COMPILED_FRAMES = (BodyFrame, FixedOffsetFrame)

_POSE_METHODS = (
    "do_calc_pose_in_body_frame",
    "do_calc_rotation_matrix_in_body_frame",
    "do_calc_offset_pose_in_body",
    "do_calc_offset_rotation_matrix_in_body",
    "do_get_fixed_pose_in_body_frame",
)
_FORCE_METHODS = (
    "do_calc_and_add_force_contribution",
    "do_calc_potential_energy",
    "do_calc_conservative_power",
    "do_calc_non_conservative_power",
)


def _check_force_methods(element: ForceElement) -> None:
    """Check that the methods of an element for its forces and energy will be called.

    Raises
    ------
    ArgumentTypeError
        When a subclass of `ForceElement` has no method for its forces, or a subclass of an element that mbt
        itself computes has methods that are never called.
    """
    own = [name for name in _FORCE_METHODS if overrides(element, ForceElement, name)]
    name = type(element).__name__
    if element._is_user_defined and _FORCE_METHODS[0] not in own:
        raise ArgumentTypeError(
            f"add_force_element: expected {name} to have a method "
            f"{_FORCE_METHODS[0]}(self, context, pc, vc, forces)"
        )
    if own and not element._is_user_defined:
        raise ArgumentTypeError(
            f"add_force_element: {name} has a method {own[0]}(), which is never called: the forces and the "
            "energy of its base class are computed by compiled code. Derive it from mbt.ForceElement."
        )


def _check_is_not_in_world(body: RigidBody) -> None:
    if body._model_instance == world_model_instance():
        raise ArgumentValueError(
            f"add_body: {body._label}: model_instance: instance 0 is for the world body only, got it "
            "for another. Leave model_instance out, or pass what tree.add_model_instance() returns."
        )
