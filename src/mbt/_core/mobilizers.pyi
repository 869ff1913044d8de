from enum import IntEnum

class MobilizerType(IntEnum):
    WELD = 0
    REVOLUTE = 1
    PRISMATIC = 2
    QUATERNION_FLOATING = 3
    SCREW = 4
    UNIVERSAL = 5
    RPY_BALL = 6
    PLANAR = 7
    RPY_FLOATING = 8
    CYLINDRICAL = 9
    QUATERNION_BALL = 10
    CURVILINEAR = 11
