from enum import IntEnum

class ForceElementType(IntEnum):
    JOINT_SPRING = 0
    DOOR_HINGE = 1
    JOINT_FRICTION = 2
    LINEAR_SPRING_DAMPER = 3
    LINEAR_BUSHING_RPY = 4
