"""The layout of positions, velocities and inputs: sizes, limits, and the parts of model instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mbt.errors import NotFinalizedError
from mbt.math.arrays import FloatArray, as_float_array, check_out
from mbt.tree.element_access import ElementAccess

if TYPE_CHECKING:
    from mbt.topology import SpanningForest
    from mbt.tree.finalization import FinalizationPlan

__all__ = ["StateLayout"]

IndexArray = npt.NDArray[np.intp]


class StateLayout(ElementAccess):
    """The part of `MultibodyTree` that knows the layout of q, v and the inputs, after ``finalize()``."""

    _plan: FinalizationPlan | None

    @property
    def is_finalized(self) -> bool:
        """Whether ``finalize()`` was called: the tree computes, and cannot change any more."""
        return self._plan is not None

    @property
    def topology_is_valid(self) -> bool:
        """Whether ``finalize()`` was called: the same as `is_finalized`."""
        return self._plan is not None

    @property
    def topology(self) -> SpanningForest:
        """The place of each body between World and the tips."""
        return self._finalized("topology").forest

    @property
    def tree_height(self) -> int:
        """Number of bodies on the longest path from World to a tip; 1 when there is only World."""
        return self._finalized("tree_height").forest.height

    @property
    def num_positions(self) -> int:
        """Number of positions, nq."""
        return self._finalized("num_positions").num_positions

    @property
    def num_velocities(self) -> int:
        """Number of velocities, nv."""
        return self._finalized("num_velocities").num_velocities

    @property
    def num_states(self) -> int:
        """Number of positions and velocities together."""
        plan = self._finalized("num_states")
        return plan.num_positions + plan.num_velocities

    # Arrays over all joints.

    @property
    def default_positions(self) -> FloatArray:
        """Positions of a new Context, shape (num_positions,)."""
        return self._finalized("default_positions").default_positions()

    @property
    def position_lower_limits(self) -> FloatArray:
        """Lower limits of the positions, shape (num_positions,): -inf where there is none."""
        return self._gather_positions("position_lower_limits", -np.inf)

    @property
    def position_upper_limits(self) -> FloatArray:
        """Upper limits of the positions, shape (num_positions,): inf where there is none."""
        return self._gather_positions("position_upper_limits", np.inf)

    @property
    def velocity_lower_limits(self) -> FloatArray:
        """Lower limits of the velocities, shape (num_velocities,): -inf where there is none."""
        return self._gather_velocities("velocity_lower_limits", -np.inf)

    @property
    def velocity_upper_limits(self) -> FloatArray:
        """Upper limits of the velocities, shape (num_velocities,): inf where there is none."""
        return self._gather_velocities("velocity_upper_limits", np.inf)

    @property
    def acceleration_lower_limits(self) -> FloatArray:
        """Lower limits of the accelerations, shape (num_velocities,): -inf where there is none."""
        return self._gather_velocities("acceleration_lower_limits", -np.inf)

    @property
    def acceleration_upper_limits(self) -> FloatArray:
        """Upper limits of the accelerations, shape (num_velocities,): inf where there is none."""
        return self._gather_velocities("acceleration_upper_limits", np.inf)

    @property
    def effort_limits(self) -> FloatArray:
        """Largest effort of each actuator, shape (num_actuators,): inf where there is no limit."""
        return np.array([actuator.effort_limit for actuator in self._elements.actuators], dtype=np.float64)

    # Model instances: their parts of q, v and the inputs, in the order of the whole arrays.

    def get_num_positions(self, model_instance: int) -> int:
        """Return the number of positions of a model instance."""
        return len(self._position_indices(model_instance))

    def get_num_velocities(self, model_instance: int) -> int:
        """Return the number of velocities of a model instance."""
        return len(self._velocity_indices(model_instance))

    def get_num_states(self, model_instance: int) -> int:
        """Return the number of positions and velocities of a model instance."""
        return self.get_num_positions(model_instance) + self.get_num_velocities(model_instance)

    def get_num_actuated_dofs(self, model_instance: int) -> int:
        """Return the number of inputs of the actuators of a model instance."""
        return len(self._input_indices(model_instance))

    def get_positions_from_array(self, model_instance: int, q: object) -> FloatArray:
        """Return the positions of a model instance, a copy.

        Parameters
        ----------
        model_instance : ModelInstanceIndex
            The model instance.
        q : array_like, shape (..., num_positions)
            Positions of the whole tree.

        Returns
        -------
        ndarray, shape (..., get_num_positions(model_instance))
        """
        indices = self._position_indices(model_instance)
        return as_float_array(q, "q", (..., self.num_positions))[..., indices]

    def set_positions_in_array(self, model_instance: int, q_instance: object, q: FloatArray) -> None:
        """Write the positions of a model instance into those of the whole tree.

        Parameters
        ----------
        model_instance : ModelInstanceIndex
            The model instance.
        q_instance : array_like, shape (get_num_positions(model_instance),)
            Positions of the model instance.
        q : ndarray, shape (num_positions,), float64, C-contiguous
            Positions of the whole tree. The others are left as they are.
        """
        indices = self._position_indices(model_instance)
        values = as_float_array(q_instance, "q_instance", (len(indices),))
        check_out(q, "q", (self.num_positions,))[indices] = values

    def get_velocities_from_array(self, model_instance: int, v: object) -> FloatArray:
        """Return the velocities of a model instance, a copy; `v` has the shape (..., num_velocities)."""
        indices = self._velocity_indices(model_instance)
        return as_float_array(v, "v", (..., self.num_velocities))[..., indices]

    def set_velocities_in_array(self, model_instance: int, v_instance: object, v: FloatArray) -> None:
        """Write the velocities of a model instance into `v`, as `set_positions_in_array`."""
        indices = self._velocity_indices(model_instance)
        values = as_float_array(v_instance, "v_instance", (len(indices),))
        check_out(v, "v", (self.num_velocities,))[indices] = values

    def get_actuation_from_array(self, model_instance: int, u: object) -> FloatArray:
        """Return the inputs of a model instance, a copy; `u` has the shape (..., num_actuated_dofs)."""
        indices = self._input_indices(model_instance)
        return as_float_array(u, "u", (..., len(self._elements.actuators)))[..., indices]

    def _finalized(self, what: str) -> FinalizationPlan:
        if self._plan is None:
            raise NotFinalizedError(f"{what} is known after tree.finalize().")
        return self._plan

    def _position_indices(self, model_instance: int) -> IndexArray:
        instance = self._known_instance(model_instance)
        mobilizers = self._finalized("The layout of the positions").mobilizer_of_node
        return _concatenate([m._position_range() for m in mobilizers if m.model_instance == instance])

    def _velocity_indices(self, model_instance: int) -> IndexArray:
        instance = self._known_instance(model_instance)
        mobilizers = self._finalized("The layout of the velocities").mobilizer_of_node
        return _concatenate([m._velocity_range() for m in mobilizers if m.model_instance == instance])

    def _input_indices(self, model_instance: int) -> IndexArray:
        instance = self._known_instance(model_instance)
        actuators = self._elements.actuators.in_instance(instance)
        return np.array([actuator.input_start for actuator in actuators], dtype=np.intp)

    def _gather_positions(self, limits: str, none: float) -> FloatArray:
        values = np.full(self._finalized(limits).num_positions, none)
        for joint in self._elements.joints:
            joint.get_mutable_positions_from_array(values)[:] = getattr(joint, limits)
        return values

    def _gather_velocities(self, limits: str, none: float) -> FloatArray:
        values = np.full(self._finalized(limits).num_velocities, none)
        for joint in self._elements.joints:
            joint.get_mutable_velocities_from_array(values)[:] = getattr(joint, limits)
        return values


def _concatenate(ranges: list[range]) -> IndexArray:
    return np.array([index for indices in ranges for index in indices], dtype=np.intp)
