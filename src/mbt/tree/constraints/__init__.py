"""The types of constraints, one file each."""

from mbt.tree.constraints.ball import BallConstraint
from mbt.tree.constraints.constraint import Constraint
from mbt.tree.constraints.coupler import CouplerConstraint
from mbt.tree.constraints.distance import DistanceConstraint
from mbt.tree.constraints.weld import WeldConstraint

__all__ = ["BallConstraint", "Constraint", "CouplerConstraint", "DistanceConstraint", "WeldConstraint"]
