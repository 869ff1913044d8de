"""Task-space control: accelerations, contact forces and torques from one quadratic program per tick."""

from mbt.control.contacts import ContactPoints
from mbt.control.controller import TaskSpaceController
from mbt.control.results import TaskSpaceResult

__all__ = ["ContactPoints", "TaskSpaceController", "TaskSpaceResult"]
