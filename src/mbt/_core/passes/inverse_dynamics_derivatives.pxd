"""Partial derivatives of inverse dynamics along each dof, O(n depth), in World about one point.

Along dof j everything outboard of its joint J turns with S_j, and what is not rigid motion starts at J:

    V changes by S_j × V + P_j,   A by S_j × A + P_j × V + Q_j,   and with v_j: V by S_j, A by S_j × V + W_j

so that with composites I, B, F of a mobod and all outboard of it, for dofs k and j of the joints K and J,

    dtau_k/dq_j = S_k' (I Q_j + B P_j)                           of K, J inboard of K
    dtau_k/dq_j = S_k' (I Q_j + B P_j + S_j × F)                 of J, J outboard of K
    dtau_k/dq_j = S_k' (I Q_j + B P_j + S_j × F) + D_jk' F       K = J, D_jk the change of S_k along dof j
    dtau_k/dv_j = S_k' (B S_j + I W_j)                           of the one that is outboard

With one dof D = 0, P = dS/dt, Q = A × S + V × P. The point O is fixed in World, where the node origin of the
base mobod of each tree is now.

J. Carpentier, N. Mansard, "Analytical Derivatives of Rigid Body Dynamics Algorithms", RSS 2018.
S. Singh, R. P. Russell, P. M. Wensing, "Efficient Analytical Derivatives of Rigid-Body Dynamics Using Spatial Vector
Algebra", IEEE RA-L 7 (2022).

In NumPy: tests/support/textbook.py, inverse_dynamics_derivatives, for joints of one dof.
"""

from mbt._core.algebra.derivative_columns cimport (
    COMPOSITE, COMPOSITE_WITH_EXTERNAL, DerivativeColumns, F_of, G_of, I_of, P_of, Q_of, S_of, W_of, add_column,
    calc_axis_momenta, calc_body_columns, calc_dof_rates, calc_force_rates_of, calc_inboard_entries,
    calc_outboard_entries, clear_axes, clear_external_forces, copy_column, get_column, put_column, width_of,
)
from mbt._core.algebra.records cimport Mobod, Moving, Parameters, Pose
from mbt._core.algebra.spatial cimport (
    add_cross, add_scaled, copy, cross, dot3, dot6, multiply_rotations, rotate, set_zero,
)
from mbt._core.algebra.vectors cimport numbers
from mbt._core.joints.mobilizers cimport (
    GENERAL, REVOLUTE_Z, add_second_rate_FM, calc_H_FM, calc_Hdot_FM, has_constant_H_FM,
)
from mbt._core.joints.mobod_joints cimport calc_X_PN
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.scalars cimport T, sincos_of_angles


# Base to tip ----------------------------------------------------------------------------------------------------

cdef inline void calc_motions(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const T* gravity,              # (3,)             [m/s^2]  in World
    # In:
    const T* q,                    # (nq,)            [rad, m]
    const T* v,                    # (nv,)            [rad/s, m/s]
    const T* vdot,                 # (nv,)            [rad/s^2, m/s^2]
    # Work:
    T* H_N,                        # (nv, 6)          [1, m]
    T* sin_q,                      # (angle_stride,)  [1]
    T* cos_q,                      # (angle_stride,)  [1]
    # Out:
    Moving[T]* moving,             # (num_mobods,)
    DerivativeColumns[T]* columns,  # S, and P where there is one dof
) noexcept nogil:
    """Poses, motion axes, velocities and accelerations, about O in World."""
    cdef int i, j, k
    cdef const MobodJoint* joint
    cdef const Moving[T]* parent
    cdef Moving[T]* x
    cdef Pose[T] X_PN
    cdef T[6] S, P

    # World does not move. Gravity is an acceleration of World, upwards.
    for i in range(9):
        moving[0].R[i] = <T>(1.0 if i % 4 == 0 else 0.0)
    set_zero(moving[0].p, 3)
    set_zero(moving[0].p_WO, 3)
    set_zero(moving[0].V, 6)
    set_zero(moving[0].A, 6)
    for i in range(3):
        moving[0].A[3 + i] = -gravity[i]

    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)

    if T is double:
        for i in range(count_registers(model, columns)):
            clear_axes(columns + i)
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        parent = &moving[joint.parent]
        x = &moving[i]
        k = joint.v_start
        calc_X_PN(joint, model.constants[joint.node], &mobods[i].X_PF, q, sin_q, cos_q, &X_PN, H_N)
        calc_pose(joint, &X_PN, parent, x)
        if joint.kind == GENERAL:
            calc_general_motion(joint, model.constants[joint.node], &mobods[i], q, v, vdot, H_N, parent, x, columns)
        else:
            calc_axis(joint, x, S)
            # P = V_P × S, V = V_P + S v, A = A_P + S vdot + P v
            cross_motion(parent.V, S, P)
            for j in range(6):
                x.V[j] = parent.V[j] + S[j]*v[k]
                x.A[j] = parent.A[j] + S[j]*vdot[k] + P[j]*v[k]
            put_column(S, 6, S_of(columns, k))
            put_column(P, 6, P_of(columns, k))


