"""Actions of environments: inputs of the actuators of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt.errors import ArgumentValueError

if TYPE_CHECKING:
    from mbt.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Actions"]


class Actions:
    """Inputs of the actuators of a tree: efforts of motors, targets of servos."""

    def __init__(self, tree: MultibodyTree) -> None:
        actuators = tree.joint_actuators
        self._dofs = [actuator.velocity_start for actuator in actuators]
        self._are_servos = np.array([actuator.is_servo for actuator in actuators], dtype=np.bool_)
        # Servos without stiffness have a velocity as their target.
        without_stiffness = [actuator.default_stiffness == 0.0 for actuator in actuators]
        self._are_speeds = self._are_servos & np.array(without_stiffness, dtype=np.bool_)
        self._low, self._high = -tree.effort_limits, tree.effort_limits.copy()
        for i in np.flatnonzero(self._are_servos).tolist():
            joint, of_velocity = actuators[i].joint, self._are_speeds[i]
            self._low[i] = (joint.velocity_lower_limits if of_velocity else joint.position_lower_limits)[0]
            self._high[i] = (joint.velocity_upper_limits if of_velocity else joint.position_upper_limits)[0]
        self._scale, self._middle = np.ones(()), np.zeros(())

    def limits(self, is_normalized: bool) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest actions, normalized or not."""
        low, high = self._low, self._high
        if not is_normalized:
            return low, high
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            what = "effort limits of all motors and position or velocity limits of the joints of servos"
            pairs = list(zip(low.tolist(), high.tolist(), strict=True))
            raise ArgumentValueError(f"normalized_actions: expected {what}, got {pairs}")
        self._scale, self._middle = 0.5 * (high - low), 0.5 * (high + low)
        return -np.ones(low.shape), np.ones(low.shape)

    def apply(self, context: Context, actions: FloatArray) -> FloatArray:
        """Set the targets of servos in a Context; return the generalized forces of motors, (n, nv)."""
        values = np.clip(actions * self._scale + self._middle, self._low, self._high)
        are_servos, are_speeds = self._are_servos, self._are_speeds
        if are_servos.any():
            are_positions = are_servos & ~are_speeds
            context.servo_positions = np.where(are_positions, values, context.servo_positions)
            context.servo_velocities = np.where(are_speeds, values, context.servo_velocities)
            values = np.where(are_servos, 0.0, values)
        tau = np.zeros((len(values), context.tree.num_velocities))
        np.add.at(tau.T, self._dofs, values.T)
        return tau
