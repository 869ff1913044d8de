"""Partial derivatives of inverse dynamics along each dof, O(n depth), in World about one point.

Along dof j, everything outboard of its joint J moves rigidly with S_j, except for changes that start at J:

    V changes by S_j × V + P_j,   A by S_j × A + P_j × V + Q_j,   and with v_j: V by S_j, A by S_j × V + W_j

so that with composites I, B, F of a mobod and all outboard of it, for dofs k and j of the joints K and J,

    dtau_k/dq_j = S_k' (I Q_j + B P_j)                           of K, J inboard of K
    dtau_k/dq_j = S_k' (I Q_j + B P_j + S_j × F)                 of J, J outboard of K
    dtau_k/dq_j = S_k' (I Q_j + B P_j + S_j × F) + D_jk' F       K = J, D_jk the change of S_k along dof j
    dtau_k/dv_j = S_k' (B S_j + I W_j)                           of K or J, whichever is outboard

With one dof D = 0, P = dS/dt, Q = A × S + V × P. The point O is fixed in World, where the node origin of the
base mobod of each tree is now.

J. Carpentier, N. Mansard, "Analytical Derivatives of Rigid Body Dynamics Algorithms", RSS 2018.
S. Singh, R. P. Russell, P. M. Wensing, "Efficient Analytical Derivatives of Rigid-Body Dynamics Using Spatial Vector
Algebra", IEEE RA-L 7 (2022).

In NumPy: tests/support/textbook.py, inverse_dynamics_derivatives, for joints of one dof.
"""

from mbt._core.algebra.derivative_columns cimport (
    COMPOSITE, COMPOSITE_WITH_EXTERNAL, DerivativeColumns, F_of, G_of, I_of, P_of, S_of, add_column, calc_axis_momenta,
    calc_body_columns, calc_dof_rates, calc_force_rates_of, calc_inboard_entries, calc_outboard_entries, clear_axes,
    clear_external_forces, copy_column, get_column, put_column, width_of,
)
from mbt._core.algebra.records cimport Mobod, Moving, Parameters, Pose
from mbt._core.algebra.rotations cimport set_identity
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport (
    Force, Mat3, Motion, Vec3, cross, dot, less, numbers, plus_identity, skew, vector_at,
)
from mbt._core.joints.mobilizers cimport GENERAL
from mbt._core.joints.mobod_joints cimport calc_X_PN
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.passes.general_joint_derivatives cimport (
    add_same_joint_terms, calc_axis, calc_general_motion, calc_general_rates,
)
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
    DerivativeColumns[T]* columns,  # S, P
) noexcept nogil:
    """Poses, motion axes, velocities and accelerations, about O in World."""
    cdef int i, k
    cdef const MobodJoint* joint
    cdef const Moving[T]* parent
    cdef Moving[T]* x
    cdef Pose[T] X_PN
    cdef Motion[T] S, P

    # World does not move. Gravity is an acceleration of World, upwards.
    set_identity(numbers(moving.R))
    set_zero(numbers(moving.p), 3)
    set_zero(numbers(moving.p_WO), 3)
    set_zero(numbers(moving.V), 6)
    set_zero(numbers(moving.A.w), 3)
    moving.A.v = -vector_at(gravity)

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
            S = calc_axis(joint, x)
            P = cross(parent.V, S)
            x.V = parent.V + S*v[k]
            x.A = parent.A + S*vdot[k] + P*v[k]
            put_column(numbers(S), 6, S_of(columns, k))
            put_column(numbers(P), 6, P_of(columns, k))


