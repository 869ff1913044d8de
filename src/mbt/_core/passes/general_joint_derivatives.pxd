"""What derivatives of inverse dynamics need of joints with several axes, or axes that depend on q.

Notation and sources are those of `inverse_dynamics_derivatives.pxd`.
"""

from mbt._core.algebra.derivative_columns cimport (
    DerivativeColumns, F_of, P_of, Q_of, S_of, W_of, get_column, put_column,
)
from mbt._core.algebra.records cimport Mobod, Moving
from mbt._core.algebra.spatial cimport (
    add_cross, add_cross_motion, add_scaled, add_to, copy, cross, dot6, negate, rotate, set_zero,
)
from mbt._core.algebra.vectors cimport Motion, cross as cross_of, motion_at, numbers, put, z_axis
from mbt._core.joints.mobilizers cimport REVOLUTE_Z, add_second_rate_FM, calc_H_FM, calc_Hdot_FM, has_constant_H_FM
from mbt._core.model.structs cimport MobodJoint
from mbt._core.scalars cimport T


cdef inline Motion[T] calc_axis(const MobodJoint* joint, const Moving[T]* x) noexcept nogil:
    """S = [z; p × z] or [0; z]."""
    cdef Motion[T] S
    if joint.kind == REVOLUTE_Z:
        S.w = z_axis(x.R)
        S.v = cross_of(x.p, S.w)
    else:
        set_zero(numbers(S.w), 3)
        S.v = z_axis(x.R)
    return S


cdef inline void calc_general_motion(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const double* c,               # (num_constants,)  [SI]  of the mobilizer
    const Mobod[T]* mobod,
    # In:
    const T* q,                    # (nq,)             [rad, m]
    const T* v,                    # (nv,)             [rad/s, m/s]
    const T* vdot,                 # (nv,)             [rad/s^2, m/s^2]
    const T* H_N,                  # (nv, 6)           [1, m]
    const Moving[T]* parent,
    # Out:
    Moving[T]* x,                  # V, A
    DerivativeColumns[T]* columns,  # S
) noexcept nogil:
    """V = V_P + S v, A = A_P + S vdot + V_P × S v + sum over j, k of D_jk v_j v_k."""
    cdef T[36] S
    cdef T[216] D
    cdef T[6] Sv
    cdef T rate
    cdef int j, k
    set_zero(S, 36)
    for k in range(joint.nv):
        rotate_to_O(numbers(x.R), numbers(x.p), H_N + 6*(joint.v_start + k), S + 6*k)
        put_column(S + 6*k, 6, S_of(columns, joint.v_start + k))
    calc_axis_changes(joint, c, mobod, q, S, parent, x, D)
    set_zero(Sv, 6)
    copy(numbers(parent.A), 6, numbers(x.A))
    for k in range(joint.nv):
        add_scaled(S + 6*k, v[joint.v_start + k], 6, Sv)
        add_scaled(S + 6*k, vdot[joint.v_start + k], 6, numbers(x.A))
        for j in range(joint.nv):
            rate = v[joint.v_start + j]*v[joint.v_start + k]
            add_scaled(D + 36*j + 6*k, rate, 6, numbers(x.A))
    add_cross_motion(numbers(parent.V), Sv, numbers(x.A))
    x.V = parent.V + motion_at(&Sv[0])


cdef inline void calc_mobilizer_frame(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const Mobod[T]* mobod,
    # In:
    const Moving[T]* parent,
    const Moving[T]* x,
    # Out:
    T* R_WF,                       # (3, 3)  [1]
    T* p_OM,                       # (3,)    [m]
) noexcept nogil:
    """Orientation of F, and origin of M, as declared: N is M, or F when the mobilizer is reversed."""
    if joint.reversed:
        put(x.R, R_WF, 3)
        if joint.parent != 0:
            put(parent.R*mobod.X_PF.p + parent.p, p_OM)
        else:
            put(parent.R*mobod.X_PF.p - x.p_WO, p_OM)
    else:
        put(parent.R*mobod.X_PF.R, R_WF, 3)
        put(x.p, p_OM)


