"""Inverse dynamics: recursive Newton-Euler in mobod frames, O(n), straight from q, v, vdot to tau.

J. Y. S. Luh, M. W. Walker, R. P. C. Paul, "On-Line Computational Scheme for Mechanical Manipulators", J. Dyn. Sys.,
Meas., Control 102 (1980): accelerations of points and forces in frames of the bodies, as here.
R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, table 5.1.
In NumPy: tests/support/textbook.py, inverse_dynamics.
"""

from mbt._core.algebra.records cimport Mobod, MotionForce, Pose
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport (
    Mat3, Vec3, cross, numbers, pose_at, put, set_acceleration_of_points, transpose, vector_at,
)
from mbt._core.joints.mobod_joints cimport (
    add_joint_acceleration, add_joint_angular_velocity, add_velocity_bias, calc_X_PN, project_force,
)
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.passes.paths cimport calc_sines_on_path
from mbt._core.scalars cimport T, sincos_of_angles


cdef inline void calc_inverse_dynamics(
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
    MotionForce[T]* work,          # (num_mobods,)
    T* H_N,                        # (nv, 6)          [1, m]
    T* sin_q,                      # (angle_stride,)  [1]
    T* cos_q,                      # (angle_stride,)  [1]
    # Out:
    T* tau,                        # (nv,)            [N m, N]
) noexcept nogil:
    """tau = M vdot + C v - tau_g."""
    cdef int i, k
    cdef const MobodJoint* joint

    # World does not move. Gravity is an acceleration of World, upwards.
    set_still(&work[0])
    work[0].a = -vector_at(gravity)

    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)

    # Base to tip: a parent always has a smaller index than its child.
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        calc_X_PN(
            joint, model.constants[joint.node], &mobods[i].X_PF, q, sin_q, cos_q, &work[i].X_PN, H_N
        )
        calc_motion(joint, model.constants[joint.node], q, v, vdot, H_N, &work[joint.parent], &work[i])
        calc_force(&mobods[i], &work[i])

    # Tip to base.
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        project_force(joint, H_N, work[i].t, work[i].f, tau)
        if joint.parent != 0:
            add_force_to_parent(&work[i], &work[joint.parent])

    for k in range(model.num_velocities):
        tau[k] = tau[k] + reflected_inertia[k]*vdot[k]


cdef inline void calc_bias_acceleration(
    # Topology:
    const Model* model,
    int node,
    const int* path,               # (n,)                mobods, each the parent of the next, the last with the body
    int n,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const Pose[T]* X_NB,           # (num_bodies,)
    # In:
    const T* q,                    # (nq,)               [rad, m]
    const T* v,                    # (nv,)               [rad/s, m/s]
    const T* X_WB,                 # (num_bodies, 4, 4)  [1, m]
    const Vec3[T]& p_BoP_B,        # (3,)                [m]
    # Work:
    MotionForce[T]* work,          # (num_mobods,)
    T* vdot,                       # (nv,)               [rad/s^2, m/s^2]
    T* H_N,                        # (nv, 6)             [1, m]
    T* sin_q,                      # (angle_stride,)     [1]
    T* cos_q,                      # (angle_stride,)     [1]
    # Out:
    T* A_WP,                       # (6,)                [rad/s^2, m/s^2]
) noexcept nogil:
    """Acceleration of a body at its point P, in World, with vdot = 0 and, unlike in the bias term, no gravity."""
    cdef int i, k
    cdef Mat3[T] R_WB = pose_at(X_WB + 16*node).R
    cdef Mat3[T] R_BN = transpose(X_NB[node].R)
    cdef const MobodJoint* joint
    cdef MotionForce[T]* x = work
    set_still(x)
    set_zero(vdot, model.num_velocities)
    calc_sines_on_path(model, path, n, q, sin_q, cos_q)
    for k in range(n):
        i = path[k]
        joint = &model.joints[i]
        x = &work[i]
        calc_X_PN(joint, model.constants[joint.node], &mobods[i].X_PF, q, sin_q, cos_q, &x.X_PN, H_N)
        calc_motion(joint, model.constants[joint.node], q, v, vdot, H_N, &work[joint.parent], x)
    put(R_WB*(R_BN*x.alpha), A_WP)
    put(R_WB*(R_BN*(x.a + x.B*(X_NB[node].p + X_NB[node].R*p_BoP_B))), A_WP + 3)


cdef inline void set_still(MotionForce[T]* world) noexcept nogil:
    set_zero(numbers(world.w), 3)
    set_zero(numbers(world.alpha), 3)
    set_zero(numbers(world.a), 3)
    set_zero(numbers(world.B), 9)


cdef inline void calc_motion(
    # Topology:
    const MobodJoint* joint,
    # Parameters:
    const double* c,         # (num_constants,)  [SI]  of the mobilizer
    # In:
    const T* q,              # (nq,)             [rad, m]
    const T* v,              # (nv,)             [rad/s, m/s]
    const T* vdot,           # (nv,)             [rad/s^2, m/s^2]
    const T* H_N,            # (nv, 6)           [1, m]
    const MotionForce[T]* parent,
    # Out:
    MotionForce[T]* x,
) noexcept nogil:
    """Angular velocity and accelerations of N, and B = [alpha]x + [w]x [w]x, the acceleration of its points."""
    cdef Mat3[T] R_NP = transpose(x.X_PN.R)
    x.a = R_NP*(parent.a + parent.B*x.X_PN.p)
    x.alpha = R_NP*parent.alpha
    x.w = R_NP*parent.w
    add_velocity_bias(joint, c, H_N, q, v, x.w, &x.alpha, &x.a)
    add_joint_acceleration(joint, H_N, vdot, &x.alpha, &x.a)
    add_joint_angular_velocity(joint, H_N, v, &x.w)
    set_acceleration_of_points(x.alpha, x.w, &x.B)


cdef inline void calc_force(const Mobod[T]* mobod, MotionForce[T]* x) noexcept nogil:
    x.f = x.a*mobod.I.mass + x.B*mobod.I.h
    x.t = mobod.I.J*x.alpha + cross(x.w, mobod.I.J*x.w) + cross(mobod.I.h, x.a)


cdef inline void add_force_to_parent(const MotionForce[T]* x, MotionForce[T]* parent) noexcept nogil:
    cdef Vec3[T] f = x.X_PN.R*x.f
    parent.f = parent.f + f
    parent.t = parent.t + x.X_PN.R*x.t + cross(x.X_PN.p, f)
