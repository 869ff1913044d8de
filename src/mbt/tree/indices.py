"""Typed indices: plain integers that a type checker keeps apart."""

from __future__ import annotations

from typing import NewType

__all__ = [
    "AbstractParameterIndex",
    "BodyIndex",
    "BodyNodeIndex",
    "ConstraintIndex",
    "DiscreteStateIndex",
    "ForceElementIndex",
    "FrameIndex",
    "JointActuatorIndex",
    "JointIndex",
    "MobilizerIndex",
    "ModelInstanceIndex",
    "NumericParameterIndex",
    "SensorIndex",
    "default_model_instance",
    "world_index",
    "world_model_instance",
]

#: Bodies in the order added. World is 0.
BodyIndex = NewType("BodyIndex", int)
#: Frames in the order added, body frames included. The world frame is 0.
FrameIndex = NewType("FrameIndex", int)
#: Joints in the order added; those made by ``finalize()`` come last.
JointIndex = NewType("JointIndex", int)
#: Mobilizers: first those added by the user, then those of the joints, in the order of the joints.
MobilizerIndex = NewType("MobilizerIndex", int)
#: Bodies in depth-first order from World: a parent has a smaller index than its children.
BodyNodeIndex = NewType("BodyNodeIndex", int)
#: Force elements in the order added.
ForceElementIndex = NewType("ForceElementIndex", int)
#: Constraints in the order added.
ConstraintIndex = NewType("ConstraintIndex", int)
#: Joint actuators in the order added.
JointActuatorIndex = NewType("JointActuatorIndex", int)
#: Sensors in the order added.
SensorIndex = NewType("SensorIndex", int)
#: Model instances in the order added, after those of World (0) and of elements without one (1).
ModelInstanceIndex = NewType("ModelInstanceIndex", int)
#: Vectors that elements declared as parameters, in the order declared.
NumericParameterIndex = NewType("NumericParameterIndex", int)
#: Objects that elements declared as parameters, in the order declared.
AbstractParameterIndex = NewType("AbstractParameterIndex", int)
#: Vectors that elements declared as discrete state, in the order declared.
DiscreteStateIndex = NewType("DiscreteStateIndex", int)


def world_index() -> BodyIndex:
    """Return the index of the world body, 0."""
    return BodyIndex(0)


def world_model_instance() -> ModelInstanceIndex:
    """Return the model instance of the world body, 0."""
    return ModelInstanceIndex(0)


def default_model_instance() -> ModelInstanceIndex:
    """Return the model instance of all elements that are given none, 1."""
    return ModelInstanceIndex(1)
