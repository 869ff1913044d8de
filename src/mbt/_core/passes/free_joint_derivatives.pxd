"""The functions of `general_joint_derivatives` for floating and ball joints that are not reversed.

Their velocities are angular about the axes e_k of F and, for floating joints, linear along them. With p the position of
Mo, S_k = [e_k; p × e_k] where k is angular, and S_k = [0; e_k], which moves Mo, where it is linear. So
D(r, x) = [0; u_r × w_x], with u_r the velocity of Mo for r, and w_x the angular velocity for x.
"""

from mbt._core.algebra.derivative_columns cimport DerivativeColumns, P_of, Q_of, S_of, W_of, column_at, put_column
from mbt._core.algebra.records cimport Mobod, Moving
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport (
    Force, Mat3, Motion, Vec3, column_of, cross, full, numbers, skew, times_transposed, vector_at,
)
from mbt._core.model.structs cimport MobodJoint
from mbt._core.scalars cimport T


cdef inline Motion[T] axis_about(const Vec3[T]& p, const Mat3[T]& R_WF, int k) noexcept nogil:
    """The motion axis S_k, about O."""
    cdef Motion[T] S
    cdef Vec3[T] e = column_of(numbers(R_WF) + k % 3, 3)
    if k < 3:
        S.w = e
        S.v = cross(p, e)
    else:
        set_zero(numbers(S.w), 3)
        S.v = e
    return S


cdef inline Vec3[T] linear_part(const MobodJoint* joint, const Mat3[T]& R_WF, const T* x) noexcept nogil:
    """The velocity of Mo for x, (joint.nv,); zero for a ball."""
    cdef Vec3[T] u
    if joint.nv == 6:
        u = R_WF*vector_at(x + 3)
    else:
        set_zero(numbers(u), 3)
    return u


cdef inline void calc_free_motion(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const Mobod[T]* mobod,
    # In:
    const T* v,                    # (nv,)             [rad/s, m/s]
    const T* vdot,                 # (nv,)             [rad/s^2, m/s^2]
    const Moving[T]* parent,
    # Out:
    Moving[T]* x,                  # V, A
    DerivativeColumns[T]* columns,  # S, P
) noexcept nogil:
    """V = V_P + S v, A = A_P + S vdot + V_P × S v + [0; u × w], P_j = V × S_j, plus [0; e_j × w] where j is linear."""
    cdef int first = joint.v_start
    cdef int k
    cdef Mat3[T] R_WF = parent.R*mobod.X_PF.R
    cdef Vec3[T] u = linear_part(joint, R_WF, v + first)
    cdef Motion[T] S, Sv, Sa, P
    Sv.w = R_WF*vector_at(v + first)
    Sv.v = u + cross(x.p, Sv.w)
    Sa.w = R_WF*vector_at(vdot + first)
    Sa.v = linear_part(joint, R_WF, vdot + first) + cross(x.p, Sa.w)
    x.V = parent.V + Sv
    x.A = parent.A + Sa + cross(parent.V, Sv)
    x.A.v = x.A.v + cross(u, Sv.w)
    for k in range(joint.nv):
        S = axis_about(x.p, R_WF, k)
        P = cross(x.V, S)
        if k >= 3:
            P.v = P.v + cross(S.v, Sv.w)
        put_column(numbers(S), 6, S_of(columns, first + k))
        put_column(numbers(P), 6, P_of(columns, first + k))


cdef inline void calc_free_rates(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const Mobod[T]* mobod,
    # In:
    const T* v,                    # (nv,)             [rad/s, m/s]
    const T* vdot,                 # (nv,)             [rad/s^2, m/s^2]
    const Moving[T]* parent,
    const Moving[T]* x,
    # Out:
    DerivativeColumns[T]* columns,  # W, Q
) noexcept nogil:
    """W_j = P_j + V_P × S_j + D(v, 1_j),   Q_j = A × S_j + V × P_j + D(1_j, vdot) + V_P × D(1_j, v)"""
    cdef int first = joint.v_start
    cdef int j
    cdef Mat3[T] R_WF = parent.R*mobod.X_PF.R
    cdef Vec3[T] u = linear_part(joint, R_WF, v + first)
    cdef Vec3[T] w = R_WF*vector_at(v + first)
    cdef Vec3[T] wdot = R_WF*vector_at(vdot + first)
    cdef Motion[T] S, P, W, Q
    for j in range(joint.nv):
        S = column_at(S_of(columns, first + j))
        P = column_at(P_of(columns, first + j))
        W = P + cross(parent.V, S)
        Q = cross(x.A, S) + cross(x.V, P)
        if j < 3:
            W.v = W.v + cross(u, S.w)
        else:
            Q.v = Q.v + cross(S.v, wdot) + cross(parent.V.w, cross(S.v, w))
        put_column(numbers(W), 6, W_of(columns, first + j))
        put_column(numbers(Q), 6, Q_of(columns, first + j))


cdef inline void add_free_joint_terms(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const Mobod[T]* mobod,
    # In:
    const Moving[T]* parent,
    const Force[T]& F,             # [N m, N]
    Py_ssize_t stride,
    # Out:
    T* dtau_dq,                    # (nv, stride)      [N m, N] per [rad, m]
) noexcept nogil:
    """dtau_k/dq_j += f' (e_j × e_k), of linear dofs j and angular dofs k."""
    cdef int j, k
    cdef Mat3[T] f_F
    cdef T* row
    if joint.nv == 6:
        f_F = full(skew(times_transposed(parent.R*mobod.X_PF.R, F.f)))
        for k in range(3):
            row = dtau_dq + stride*(joint.v_start + k) + joint.v_start + 3
            for j in range(3):
                row[j] = row[j] + numbers(f_F)[3*k + j]
