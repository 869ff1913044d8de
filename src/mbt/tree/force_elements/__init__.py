"""The types of force elements, one file each.

The hinge of a door, which few models have, is imported when it is first asked for.
"""

from typing import TYPE_CHECKING

from mbt.tree.force_elements.compiled import CompiledForceElement
from mbt.tree.force_elements.force_element import ForceElement
from mbt.tree.force_elements.joint_friction import JointFriction
from mbt.tree.force_elements.linear_bushing_roll_pitch_yaw import LinearBushingRollPitchYaw
from mbt.tree.force_elements.linear_spring_damper import LinearSpringDamper
from mbt.tree.force_elements.point_contact import PointContact
from mbt.tree.force_elements.prismatic_spring import PrismaticSpring
from mbt.tree.force_elements.revolute_spring import RevoluteSpring
from mbt.tree.force_elements.uniform_gravity import UniformGravityFieldElement

if TYPE_CHECKING:
    from mbt.tree.force_elements.door_hinge import DoorHinge, DoorHingeConfig
else:

    def __getattr__(name: str) -> object:
        """Import the hinge."""
        if name not in ("DoorHinge", "DoorHingeConfig"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from mbt.tree.force_elements import door_hinge

        return getattr(door_hinge, name)


__all__ = [
    "CompiledForceElement",
    "DoorHinge",
    "DoorHingeConfig",
    "ForceElement",
    "JointFriction",
    "LinearBushingRollPitchYaw",
    "LinearSpringDamper",
    "PointContact",
    "PrismaticSpring",
    "RevoluteSpring",
    "UniformGravityFieldElement",
]
