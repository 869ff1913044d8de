"""The constraints of the compiled core; nowhere else depends on their types.

A type consists of its row in `model/element_types.py` and, here, its errors, their first and second rates, and the
forces that enforce it. With its multipliers lambda it adds J' lambda to the generalized forces, where J v are the
rates.

`c` are the parameters of one constraint in a Context, listed in its row.
"""

from enum_constraint_type cimport *

from mbt._core.algebra.records cimport FrameMotion
from mbt._core.algebra.rotations cimport calc_rotation_vector, set_identity
from mbt._core.algebra.vectors cimport Mat3, Vec3, cross, dot, numbers, put, times_transposed, transpose
from mbt._core.forces.numbers cimport CouplerNumbers, DistanceNumbers
from mbt._core.model.structs cimport Constraint
from mbt._core.scalars cimport T, sqrt_


cdef inline int num_equations_of(int type) noexcept nogil:
    return CONSTRAINT_TYPES[type].num_equations


cdef inline int num_constraint_parameters_of(int type) noexcept nogil:
    return CONSTRAINT_TYPES[type].num_parameters


cdef inline Py_ssize_t count_constraint_work(Py_ssize_t m, Py_ssize_t num_mobods, Py_ssize_t nv) noexcept nogil:
    """Number of scalars needed for the forces of m equations.

    For mobods and frames in World, Z, Lambda (also with twice the digits), columns, and forces on roots.
    """
    return m + 21*num_mobods + nv + m*(nv + 3*m + 9 + 48 + 24) if m > 0 else 0


cdef inline void calc_constraint_errors(
    # Topology:
    const Constraint* x,
    # Parameters:
    const T* c,  # (num_constraint_parameters_of,)  [SI]
    # In:
    const T* q,  # (nq,)                            [rad, m]
    const FrameMotion[T]* A,
    const FrameMotion[T]* B,
    # Out:
    T* errors,   # (num_equations_of,)              [rad, m]
) noexcept nogil:
    """Constraint errors at the current positions; `A` and `B` are its frames, unused for a coupler."""
    cdef const CouplerNumbers[T]* coupler = <const CouplerNumbers[T]*>c
    cdef const DistanceNumbers[T]* between = <const DistanceNumbers[T]*>c
    cdef FrameMotion[T] P
    cdef FrameMotion[T] Q
    cdef Mat3[T] R_AB
    if x.type == COUPLER:
        errors[0] = q[x.a] - coupler.gear_ratio*q[x.b] - coupler.offset
    elif x.type == DISTANCE:
        calc_motions_of_ends(between, A, B, &P, &Q)
        errors[0] = distance_of(&P, &Q) - between.distance
    else:
        put(times_transposed(A.R, B.p - A.p), errors + num_equations_of(x.type) - 3)
        if x.type == WELD:
            R_AB = transpose(A.R)*B.R
            calc_rotation_vector(numbers(R_AB), errors)


cdef inline void calc_constraint_rates(
    # Topology:
    const Constraint* x,
    # Parameters:
    const T* c,  # (num_constraint_parameters_of,)  [SI]
    # In:
    const T* v,  # (nv,)                            [rad/s, m/s]
    const FrameMotion[T]* A,
    const FrameMotion[T]* B,
    # Out:
    T* rates,    # (num_equations_of,)              [rad/s, m/s]
) noexcept nogil:
    """J v: the rates of the errors; for a rotation vector, the angular velocity of B in A."""
    cdef FrameMotion[T] P
    cdef FrameMotion[T] Q
    if x.type == COUPLER:
        rates[0] = v[x.dof_a] - (<const CouplerNumbers[T]*>c).gear_ratio*v[x.dof_b]
    elif x.type == DISTANCE:
        calc_motions_of_ends(<const DistanceNumbers[T]*>c, A, B, &P, &Q)
        rates[0] = dot((Q.p - P.p)/distance_of(&P, &Q), Q.v - P.v)
    else:
        put(times_transposed(A.R, relative_velocity(A, B)), rates + num_equations_of(x.type) - 3)
        if x.type == WELD:
            put(times_transposed(A.R, B.w - A.w), rates)


