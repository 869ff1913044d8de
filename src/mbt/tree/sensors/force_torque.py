"""Force-torque sensors: the force that a joint transmits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mbt.errors import ArgumentValueError
from mbt.math.leading_axes import rotate, transpose
from mbt.tree.element import MultibodyElement, check_element, is_constructed
from mbt.tree.frame import Frame, as_frame
from mbt.tree.joint import Joint
from mbt.tree.sensors.sensor import Sensor

if TYPE_CHECKING:
    from mbt.tree.body import RigidBody
    from mbt.tree.sensors.readings import Readings

__all__ = ["ForceTorqueSensor"]


class ForceTorqueSensor(Sensor):
    """The force that a joint transmits to its child body, as in `MultibodyTree.calc_reaction_forces`.

    - ``"torque"``: about the origin of a frame S, expressed in S [N m].
    - ``"force"``: expressed in S [N]: ``+m g`` along an axis that points up, where the joint carries a mass.

    To measure between two parts of a link, put it on a `WeldJoint` between them.

    Parameters
    ----------
    joint : Joint
        The joint.
    name : str, optional
        Name, unique among the sensors of the model instance; by default that of the joint with ``"_ft"``.
    frame : Frame or RigidBody, optional
        The frame S, on the child body of the joint; by default ``joint.frame_on_child``.
    quantities : sequence of str, optional
        The measured quantities, in the order of its columns.

    Raises
    ------
    ArgumentTypeError
        When an argument is of another type.
    ArgumentValueError
        When the frame is on another body, or there is no such quantity.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> hand = tree.add_body(mbt.RigidBody("hand", mbt.SpatialInertia.solid_cube_with_mass(2.0, 0.1)))
    >>> wrist = tree.add_joint(mbt.WeldJoint, "wrist", tree.world_body, None, hand, None)
    >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -10]))
    >>> sensor = tree.add_sensor(mbt.ForceTorqueSensor(wrist, quantities=["force"]))
    >>> tree.finalize()
    >>> tree.create_default_context().sensors.round(12)
    array([ 0.,  0., 20.])
    """

    known_quantities: ClassVar[tuple[str, ...]] = ("torque", "force")

    def __init__(
        self,
        joint: Joint,
        name: str | None = None,
        *,
        frame: Frame | RigidBody | None = None,
        quantities: Iterable[str] = ("torque", "force"),
    ) -> None:
        if not is_constructed(joint, Joint):
            check_element(joint, Joint, "ForceTorqueSensor: joint")
        S = joint.frame_on_child if frame is None else as_frame(frame, "ForceTorqueSensor: frame")
        if S.body is not joint.child_body:
            raise ArgumentValueError(
                f"ForceTorqueSensor: frame: expected one on {joint.child_body._label}, the child of "
                f"{joint._label}, got {S._label} on {S.body._label}"
            )
        self._joint, self._frame = joint, S
        super().__init__(name, f"{joint.name}_ft", joint.model_instance, quantities)

    @property
    def joint(self) -> Joint:
        """The joint whose force it measures."""
        return self._joint

    @property
    def frame(self) -> Frame:
        """The frame S about whose origin, and in whose axes, it measures."""
        return self._frame

    def _suffixes_of(self, quantity: str) -> tuple[str, ...]:
        return ("x", "y", "z")

    def _read(self, quantity: str, readings: Readings) -> Any:
        joint = self._joint
        F_Jc = readings.reaction_forces[..., joint.index, :]
        t, f = F_Jc[..., :3], F_Jc[..., 3:]
        if self._frame is joint.frame_on_child:
            return t if quantity == "torque" else f
        X_JcS = readings.tree.calc_relative_transform(readings.context, joint.frame_on_child, self._frame)
        R_SJc = transpose(X_JcS[..., :3, :3])
        return rotate(R_SJc, f if quantity == "force" else t - np.cross(X_JcS[..., :3, 3], f))

    def _needs(self) -> Iterable[tuple[MultibodyElement, str]]:
        return ((self._joint, "joint"), (self._frame, "frame"))
