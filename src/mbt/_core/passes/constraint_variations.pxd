"""Changes of the equations of one constraint, their rates and accelerations, while a dof moves.

A constraint depends on how B moves in A: only on the dofs that move one of the two. Seen from A, about the point C of B
at which the force acts, with s = 1 where dof j moves B and -1 where it moves A,

    C moves by s S_j,   V = V_B - V_A changes by s (S_j × V_B + P_j),
    A = A_B - A_A - V_A × V_B by s (S_j × A_B + P_j × (V_A + V_B) + Q_j - V_A × (S_j × V_B)),
    and with v_j: V by s S_j, A by s (S_j × (V_A + V_B) + W_j)

where S, P, Q, W are those of inverse_dynamics_derivatives.

J. Carpentier, N. Mansard, "Analytical Derivatives of Rigid Body Dynamics Algorithms", RSS 2018.
"""

from mbt._core.algebra.derivative_columns cimport DerivativeColumns, P_of, Q_of, W_of, column_at
from mbt._core.algebra.records cimport Moving, Parameters, Pose, RelativeMotion
from mbt._core.algebra.rotations cimport calc_rotation_vector, multiply_by_inverse_left_jacobian
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport (
    Mat3, Motion, Vec3, cross, dot, numbers, put, shifted, times_transposed, transpose, vector_at,
)
from mbt._core.forces.constraints cimport DISTANCE, WELD, num_equations_of
from mbt._core.forces.numbers cimport ConstraintNumbers, DistanceNumbers
from mbt._core.model.structs cimport Constraint, Model
from mbt._core.passes.constraint_frames cimport pose_in_mobod
from mbt._core.scalars cimport T, sqrt_


cdef inline void set_relative_pose(
    const Model* model, const Constraint* x, const Parameters[T]* p, const Moving[T]* moving, RelativeMotion[T]* motion
) noexcept nogil:
    """R_WA, p_WC, and u and the length for a distance, or the error for a weld."""
    cdef const T* numbers_of = p.constraints + x.start
    cdef const DistanceNumbers[T]* c = <const DistanceNumbers[T]*>numbers_of
    cdef Pose[T] X_WA = frame_pose(model, x.a, p, moving)
    cdef Pose[T] X_WB = frame_pose(model, x.b, p, moving)
    cdef Mat3[T] R_AB
    motion.R_WA = X_WA.R
    motion.p_WC = X_WB.p
    set_zero(numbers(motion.u), 3)
    motion.length = <T>1.0
    if x.type == DISTANCE:
        motion.p_WC = X_WB.R*c.p_BQ + X_WB.p
        motion.u = motion.p_WC - (X_WA.R*c.p_AP + X_WA.p)
        motion.length = sqrt_(dot(motion.u, motion.u))
        motion.u = motion.u/motion.length
    elif x.type == WELD:
        R_AB = transpose(X_WA.R)*X_WB.R
        calc_rotation_vector(numbers(R_AB), numbers(motion.error))


cdef inline Pose[T] frame_pose(
    const Model* model, int frame, const Parameters[T]* p, const Moving[T]* moving
) noexcept nogil:
    """X_WF."""
    cdef const Moving[T]* x = &moving[model.mobod[model.frame_node[frame]]]
    cdef Pose[T] X_NF = pose_in_mobod(model, frame, p)
    cdef Pose[T] X_WF
    X_WF.R = x.R*X_NF.R
    X_WF.p = x.R*X_NF.p + (x.p_WO + x.p)
    return X_WF


cdef inline Motion[T] at_C(const Motion[T]& V, const Moving[T]* x, const RelativeMotion[T]* motion) noexcept nogil:
    """A motion of mobod `x`, about C."""
    return shifted(V, motion.p_WC - x.p_WO)


cdef inline void calc_rates_of(
    const Constraint* x, const RelativeMotion[T]* motion, const Motion[T]& V, T* y
) noexcept nogil:
    """J v of a motion of B in A, about C in World."""
    if x.type == DISTANCE:
        y[0] = dot(motion.u, V.v)
    else:
        put(times_transposed(motion.R_WA, V.v), y + num_equations_of(x.type) - 3)
        if x.type == WELD:
            put(times_transposed(motion.R_WA, V.w), y)


