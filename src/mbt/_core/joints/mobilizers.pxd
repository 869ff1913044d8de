"""The mobilizers; no other file depends on their types.

A type consists of its row in `model/element_types.py` and, here, its pose X_FM (NaN for types not handled), its motion
axes H_FM and their rate. A new orientation also needs the maps between v and qdot.

`c` are the constants of the mobilizer; its type determines their number. H has one row per dof: [angular; linear]
velocity of M in F, expressed in F.
"""

from libc.math cimport cos, fabs, isfinite

from enum_mobilizer_type cimport *
from enum_orientation cimport *

from mbt._core.algebra.rotations cimport (
    apply_rpy_Ndot, apply_rpy_Nplusdot, calc_quaternion_angular_velocity, calc_quaternion_of_rotation_vector,
    calc_quaternion_rate, calc_rotation_vector_between, calc_rpy_angular_velocity, calc_rpy_rate, multiply_quaternions,
    quaternion_to_rotation, rotation_to_nearest_rpy, rpy_to_quaternion, rpy_to_rotation, set_identity,
    set_rotation_about_axis,
)
from mbt._core.algebra.spatial cimport (
    add_cross, add_scaled, copy, cross, negate, rotate, rotate_inverse, set_nan, set_zero, subtract_from,
    transpose3,
)
from mbt._core.algebra.vectors cimport put, vector
from mbt._core.joints.curvilinear cimport calc_path_H, calc_path_Hdot, calc_path_pose
from mbt._core.scalars cimport T, sincos_, sqrt_


# Types -----------------------------------------------------------------------------------------------------------

cdef inline int num_velocities_of(int type) noexcept nogil:
    return MOBILIZER_TYPES[type].num_velocities


cdef inline int orientation_of(int type) noexcept nogil:
    return MOBILIZER_TYPES[type].orientation


cdef inline int num_positions_of(int type) noexcept nogil:
    return num_velocities_of(type) + (1 if orientation_of(type) == QUATERNION else 0)


cdef inline T squared_norm(const T* q) noexcept nogil:
    """Squared norm of a quaternion."""
    return q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3]


cdef inline void calc_X_FM(int type, const double* c, const T* q, T* R, T* p) noexcept nogil:
    cdef int i, j
    cdef T s, cos_q, s1, c1
    cdef T zero = <T>0.0
    if type == REVOLUTE or type == SCREW or type == CYLINDRICAL:
        sincos_(q[0], &s, &cos_q)
        set_rotation_about_axis(c, s, cos_q, R)
        set_zero(p, 3)
        for i in range(3):
            if type == SCREW:
                p[i] = q[0]*(c[3]*c[i])
            elif type == CYLINDRICAL:
                p[i] = q[1]*c[i]
    elif type == PRISMATIC:
        set_identity(R)
        for i in range(3):
            p[i] = q[0]*c[i]
    elif type == QUATERNION_FLOATING or type == QUATERNION_BALL:
        quaternion_to_rotation(q, R)
        if type == QUATERNION_FLOATING:
            copy(q + 4, 3, p)
        else:
            set_zero(p, 3)
    elif type == RPY_FLOATING or type == RPY_BALL:
        rpy_to_rotation(q, R)
        if type == RPY_FLOATING:
            copy(q + 3, 3, p)
        else:
            set_zero(p, 3)
    elif type == UNIVERSAL:
        # Rx(q0) Ry(q1)
        sincos_(q[0], &s, &cos_q)
        sincos_(q[1], &s1, &c1)
        put(vector(c1, zero, s1), R)
        put(vector(s*s1, cos_q, -(s*c1)), R + 3)
        put(vector(-(cos_q*s1), s, cos_q*c1), R + 6)
        set_zero(p, 3)
    elif type == PLANAR:
        sincos_(q[2], &s, &cos_q)
        set_identity(R)
        put(vector(cos_q, -s, zero), R)
        put(vector(s, cos_q, zero), R + 3)
        put(vector(q[0], q[1], zero), p)
    elif type == CURVILINEAR:
        calc_path_pose(c, q[0], &s, R, p)
    elif type == WELD:
        for i in range(3):
            for j in range(3):
                R[3*i + j] = <T>c[4*i + j]
            p[i] = <T>c[4*i + 3]
    else:
        set_nan(R, 9)
        set_nan(p, 3)


cdef inline int has_identity_H_FM(int type) noexcept nogil:
    """1 if v is the angular, then the linear velocity of M in F, in F: H_FM has the first rows of the identity."""
    return 1 if orientation_of(type) != PLAIN else 0


