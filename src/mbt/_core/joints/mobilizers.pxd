"""The mobilizers; no other file depends on their types.

A type consists of its row in `model/element_types.py` and, here, its pose X_FM (NaN for types not handled), its motion
axes H_FM and their rate. A new orientation also needs the maps between v and qdot.

`c` are the constants of the mobilizer; its type determines their number. H has one axis per dof: the velocity of M in
F, expressed in F.
"""

from libc.math cimport cos, fabs
from libc.string cimport memcpy

from enum_mobilizer_type cimport *
from enum_orientation cimport *

from mbt._core.algebra.rotations cimport (
    apply_rpy_Ndot, apply_rpy_Nplusdot, calc_quaternion_angular_velocity, calc_quaternion_of_rotation_vector,
    calc_quaternion_rate, calc_rotation_vector_between, calc_rpy_angular_velocity, calc_rpy_rate, multiply_quaternions,
    normalize_quaternion, quaternion_is_singular, quaternion_to_rotation, rotation_to_nearest_rpy, rpy_to_quaternion,
    rpy_to_rotation, set_identity, set_rotation_about_axis, squared_norm,
)
from mbt._core.algebra.spatial cimport copy, set_nan, set_zero, subtract
from mbt._core.algebra.vectors cimport (
    JointAxes, Mat3, Motion, Pose, Vec3, cross, inverse, numbers, pose_at, put, scaled, set_constant, times_transposed,
    vector, vector_at, x_axis,
)
from mbt._core.joints.curvilinear cimport calc_path_H, calc_path_Hdot, calc_path_pose
from mbt._core.scalars cimport T, sincos_


# Types -----------------------------------------------------------------------------------------------------------

cdef inline int num_velocities_of(int type) noexcept nogil:
    return MOBILIZER_TYPES[type].num_velocities


cdef inline int orientation_of(int type) noexcept nogil:
    return MOBILIZER_TYPES[type].orientation


cdef inline int num_positions_of(int type) noexcept nogil:
    return num_velocities_of(type) + (1 if orientation_of(type) == QUATERNION else 0)


cdef inline void calc_X_FM(int type, const double* c, const T* q, Pose[T]* X) noexcept nogil:
    cdef T s, cos_q, s1, c1
    cdef T zero = <T>0.0
    set_zero(numbers(X.p), 3)
    if type == REVOLUTE or type == SCREW or type == CYLINDRICAL:
        sincos_(q[0], &s, &cos_q)
        set_rotation_about_axis(c, s, cos_q, numbers(X.R))
        if type == SCREW:
            X.p = scaled(vector_at(c)*c[3], q[0])
        elif type == CYLINDRICAL:
            X.p = scaled(vector_at(c), q[1])
    elif type == PRISMATIC:
        set_identity(numbers(X.R))
        X.p = scaled(vector_at(c), q[0])
    elif type == QUATERNION_FLOATING or type == QUATERNION_BALL:
        quaternion_to_rotation(q, numbers(X.R))
        if type == QUATERNION_FLOATING:
            X.p = vector_at(q + 4)
    elif type == RPY_FLOATING or type == RPY_BALL:
        rpy_to_rotation(q, numbers(X.R))
        if type == RPY_FLOATING:
            X.p = vector_at(q + 3)
    elif type == UNIVERSAL:
        # Rx(q0) Ry(q1)
        sincos_(q[0], &s, &cos_q)
        sincos_(q[1], &s1, &c1)
        X.R.x = vector(c1, zero, s1)
        X.R.y = vector(s*s1, cos_q, -(s*c1))
        X.R.z = vector(-(cos_q*s1), s, cos_q*c1)
    elif type == PLANAR:
        sincos_(q[2], &s, &cos_q)
        X.R.x = vector(cos_q, -s, zero)
        X.R.y = vector(s, cos_q, zero)
        X.R.z = vector(zero, zero, <T>1.0)
        X.p = vector(q[0], q[1], zero)
    elif type == CURVILINEAR:
        calc_path_pose(c, q[0], &s, X)
    elif type == WELD:
        set_constant(pose_at(c), X)
    else:
        set_nan(<T*>X, 12)