cdef inline void calc_constraint_accelerations(
    # Topology:
    const Constraint* x,
    # Parameters:
    const T* c,     # (num_constraint_parameters_of,)  [SI]
    # In:
    const T* vdot,  # (nv,)                            [rad/s^2, m/s^2]
    const FrameMotion[T]* A,
    const FrameMotion[T]* B,
    # Out:
    T* y,           # (num_equations_of,)              [rad/s^2, m/s^2]
) noexcept nogil:
    """J vdot + Jdot v: the rates of J v."""
    cdef FrameMotion[T] P
    cdef FrameMotion[T] Q
    cdef Vec3[T] u, v, p_BA
    cdef T length, rate
    if x.type == COUPLER:
        y[0] = vdot[x.dof_a] - (<const CouplerNumbers[T]*>c).gear_ratio*vdot[x.dof_b]
    elif x.type == DISTANCE:
        calc_motions_of_ends(<const DistanceNumbers[T]*>c, A, B, &P, &Q)
        length = distance_of(&P, &Q)
        u = (Q.p - P.p)/length
        v = Q.v - P.v
        rate = dot(u, v)
        y[0] = dot(u, Q.a - P.a) + (dot(v, v) - rate*rate)/length
    else:
        # a_B - a_A - alpha_A × p_AB - 2 w_A × v - w_A × (w_A × p_AB)
        p_BA = A.p - B.p
        v = cross(A.w, p_BA) - relative_velocity(A, B)*<T>2.0
        put(
            times_transposed(A.R, B.a - A.a + cross(A.w, v) + cross(A.alpha, p_BA)),
            y + num_equations_of(x.type) - 3
        )
        if x.type == WELD:
            # alpha_B - alpha_A - w_A × w_B
            put(times_transposed(A.R, B.alpha - A.alpha + cross(B.w, A.w)), y)


cdef inline void calc_axes_and_points(
    # Topology:
    const Constraint* x,
    # Parameters:
    const T* c,     # (num_constraint_parameters_of,)  [SI]
    # In:
    const FrameMotion[T]* A,
    const FrameMotion[T]* B,
    # Out:
    Mat3[T]* axes,  # [1]
    Vec3[T]* u,     # [1]
    Vec3[T]* p_A,   # [m]  in World
    Vec3[T]* p_B,   # [m]  in World
) noexcept nogil:
    """Forces of unit multipliers: along the columns of `axes`, at a point of A and one of B, in World.

    For a distance, they are components of a force; its own is their projection on u.
    """
    cdef FrameMotion[T] P
    cdef FrameMotion[T] Q
    if x.type == DISTANCE:
        calc_motions_of_ends(<const DistanceNumbers[T]*>c, A, B, &P, &Q)
        u[0] = (Q.p - P.p)/distance_of(&P, &Q)
        set_identity(<T*>axes)
        p_A[0], p_B[0] = P.p, Q.p
    else:
        axes[0] = A.R
        p_A[0], p_B[0] = B.p, B.p


cdef inline Vec3[T] relative_velocity(const FrameMotion[T]* A, const FrameMotion[T]* B) noexcept nogil:
    """Velocity of Bo in A, in World: v_B - v_A - w_A × p_AB."""
    cdef Vec3[T] p_BA = A.p - B.p
    return B.v - A.v + cross(A.w, p_BA)


cdef inline void calc_motions_of_ends(
    const DistanceNumbers[T]* c, const FrameMotion[T]* A, const FrameMotion[T]* B, FrameMotion[T]* P, FrameMotion[T]* Q
) noexcept nogil:
    """Motion of the points that keep their distance."""
    calc_motion_of_point(A, c.p_AP, P)
    calc_motion_of_point(B, c.p_BQ, Q)


cdef inline void calc_motion_of_point(
    const FrameMotion[T]* F, const Vec3[T]& p_FP, FrameMotion[T]* P
) noexcept nogil:
    """Position, velocity and acceleration of a point of F."""
    cdef Vec3[T] r = F.R*p_FP
    cdef Vec3[T] wr = cross(F.w, r)
    P.p = F.p + r
    P.v = F.v + wr
    P.a = F.a + cross(F.alpha, r) + cross(F.w, wr)


cdef inline T distance_of(const FrameMotion[T]* P, const FrameMotion[T]* Q) noexcept nogil:
    """Distance of two points; where it is zero, directions and rates are undefined."""
    cdef Vec3[T] p_PQ = Q.p - P.p
    return sqrt_(dot(p_PQ, p_PQ))
