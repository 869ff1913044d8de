"""Terms of derivatives of inverse dynamics for joints with several axes, or with axes that depend on q.

Axes S_k of a joint change along its own dofs j by D_jk, its parent at rest. Only sums of these are needed,
D(r, x) = sum of D_jk r_j x_k, such as D(v, v), or D(1_j, v) for one dof. Declared axes [e; u] at Mo change by [de; du]
in F, and Mo moves by u_r = sum of u_j r_j, so that about O

    D(r, x) = [de; du + p_OM × de + u_r × e_x]

with de, du the change of H_FM x at the rate r of q. A reversed mobilizer turns F instead: the same with a minus, and
S_r × S_x before it.

Free joints are in `free_joint_derivatives`, for doubles only: code for other scalars is large. Notation and sources are
those of `inverse_dynamics_derivatives.pxd`.
"""

from mbt._core.algebra.derivative_columns cimport DerivativeColumns, P_of, Q_of, S_of, W_of, column_at, put_column
from mbt._core.algebra.records cimport Mobod, Moving, Pose
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport (
    Force, JointAxes, Motion, Vec3, cross, dot, motion_at, numbers, shifted, times_transposed, z_axis,
)
from mbt._core.joints.mobilizers cimport (
    REVOLUTE_Z, add_second_rate_FM, calc_H_FM, calc_Hdot_FM, calc_Hv, has_constant_H_FM,
)
from mbt._core.joints.mobod_joints cimport moves_freely
from mbt._core.model.structs cimport MobodJoint
from mbt._core.passes.free_joint_derivatives cimport add_free_joint_terms, calc_free_motion, calc_free_rates
from mbt._core.scalars cimport Lanes, T


cdef extern from *:
    bint likely(bint) noexcept nogil  # then the code of the other case is compiled for size


cdef inline Motion[T] calc_axis(const MobodJoint* joint, const Moving[T]* x) noexcept nogil:
    """S = [z; p × z] or [0; z]."""
    cdef Motion[T] S
    if joint.kind == REVOLUTE_Z:
        S.w = z_axis(x.R)
        S.v = cross(x.p, S.w)
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
    DerivativeColumns[T]* columns,  # S, P
) noexcept nogil:
    """V = V_P + S v, A = A_P + S vdot + V_P × S v + D(v, v), P_j = D(1_j, v) + V × S_j."""
    cdef int first = joint.v_start
    cdef int k
    cdef Pose[T] X_OM
    cdef T[6] unit
    cdef Motion[T] S, Sv, Sa, P
    if T is double or T is Lanes:
        if likely(moves_freely(joint)):
            calc_free_motion(joint, mobod, v, vdot, parent, x, columns)
            return
    X_OM = calc_mobilizer_frame(joint, mobod, parent, x)
    set_zero(numbers(Sv), 6)
    set_zero(numbers(Sa), 6)
    for k in range(joint.nv):
        S = shifted(x.R*motion_at(H_N + 6*(first + k)), -x.p)
        put_column(numbers(S), 6, S_of(columns, first + k))
        Sv = Sv + S*v[first + k]
        Sa = Sa + S*vdot[first + k]
    x.V = parent.V + Sv
    x.A = parent.A + Sa + cross(parent.V, Sv) + calc_D(joint, c, &X_OM, q, v + first, Sv, v + first, Sv)
    for k in range(joint.nv):
        S = column_at(S_of(columns, first + k))
        set_unit(k, unit)
        P = calc_D(joint, c, &X_OM, q, unit, S, v + first, Sv) + cross(x.V, S)
        put_column(numbers(P), 6, P_of(columns, first + k))


