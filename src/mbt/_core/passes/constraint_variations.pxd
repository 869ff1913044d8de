"""One constraint while a dof moves: what its equations, their rates and accelerations change by.

A constraint depends on how B moves in A: only on the dofs that move one of the two. Seen from A, about the point C of B
that the force acts at, with s = 1 where dof j moves B and -1 where it moves A,

    C moves by s S_j,   V = V_B - V_A changes by s (S_j × V_B + P_j),
    A = A_B - A_A - V_A × V_B by s (S_j × A_B + P_j × (V_A + V_B) + Q_j - V_A × (S_j × V_B)),
    and with v_j: V by s S_j, A by s (S_j × (V_A + V_B) + W_j)

where S, P, Q, W are those of inverse_dynamics_derivatives.

J. Carpentier, N. Mansard, "Analytical Derivatives of Rigid Body Dynamics Algorithms", RSS 2018.
"""

from mbt._core.algebra.derivative_columns cimport DerivativeColumns, P_of, Q_of, W_of, get_column
from mbt._core.algebra.records cimport Moving, Parameters, RelativeMotion
from mbt._core.algebra.rotations cimport calc_rotation_vector, multiply_by_inverse_left_jacobian
from mbt._core.algebra.spatial cimport (
    add_cross, add_cross_motion, add_scaled, add_to, copy, cross_motion, dot3, multiply_rotations, rotate,
    rotate_inverse, set_zero, subtract, subtract_from, transpose3,
)
from mbt._core.forces.constraints cimport DISTANCE, WELD, num_equations_of
from mbt._core.model.structs cimport Constraint, Model
from mbt._core.passes.constraint_frames cimport calc_frame_in_mobod
from mbt._core.scalars cimport T, sqrt_


cdef inline void set_relative_pose(
    const Model* model, const Constraint* x, const Parameters[T]* p, const Moving[T]* moving, RelativeMotion[T]* motion
) noexcept nogil:
    """R_WA, p_WC, and of a distance u and the length; of a weld the error."""
    cdef const T* c = p.constraints + x.start
    cdef T[9] R_WB, R_AW, R_AB
    cdef T[3] p_WA, y
    cdef int i
    place_frame(model, x.a, p, moving, motion.R_WA, p_WA)
    place_frame(model, x.b, p, moving, R_WB, motion.p_WC)
    set_zero(motion.u, 3)
    motion.length = <T>1.0
    if x.type == DISTANCE:
        rotate(motion.R_WA, c + 3, y)
        for i in range(3):
            motion.u[i] = -(p_WA[i] + y[i])
        rotate(R_WB, c + 6, y)
        add_to(y, 3, motion.p_WC)
        add_to(motion.p_WC, 3, motion.u)
        motion.length = sqrt_(dot3(motion.u, motion.u))
        for i in range(3):
            motion.u[i] = motion.u[i]/motion.length
    elif x.type == WELD:
        transpose3(motion.R_WA, R_AW)
        multiply_rotations(R_AW, R_WB, R_AB)
        calc_rotation_vector(R_AB, motion.error)


cdef inline void place_frame(
    const Model* model, int frame, const Parameters[T]* p, const Moving[T]* moving, T* R_WF, T* p_WF
) noexcept nogil:
    cdef const Moving[T]* x = &moving[model.mobod[model.frame_node[frame]]]
    cdef T[9] R_NF
    cdef T[3] p_NF
    cdef int i
    calc_frame_in_mobod(model, frame, p, R_NF, p_NF)
    multiply_rotations(x.R, R_NF, R_WF)
    rotate(x.R, p_NF, p_WF)
    for i in range(3):
        p_WF[i] = p_WF[i] + (x.p_WO[i] + x.p[i])


cdef inline void get_axis_at(
    const T* field, const Moving[T]* x, const RelativeMotion[T]* motion, T* S
) noexcept nogil:
    """A motion of a column, of mobod `x`, about C."""
    cdef T[3] p_OC
    subtract(motion.p_WC, x.p_WO, 3, p_OC)
    get_column(field, 6, S)
    add_cross(S, p_OC, S + 3)


cdef inline void calc_rates_of(const Constraint* x, const RelativeMotion[T]* motion, const T* V, T* y) noexcept nogil:
    """J v of a motion of B in A, about C in World."""
    if x.type == DISTANCE:
        y[0] = dot3(motion.u, V + 3)
    else:
        rotate_inverse(motion.R_WA, V + 3, y + num_equations_of(x.type) - 3)
        if x.type == WELD:
            rotate_inverse(motion.R_WA, V, y)


cdef inline void set_relative_motion(
    const Constraint* x, const T* multipliers, const Moving[T]* moving, RelativeMotion[T]* motion
) noexcept nogil:
    """Velocities, accelerations, and the force."""
    cdef const Moving[T]* A = &moving[x.mobod_a]
    cdef const Moving[T]* B = &moving[x.mobod_b]
    cdef T[6] A_A, y
    cdef int i
    shift_to_C(A.V, A, motion, motion.V_A)
    shift_to_C(B.V, B, motion, motion.V_B)
    shift_to_C(A.A, A, motion, A_A)
    shift_to_C(B.A, B, motion, motion.A_B)
    cross_motion(motion.V_A, motion.V_B, y)
    for i in range(6):
        motion.sum[i] = motion.V_A[i] + motion.V_B[i]
        y[i] = motion.A_B[i] - A_A[i] - y[i]
    for i in range(3):
        motion.w[i] = motion.V_B[i] - motion.V_A[i]
        motion.v[i] = motion.V_B[3 + i] - motion.V_A[3 + i]
        motion.alpha[i] = y[i]
        motion.a[i] = y[3 + i]
    add_cross(motion.w, motion.v, motion.a)
    set_zero(motion.F, 6)
    if x.type == DISTANCE:
        add_scaled(motion.u, multipliers[0], 3, motion.F + 3)
    else:
        rotate(motion.R_WA, multipliers + num_equations_of(x.type) - 3, motion.F + 3)
        if x.type == WELD:
            rotate(motion.R_WA, multipliers, motion.F)


