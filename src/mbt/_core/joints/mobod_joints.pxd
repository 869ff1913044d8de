"""Joints for the hot kernels, in mobod frames (records.hpp).

A single dof about or along the z axis of F and N has specialized code. Any other mobilizer works through H_N, its
motion axes in N about No, one row per dof.
"""

from mbt._core.algebra.records cimport Articulated, ArticulatedDof, Pose
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport (
    Force, JointAxes, Mat3, Motion, RigidInertia, Vec3, cross, dot, motion_at, numbers, put, times_shift_along_z,
    times_transposed, times_turn_about_z, trace_of_A, trace_of_C, turn_about_z, twice, vector, vector_at, z_axis,
)
from mbt._core.joints.mobilizers cimport (
    GENERAL, PRISMATIC_Z, REVOLUTE_Z, calc_across_H, calc_across_Hdot, calc_across_pose, calc_Hv, has_constant_H_FM,
    has_identity_H_FM,
)
from mbt._core.model.structs cimport MobodJoint
from mbt._core.scalars cimport T


cdef inline void calc_X_PN(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const double* c,       # (num_constants,)  [SI]  of the mobilizer
    const Pose[T]* X_PF,
    # In:
    const T* q,            # (nq,)             [rad, m]  of the tree
    const T* sin_q,        # (num_angles,)     [1]  of the tree
    const T* cos_q,        # (num_angles,)     [1]
    # Out:
    Pose[T]* X_PN,
    T* H_N,                # (nv, 6)           [1, m]  of the tree; only the rows of this joint, if general
) noexcept nogil:
    if joint.kind == REVOLUTE_Z:
        turn_about_z(X_PF.R, sin_q[joint.angle], cos_q[joint.angle], &X_PN.R)
        X_PN.p = X_PF.p
    elif joint.kind == PRISMATIC_Z:
        X_PN.R = X_PF.R
        X_PN.p = X_PF.p + z_axis(X_PF.R)*q[joint.q_start]
    else:
        calc_general_X_PN_and_H(joint, c, X_PF, q, X_PN, H_N)


# Separate, so that the code for most joints is small enough for compilers to inline into callers' loops.
cdef inline void calc_general_X_PN_and_H(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const double* c,  # (num_constants,)  [SI]  of the mobilizer
    const Pose[T]* X_PF,
    # In:
    const T* q,       # (nq,)             [rad, m]
    # Out:
    Pose[T]* X_PN,
    T* H_N,           # (nv, 6)           [1, m]
) noexcept nogil:
    cdef Pose[T] X_FM
    cdef JointAxes[T] H
    cdef int k
    calc_general_X_PN(joint, c, X_PF, q, &X_FM, X_PN)
    if moves_freely(joint):
        set_free_axes(X_FM.R, joint.nv, H_N + 6*joint.v_start)
        return
    calc_across_H(joint.type, joint.reversed, c, q + joint.q_start, H.dof)
    for k in range(joint.nv):
        put(times_transposed(X_FM.R, H.dof[k]), H_N + 6*(joint.v_start + k))


cdef inline bint moves_freely(const MobodJoint* joint) noexcept nogil:
    """Whether v is the angular and, with six dofs, linear velocity of N in P about the axes of F."""
    return has_identity_H_FM(joint.type) and not joint.reversed


cdef inline void set_free_axes(const Mat3[T]& R_FM, int nv, T* H_N) noexcept nogil:
    """R_FM' times rows of the identity: row k is row k of R_FM, first angular, then linear."""
    cdef const T* R = numbers(R_FM)
    cdef int i, k
    for k in range(nv):
        for i in range(3):
            H_N[6*k + i] = R[3*k + i] if k < 3 else <T>0.0
            H_N[6*k + 3 + i] = <T>0.0 if k < 3 else R[3*k - 9 + i]


cdef inline void calc_general_X_PN(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const double* c,  # (num_constants,)  [SI]  of the mobilizer
    const Pose[T]* X_PF,
    # In:
    const T* q,       # (nq,)             [rad, m]
    # Work:
    Pose[T]* X_FM,    # outboard in inboard frame
    # Out:
    Pose[T]* X_PN,
) noexcept nogil:
    """Only the pose, for a general mobilizer."""
    calc_across_pose(joint.type, joint.reversed, c, q + joint.q_start, X_FM)
    X_PN.R = X_PF.R*X_FM.R
    X_PN.p = X_PF.p + X_PF.R*X_FM.p


