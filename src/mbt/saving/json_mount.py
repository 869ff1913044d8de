"""Mounts a model in JSON on another frame than World: references to its World then refer to that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbt.tree.force_elements import LinearSpringDamper
from mbt.tree.frame import FixedOffsetFrame, Frame
from mbt.tree.indices import world_model_instance
from mbt.tree.joints import QuaternionFloatingJoint, WeldJoint
from mbt.tree.shape import Shape

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.tree.body import RigidBody
    from mbt.tree.joint import Joint

__all__ = ["Mounting"]


class Mounting:
    """The place of the World of a model in a tree.

    Parameters
    ----------
    frame : Frame
        The frame F of the tree on which it is mounted.
    X_FW : ndarray, shape (4, 4), or None
        The pose of the model's World in F; None is the identity.

    Attributes
    ----------
    is_alone : bool
        Whether the World of the model is that of the tree: nothing is moved.
    world_frame : Frame
        The frame that replaces the World of the model.
    """

    def __init__(self, frame: Frame, X_FW: FloatArray | None) -> None:
        self._body = frame.body
        self._stands_on_world = frame.is_world_frame
        self.is_alone = self._stands_on_world and X_FW is None
        self.world_frame = frame
        if not self.is_alone:
            # It belongs to the model instance of World in the file.
            self.world_frame = FixedOffsetFrame(frame, X_FW, world_model_instance())
        self._X_BW = self.world_frame._default_pose()

    def move_shape(self, shape: Shape) -> Shape:
        """Return a shape on the World of the model as a shape on the body of the mount."""
        if self.is_alone:
            return shape
        return shape._move_to(self._X_BW @ shape.X_BG)

    def move_element(self, element: Any) -> Any:
        """Return an element with its points on the World of the model moved to the body of the mount."""
        if self.is_alone or not isinstance(element, LinearSpringDamper):
            return element
        p_AP, p_BQ = (
            self._X_BW[:3, :3] @ p + self._X_BW[:3, 3] if body is self._body else p
            for body, p in ((element.bodyA, element.p_AP), (element.bodyB, element.p_BQ))
        )
        constants = element.free_length, element.stiffness, element.damping
        spring = LinearSpringDamper(element.bodyA, p_AP, element.bodyB, p_BQ, *constants)
        spring._name = element._name
        if element.bodyA is self._body:
            spring._model_instance = world_model_instance()
        return spring

    def hold(self, bodies: list[RigidBody]) -> list[Joint]:
        """Return joints for free bodies: welds if mounted on a body, else free joints at the mount."""
        joints: list[Joint] = []
        for body in bodies:
            joint: Joint
            if self.is_alone:
                continue
            if self._stands_on_world:
                joint = QuaternionFloatingJoint(body.name, self._body.body_frame, body.body_frame)
                joint.set_default_pose(self._X_BW)
            else:
                name = f"{body.name}_to_{self.world_frame.body.name}"
                joint = WeldJoint(name, self.world_frame, body.body_frame)
            joints.append(joint)
        return joints
