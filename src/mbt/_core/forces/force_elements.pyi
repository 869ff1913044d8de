from enum import IntEnum

class ForceElementType(IntEnum):
    JOINT_SPRING = 0
    DOOR_HINGE = 1
    JOINT_FRICTION = 2
    LINEAR_SPRING_DAMPER = 3
    LINEAR_BUSHING_RPY = 4

def is_on_joint(type: int) -> bool:
    """Whether an element acts on one dof, not between two frames."""

def count_parameters(type: int) -> int:
    """Numbers of one element."""
