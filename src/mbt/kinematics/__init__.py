"""Positions at which frames are where they should be."""

from mbt.kinematics.inverse_kinematics import InverseKinematics
from mbt.kinematics.one_frame import inverse_kinematics
from mbt.kinematics.result import InverseKinematicsResult

__all__ = ["InverseKinematics", "InverseKinematicsResult", "inverse_kinematics"]
