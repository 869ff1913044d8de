"""What changes while a tree is used: state, inputs, parameters and caches, in a `Context`."""

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
    "MultibodyForces",
    "PositionKinematicsCache",
    "VelocityKinematicsCache",
]