cdef inline void calc_axis_changes(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const double* c,               # (num_constants,)  [SI]  of the mobilizer
    const Mobod[T]* mobod,
    # In:
    const T* q,                    # (nq,)             [rad, m]
    const T* S,                    # (joint.nv, 6)     [1, m]
    const Moving[T]* parent,
    const Moving[T]* x,            # pose
    # Out:
    T* D,                          # (6, 6, 6)         [1, m] per [rad, m]  D_jk: change of S_k along j, parent at rest
) noexcept nogil:
    """As declared, axes [e; u] at Mo change by [de; du] in F, and Mo moves by u_j:

        D_jk = [de; du + p_OM × de + u_j × e]

    A reversed mobilizer turns F instead: the same with S_j × S_k before it and a minus.
    """
    cdef T[9] R_WF
    cdef T[3] p_OM, u
    cdef T[6] unit
    cdef T[36] dH
    cdef T[6] a
    cdef T* y
    cdef int j, k
    cdef int is_constant = has_constant_H_FM(joint.type)
    calc_mobilizer_frame(joint, mobod, parent, x, R_WF, p_OM)
    for j in range(joint.nv):
        copy(S + 6*j + 3, 3, u)
        add_cross(S + 6*j, p_OM, u)
        if not is_constant:
            for k in range(joint.nv):
                unit[k] = <T>(1.0 if k == j else 0.0)
            calc_Hdot_FM(joint.type, c, q + joint.q_start, unit, dH)
        for k in range(joint.nv):
            y = D + 36*j + 6*k
            set_zero(y, 3)
            cross(u, S + 6*k, y + 3)
            if not is_constant:
                rotate_to_O(R_WF, p_OM, dH + 6*k, a)
                add_to(a, 6, y)
            if joint.reversed:
                negate(6, y)
                add_cross_motion(S + 6*j, S + 6*k, y)


cdef inline void rotate_to_O(const T* R_WF, const T* p_OM, const T* x_F, T* y) noexcept nogil:
    """y = [R a; R b + p_OM × R a] of x_F = [a; b]."""
    rotate(R_WF, x_F, y)
    rotate(R_WF, x_F + 3, y + 3)
    add_cross(p_OM, y, y + 3)


cdef inline void calc_general_rates(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const double* c,               # (num_constants,)  [SI]  of the mobilizer
    const Mobod[T]* mobod,
    # In:
    const T* q,                    # (nq,)             [rad, m]
    const T* v,                    # (nv,)             [rad/s, m/s]
    const T* vdot,                 # (nv,)             [rad/s^2, m/s^2]
    const Moving[T]* parent,
    const Moving[T]* x,
    # Out:
    DerivativeColumns[T]* columns,  # P, W, Q
) noexcept nogil:
    """With D_jv = sum of D_jk v_k, and E_j the change along dof j of the sum of D_lk v_l v_k,

    P_j = D_jv + V × S_j,  W_j = P_j + V_P × S_j + sum of D_lj v_l,
    Q_j = D_jvdot + V_P × D_jv + E_j + A × S_j + V × P_j.
    """
    cdef T[36] S
    cdef T[216] D
    cdef T[36] Dv, DT_v
    cdef T[6] Dvv, P, Q
    cdef int j, k
    set_zero(S, 36)
    for k in range(joint.nv):
        get_column(S_of(columns, joint.v_start + k), 6, S + 6*k)
    calc_axis_changes(joint, c, mobod, q, S, parent, x, D)
    set_zero(Dvv, 6)
    for j in range(joint.nv):
        set_zero(Dv + 6*j, 6)
        set_zero(DT_v + 6*j, 6)
        for k in range(joint.nv):
            add_scaled(D + 36*j + 6*k, v[joint.v_start + k], 6, Dv + 6*j)
            add_scaled(D + 36*k + 6*j, v[joint.v_start + k], 6, DT_v + 6*j)
        add_scaled(Dv + 6*j, v[joint.v_start + j], 6, Dvv)
    for j in range(joint.nv):
        copy(Dv + 6*j, 6, P)
        add_cross_motion(numbers(x.V), S + 6*j, P)
        calc_bias_change(joint, c, mobod, q, v, S + 6*j, Dvv, parent, x, j, Q)
        for k in range(joint.nv):
            add_scaled(D + 36*j + 6*k, vdot[joint.v_start + k], 6, Q)
        add_cross_motion(numbers(parent.V), Dv + 6*j, Q)
        add_cross_motion(numbers(x.A), S + 6*j, Q)
        add_cross_motion(numbers(x.V), P, Q)
        put_column(P, 6, P_of(columns, joint.v_start + j))
        put_column(Q, 6, Q_of(columns, joint.v_start + j))
        add_cross_motion(numbers(parent.V), S + 6*j, P)
        add_to(DT_v + 6*j, 6, P)
        put_column(P, 6, W_of(columns, joint.v_start + j))


