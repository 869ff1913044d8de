"""Everything that changes while a tree is used: state, inputs, parameters and caches, in a `Context`."""

from mbt._core.api.tree_kinematics import FrameBodyPoseCache
from mbt._core.engines.caches import (
    AccelerationKinematicsCache,
    PositionKinematicsCache,
    VelocityKinematicsCache,
)
from mbt.context.context import Context
from mbt.context.multibody_forces import MultibodyForces

__all__ = [
    "AccelerationKinematicsCache",
    "Context",
    "FrameBodyPoseCache",
    "MultibodyForces",
    "PositionKinematicsCache",
    "VelocityKinematicsCache",
]
