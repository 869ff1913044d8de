"""Models that live in other libraries become trees; and what their coordinates are in those of the tree.

Each function needs the library whose object it takes, and imports no other.
"""

from __future__ import annotations

from mbt.interop.mujoco_coordinates import MujocoCoordinates
from mbt.interop.mujoco_models import from_mujoco

__all__ = ["MujocoCoordinates", "from_mujoco"]
