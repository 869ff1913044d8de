"""Articulated bodies in mobod frames: what the two forms of forward dynamics have in common.

R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, section 7.2.
In NumPy: tests/support/textbook.py, forward_dynamics.
"""

from mbt._core.algebra.records cimport Articulated, ArticulatedDof, Mobod
from mbt._core.algebra.spatial cimport (
    add_cross, copy, cross, dot6, rotate, rotate_inverse, set_zero, symmetric_multiply,
)
from mbt._core.joints.mobod_joints cimport (
    add_dof_acceleration, add_joint_angular_velocity, add_velocity_bias, calc_articulated_dof, calc_X_PN, set_size,
    widen_size,
)
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.scalars cimport T, set_articulation_rows, sincos_of_angles


cdef inline void calc_motions_and_articulations(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const T* gravity,              # (3,)             [m/s^2]  in World
    # In:
    const T* q,                    # (nq,)            [rad, m]
    const T* v,                    # (nv,)            [rad/s, m/s]
    # Work:
    T* sin_q,                      # (angle_stride,)  [1]
    T* cos_q,                      # (angle_stride,)  [1]
    # Out:
    Articulated[T]* work,          # (num_mobods,)    poses, velocities, biases; inertias of single mobods
    T* H_N,                        # (nv, 6)          [1, m]
) noexcept nogil:
    """The way from base to tip: velocities, and what they do to acceleration and force."""
    cdef int i
    cdef const MobodJoint* joint
    set_zero(work[0].w, 3)
    set_zero(work[0].acc, 6)
    for i in range(3):
        work[0].acc[3 + i] = -gravity[i]

    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)

    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        calc_X_PN(
            joint, model.constants[joint.node], &mobods[i].X_PF, q, sin_q, cos_q, &work[i].X_PN, H_N
        )
        calc_velocity_and_bias(joint, model.constants[joint.node], q, v, H_N, &work[joint.parent], &work[i])
        start_articulation(&mobods[i], &work[i])


cdef inline void calc_velocity_and_bias(
    # Topology:
    const MobodJoint* joint,
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


cdef inline void eliminate_further_dofs(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const T* reflected_inertia,    # (nv,)    [kg m^2, kg]
    const int* locked,             # (nv,)    1 where a dof cannot move; NULL where all can
    # In:
    const T* H_N,                  # (nv, 6)  [1, m]
    const T* tau,                  # (nv,)    [N m, N]
    # Out:
    Articulated[T]* x,
    ArticulatedDof[T]* dofs,       # (nv,)
) noexcept nogil:
    """Take the dofs of a joint out, one after the other, but for the first: of that U, D and u are left."""
    cdef int k
    set_size(joint, x)
    for k in range(joint.v_start + joint.nv - 1, joint.v_start, -1):
        calc_articulated_dof(joint, k, H_N, x, tau[k], reflected_inertia[k], &dofs[k])
        lock_dof(locked, k, &dofs[k])
        widen_size(joint, &dofs[k], x)
        eliminate_dof(&dofs[k], x)
    k = joint.v_start
    calc_articulated_dof(joint, k, H_N, x, tau[k], reflected_inertia[k], &dofs[k])
    lock_dof(locked, k, &dofs[k])


cdef inline void lock_dof(const int* locked, int k, ArticulatedDof[T]* dof) noexcept nogil:
    """A locked dof resists without end: 1 / D is zero."""
    if locked != NULL and locked[k]:
        dof.D_inverse = <T>0.0


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


cdef inline void add_further_accelerations(
    # Topology:
    const MobodJoint* joint,
    # In:
    const T* H_N,                     # (nv, 6)  [1, m]
    const ArticulatedDof[T]* dofs,    # (nv,)
    # Out:
    Articulated[T]* x,                # its acceleration, which has that of the first dof
    T* vdot,                          # (nv,)    [rad/s^2, m/s^2]
) noexcept nogil:
    """vdot of the dofs of a joint behind the first, each with those before it."""
    cdef int k
    for k in range(joint.v_start + 1, joint.v_start + joint.nv):
        vdot[k] = (dofs[k].u - dot6(dofs[k].U, x.acc))*dofs[k].D_inverse
        add_dof_acceleration(joint, k, H_N, vdot[k], x.acc)
