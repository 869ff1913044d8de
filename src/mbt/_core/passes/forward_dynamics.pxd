"""Forward dynamics: articulated bodies in node frames, O(n), straight from q, v, tau to vdot.

R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, table 7.1.
In NumPy: tests/support/textbook.py, forward_dynamics.
"""

from mbt._core.algebra.records cimport Articulated, ArticulatedDof, Mobod
from mbt._core.algebra.spatial cimport (
    add_cross, copy, cross, dot6, rotate, rotate_inverse, rotate_symmetric, set_zero, symmetric_multiply,
)
from mbt._core.joints.node_joints cimport (
    add_dof_acceleration, add_joint_angular_velocity, add_velocity_bias, calc_articulated_dof, calc_X_PN,
    leaves_nothing_about_axis, set_size,
)
from mbt._core.model.structs cimport Joint, Model
from mbt._core.scalars cimport T, add_articulation_rows, set_articulation_rows, sincos_of_angles


cdef inline void calc_forward_dynamics(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const T* reflected_inertia,    # (nv,)            [kg m^2, kg]
    const T* gravity,              # (3,)             [m/s^2]  in World
    const int* locked,             # (nv,)            1 where a dof cannot move; NULL where all can
    # In:
    const T* q,                    # (nq,)            [rad, m]
    const T* v,                    # (nv,)            [rad/s, m/s]
    const T* tau,                  # (nv,)            [N m, N]
    # Work:
    Articulated[T]* work,          # (num_mobods,)
    T* H_N,                        # (nv, 6)          [1, m]
    T* sin_q,                      # (angle_stride,)  [1]
    T* cos_q,                      # (angle_stride,)  [1]
    # Out:
    ArticulatedDof[T]* dofs,       # (nv,)            pivots D: zero where no mass resists a dof
    T* vdot,                       # (nv,)            [rad/s^2, m/s^2]
) noexcept nogil:
    """vdot = M^-1 (tau + tau_g - C v), and zero where a dof is locked: the constraint forces do not appear."""
    cdef int i, k
    cdef const Joint* joint
    cdef Articulated[T]* x

    set_zero(work[0].w, 3)
    set_zero(work[0].acc, 6)
    for i in range(3):
        work[0].acc[3 + i] = -gravity[i]

    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)

    # Base to tip: velocities, and what they do to acceleration and force.
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        calc_X_PN(
            joint, model.constants[joint.node], &mobods[i].X_PF, q, sin_q, cos_q, &work[i].X_PN, H_N
        )
        calc_velocity_and_bias(joint, model.constants[joint.node], q, v, H_N, &work[joint.parent], &work[i])
        start_articulation(&mobods[i], &work[i])

    # Tip to base: take out one dof after the other, hand the rest to the parent. Doubles take the first dof out in P:
    # its 1 / D is needed only there, and the way there does not wait for it. For others each operation counts.
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        x = &work[i]
        set_size(joint, x)
        for k in range(joint.v + joint.nv - 1, joint.v, -1):
            calc_articulated_dof(joint, k, H_N, x, tau[k], reflected_inertia[k], &dofs[k])
            lock_dof(locked, k, &dofs[k])
            eliminate_dof(&dofs[k], x)
        k = joint.v
        calc_articulated_dof(joint, k, H_N, x, tau[k], reflected_inertia[k], &dofs[k])
        lock_dof(locked, k, &dofs[k])
        if T is double:
            carry_dof_to_parent(x, &dofs[k])
            if joint.parent != 0:
                add_articulation_rows_to_parent(x, &dofs[k], &work[joint.parent])
        elif joint.parent != 0:
            if leaves_nothing_about_axis(joint, locked):
                add_rest_of_hinge_to_parent(x, &dofs[k], &work[joint.parent])
            else:
                eliminate_dof(&dofs[k], x)
                add_articulation_to_parent(x, &work[joint.parent])

    # Base to tip: accelerations.
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        x = &work[i]
        k = joint.v
        if T is double:
            vdot[k] = dofs[k].u - dot6(dofs[k].U, work[joint.parent].acc)*dofs[k].D_inverse
            carry_acceleration(&work[joint.parent], x)
        else:
            carry_acceleration(&work[joint.parent], x)
            vdot[k] = (dofs[k].u - dot6(dofs[k].U, x.acc))*dofs[k].D_inverse
        add_dof_acceleration(joint, k, H_N, vdot[k], x.acc)
        for k in range(joint.v + 1, joint.v + joint.nv):
            vdot[k] = (dofs[k].u - dot6(dofs[k].U, x.acc))*dofs[k].D_inverse
            add_dof_acceleration(joint, k, H_N, vdot[k], x.acc)


