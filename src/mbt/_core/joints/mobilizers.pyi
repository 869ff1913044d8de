from enum import IntEnum

from mbt.math.arrays import FloatArray

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

def count_positions(type: int) -> int: ...
def count_velocities(type: int) -> int: ...
def takes_constants(type: int, constants: FloatArray) -> bool: ...
