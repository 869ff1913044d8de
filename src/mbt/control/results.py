"""What a tick of a controller gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt.math.arrays import FloatArray

__all__ = ["TaskSpaceResult"]


@dataclass(slots=True)
class TaskSpaceResult:
    """What a tick of `TaskSpaceController` gives.

    Attributes
    ----------
    tau : ndarray, shape (num_velocities,)
        Generalized forces of the motors [N m, N]: zero where there is no motor.
    vdot : ndarray, shape (num_velocities,)
        Accelerations that they cause.
    contact_forces : ndarray, shape (n, 3)
        Forces on the points of all contacts, one after the other, in World axes [N]; zero at those that are
        lifted.
    multipliers : ndarray, shape (num_constraint_equations,)
        Those of the tree's constraints.
    actuation : ndarray, shape (num_actuators,)
        Efforts of the actuators: ``tau = tree.actuation_matrix @ actuation``.
    status : str
        "optimal", or "infeasible": bounds contradict each other, and the least violation was taken.
    violations : dict of str to float
        By which bounds, where there is no solution within all of them, and by how much.
    num_iterations : int
        Steps of the solver.
    """

    tau: FloatArray
    vdot: FloatArray
    contact_forces: FloatArray
    multipliers: FloatArray
    actuation: FloatArray
    status: str
    violations: dict[str, float]
    num_iterations: int

    @classmethod
    def empty(cls, num_velocities: int, num_points: int, num_rows: int, num_actuators: int) -> Self:
        """Return a result with arrays to be filled."""
        arrays = np.empty(num_velocities), np.empty(num_velocities), np.empty((num_points, 3))
        return cls(*arrays, np.empty(num_rows), np.empty(num_actuators), "", {}, 0)