cdef inline void shift_to_C(const T* V, const Moving[T]* x, const RelativeMotion[T]* motion, T* V_C) noexcept nogil:
    """The same motion about C."""
    cdef T[3] p_OC
    subtract(motion.p_WC, x.p_WO, 3, p_OC)
    copy(V, 6, V_C)
    add_cross(V, p_OC, V_C + 3)


cdef inline void calc_equation_rates(
    # Topology:
    const Constraint* x,
    int stabilized,
    # Parameters:
    const T* c,                    # (num_constraint_parameters_of,)  [SI]
    # In:
    const T* S,                    # (6,)  [1, m]
    const Moving[T]* mobod,
    const RelativeMotion[T]* motion,
    int j,
    # Work:
    DerivativeColumns[T]* columns,  # P, Q, W
    # Out:
    T* by_q,                       # (num_equations_of,) [rad/s^2, m/s^2] per [rad, m]
    T* by_v,                       # (num_equations_of,) [rad/s^2, m/s^2] per [rad/s, m/s]
) noexcept nogil:
    """Along one dof, as if it moved B."""
    cdef T[6] P, dA, dV, y, at_rest
    # S × A_B + P × (V_A + V_B) + Q - V_A × (S × V_B)
    get_axis_at(P_of(columns, j), mobod, motion, P)
    get_axis_at(Q_of(columns, j), mobod, motion, dA)
    add_cross_motion(S, motion.A_B, dA)
    add_cross_motion(P, motion.sum, dA)
    cross_motion(S, motion.V_B, dV)
    cross_motion(motion.V_A, dV, y)
    subtract_from(y, 6, dA)
    add_to(P, 6, dV)
    calc_change_of_equations(x, stabilized, c, S, dV, dA, motion, by_q)
    get_axis_at(W_of(columns, j), mobod, motion, dA)
    add_cross_motion(S, motion.sum, dA)
    set_zero(at_rest, 6)
    calc_change_of_equations(x, stabilized, c, at_rest, S, dA, motion, by_v)


cdef inline void calc_change_of_equations(
    # Topology:
    const Constraint* x,
    int stabilized,
    # Parameters:
    const T* c,                    # (num_constraint_parameters_of,)  [SI]
    # In:
    const T* S,                    # (6,)  [1, m]
    const T* dV,                   # (6,)  [rad/s, m/s]
    const T* dA,                   # (6,)  [rad/s^2, m/s^2]
    const RelativeMotion[T]* motion,
    # Out:
    T* change,                     # (num_equations_of,) [rad/s^2, m/s^2]
) noexcept nogil:
    """While B moves in A by S, and velocity and acceleration of this motion change by dV and dA: all about C."""
    cdef T[3] v, a, w, y
    cdef T rate, drate, length, across
    cdef int i
    # Of the point of B that is at C: dv + w × S, da + alpha × S + dw × v + w × that.
    copy(dV + 3, 3, v)
    add_cross(motion.w, S + 3, v)
    copy(dA + 3, 3, a)
    add_cross(motion.alpha, S + 3, a)
    add_cross(dV, motion.v, a)
    add_cross(motion.w, v, a)
    if x.type == DISTANCE:
        # Of u'a + (v'v - (u'v)^2) / length, in which u changes by (S - u u'S) / length.
        rate = dot3(motion.u, motion.v)
        length = dot3(motion.u, S + 3)
        drate = dot3(motion.u, v) + (dot3(motion.v, S + 3) - rate*length)/motion.length
        across = dot3(motion.v, motion.v) - rate*rate
        change[0] = dot3(motion.u, a) + (
            dot3(motion.a, S + 3) - dot3(motion.a, motion.u)*length
            + (dot3(motion.v, v) - rate*drate)*2.0 - across*length/motion.length
        )/motion.length
        if stabilized:
            change[0] = change[0] + c[0]*(c[1]*(2.0*stabilized)*drate + c[0]*length)
    else:
        if stabilized:
            for i in range(3):
                a[i] = a[i] + c[0]*(c[1]*(2.0*stabilized)*v[i] + c[0]*S[3 + i])
        rotate_inverse(motion.R_WA, a, change + num_equations_of(x.type) - 3)
        if x.type == WELD:
            rotate_inverse(motion.R_WA, dA, change)
            if stabilized:
                rotate_inverse(motion.R_WA, S, w)
                multiply_by_inverse_left_jacobian(motion.error, w, y)
                rotate_inverse(motion.R_WA, dV, w)
                for i in range(3):
                    change[i] = change[i] + c[0]*(c[1]*(2.0*stabilized)*w[i] + c[0]*y[i])
