"""Forward dynamics: articulated bodies in mobod frames, O(n), straight from q, v, tau to vdot.

Each dof is taken out where it is. This form has the fewest operations: for scalars of which each operation counts.

R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, table 7.1.
In NumPy: tests/support/textbook.py, forward_dynamics.
"""

from mbt._core.algebra.records cimport Articulated, ArticulatedDof, Mobod
from mbt._core.algebra.spatial cimport copy, dot6, rotate_symmetric
from mbt._core.joints.mobod_joints cimport add_dof_acceleration, leaves_nothing_about_axis
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.passes.articulated_bodies cimport (
    add_force_to_parent, add_further_accelerations, calc_I_A_times, calc_motions_and_articulations, carry_acceleration,
    eliminate_dof, eliminate_further_dofs, get_symmetric,
)
from mbt._core.scalars cimport T


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
    cdef int i
    cdef const MobodJoint* joint
    cdef Articulated[T]* x
    calc_motions_and_articulations(model, mobods, gravity, q, v, sin_q, cos_q, work, H_N)

    # Tip to base: take out one dof after the other, hand the rest to the parent.
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        x = &work[i]
        eliminate_further_dofs(joint, reflected_inertia, locked, H_N, tau, x, dofs)
        if joint.parent == 0:
            continue
        if leaves_nothing_about_axis(joint, locked):
            add_rest_of_hinge_to_parent(x, &dofs[joint.v_start], &work[joint.parent])
        else:
            eliminate_dof(&dofs[joint.v_start], x)
            add_articulation_to_parent(x, &work[joint.parent])

    calc_accelerations(model, H_N, dofs, work, vdot)


cdef inline void calc_accelerations(
    const Model* model, const T* H_N, const ArticulatedDof[T]* dofs, Articulated[T]* work, T* vdot
) noexcept nogil:
    """Base to tip."""
    cdef int i, k
    cdef const MobodJoint* joint
    cdef Articulated[T]* x
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        x = &work[i]
        k = joint.v_start
        carry_acceleration(&work[joint.parent], x)
        vdot[k] = (dofs[k].u - dot6(dofs[k].U, x.acc))*dofs[k].D_inverse
        add_dof_acceleration(joint, k, H_N, vdot[k], x.acc)
        add_further_accelerations(joint, H_N, dofs, x, vdot)


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
