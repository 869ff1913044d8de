"""Forward dynamics: articulated bodies in node frames, O(n), straight from q, v, tau to vdot."""

from mbt._core.node_joints cimport (
    add_dof_acceleration, add_joint_angular_velocity, add_velocity_bias, calc_articulated_dof, calc_X_PN, set_size,
)
from mbt._core.model cimport Joint, Model
from mbt._core.records cimport Articulated, ArticulatedDof, Mobod
from mbt._core.scalars cimport T
from mbt._core.spatial cimport (
    add_cross, copy, cross, dot6, rotate, rotate_inverse, rotate_symmetric, set_zero, symmetric_multiply,
)


cdef inline void calc_forward_dynamics(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const T* reflected_inertia,    # (nv,)
    const T* gravity,              # (3,)    [m/s^2] in World
    # In:
    const T* q,                    # (nq,)
    const T* v,                    # (nv,)
    const T* tau,                  # (nv,)   [N m or N]
    # Work:
    Articulated[T]* work,          # (num_mobods,)
    T* H_N,                        # (nv, 6)
    # Out:
    ArticulatedDof[T]* dofs,       # (nv,)   pivots D: zero where no mass resists a dof
    T* vdot,                       # (nv,)
) noexcept nogil:
    """vdot = M^-1 (tau + tau_g - C v)."""
    cdef int i, k
    cdef const Joint* joint
    cdef Articulated[T]* x

    set_zero(work[0].w, 3)
    set_zero(work[0].acc, 6)
    for i in range(3):
        work[0].acc[3 + i] = -gravity[i]

    # Base to tip: velocities, and what they do to acceleration and force.
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        calc_X_PN(joint, model.constants + 16*joint.node, &mobods[i].X_PF, q, &work[i].X_PN, H_N)
        calc_velocity_and_bias(joint, model.constants + 16*joint.node, q, v, H_N, &work[joint.parent], &work[i])
        start_articulation(&mobods[i], &work[i])

    # Tip to base: take out one dof after the other, hand the rest to the parent.
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        x = &work[i]
        set_size(joint, x)
        for k in range(joint.v + joint.nv - 1, joint.v - 1, -1):
            calc_articulated_dof(joint, k, H_N, x, tau[k], reflected_inertia[k], &dofs[k])
            if joint.parent != 0 or k > joint.v:
                eliminate_dof(&dofs[k], x)
        if joint.parent != 0:
            add_articulation_to_parent(x, &work[joint.parent])

    # Base to tip: accelerations.
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        x = &work[i]
        carry_acceleration(&work[joint.parent], x)
        for k in range(joint.v, joint.v + joint.nv):
            vdot[k] = (dofs[k].u - dot6(dofs[k].U, x.acc))*dofs[k].D_inverse
            add_dof_acceleration(joint, k, H_N, vdot[k], x.acc)


cdef inline void calc_velocity_and_bias(
    # Topology:
    const Joint* joint,
    # Parameters:
    const double* c,         # (16,)
    # In:
    const T* q,              # (nq,)
    const T* v,              # (nv,)
    const T* H_N,            # (nv, 6)
    const Articulated[T]* parent,
    # Out:
    Articulated[T]* x,
) noexcept nogil:
    """w, and the acceleration of N when vdot and the acceleration of P are zero."""
    cdef T wp[3]
    cdef T wwp[3]
    rotate_inverse(x.X_PN.R, parent.w, x.w)
    cross(parent.w, x.X_PN.p, wp)
    cross(parent.w, wp, wwp)
    set_zero(x.bias, 3)
    rotate_inverse(x.X_PN.R, wwp, x.bias + 3)
    add_velocity_bias(joint, c, H_N, q, v, x.w, x.bias, x.bias + 3)
    add_joint_angular_velocity(joint, H_N, v, x.w)


cdef inline void start_articulation(const Mobod[T]* mobod, Articulated[T]* x) noexcept nogil:
    """I_A = [I, [h]x; -[h]x, m], Z = [w × (I w); w × (w × h)]."""
    cdef T y[3]
    cdef const T* h = &mobod.h[0]
    copy(mobod.inertia, 6, x.A)
    x.B[0] = <T>0.0
    x.B[1] = -h[2]
    x.B[2] = h[1]
    x.B[3] = h[2]
    x.B[4] = <T>0.0
    x.B[5] = -h[0]
    x.B[6] = -h[1]
    x.B[7] = h[0]
    x.B[8] = <T>0.0
    x.C[0] = mobod.mass
    x.C[1] = <T>0.0
    x.C[2] = <T>0.0
    x.C[3] = mobod.mass
    x.C[4] = <T>0.0
    x.C[5] = mobod.mass
    symmetric_multiply(mobod.inertia, x.w, y)
    cross(x.w, y, x.Z)
    cross(x.w, h, y)
    cross(x.w, y, x.Z + 3)


cdef inline void eliminate_dof(const ArticulatedDof[T]* dof, Articulated[T]* x) noexcept nogil:
    """I_A -= U U' / D, Z += U u / D."""
    cdef T e[6]
    cdef T s
    cdef int i, j
    cdef const T* U = &dof.U[0]
    s = dof.u*dof.D_inverse
    for i in range(6):
        e[i] = U[i]*dof.D_inverse
        x.Z[i] = x.Z[i] + U[i]*s
    x.A[0] = x.A[0] - e[0]*U[0]
    x.A[1] = x.A[1] - e[0]*U[1]
    x.A[2] = x.A[2] - e[0]*U[2]
    x.A[3] = x.A[3] - e[1]*U[1]
    x.A[4] = x.A[4] - e[1]*U[2]
    x.A[5] = x.A[5] - e[2]*U[2]
    for i in range(3):
        for j in range(3):
            x.B[3*i + j] = x.B[3*i + j] - e[i]*U[3 + j]
    x.C[0] = x.C[0] - e[3]*U[3]
    x.C[1] = x.C[1] - e[3]*U[4]
    x.C[2] = x.C[2] - e[3]*U[5]
    x.C[3] = x.C[3] - e[4]*U[4]
    x.C[4] = x.C[4] - e[4]*U[5]
    x.C[5] = x.C[5] - e[5]*U[5]