cdef inline void set_relative_motion(
    const Constraint* x, const T* multipliers, const Moving[T]* moving, RelativeMotion[T]* motion
) noexcept nogil:
    """Velocities, accelerations, and the force."""
    cdef const Moving[T]* A = &moving[x.mobod_a]
    cdef const Moving[T]* B = &moving[x.mobod_b]
    cdef Motion[T] dV
    motion.V_A = at_C(A.V, A, motion)
    motion.V_B = at_C(B.V, B, motion)
    motion.A_B = at_C(B.A, B, motion)
    motion.V = motion.V_B - motion.V_A
    dV = motion.A_B - at_C(A.A, A, motion) - cross(motion.V_A, motion.V_B)
    motion.alpha = dV.w
    motion.a = dV.v + cross(motion.V.w, motion.V.v)
    set_zero(numbers(motion.F), 6)
    if x.type == DISTANCE:
        motion.F.f = motion.u*multipliers[0]
    else:
        motion.F.f = motion.R_WA*vector_at(multipliers + num_equations_of(x.type) - 3)
        if x.type == WELD:
            motion.F.t = motion.R_WA*vector_at(multipliers)


cdef inline void calc_equation_rates(
    # Topology:
    const Constraint* x,
    int stabilized,
    # Parameters:
    const ConstraintNumbers[T]* c,
    # In:
    const Motion[T]& S,            # [1, m]
    const Moving[T]* mobod,
    const RelativeMotion[T]* motion,
    int j,
    # Work:
    DerivativeColumns[T]* columns,  # P, Q, W
    # Out:
    T* by_q,                       # (num_equations_of,) [rad/s^2, m/s^2] per [rad, m]
    T* by_v,                       # (num_equations_of,) [rad/s^2, m/s^2] per [rad/s, m/s]
) noexcept nogil:
    """Rates along one dof, as if it moved B."""
    cdef Motion[T] P = at_C(column_at(P_of(columns, j)), mobod, motion)
    cdef Motion[T] Q = at_C(column_at(Q_of(columns, j)), mobod, motion)
    cdef Motion[T] W = at_C(column_at(W_of(columns, j)), mobod, motion)
    cdef Motion[T] turned = cross(S, motion.V_B)
    cdef Motion[T] sum = motion.V_A + motion.V_B
    cdef Motion[T] at_rest
    set_zero(numbers(at_rest), 6)
    calc_change_of_equations(
        x, stabilized, c, S, turned + P, Q + cross(S, motion.A_B) + cross(P, sum) - cross(motion.V_A, turned), motion,
        by_q
    )
    calc_change_of_equations(x, stabilized, c, at_rest, S, W + cross(S, sum), motion, by_v)


cdef inline void calc_change_of_equations(
    # Topology:
    const Constraint* x,
    int stabilized,
    # Parameters:
    const ConstraintNumbers[T]* c,
    # In:
    const Motion[T]& S,            # [1, m]
    const Motion[T]& dV,           # [rad/s, m/s]
    const Motion[T]& dA,           # [rad/s^2, m/s^2]
    const RelativeMotion[T]* motion,
    # Out:
    T* change,                     # (num_equations_of,) [rad/s^2, m/s^2]
) noexcept nogil:
    """While B moves in A by S, and velocity and acceleration of this motion change by dV and dA: all about C."""
    # Changes at the point of B that is at C: v' = dv + w × S, a' = da + alpha × S + dw × v + w × v'.
    cdef Vec3[T] v = dV.v + cross(motion.V.w, S.v)
    cdef Vec3[T] a = dA.v + cross(motion.alpha, S.v) + cross(dV.w, motion.V.v) + cross(motion.V.w, v)
    cdef Vec3[T] angular, w, y
    cdef T rate, drate, length, across
    if x.type == DISTANCE:
        # Change of u'a + (v'v - (u'v)^2) / length, in which u changes by (S - u u'S) / length.
        rate = dot(motion.u, motion.V.v)
        length = dot(motion.u, S.v)
        drate = dot(motion.u, v) + (dot(motion.V.v, S.v) - rate*length)/motion.length
        across = dot(motion.V.v, motion.V.v) - rate*rate
        change[0] = dot(motion.u, a) + (
            dot(motion.a, S.v) - dot(motion.a, motion.u)*length
            + (dot(motion.V.v, v) - rate*drate)*2.0 - across*length/motion.length
        )/motion.length
        if stabilized:
            change[0] = change[0] + c.frequency*(c.damping_ratio*(2.0*stabilized)*drate + c.frequency*length)
        return
    if stabilized:
        a = a + (v*(c.damping_ratio*(2.0*stabilized)) + S.v*c.frequency)*c.frequency
    put(times_transposed(motion.R_WA, a), change + num_equations_of(x.type) - 3)
    if x.type == WELD:
        angular = times_transposed(motion.R_WA, dA.w)
        if stabilized:
            w = times_transposed(motion.R_WA, S.w)
            multiply_by_inverse_left_jacobian(numbers(motion.error), numbers(w), numbers(y))
            w = times_transposed(motion.R_WA, dV.w)
            angular = angular + (w*(c.damping_ratio*(2.0*stabilized)) + y*c.frequency)*c.frequency
        put(angular, change)