cdef inline int has_identity_H_FM(int type) noexcept nogil:
    """1 if v is the angular, then the linear velocity of M in F, in F: H_FM has the first rows of the identity."""
    return 1 if orientation_of(type) != PLAIN else 0


cdef inline void calc_H_FM(int type, const double* c, const T* q, Motion[T]* H) noexcept nogil:
    cdef int k
    cdef int nv = num_velocities_of(type)
    cdef T s, cos_q
    if is_of_one_axis(type):
        # Six zeros are two stores; an unknown count would need a loop that is slow to start.
        set_zero(<T*>H, 6)
        set_constant(vector_at(c), &H.w if type == REVOLUTE else &H.v)
        return
    set_zero(<T*>H, 6*nv)
    if type == SCREW:
        set_constant(vector_at(c), &H.w)
        set_constant(vector_at(c)*c[3], &H.v)
    elif type == CYLINDRICAL:
        set_constant(vector_at(c), &H[0].w)
        set_constant(vector_at(c), &H[1].v)
    elif has_identity_H_FM(type):
        for k in range(nv):
            numbers(H[k])[k] = <T>1.0
    elif type == UNIVERSAL:
        sincos_(q[0], &s, &cos_q)
        H[0].w = vector(<T>1.0, <T>0.0, <T>0.0)
        H[1].w = vector(<T>0.0, cos_q, s)
    elif type == PLANAR:
        H[0].v.x = <T>1.0
        H[1].v.y = <T>1.0
        H[2].w.z = <T>1.0
    elif type == CURVILINEAR:
        calc_path_H(c, q[0], H)


cdef inline Motion[T] calc_Hv(int nv, const Motion[T]* H, const T* v) noexcept nogil:
    """H v."""
    cdef Motion[T] V
    cdef int k
    set_zero(numbers(V), 6)
    for k in range(nv):
        V = V + H[k]*v[k]
    return V


cdef inline int has_constant_H_FM(int type) noexcept nogil:
    """1 if H_FM does not depend on q, so that its rate is zero."""
    return 0 if type == UNIVERSAL or type == CURVILINEAR else 1


cdef inline void calc_Hdot_FM(int type, const double* c, const T* q, const T* v, Motion[T]* Hdot) noexcept nogil:
    cdef T s, cos_q
    set_zero(<T*>Hdot, 6*num_velocities_of(type))
    if type == UNIVERSAL:
        sincos_(q[0], &s, &cos_q)
        Hdot[1].w = vector(<T>0.0, -(s*v[0]), cos_q*v[0])
    elif type == CURVILINEAR:
        calc_path_Hdot(c, q[0], v[0], Hdot)


cdef inline void add_second_rate_FM(
    int type, const double* c, const T* q, const T* v, int j, Motion[T]* y
) noexcept nogil:
    """y += the change along dof j of Hdot v, v held fixed. Zero where H is constant."""
    cdef Pose[T] X
    cdef T s, cos_q, rate
    if type == UNIVERSAL:
        if j == 0:
            sincos_(q[0], &s, &cos_q)
            rate = v[0]*v[1]
            y.w.y = y.w.y - cos_q*rate
            y.w.z = y.w.z - s*rate
    elif type == CURVILINEAR:
        # d/ds (curvature y) = -curvature^2 x
        calc_path_pose(c, q[0], &s, &X)
        y.v = y.v - x_axis(X.R)*(s*s*v[0]*v[0])


cdef inline void calc_qdot(int type, const double* c, const T* q, const T* v, T* qdot) noexcept nogil:
    """qdot = N(q) v."""
    cdef int orientation = orientation_of(type)
    cdef int nv = num_velocities_of(type)
    if orientation == QUATERNION:
        calc_quaternion_rate(q, v, qdot)
        copy(v + 3, nv - 3, qdot + 4)
    elif orientation == RPY:
        calc_rpy_rate(q, v, qdot)
        copy(v + 3, nv - 3, qdot + 3)
    else:
        copy(v, nv, qdot)


cdef inline void calc_v(int type, const double* c, const T* q, const T* qdot, T* v) noexcept nogil:
    """v = N+(q) qdot, exact for every qdot = N(q) v."""
    cdef int orientation = orientation_of(type)
    cdef int nv = num_velocities_of(type)
    if orientation == QUATERNION:
        calc_quaternion_angular_velocity(squared_norm(q), q, qdot, v)
        copy(qdot + 4, nv - 3, v + 3)
    elif orientation == RPY:
        calc_rpy_angular_velocity(q, qdot, v)
        copy(qdot + 3, nv - 3, v + 3)
    else:
        copy(qdot, nv, v)


