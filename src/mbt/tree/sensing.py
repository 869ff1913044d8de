"""Measurements of the sensors of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mbt._core.above import above
from mbt._core.engines.context import ContextCore
from mbt.tree.context_access import raise_context_mismatch
from mbt.tree.element_access import ElementAccess

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.context.multibody_forces import MultibodyForces
    from mbt.math.arrays import FloatArray

__all__ = ["Sensing"]


class Sensing(ElementAccess):
    """The part of `MultibodyTree` that reads sensors."""

    @property
    def num_sensor_values(self) -> int:
        """Number of columns of all sensors together."""
        return sum(sensor.num_values for sensor in self.sensors)

    @property
    def sensor_names(self) -> tuple[str, ...]:
        """Name of each column of `calc_sensors`: the sensor, then the measured quantity.

        For example ``"tool_imu_gyro_x"``. Sensors of the same name in several model instances are told apart:
        ``"left::tool_imu_gyro_x"``.
        """
        from mbt.tree.coordinate_lookup import distinct_names_of

        sensors = self.sensors
        names = zip(sensors, distinct_names_of(sensors), strict=True)
        return tuple(f"{name}_{suffix}" for sensor, name in names for suffix in sensor.suffixes)

    def calc_sensors(
        self,
        context: Context,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the measurements of all sensors, in index order; one fills ``sensor.columns``.

        Accelerations and forces of joints are those of `calc_forward_dynamics`: force elements, joint
        damping, ``context.actuation``, ``context.applied_forces`` and the arguments act. Servos do not: if
        there are any, pass ``tree.calc_servo_efforts(context) @ tree.actuation_matrix.T``.

        Parameters
        ----------
        context : Context
            A Context of this tree. With one of another scalar, results have its derivatives or expressions.
        tau_applied : array_like, shape (..., num_velocities), optional
            Further generalized forces [N m, N].
        external_forces : MultibodyForces, optional
            Further forces on bodies and degrees of freedom.
        out : ndarray, shape (..., num_sensor_values), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (..., num_sensor_values)
            With the leading axes of the Context; `sensor_names` names the columns.

        Raises
        ------
        ContextMismatchError
            When the Context belongs to another tree, or the forces do.
        ShapeError, ArgumentTypeError
            When an array is not of the right shape or type.
        SingularityError
            When a single state has no accelerations, and a sensor needs them.

        Examples
        --------
        >>> import numpy as np
        >>> import mbt
        >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm")).edit()
        >>> imu = tree.add_sensor(mbt.Imu(tree.bodies[-1], "imu"))
        >>> elbow = tree.add_sensor(mbt.JointSensor(tree.get_joint_by_name("elbow")))
        >>> tree.finalize()
        >>> context = tree.create_default_context(batch_shape=(100,))
        >>> tree.calc_sensors(context).shape
        (100, 8)
        >>> tree.calc_sensors(context)[:, imu.columns].shape
        (100, 6)
        """
        tree = cast(Any, self)
        if not isinstance(context, ContextCore) or context.tree is not tree:
            raise_context_mismatch(tree, context)
        values: Any = above.read_sensors(context, tau_applied, external_forces)
        result: FloatArray = context._numbers.write(out, values, "out")
        return result
