"""The types of force elements, one file each.

The hinge of a door, which few models have, is imported with its file only.
"""

from mbt.tree.force_elements.compiled import CompiledForceElement
from mbt.tree.force_elements.force_element import ForceElement
from mbt.tree.force_elements.joint_friction import JointFriction
from mbt.tree.force_elements.linear_bushing_roll_pitch_yaw import LinearBushingRollPitchYaw
from mbt.tree.force_elements.linear_spring_damper import LinearSpringDamper
from mbt.tree.force_elements.prismatic_spring import PrismaticSpring
from mbt.tree.force_elements.revolute_spring import RevoluteSpring
from mbt.tree.force_elements.uniform_gravity import UniformGravityFieldElement

__all__ = [
    "CompiledForceElement",
    "ForceElement",
    "JointFriction",
    "LinearBushingRollPitchYaw",
    "LinearSpringDamper",
    "PrismaticSpring",
    "RevoluteSpring",
    "UniformGravityFieldElement",
]
