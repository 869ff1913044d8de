"""Inverse kinematics: positions and velocities that bring frames to their goals."""

from mbt.kinematics.inverse_kinematics import InverseKinematics
from mbt.kinematics.one_frame import inverse_kinematics
from mbt.kinematics.result import InverseKinematicsResult

__all__ = ["InverseKinematics", "InverseKinematicsResult", "inverse_kinematics"]
