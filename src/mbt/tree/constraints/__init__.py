"""The types of constraints, one file each."""

from mbt.tree.constraints.constraint import Constraint
from mbt.tree.constraints.coupler import CouplerConstraint

__all__ = ["Constraint", "CouplerConstraint"]
