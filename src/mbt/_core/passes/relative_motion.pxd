"""Motion of a point fixed to one body, in World and as seen from another body that moves too."""

from mbt._core.algebra.spatial cimport rotate_inverse4, shift_acceleration
from mbt._core.algebra.vectors cimport (
    Motion, Vec3, cross, motion_at, numbers, position_at, put, shifted, vector_at,
)
from mbt._core.scalars cimport T


cdef inline void calc_velocity_of_point(
    # In:
    const T* X_WB,         # (4, 4)  [1, m]
    const T* V_WB,         # (6,)    [rad/s, m/s]
    const T* p_WoBp_W,     # (3,)    [m]
    # Out:
    T* V_WBp,              # (6,)    [rad/s, m/s]
) noexcept nogil:
    put(shifted(motion_at(V_WB), vector_at(p_WoBp_W) - position_at(X_WB)), V_WBp)


cdef inline void calc_acceleration_of_point(
    # In:
    const T* X_WB,         # (4, 4)  [1, m]
    const T* V_WB,         # (6,)    [rad/s, m/s]
    const T* A_WB,         # (6,)    [rad/s^2, m/s^2]
    const T* p_WoBp_W,     # (3,)    [m]
    # Out:
    T* A_WBp,              # (6,)    [rad/s^2, m/s^2]
) noexcept nogil:
    cdef Vec3[T] p_BoBp = vector_at(p_WoBp_W) - position_at(X_WB)
    shift_acceleration(A_WB, V_WB, numbers(p_BoBp), A_WBp)


cdef inline void calc_relative_velocity(
    # In:
    const T* X_WA,         # (4, 4)  [1, m]  the body of reference
    const T* V_WA,         # (6,)    [rad/s, m/s]
    const T* p_WoBp_W,     # (3,)    [m]  the point
    const T* V_WBp,        # (6,)    [rad/s, m/s]
    # Out:
    T* V_ABp,              # (6,)    [rad/s, m/s]  expressed in World
) noexcept nogil:
    """V_ABp = V_WBp - shift(V_WA, p_AoBp)."""
    put(motion_at(V_WBp) - shifted(motion_at(V_WA), vector_at(p_WoBp_W) - position_at(X_WA)), V_ABp)


cdef inline void calc_relative_acceleration(
    # In:
    const T* X_WA,         # (4, 4)  [1, m]  the body of reference
    const T* V_WA,         # (6,)    [rad/s, m/s]
    const T* A_WA,         # (6,)    [rad/s^2, m/s^2]
    const T* p_WoBp_W,     # (3,)    [m]  the point
    const T* V_WBp,        # (6,)    [rad/s, m/s]
    const T* A_WBp,        # (6,)    [rad/s^2, m/s^2]
    # Out:
    T* A_ABp,              # (6,)    [rad/s^2, m/s^2]  expressed in World
) noexcept nogil:
    """A_ABp = A_WBp - shift(A_WA, p_AoBp, w_WA) - [w_WA × w_AB; 2 w_WA × v_ABp]: centripetal and Coriolis terms."""
    cdef Vec3[T] w_WA = vector_at(V_WA)
    cdef Motion[T] V_AB, A_WA_p, turned
    calc_relative_velocity(X_WA, V_WA, p_WoBp_W, V_WBp, numbers(V_AB))
    calc_acceleration_of_point(X_WA, V_WA, A_WA, p_WoBp_W, numbers(A_WA_p))
    V_AB.v = V_AB.v*<T>2.0
    turned.w = cross(w_WA, V_AB.w)
    turned.v = cross(w_WA, V_AB.v)
    put(motion_at(A_WBp) - A_WA_p - turned, A_ABp)


cdef inline void express_spatial(const T* X_WE, const T* V_W, T* V_E) noexcept nogil:
    """V_E = R_EW V_W."""
    rotate_inverse4(X_WE, V_W, V_E)
    rotate_inverse4(X_WE, V_W + 3, V_E + 3)