cdef inline Motion[T] calc_general_bias(
    const MobodJoint* joint, const double* c, const T* q, const T* v
) noexcept nogil:
    """Hdot_N v, in N about No, for a general mobilizer."""
    cdef Pose[T] X_FM
    cdef JointAxes[T] Hdot
    cdef Motion[T] bias
    if has_constant_H_FM(joint.type) and not joint.reversed:
        set_zero(numbers(bias), 6)
    else:
        calc_across_pose(joint.type, joint.reversed, c, q + joint.q_start, &X_FM)
        calc_across_Hdot(joint.type, joint.reversed, c, q + joint.q_start, v + joint.v_start, Hdot.dof)
        bias = times_transposed(X_FM.R, calc_Hv(joint.nv, Hdot.dof, v + joint.v_start))
    return bias


cdef inline void add_joint_angular_velocity(
    const MobodJoint* joint, const T* H_N, const T* v, Vec3[T]* w
) noexcept nogil:
    """w += angular part of H_N v."""
    cdef int k
    if joint.kind == REVOLUTE_Z:
        w.z = w.z + v[joint.v_start]
    elif joint.kind == GENERAL:
        for k in range(joint.v_start, joint.v_start + joint.nv):
            w[0] = w[0] + vector_at(H_N + 6*k)*v[k]


cdef inline void add_velocity_bias(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const double* c,  # (num_constants,)  [SI]  of the mobilizer
    # In:
    const T* H_N,     # (nv, 6)           [1, m]
    const T* q,       # (nq,)             [rad, m]
    const T* v,       # (nv,)             [rad/s, m/s]
    const Vec3[T]& w,  # [rad/s]
    # Out:
    Vec3[T]* alpha,   # [rad/s^2]  added to
    Vec3[T]* a,       # [m/s^2]    added to
) noexcept nogil:
    """alpha += w × w_PN + Hdot v, a += 2 w × v_PN + Hdot v: the contribution of the joint's rate to the acceleration.

    `w` is the angular velocity of P (not of N) in World, expressed in N.
    """
    cdef Motion[T] V, bias
    cdef T rate
    if joint.kind == REVOLUTE_Z:
        rate = v[joint.v_start]
        alpha.x = alpha.x + w.y*rate
        alpha.y = alpha.y - w.x*rate
    elif joint.kind == PRISMATIC_Z:
        rate = v[joint.v_start]*2.0
        a.x = a.x + w.y*rate
        a.y = a.y - w.x*rate
    else:
        V = calc_Hv(joint.nv, <const Motion[T]*>(H_N + 6*joint.v_start), v + joint.v_start)
        V.v = twice(V.v)
        bias = calc_general_bias(joint, c, q, v)
        alpha[0] = alpha[0] + bias.w + cross(w, V.w)
        a[0] = a[0] + bias.v + cross(w, V.v)


cdef inline void add_joint_acceleration(
    const MobodJoint* joint, const T* H_N, const T* vdot, Vec3[T]* alpha, Vec3[T]* a
) noexcept nogil:
    """[alpha; a] += H_N vdot."""
    cdef int k
    if joint.kind == REVOLUTE_Z:
        alpha.z = alpha.z + vdot[joint.v_start]
    elif joint.kind == PRISMATIC_Z:
        a.z = a.z + vdot[joint.v_start]
    else:
        for k in range(joint.v_start, joint.v_start + joint.nv):
            alpha[0] = alpha[0] + vector_at(H_N + 6*k)*vdot[k]
            a[0] = a[0] + vector_at(H_N + 6*k + 3)*vdot[k]


cdef inline void project_force(
    const MobodJoint* joint, const T* H_N, const Vec3[T]& t, const Vec3[T]& f, T* tau
) noexcept nogil:
    """tau = H_N' [t; f], for the dofs of the joint; `tau` is the array of the tree."""
    cdef Force[T] F
    cdef int k
    if joint.kind == REVOLUTE_Z:
        tau[joint.v_start] = t.z
    elif joint.kind == PRISMATIC_Z:
        tau[joint.v_start] = f.z
    else:
        F.t = t
        F.f = f
        for k in range(joint.v_start, joint.v_start + joint.nv):
            tau[k] = dot(F, motion_at(H_N + 6*k))


