from enum import IntEnum

class ForceElementType(IntEnum):
    JOINT_SPRING = 0
    DOOR_HINGE = 1
    JOINT_FRICTION = 2
    LINEAR_SPRING_DAMPER = 3
    LINEAR_BUSHING_RPY = 4
    POINT_CONTACT = 5

class ConstraintType(IntEnum):
    BALL = 0
    WELD = 1
    DISTANCE = 2
    COUPLER = 3

def is_on_joint(type: int) -> bool: ...
def takes_parameters(type: int, count: int) -> bool: ...
def count_constraint_parameters(type: int) -> int: ...
def count_equations(type: int) -> int: ...
