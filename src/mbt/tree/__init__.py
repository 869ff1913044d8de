"""Trees and their elements, which users build."""

# ruff: noqa: F403

from typing import TYPE_CHECKING

from mbt.importing import late_names
from mbt.tree import constraints, force_elements, joints, sensors
from mbt.tree.actuator import JointActuator
from mbt.tree.body import RigidBody
from mbt.tree.constraints import Constraint as Constraint
from mbt.tree.element import MultibodyElement
from mbt.tree.force_elements import CompiledForceElement
from mbt.tree.force_elements import ForceElement as ForceElement
from mbt.tree.force_elements import UniformGravityFieldElement as UniformGravityFieldElement
from mbt.tree.frame import BodyFrame, FixedOffsetFrame, Frame
from mbt.tree.indices import (
    AbstractParameterIndex,
    BodyIndex,
    BodyNodeIndex,
    ConstraintIndex,
    DiscreteStateIndex,
    ForceElementIndex,
    FrameIndex,
    JointActuatorIndex,
    JointIndex,
    MobilizerIndex,
    ModelInstanceIndex,
    NumericParameterIndex,
    SensorIndex,
    default_model_instance,
    world_index,
    world_model_instance,
)
from mbt.tree.joint import Joint
from mbt.tree.mobilizer import Mobilizer
from mbt.tree.model_instance import ModelInstance
from mbt.tree.multibody_tree import MultibodyTree
from mbt.tree.parameters import CacheEntry, Parameters
from mbt.tree.sensors import Sensor as Sensor
from mbt.tree.shape import Shape

if TYPE_CHECKING:
    from mbt.tree.constraints import *
    from mbt.tree.force_elements import *
    from mbt.tree.joints import *
    from mbt.tree.sensors import *
else:
    __getattr__ = late_names(
        __name__,
        {
            **dict.fromkeys(joints.__all__, "joints"),
            **dict.fromkeys(force_elements.__all__, "force_elements"),
            **dict.fromkeys(constraints.__all__, "constraints"),
            **dict.fromkeys(sensors.__all__, "sensors"),
        },
    )

__all__ = [
    "MultibodyTree",
    # Elements
    "MultibodyElement",
    "ModelInstance",
    "RigidBody",
    "Frame",
    "BodyFrame",
    "FixedOffsetFrame",
    "JointActuator",
    "Shape",
    "Joint",
    "Mobilizer",
    "CompiledForceElement",
    # Declarations of elements
    "CacheEntry",
    "Parameters",
    # Indices
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
__all__ += constraints.__all__
__all__ += force_elements.__all__
__all__ += joints.__all__
__all__ += sensors.__all__
