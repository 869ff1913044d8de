"""A spring and a damper between the point P of a frame A and the point Q of a frame C."""

from mbt._core.algebra.records cimport Coordinates, Ends, Stretch
from mbt._core.algebra.vectors cimport Force, Motion, Vec3, cross, dot
from mbt._core.forces.numbers cimport SpringNumbers
from mbt._core.scalars cimport T, sqrt_


cdef inline void calc_stretch(const SpringNumbers[T]* c, const Ends[T]* ends, Stretch[T]* x) noexcept nogil:
    cdef Vec3[T] v_P, v_Q
    x.p_AoP = ends.X_WA.R*c.p_AP
    x.p_CoQ = ends.X_WC.R*c.p_CQ
    x.p_PQ = ends.X_WC.p + x.p_CoQ - ends.X_WA.p - x.p_AoP
    v_P = ends.V_WA.v + cross(ends.V_WA.w, x.p_AoP)
    v_Q = ends.V_WC.v + cross(ends.V_WC.w, x.p_CoQ)
    x.length = sqrt_(dot(x.p_PQ, x.p_PQ))
    x.rate = dot(x.p_PQ, v_Q - v_P)/x.length


cdef inline T calc_tension(const SpringNumbers[T]* c, const Stretch[T]* x) noexcept nogil:
    """Tension divided by length: the force on A is p_PQ times this."""
    return ((x.length - c.free_length)*c.stiffness + c.damping*x.rate)/x.length


cdef inline void calc_spring_forces(const SpringNumbers[T]* c, Ends[T]* ends) noexcept nogil:
    """F_A, F_C: along the line from P to Q."""
    cdef Stretch[T] x
    calc_stretch(c, ends, &x)
    ends.F_A.f = x.p_PQ*calc_tension(c, &x)
    ends.F_C.f = -ends.F_A.f
    ends.F_A.t = cross(x.p_AoP, ends.F_A.f)
    ends.F_C.t = cross(x.p_CoQ, ends.F_C.f)


cdef inline T calc_spring_energy(const SpringNumbers[T]* c, const Ends[T]* ends) noexcept nogil:
    cdef Stretch[T] x
    cdef T extension
    calc_stretch(c, ends, &x)
    extension = x.length - c.free_length
    return c.stiffness*extension*extension*0.5


cdef inline T calc_spring_power(const SpringNumbers[T]* c, const Ends[T]* ends, bint is_conservative) noexcept nogil:
    """Power of the spring, or of the damper."""
    cdef Stretch[T] x
    calc_stretch(c, ends, &x)
    if is_conservative:
        return (c.free_length - x.length)*c.stiffness*x.rate
    return -(c.damping*x.rate*x.rate)


cdef inline void calc_spring_coordinates(
    const SpringNumbers[T]* c, const Ends[T]* ends, Coordinates[T]* y
) noexcept nogil:
    """Elongation beyond the free length."""
    cdef Stretch[T] x
    calc_stretch(c, ends, &x)
    y.s[0], y.sdot[0] = x.length - c.free_length, x.rate
    y.k[0], y.d[0] = c.stiffness, c.damping


cdef inline T calc_spring_singularity(const SpringNumbers[T]* c, const Ends[T]* ends) noexcept nogil:
    """Zero or negative where both points coincide."""
    cdef Stretch[T] x
    calc_stretch(c, ends, &x)
    return x.length - c.free_length*2.2e-16


# Change of the force with the motion of C while A rests: see bushing.pxd.

cdef inline void calc_spring_force_change(
    # Parameters:
    const SpringNumbers[T]* c,
    # In:
    const Ends[T]* ends,
    const Motion[T]* V,     # [rad/s, m/s]
    const Motion[T]* turn,  # [rad, m]
    const Motion[T]* rate,  # [rad/s, m/s]
    # Out:
    Force[T]* F,            # [N m, N]
    Force[T]* dF,           # [N m, N]
) noexcept nogil:
    """f = -(k (l - l0) + c ldot) p_PQ / l, on C at Q; l ldot = p_PQ·v_Q: rotating A with C does not change l."""
    cdef Stretch[T] x
    cdef Vec3[T] p, d, v, dv
    cdef T slope, dl, dslope
    calc_stretch(c, ends, &x)
    p = x.p_AoP + x.p_PQ
    d = turn.v + cross(turn.w, p)
    v = V.v + cross(V.w, p)
    dv = rate.v + cross(rate.w, p) + cross(V.w, d)
    slope = calc_tension(c, &x)
    dl = dot(x.p_PQ, d)/x.length
    dslope = (dot(d, v) + dot(x.p_PQ, dv) - x.rate*dl)/x.length
    dslope = (c.stiffness*dl + c.damping*dslope - slope*dl)/x.length
    F.f = -(x.p_PQ*slope)
    dF.f = -(x.p_PQ*dslope + d*slope)
    F.t = cross(p, F.f)
    dF.t = cross(p, dF.f) + cross(d, F.f)
