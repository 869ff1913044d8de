"""Positions at which frames are where they should be."""

from mbt.kinematics.inverse_kinematics import InverseKinematics, InverseKinematicsResult, inverse_kinematics

__all__ = ["InverseKinematics", "InverseKinematicsResult", "inverse_kinematics"]