cdef inline Pose[T] calc_mobilizer_frame(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const Mobod[T]* mobod,
    # In:
    const Moving[T]* parent,
    const Moving[T]* x,
) noexcept nogil:
    """Orientation of F, and origin of M, as declared: N is M, or F when the mobilizer is reversed."""
    cdef Pose[T] X_OM
    if not joint.reversed:
        X_OM.R = parent.R*mobod.X_PF.R
        X_OM.p = x.p
    else:
        X_OM.R = x.R
        X_OM.p = parent.R*mobod.X_PF.p
        X_OM.p = X_OM.p + parent.p if joint.parent != 0 else X_OM.p - x.p_WO
    return X_OM


cdef inline void set_unit(int j, T* unit) noexcept nogil:
    cdef int i
    for i in range(6):
        unit[i] = <T>(1.0 if i == j else 0.0)


cdef inline Motion[T] calc_D(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const double* c,               # (num_constants,)  [SI]  of the mobilizer
    # In:
    const Pose[T]* X_OM,           # F, and the origin of M
    const T* q,                    # (nq,)             [rad, m]
    const T* r,                    # (joint.nv,)       [rad, m]
    const Motion[T]& S_r,
    const T* x,                    # (joint.nv,)       [1]
    const Motion[T]& S_x,
) noexcept nogil:
    """D(r, x); `S_r` and `S_x`: sums of S_j r_j and S_k x_k."""
    cdef Motion[T] D
    set_zero(numbers(D.w), 3)
    D.v = cross(shifted(S_r, X_OM.p).v, S_x.w)
    if not has_constant_H_FM(joint.type):
        D = D + in_O(X_OM, calc_change_in_F(joint, c, q, r, x))
    return cross(S_r, S_x) - D if joint.reversed else D


cdef inline Motion[T] in_O(const Pose[T]* X_OM, const Motion[T]& x) noexcept nogil:
    """[R a; R b + p × R a] of x = [a; b]."""
    return shifted(X_OM.R*x, -X_OM.p)


cdef inline Motion[T] calc_change_in_F(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const double* c,               # (num_constants,)  [SI]  of the mobilizer
    # In:
    const T* q,                    # (nq,)             [rad, m]
    const T* r,                    # (joint.nv,)       [rad, m]
    const T* x,                    # (joint.nv,)       [1]
) noexcept nogil:
    """The change of H_FM x at the rate r of q."""
    cdef JointAxes[T] dH
    calc_Hdot_FM(joint.type, c, q + joint.q_start, r, dH.dof)
    return calc_Hv(joint.nv, dH.dof, x)


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
    DerivativeColumns[T]* columns,  # W, Q
) noexcept nogil:
    """With E_j the change along dof j of D(v, v), v held fixed,

    W_j = P_j + V_P × S_j + D(v, 1_j),   Q_j = A × S_j + V × P_j + D(1_j, vdot) + V_P × D(1_j, v) + E_j
    """
    cdef int first = joint.v_start
    cdef int j
    cdef Pose[T] X_OM
    cdef T[6] unit
    cdef Motion[T] S, Sv, Sa, D_v, E, P, W, Q
    if T is double or T is Lanes:
        if likely(moves_freely(joint)):
            calc_free_rates(joint, mobod, v, vdot, parent, x, columns)
            return
    X_OM = calc_mobilizer_frame(joint, mobod, parent, x)
    set_zero(numbers(Sv), 6)
    set_zero(numbers(Sa), 6)
    for j in range(joint.nv):
        S = column_at(S_of(columns, first + j))
        Sv = Sv + S*v[first + j]
        Sa = Sa + S*vdot[first + j]
    for j in range(joint.nv):
        S = column_at(S_of(columns, first + j))
        set_unit(j, unit)
        D_v = calc_D(joint, c, &X_OM, q, unit, S, v + first, Sv)
        P = column_at(P_of(columns, first + j))
        W = P + calc_D(joint, c, &X_OM, q, v + first, Sv, unit, S)
        Q = cross(x.A, S) + cross(x.V, P) + calc_D(joint, c, &X_OM, q, unit, S, vdot + first, Sa)
        if joint.parent != 0:
            W = W + cross(parent.V, S)
            Q = Q + cross(parent.V, D_v)
        if not has_constant_H_FM(joint.type):
            E = in_O(&X_OM, calc_bias_change_in_F(joint, c, q, v + first, j))
            Q = Q - E if joint.reversed else Q + E
        if joint.reversed:
            Q = Q + cross(S, calc_D(joint, c, &X_OM, q, v + first, Sv, v + first, Sv))
        put_column(numbers(W), 6, W_of(columns, first + j))
        put_column(numbers(Q), 6, Q_of(columns, first + j))


