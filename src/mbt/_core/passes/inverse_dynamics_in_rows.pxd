"""Inverse dynamics of doubles: the algorithm of `inverse_dynamics`, with each vector of three in one register.

The data that a mobod needs from the previous one stay in registers: a chain waits for no memory. The outward sweep
computes only these data; the inward one the force on a body, while the processor waits for the sum of those outboard.
Where a row of four takes two registers, this is 3 % slower for chains than one number at a time, so not used.
(benchmarks/compare.py, inverse dynamics of chain30.)
"""

from mbt._core.algebra.records cimport (
    ForceRows, Mobod, MotionForceRows, MotionRows, Pose, add_body_force, carry_force_rows, carry_motion_freely,
    carry_motion_through_revolute, carry_motion_to_memory, leave_force, load_motion, set_motion_from_memory,
    set_no_force,
)
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport Vec3, numbers, vector_at
from mbt._core.joints.mobilizers cimport REVOLUTE_Z
from mbt._core.joints.mobod_joints cimport (
    add_joint_acceleration, add_joint_angular_velocity, add_velocity_bias, calc_general_X_PN, calc_X_PN,
    moves_freely, project_force, set_free_axes,
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
    cdef MotionRows motion  # of the previous mobod
    cdef ForceRows force    # of the next mobod outboard, about Po in P

    # World does not move. Gravity is an acceleration of World, upwards.
    set_zero(work[0].w, 4)
    set_zero(work[0].alpha, 4)
    set_zero(work[0].a, 4)
    for i in range(3):
        work[0].a[i] = -gravity[i]

    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)

    if T is double:  # the only type here: rows hold doubles
        # Base to tip: a parent always has a smaller index than its child.
        load_motion(&work[0], &motion)
        for i in range(1, model.num_mobods):
            joint = &model.joints[i]
            if joint.parent != i - 1:
                load_motion(&work[joint.parent], &motion)
            calc_motion(
                joint, model.constants[joint.node], &mobods[i], q, v, vdot, sin_q, cos_q, H_N, &work[i], &motion
            )

        # Tip to base.
        set_no_force(&force)
        for i in range(model.num_mobods - 1, 0, -1):
            joint = &model.joints[i]
            add_body_force(&mobods[i], &work[i], &force)
            project_force(joint, H_N, vector_at(<const T*>work[i].t), vector_at(<const T*>work[i].f), tau)
            carry_force_rows(&work[i], &force)
            if joint.parent != i - 1:
                if joint.parent != 0:
                    leave_force(force, &work[joint.parent])
                set_no_force(&force)

    for k in range(model.num_velocities):
        tau[k] = tau[k] + reflected_inertia[k]*vdot[k]


cdef inline void calc_motion(
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
    cdef Pose[T] X_FM
    if T is double:  # as above
        if joint.kind == REVOLUTE_Z:
            carry_motion_through_revolute(
                mobod, sin_q[joint.angle], cos_q[joint.angle], v + joint.v_start, vdot + joint.v_start, x, motion
            )
        elif moves_freely(joint):
            calc_general_X_PN(joint, c, &mobod.X_PF, q, &X_FM, &X_PN)
            set_free_axes(X_FM.R, joint.nv, H_N + 6*joint.v_start)
            carry_motion_freely(&X_PN, numbers(X_FM.R), joint.nv, v + joint.v_start, vdot + joint.v_start, x, motion)
        else:
            calc_X_PN(joint, c, &mobod.X_PF, q, sin_q, cos_q, &X_PN, H_N)
            carry_motion_to_memory(&X_PN, x, motion[0])
            add_velocity_bias(joint, c, H_N, q, v, vector_at(<const T*>x.w), <Vec3[T]*>x.alpha, <Vec3[T]*>x.a)
            add_joint_acceleration(joint, H_N, vdot, <Vec3[T]*>x.alpha, <Vec3[T]*>x.a)
            add_joint_angular_velocity(joint, H_N, v, <Vec3[T]*>x.w)
            set_motion_from_memory(x, motion)
