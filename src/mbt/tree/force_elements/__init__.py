"""The types of force elements, one file each."""

from typing import TYPE_CHECKING

from mbt.importing import late_names
from mbt.tree.force_elements.compiled import CompiledForceElement as CompiledForceElement
from mbt.tree.force_elements.force_element import ForceElement
from mbt.tree.force_elements.uniform_gravity import UniformGravityFieldElement

if TYPE_CHECKING:
    from mbt.tree.force_elements.door_hinge import DoorHinge, DoorHingeConfig
    from mbt.tree.force_elements.joint_friction import JointFriction
    from mbt.tree.force_elements.joint_springs import PrismaticSpring, RevoluteSpring
    from mbt.tree.force_elements.linear_bushing_roll_pitch_yaw import LinearBushingRollPitchYaw
    from mbt.tree.force_elements.linear_spring_damper import LinearSpringDamper
    from mbt.tree.force_elements.point_contact import PointContact
else:
    __getattr__ = late_names(
        __name__,
        {
            "JointFriction": "joint_friction",
            "LinearBushingRollPitchYaw": "linear_bushing_roll_pitch_yaw",
            "LinearSpringDamper": "linear_spring_damper",
            "PointContact": "point_contact",
            "PrismaticSpring": "joint_springs",
            "RevoluteSpring": "joint_springs",
            "DoorHinge": "door_hinge",
            "DoorHingeConfig": "door_hinge",
        },
    )

__all__: list[str] = [
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