cdef inline void calc_pose(
    const MobodJoint* joint, const Pose[T]* X_PN, const Moving[T]* parent, Moving[T]* x
) noexcept nogil:
    x.R = parent.R*X_PN.R
    if joint.parent == 0:
        x.p_WO = X_PN.p
        set_zero(numbers(x.p), 3)
    else:
        x.p_WO = parent.p_WO
        x.p = parent.R*X_PN.p + parent.p


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
    """V, A, and I, B, F of each mobod alone. For doubles in all columns, not only the first of a mobod."""
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
    """Subtract forces that are constant in World from F. Gravity is one of them if some bodies are exempt."""
    cdef int b, i, m
    cdef Force[T] F
    cdef Vec3[T] p_OB, c
    cdef const T* p_BoBcm_B = p.p_BoBcm_B
    cdef const T* gravity = p.gravity
    for i in range(count_registers(model, columns)):
        clear_external_forces(columns + i)
    for b in range(1, model.num_bodies):
        m = model.mobod[b]
        if m == 0:
            continue
        p_OB = moving[m].R*p.X_NB[b].p + moving[m].p
        if F_Bo_W != NULL:
            F.t = vector_at(F_Bo_W + 6*b)
            F.f = vector_at(F_Bo_W + 6*b + 3)
            add_external_force(F, p_OB, model.joints[m].v_start, columns)
        if weightless != NULL and not weightless[b]:
            c = p.X_NB[b].R*vector_at(p_BoBcm_B + 3*b)
            set_zero(numbers(F.t), 3)
            F.f = vector_at(gravity)*p.mass[b]
            add_external_force(F, moving[m].R*c + p_OB, model.joints[m].v_start, columns)


cdef inline void add_external_force(
    const Force[T]& external, const Vec3[T]& p, int k, DerivativeColumns[T]* columns
) noexcept nogil:
    """F -= [t + p × f; f]. It does not turn along a dof: S × F + [G e; e × f] remains, G e = e × t + p × (e × f)."""
    cdef T* G_and_f = G_of(columns, k)
    cdef Force[T] F
    cdef Mat3[T] G
    cdef Vec3[T] f
    get_column(F_of(columns, k), 6, numbers(F))
    F.t = F.t - (external.t + cross(p, external.f))
    F.f = F.f - external.f
    put_column(numbers(F), 6, F_of(columns, k))
    get_column(G_and_f, 9, numbers(G))
    get_column(G_and_f + 9*width_of(columns), 3, numbers(f))
    G = skew(-external.t) + plus_identity(less(G, external.f, p), dot(p, external.f))
    f = f + external.f
    put_column(numbers(G), 9, G_and_f)
    put_column(numbers(f), 3, G_and_f + 9*width_of(columns))


cdef inline void sum_composites(const Model* model, int count, DerivativeColumns[T]* columns) noexcept nogil:
    """Sum composites from tip to base, then copy that of each mobod to its further dofs."""
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
    bint sparse,                   # entries that follow from topology are not written: zeros, and M below the diagonal
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
    cdef Force[T] F
    if T is double:
        if has_branches(model):  # all at once: row by row takes longer
            clear_entries(0, nv*stride, dtau_dq, dtau_dv, M)
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        for k in range(joint.v_start, joint.v_start + joint.nv):
            dq = dtau_dq + stride*k
            dv = dtau_dv + stride*k
            if M != NULL:
                M_k = M + stride*k
            if T is not double:
                if not sparse:
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
            get_column(F_of(columns, joint.v_start), 6, numbers(F))
            add_same_joint_terms(
                joint, model.constants[joint.node], &mobods[i], q, &moving[joint.parent], &moving[i], F, stride,
                columns, dtau_dq
            )


cdef inline bint has_branches(const Model* model) noexcept nogil:
    """Whether the mobods are not a single chain: then the run of the last one does not begin at dof 0."""
    return model.joints[model.joints[model.num_mobods - 1].run].v_start != 0


cdef inline void set_sparse_places(const Model* model, int zero, int* places) noexcept nogil:
    """The place of each entry of the three matrices, (3, nv, nv), in those of `calc_rows`; `zero`: that of a zero."""
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


cdef inline void clear_entries(Py_ssize_t start, Py_ssize_t end, T* dq, T* dv, T* M) noexcept nogil:
    """Clear entries of the three matrices, or of a row of each; `M` may be NULL."""
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
    """Derivatives of M vdot + C v - tau_g - J' F_Bo_W."""
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
