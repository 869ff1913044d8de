"""Inertial measurement units: the motion of a frame, as measured on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from mbt.tree.element import MultibodyElement
from mbt.tree.frame import Frame, as_frame
from mbt.tree.sensors.sensor import Sensor

if TYPE_CHECKING:
    from mbt.tree.body import RigidBody
    from mbt.tree.sensors.readings import Readings

__all__ = ["Imu"]


class Imu(Sensor):
    """An inertial measurement unit: the motion of a frame F in World, expressed in F.

    - ``"gyro"``: angular velocity w_WF_F [rad/s].
    - ``"accelerometer"``: acceleration of the origin of F minus gravity, a_WFo_F - g_F [m/s^2]: ``+9.81``
      along an axis that points up while it rests.
    - ``"velocimeter"``: velocity of the origin of F, v_WFo_F [m/s].

    Parameters
    ----------
    frame : Frame or RigidBody
        The frame F; a body stands for its body frame.
    name : str, optional
        Name, unique among the sensors of the model instance; by default that of the frame with ``"_imu"``.
    quantities : sequence of str, optional
        The measured quantities, in the order of its columns.

    Raises
    ------
    ArgumentTypeError
        When `frame` is not a frame.
    ArgumentValueError
        When there is no such quantity.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_cube_with_mass(1.0, 0.1)))
    >>> table = tree.add_joint(mbt.WeldJoint, "table", tree.world_body, None, box, None)
    >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement())
    >>> imu = tree.add_sensor(mbt.Imu(box))
    >>> tree.finalize()
    >>> tree.sensor_names[:4]
    ('box_imu_gyro_x', 'box_imu_gyro_y', 'box_imu_gyro_z', 'box_imu_accelerometer_x')
    >>> tree.create_default_context().sensors
    array([0.  , 0.  , 0.  , 0.  , 0.  , 9.81])
    """

    known_quantities: ClassVar[tuple[str, ...]] = ("gyro", "accelerometer", "velocimeter")

    def __init__(
        self,
        frame: Frame | RigidBody,
        name: str | None = None,
        *,
        quantities: Iterable[str] = ("gyro", "accelerometer"),
    ) -> None:
        self._frame = F = as_frame(frame, "Imu: frame")
        super().__init__(name, f"{F.name}_imu", F.model_instance, quantities)

    @property
    def frame(self) -> Frame:
        """The frame whose motion it measures."""
        return self._frame

    def _suffixes_of(self, quantity: str) -> tuple[str, ...]:
        return ("x", "y", "z")

    def _read(self, quantity: str, readings: Readings) -> Any:
        F = self._frame
        if quantity == "accelerometer":
            return readings.turned(F, readings.specific_force(F))
        V_WF = F.calc_spatial_velocity_in_world(readings.context)
        return readings.turned(F, V_WF[..., :3] if quantity == "gyro" else V_WF[..., 3:])

    def _needs(self) -> Iterable[tuple[MultibodyElement, str]]:
        return ((self._frame, "frame"),)
