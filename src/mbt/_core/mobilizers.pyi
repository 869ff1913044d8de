from enum import IntEnum

class MobilizerType(IntEnum):
    WELD = 0
    REVOLUTE = 1
    PRISMATIC = 2
    QUATERNION_FLOATING = 3