cdef inline void calc_rigid_momentum(
    # Topology:
    const MobodJoint* joint,
    int k,
    # In:
    const T* H_N,              # (nv, 6)  [1, m]
    const RigidInertia[T]* I,  # [kg, kg m, kg m^2]
    # Out:
    Force[T]* F,               # [kg m^2, kg m; kg m, kg]
) noexcept nogil:
    """F = I H_N for dof k: momentum about No of a rigid inertia that moves along the motion axis."""
    if joint.kind == REVOLUTE_Z:
        F.t = vector(I.J.xz, I.J.yz, I.J.zz)
        F.f = vector(-I.h.y, I.h.x, <T>0.0)
    elif joint.kind == PRISMATIC_Z:
        F.t = vector(I.h.y, -I.h.x, <T>0.0)
        F.f = vector(<T>0.0, <T>0.0, I.mass)
    else:
        F[0] = I[0]*motion_at(H_N + 6*k)


cdef inline void set_size(const MobodJoint* joint, Articulated[T]* x) noexcept nogil:
    """Store the size of I_A before the first dof of a general joint is eliminated."""
    if joint.kind == GENERAL:
        x.size[0] = trace_of_A(x.I)
        x.size[1] = trace_of_C(x.I)


cdef inline void widen_size(const MobodJoint* joint, const ArticulatedDof[T]* dof, Articulated[T]* x) noexcept nogil:
    """Add the effect on I_A - U U' / D, for small D, of rounding errors in I_A relative to its size along the dof."""
    cdef T error
    if joint.kind == GENERAL:
        error = dof.scale*dof.D_inverse*dof.D_inverse
        x.size[0] = x.size[0] + error*dot(dof.U.t, dof.U.t)
        x.size[1] = x.size[1] + error*dot(dof.U.f, dof.U.f)


cdef inline int leaves_nothing_about_axis(const MobodJoint* joint, const int* locked) noexcept nogil:
    """Whether I_A - U U' / D has no inertia about the axis, as for a free hinge without a rotor."""
    return joint.kind == REVOLUTE_Z and not joint.driven and (locked == NULL or not locked[joint.v_start])


cdef inline void calc_first_articulated_dof(
    const MobodJoint* joint, const T* H_N, const Articulated[T]* x, T tau, T reflected_inertia, ArticulatedDof[T]* dof
) noexcept nogil:
    """U, D and u of the first dof of a joint, which is the only one if it is about or along z."""
    if joint.kind == REVOLUTE_Z:
        dof.U = times_turn_about_z(x.I)
        dof.D = dof.U.t.z + reflected_inertia
        dof.scale = trace_of_A(x.I)
        dof.u = tau - x.Z.t.z
    elif joint.kind == PRISMATIC_Z:
        dof.U = times_shift_along_z(x.I)
        dof.D = dof.U.f.z + reflected_inertia
        dof.scale = trace_of_C(x.I)
        dof.u = tau - x.Z.f.z
    else:
        calc_articulated_dof(motion_at(H_N + 6*joint.v_start), x, tau, reflected_inertia, dof)


cdef inline void calc_articulated_dof(
    const Motion[T] axis, const Articulated[T]* x, T tau, T reflected_inertia, ArticulatedDof[T]* dof
) noexcept nogil:
    """U = I_A H_N, D = H_N' U + reflected inertia, u = tau - H_N' Z, for a dof with axis H_N."""
    dof.U = x.I*axis
    dof.D = dot(dof.U, axis) + reflected_inertia
    dof.scale = x.size[0]*dot(axis.w, axis.w) + x.size[1]*dot(axis.v, axis.v)
    dof.u = tau - dot(x.Z, axis)


cdef inline void add_dof_acceleration(
    const MobodJoint* joint, int k, const T* H_N, T vdot, Motion[T]* acc
) noexcept nogil:
    """acc += H_N vdot, for dof k."""
    if joint.kind == REVOLUTE_Z:
        acc.w.z = acc.w.z + vdot
    elif joint.kind == PRISMATIC_Z:
        acc.v.z = acc.v.z + vdot
    else:
        acc[0] = acc[0] + motion_at(H_N + 6*k)*vdot
