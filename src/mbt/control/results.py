"""The result of a controller's tick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt.math.arrays import FloatArray

__all__ = ["TaskSpaceResult"]


@dataclass(slots=True)
class TaskSpaceResult:
    """Result of a tick of `TaskSpaceController`.

    For a batch of states, all attributes are arrays with its leading axes, including `status`, `violations`
    and `num_iterations`.

    Attributes
    ----------
    tau : ndarray, shape (num_velocities,)
        Generalized forces of the motors [N m, N]; zero where there is no motor.
    vdot : ndarray, shape (num_velocities,)
        The resulting accelerations.
    contact_forces : ndarray, shape (n, 3)
        Forces on the points of all contacts, one after the other, in World axes [N]; zero for lifted
        contacts.
    multipliers : ndarray, shape (num_constraint_equations,)
        Multipliers of the tree's constraints.
    actuation : ndarray, shape (num_actuators,)
        Efforts of the actuators: ``tau = tree.actuation_matrix @ actuation``.
    status : str
        "optimal"; "infeasible": bounds contradict each other, and the solution violates them least; or
        "not finite": a position or velocity is not finite, and all results are NaN.
    violations : dict of str to float
        The violated bounds, if no solution satisfies all of them, and the amounts of violation.
    num_iterations : int
        Steps of the solver.
    """

    tau: FloatArray
    vdot: FloatArray
    contact_forces: FloatArray
    multipliers: FloatArray
    actuation: FloatArray
    status: Any
    violations: Any
    num_iterations: Any

    @staticmethod
    def shapes(
        num_velocities: int, num_points: int, num_rows: int, num_actuators: int, batch: tuple[int, ...] = ()
    ) -> tuple[tuple[int, ...], ...]:
        """Return the shapes of `arrays`."""
        of_one = (num_velocities,), (num_velocities,), (num_points, 3), (num_rows,), (num_actuators,)
        return tuple((*batch, *shape) for shape in of_one)

    @classmethod
    def empty(
        cls,
        num_velocities: int,
        num_points: int,
        num_rows: int,
        num_actuators: int,
        batch: tuple[int, ...] = (),
    ) -> Self:
        """Return a result with arrays to be filled."""
        sizes = num_velocities, num_points, num_rows, num_actuators
        tau, vdot, forces, multipliers, actuation = map(np.empty, cls.shapes(*sizes, batch))
        arrays = tau, vdot, forces, multipliers, actuation
        if not batch:
            return cls(*arrays, "", {}, 0)
        return cls(*arrays, np.full(batch, "", "U10"), np.empty(batch, object), np.zeros(batch, int))

    def arrays(self) -> tuple[FloatArray, ...]:
        """Return all arrays of numbers."""
        return self.tau, self.vdot, self.contact_forces, self.multipliers, self.actuation
