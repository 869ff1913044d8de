"""What a user builds: trees and their elements."""

from typing import TYPE_CHECKING

from mbt.importing import late_names
from mbt.tree import constraints, force_elements, joints, sensors
from mbt.tree.actuator import JointActuator
from mbt.tree.body import RigidBody
from mbt.tree.constraints import Constraint
from mbt.tree.element import MultibodyElement
from mbt.tree.force_elements import CompiledForceElement, ForceElement, UniformGravityFieldElement
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
from mbt.tree.sensors import Sensor
from mbt.tree.shape import Shape

if TYPE_CHECKING:
    from mbt.tree.constraints import BallConstraint, CouplerConstraint, DistanceConstraint, WeldConstraint
    from mbt.tree.force_elements import (
        DoorHinge,
        DoorHingeConfig,
        JointFriction,
        LinearBushingRollPitchYaw,
        LinearSpringDamper,
        PointContact,
        PrismaticSpring,
        RevoluteSpring,
    )
    from mbt.tree.joints import (
        BallRpyJoint,
        CurvilinearJoint,
        CurvilinearMobilizer,
        CylindricalJoint,
        CylindricalMobilizer,
        PlanarJoint,
        PlanarMobilizer,
        PrismaticJoint,
        PrismaticMobilizer,
        QuaternionBallJoint,
        QuaternionBallMobilizer,
        QuaternionFloatingJoint,
        QuaternionFloatingMobilizer,
        RevoluteJoint,
        RevoluteMobilizer,
        RpyBallMobilizer,
        RpyFloatingJoint,
        RpyFloatingMobilizer,
        ScrewJoint,
        ScrewMobilizer,
        UniversalJoint,
        UniversalMobilizer,
        WeldJoint,
        WeldMobilizer,
    )
    from mbt.tree.sensors import ForceTorqueSensor, FrameSensor, Imu, JointSensor
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
    # Joints
    "Joint",
    "BallRpyJoint",
    "CurvilinearJoint",
    "CylindricalJoint",
    "PlanarJoint",
    "PrismaticJoint",
    "QuaternionBallJoint",
    "QuaternionFloatingJoint",
    "RevoluteJoint",
    "RpyFloatingJoint",
    "ScrewJoint",
    "UniversalJoint",
    "WeldJoint",
    # Mobilizers
    "Mobilizer",
    "CurvilinearMobilizer",
    "CylindricalMobilizer",
    "PlanarMobilizer",
    "PointContact",
    "PrismaticMobilizer",
    "QuaternionBallMobilizer",
    "QuaternionFloatingMobilizer",
    "RevoluteMobilizer",
    "RpyBallMobilizer",
    "RpyFloatingMobilizer",
    "ScrewMobilizer",
    "UniversalMobilizer",
    "WeldMobilizer",
    # Force elements
    "ForceElement",
    "CompiledForceElement",
    "DoorHinge",
    "DoorHingeConfig",
    "JointFriction",
    "LinearBushingRollPitchYaw",
    "LinearSpringDamper",
    "PrismaticSpring",
    "RevoluteSpring",
    "UniformGravityFieldElement",
    # Constraints
    "Constraint",
    "BallConstraint",
    "CouplerConstraint",
    "DistanceConstraint",
    "WeldConstraint",
    # Sensors
    "Sensor",
    "ForceTorqueSensor",
    "FrameSensor",
    "Imu",
    "JointSensor",
    # What elements declare
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