cdef inline void calc_bias_change(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const double* c,               # (num_constants,)  [SI]  of the mobilizer
    const Mobod[T]* mobod,
    # In:
    const T* q,                    # (nq,)             [rad, m]
    const T* v,                    # (nv,)             [rad/s, m/s]
    const T* S_j,                  # (6,)              [1, m]
    const T* Dvv,                  # (6,)              [rad/s^2, m/s^2]
    const Moving[T]* parent,
    const Moving[T]* x,
    int j,
    # Out:
    T* E,                          # (6,)              [rad/s^2, m/s^2] per [rad, m]
) noexcept nogil:
    """Of [e; u - e × p] at Fo, the declared axes, twice along the joint; u_l moves Mo.

    d_j (sum of v_l v_k d_l [e_k; u_k - e_k × p]) at Mo is
        [dde; ddu - de_v × u_j - d_j e_v × u_v - e_v × d_j u_v]
    with e_v = sum of e_k v_k, de_v = sum of d_l e_k v_l v_k.
    """
    cdef T[9] R_WF
    cdef T[3] p_OM
    cdef T[36] H, Hdot, dH
    cdef T[6] unit, Hv, Hdot_v, dH_v, y, a
    cdef int i, k
    set_zero(E, 6)
    if not has_constant_H_FM(joint.type):
        for k in range(joint.nv):
            unit[k] = <T>(1.0 if k == j else 0.0)
        calc_H_FM(joint.type, c, q + joint.q_start, H)
        calc_Hdot_FM(joint.type, c, q + joint.q_start, v + joint.v_start, Hdot)
        calc_Hdot_FM(joint.type, c, q + joint.q_start, unit, dH)
        set_zero(Hv, 6)
        set_zero(Hdot_v, 6)
        set_zero(dH_v, 6)
        for k in range(joint.nv):
            add_scaled(H + 6*k, v[joint.v_start + k], 6, Hv)
            add_scaled(Hdot + 6*k, v[joint.v_start + k], 6, Hdot_v)
            add_scaled(dH + 6*k, v[joint.v_start + k], 6, dH_v)
        set_zero(y, 6)
        add_second_rate_FM(joint.type, c, q + joint.q_start, v + joint.v_start, j, y)
        add_cross(H + 6*j + 3, Hdot_v, y + 3)
        add_cross(Hv + 3, dH_v, y + 3)
        add_cross(dH_v + 3, Hv, y + 3)
        calc_mobilizer_frame(joint, mobod, parent, x, R_WF, p_OM)
        rotate_to_O(R_WF, p_OM, y, a)
        for i in range(6):
            E[i] = -a[i] if joint.reversed else a[i]
    if joint.reversed:
        add_cross_motion(S_j, Dvv, E)


cdef inline void add_same_joint_terms(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const double* c,               # (num_constants,)  [SI]  of the mobilizer
    const Mobod[T]* mobod,
    # In:
    const T* q,                    # (nq,)             [rad, m]
    const Moving[T]* parent,
    const Moving[T]* x,
    Py_ssize_t stride,
    # Work:
    DerivativeColumns[T]* columns,  # S, F
    # Out:
    T* dtau_dq,                    # (nv, stride)      [N m, N] per [rad, m]
) noexcept nogil:
    """dtau_k/dq_j += D_jk' F."""
    cdef T[36] S
    cdef T[216] D
    cdef T[6] F
    cdef T* y
    cdef int j, k
    set_zero(S, 36)
    for k in range(joint.nv):
        get_column(S_of(columns, joint.v_start + k), 6, S + 6*k)
    calc_axis_changes(joint, c, mobod, q, S, parent, x, D)
    get_column(F_of(columns, joint.v_start), 6, F)
    for k in range(joint.nv):
        for j in range(joint.nv):
            y = dtau_dq + stride*(joint.v_start + k) + joint.v_start + j
            y[0] = y[0] + dot6(D + 36*j + 6*k, F)