cdef inline void carry_first_dofs_to_parents(
    const Model* model, const Articulated[T]* work, ArticulatedDof[T]* dofs
) noexcept nogil:
    """Bring the first dof of each joint to Po in P, where forward dynamics of doubles has it."""
    cdef int i
    for i in range(1, model.num_mobods):
        carry_dof_to_parent(&work[i], &dofs[model.joints[i].v])


cdef inline void lock_dof(const int* locked, int k, ArticulatedDof[T]* dof) noexcept nogil:
    """A locked dof resists without end: 1 / D is zero."""
    if locked != NULL and locked[k]:
        dof.D_inverse = <T>0.0


cdef inline void calc_velocity_and_bias(
    # Topology:
    const Joint* joint,
    # Parameters:
    const double* c,         # (num_constants,)  [SI]  of the mobilizer
    # In:
    const T* q,              # (nq,)             [rad, m]
    const T* v,              # (nv,)             [rad/s, m/s]
    const T* H_N,            # (nv, 6)           [1, m]
    const Articulated[T]* parent,
    # Out:
    Articulated[T]* x,
) noexcept nogil:
    """w, and the acceleration of N when vdot and the acceleration of P are zero."""
    cdef T wp[3]
    cdef T wwp[3]
    cdef T w_P[3]
    copy(parent.w, 3, w_P)
    rotate_inverse(x.X_PN.R, w_P, x.w)
    cross(w_P, x.X_PN.p, wp)
    cross(w_P, wp, wwp)
    set_zero(x.bias, 3)
    rotate_inverse(x.X_PN.R, wwp, x.bias + 3)
    add_velocity_bias(joint, c, H_N, q, v, x.w, x.bias, x.bias + 3)
    add_joint_angular_velocity(joint, H_N, v, x.w)


cdef inline void start_articulation(const Mobod[T]* mobod, Articulated[T]* x) noexcept nogil:
    """I_A = [I, [h]x; -[h]x, m], Z = [w × (I w); w × (w × h)]."""
    cdef T y[3]
    cdef T C[6]
    cdef T h[3]
    cdef T inertia[6]
    copy(mobod.h, 3, h)
    copy(mobod.inertia, 6, inertia)
    if T is double:
        set_articulation_rows(&mobod.mass, x.A, x.B, x.C)
    else:
        set_symmetric(inertia, x.A)
        x.B[0] = <T>0.0
        x.B[1] = -h[2]
        x.B[2] = h[1]
        x.B[4] = h[2]
        x.B[5] = <T>0.0
        x.B[6] = -h[0]
        x.B[8] = -h[1]
        x.B[9] = h[0]
        x.B[10] = <T>0.0
        C[0] = mobod.mass
        C[1] = <T>0.0
        C[2] = <T>0.0
        C[3] = mobod.mass
        C[4] = <T>0.0
        C[5] = mobod.mass
        set_symmetric(C, x.C)
    symmetric_multiply(inertia, x.w, y)
    cross(x.w, y, x.Z)
    cross(x.w, h, y)
    cross(x.w, y, x.Z + 3)


cdef inline void set_symmetric(const T* S, T* A) noexcept nogil:
    """A, in rows of four, from S = [xx xy xz yy yz zz]; the fourth column stays what it is."""
    A[0] = S[0]
    A[1] = S[1]
    A[2] = S[2]
    A[5] = S[3]
    A[6] = S[4]
    A[10] = S[5]
    if T is double:
        A[4] = S[1]
        A[8] = S[2]
        A[9] = S[4]


cdef inline void get_symmetric(const T* A, T* S) noexcept nogil:
    """S = [xx xy xz yy yz zz] of A in rows of four."""
    S[0] = A[0]
    S[1] = A[1]
    S[2] = A[2]
    S[3] = A[5]
    S[4] = A[6]
    S[5] = A[10]


