"""The joint types: one file holds the mobilizer and the joint of one type."""

from mbt.tree.joints.prismatic import PrismaticJoint, PrismaticMobilizer
from mbt.tree.joints.quaternion_floating import QuaternionFloatingJoint, QuaternionFloatingMobilizer
from mbt.tree.joints.revolute import RevoluteJoint, RevoluteMobilizer
from mbt.tree.joints.weld import WeldJoint, WeldMobilizer

__all__ = [
    "PrismaticJoint",
    "PrismaticMobilizer",
    "QuaternionFloatingJoint",
    "QuaternionFloatingMobilizer",
    "RevoluteJoint",
    "RevoluteMobilizer",
    "WeldJoint",
    "WeldMobilizer",
]