cdef inline void apply_Ndot(int type, const double* c, const T* q, const T* v, const T* x, T* y) noexcept nogil:
    """y = Ndot(q, v) x, with x like v."""
    cdef int orientation = orientation_of(type)
    cdef int nv = num_velocities_of(type)
    cdef T[4] rate
    if orientation == QUATERNION:
        # N is linear in q.
        calc_quaternion_rate(q, v, rate)
        calc_quaternion_rate(rate, x, y)
        set_zero(y + 4, nv - 3)
    elif orientation == RPY:
        calc_rpy_rate(q, v, rate)
        apply_rpy_Ndot(q, rate, x, y)
        set_zero(y + 3, nv - 3)
    else:
        set_zero(y, nv)


cdef inline void apply_Nplusdot(int type, const double* c, const T* q, const T* v, const T* x, T* y) noexcept nogil:
    """y = N+dot(q, v) x, with x like qdot."""
    cdef int orientation = orientation_of(type)
    cdef int nv = num_velocities_of(type)
    cdef T[4] rate
    if orientation == QUATERNION:
        # N+ is linear in q except for |q|, which does not change.
        calc_quaternion_rate(q, v, rate)
        calc_quaternion_angular_velocity(squared_norm(q), rate, x, y)
        set_zero(y + 3, nv - 3)
    elif orientation == RPY:
        calc_rpy_rate(q, v, rate)
        apply_rpy_Nplusdot(q, rate, x, y)
        set_zero(y + 3, nv - 3)
    else:
        set_zero(y, nv)


cdef inline int has_singular_positions(int type) noexcept nogil:
    return 1 if orientation_of(type) == QUATERNION else 0


cdef inline int position_is_singular(int type, const double* q) noexcept nogil:
    """1 where X_FM(q) is undefined or overflows."""
    return 1 if orientation_of(type) == QUATERNION and quaternion_is_singular(q) else 0


cdef inline int has_singular_map(int type) noexcept nogil:
    return 1 if orientation_of(type) == RPY else 0


cdef inline int map_is_singular(int type, const double* q) noexcept nogil:
    """1 where N(q) is undefined: near gimbal lock. The pose, N+ and dynamics are well defined there."""
    return 1 if orientation_of(type) == RPY and fabs(cos(q[1])) < 1e-3 else 0


cdef inline void integrate_position(int type, const T* q0, const T* v, T dt, T* q1) noexcept nogil:
    """q1 is the result of moving from q0 at constant v for dt: R1 = exp([w dt]x) R0."""
    cdef int orientation = orientation_of(type)
    cdef int nv = num_velocities_of(type)
    cdef int rotational = 0 if orientation == PLAIN else 3
    cdef int shift = 1 if orientation == QUATERNION else 0
    cdef T[4] step, before, after
    cdef Vec3[T] r
    cdef Mat3[T] R
    cdef int i
    if orientation != PLAIN:
        r = vector_at(v)*dt
        calc_quaternion_of_rotation_vector(numbers(r), step)
    if orientation == QUATERNION:
        multiply_quaternions(step, q0, q1)
    elif orientation == RPY:
        rpy_to_quaternion(q0, before)
        multiply_quaternions(step, before, after)
        quaternion_to_rotation(after, numbers(R))
        rotation_to_nearest_rpy(numbers(R), q0, q1)
    for i in range(rotational, nv):
        q1[shift + i] = q0[shift + i] + v[i]*dt


cdef inline void difference_position(int type, const T* q0, const T* q1, T* v) noexcept nogil:
    """Find the v that leads from q0 to q1 within one second, by the shortest rotation."""
    cdef int orientation = orientation_of(type)
    cdef int nv = num_velocities_of(type)
    cdef int rotational = 0 if orientation == PLAIN else 3
    cdef int shift = 1 if orientation == QUATERNION else 0
    cdef T[4] before, after
    if orientation == QUATERNION:
        calc_rotation_vector_between(q0, q1, v)
    elif orientation == RPY:
        rpy_to_quaternion(q0, before)
        rpy_to_quaternion(q1, after)
        calc_rotation_vector_between(before, after, v)
    subtract(q1 + shift + rotational, q0 + shift + rotational, nv - rotational, v + rotational)


