"""The layout of positions, velocities and inputs: sizes, defaults and limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentTypeError, NotFinalizedError
from mbt.math.arrays import FloatArray
from mbt.tree.element_access import ElementAccess

if TYPE_CHECKING:
    from mbt.topology import SpanningForest
    from mbt.tree.body import RigidBody
    from mbt.tree.finalization import FinalizationPlan

__all__ = ["StateLayout"]


class StateLayout(ElementAccess):
    """The part of `MultibodyTree` for the layout of q, v and the inputs, after ``finalize()``."""

    _plan: FinalizationPlan | None = None
    # Cache of `_fact`.
    _known_facts: tuple[FinalizationPlan, dict[object, Any]] | None = None

    @property
    def is_finalized(self) -> bool:
        """Whether ``finalize()`` was called: the tree computes, and can no longer change."""
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
        make = self._finalized("default_positions").default_positions
        positions: FloatArray = self._fact("default_positions", make).copy()
        return positions

    @property
    def position_lower_limits(self) -> FloatArray:
        """Lower limits of the positions, shape (num_positions,): -inf where there is none."""
        return self._limits("position_lower_limits", -np.inf)

    @property
    def position_upper_limits(self) -> FloatArray:
        """Upper limits of the positions, shape (num_positions,): inf where there is none."""
        return self._limits("position_upper_limits", np.inf)

    @property
    def velocity_lower_limits(self) -> FloatArray:
        """Lower limits of the velocities, shape (num_velocities,): -inf where there is none."""
        return self._limits("velocity_lower_limits", -np.inf)

    @property
    def velocity_upper_limits(self) -> FloatArray:
        """Upper limits of the velocities, shape (num_velocities,): inf where there is none."""
        return self._limits("velocity_upper_limits", np.inf)

    @property
    def acceleration_lower_limits(self) -> FloatArray:
        """Lower limits of the accelerations, shape (num_velocities,): -inf where there is none."""
        return self._limits("acceleration_lower_limits", -np.inf)

    @property
    def acceleration_upper_limits(self) -> FloatArray:
        """Upper limits of the accelerations, shape (num_velocities,): inf where there is none."""
        return self._limits("acceleration_upper_limits", np.inf)

    @property
    def effort_limits(self) -> FloatArray:
        """Largest effort of each actuator, shape (num_actuators,): inf where there is no limit."""
        return np.array([actuator.effort_limit for actuator in self._elements.actuators], dtype=np.float64)

    @property
    def effort_lower_limits(self) -> FloatArray:
        """Lower limits of the generalized forces, shape (num_velocities,): minus `effort_upper_limits`."""
        limits: FloatArray = -self._fact("effort_lower_limits", self._effort_limits_of_velocities)
        return limits

    @property
    def effort_upper_limits(self) -> FloatArray:
        """Upper limits of the generalized forces, shape (num_velocities,): inf where there is none.

        The limit of a velocity is that of its joint, ``joint.effort_limit``, or that of the actuators on it,
        if that is smaller; several add up. ``np.clip(tau, tree.effort_lower_limits,
        tree.effort_upper_limits)`` keeps forces within them. A velocity without an actuator is not limited:
        see `actuation_matrix`.
        """
        limits: FloatArray = self._fact("effort_upper_limits", self._effort_limits_of_velocities).copy()
        return limits

    @property
    def actuation_matrix(self) -> FloatArray:
        """The matrix B, shape (num_velocities, num_actuators), read-only: ``tau = B context.actuation``.

        A column for each actuator, in the order of their indices: 1 at the velocity that it drives, else 0.
        """
        num_velocities = self._finalized("actuation_matrix").num_velocities
        matrix = np.zeros((num_velocities, len(self._elements.actuators)))
        for actuator in self._elements.actuators:
            matrix[actuator.velocity_start, actuator.input_start] = 1.0
        matrix.flags.writeable = False
        return matrix

    @property
    def node_bodies(self) -> tuple[RigidBody, ...]:
        """The bodies in the order of rows, by BodyNodeIndex: World first, a parent before its children."""
        bodies: tuple[RigidBody, ...] = self._fact(
            "node_bodies", lambda: tuple(sorted(self._elements.bodies, key=lambda body: body.node_index))
        )
        return bodies

    def _check_constructed(self) -> None:
        """Raise an error if the constructor of a subclass did not call that of `MultibodyTree`."""
        if not hasattr(self, "_elements"):
            raise ArgumentTypeError(f"{type(self).__name__}.__init__ must call super().__init__()")

    def _finalized(self, what: str) -> FinalizationPlan:
        if self._plan is None:
            self._check_constructed()
            raise NotFinalizedError(f"{what}: call tree.finalize() first.")
        return self._plan

    def _fact(self, what: str, make: Callable[[], Any], key: object = None) -> Any:
        """Return a fact about the present plan, made at the first request.

        Parameters
        ----------
        what : str
            Its name in messages about a tree that is not finalized; by default also its key.
        make : callable
            Returns it; callers must copy mutable values.
        """
        plan, known = self._finalized(what), self._known_facts
        if known is None or known[0] is not plan:
            self._known_facts = known = plan, {}
        facts, key = known[1], what if key is None else key
        if key not in facts:
            facts[key] = make()
        return facts[key]

    def _effort_limits_of_velocities(self) -> FloatArray:
        limits = np.full(self.num_velocities, np.inf)
        for joint in self._elements.joints:
            start = joint.velocity_start
            limits[start : start + joint.num_velocities] = joint.effort_limit
        of_actuators: dict[int, float] = {}
        for actuator in self._elements.actuators:
            row = actuator.velocity_start
            of_actuators[row] = of_actuators.get(row, 0.0) + actuator.effort_limit
        for row, limit in of_actuators.items():
            limits[row] = min(limits[row], limit)
        return limits

    def _limits(self, what: str, none: float) -> FloatArray:
        """Return limits of the positions, or of the velocities or accelerations, gathered joint by joint."""

        def gather() -> FloatArray:
            is_position = what.startswith("position")
            values = np.full(self.num_positions if is_position else self.num_velocities, none)
            for joint in self._elements.joints:
                own = joint._position_range() if is_position else joint._velocity_range()
                values[own.start : own.stop] = getattr(joint, what)
            return values

        limits: FloatArray = self._fact(what, gather).copy()
        return limits