cdef inline void calc_H_FM(int type, const double* c, const T* q, T* H) noexcept nogil:
    cdef int i
    cdef int nv = num_velocities_of(type)
    cdef T s, cos_q
    if is_of_one_axis(type):
        # Six zeros are two stores; an unknown count would need a loop that is slow to start.
        set_zero(H, 6)
        for i in range(3):
            H[(0 if type == REVOLUTE else 3) + i] = <T>c[i]
        return
    set_zero(H, 6*nv)
    if type == SCREW or type == CYLINDRICAL:
        for i in range(3):
            H[i] = <T>c[i]
            H[(3 if type == SCREW else 9) + i] = <T>(c[3]*c[i] if type == SCREW else c[i])
    elif has_identity_H_FM(type):
        for i in range(nv):
            H[7*i] = <T>1.0
    elif type == UNIVERSAL:
        sincos_(q[0], &s, &cos_q)
        H[0] = <T>1.0
        H[7] = cos_q
        H[8] = s
    elif type == PLANAR:
        H[3] = <T>1.0
        H[10] = <T>1.0
        H[14] = <T>1.0
    elif type == CURVILINEAR:
        calc_path_H(c, q[0], H)


cdef inline int has_constant_H_FM(int type) noexcept nogil:
    """1 if H_FM does not depend on q, so that its rate is zero."""
    return 0 if type == UNIVERSAL or type == CURVILINEAR else 1


cdef inline void calc_Hdot_FM(int type, const double* c, const T* q, const T* v, T* Hdot) noexcept nogil:
    cdef T s, cos_q
    set_zero(Hdot, 6*num_velocities_of(type))
    if type == UNIVERSAL:
        sincos_(q[0], &s, &cos_q)
        Hdot[7] = -(s*v[0])
        Hdot[8] = cos_q*v[0]
    elif type == CURVILINEAR:
        calc_path_Hdot(c, q[0], v[0], Hdot)


cdef inline void add_second_rate_FM(int type, const double* c, const T* q, const T* v, int j, T* y) noexcept nogil:
    """y += the change along dof j of Hdot v, v held fixed. Zero where H is constant."""
    cdef T[9] R
    cdef T[3] p
    cdef T s, cos_q, rate
    cdef int i
    if type == UNIVERSAL:
        if j == 0:
            sincos_(q[0], &s, &cos_q)
            rate = v[0]*v[1]
            y[1] = y[1] - cos_q*rate
            y[2] = y[2] - s*rate
    elif type == CURVILINEAR:
        # d/ds (curvature y) = -curvature^2 x
        calc_path_pose(c, q[0], &s, R, p)
        rate = s*s*v[0]*v[0]
        for i in range(3):
            y[3 + i] = y[3 + i] - rate*R[3*i]


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
    """1 where X_FM(q) is undefined or overflows. NaN and infinity do not count: they propagate."""
    cdef double norm_squared
    if orientation_of(type) == QUATERNION:
        norm_squared = q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3]
        if norm_squared > 1e280:
            return 1 if isfinite(q[0]) and isfinite(q[1]) and isfinite(q[2]) and isfinite(q[3]) else 0
        return 1 if norm_squared < 1e-280 else 0
    return 0


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
    cdef T[3] r
    cdef T[4] step, before, after
    cdef T[9] R
    cdef int i
    if orientation != PLAIN:
        for i in range(3):
            r[i] = v[i]*dt
        calc_quaternion_of_rotation_vector(r, step)
    if orientation == QUATERNION:
        multiply_quaternions(step, q0, q1)
    elif orientation == RPY:
        rpy_to_quaternion(q0, before)
        multiply_quaternions(step, before, after)
        quaternion_to_rotation(after, R)
        rotation_to_nearest_rpy(R, q0, q1)
    for i in range(rotational, nv):
        q1[shift + i] = q0[shift + i] + v[i]*dt


cdef inline void difference_position(int type, const T* q0, const T* q1, T* v) noexcept nogil:
    """Find the v that leads from q0 to q1 within one second, by the shortest rotation."""
    cdef int orientation = orientation_of(type)
    cdef int nv = num_velocities_of(type)
    cdef int rotational = 0 if orientation == PLAIN else 3
    cdef int shift = 1 if orientation == QUATERNION else 0
    cdef T[4] before, after
    cdef int i
    if orientation == QUATERNION:
        calc_rotation_vector_between(q0, q1, v)
    elif orientation == RPY:
        rpy_to_quaternion(q0, before)
        rpy_to_quaternion(q1, after)
        calc_rotation_vector_between(before, after, v)
    for i in range(rotational, nv):
        v[i] = q1[shift + i] - q0[shift + i]


