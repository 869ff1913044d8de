"""A spring and a damper between the point P of a frame A and the point Q of a frame C.

c = [free length, stiffness, damping, p_AP (3), p_CQ (3)]
"""

from mbt._core.algebra.records cimport Coordinates, Ends, Stretch
from mbt._core.algebra.spatial cimport add_cross, copy, cross, dot3, rotate4
from mbt._core.scalars cimport T, sqrt_


cdef inline void calc_stretch(const T* c, const Ends[T]* x, Stretch[T]* stretch) noexcept nogil:
    cdef T[3] v_P, v_Q
    cdef int i
    rotate4(x.X_WA, c + 3, stretch.p_AoP)
    rotate4(x.X_WC, c + 6, stretch.p_CoQ)
    copy(&x.V_WA[3], 3, v_P)
    add_cross(x.V_WA, stretch.p_AoP, v_P)
    copy(&x.V_WC[3], 3, v_Q)
    add_cross(x.V_WC, stretch.p_CoQ, v_Q)
    for i in range(3):
        stretch.p_PQ[i] = x.X_WC[4*i + 3] + stretch.p_CoQ[i] - x.X_WA[4*i + 3] - stretch.p_AoP[i]
        v_Q[i] = v_Q[i] - v_P[i]
    stretch.length = sqrt_(dot3(stretch.p_PQ, stretch.p_PQ))
    stretch.rate = dot3(stretch.p_PQ, v_Q)/stretch.length


cdef inline void calc_spring_forces(const T* c, Ends[T]* x) noexcept nogil:
    """F_A, F_C: along the line from P to Q."""
    cdef Stretch[T] stretch
    cdef T force
    cdef int i
    calc_stretch(c, x, &stretch)
    force = ((stretch.length - c[0])*c[1] + c[2]*stretch.rate)/stretch.length
    for i in range(3):
        x.F_A[3 + i] = force*stretch.p_PQ[i]
        x.F_C[3 + i] = -x.F_A[3 + i]
    add_cross(stretch.p_AoP, &x.F_A[3], x.F_A)
    add_cross(stretch.p_CoQ, &x.F_C[3], x.F_C)


cdef inline T calc_spring_energy(const T* c, const Ends[T]* x) noexcept nogil:
    cdef Stretch[T] stretch
    cdef T extension
    calc_stretch(c, x, &stretch)
    extension = stretch.length - c[0]
    return c[1]*extension*extension*0.5


cdef inline T calc_spring_conservative_power(const T* c, const Ends[T]* x) noexcept nogil:
    cdef Stretch[T] stretch
    calc_stretch(c, x, &stretch)
    return (c[0] - stretch.length)*c[1]*stretch.rate


cdef inline T calc_damper_power(const T* c, const Ends[T]* x) noexcept nogil:
    cdef Stretch[T] stretch
    cdef T power = <T>0.0
    calc_stretch(c, x, &stretch)
    return power - c[2]*stretch.rate*stretch.rate


cdef inline void calc_spring_coordinates(const T* c, const Ends[T]* x, Coordinates[T]* y) noexcept nogil:
    """The length beyond the free one."""
    cdef Stretch[T] stretch
    calc_stretch(c, x, &stretch)
    y.s[0], y.sdot[0] = stretch.length - c[0], stretch.rate
    y.k[0], y.d[0] = c[1], c[2]


cdef inline T calc_spring_singularity(const T* c, const Ends[T]* x) noexcept nogil:
    """Not positive where both points coincide."""
    cdef Stretch[T] stretch
    calc_stretch(c, x, &stretch)
    return stretch.length - c[0]*2.2e-16


# How the force changes with the motion of C while A rests.
# `turn` is a small motion of C, `rate` a change of its velocity; both, as V, the velocity of C less that of A, are
# spatial vectors at Ao in World, as are the force F on C and its change dF.

cdef inline void calc_spring_force_change(
    # Parameters:
    const T* c,     # (num_parameters_of,)  [SI]  of the element
    # In:
    const Ends[T]* ends,
    const T* V,     # (6,)                  [rad/s, m/s]
    const T* turn,  # (6,)                  [rad, m]
    const T* rate,  # (6,)                  [rad/s, m/s]
    # Out:
    T* F,           # (6,)                  [N m, N]
    T* dF,          # (6,)                  [N m, N]
) noexcept nogil:
    """f = -(k (l - l0) + c ldot) p_PQ / l, on C at Q; l ldot = p_PQ·v_Q: A turning with C does not change l."""
    cdef Stretch[T] x
    cdef T[3] p_AoQ, d, v, dv
    cdef T slope, dl, dslope
    cdef int i
    calc_stretch(c, ends, &x)
    for i in range(3):
        p_AoQ[i] = x.p_AoP[i] + x.p_PQ[i]
        d[i] = turn[3 + i]
        v[i] = V[3 + i]
        dv[i] = rate[3 + i]
    add_cross(turn, p_AoQ, d)
    add_cross(V, p_AoQ, v)
    add_cross(rate, p_AoQ, dv)
    add_cross(V, d, dv)
    slope = ((x.length - c[0])*c[1] + c[2]*x.rate)/x.length
    dl = dot3(x.p_PQ, d)/x.length
    dslope = (dot3(d, v) + dot3(x.p_PQ, dv) - x.rate*dl)/x.length
    dslope = (c[1]*dl + c[2]*dslope - slope*dl)/x.length
    for i in range(3):
        F[3 + i] = -(slope*x.p_PQ[i])
        dF[3 + i] = -(dslope*x.p_PQ[i] + slope*d[i])
    cross(p_AoQ, F + 3, F)
    cross(p_AoQ, dF + 3, dF)
    add_cross(d, F + 3, dF)
