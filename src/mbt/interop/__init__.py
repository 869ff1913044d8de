"""Models that live in other libraries become trees; and what their coordinates are in those of the tree.

Each function needs the library whose object it takes, and imports no other.
"""

from __future__ import annotations

from mbt.interop.mujoco_coordinates import MujocoCoordinates
from mbt.interop.mujoco_models import from_mujoco
from mbt.interop.pinocchio_coordinates import PinocchioCoordinates
from mbt.interop.pinocchio_models import from_pinocchio

__all__ = ["MujocoCoordinates", "PinocchioCoordinates", "from_mujoco", "from_pinocchio"]