cdef inline void eliminate_dof(const ArticulatedDof[T]* dof, Articulated[T]* x) noexcept nogil:
    """I_A -= U U' / D, Z += U u / D."""
    cdef T e[6]
    cdef T A[6]
    cdef T C[6]
    cdef T s
    cdef int i, j
    cdef const T* U = &dof.U[0]
    s = dof.u*dof.D_inverse
    for i in range(6):
        e[i] = U[i]*dof.D_inverse
        x.Z[i] = x.Z[i] + U[i]*s
    get_symmetric(x.A, A)
    get_symmetric(x.C, C)
    A[0] = A[0] - e[0]*U[0]
    A[1] = A[1] - e[0]*U[1]
    A[2] = A[2] - e[0]*U[2]
    A[3] = A[3] - e[1]*U[1]
    A[4] = A[4] - e[1]*U[2]
    A[5] = A[5] - e[2]*U[2]
    for i in range(3):
        for j in range(3):
            x.B[4*i + j] = x.B[4*i + j] - e[i]*U[3 + j]
    C[0] = C[0] - e[3]*U[3]
    C[1] = C[1] - e[3]*U[4]
    C[2] = C[2] - e[3]*U[5]
    C[3] = C[3] - e[4]*U[4]
    C[4] = C[4] - e[4]*U[5]
    C[5] = C[5] - e[5]*U[5]
    set_symmetric(A, x.A)
    set_symmetric(C, x.C)


cdef inline void carry_dof_to_parent(const Articulated[T]* x, ArticulatedDof[T]* dof) noexcept nogil:
    """u = (u - U' bias) / D, U rotated into P and shifted to its origin."""
    cdef T t[3]
    cdef T f[3]
    dof.u = (dof.u - dot6(dof.U, x.bias))*dof.D_inverse
    rotate(x.X_PN.R, dof.U, t)
    rotate(x.X_PN.R, dof.U + 3, f)
    add_cross(x.X_PN.p, f, t)
    copy(t, 3, dof.U)
    copy(f, 3, dof.U + 3)


cdef inline void add_articulation_rows_to_parent(
    const Articulated[T]* x, const ArticulatedDof[T]* dof, Articulated[T]* parent
) noexcept nogil:
    """Add I_A and Z + I_A bias to the parent's, rotated into P and shifted to its origin; less U U' / D, plus U u."""
    cdef T Z[6]
    cdef int i
    calc_I_A_times(x, x.bias, Z)
    add_force_to_parent(x, Z, parent)
    for i in range(6):
        parent.Z[i] = parent.Z[i] + dof.U[i]*dof.u
    if T is double:  # no other comes here: rows are of doubles
        add_articulation_rows(
            x.X_PN.R, x.X_PN.p, x.A, x.B, x.C, dof.U, dof.D_inverse, parent.A, parent.B, parent.C
        )


cdef inline void add_articulation_to_parent(const Articulated[T]* x, Articulated[T]* parent) noexcept nogil:
    """Add I_A and Z + I_A bias to the parent's, rotated into P and shifted to its origin."""
    cdef T S[6]
    cdef T A[6]
    cdef T B[9]
    cdef T C[6]
    cdef T Z[6]
    # The force last: nothing waits for it.
    get_symmetric(x.C, S)
    rotate_symmetric(x.X_PN.R, S, C)
    rotate_matrix(x.X_PN.R, x.B, B)
    get_symmetric(x.A, S)
    rotate_symmetric(x.X_PN.R, S, A)
    add_shifted_articulation(A, B, C, x.X_PN.p, parent)
    calc_I_A_times(x, x.bias, Z)
    add_force_to_parent(x, Z, parent)


