"""Inverse dynamics of doubles: that of `inverse_dynamics`, with each vector of three in one register.

It takes a third less instructions, and what a mobod needs of the one before stays in registers: a chain waits for no
memory. Where a row of four takes two registers it is 7 % slower than one number at a time, and not used.
(benchmarks/compare.py, inverse dynamics of chain30.)
"""

from mbt._core.algebra.records cimport (
    ForceRows, Mobod, MotionForceRows, MotionRows, Pose, add_force_rows_to_parent, carry_motion_through_revolute,
    carry_motion_to_memory, load_force, load_motion, set_motion_and_force_from_memory,
)
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.joints.mobilizers cimport REVOLUTE_Z
from mbt._core.joints.mobod_joints cimport (
    add_joint_acceleration, add_joint_angular_velocity, add_velocity_bias, calc_X_PN, project_force,
)
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.scalars cimport T, sincos_of_angles


cdef inline void calc_inverse_dynamics_in_rows(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const T* reflected_inertia,    # (nv,)            [kg m^2, kg]
    const T* gravity,              # (3,)             [m/s^2]  in World
    # In:
    const T* q,                    # (nq,)            [rad, m]
    const T* v,                    # (nv,)            [rad/s, m/s]
    const T* vdot,                 # (nv,)            [rad/s^2, m/s^2]
    # Work:
    MotionForceRows[T]* work,      # (num_mobods,)
    T* H_N,                        # (nv, 6)          [1, m]
    T* sin_q,                      # (angle_stride,)  [1]
    T* cos_q,                      # (angle_stride,)  [1]
    # Out:
    T* tau,                        # (nv,)            [N m, N]
) noexcept nogil:
    """tau = M vdot + C v - tau_g."""
    cdef int i, k
    cdef const MobodJoint* joint
    cdef MotionRows motion  # of the mobod before
    cdef ForceRows force    # of the mobod behind, brought to its parent
    cdef bint is_loaded = False

    # World does not move. Gravity is an acceleration of World, upwards.
    set_zero(work[0].w, 4)
    set_zero(work[0].alpha, 4)
    set_zero(work[0].a, 4)
    set_zero(work[0].B, 12)
    for i in range(3):
        work[0].a[i] = -gravity[i]

    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)

    if T is double:  # no other comes here: rows are of doubles
        # Base to tip: a parent always has a smaller index than its child.
        for i in range(1, model.num_mobods):
            joint = &model.joints[i]
            if joint.parent != i - 1 or i == 1:
                load_motion(&work[joint.parent], &motion)
            calc_motion_and_force(
                joint, model.constants[joint.node], &mobods[i], q, v, vdot, sin_q, cos_q, H_N, &work[i], &motion
            )

        # Tip to base.
        for i in range(model.num_mobods - 1, 0, -1):
            joint = &model.joints[i]
            project_force(joint, H_N, work[i].t, work[i].f, tau)
            if not is_loaded:
                load_force(&work[i], &force)
            if joint.parent != 0:
                add_force_rows_to_parent(&work[i], &work[joint.parent], &force)
            is_loaded = joint.parent == i - 1

    for k in range(model.num_velocities):
        tau[k] = tau[k] + reflected_inertia[k]*vdot[k]


cdef inline void calc_motion_and_force(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const double* c,         # (num_constants,)  [SI]  of the mobilizer
    const Mobod[T]* mobod,
    # In:
    const T* q,              # (nq,)             [rad, m]
    const T* v,              # (nv,)             [rad/s, m/s]
    const T* vdot,           # (nv,)             [rad/s^2, m/s^2]
    const T* sin_q,          # (num_angles,)     [1]
    const T* cos_q,          # (num_angles,)     [1]
    # Out:
    T* H_N,                  # (nv, 6)           [1, m]
    MotionForceRows[T]* x,
    # In and out:
    MotionRows* motion,      # of the parent, then of this one
) noexcept nogil:
    cdef Pose[T] X_PN
    if T is double:  # as above
        if joint.kind == REVOLUTE_Z:
            carry_motion_through_revolute(
                mobod, sin_q[joint.angle], cos_q[joint.angle], v + joint.v_start, vdot + joint.v_start, x, motion
            )
        else:
            calc_X_PN(joint, c, &mobod.X_PF, q, sin_q, cos_q, &X_PN, H_N)
            carry_motion_to_memory(&X_PN, x, motion[0])
            add_velocity_bias(joint, c, H_N, q, v, x.w, x.alpha, x.a)
            add_joint_acceleration(joint, H_N, vdot, x.alpha, x.a)
            add_joint_angular_velocity(joint, H_N, v, x.w)
            set_motion_and_force_from_memory(mobod, x, motion)