cdef inline void normalize_position(int type, const T* q, T* y) noexcept nogil:
    """y = q, with its quaternion normalized."""
    cdef T scale
    cdef int i
    copy(q, num_velocities_of(type), y)
    if orientation_of(type) == QUATERNION:
        scale = <T>1.0/sqrt_(squared_norm(q))
        for i in range(4):
            y[i] = q[i]*scale
        copy(q + 4, num_velocities_of(type) - 3, y + 4)


# Across the mobilizer, from its inboard to its outboard frame --------------------------------------------------
# When the mobilizer is reversed, F is the outboard frame: X_MF = X_FM^-1, and V_MF follows.

cdef inline void calc_across_pose(
    int type, int reversed, const double* c, const T* q, T* R, T* p
) noexcept nogil:
    cdef T[9] R_FM
    cdef T[3] p_FM
    if not reversed:
        calc_X_FM(type, c, q, R, p)
    else:
        calc_X_FM(type, c, q, R_FM, p_FM)
        transpose3(R_FM, R)
        rotate(R, p_FM, p)
        negate(3, p)


cdef inline int is_of_one_axis(int type) noexcept nogil:
    """1 for one dof about or along an axis, which is the same in F and M and is among the effective constants."""
    return 1 if type == REVOLUTE or type == PRISMATIC else 0


cdef inline void calc_across_H(int type, int reversed, const double* c, const T* q, T* H) noexcept nogil:
    cdef T[36] H_FM
    cdef T[9] R_FM
    cdef T[3] p_FM, y
    cdef int k
    if not reversed:
        calc_H_FM(type, c, q, H)
    else:
        # w_MF_M = -R' w, v_MFo_M = R' (w × p - v)
        calc_X_FM(type, c, q, R_FM, p_FM)
        calc_H_FM(type, c, q, H_FM)
        for k in range(num_velocities_of(type)):
            cross(H_FM + 6*k, p_FM, y)
            subtract_from(H_FM + 6*k + 3, 3, y)
            rotate_inverse(R_FM, H_FM + 6*k, H + 6*k)
            rotate_inverse(R_FM, y, H + 6*k + 3)
            negate(3, H + 6*k)


cdef inline void calc_across_Hdot(
    int type, int reversed, const double* c, const T* q, const T* v, T* Hdot
) noexcept nogil:
    cdef T[36] H_FM, Hdot_FM
    cdef T[9] R_FM
    cdef T[3] p_FM
    cdef T[6] V
    cdef T[3] e, y, ydot
    cdef int k
    if not reversed:
        calc_Hdot_FM(type, c, q, v, Hdot)
    else:
        calc_X_FM(type, c, q, R_FM, p_FM)
        calc_H_FM(type, c, q, H_FM)
        calc_Hdot_FM(type, c, q, v, Hdot_FM)
        set_zero(V, 6)
        for k in range(num_velocities_of(type)):
            add_scaled(H_FM + 6*k, v[k], 6, V)
        for k in range(num_velocities_of(type)):
            # d/dt (-R' e) = R' (w × e - edot)
            cross(V, H_FM + 6*k, e)
            subtract_from(Hdot_FM + 6*k, 3, e)
            rotate_inverse(R_FM, e, Hdot + 6*k)
            # d/dt (R' y) = R' (ydot - w × y), y = e × p - u, ydot = edot × p + e × pdot - udot
            cross(H_FM + 6*k, p_FM, y)
            cross(Hdot_FM + 6*k, p_FM, ydot)
            add_cross(H_FM + 6*k, V + 3, ydot)
            subtract_from(H_FM + 6*k + 3, 3, y)
            subtract_from(Hdot_FM + 6*k + 3, 3, ydot)
            add_cross(y, V, ydot)
            rotate_inverse(R_FM, ydot, Hdot + 6*k + 3)


cdef inline void set_effective_constants(
    int type, int reversed, Py_ssize_t count, const double* declared, double* c
) noexcept nogil:
    """Constants as kernels use them: a reversed mobilizer with an axis is a forward one with the opposite axis."""
    cdef int i, j
    for i in range(count):
        c[i] = declared[i]
    if reversed and MOBILIZER_TYPES[type].has_axis:
        for i in range(3):
            c[i] = -declared[i]
    elif reversed and type == WELD:
        for i in range(3):
            for j in range(3):
                c[4*i + j] = declared[4*j + i]
            c[4*i + 3] = -(declared[i]*declared[3] + declared[4 + i]*declared[7] + declared[8 + i]*declared[11])


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
