"""The mobilizers, and the only place that knows one type from another.

First what a type is: pose X_FM, motion axes H_FM with their rates, and the map between v and qdot. Then how the
hot kernels treat it, in node frames (records.hpp). A new type needs a number in `MobilizerType`, its case in the
functions of the first half (`calc_X_FM` to `calc_v`), and one Python file.

`c` are the constants of the mobilizer, (16,). H has one row per dof: [angular; linear], velocity of M in F, in F.
"""

from mbt._core.model cimport Joint
from mbt._core.records cimport Articulated, ArticulatedDof, Pose
from mbt._core.scalars cimport T, sincos_
from mbt._core.spatial cimport (
    add_cross, copy, cross, dot6, multiply_rotations, rotate, rotate_inverse, set_zero, symmetric_multiply, transpose3,
)


cpdef enum MobilizerType:
    WELD = 0
    REVOLUTE = 1
    PRISMATIC = 2
    QUATERNION_FLOATING = 3


# What a type is ------------------------------------------------------------------------------------------------

cdef inline int num_positions_of(int type) noexcept nogil:
    return 0 if type == WELD else 7 if type == QUATERNION_FLOATING else 1


cdef inline int num_velocities_of(int type) noexcept nogil:
    return 0 if type == WELD else 6 if type == QUATERNION_FLOATING else 1


cdef inline void calc_X_FM(int type, const double* c, const T* q, T* R, T* p) noexcept nogil:
    cdef int i, j
    cdef T s, cos_q, versine
    if type == REVOLUTE:
        # R = cos 1 + sin [axis]x + (1 - cos) axis axis'
        sincos_(q[0], &s, &cos_q)
        versine = <T>1.0 - cos_q
        for i in range(3):
            for j in range(3):
                R[3*i + j] = versine*(c[i]*c[j])
            R[4*i] = R[4*i] + cos_q
        R[1] = R[1] - s*c[2]
        R[2] = R[2] + s*c[1]
        R[3] = R[3] + s*c[2]
        R[5] = R[5] - s*c[0]
        R[6] = R[6] - s*c[1]
        R[7] = R[7] + s*c[0]
        set_zero(p, 3)
    elif type == PRISMATIC:
        set_identity(R)
        for i in range(3):
            p[i] = q[0]*c[i]
    elif type == QUATERNION_FLOATING:
        quaternion_to_rotation(q, R)
        copy(q + 4, 3, p)
    else:
        for i in range(3):
            for j in range(3):
                R[3*i + j] = <T>c[4*i + j]
            p[i] = <T>c[4*i + 3]


cdef inline void calc_H_FM(int type, const double* c, const T* q, T* H) noexcept nogil:
    cdef int i
    if type == REVOLUTE or type == PRISMATIC:
        set_zero(H, 6)
        for i in range(3):
            H[(0 if type == REVOLUTE else 3) + i] = <T>c[i]
    elif type == QUATERNION_FLOATING:
        set_zero(H, 36)
        for i in range(6):
            H[7*i] = <T>1.0


cdef inline int has_constant_H_FM(int type) noexcept nogil:
    """1 if H_FM does not depend on q, so that its rate is zero."""
    return 1


cdef inline void calc_Hdot_FM(int type, const double* c, const T* q, const T* v, T* Hdot) noexcept nogil:
    set_zero(Hdot, 6*num_velocities_of(type))


cdef inline void calc_qdot(int type, const double* c, const T* q, const T* v, T* qdot) noexcept nogil:
    """qdot = N(q) v."""
    if type == QUATERNION_FLOATING:
        # qdot = (0, w_FM_F) q / 2
        qdot[0] = (q[1]*v[0] + q[2]*v[1] + q[3]*v[2])*(-0.5)
        qdot[1] = (q[0]*v[0] + q[3]*v[1] - q[2]*v[2])*0.5
        qdot[2] = (q[0]*v[1] + q[1]*v[2] - q[3]*v[0])*0.5
        qdot[3] = (q[0]*v[2] + q[2]*v[0] - q[1]*v[1])*0.5
        copy(v + 3, 3, qdot + 4)
    else:
        copy(v, num_velocities_of(type), qdot)


