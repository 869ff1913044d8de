"""All quantities that a tree computes, by number; the table of quantities describes each.

This is the only list: `tools/transpile.py` declares these numbers to the compiled modules. No compiled module
exports them, because such a large enumeration there adds a millisecond to every import.
"""

from enum import IntEnum

__all__ = ["Quantity"]


class Quantity(IntEnum):
    """A quantity that a tree computes."""

    # Dynamics, in mobod frames, directly from q.
    MOTION_FORCES = 0
    INVERSE_DYNAMICS = 1
    FORWARD_DYNAMICS = 2
    MASS_MATRIX = 3
    MASS_MATRIX_INVERSE = 4
    MASS_MATRIX_BY_INVERSE_DYNAMICS = 5
    GRAVITY_GENERALIZED_FORCES = 6
    BODY_POSES = 7
    FRAME_POSE_IN_WORLD = 8
    FRAME_JACOBIAN = 9
    CENTER_OF_MASS = 10
    OPERATIONAL_SPACE_INVERSE_INERTIA = 11
    OPERATIONAL_SPACE_INERTIA = 12
    # Derivatives along each dof, by v, and by the input.
    MOTION_FORCES_DERIVATIVES = 13
    INVERSE_DYNAMICS_DERIVATIVES = 14
    FORWARD_DYNAMICS_DERIVATIVES = 15
    CONSTRAINED_FORWARD_DYNAMICS = 16
    IMPULSE_DYNAMICS = 17
    CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES = 18
    # Maps between v and qdot, and steps between positions.
    QDOT = 19
    VELOCITY = 20
    QDDOT = 21
    ACCELERATION = 22
    N_MATRIX = 23
    NPLUS_MATRIX = 24
    INTEGRATED_POSITIONS = 25
    POSITION_DIFFERENCE = 26
    NORMALIZED_POSITIONS = 27
    # Quantities of one mobilizer.
    MOBILIZER_TRANSFORM = 28
    MOBILIZER_H = 29
    MOBILIZER_SPATIAL_VELOCITY = 30
    MOBILIZER_SPATIAL_ACCELERATION = 31
    MOBILIZER_PROJECTION = 32
    MOBILIZER_QDOT = 33
    MOBILIZER_VELOCITY = 34
    MOBILIZER_QDDOT = 35
    MOBILIZER_ACCELERATION = 36
    MOBILIZER_N = 37
    MOBILIZER_NPLUS = 38
    MOBILIZER_NDOT = 39
    MOBILIZER_NPLUSDOT = 40
    # Kinematics of bodies, frames and points.
    FRAME_POSES = 41
    POSITION_KINEMATICS = 42
    SPATIAL_INERTIAS = 43
    VELOCITY_KINEMATICS = 44
    ACCELERATION_KINEMATICS = 45
    RELATIVE_TRANSFORM = 46
    RELATIVE_ROTATION = 47
    POINT_POSITIONS = 48
    FRAME_VELOCITY = 49
    FRAME_ACCELERATION = 50
    # Jacobians, and bias accelerations.
    SPATIAL_JACOBIAN = 51
    ANGULAR_JACOBIAN = 52
    TRANSLATIONAL_JACOBIAN = 53
    SPATIAL_JACOBIAN_RATE = 54
    SPATIAL_BIAS = 55
    ANGULAR_BIAS = 56
    TRANSLATIONAL_BIAS = 57
    # Forces on bodies, and their effects.
    GENERALIZED_FORCES = 58
    REACTION_FORCES = 59
    JOINT_REACTIONS = 60
    CORIOLIS_MATRIX = 61
    ELEMENT_FORCES = 62
    GRAVITY_FORCES = 63
    ELEMENT_FORCE = 64
    CONTACT_FORCES = 65
    # Constraints.
    CONSTRAINT_ERRORS = 66
    CONSTRAINT_JACOBIAN = 67
    CONSTRAINT_BIAS = 68
    CONSTRAINT_FORCES = 69
    # Energy and power.
    KINETIC_ENERGY = 70
    POTENTIAL_ENERGY = 71
    CONSERVATIVE_POWER = 72
    NON_CONSERVATIVE_POWER = 73
    GRAVITY_POTENTIAL_ENERGY = 74
    GRAVITY_POWER = 75
    ELEMENT_POTENTIAL_ENERGY = 76
    ELEMENT_CONSERVATIVE_POWER = 77
    ELEMENT_NON_CONSERVATIVE_POWER = 78
    # Mass and momentum of all bodies, or of those whose mask is 1.
    TOTAL_MASS = 79
    CENTER_OF_MASS_POSITION = 80
    CENTER_OF_MASS_VELOCITY = 81
    CENTER_OF_MASS_ACCELERATION = 82
    CENTER_OF_MASS_JACOBIAN = 83
    CENTER_OF_MASS_BIAS = 84
    MOMENTUM = 85
    CENTROIDAL_MOMENTUM_MATRIX = 86
    COMPOSITE_INERTIA = 87
    # Regressors: linear in the inertial parameters of all bodies, ten each.
    INERTIAL_PARAMETERS = 88
    INVERSE_DYNAMICS_REGRESSOR = 89
    KINETIC_ENERGY_REGRESSOR = 90
    POTENTIAL_ENERGY_REGRESSOR = 91
    MOMENTUM_REGRESSOR = 92
    # Motion.
    ROLLOUT = 93
