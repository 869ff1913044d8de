"""The types of sensors, one file each."""

from typing import TYPE_CHECKING

from mbt.importing import late_names
from mbt.tree.sensors.sensor import Sensor

if TYPE_CHECKING:
    from mbt.tree.sensors.force_torque import ForceTorqueSensor
    from mbt.tree.sensors.frame import FrameSensor
    from mbt.tree.sensors.imu import Imu
    from mbt.tree.sensors.joint import JointSensor
else:
    __getattr__ = late_names(
        __name__,
        {
            "ForceTorqueSensor": "force_torque",
            "FrameSensor": "frame",
            "Imu": "imu",
            "JointSensor": "joint",
        },
    )

__all__: list[str] = ["ForceTorqueSensor", "FrameSensor", "Imu", "JointSensor", "Sensor"]
