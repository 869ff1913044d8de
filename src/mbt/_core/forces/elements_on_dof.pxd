"""The force elements on one dof: springs, hinges of doors, friction. `c` are the numbers of one element."""

from enum_force_element_type cimport DOOR_HINGE, JOINT_FRICTION, JOINT_SPRING

from mbt._core.scalars cimport T, select_lt, tanh_


cdef inline T calc_joint_conservative_force(int type, const T* c, T q) noexcept nogil:
    """-dPE/dq."""
    cdef T force
    if type == JOINT_SPRING:
        return (c[0] - q)*c[1]
    if type == DOOR_HINGE:
        # Torsional spring, and the catch: a doublet of tanh, which attracts to the middle of its width.
        force = (c[0] - q)*c[1]
        return force + c[6]*step_doublet(c[5]*0.5, q - c[5]*0.5)
    return <T>0.0


cdef inline T calc_joint_dissipative_force(int type, const T* c, T v) noexcept nogil:
    """The part of the force that takes energy away."""
    cdef T force, ratio
    if type == DOOR_HINGE:
        force = c[2]*smooth_step(c[7], v) + c[3]*step_doublet(c[7], v) + c[4]*v
        return -force
    if type == JOINT_FRICTION:
        # From breakaway friction at rest to Coulomb friction in motion (Stribeck); tanh in place of the sign of v.
        ratio = v/c[2]
        force = (c[0] + (c[1] - c[0])/(<T>1.0 + ratio*ratio))*tanh_(v/c[3])
        return -force
    return <T>0.0


cdef inline T calc_joint_force_by_position(int type, const T* c, T q) noexcept nogil:
    """Derivative of the force with respect to q."""
    if type == JOINT_SPRING:
        return -c[1]
    if type == DOOR_HINGE:
        return c[6]*step_doublet_slope(c[5]*0.5, q - c[5]*0.5) - c[1]
    return <T>0.0


cdef inline T calc_joint_force_by_velocity(int type, const T* c, T v) noexcept nogil:
    """Derivative of the force with respect to v."""
    cdef T slope, ratio, s, divisor
    if type == DOOR_HINGE:
        slope = c[2]*smooth_step_slope(c[7], v) + c[3]*step_doublet_slope(c[7], v) + c[4]
        return -slope
    if type == JOINT_FRICTION:
        ratio = v/c[2]
        divisor = <T>1.0 + ratio*ratio
        s = tanh_(v/c[3])
        slope = (c[0] + (c[1] - c[0])/divisor)*(<T>1.0 - s*s)/c[3]
        return (c[1] - c[0])*ratio*2.0*s/(c[2]*divisor*divisor) - slope
    return <T>0.0


cdef inline T calc_joint_potential_energy(int type, const T* c, T q) noexcept nogil:
    cdef T stretch = q - c[0]
    cdef T half_width, s, s0
    if type == JOINT_SPRING:
        return c[1]*stretch*stretch*0.5
    if type == DOOR_HINGE:
        # Zero at q = 0.
        half_width = c[5]*0.5
        s = smooth_step(half_width, q - half_width)
        s0 = smooth_step(half_width, -half_width)
        # ((q - q_s0)^2 - q_s0^2)/2 = q (q/2 - q_s0): products, which are zero where they should be.
        return c[1]*q*(q*0.5 - c[0]) + c[6]*half_width*(s0 - s)*(s0 + s)
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