cdef inline Motion[T] calc_bias_change_in_F(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const double* c,               # (num_constants,)  [SI]  of the mobilizer
    # In:
    const T* q,                    # (nq,)             [rad, m]
    const T* v,                    # (joint.nv,)       [rad/s, m/s]
    int j,
) noexcept nogil:
    """Second change of [e; u - e × p] at Fo, the declared axes, along the joint; u_l moves Mo.

    d_j (sum of v_l v_k d_l [e_k; u_k - e_k × p]) at Mo is
        [dde; ddu - de_v × u_j - d_j e_v × u_v - e_v × d_j u_v]
    with e_v = sum of e_k v_k, de_v = sum of d_l e_k v_l v_k.
    """
    cdef JointAxes[T] H
    cdef T[6] unit
    cdef Motion[T] Hv, Hdot_v, dH_v, y
    set_unit(j, unit)
    calc_H_FM(joint.type, c, q + joint.q_start, H.dof)
    Hv = calc_Hv(joint.nv, H.dof, v)
    Hdot_v = calc_change_in_F(joint, c, q, v, v)
    dH_v = calc_change_in_F(joint, c, q, unit, v)
    set_zero(numbers(y), 6)
    add_second_rate_FM(joint.type, c, q + joint.q_start, v, j, &y)
    y.v = y.v + cross(H.dof[j].v, Hdot_v.w) + cross(Hv.v, dH_v.w) + cross(dH_v.v, Hv.w)
    return y


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
    const Force[T]& F,             # [N m, N]          about O
    Py_ssize_t stride,
    # Work:
    DerivativeColumns[T]* columns,  # S
    # Out:
    T* dtau_dq,                    # (nv, stride)      [N m, N] per [rad, m]
) noexcept nogil:
    """dtau_k/dq_j += D_jk' F, and (u_j × e_k)' f = e_k' (f × u_j)."""
    cdef Pose[T] X_OM
    cdef Force[T] F_F
    cdef JointAxes[T] dH
    cdef T[6] unit
    cdef Motion[T] S_j, S_k
    cdef Vec3[T] turned
    cdef T work
    cdef T* y
    cdef int j, k
    cdef bint is_constant = has_constant_H_FM(joint.type)
    if T is double or T is Lanes:
        if likely(moves_freely(joint)):
            add_free_joint_terms(joint, mobod, parent, F, stride, dtau_dq)
            return
    X_OM = calc_mobilizer_frame(joint, mobod, parent, x)
    F_F.t = times_transposed(X_OM.R, F.t - cross(X_OM.p, F.f))
    F_F.f = times_transposed(X_OM.R, F.f)
    for j in range(joint.nv):
        S_j = column_at(S_of(columns, joint.v_start + j))
        turned = cross(F.f, shifted(S_j, X_OM.p).v)
        if not is_constant:
            set_unit(j, unit)
            calc_Hdot_FM(joint.type, c, q + joint.q_start, unit, dH.dof)
        for k in range(joint.nv):
            S_k = column_at(S_of(columns, joint.v_start + k))
            work = dot(turned, S_k.w)
            if not is_constant:
                work = work + dot(F_F, dH.dof[k])
            if joint.reversed:
                work = dot(F, cross(S_j, S_k)) - work
            y = dtau_dq + stride*(joint.v_start + k) + joint.v_start + j
            y[0] = y[0] + work
