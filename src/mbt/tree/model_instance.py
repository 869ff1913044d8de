"""Model instances: groups of elements, such as an arm, its gripper, and what the gripper holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mbt.errors import quote
from mbt.tree.element import MultibodyElement, as_name
from mbt.tree.indices import ModelInstanceIndex

if TYPE_CHECKING:
    from mbt.tree.actuator import JointActuator
    from mbt.tree.body import RigidBody
    from mbt.tree.constraints import Constraint
    from mbt.tree.frame import Frame
    from mbt.tree.joint import Joint
    from mbt.tree.sensors import Sensor

__all__ = ["ModelInstance"]


class ModelInstance(MultibodyElement):
    """A named group of elements. ``tree.add_model_instance(name)`` adds one and returns its index.

    Every tree has instance 0, ``"WorldModelInstance"``, of the world body, and instance 1,
    ``"DefaultModelInstance"``, of all elements that are given none. ``tree.model_instances`` lists them. A
    model instance may stand for its index everywhere.

    Parameters
    ----------
    name : str
        Name, unique in the tree.

    Notes
    -----
    Which model instance an element belongs to:

    ============================  ==========================================================
    body                          the one given when it is constructed
    body frame                    that of the body
    `FixedOffsetFrame`            the one given; that of its parent frame otherwise
    joint                         that of its frame on the child, so as a rule of the child
    frames made by ``add_joint``  that of the joint
    joint actuator                that of the joint
    mobilizer                     that of the joint, or the one given with ``add_mobilizer``
    joint of a free body          that of the body
    gravity                       instance 0
    ============================  ==========================================================

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> arm = tree.add_model_instance("arm")
    >>> link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1), arm))
    >>> tree.model_instances[arm]
    <ModelInstance 'arm' index=2: 1 body, 0 joints, 0 actuators>
    >>> tree.get_model_instance(arm).bodies
    (<RigidBody 'link' index=1 model_instance=2>,)
    >>> link.scoped_name
    'arm::link'
    """

    kind: ClassVar[str] = "model instance"
    _adder: ClassVar[str] = "add_model_instance"

    def __init__(self, name: str) -> None:
        super().__init__(as_name(name, f"{type(self).__name__}: name"), None)

    @property
    def index(self) -> ModelInstanceIndex:
        """Index of this model instance."""
        return ModelInstanceIndex(self._checked_index())

    @property
    def scoped_name(self) -> str:
        """The name: model instances are not nested."""
        return self.name

    @property
    def model_instance(self) -> ModelInstanceIndex:
        """Index of this model instance."""
        return self.index

    # Its elements, in index order.

    @property
    def bodies(self) -> tuple[RigidBody, ...]:
        """The bodies of this model instance."""
        return tuple(self.parent_tree._elements.bodies.in_instance(self.index))

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The frames of this model instance, body frames included."""
        return tuple(self.parent_tree._elements.frames.in_instance(self.index))

    @property
    def joints(self) -> tuple[Joint, ...]:
        """The joints of this model instance; after ``finalize()`` with those that it made."""
        return tuple(self.parent_tree._elements.joints.in_instance(self.index))

    @property
    def joint_actuators(self) -> tuple[JointActuator, ...]:
        """The joint actuators of this model instance."""
        return tuple(self.parent_tree._elements.actuators.in_instance(self.index))

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of this model instance."""
        return tuple(self.parent_tree._elements.constraints.in_instance(self.index))

    @property
    def sensors(self) -> tuple[Sensor, ...]:
        """The sensors of this model instance."""
        return tuple(self.parent_tree._elements.sensors.in_instance(self.index))

    @property
    def num_positions(self) -> int:
        """Number of positions of this model instance. Known after ``finalize()``."""
        return self.parent_tree.get_num_positions(self.index)

    @property
    def num_velocities(self) -> int:
        """Number of velocities of this model instance. Known after ``finalize()``."""
        return self.parent_tree.get_num_velocities(self.index)

    @property
    def num_actuated_dofs(self) -> int:
        """Number of inputs of this model instance."""
        return self.parent_tree.get_num_actuated_dofs(self.index)

    def __index__(self) -> int:
        """Return the index: a model instance may stand for it everywhere."""
        return self.index

    def __repr__(self) -> str:
        """Return the name and the sizes."""
        if not self.has_parent_tree:
            return f"<ModelInstance {quote(self.name)} without a tree>"
        counts = (
            (len(self.bodies), "body", "bodies"),
            (len(self.joints), "joint", "joints"),
            (len(self.joint_actuators), "actuator", "actuators"),
        )
        sizes = ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in counts)
        return f"<ModelInstance {quote(self.name)} index={self.index}: {sizes}>"

    @property
    def _name_scope(self) -> int:
        """The scope of names: one for all model instances."""
        return 0
