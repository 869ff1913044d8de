"""Inverse dynamics: recursive Newton-Euler in mobod frames, O(n), straight from q, v, vdot to tau.

J. Y. S. Luh, M. W. Walker, R. P. C. Paul, "On-Line Computational Scheme for Mechanical Manipulators", J. Dyn. Sys.,
Meas., Control 102 (1980): accelerations of points and forces in frames of the bodies, as here.
R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, table 5.1.
In NumPy: tests/support/textbook.py, inverse_dynamics.
"""

from mbt._core.algebra.records cimport Mobod, MotionForce
from mbt._core.algebra.spatial cimport copy, rotate, rotate_inverse, set_zero
from mbt._core.joints.mobod_joints cimport (
    add_joint_acceleration, add_joint_angular_velocity, add_velocity_bias, calc_X_PN, project_force,
)
from mbt._core.model.structs cimport MobodJoint, Model
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
    set_zero(work[0].w, 3)
    set_zero(work[0].alpha, 3)
    set_zero(work[0].B, 9)
    for i in range(3):
        work[0].a[i] = -gravity[i]

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
    cdef T a_P[3]
    cdef T alpha_P[3]
    cdef T w_P[3]
    cdef T xx, xy, xz, yy, yz, zz
    cdef int k
    cdef const T* p = &x.X_PN.p[0]

    # a = a_P + (alpha_P × p) + w_P × (w_P × p)
    for k in range(3):
        a_P[k] = parent.a[k] + parent.B[3*k]*p[0] + parent.B[3*k + 1]*p[1] + parent.B[3*k + 2]*p[2]
    copy(parent.alpha, 3, alpha_P)
    copy(parent.w, 3, w_P)
    rotate_inverse(x.X_PN.R, a_P, x.a)
    rotate_inverse(x.X_PN.R, alpha_P, x.alpha)
    rotate_inverse(x.X_PN.R, w_P, x.w)

    add_velocity_bias(joint, c, H_N, q, v, x.w, x.alpha, x.a)
    add_joint_acceleration(joint, H_N, vdot, x.alpha, x.a)
    add_joint_angular_velocity(joint, H_N, v, x.w)

    xx = x.w[0]*x.w[0]
    yy = x.w[1]*x.w[1]
    zz = x.w[2]*x.w[2]
    xy = x.w[0]*x.w[1]
    xz = x.w[0]*x.w[2]
    yz = x.w[1]*x.w[2]
    x.B[0] = -(yy + zz)
    x.B[1] = xy - x.alpha[2]
    x.B[2] = xz + x.alpha[1]
    x.B[3] = xy + x.alpha[2]
    x.B[4] = -(xx + zz)
    x.B[5] = yz - x.alpha[0]
    x.B[6] = xz - x.alpha[1]
    x.B[7] = yz + x.alpha[0]
    x.B[8] = -(xx + yy)


cdef inline void calc_force(const Mobod[T]* mobod, MotionForce[T]* x) noexcept nogil:
    """f = m a + B h, t = I alpha + w × (I w) + h × a."""
    cdef T I_w[3]
    cdef T I_alpha[3]
    cdef const T* w = &x.w[0]
    cdef const T* a = &x.a[0]
    cdef const T* J = &mobod.inertia[0]
    cdef const T* h = &mobod.h[0]
    cdef T m = mobod.mass
    cdef int k
    for k in range(3):
        x.f[k] = a[k]*m + x.B[3*k]*h[0] + x.B[3*k + 1]*h[1] + x.B[3*k + 2]*h[2]
    I_w[0] = w[0]*J[0] + w[1]*J[1] + w[2]*J[2]
    I_w[1] = w[0]*J[1] + w[1]*J[3] + w[2]*J[4]
    I_w[2] = w[0]*J[2] + w[1]*J[4] + w[2]*J[5]
    I_alpha[0] = x.alpha[0]*J[0] + x.alpha[1]*J[1] + x.alpha[2]*J[2]
    I_alpha[1] = x.alpha[0]*J[1] + x.alpha[1]*J[3] + x.alpha[2]*J[4]
    I_alpha[2] = x.alpha[0]*J[2] + x.alpha[1]*J[4] + x.alpha[2]*J[5]
    x.t[0] = I_alpha[0] + w[1]*I_w[2] - w[2]*I_w[1] + a[2]*h[1] - a[1]*h[2]
    x.t[1] = I_alpha[1] + w[2]*I_w[0] - w[0]*I_w[2] + a[0]*h[2] - a[2]*h[0]
    x.t[2] = I_alpha[2] + w[0]*I_w[1] - w[1]*I_w[0] + a[1]*h[0] - a[0]*h[1]


cdef inline void add_force_to_parent(const MotionForce[T]* x, MotionForce[T]* parent) noexcept nogil:
    """f_P += R f, t_P += R t + p × R f."""
    cdef T f[3]
    cdef T t[3]
    cdef T p[3]
    cdef int k
    copy(x.X_PN.p, 3, p)
    rotate(x.X_PN.R, x.f, f)
    rotate(x.X_PN.R, x.t, t)
    for k in range(3):
        parent.f[k] = parent.f[k] + f[k]
    parent.t[0] = parent.t[0] + t[0] + f[2]*p[1] - f[1]*p[2]
    parent.t[1] = parent.t[1] + t[1] + f[0]*p[2] - f[2]*p[0]
    parent.t[2] = parent.t[2] + t[2] + f[1]*p[0] - f[0]*p[1]