cdef inline void calc_pose(
    const MobodJoint* joint, const Pose[T]* X_PN, const Moving[T]* parent, Moving[T]* x
) noexcept nogil:
    cdef int i
    multiply_rotations(parent.R, numbers(X_PN.R), x.R)
    if joint.parent == 0:
        for i in range(3):
            x.p_WO[i] = numbers(X_PN.p)[i]
            x.p[i] = <T>0.0
    else:
        rotate(parent.R, numbers(X_PN.p), x.p)
        for i in range(3):
            x.p_WO[i] = parent.p_WO[i]
            x.p[i] = x.p[i] + parent.p[i]


cdef inline void calc_axis(const MobodJoint* joint, const Moving[T]* x, T* S) noexcept nogil:
    """S = [z; p × z] or [0; z]."""
    cdef int i
    if joint.kind == REVOLUTE_Z:
        for i in range(3):
            S[i] = x.R[3*i + 2]
        cross(x.p, S, S + 3)
    else:
        for i in range(3):
            S[i] = <T>0.0
            S[3 + i] = x.R[3*i + 2]


cdef inline void cross_motion(const T* V, const T* x, T* y) noexcept nogil:
    """y = V × x of motions."""
    cross(V, x, y)
    cross(V, x + 3, y + 3)
    add_cross(V + 3, x, y + 3)


cdef inline void add_cross_motion(const T* V, const T* x, T* y) noexcept nogil:
    """y += V × x of motions."""
    add_cross(V, x, y)
    add_cross(V, x + 3, y + 3)
    add_cross(V + 3, x, y + 3)


# Joints with several axes, or axes that depend on q --------------------------------------------------------------

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
    cdef int i, j, k
    set_zero(S, 36)
    for k in range(joint.nv):
        rotate(x.R, H_N + 6*(joint.v_start + k), S + 6*k)
        rotate(x.R, H_N + 6*(joint.v_start + k) + 3, S + 6*k + 3)
        add_cross(x.p, S + 6*k, S + 6*k + 3)
        put_column(S + 6*k, 6, S_of(columns, joint.v_start + k))
    calc_axis_changes(joint, c, mobod, q, S, parent, x, D)
    set_zero(Sv, 6)
    copy(parent.A, 6, x.A)
    for k in range(joint.nv):
        add_scaled(S + 6*k, v[joint.v_start + k], 6, Sv)
        add_scaled(S + 6*k, vdot[joint.v_start + k], 6, x.A)
        for j in range(joint.nv):
            rate = v[joint.v_start + j]*v[joint.v_start + k]
            add_scaled(D + 36*j + 6*k, rate, 6, x.A)
    add_cross_motion(parent.V, Sv, x.A)
    for i in range(6):
        x.V[i] = parent.V[i] + Sv[i]


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
    cdef int i
    if joint.reversed:
        copy(x.R, 9, R_WF)
        rotate(parent.R, numbers(mobod.X_PF.p), p_OM)
        for i in range(3):
            p_OM[i] = p_OM[i] + (parent.p[i] if joint.parent != 0 else -x.p_WO[i])
    else:
        multiply_rotations(parent.R, numbers(mobod.X_PF.R), R_WF)
        copy(x.p, 3, p_OM)


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
    cdef int i, j, k
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
                for i in range(6):
                    y[i] = y[i] + a[i]
            if joint.reversed:
                for i in range(6):
                    y[i] = -y[i]
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
    cdef int i, j, k
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
        add_cross_motion(x.V, S + 6*j, P)
        calc_bias_change(joint, c, mobod, q, v, S + 6*j, Dvv, parent, x, j, Q)
        for k in range(joint.nv):
            add_scaled(D + 36*j + 6*k, vdot[joint.v_start + k], 6, Q)
        add_cross_motion(parent.V, Dv + 6*j, Q)
        add_cross_motion(x.A, S + 6*j, Q)
        add_cross_motion(x.V, P, Q)
        put_column(P, 6, P_of(columns, joint.v_start + j))
        put_column(Q, 6, Q_of(columns, joint.v_start + j))
        add_cross_motion(parent.V, S + 6*j, P)
        for i in range(6):
            P[i] = P[i] + DT_v[6*j + i]
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