cdef inline void add_articulation_to_parent(const Articulated[T]* x, Articulated[T]* parent) noexcept nogil:
    """Add I_A and Z + I_A bias to the parent's, rotated into P and shifted to its origin."""
    cdef T Z[6]
    cdef T t[3]
    cdef T f[3]
    cdef T A[6]
    cdef T B[9]
    cdef T C[6]
    cdef const T* p = &x.X_PN.p[0]

    # Z + I_A bias
    calc_I_A_times(x, x.bias, Z)
    rotate(x.X_PN.R, Z, t)
    rotate(x.X_PN.R, Z + 3, f)
    parent.Z[0] = parent.Z[0] + t[0] + p[1]*f[2] - p[2]*f[1]
    parent.Z[1] = parent.Z[1] + t[1] + p[2]*f[0] - p[0]*f[2]
    parent.Z[2] = parent.Z[2] + t[2] + p[0]*f[1] - p[1]*f[0]
    parent.Z[3] = parent.Z[3] + f[0]
    parent.Z[4] = parent.Z[4] + f[1]
    parent.Z[5] = parent.Z[5] + f[2]

    rotate_symmetric(x.X_PN.R, x.A, A)
    rotate_matrix(x.X_PN.R, x.B, B)
    rotate_symmetric(x.X_PN.R, x.C, C)
    add_shifted_articulation(A, B, C, p, parent)


cdef inline void calc_I_A_times(const Articulated[T]* x, const T* y, T* Z) noexcept nogil:
    """Z = x.Z + I_A y."""
    cdef const T* A = &x.A[0]
    cdef const T* B = &x.B[0]
    cdef const T* C = &x.C[0]
    Z[0] = x.Z[0] + A[0]*y[0] + A[1]*y[1] + A[2]*y[2] + B[0]*y[3] + B[1]*y[4] + B[2]*y[5]
    Z[1] = x.Z[1] + A[1]*y[0] + A[3]*y[1] + A[4]*y[2] + B[3]*y[3] + B[4]*y[4] + B[5]*y[5]
    Z[2] = x.Z[2] + A[2]*y[0] + A[4]*y[1] + A[5]*y[2] + B[6]*y[3] + B[7]*y[4] + B[8]*y[5]
    Z[3] = x.Z[3] + B[0]*y[0] + B[3]*y[1] + B[6]*y[2] + C[0]*y[3] + C[1]*y[4] + C[2]*y[5]
    Z[4] = x.Z[4] + B[1]*y[0] + B[4]*y[1] + B[7]*y[2] + C[1]*y[3] + C[3]*y[4] + C[4]*y[5]
    Z[5] = x.Z[5] + B[2]*y[0] + B[5]*y[1] + B[8]*y[2] + C[2]*y[3] + C[4]*y[4] + C[5]*y[5]


cdef inline void rotate_matrix(const T* R, const T* S, T* y) noexcept nogil:
    """y = R S R'."""
    cdef T t[9]
    cdef int i, j
    for i in range(3):
        for j in range(3):
            t[3*i + j] = R[3*i]*S[j] + R[3*i + 1]*S[3 + j] + R[3*i + 2]*S[6 + j]
    for i in range(3):
        for j in range(3):
            y[3*i + j] = t[3*i]*R[3*j] + t[3*i + 1]*R[3*j + 1] + t[3*i + 2]*R[3*j + 2]


cdef inline void add_shifted_articulation(
    const T* A, const T* B, const T* C, const T* p, Articulated[T]* parent
) noexcept nogil:
    """B_P += B + [p]x C, A_P += A - B [p]x + [p]x (B + [p]x C)', C_P += C."""
    cdef T Bp[9]
    cdef T C_full[9]
    cdef int i, j
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
    parent.A[3] = parent.A[3] + A[3] - (B[5]*p[0] - B[3]*p[2]) + (p[2]*Bp[3] - p[0]*Bp[5])
    parent.A[4] = parent.A[4] + A[4] - (B[3]*p[1] - B[4]*p[0]) + (p[2]*Bp[6] - p[0]*Bp[8])
    parent.A[5] = parent.A[5] + A[5] - (B[6]*p[1] - B[7]*p[0]) + (p[0]*Bp[7] - p[1]*Bp[6])
    for i in range(9):
        parent.B[i] = parent.B[i] + Bp[i]
    for i in range(6):
        parent.C[i] = parent.C[i] + C[i]


cdef inline void carry_acceleration(const Articulated[T]* parent, Articulated[T]* x) noexcept nogil:
    """acc = [R' alpha_P; R' (a_P + alpha_P × p)] + bias."""
    cdef T a_P[3]
    cdef int i
    for i in range(3):
        a_P[i] = parent.acc[3 + i]
    add_cross(parent.acc, x.X_PN.p, a_P)
    rotate_inverse(x.X_PN.R, parent.acc, x.acc)
    rotate_inverse(x.X_PN.R, a_P, x.acc + 3)
    for i in range(6):
        x.acc[i] = x.acc[i] + x.bias[i]
