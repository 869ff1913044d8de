"""Sensors of joints: encoders and tachometers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from mbt.errors import ArgumentValueError
from mbt.tree.element import MultibodyElement, check_element, is_constructed
from mbt.tree.joint import Joint
from mbt.tree.sensors.sensor import Sensor

if TYPE_CHECKING:
    from mbt.tree.sensors.readings import Readings

__all__ = ["JointSensor"]


class JointSensor(Sensor):
    """Coordinates of a joint.

    - ``"position"``: its part of q.
    - ``"velocity"``: its part of v.
    - ``"acceleration"``: its part of the accelerations.

    Parameters
    ----------
    joint : Joint
        The joint; not a weld.
    name : str, optional
        Name, unique among the sensors of the model instance; by default that of the joint.
    quantities : sequence of str, optional
        The measured quantities, in the order of its columns.

    Raises
    ------
    ArgumentTypeError
        When `joint` is not a joint.
    ArgumentValueError
        When the joint has no coordinates, or there is no such quantity.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm")).edit()
    >>> elbow = tree.add_sensor(mbt.JointSensor(tree.get_joint_by_name("elbow")))
    >>> tree.finalize()
    >>> tree.sensor_names
    ('elbow_position', 'elbow_velocity')
    """

    known_quantities: ClassVar[tuple[str, ...]] = ("position", "velocity", "acceleration")

    def __init__(
        self, joint: Joint, name: str | None = None, *, quantities: Iterable[str] = ("position", "velocity")
    ) -> None:
        if not is_constructed(joint, Joint):
            check_element(joint, Joint, "JointSensor: joint")
        if not joint.num_velocities:
            raise ArgumentValueError(
                f"JointSensor: joint: expected one with degrees of freedom, but {joint._label} "
                f"({joint.type_name}) has none"
            )
        self._joint = joint
        super().__init__(name, joint.name, joint.model_instance, quantities)

    @property
    def joint(self) -> Joint:
        """The joint whose coordinates it measures."""
        return self._joint

    def _suffixes_of(self, quantity: str) -> tuple[str, ...]:
        mobilizer = self._joint._mobilizer_type
        suffixes = mobilizer.position_suffixes if quantity == "position" else mobilizer.velocity_suffixes
        return suffixes if len(suffixes) > 1 else ("",)

    def _read(self, quantity: str, readings: Readings) -> Any:
        joint = self._joint
        if quantity == "position":
            return readings.context.q[..., joint.position_start : joint.position_start + joint.num_positions]
        v = readings.context.v if quantity == "velocity" else readings.vdot
        return v[..., joint.velocity_start : joint.velocity_start + joint.num_velocities]

    def _needs(self) -> Iterable[tuple[MultibodyElement, str]]:
        return ((self._joint, "joint"),)
