"""Sensors of frames: where a frame is and how it moves, as a motion-capture system measures it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from mbt.errors import ArgumentValueError
from mbt.tree.element import MultibodyElement
from mbt.tree.frame import Frame, as_frame
from mbt.tree.sensors.sensor import Sensor

if TYPE_CHECKING:
    from mbt.tree.body import RigidBody
    from mbt.tree.sensors.readings import Readings

__all__ = ["FrameSensor"]

_ACCELERATIONS = ("angular_acceleration", "linear_acceleration")
_AXES = {"x_axis": 0, "y_axis": 1, "z_axis": 2}


class FrameSensor(Sensor):
    """Pose and motion of a frame F, measured in World, or in a frame A and expressed in A.

    - ``"position"``: of the origin of F [m].
    - ``"quaternion"``: orientation of F, as (w, x, y, z) of unit length.
    - ``"x_axis"``, ``"y_axis"``, ``"z_axis"``: the axes of F.
    - ``"angular_velocity"`` [rad/s], ``"linear_velocity"`` of the origin [m/s]: as seen by an observer who
      moves with A.
    - ``"angular_acceleration"`` [rad/s^2]; ``"linear_acceleration"`` of the origin, minus gravity [m/s^2], as
      an accelerometer measures it, but in World. Both are measured in World only.

    Parameters
    ----------
    frame : Frame or RigidBody
        The frame F; a body stands for its body frame.
    name : str, optional
        Name, unique among the sensors of the model instance; by default that of the frame.
    relative_to : Frame or RigidBody, optional
        The frame A; by default World.
    quantities : sequence of str, optional
        The measured quantities, in the order of its columns; by default pose and velocities.

    Raises
    ------
    ArgumentTypeError
        When an argument is of another type.
    ArgumentValueError
        When there is no such quantity, or an acceleration is to be measured in a frame other than World.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm")).edit()
    >>> hand = tree.bodies[-1]
    >>> sensor = tree.add_sensor(mbt.FrameSensor(hand, "hand", quantities=["position", "quaternion"]))
    >>> tree.finalize()
    >>> tree.sensor_names
    ('hand_position_x', 'hand_position_y', 'hand_position_z', 'hand_quaternion_w', 'hand_quaternion_x', \
'hand_quaternion_y', 'hand_quaternion_z')
    """

    known_quantities: ClassVar[tuple[str, ...]] = (
        "position",
        "quaternion",
        *_AXES,
        "angular_velocity",
        "linear_velocity",
        *_ACCELERATIONS,
    )

    def __init__(
        self,
        frame: Frame | RigidBody,
        name: str | None = None,
        *,
        relative_to: Frame | RigidBody | None = None,
        quantities: Iterable[str] = ("position", "quaternion", "angular_velocity", "linear_velocity"),
    ) -> None:
        self._frame = F = as_frame(frame, "FrameSensor: frame")
        self._relative_to = None if relative_to is None else as_frame(relative_to, "FrameSensor: relative_to")
        super().__init__(name, F.name, F.model_instance, quantities)
        accelerations = [quantity for quantity in self._quantities if quantity in _ACCELERATIONS]
        if accelerations and self._relative_to is not None:
            raise ArgumentValueError(
                f"FrameSensor: relative_to: expected World, None, as {accelerations[0]!r} is measured there, "
                f"got {self._relative_to._label}"
            )

    @property
    def frame(self) -> Frame:
        """The frame F whose motion it measures."""
        return self._frame

    @property
    def relative_to(self) -> Frame | None:
        """The frame A in which it measures; None is World."""
        return self._relative_to

    def _suffixes_of(self, quantity: str) -> tuple[str, ...]:
        return ("w", "x", "y", "z") if quantity == "quaternion" else ("x", "y", "z")

    def _read(self, quantity: str, readings: Readings) -> Any:
        context, F = readings.context, self._frame
        if quantity == "linear_acceleration":
            return readings.specific_force(F)
        if quantity == "angular_acceleration":
            return readings.acceleration(F)[..., :3]
        A = readings.tree.world_frame if self._relative_to is None else self._relative_to
        if quantity in ("angular_velocity", "linear_velocity"):
            V_AF = F.calc_spatial_velocity(context, A, A)
            return V_AF[..., :3] if quantity == "angular_velocity" else V_AF[..., 3:]
        X_AF = F.calc_pose(context, A)
        if quantity == "position":
            return X_AF[..., :3, 3]
        R_AF = X_AF[..., :3, :3]
        return (
            context._numbers.matrix_to_quaternion(R_AF)
            if quantity == "quaternion"
            else R_AF[..., _AXES[quantity]]
        )

    def _needs(self) -> Iterable[tuple[MultibodyElement, str]]:
        yield self._frame, "frame"
        if self._relative_to is not None:
            yield self._relative_to, "relative_to"
