"""Conversion of other libraries' models to trees, and maps between their coordinates.

Each function needs only the library whose object it takes.
"""

from __future__ import annotations

from mbt.interop.mujoco_coordinates import MujocoCoordinates
from mbt.interop.mujoco_models import from_mujoco
from mbt.interop.pinocchio_coordinates import PinocchioCoordinates
from mbt.interop.pinocchio_models import from_pinocchio

__all__ = ["MujocoCoordinates", "PinocchioCoordinates", "from_mujoco", "from_pinocchio"]
