"""The force elements on one dof: springs, door hinges, friction. `c` are the parameters of one element."""

from enum_force_element_type cimport DOOR_HINGE, JOINT_FRICTION, JOINT_SPRING

from mbt._core.forces.numbers cimport DoorHingeNumbers, JointFrictionNumbers, JointSpringNumbers
from mbt._core.scalars cimport T, select_lt, tanh_


cdef inline T calc_joint_conservative_force(int type, const T* c, T q) noexcept nogil:
    """-dPE/dq."""
    cdef const JointSpringNumbers[T]* spring = <const JointSpringNumbers[T]*>c
    cdef const DoorHingeNumbers[T]* door = <const DoorHingeNumbers[T]*>c
    cdef T half_width, force
    if type == JOINT_SPRING:
        return (spring.nominal - q)*spring.stiffness
    if type == DOOR_HINGE:
        # Torsional spring, and the catch: a tanh doublet that attracts to the middle of its width.
        force = (door.spring_zero - q)*door.spring_constant
        half_width = door.catch_width*0.5
        return force + door.catch_torque*step_doublet(half_width, q - half_width)
    return <T>0.0


cdef inline T calc_joint_dissipative_force(int type, const T* c, T v) noexcept nogil:
    """The dissipative part of the force."""
    cdef const DoorHingeNumbers[T]* door = <const DoorHingeNumbers[T]*>c
    cdef const JointFrictionNumbers[T]* friction = <const JointFrictionNumbers[T]*>c
    cdef T force, ratio
    if type == DOOR_HINGE:
        force = door.dynamic_friction*smooth_step(door.motion_threshold, v)
        force = force + door.static_friction*step_doublet(door.motion_threshold, v) + door.viscous_friction*v
        return -force
    if type == JOINT_FRICTION:
        # From breakaway friction at rest to Coulomb friction in motion (Stribeck); tanh in place of the sign of v.
        ratio = v/friction.stribeck_speed
        force = friction.coulomb + (friction.breakaway - friction.coulomb)/(<T>1.0 + ratio*ratio)
        return -(force*tanh_(v/friction.transition_speed))
    return <T>0.0


cdef inline T calc_joint_force_by_position(int type, const T* c, T q) noexcept nogil:
    """Derivative of the force with respect to q."""
    cdef const DoorHingeNumbers[T]* door = <const DoorHingeNumbers[T]*>c
    cdef T half_width
    if type == JOINT_SPRING:
        return -(<const JointSpringNumbers[T]*>c).stiffness
    if type == DOOR_HINGE:
        half_width = door.catch_width*0.5
        return door.catch_torque*step_doublet_slope(half_width, q - half_width) - door.spring_constant
    return <T>0.0


cdef inline T calc_joint_force_by_velocity(int type, const T* c, T v) noexcept nogil:
    """Derivative of the force with respect to v."""
    cdef const DoorHingeNumbers[T]* door = <const DoorHingeNumbers[T]*>c
    cdef const JointFrictionNumbers[T]* friction = <const JointFrictionNumbers[T]*>c
    cdef T slope, ratio, s, divisor, excess
    if type == DOOR_HINGE:
        slope = door.dynamic_friction*smooth_step_slope(door.motion_threshold, v)
        slope = slope + door.static_friction*step_doublet_slope(door.motion_threshold, v) + door.viscous_friction
        return -slope
    if type == JOINT_FRICTION:
        ratio = v/friction.stribeck_speed
        divisor = <T>1.0 + ratio*ratio
        s = tanh_(v/friction.transition_speed)
        excess = friction.breakaway - friction.coulomb
        slope = (friction.coulomb + excess/divisor)*(<T>1.0 - s*s)/friction.transition_speed
        return excess*ratio*2.0*s/(friction.stribeck_speed*divisor*divisor) - slope
    return <T>0.0


cdef inline T calc_joint_potential_energy(int type, const T* c, T q) noexcept nogil:
    cdef const JointSpringNumbers[T]* spring = <const JointSpringNumbers[T]*>c
    cdef const DoorHingeNumbers[T]* door = <const DoorHingeNumbers[T]*>c
    cdef T stretch, half_width, s, s0
    if type == JOINT_SPRING:
        stretch = q - spring.nominal
        return spring.stiffness*stretch*stretch*0.5
    if type == DOOR_HINGE:
        # Zero at q = 0.
        half_width = door.catch_width*0.5
        s = smooth_step(half_width, q - half_width)
        s0 = smooth_step(half_width, -half_width)
        # ((q - q_s0)^2 - q_s0^2)/2 = q (q/2 - q_s0): products that are exactly zero where they should be.
        return (
            door.spring_constant*q*(q*0.5 - door.spring_zero) + door.catch_torque*half_width*(s0 - s)*(s0 + s)
        )
    return <T>0.0


cdef inline T smooth_step(T width, T x) noexcept nogil:
    """tanh(x / width), and zero where the width is zero."""
    cdef T zero = <T>0.0
    cdef T divisor = select_lt(zero, width, width, <T>1.0)
    return select_lt(zero, width, tanh_(x/divisor), zero)


cdef inline T step_doublet(T width, T x) noexcept nogil:
    """2 s (1 - s^2), s = tanh(x / width)."""
    cdef T s = smooth_step(width, x)
    return s*2.0*(<T>1.0 - s*s)


cdef inline T smooth_step_slope(T width, T x) noexcept nogil:
    cdef T zero = <T>0.0
    cdef T divisor = select_lt(zero, width, width, <T>1.0)
    cdef T s = tanh_(x/divisor)
    return select_lt(zero, width, (<T>1.0 - s*s)/divisor, zero)


cdef inline T step_doublet_slope(T width, T x) noexcept nogil:
    """2 (1 - 3 s^2) s', s' = (1 - s^2) / width."""
    cdef T s = smooth_step(width, x)
    return (<T>1.0 - s*s*3.0)*smooth_step_slope(width, x)*2.0