cdef inline void calc_v(int type, const double* c, const T* q, const T* qdot, T* v) noexcept nogil:
    """v = N+(q) qdot, exact for every qdot = N(q) v."""
    cdef T s
    if type == QUATERNION_FLOATING:
        # w_FM_F = 2 qdot q* / |q|^2, which leaves out the part of qdot along q
        s = <T>2.0 / (q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
        v[0] = (q[0]*qdot[1] - q[1]*qdot[0] + q[2]*qdot[3] - q[3]*qdot[2])*s
        v[1] = (q[0]*qdot[2] - q[2]*qdot[0] + q[3]*qdot[1] - q[1]*qdot[3])*s
        v[2] = (q[0]*qdot[3] - q[3]*qdot[0] + q[1]*qdot[2] - q[2]*qdot[1])*s
        copy(qdot + 4, 3, v + 3)
    else:
        copy(qdot, num_velocities_of(type), v)


cdef inline int has_singular_positions(int type) noexcept nogil:
    return 1 if type == QUATERNION_FLOATING else 0


cdef inline int position_is_singular(int type, const double* q) noexcept nogil:
    """1 where X_FM(q) is undefined, or out of the range of doubles. NaN is not singular: it propagates."""
    cdef double norm_squared
    if type == QUATERNION_FLOATING:
        norm_squared = q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3]
        return 1 if norm_squared < 1e-280 or norm_squared > 1e280 else 0
    return 0


cdef inline void set_identity(T* R) noexcept nogil:
    set_zero(R, 9)
    R[0] = <T>1.0
    R[4] = <T>1.0
    R[8] = <T>1.0