cdef inline void add_rest_of_hinge_to_parent(
    const Articulated[T]* x, const ArticulatedDof[T]* dof, Articulated[T]* parent
) noexcept nogil:
    """Eliminate the dof of a hinge, and add what is left: rows of A and B about z are zero, as is bias about z."""
    cdef T e[6]
    cdef T A[3]
    cdef T B[6]
    cdef T C[6]
    cdef T A_P[6]
    cdef T B_P[9]
    cdef T C_P[6]
    cdef T Z[6]
    cdef T t[6]
    cdef T s
    cdef int i, j
    cdef const T* U = &dof.U[0]
    cdef const T* R = &x.X_PN.R[0]
    cdef const T* y = &x.bias[0]
    for i in range(6):
        e[i] = U[i]*dof.D_inverse
    s = dof.u*dof.D_inverse

    C[0] = x.C[0] - e[3]*U[3]
    C[1] = x.C[1] - e[3]*U[4]
    C[2] = x.C[2] - e[3]*U[5]
    C[3] = x.C[5] - e[4]*U[4]
    C[4] = x.C[6] - e[4]*U[5]
    C[5] = x.C[10] - e[5]*U[5]
    rotate_symmetric(R, C, C_P)

    for i in range(2):
        for j in range(3):
            B[3*i + j] = x.B[4*i + j] - e[i]*U[3 + j]
    for i in range(2):
        for j in range(3):
            t[3*i + j] = B[3*i]*R[3*j] + B[3*i + 1]*R[3*j + 1] + B[3*i + 2]*R[3*j + 2]
    for i in range(3):
        for j in range(3):
            B_P[3*i + j] = R[3*i]*t[j] + R[3*i + 1]*t[3 + j]

    A[0] = x.A[0] - e[0]*U[0]
    A[1] = x.A[1] - e[0]*U[1]
    A[2] = x.A[5] - e[1]*U[1]
    for i in range(3):
        t[2*i] = R[3*i]*A[0] + R[3*i + 1]*A[1]
        t[2*i + 1] = R[3*i]*A[1] + R[3*i + 1]*A[2]
    A_P[0] = t[0]*R[0] + t[1]*R[1]
    A_P[1] = t[0]*R[3] + t[1]*R[4]
    A_P[2] = t[0]*R[6] + t[1]*R[7]
    A_P[3] = t[2]*R[3] + t[3]*R[4]
    A_P[4] = t[2]*R[6] + t[3]*R[7]
    A_P[5] = t[4]*R[6] + t[5]*R[7]
    add_shifted_articulation(A_P, B_P, C_P, x.X_PN.p, parent)

    # Z + I_A bias + U u / D
    Z[0] = x.Z[0] + A[0]*y[0] + A[1]*y[1] + B[0]*y[3] + B[1]*y[4] + B[2]*y[5] + U[0]*s
    Z[1] = x.Z[1] + A[1]*y[0] + A[2]*y[1] + B[3]*y[3] + B[4]*y[4] + B[5]*y[5] + U[1]*s
    Z[2] = x.Z[2] + U[2]*s
    Z[3] = x.Z[3] + B[0]*y[0] + B[3]*y[1] + C[0]*y[3] + C[1]*y[4] + C[2]*y[5] + U[3]*s
    Z[4] = x.Z[4] + B[1]*y[0] + B[4]*y[1] + C[1]*y[3] + C[3]*y[4] + C[4]*y[5] + U[4]*s
    Z[5] = x.Z[5] + B[2]*y[0] + B[5]*y[1] + C[2]*y[3] + C[4]*y[4] + C[5]*y[5] + U[5]*s
    add_force_to_parent(x, Z, parent)


cdef inline void add_force_to_parent(const Articulated[T]* x, const T* Z, Articulated[T]* parent) noexcept nogil:
    cdef T t[3]
    cdef T f[3]
    cdef T p[3]
    copy(x.X_PN.p, 3, p)
    rotate(x.X_PN.R, Z, t)
    rotate(x.X_PN.R, Z + 3, f)
    parent.Z[0] = parent.Z[0] + t[0] + p[1]*f[2] - p[2]*f[1]
    parent.Z[1] = parent.Z[1] + t[1] + p[2]*f[0] - p[0]*f[2]
    parent.Z[2] = parent.Z[2] + t[2] + p[0]*f[1] - p[1]*f[0]
    parent.Z[3] = parent.Z[3] + f[0]
    parent.Z[4] = parent.Z[4] + f[1]
    parent.Z[5] = parent.Z[5] + f[2]


cdef inline void calc_I_A_times(const Articulated[T]* x, const T* y, T* Z) noexcept nogil:
    """Z = x.Z + I_A y."""
    cdef const T* A = &x.A[0]
    cdef const T* B = &x.B[0]
    cdef const T* C = &x.C[0]
    Z[0] = x.Z[0] + A[0]*y[0] + A[1]*y[1] + A[2]*y[2] + B[0]*y[3] + B[1]*y[4] + B[2]*y[5]
    Z[1] = x.Z[1] + A[1]*y[0] + A[5]*y[1] + A[6]*y[2] + B[4]*y[3] + B[5]*y[4] + B[6]*y[5]
    Z[2] = x.Z[2] + A[2]*y[0] + A[6]*y[1] + A[10]*y[2] + B[8]*y[3] + B[9]*y[4] + B[10]*y[5]
    Z[3] = x.Z[3] + B[0]*y[0] + B[4]*y[1] + B[8]*y[2] + C[0]*y[3] + C[1]*y[4] + C[2]*y[5]
    Z[4] = x.Z[4] + B[1]*y[0] + B[5]*y[1] + B[9]*y[2] + C[1]*y[3] + C[5]*y[4] + C[6]*y[5]
    Z[5] = x.Z[5] + B[2]*y[0] + B[6]*y[1] + B[10]*y[2] + C[2]*y[3] + C[6]*y[4] + C[10]*y[5]