cdef inline void normalize_position(int type, const T* q, T* y) noexcept nogil:
    """y = q, with its quaternion normalized."""
    copy(q, num_velocities_of(type), y)
    if orientation_of(type) == QUATERNION:
        normalize_quaternion(q, y)
        copy(q + 4, num_velocities_of(type) - 3, y + 4)


# Across the mobilizer, from its inboard to its outboard frame --------------------------------------------------
# When the mobilizer is reversed, F is the outboard frame: X_MF = X_FM^-1, and V_MF follows.

cdef inline void calc_across_pose(int type, int reversed, const double* c, const T* q, Pose[T]* X) noexcept nogil:
    calc_X_FM(type, c, q, X)
    if reversed:
        X[0] = inverse(X[0])


cdef inline int is_of_one_axis(int type) noexcept nogil:
    """1 for one dof about or along an axis, which is the same in F and M and is among the effective constants."""
    return 1 if type == REVOLUTE or type == PRISMATIC else 0


cdef inline void calc_across_H(int type, int reversed, const double* c, const T* q, Motion[T]* H) noexcept nogil:
    cdef Pose[T] X_FM
    cdef Vec3[T] y
    cdef int k
    calc_H_FM(type, c, q, H)
    if reversed:
        # w_MF_M = -R' w, v_MFo_M = R' (w × p - v)
        calc_X_FM(type, c, q, &X_FM)
        for k in range(num_velocities_of(type)):
            y = cross(H[k].w, X_FM.p) - H[k].v
            H[k].w = -times_transposed(X_FM.R, H[k].w)
            H[k].v = times_transposed(X_FM.R, y)


cdef inline void calc_across_Hdot(
    int type, int reversed, const double* c, const T* q, const T* v, Motion[T]* Hdot
) noexcept nogil:
    cdef Pose[T] X_FM
    cdef JointAxes[T] H_FM
    cdef Motion[T] V
    cdef Vec3[T] y, ydot
    cdef int k
    calc_Hdot_FM(type, c, q, v, Hdot)
    if reversed:
        calc_X_FM(type, c, q, &X_FM)
        calc_H_FM(type, c, q, H_FM.dof)
        V = calc_Hv(num_velocities_of(type), H_FM.dof, v)
        for k in range(num_velocities_of(type)):
            # d/dt (R' y) = R' (ydot - w × y), y = e × p - u, ydot = edot × p + e × pdot - udot
            y = cross(H_FM.dof[k].w, X_FM.p) - H_FM.dof[k].v
            ydot = cross(Hdot[k].w, X_FM.p) + cross(H_FM.dof[k].w, V.v) - Hdot[k].v
            Hdot[k].v = times_transposed(X_FM.R, ydot + cross(y, V.w))
            # d/dt (-R' e) = R' (w × e - edot)
            Hdot[k].w = times_transposed(X_FM.R, cross(V.w, H_FM.dof[k].w) - Hdot[k].w)


cdef inline void set_effective_constants(
    int type, int reversed, Py_ssize_t count, const double* declared, double* c
) noexcept nogil:
    """Constants as kernels use them: a reversed mobilizer with an axis is a forward one with the opposite axis."""
    memcpy(c, declared, count*sizeof(double))
    if reversed and MOBILIZER_TYPES[type].has_axis:
        put(-vector_at(declared), c)
    elif reversed and type == WELD:
        put(inverse(pose_at(declared)), c)


cdef inline int needs_reversal(int type, int reversed) noexcept nogil:
    """1 if the effective constants do not already express the reversal."""
    return 1 if reversed and type != WELD and not MOBILIZER_TYPES[type].has_axis else 0


# Kinds of joints for the hot kernels, see mobod_joints.pxd -----------------------------------------------------

cdef enum:
    GENERAL = 0
    REVOLUTE_Z = 1
    PRISMATIC_Z = 2


cdef inline int kind_of(int type) noexcept nogil:
    return REVOLUTE_Z if type == REVOLUTE else PRISMATIC_Z if type == PRISMATIC else GENERAL