cdef inline void quaternion_to_rotation(const T* q, T* R) noexcept nogil:
    """R of q / |q|, q = [w x y z]."""
    cdef T s = <T>2.0 / (q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
    cdef T x = q[1]*s
    cdef T y = q[2]*s
    cdef T z = q[3]*s
    R[0] = <T>1.0 - (y*q[2] + z*q[3])
    R[1] = x*q[2] - z*q[0]
    R[2] = x*q[3] + y*q[0]
    R[3] = x*q[2] + z*q[0]
    R[4] = <T>1.0 - (x*q[1] + z*q[3])
    R[5] = y*q[3] - x*q[0]
    R[6] = x*q[3] - y*q[0]
    R[7] = y*q[3] + x*q[0]
    R[8] = <T>1.0 - (x*q[1] + y*q[2])


# Across the mobilizer, from its inboard to its outboard frame --------------------------------------------------
# When the mobilizer is reversed, F is the outboard frame: X_MF = X_FM^-1, and V_MF follows.

cdef inline void calc_across_pose(
    int type, int reversed, const double* c, const T* q, T* R, T* p
) noexcept nogil:
    cdef T R_FM[9]
    cdef T p_FM[3]
    cdef int i
    if not reversed:
        calc_X_FM(type, c, q, R, p)
    else:
        calc_X_FM(type, c, q, R_FM, p_FM)
        transpose3(R_FM, R)
        rotate(R, p_FM, p)
        for i in range(3):
            p[i] = -p[i]


cdef inline void calc_across_H(int type, int reversed, const double* c, const T* q, T* H) noexcept nogil:
    cdef T H_FM[36]
    cdef T R_FM[9]
    cdef T p_FM[3]
    cdef T y[3]
    cdef int i, k
    if not reversed:
        calc_H_FM(type, c, q, H)
    else:
        # w_MF_M = -R' w, v_MFo_M = R' (w × p - v)
        calc_X_FM(type, c, q, R_FM, p_FM)
        calc_H_FM(type, c, q, H_FM)
        for k in range(num_velocities_of(type)):
            cross(H_FM + 6*k, p_FM, y)
            for i in range(3):
                y[i] = y[i] - H_FM[6*k + 3 + i]
            rotate_inverse(R_FM, H_FM + 6*k, H + 6*k)
            rotate_inverse(R_FM, y, H + 6*k + 3)
            for i in range(3):
                H[6*k + i] = -H[6*k + i]


cdef inline void calc_across_Hdot(
    int type, int reversed, const double* c, const T* q, const T* v, T* Hdot
) noexcept nogil:
    cdef T H_FM[36]
    cdef T Hdot_FM[36]
    cdef T R_FM[9]
    cdef T p_FM[3]
    cdef T V[6]
    cdef T e[3]
    cdef T y[3]
    cdef T ydot[3]
    cdef int i, k
    if not reversed:
        calc_Hdot_FM(type, c, q, v, Hdot)
    else:
        calc_X_FM(type, c, q, R_FM, p_FM)
        calc_H_FM(type, c, q, H_FM)
        calc_Hdot_FM(type, c, q, v, Hdot_FM)
        set_zero(V, 6)
        for k in range(num_velocities_of(type)):
            for i in range(6):
                V[i] = V[i] + H_FM[6*k + i]*v[k]
        for k in range(num_velocities_of(type)):
            # d/dt (-R' e) = R' (w × e - edot)
            cross(V, H_FM + 6*k, e)
            for i in range(3):
                e[i] = e[i] - Hdot_FM[6*k + i]
            rotate_inverse(R_FM, e, Hdot + 6*k)
            # d/dt (R' y) = R' (ydot - w × y), y = e × p - u, ydot = edot × p + e × pdot - udot
            cross(H_FM + 6*k, p_FM, y)
            cross(Hdot_FM + 6*k, p_FM, ydot)
            add_cross(H_FM + 6*k, V + 3, ydot)
            for i in range(3):
                y[i] = y[i] - H_FM[6*k + 3 + i]
                ydot[i] = ydot[i] - Hdot_FM[6*k + 3 + i]
            add_cross(y, V, ydot)
            rotate_inverse(R_FM, ydot, Hdot + 6*k + 3)


cdef inline void set_effective_constants(int type, int reversed, const double* declared, double* c) noexcept nogil:
    """Constants as kernels use them: a reversed mobilizer of one dof is a forward one with the opposite axis."""
    cdef int i, j
    for i in range(16):
        c[i] = declared[i]
    if reversed and (type == REVOLUTE or type == PRISMATIC):
        for i in range(3):
            c[i] = -declared[i]
    elif reversed and type == WELD:
        for i in range(3):
            for j in range(3):
                c[4*i + j] = declared[4*j + i]
            c[4*i + 3] = -(declared[i]*declared[3] + declared[4 + i]*declared[7] + declared[8 + i]*declared[11])


cdef inline int needs_reversal(int type, int reversed) noexcept nogil:
    """1 if the effective constants do not already express the reversal."""
    return 1 if reversed and type != WELD and type != REVOLUTE and type != PRISMATIC else 0


# How the hot kernels treat it ----------------------------------------------------------------------------------
# One dof about or along the z axis of F and N has straight code. Any other mobilizer works through H_N, its motion
# axes in N about No, one row per dof.

cdef enum:
    GENERAL = 0
    REVOLUTE_Z = 1
    PRISMATIC_Z = 2


cdef inline int kind_of(int type) noexcept nogil:
    return REVOLUTE_Z if type == REVOLUTE else PRISMATIC_Z if type == PRISMATIC else GENERAL


cdef inline void calc_X_PN(
    # Topology:
    const Joint* joint,
    # Parameters:
    const double* c,       # (16,)
    const Pose[T]* X_PF,
    # In:
    const T* q,            # (nq,) of the tree
    # Out:
    Pose[T]* X_PN,
    T* H_N,                # (nv, 6) of the tree; rows of this joint, only where it is general
) noexcept nogil:
    cdef T s, cos_q
    cdef T R_FM[9]
    cdef T p_FM[3]
    cdef T H[36]
    cdef int i, k
    if joint.kind == REVOLUTE_Z:
        sincos_(q[joint.q], &s, &cos_q)
        for i in range(3):
            X_PN.R[3*i] = cos_q*X_PF.R[3*i] + s*X_PF.R[3*i + 1]
            X_PN.R[3*i + 1] = cos_q*X_PF.R[3*i + 1] - s*X_PF.R[3*i]
            X_PN.R[3*i + 2] = X_PF.R[3*i + 2]
            X_PN.p[i] = X_PF.p[i]
    elif joint.kind == PRISMATIC_Z:
        for i in range(9):
            X_PN.R[i] = X_PF.R[i]
        for i in range(3):
            X_PN.p[i] = X_PF.p[i] + X_PF.R[3*i + 2]*q[joint.q]
    else:
        calc_across_pose(joint.type, joint.reversed, c, q + joint.q, R_FM, p_FM)
        multiply_rotations(X_PF.R, R_FM, X_PN.R)
        rotate(X_PF.R, p_FM, X_PN.p)
        for i in range(3):
            X_PN.p[i] = X_PN.p[i] + X_PF.p[i]
        calc_across_H(joint.type, joint.reversed, c, q + joint.q, H)
        for k in range(joint.nv):
            rotate_inverse(R_FM, H + 6*k, H_N + 6*(joint.v + k))
            rotate_inverse(R_FM, H + 6*k + 3, H_N + 6*(joint.v + k) + 3)


cdef inline void calc_general_bias(
    const Joint* joint, const double* c, const T* q, const T* v, T* bias_N
) noexcept nogil:
    """bias_N = Hdot_N v, in N about No, of a general mobilizer."""
    cdef T R_FM[9]
    cdef T p_FM[3]
    cdef T Hdot[36]
    cdef T A[6]
    cdef int i, k
    if has_constant_H_FM(joint.type) and not joint.reversed:
        set_zero(bias_N, 6)
    else:
        calc_across_pose(joint.type, joint.reversed, c, q + joint.q, R_FM, p_FM)
        calc_across_Hdot(joint.type, joint.reversed, c, q + joint.q, v + joint.v, Hdot)
        set_zero(A, 6)
        for k in range(joint.nv):
            for i in range(6):
                A[i] = A[i] + Hdot[6*k + i]*v[joint.v + k]
        rotate_inverse(R_FM, A, bias_N)
        rotate_inverse(R_FM, A + 3, bias_N + 3)


cdef inline void add_joint_angular_velocity(
    const Joint* joint, const T* H_N, const T* v, T* w
) noexcept nogil:
    """w += angular part of H_N v."""
    cdef int i, k
    if joint.kind == REVOLUTE_Z:
        w[2] = w[2] + v[joint.v]
    elif joint.kind == GENERAL:
        for k in range(joint.v, joint.v + joint.nv):
            for i in range(3):
                w[i] = w[i] + H_N[6*k + i]*v[k]


cdef inline void add_velocity_bias(
    const Joint* joint, const double* c, const T* H_N, const T* q, const T* v, const T* w, T* alpha, T* a
) noexcept nogil:
    """alpha += w × w_PN + Hdot v, a += 2 w × v_PN + Hdot v: what the joint's rate adds to the acceleration.

    `w` is the angular velocity of P (not of N) in World, expressed in N.
    """
    cdef T V[6]
    cdef T bias[6]
    cdef T rate
    cdef int i, k
    if joint.kind == REVOLUTE_Z:
        rate = v[joint.v]
        alpha[0] = alpha[0] + w[1]*rate
        alpha[1] = alpha[1] - w[0]*rate
    elif joint.kind == PRISMATIC_Z:
        rate = v[joint.v]*2.0
        a[0] = a[0] + w[1]*rate
        a[1] = a[1] - w[0]*rate
    else:
        set_zero(V, 6)
        for k in range(joint.v, joint.v + joint.nv):
            for i in range(6):
                V[i] = V[i] + H_N[6*k + i]*v[k]
        calc_general_bias(joint, c, q, v, bias)
        for i in range(3):
            V[3 + i] = V[3 + i]*2.0
            alpha[i] = alpha[i] + bias[i]
            a[i] = a[i] + bias[3 + i]
        add_cross(w, V, alpha)
        add_cross(w, V + 3, a)


cdef inline void add_joint_acceleration(
    const Joint* joint, const T* H_N, const T* vdot, T* alpha, T* a
) noexcept nogil:
    """[alpha; a] += H_N vdot."""
    cdef int i, k
    if joint.kind == REVOLUTE_Z:
        alpha[2] = alpha[2] + vdot[joint.v]
    elif joint.kind == PRISMATIC_Z:
        a[2] = a[2] + vdot[joint.v]
    else:
        for k in range(joint.v, joint.v + joint.nv):
            for i in range(3):
                alpha[i] = alpha[i] + H_N[6*k + i]*vdot[k]
                a[i] = a[i] + H_N[6*k + 3 + i]*vdot[k]


cdef inline void project_force(
    const Joint* joint, const T* H_N, const T* t, const T* f, T* tau
) noexcept nogil:
    """tau = H_N' [t; f], for the dofs of the joint; `tau` is the array of the tree."""
    cdef int k
    if joint.kind == REVOLUTE_Z:
        tau[joint.v] = t[2]
    elif joint.kind == PRISMATIC_Z:
        tau[joint.v] = f[2]
    else:
        for k in range(joint.v, joint.v + joint.nv):
            tau[k] = (
                H_N[6*k]*t[0] + H_N[6*k + 1]*t[1] + H_N[6*k + 2]*t[2]
                + H_N[6*k + 3]*f[0] + H_N[6*k + 4]*f[1] + H_N[6*k + 5]*f[2]
            )


cdef inline void calc_rigid_momentum(
    const Joint* joint, int k, const T* H_N, T mass, const T* h, const T* inertia, T* t, T* f
) noexcept nogil:
    """[t; f] = M H_N for dof k: momentum about No of a rigid inertia moving along the motion axis."""
    if joint.kind == REVOLUTE_Z:
        t[0] = inertia[2]
        t[1] = inertia[4]
        t[2] = inertia[5]
        f[0] = -h[1]
        f[1] = h[0]
        f[2] = <T>0.0
    elif joint.kind == PRISMATIC_Z:
        t[0] = h[1]
        t[1] = -h[0]
        t[2] = <T>0.0
        f[0] = <T>0.0
        f[1] = <T>0.0
        f[2] = mass
    else:
        symmetric_multiply(inertia, H_N + 6*k, t)
        add_cross(h, H_N + 6*k + 3, t)
        cross(H_N + 6*k, h, f)
        f[0] = f[0] + H_N[6*k + 3]*mass
        f[1] = f[1] + H_N[6*k + 4]*mass
        f[2] = f[2] + H_N[6*k + 5]*mass


cdef inline void calc_articulated_dof(
    const Joint* joint, int k, const T* H_N, const Articulated[T]* x, T tau, T reflected_inertia, ArticulatedDof[T]* dof
) noexcept nogil:
    """U = I_A H_N, D = H_N' U + reflected inertia, u = tau - H_N' Z, for dof k; I_A = [A, B; B', C]."""
    cdef const T* e
    cdef int i
    if joint.kind == REVOLUTE_Z:
        dof.U[0] = x.A[2]
        dof.U[1] = x.A[4]
        dof.U[2] = x.A[5]
        dof.U[3] = x.B[6]
        dof.U[4] = x.B[7]
        dof.U[5] = x.B[8]
        dof.D = x.A[5] + reflected_inertia
        dof.scale = x.A[0] + x.A[3] + x.A[5]
        dof.u = tau - x.Z[2]
    elif joint.kind == PRISMATIC_Z:
        dof.U[0] = x.B[2]
        dof.U[1] = x.B[5]
        dof.U[2] = x.B[8]
        dof.U[3] = x.C[2]
        dof.U[4] = x.C[4]
        dof.U[5] = x.C[5]
        dof.D = x.C[5] + reflected_inertia
        dof.scale = x.C[0] + x.C[3] + x.C[5]
        dof.u = tau - x.Z[5]
    else:
        e = H_N + 6*k
        for i in range(3):
            dof.U[i] = x.B[3*i]*e[3] + x.B[3*i + 1]*e[4] + x.B[3*i + 2]*e[5]
            dof.U[3 + i] = x.B[i]*e[0] + x.B[3 + i]*e[1] + x.B[6 + i]*e[2]
        dof.U[0] = dof.U[0] + x.A[0]*e[0] + x.A[1]*e[1] + x.A[2]*e[2]
        dof.U[1] = dof.U[1] + x.A[1]*e[0] + x.A[3]*e[1] + x.A[4]*e[2]
        dof.U[2] = dof.U[2] + x.A[2]*e[0] + x.A[4]*e[1] + x.A[5]*e[2]
        dof.U[3] = dof.U[3] + x.C[0]*e[3] + x.C[1]*e[4] + x.C[2]*e[5]
        dof.U[4] = dof.U[4] + x.C[1]*e[3] + x.C[3]*e[4] + x.C[4]*e[5]
        dof.U[5] = dof.U[5] + x.C[2]*e[3] + x.C[4]*e[4] + x.C[5]*e[5]
        dof.D = dot6(e, dof.U) + reflected_inertia
        dof.scale = x.A[0] + x.A[3] + x.A[5] + x.C[0] + x.C[3] + x.C[5]
        dof.u = tau - dot6(e, x.Z)
    dof.D_inverse = <T>1.0 / dof.D


cdef inline void add_dof_acceleration(const Joint* joint, int k, const T* H_N, T vdot, T* acc) noexcept nogil:
    """acc += H_N vdot, for dof k."""
    cdef int i
    if joint.kind == REVOLUTE_Z:
        acc[2] = acc[2] + vdot
    elif joint.kind == PRISMATIC_Z:
        acc[5] = acc[5] + vdot
    else:
        for i in range(6):
            acc[i] = acc[i] + H_N[6*k + i]*vdot
