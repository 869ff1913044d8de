"""Access to the elements of a tree: all of a kind, by index, by name, by model instance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbt.tree.indices import (
    BodyIndex,
    ConstraintIndex,
    ForceElementIndex,
    FrameIndex,
    JointActuatorIndex,
    JointIndex,
    MobilizerIndex,
    ModelInstanceIndex,
    SensorIndex,
)

if TYPE_CHECKING:
    from mbt.tree.actuator import JointActuator
    from mbt.tree.body import RigidBody
    from mbt.tree.collection import ElementCollection
    from mbt.tree.constraints import Constraint
    from mbt.tree.force_elements import ForceElement, UniformGravityFieldElement
    from mbt.tree.frame import BodyFrame, Frame
    from mbt.tree.joint import Joint
    from mbt.tree.mobilizer import Mobilizer
    from mbt.tree.model_instance import ModelInstance
    from mbt.tree.registry import ElementRegistry
    from mbt.tree.sensors import Sensor

__all__ = ["ElementAccess"]


class ElementAccess:
    """The part of `MultibodyTree` that gives access to elements.

    A look-up by name searches all model instances unless one is given, or the name is a scoped one,
    ``"arm::elbow"``: element ``"elbow"`` of model instance ``"arm"``, if no element itself has the full name.
    It raises `UnknownNameError` when there is no such element, and `ArgumentValueError` when several model
    instances have such an element. A look-up by index raises `ElementIndexError` when the index is out of
    range.
    """

    _elements: ElementRegistry

    # All elements of a kind, in index order.

    @property
    def bodies(self) -> tuple[RigidBody, ...]:
        """The bodies, World first."""
        return self._elements.bodies.as_tuple()

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The frames, body frames included, World's first."""
        return self._elements.frames.as_tuple()

    @property
    def joints(self) -> tuple[Joint, ...]:
        """The joints; after ``finalize()`` also those that it made for free bodies."""
        return self._elements.joints.as_tuple()

    @property
    def mobilizers(self) -> tuple[Mobilizer, ...]:
        """The mobilizers; before ``finalize()`` only those added with `add_mobilizer`."""
        return self._elements.mobilizers.as_tuple()

    @property
    def force_elements(self) -> tuple[ForceElement, ...]:
        """The force elements."""
        return self._elements.force_elements.as_tuple()

    @property
    def joint_actuators(self) -> tuple[JointActuator, ...]:
        """The joint actuators."""
        return self._elements.actuators.as_tuple()

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints."""
        return self._elements.constraints.as_tuple()

    @property
    def sensors(self) -> tuple[Sensor, ...]:
        """The sensors."""
        return self._elements.sensors.as_tuple()

    @property
    def world_body(self) -> RigidBody:
        """The world body: body 0."""
        # Not from the tuple of all bodies, which is made anew after each addition.
        return self._elements.bodies._elements[0]

    @property
    def world_frame(self) -> BodyFrame:
        """The frame of the world body: frame 0."""
        return self._elements.bodies._elements[0]._body_frame

    @property
    def gravity_field(self) -> UniformGravityFieldElement | None:
        """The gravity element; None when the tree has no gravity."""
        return self._elements.gravity_field

    # Numbers of elements.

    @property
    def num_bodies(self) -> int:
        """Number of bodies, World included."""
        return len(self._elements.bodies)

    @property
    def num_frames(self) -> int:
        """Number of frames, body frames included."""
        return len(self._elements.frames)

    @property
    def num_joints(self) -> int:
        """Number of joints; after ``finalize()`` with those that it made for free bodies."""
        return len(self._elements.joints)

    @property
    def num_mobilizers(self) -> int:
        """Number of mobilizers: after ``finalize()`` one for each body but World."""
        return len(self._elements.mobilizers)

    @property
    def num_force_elements(self) -> int:
        """Number of force elements."""
        return len(self._elements.force_elements)

    @property
    def num_actuators(self) -> int:
        """Number of joint actuators."""
        return len(self._elements.actuators)

    @property
    def num_constraints(self) -> int:
        """Number of constraints."""
        return len(self._elements.constraints)

    @property
    def num_constraint_equations(self) -> int:
        """Number of equations of all constraints together."""
        return sum(constraint.num_equations for constraint in self._elements.constraints)

    @property
    def num_sensors(self) -> int:
        """Number of sensors."""
        return len(self._elements.sensors)

    @property
    def num_actuated_dofs(self) -> int:
        """Number of inputs of all actuators together."""
        return sum(actuator.num_inputs for actuator in self._elements.actuators)

    @property
    def num_model_instances(self) -> int:
        """Number of model instances, at least 2: World's and the default one."""
        return len(self._elements.model_instances)

    # By index.

    def get_body(self, body_index: BodyIndex | int) -> RigidBody:
        """Return the body with this index."""
        return self._elements.bodies.at(body_index, "body_index")

    def get_frame(self, frame_index: FrameIndex | int) -> Frame:
        """Return the frame with this index."""
        return self._elements.frames.at(frame_index, "frame_index")

    def get_joint(self, joint_index: JointIndex | int) -> Joint:
        """Return the joint with this index."""
        return self._elements.joints.at(joint_index, "joint_index")

    def get_mobilizer(self, mobilizer_index: MobilizerIndex | int) -> Mobilizer:
        """Return the mobilizer with this index."""
        return self._elements.mobilizers.at(mobilizer_index, "mobilizer_index")

    def get_force_element(self, force_element_index: ForceElementIndex | int) -> ForceElement:
        """Return the force element with this index."""
        return self._elements.force_elements.at(force_element_index, "force_element_index")

    def get_joint_actuator(self, actuator_index: JointActuatorIndex | int) -> JointActuator:
        """Return the joint actuator with this index."""
        return self._elements.actuators.at(actuator_index, "actuator_index")

    def get_constraint(self, constraint_index: ConstraintIndex | int) -> Constraint:
        """Return the constraint with this index."""
        return self._elements.constraints.at(constraint_index, "constraint_index")

    def get_sensor(self, sensor_index: SensorIndex | int) -> Sensor:
        """Return the sensor with this index."""
        return self._elements.sensors.at(sensor_index, "sensor_index")

    # By name.

    def get_body_by_name(self, name: str, model_instance: int | str | None = None) -> RigidBody:
        """Return the body with this name.

        Parameters
        ----------
        name : str
            The name, or the scoped name: ``"arm::link"``.
        model_instance : ModelInstanceIndex or str, optional
            Where to search; by default in all model instances.

        Raises
        ------
        UnknownNameError
            When there is no such body; the message lists the nearest names.
        ArgumentValueError
            When several model instances have a body of this name, and `model_instance` is not given.
        """
        instance = self._checked_instance(model_instance)
        return self._elements.bodies.find(name, instance, self._elements.model_instances)

    def get_frame_by_name(self, name: str, model_instance: int | str | None = None) -> Frame:
        """Return the frame with this name; otherwise like `get_body_by_name`."""
        instance = self._checked_instance(model_instance)
        return self._elements.frames.find(name, instance, self._elements.model_instances)

    def get_joint_by_name(self, name: str, model_instance: int | str | None = None) -> Joint:
        """Return the joint with this name; otherwise like `get_body_by_name`."""
        instance = self._checked_instance(model_instance)
        return self._elements.joints.find(name, instance, self._elements.model_instances)

    def get_joint_actuator_by_name(self, name: str, model_instance: int | str | None = None) -> JointActuator:
        """Return the joint actuator with this name; otherwise like `get_body_by_name`."""
        instance = self._checked_instance(model_instance)
        return self._elements.actuators.find(name, instance, self._elements.model_instances)

    def get_constraint_by_name(self, name: str, model_instance: int | str | None = None) -> Constraint:
        """Return the constraint with this name; otherwise like `get_body_by_name`."""
        instance = self._checked_instance(model_instance)
        return self._elements.constraints.find(name, instance, self._elements.model_instances)

    def get_sensor_by_name(self, name: str, model_instance: int | str | None = None) -> Sensor:
        """Return the sensor with this name; otherwise like `get_body_by_name`."""
        instance = self._checked_instance(model_instance)
        return self._elements.sensors.find(name, instance, self._elements.model_instances)

    def get_model_instance_by_name(self, name: str) -> ModelInstanceIndex:
        """Return the index of the model instance with this name."""
        return self._elements.model_instances.find(name, None, self._elements.model_instances).index

    def has_body_named(self, name: str, model_instance: int | str | None = None) -> bool:
        """Return whether there is a body with this name: in one model instance, or in any."""
        instance = self._checked_instance(model_instance)
        return self._elements.bodies.has(name, instance, self._elements.model_instances)

    def has_frame_named(self, name: str, model_instance: int | str | None = None) -> bool:
        """Return whether there is a frame with this name: in one model instance, or in any."""
        instance = self._checked_instance(model_instance)
        return self._elements.frames.has(name, instance, self._elements.model_instances)

    def has_joint_named(self, name: str, model_instance: int | str | None = None) -> bool:
        """Return whether there is a joint with this name: in one model instance, or in any."""
        instance = self._checked_instance(model_instance)
        return self._elements.joints.has(name, instance, self._elements.model_instances)

    def has_joint_actuator_named(self, name: str, model_instance: int | str | None = None) -> bool:
        """Return whether there is a joint actuator with this name: in one model instance, or in any."""
        instance = self._checked_instance(model_instance)
        return self._elements.actuators.has(name, instance, self._elements.model_instances)

    def has_constraint_named(self, name: str, model_instance: int | str | None = None) -> bool:
        """Return whether there is a constraint with this name: in one model instance, or in any."""
        instance = self._checked_instance(model_instance)
        return self._elements.constraints.has(name, instance, self._elements.model_instances)

    def has_sensor_named(self, name: str, model_instance: int | str | None = None) -> bool:
        """Return whether there is a sensor with this name: in one model instance, or in any."""
        instance = self._checked_instance(model_instance)
        return self._elements.sensors.has(name, instance, self._elements.model_instances)

    def has_model_instance_named(self, name: str) -> bool:
        """Return whether there is a model instance with this name."""
        return self._elements.model_instances.has(name, None)

    # By model instance.

    @property
    def model_instances(self) -> tuple[ModelInstance, ...]:
        """The model instances, in index order. Each may stand for its index."""
        return self._elements.model_instances.as_tuple()

    def get_model_instance(self, model_instance: ModelInstanceIndex | int) -> ModelInstance:
        """Return the model instance with this index."""
        return self._elements.model_instances.at(model_instance, "model_instance")

    def get_model_instance_name(self, model_instance: int) -> str:
        """Return the name of a model instance."""
        return self._elements.model_instances.at(model_instance, "model_instance").name

    def get_body_indices(self, model_instance: int | str) -> list[BodyIndex]:
        """Return the indices of the bodies of a model instance, in increasing order."""
        return self._indices_in(self._elements.bodies, model_instance)

    def get_frame_indices(self, model_instance: int | str) -> list[FrameIndex]:
        """Return the indices of the frames of a model instance, in increasing order."""
        return self._indices_in(self._elements.frames, model_instance)

    def get_joint_indices(self, model_instance: int | str) -> list[JointIndex]:
        """Return the indices of the joints of a model instance, in increasing order."""
        return self._indices_in(self._elements.joints, model_instance)

    def get_num_bodies(self, model_instance: int | str) -> int:
        """Return the number of bodies of a model instance."""
        return len(self._elements.bodies.in_instance(self._known_instance(model_instance)))

    def get_num_frames(self, model_instance: int | str) -> int:
        """Return the number of frames of a model instance, body frames included."""
        return len(self._elements.frames.in_instance(self._known_instance(model_instance)))

    def get_num_joints(self, model_instance: int | str) -> int:
        """Return the number of joints of a model instance; after ``finalize()`` with those that it made."""
        return len(self._elements.joints.in_instance(self._known_instance(model_instance)))

    def get_num_actuators(self, model_instance: int | str) -> int:
        """Return the number of joint actuators of a model instance."""
        return len(self._elements.actuators.in_instance(self._known_instance(model_instance)))

    def get_joint_actuator_indices(self, model_instance: int | str) -> list[JointActuatorIndex]:
        """Return the indices of the joint actuators of a model instance, in increasing order."""
        return self._indices_in(self._elements.actuators, model_instance)

    def _indices_in(self, elements: ElementCollection[Any], model_instance: int | str) -> list[Any]:
        # Not from `index`, which checks the tree of each element.
        return [element._index for element in elements.in_instance(self._known_instance(model_instance))]

    def _checked_instance(self, model_instance: int | str | None) -> ModelInstanceIndex | None:
        return None if model_instance is None else self._known_instance(model_instance)

    def _known_instance(self, model_instance: int | str) -> ModelInstanceIndex:
        return ModelInstanceIndex(self._elements.instance_at(model_instance, "model_instance")._index)
