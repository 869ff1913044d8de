"""The constraints of the compiled core, and the only place that knows one type from another.

A type is its row in `model/element_types.py`, and here its errors, their rates, the rates of these, and the forces that
enforce it. With its multipliers lambda it adds J' lambda to the generalized forces, where J v are the rates.

`c` are the numbers of one constraint, parameters of a Context: its row says which.
"""

from enum_constraint_type cimport *

from mbt._core.algebra.records cimport FrameMotion
from mbt._core.algebra.rotations cimport calc_rotation_vector, set_identity
from mbt._core.algebra.spatial cimport (
    add_cross, copy, cross, dot3, multiply_rotations, rotate, rotate_inverse, subtract, subtract_from, transpose3,
)
from mbt._core.model.structs cimport Constraint
from mbt._core.scalars cimport T, sqrt_


cdef inline int num_equations_of(int type) noexcept nogil:
    return CONSTRAINT_TYPES[type].num_equations


cdef inline int num_constraint_parameters_of(int type) noexcept nogil:
    return CONSTRAINT_TYPES[type].num_parameters


cdef inline Py_ssize_t count_constraint_work(Py_ssize_t m, Py_ssize_t num_mobods, Py_ssize_t nv) noexcept nogil:
    """Scalars that the forces of m equations need.

    Mobods and frames in World, Z, Lambda, also with twice the digits, columns, forces on roots.
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
    """How far positions are from obeying it; `A` and `B` are its frames, of a coupler none."""
    cdef FrameMotion[T] P
    cdef FrameMotion[T] Q
    cdef T[3] r
    cdef T[9] R_AW, R_AB
    if x.type == COUPLER:
        errors[0] = q[x.a] - c[2]*q[x.b] - c[3]
    elif x.type == DISTANCE:
        calc_motions_of_ends(c, A, B, &P, &Q)
        subtract(Q.p, P.p, 3, r)
        errors[0] = sqrt_(dot3(r, r)) - c[2]
    else:
        subtract(B.p, A.p, 3, r)
        rotate_inverse(A.R, r, errors + num_equations_of(x.type) - 3)
        if x.type == WELD:
            transpose3(A.R, R_AW)
            multiply_rotations(R_AW, B.R, R_AB)
            calc_rotation_vector(R_AB, errors)


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
    """J v: the rates of the errors; of a rotation vector the angular velocity of B in A."""
    cdef FrameMotion[T] P
    cdef FrameMotion[T] Q
    cdef T[3] u, y, w
    cdef T length
    if x.type == COUPLER:
        rates[0] = v[x.dof_a] - c[2]*v[x.dof_b]
    elif x.type == DISTANCE:
        calc_motions_of_ends(c, A, B, &P, &Q)
        calc_direction(&P, &Q, u, &length)
        subtract(Q.v, P.v, 3, y)
        rates[0] = dot3(u, y)
    else:
        calc_relative_velocity(A, B, y)
        rotate_inverse(A.R, y, rates + num_equations_of(x.type) - 3)
        if x.type == WELD:
            subtract(B.w, A.w, 3, w)
            rotate_inverse(A.R, w, rates)


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
    cdef T[3] u, d, e, f
    cdef T length, rate
    cdef int i
    if x.type == COUPLER:
        y[0] = vdot[x.dof_a] - c[2]*vdot[x.dof_b]
    elif x.type == DISTANCE:
        calc_motions_of_ends(c, A, B, &P, &Q)
        calc_direction(&P, &Q, u, &length)
        subtract(Q.v, P.v, 3, d)
        subtract(Q.a, P.a, 3, e)
        rate = dot3(u, d)
        y[0] = dot3(u, e) + (dot3(d, d) - rate*rate)/length
    else:
        # a_B - a_A - alpha_A × r - 2 w_A × v_rel - w_A × (w_A × r)
        calc_relative_velocity(A, B, d)
        for i in range(3):
            u[i] = A.p[i] - B.p[i]
            d[i] = d[i]*2.0
            e[i] = B.a[i] - A.a[i]
        cross(A.w, u, f)
        subtract_from(d, 3, f)
        add_cross(A.w, f, e)
        add_cross(A.alpha, u, e)
        rotate_inverse(A.R, e, y + num_equations_of(x.type) - 3)
        if x.type == WELD:
            # alpha_B - alpha_A - w_A × w_B
            subtract(B.alpha, A.alpha, 3, e)
            add_cross(B.w, A.w, e)
            rotate_inverse(A.R, e, y)


cdef inline void calc_axes_and_points(
    # Topology:
    const Constraint* x,
    # Parameters:
    const T* c,  # (num_constraint_parameters_of,)  [SI]
    # In:
    const FrameMotion[T]* A,
    const FrameMotion[T]* B,
    # Out:
    T* axes,     # (3, 3)                           [1]
    T* u,        # (3,)                             [1]
    T* p_A,      # (3,)                             [m]  in World
    T* p_B,      # (3,)                             [m]  in World
) noexcept nogil:
    """Where unit multipliers act: forces along the columns of `axes` at a point of A and one of B, in World.

    Of a distance they are parts of the force, u' of which is its own.
    """
    cdef FrameMotion[T] P
    cdef FrameMotion[T] Q
    cdef T length
    if x.type == DISTANCE:
        calc_motions_of_ends(c, A, B, &P, &Q)
        calc_direction(&P, &Q, u, &length)
        set_identity(axes)
        copy(P.p, 3, p_A)
        copy(Q.p, 3, p_B)
    else:
        copy(A.R, 9, axes)
        copy(B.p, 3, p_A)
        copy(B.p, 3, p_B)


cdef inline void calc_relative_velocity(const FrameMotion[T]* A, const FrameMotion[T]* B, T* v_rel) noexcept nogil:
    """Of Bo in A, in World: v_B - v_A - w_A × r."""
    cdef T[3] minus_r
    subtract(A.p, B.p, 3, minus_r)
    subtract(B.v, A.v, 3, v_rel)
    add_cross(A.w, minus_r, v_rel)


cdef inline void calc_motions_of_ends(
    const T* c, const FrameMotion[T]* A, const FrameMotion[T]* B, FrameMotion[T]* P, FrameMotion[T]* Q
) noexcept nogil:
    """Of the points that keep their distance."""
    calc_motion_of_point(A, c + 3, P)
    calc_motion_of_point(B, c + 6, Q)


cdef inline void calc_motion_of_point(const FrameMotion[T]* F, const T* p_FP, FrameMotion[T]* P) noexcept nogil:
    """Position, velocity and acceleration of a point of F."""
    cdef T[3] r, wr
    cdef int i
    rotate(F.R, p_FP, r)
    cross(F.w, r, wr)
    for i in range(3):
        P.p[i] = F.p[i] + r[i]
        P.v[i] = F.v[i] + wr[i]
        P.a[i] = F.a[i]
    add_cross(F.alpha, r, P.a)
    add_cross(F.w, wr, P.a)


cdef inline void calc_direction(
    const FrameMotion[T]* P, const FrameMotion[T]* Q, T* u, T* length
) noexcept nogil:
    """The unit vector from P to Q, and their distance; undefined where they coincide."""
    cdef int i
    subtract(Q.p, P.p, 3, u)
    length[0] = sqrt_(dot3(u, u))
    for i in range(3):
        u[i] = u[i]/length[0]
