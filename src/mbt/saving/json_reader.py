"""Turns a model in JSON into elements of a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from mbt.errors import ArgumentValueError, MbtError, quote
from mbt.math.arrays import FloatArray
from mbt.saving.json_elements import SECTIONS, read_element
from mbt.saving.json_fields import Document, Fields
from mbt.saving.json_header import take_header
from mbt.saving.json_instances import read_instances
from mbt.saving.json_mount import Mounting
from mbt.saving.json_names import NamesInFile
from mbt.saving.json_text import parse_json
from mbt.saving.json_user_elements import read_user_element
from mbt.saving.json_values import SHAPES
from mbt.saving.permission import Permission
from mbt.tree.actuator import JointActuator
from mbt.tree.body import RigidBody
from mbt.tree.force_elements import ForceElement, UniformGravityFieldElement
from mbt.tree.frame import Frame
from mbt.tree.indices import ModelInstanceIndex, world_model_instance
from mbt.tree.joint import Joint
from mbt.tree.mobilizer import Mobilizer
from mbt.tree.pickling import collection_of

if TYPE_CHECKING:
    from mbt.parsing.report import ParseReport
    from mbt.tree.element import MultibodyElement
    from mbt.tree.multibody_tree import MultibodyTree
    from mbt.tree.shape import Shape

__all__ = ["JsonModel", "JsonOptions"]

_KINDS = {
    section: {kind.element_type.__name__: kind for kind in kinds} for section, kinds in SECTIONS.items()
}


@dataclass(frozen=True)
class JsonOptions:
    """Options of reading a model in JSON.

    Attributes
    ----------
    frame : Frame
        The frame of the tree that replaces the World of the file.
    X_FW : ndarray, shape (4, 4), or None
        Pose of that World in the frame; None is the identity.
    model_name : str or None
        Another name for the model instance.
    is_strict : bool
        Reject unknown keys and impossible inertias.
    gravity : ndarray, shape (3,), None, or "file"
        Gravity in place of that of the file; None means no gravity.
    permission : bool or dict
        The user-written classes that the file may name.
    actuate_all : bool
        Add an actuator to each joint with one degree of freedom, unless its effort limit is zero.
    prefix : str
        Text to put before the names of elements, and before that of the model unless `model_name` is given.
    """

    frame: Frame
    X_FW: FloatArray | None = None
    model_name: str | None = None
    is_strict: bool = False
    gravity: FloatArray | Literal["file"] | None = "file"
    permission: Permission = False
    actuate_all: bool = False
    prefix: str = ""


class JsonModel:
    """The elements of a file, constructed for a tree that does not have them yet.

    Parameters
    ----------
    tree : MultibodyTree
        The tree. It stays unchanged until `add`.
    data : bytes
        The text.
    report : ParseReport
        The report, which lists ignored content.
    options : JsonOptions
        The options.

    Raises
    ------
    ParseError
        When it cannot be read.
    """

    def __init__(self, tree: MultibodyTree, data: bytes, report: ParseReport, options: JsonOptions) -> None:
        self.tree = tree
        self.data = data
        self.report = report
        self.options = options
        self.document = Document(report, options.is_strict)
        fields = Fields(self.document, "", parse_json(data, report.file))
        take_header(fields)
        self.mounting = Mounting(options.frame, options.X_FW)
        self.is_alone = self.mounting.is_alone and tree.num_bodies == 1
        self.instances = read_instances(
            fields, tree, options.model_name, options.prefix, is_alone=self.is_alone
        )
        self.names = NamesInFile(self.instances.names)
        if self.instances.new:
            report.model_name = self.instances.new[0]
        world = (int(world_model_instance()), tree.world_body.name)
        self.names.add(fields, "frames", self.mounting.world_frame, world)
        self.names.add(fields, "bodies", options.frame.body, world)
        self.shapes = self._read_world(fields)
        self.elements: list[MultibodyElement] = [] if self.mounting.is_alone else [self.mounting.world_frame]
        for section in SECTIONS:
            for entry in fields.take_objects(section):
                self._read_element(entry, section)
        self.exclusions = self._read_exclusions(fields)
        self._replace_gravity()
        if options.actuate_all:
            self._actuate_all()
        fields.finish()
        self._place_elements()
        counts = [sum(isinstance(element, kind) for element in self.elements) for kind in (RigidBody, Joint)]
        report.num_links, report.num_joints = counts
        report.num_actuators = sum(collection_of(element) == "actuators" for element in self.elements)

    def _read_world(self, fields: Fields) -> dict[str, list[Shape]]:
        if not fields.has("world"):
            return {}
        world = fields.take_fields("world")
        shapes = {
            key: SHAPES.read(world, key, self.names) for key in ("visuals", "collisions") if world.has(key)
        }
        world.finish()
        return {key: [self.mounting.move_shape(shape) for shape in given] for key, given in shapes.items()}

    def _read_exclusions(self, fields: Fields) -> list[tuple[RigidBody, RigidBody]]:
        key = "collision_exclusions"
        pairs = fields.take_list(key) if fields.has(key) else []
        if not all(type(pair) is list and len(pair) == 2 for pair in pairs):
            raise fields.error(key, f"expected pairs of bodies, got {quote(pairs)}")
        return [
            (self.names.find(fields, key, "bodies", first), self.names.find(fields, key, "bodies", second))
            for first, second in pairs
        ]

    def _read_element(self, fields: Fields, section: str) -> None:
        type_ = fields.take_text("type")
        kind = _KINDS[section].get(type_)
        if kind is None:
            element = read_user_element(fields, section, type_, self.names, self.options.permission)
        else:
            element = self.mounting.move_element(read_element(fields, kind, self.names))
        fields.finish()
        place = (int(element._model_instance), element.name)
        self.names.add(fields, collection_of(element), element, place)
        if isinstance(element, RigidBody):
            self.names.add(fields, "frames", element.body_frame, place)
        self.elements.append(element)

    def _replace_gravity(self) -> None:
        """Use the gravity of the caller if it is given; the exemptions in the file stay."""
        g_W = self.options.gravity
        if isinstance(g_W, str):
            return
        exempt: set[ModelInstanceIndex] = set()
        place = len(self.elements)
        for i, element in enumerate(self.elements):
            if isinstance(element, UniformGravityFieldElement):
                exempt, place = element._disabled_model_instances, i
        self.elements[place : place + 1] = [] if g_W is None else [UniformGravityFieldElement(g_W, exempt)]

    def _actuate_all(self) -> None:
        actuators = [element for element in self.elements if isinstance(element, JointActuator)]
        driven = {actuator.joint for actuator in actuators}
        taken = {(actuator._model_instance, actuator.name) for actuator in actuators}
        for joint in [element for element in self.elements if isinstance(element, Joint)]:
            if joint.num_velocities != 1 or joint.effort_limit == 0.0 or joint in driven:
                continue
            name = joint.name
            while (joint._model_instance, name) in taken:
                name += "_"
            taken.add((joint._model_instance, name))
            self.elements.append(JointActuator(name, joint, joint.effort_limit))

    def _place_elements(self) -> None:
        """Replace the model instances and names of elements in the file by those in the tree."""
        indices = [ModelInstanceIndex(index) for index in self.instances.indices]
        for element in self.elements:
            if element._name is not None:
                element._name = self.options.prefix + element._name
            if isinstance(element, UniformGravityFieldElement):  # It always belongs to World.
                exempt = element._disabled_model_instances
                element._disabled_model_instances = {indices[i] for i in exempt}
                continue
            element._model_instance = indices[element._model_instance]
            if isinstance(element, RigidBody):
                element.body_frame._model_instance = element._model_instance

    def join(self) -> None:
        """Check that the model fits into a tree with other models, or on another mount than World.

        Then `add` cannot fail. Free bodies get joints to the mount.

        Raises
        ------
        ParseError
            When the model cannot be finalized.
        ArgumentValueError
            When the tree has one of the names of the model already.
        """
        # A separate tree reveals any fault of the model, and its free bodies.
        alone = self.make_alone()
        self._check_names()
        free = [joint.child_body for joint in alone.joints if joint.is_ephemeral]
        bodies = [self.names.find_in_file("bodies", int(body._model_instance), body.name) for body in free]
        self.elements += self.mounting.hold(bodies)

    def make_alone(self) -> MultibodyTree:
        """Return a finalized tree that holds only the model, as written.

        Raises
        ------
        ParseError
            When the model cannot be finalized.
        """
        from mbt.tree.multibody_tree import MultibodyTree

        alone = MultibodyTree()
        options = JsonOptions(alone.world_frame, permission=self.options.permission)
        model = JsonModel(alone, self.data, type(self.report)(self.report.file), options)
        model.add()
        try:
            alone.finalize()
        except MbtError as error:
            raise self.document.error(str(error)) from error
        return alone

    def _check_names(self) -> None:
        for new in self.instances.new:
            if self.tree.has_model_instance_named(new):
                raise ArgumentValueError(
                    f"model_name: there is a model instance named {quote(new)} already: name this one "
                    "otherwise"
                )
        taken: set[tuple[str, int, str | None]] = set()
        for element in self.elements:
            kind, instance, name = collection_of(element), element._model_instance, element._name
            if name is None:
                continue
            place = (kind, instance, name)
            if place not in taken and not self._has(kind, instance, name):
                taken.add(place)
            elif isinstance(element, (ForceElement, Mobilizer)):
                element._name = None  # A generated name: the tree generates another one.
            else:
                raise ArgumentValueError(
                    f"model_name: there is a {element.kind} named {quote(name)} already: give a name to a "
                    "model instance for this model"
                )

    def _has(self, kind: str, instance: int, name: str) -> bool:
        """Return whether the tree has such an element. A body has a frame with its name."""
        if instance >= self.tree.num_model_instances:
            return False
        kinds = ("bodies", "frames") if kind == "bodies" else (kind,)
        return any(getattr(self.tree._elements, k).has(name, instance) for k in kinds)

    def add(self) -> ModelInstanceIndex:
        """Add everything to the tree, and return the main model instance.

        Raises
        ------
        ParseError
            When bodies are connected twice, or an element does not fit into the tree.
        """
        try:
            self._add()
        except MbtError as error:
            raise self.document.error(str(error)) from error
        self.tree.parse_reports.append(self.report)
        return self.instances.main

    def _add(self) -> None:
        tree, world = self.tree, self.options.frame.body
        for i, name in enumerate(self.instances.renamed):
            tree.rename_model_instance(i, name)
        for name in self.instances.new:
            tree.add_model_instance(name)
        adders: dict[str, Any] = {
            "bodies": tree.add_body,
            "frames": tree.add_frame,
            "joints": tree.add_joint,
            "mobilizers": tree.add_mobilizer,
            "force_elements": tree.add_force_element,
            "actuators": tree.add_joint_actuator,
            "constraints": tree.add_constraint,
            "sensors": tree.add_sensor,
        }
        for element in self.elements:
            adders[collection_of(element)](element)
        if self.exclusions:
            tree._exclusions += tuple(self.exclusions)
        for shape in self.shapes.get("visuals", ()):
            world.add_visual(shape)
        for shape in self.shapes.get("collisions", ()):
            world.add_collision(shape)
