"""Articulated bodies in mobod frames: the parts shared by the two forms of forward dynamics.

R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, section 7.2.
In NumPy: tests/support/textbook.py, forward_dynamics.
"""

from mbt._core.algebra.records cimport Articulated, ArticulatedDof, Mobod
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport (
    Mat3, Motion, Vec3, cross, dot, eliminate, in_child, in_parent, motion_at, numbers, set_rigid_inertia, sum,
    transpose, vector_at,
)
from mbt._core.joints.mobod_joints cimport (
    add_dof_acceleration, add_joint_angular_velocity, add_velocity_bias, calc_articulated_dof,
    calc_first_articulated_dof, calc_X_PN, set_size, widen_size,
)
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.scalars cimport T, sincos_of_angles


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
    """Base to tip: velocities, and the bias accelerations and forces that they cause."""
    cdef int i
    cdef const MobodJoint* joint
    set_zero(numbers(work[0].w), 3)
    set_zero(numbers(work[0].acc.w), 3)
    work[0].acc.v = -vector_at(gravity)

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
    cdef Mat3[T] R_NP = transpose(x.X_PN.R)
    cdef Vec3[T] w_P = parent.w
    x.w = R_NP*w_P
    set_zero(numbers(x.bias.w), 3)
    x.bias.v = R_NP*cross(w_P, cross(w_P, x.X_PN.p))
    add_velocity_bias(joint, c, H_N, q, v, x.w, &x.bias.w, &x.bias.v)
    add_joint_angular_velocity(joint, H_N, v, &x.w)


cdef inline void start_articulation(const Mobod[T]* mobod, Articulated[T]* x) noexcept nogil:
    set_rigid_inertia(mobod.I.mass, mobod.I.h, mobod.I.J, &x.I)
    x.Z.t = cross(x.w, mobod.I.J*x.w)
    x.Z.f = cross(x.w, cross(x.w, mobod.I.h))


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
    """Eliminate the dofs of a joint, one after the other, except the first."""
    cdef int k
    set_size(joint, x)
    for k in range(joint.v_start + joint.nv - 1, joint.v_start, -1):
        calc_articulated_dof(motion_at(H_N + 6*k), x, tau[k], reflected_inertia[k], &dofs[k])
        invert_pivot(locked, k, &dofs[k])
        widen_size(joint, &dofs[k], x)
        eliminate_dof(&dofs[k], x)


cdef inline void calc_first_dof(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const T* reflected_inertia,    # (nv,)    [kg m^2, kg]
    const int* locked,             # (nv,)    1 where a dof cannot move; NULL where all can
    # In:
    const T* H_N,                  # (nv, 6)  [1, m]
    const T* tau,                  # (nv,)    [N m, N]
    const Articulated[T]* x,
    # Out:
    ArticulatedDof[T]* dofs,       # (nv,)
) noexcept nogil:
    """U, D and u of the dof that is left."""
    cdef int k = joint.v_start
    calc_first_articulated_dof(joint, H_N, x, tau[k], reflected_inertia[k], &dofs[k])
    invert_pivot(locked, k, &dofs[k])


cdef inline void invert_pivot(const int* locked, int k, ArticulatedDof[T]* dof) noexcept nogil:
    """1 / D: zero for a locked dof, whose resistance is infinite."""
    dof.D_inverse = <T>0.0 if locked != NULL and locked[k] else <T>1.0 / dof.D


cdef inline void eliminate_dof(const ArticulatedDof[T]* dof, Articulated[T]* x) noexcept nogil:
    x.Z = sum(x.Z, dof.U, dof.u*dof.D_inverse)
    eliminate(dof.U, dof.D_inverse, &x.I)


cdef inline void carry_dof_to_parent(const Articulated[T]* x, ArticulatedDof[T]* dof) noexcept nogil:
    """u = (u - U' bias) / D, and U at Po in P."""
    dof.u = (dof.u - dot(dof.U, x.bias))*dof.D_inverse
    dof.U = in_parent(x.X_PN, dof.U)


cdef inline void carry_acceleration(const Articulated[T]* parent, Articulated[T]* x) noexcept nogil:
    x.acc = in_child(x.X_PN, parent.acc) + x.bias


cdef inline void add_further_accelerations(
    # Topology:
    const MobodJoint* joint,
    # In:
    const T* H_N,                     # (nv, 6)  [1, m]
    const ArticulatedDof[T]* dofs,    # (nv,)
    # Out:
    Motion[T]* acc,                   # of the mobod; in: with that of the first dof
    T* vdot,                          # (nv,)    [rad/s^2, m/s^2]
) noexcept nogil:
    """vdot of the dofs of a joint after the first, each given those before it."""
    cdef int k
    for k in range(joint.v_start + 1, joint.v_start + joint.nv):
        vdot[k] = (dofs[k].u - dot(dofs[k].U, acc[0]))*dofs[k].D_inverse
        add_dof_acceleration(joint, k, H_N, vdot[k], acc)