# Tip to base ----------------------------------------------------------------------------------------------------

cdef inline int count_registers(const Model* model, const DerivativeColumns[T]* columns) noexcept nogil:
    cdef int width = width_of(columns)
    return (model.num_velocities + width - 1)//width


cdef inline void calc_bodies(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    # In:
    const Moving[T]* moving,       # (num_mobods,)
    # Out:
    DerivativeColumns[T]* columns,  # V, A, I, B, F
) noexcept nogil:
    """V, A, and I, B, F of each mobod alone. Of doubles all columns are computed, whether first of a mobod or not."""
    cdef int i, k
    if T is double:
        for i in range(count_registers(model, columns)):
            calc_body_columns(model.dof_mobod + width_of(columns)*i, mobods, moving, columns + i)
    else:
        for i in range(1, model.num_mobods):
            k = model.joints[i].v_start
            calc_body_columns(model.dof_mobod + k, mobods, moving, columns + k)


cdef inline void add_external_forces(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    const int* weightless,         # (num_bodies,) or NULL
    # In:
    const T* F_Bo_W,               # (num_bodies, 6)  [N m, N]  or NULL
    const Moving[T]* moving,       # (num_mobods,)
    # Out:
    DerivativeColumns[T]* columns,  # F, G
) noexcept nogil:
    """Take forces that are constant in World off F. Gravity is one of them where it spares some bodies."""
    cdef int b, i, m
    cdef T[6] F
    cdef T[3] p_OB, c, d
    for i in range(count_registers(model, columns)):
        clear_external_forces(columns + i)
    for b in range(1, model.num_bodies):
        m = model.mobod[b]
        if m == 0:
            continue
        rotate(moving[m].R, numbers(p.X_NB[b].p), p_OB)
        for i in range(3):
            p_OB[i] = p_OB[i] + moving[m].p[i]
        if F_Bo_W != NULL:
            add_external_force(F_Bo_W + 6*b, p_OB, model.joints[m].v_start, columns)
        if weightless != NULL and not weightless[b]:
            rotate(numbers(p.X_NB[b].R), p.p_BoBcm_B + 3*b, c)
            rotate(moving[m].R, c, d)
            set_zero(F, 3)
            for i in range(3):
                p_OB[i] = p_OB[i] + d[i]
                F[3 + i] = p.mass[b]*p.gravity[i]
            add_external_force(F, p_OB, model.joints[m].v_start, columns)


cdef inline void add_external_force(const T* F_B, const T* p, int k, DerivativeColumns[T]* columns) noexcept nogil:
    """F -= [t + p × f; f]. That does not turn along a dof: S × F + [G e; e × f] is left, G e = e × t + p × (e × f)."""
    cdef int width = width_of(columns)
    cdef T* F = F_of(columns, k)
    cdef T* G = G_of(columns, k)
    cdef const T* f = F_B + 3
    cdef T[3] t
    cdef T pf = dot3(p, f)
    cdef int i, j
    copy(F_B, 3, t)
    add_cross(p, f, t)
    for i in range(3):
        F[width*i] = F[width*i] - t[i]
        F[width*(3 + i)] = F[width*(3 + i)] - f[i]
        G[width*(9 + i)] = G[width*(9 + i)] + f[i]
        for j in range(3):
            G[width*(3*i + j)] = G[width*(3*i + j)] - f[i]*p[j]
        G[width*4*i] = G[width*4*i] + pf
    # - [t]x
    G[width] = G[width] + F_B[2]
    G[2*width] = G[2*width] - F_B[1]
    G[3*width] = G[3*width] - F_B[2]
    G[5*width] = G[5*width] + F_B[0]
    G[6*width] = G[6*width] + F_B[1]
    G[7*width] = G[7*width] - F_B[0]


