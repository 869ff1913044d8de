"""The types of constraints, one file each."""

from typing import TYPE_CHECKING

from mbt.importing import late_names
from mbt.tree.constraints.constraint import Constraint

if TYPE_CHECKING:
    from mbt.tree.constraints.ball import BallConstraint
    from mbt.tree.constraints.coupler import CouplerConstraint
    from mbt.tree.constraints.distance import DistanceConstraint
    from mbt.tree.constraints.weld import WeldConstraint
else:
    __getattr__ = late_names(
        __name__,
        {
            "BallConstraint": "ball",
            "CouplerConstraint": "coupler",
            "DistanceConstraint": "distance",
            "WeldConstraint": "weld",
        },
    )

__all__: list[str] = [
    "BallConstraint",
    "Constraint",
    "CouplerConstraint",
    "DistanceConstraint",
    "WeldConstraint",
]