cdef inline void rotate_matrix(const T* R, const T* S, T* y) noexcept nogil:
    """y = R S R', with S in rows of four."""
    cdef T t[9]
    cdef int i, j
    for i in range(3):
        for j in range(3):
            t[3*i + j] = R[3*i]*S[j] + R[3*i + 1]*S[4 + j] + R[3*i + 2]*S[8 + j]
    for i in range(3):
        for j in range(3):
            y[3*i + j] = t[3*i]*R[3*j] + t[3*i + 1]*R[3*j + 1] + t[3*i + 2]*R[3*j + 2]


cdef inline void add_shifted_articulation(
    # In:
    const T* A,                    # (6,)  [kg m^2]
    const T* B,                    # (9,)  [kg m]
    const T* C,                    # (6,)  [kg]
    const T* p_PN,                 # (3,)  [m]
    # Out:
    Articulated[T]* parent,
) noexcept nogil:
    """B_P += B + [p]x C, A_P += A - B [p]x + [p]x (B + [p]x C)', C_P += C."""
    cdef T Bp[9]
    cdef T C_full[9]
    cdef T p[3]
    cdef int i, j
    copy(p_PN, 3, p)
    C_full[0] = C[0]
    C_full[1] = C[1]
    C_full[2] = C[2]
    C_full[3] = C[1]
    C_full[4] = C[3]
    C_full[5] = C[4]
    C_full[6] = C[2]
    C_full[7] = C[4]
    C_full[8] = C[5]
    for j in range(3):
        Bp[j] = B[j] + p[1]*C_full[6 + j] - p[2]*C_full[3 + j]
        Bp[3 + j] = B[3 + j] + p[2]*C_full[j] - p[0]*C_full[6 + j]
        Bp[6 + j] = B[6 + j] + p[0]*C_full[3 + j] - p[1]*C_full[j]
    # (B [p]x)[i, :] = B[i, :] × p and ([p]x B')[:, j] = p × B[j, :], upper triangle
    parent.A[0] = parent.A[0] + A[0] - (B[1]*p[2] - B[2]*p[1]) + (p[1]*Bp[2] - p[2]*Bp[1])
    parent.A[1] = parent.A[1] + A[1] - (B[2]*p[0] - B[0]*p[2]) + (p[1]*Bp[5] - p[2]*Bp[4])
    parent.A[2] = parent.A[2] + A[2] - (B[0]*p[1] - B[1]*p[0]) + (p[1]*Bp[8] - p[2]*Bp[7])
    parent.A[5] = parent.A[5] + A[3] - (B[5]*p[0] - B[3]*p[2]) + (p[2]*Bp[3] - p[0]*Bp[5])
    parent.A[6] = parent.A[6] + A[4] - (B[3]*p[1] - B[4]*p[0]) + (p[2]*Bp[6] - p[0]*Bp[8])
    parent.A[10] = parent.A[10] + A[5] - (B[6]*p[1] - B[7]*p[0]) + (p[0]*Bp[7] - p[1]*Bp[6])
    for i in range(3):
        for j in range(3):
            parent.B[4*i + j] = parent.B[4*i + j] + Bp[3*i + j]
    parent.C[0] = parent.C[0] + C[0]
    parent.C[1] = parent.C[1] + C[1]
    parent.C[2] = parent.C[2] + C[2]
    parent.C[5] = parent.C[5] + C[3]
    parent.C[6] = parent.C[6] + C[4]
    parent.C[10] = parent.C[10] + C[5]


cdef inline void carry_acceleration(const Articulated[T]* parent, Articulated[T]* x) noexcept nogil:
    """acc = [R' alpha_P; R' (a_P + alpha_P × p)] + bias."""
    cdef T alpha_P[3]
    cdef T a_P[3]
    cdef int i
    copy(parent.acc, 3, alpha_P)
    copy(parent.acc + 3, 3, a_P)
    add_cross(alpha_P, x.X_PN.p, a_P)
    rotate_inverse(x.X_PN.R, alpha_P, x.acc)
    rotate_inverse(x.X_PN.R, a_P, x.acc + 3)
    for i in range(6):
        x.acc[i] = x.acc[i] + x.bias[i]