cdef inline void sum_composites(const Model* model, int count, DerivativeColumns[T]* columns) noexcept nogil:
    """Add what is outboard, then give each dof the composite of its mobod."""
    cdef int i, k
    cdef const MobodJoint* joint
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        if joint.parent != 0:
            add_column(I_of(columns, joint.v_start), count, I_of(columns, model.joints[joint.parent].v_start))
        for k in range(joint.v_start + 1, joint.v_start + joint.nv):
            copy_column(I_of(columns, joint.v_start), count, I_of(columns, k))


cdef inline void calc_momenta(const Model* model, DerivativeColumns[T]* columns) noexcept nogil:
    cdef int i
    for i in range(count_registers(model, columns)):
        calc_axis_momenta(columns + i)


cdef inline void calc_rates(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    # In:
    const T* q,                    # (nq,)  [rad, m]
    const T* v,                    # (nv,)  [rad/s, m/s]
    const T* vdot,                 # (nv,)  [rad/s^2, m/s^2]
    bint with_external,
    const Moving[T]* moving,       # (num_mobods,)
    # Out:
    DerivativeColumns[T]* columns,  # W, Q, U, Z, B_S, G_S
) noexcept nogil:
    cdef int i
    cdef const MobodJoint* joint
    cdef int num_registers = count_registers(model, columns)
    if T is double:
        for i in range(num_registers):
            calc_dof_rates(columns + i)
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        if joint.kind == GENERAL:
            calc_general_rates(
                joint, model.constants[joint.node], &mobods[i], q, v, vdot, &moving[joint.parent], &moving[i], columns
            )
        elif T is not double:
            calc_dof_rates(columns + joint.v_start)
    for i in range(num_registers):
        calc_force_rates_of(columns + i, with_external)


cdef inline void calc_rows(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    # In:
    const T* q,                    # (nq,)         [rad, m]
    bint with_external,
    const Moving[T]* moving,       # (num_mobods,)
    Py_ssize_t stride,
    # Work:
    DerivativeColumns[T]* columns,
    # Out:
    T* dtau_dq,                    # (nv, stride)  [N m, N] per [rad, m]
    T* dtau_dv,                    # (nv, stride)  [N m, N] per [rad/s, m/s]
    T* M,                          # (nv, stride)  [kg m^2, kg m, kg]  or NULL
    bint sparse,                   # what topology knows is left as it is: zeros, and M below the diagonal
) noexcept nogil:
    cdef int i, k, end, head, mobod, start
    cdef int nv = model.num_velocities
    # As many columns as there are in whole registers, if rows have room for them.
    cdef int row_end = min(<int>stride, count_registers(model, columns)*width_of(columns))
    cdef Py_ssize_t room
    cdef const MobodJoint* joint
    cdef const MobodJoint* inboard
    cdef T* dq
    cdef T* dv
    cdef T* M_k = M
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        for k in range(joint.v_start, joint.v_start + joint.nv):
            dq = dtau_dq + stride*k
            dv = dtau_dv + stride*k
            if M != NULL:
                M_k = M + stride*k
            if T is double:
                if model.joints[joint.run].v_start != 0 or joint.v_end != nv:
                    set_zero(dq, row_end)
                    set_zero(dv, row_end)
                    if M != NULL:
                        set_zero(M_k, row_end)
            elif not sparse:
                clear_entries(joint.v_end, nv, dq, dv, M_k)
            start = joint.v_start
            room = stride*(nv - k) - width_of(columns)
            end = row_end if joint.v_end == nv else joint.v_end
            calc_outboard_entries(columns, M != NULL, k, joint.v_start, end, M_k, dq, dv, room)
            mobod = joint.parent
            while mobod != 0:
                inboard = &model.joints[mobod]
                head = inboard.run
                if T is not double:
                    if not sparse:
                        clear_entries(inboard.v_start + inboard.nv, start, dq, dv, M_k)
                start = model.joints[head].v_start
                calc_inboard_entries(
                    columns, M != NULL and not sparse, with_external, k, start, inboard.v_start + inboard.nv, M_k, dq,
                    dv, room
                )
                mobod = model.joints[head].parent
            if T is not double:
                if not sparse:
                    clear_entries(0, start, dq, dv, M_k)
        if joint.kind == GENERAL:
            add_same_joint_terms(
                joint, model.constants[joint.node], &mobods[i], q, &moving[joint.parent], &moving[i], stride, columns,
                dtau_dq
            )


