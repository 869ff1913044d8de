"""Names in URDF: one robot has all elements, and each name is unique among its kind."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mbt.errors import quote
from mbt.saving.urdf_losses import Losses
from mbt.tree.indices import default_model_instance

if TYPE_CHECKING:
    from mbt.tree.actuator import JointActuator
    from mbt.tree.body import RigidBody
    from mbt.tree.element import MultibodyElement
    from mbt.tree.frame import Frame

__all__ = ["UrdfNames", "without_control_characters"]

# Characters that XML does not allow.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def without_control_characters(text: str) -> str:
    """Return a text without the characters that XML does not allow."""
    return _NOT_XML.sub("?", text)


class UrdfNames:
    """Assigns names: that of an element if it is free, else the scoped name, else a numbered one.

    Parameters
    ----------
    losses : Losses
        The list of losses, to which changed names are added.
    model_instances : list of str
        Names of the model instances, by index.
    """

    def __init__(self, losses: Losses, model_instances: list[str]) -> None:
        self._losses = losses
        self._instances = model_instances
        self._links: set[str] = set()
        self._joints: set[str] = set()
        self._actuators: set[str] = set()
        self._of_joint: dict[MultibodyElement, str] = {}

    def reserve(self, name: str) -> str:
        """Reserve a name for a link, and its joint, that are not elements of the tree."""
        self._links.add(name)
        self._joints.add(name)
        return name

    def reserve_link(self, name: str) -> str:
        """Reserve a name for a link."""
        self._links.add(name)
        return name

    def of_robot(self, model_instance: str) -> str:
        """Return a name for the robot."""
        name = without_control_characters(model_instance)
        if name != model_instance:
            self._losses.add("model instance", model_instance, f"its name is {quote(name)}")
        return name

    def of_link(self, body: RigidBody) -> str:
        """Return a name for a link."""
        return self._take(body, self._links)

    def of_frame(self, frame: Frame) -> str:
        """Return a name for a frame that no link has."""
        return self._take(frame, self._links)

    def of_actuator(self, actuator: JointActuator) -> str:
        """Return a name for an actuator."""
        return self._take(actuator, self._actuators)

    def reserve_joint(self, joint: MultibodyElement) -> None:
        """Give a joint its name, before names are made for joints that the tree does not have."""
        self._of_joint[joint] = self._take(joint, self._joints)

    def of_joint(self, joint: MultibodyElement) -> str:
        """Return the name of a joint, or of a mobilizer without one."""
        return self._of_joint[joint]

    def find_free(self, name: str) -> str:
        """Return a similar name that neither a link nor a joint has."""
        return _free(name, self._links, self._joints)

    def _take(self, element: MultibodyElement, taken: set[str]) -> str:
        name = without_control_characters(element.name)
        if name.isspace():
            name = element.kind
        if name in taken:
            name = _free(without_control_characters(self._scoped(element)), taken)
        if name != element.name:
            self._losses.add(element.kind, self._scoped(element), f"its name is {quote(name)}")
        taken.add(name)
        return name

    def _scoped(self, element: MultibodyElement) -> str:
        """Return the scoped name, even for a joint that only finalizing adds to the tree."""
        instance = element.model_instance
        is_plain = instance <= default_model_instance()
        return element.name if is_plain else f"{self._instances[instance]}::{element.name}"


def _free(name: str, *taken: set[str]) -> str:
    free, number = name, 1
    while any(free in names for names in taken):
        number += 1
        free = f"{name}_{number}"
    return free
