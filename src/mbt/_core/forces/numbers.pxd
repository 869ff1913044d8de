"""Cython view of numbers.hpp, which documents the parameters."""

from mbt._core.algebra.vectors cimport Vec3

cdef extern from "forces/numbers.hpp" namespace "MBT_NS" nogil:
    cdef cppclass JointSpringNumbers[S]:
        S nominal
        S stiffness

    cdef cppclass DoorHingeNumbers[S]:
        S spring_zero
        S spring_constant
        S dynamic_friction
        S static_friction
        S viscous_friction
        S catch_width
        S catch_torque
        S motion_threshold

    cdef cppclass JointFrictionNumbers[S]:
        S coulomb
        S breakaway
        S stribeck_speed
        S transition_speed

    cdef cppclass SpringNumbers[S]:
        S free_length
        S stiffness
        S damping
        Vec3[S] p_AP
        Vec3[S] p_CQ

    cdef cppclass BushingNumbers[S]:
        Vec3[S] torque_stiffness
        Vec3[S] torque_damping
        Vec3[S] force_stiffness
        Vec3[S] force_damping

    cdef cppclass ContactNumbers[S]:
        S stiffness
        S dissipation
        S static_friction
        S dynamic_friction
        S stiction_speed

    cdef cppclass ConstraintNumbers[S]:
        S frequency
        S damping_ratio

    cdef cppclass CouplerNumbers[S]:
        S frequency
        S damping_ratio
        S gear_ratio
        S offset

    cdef cppclass DistanceNumbers[S]:
        S frequency
        S damping_ratio
        S distance
        Vec3[S] p_AP
        Vec3[S] p_BQ
