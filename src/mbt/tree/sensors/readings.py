"""Quantities that sensors read at one state of a Context, computed once for all sensors."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mbt._core.quantities.names import Quantity
from mbt.errors import ArgumentTypeError, shape_error
from mbt.math.leading_axes import flatten, rotate, transpose
from mbt.tree.context_access import Forces

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.context.multibody_forces import MultibodyForces
    from mbt.tree.frame import Frame

__all__ = ["Readings"]


class Readings:
    """Quantities of a Context that several sensors read.

    Parameters
    ----------
    context : Context
        Of any scalar; its inputs act.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.tree = context.tree
        self._R_FW: dict[int, Any] = {}

    @cached_property
    def vdot(self) -> Any:
        """Accelerations, (..., num_velocities)."""
        return self._accelerations.vdot

    @cached_property
    def reaction_forces(self) -> Any:
        """Forces of the joints on their child bodies, (..., num_joints, 6)."""
        return self.tree.calc_reaction_forces(self.context)

    def turned(self, frame: Frame, vector_W: Any) -> Any:
        """Return a vector in World, (..., 3), expressed in a frame."""
        key = frame._index
        if key not in self._R_FW:
            self._R_FW[key] = transpose(frame.calc_rotation_matrix_in_world(self.context))
        return rotate(self._R_FW[key], vector_W)

    def specific_force(self, frame: Frame) -> Any:
        """Return the acceleration of the origin of a frame minus gravity, in World, (..., 3)."""
        a_WFo = self.acceleration(frame)[..., 3:]
        field = self.tree.gravity_field
        return a_WFo if field is None else a_WFo - field.get_gravity_vector(self.context)

    def acceleration(self, frame: Frame) -> Any:
        """Return A_WF, (..., 6)."""
        places = (frame._index, 0, 0)  # Measured and expressed in the frame of World.
        return self.context._evaluate(Quantity.FRAME_ACCELERATION, places, self._A_WB)

    @cached_property
    def _A_WB(self) -> Any:
        return flatten(self._accelerations.A_WB, 2)

    @cached_property
    def _accelerations(self) -> Any:
        return self.tree.eval_acceleration_kinematics(self.context)


def read_sensors(context: Context, tau_applied: Any, external_forces: Any) -> Any:
    """Return the measurements of all sensors of a tree; see ``MultibodyTree.calc_sensors``."""
    tree, numbers = context.tree, context._numbers
    if tau_applied is not None or external_forces is not None:
        context = _with_forces(context, tau_applied, external_forces)
    readings = Readings(context)
    parts = [sensor._read(quantity, readings) for sensor in tree.sensors for quantity in sensor.quantities]
    # Without sensors the result is empty, with the batch shape and the scalar of q.
    return numbers.concatenate([context.q[..., :0], *parts])


def _with_forces(context: Context, tau_applied: Any, external_forces: Any) -> Context:
    """Return a copy of a Context with further forces."""
    tree, copy = context.tree, context.clone()
    forces = copy.applied_forces
    if tau_applied is not None:
        shape = (*context.batch_shape, tree.num_velocities)
        tau = context._numbers.as_float_array(tau_applied, "tau_applied", (..., tree.num_velocities))
        if np.broadcast_shapes(tau.shape, shape) != shape:
            raise shape_error("tau_applied", shape, tau.shape)
        forces._add_to_dofs(0, np.broadcast_to(tau, shape))
    if external_forces is not None:
        if not isinstance(external_forces, Forces):
            kind = type(external_forces).__name__
            raise ArgumentTypeError(f"external_forces: expected a MultibodyForces, got {kind}")
        forces.add_in_forces(cast("MultibodyForces", external_forces))
    return copy