cdef inline void set_sparse_places(const Model* model, int zero, int* places) noexcept nogil:
    """Where each entry of the three matrices, (3, nv, nv), is among those of `calc_rows`; `zero`: where a zero is."""
    cdef int nv = model.num_velocities
    cdef int size = nv*nv
    cdef int k, l, end
    for l in range(nv):
        end = model.joints[model.dof_mobod[l]].v_end
        for k in range(l, nv):
            if k < end:
                places[nv*l + k] = nv*l + k
                places[nv*k + l] = nv*k + l
                places[size + nv*l + k] = size + nv*l + k
                places[size + nv*k + l] = size + nv*k + l
                places[2*size + nv*l + k] = 2*size + nv*l + k
                places[2*size + nv*k + l] = 2*size + nv*l + k
            else:
                places[nv*l + k] = zero
                places[nv*k + l] = zero
                places[size + nv*l + k] = zero
                places[size + nv*k + l] = zero
                places[2*size + nv*l + k] = zero
                places[2*size + nv*k + l] = zero


cdef inline void clear_entries(int start, int end, T* dq, T* dv, T* M) noexcept nogil:
    """Of one row."""
    set_zero(dq + start, end - start)
    set_zero(dv + start, end - start)
    if M != NULL:
        set_zero(M + start, end - start)


cdef inline void calc_inverse_dynamics_derivatives(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    const T* gravity,              # (3,)             [m/s^2]  in World, of all bodies
    const int* weightless,         # (num_bodies,) or NULL: then gravity is zero, and a force on the others
    # In:
    const T* q,                    # (nq,)            [rad, m]
    const T* v,                    # (nv,)            [rad/s, m/s]
    const T* vdot,                 # (nv,)            [rad/s^2, m/s^2]
    const T* F_Bo_W,               # (num_bodies, 6)  [N m, N]  external forces, or NULL
    Py_ssize_t stride,
    # Work:
    T* H_N,                        # (nv, 6)          [1, m]
    T* sin_q,                      # (angle_stride,)  [1]
    T* cos_q,                      # (angle_stride,)  [1]
    Moving[T]* moving,             # (num_mobods,)
    DerivativeColumns[T]* columns,
    # Out:
    T* dtau_dq,                    # (nv, stride)     [N m, N] per [rad, m]
    T* dtau_dv,                    # (nv, stride)     [N m, N] per [rad/s, m/s]
    T* M,                          # (nv, stride)     [kg m^2, kg m, kg]  or NULL
    bint sparse,                   # see calc_rows
) noexcept nogil:
    """Of M vdot + C v - tau_g - J' F_Bo_W."""
    cdef int k
    cdef bint with_external = F_Bo_W != NULL or weightless != NULL
    calc_motions(model, p.mobods, gravity, q, v, vdot, H_N, sin_q, cos_q, moving, columns)
    calc_bodies(model, p.mobods, moving, columns)
    if with_external:
        add_external_forces(model, p, weightless, F_Bo_W, moving, columns)
    sum_composites(model, COMPOSITE_WITH_EXTERNAL if with_external else COMPOSITE, columns)
    calc_momenta(model, columns)
    calc_rates(model, p.mobods, q, v, vdot, with_external, moving, columns)
    calc_rows(model, p.mobods, q, with_external, moving, stride, columns, dtau_dq, dtau_dv, M, sparse)
    if M != NULL:
        for k in range(model.num_velocities):
            M[stride*k + k] = M[stride*k + k] + p.reflected_inertia[k]
