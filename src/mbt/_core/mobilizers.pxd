"""The mobilizers, and the only place that knows one type from another.

A type is its pose X_FM, its motion axes H_FM with their rate, and the map between v and qdot. A new one needs a number
in `MobilizerType`, its case in the functions from `num_velocities_of` to `position_is_singular`, and one Python file.

`c` are the constants of the mobilizer, as many as its type has. H has one row per dof: [angular; linear], velocity of
M in F, in F.
"""

from libc.math cimport isfinite

from mbt._core.scalars cimport T, sincos_
from mbt._core.spatial cimport add_cross, copy, cross, rotate, rotate_inverse, set_zero, transpose3


cpdef enum MobilizerType:
    WELD = 0
    REVOLUTE = 1
    PRISMATIC = 2
    QUATERNION_FLOATING = 3


# What a type is ------------------------------------------------------------------------------------------------

cdef inline int num_velocities_of(int type) noexcept nogil:
    return 0 if type == WELD else 6 if type == QUATERNION_FLOATING else 1


cdef inline void calc_X_FM(int type, const double* c, const T* q, T* R, T* p) noexcept nogil:
    cdef int i, j
    cdef T s, cos_q
    if type == REVOLUTE:
        sincos_(q[0], &s, &cos_q)
        set_rotation_about_axis(c, s, cos_q, R)
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


cdef inline void set_rotation_about_axis(const double* axis, T s, T cos_q, T* R) noexcept nogil:
    """R = cos 1 + sin [axis]x + (1 - cos) axis axis'."""
    cdef T versine = <T>1.0 - cos_q
    cdef int i, j
    for i in range(3):
        for j in range(3):
            R[3*i + j] = versine*(axis[i]*axis[j])
        R[4*i] = R[4*i] + cos_q
    R[1] = R[1] - s*axis[2]
    R[2] = R[2] + s*axis[1]
    R[3] = R[3] + s*axis[2]
    R[5] = R[5] - s*axis[0]
    R[6] = R[6] - s*axis[1]
    R[7] = R[7] + s*axis[0]


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
    """1 where X_FM(q) is undefined, or out of the range of doubles. NaN and infinity are not: they propagate."""
    cdef double norm_squared
    if type == QUATERNION_FLOATING:
        norm_squared = q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3]
        if norm_squared > 1e280:
            return 1 if isfinite(q[0]) and isfinite(q[1]) and isfinite(q[2]) and isfinite(q[3]) else 0
        return 1 if norm_squared < 1e-280 else 0
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


cdef inline int has_axis(int type) noexcept nogil:
    """1 for one dof about or along an axis, the same in F and in M, that the effective constants hold."""
    return 1 if type == REVOLUTE or type == PRISMATIC else 0


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


cdef inline void set_effective_constants(
    int type, int reversed, Py_ssize_t count, const double* declared, double* c
) noexcept nogil:
    """Constants as kernels use them: a reversed mobilizer of one dof is a forward one with the opposite axis."""
    cdef int i, j
    for i in range(count):
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


# How the hot kernels treat it, see node_joints.pxd --------------------------------------------------------------

cdef enum:
    GENERAL = 0
    REVOLUTE_Z = 1
    PRISMATIC_Z = 2


cdef inline int kind_of(int type) noexcept nogil:
    return REVOLUTE_Z if type == REVOLUTE else PRISMATIC_Z if type == PRISMATIC else GENERAL
