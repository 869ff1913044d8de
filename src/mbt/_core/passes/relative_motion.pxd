"""Motion of a point fixed to one body, in World and as seen from another body that moves too."""

from mbt._core.algebra.spatial cimport (
    cross, position_from4, rotate_inverse4, shift_acceleration, shift_velocity, subtract,
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
    cdef T[3] p
    position_from4(X_WB, p_WoBp_W, p)
    shift_velocity(V_WB, p, V_WBp)


cdef inline void calc_acceleration_of_point(
    # In:
    const T* X_WB,         # (4, 4)  [1, m]
    const T* V_WB,         # (6,)    [rad/s, m/s]
    const T* A_WB,         # (6,)    [rad/s^2, m/s^2]
    const T* p_WoBp_W,     # (3,)    [m]
    # Out:
    T* A_WBp,              # (6,)    [rad/s^2, m/s^2]
) noexcept nogil:
    cdef T[3] p
    position_from4(X_WB, p_WoBp_W, p)
    shift_acceleration(A_WB, V_WB, p, A_WBp)


cdef inline void calc_relative_velocity(
    # In:
    const T* X_WA,         # (4, 4)  [1, m]  the body that is measured in
    const T* V_WA,         # (6,)    [rad/s, m/s]
    const T* p_WoBp_W,     # (3,)    [m]  the point
    const T* V_WBp,        # (6,)    [rad/s, m/s]
    # Out:
    T* V_ABp,              # (6,)    [rad/s, m/s]  expressed in World
) noexcept nogil:
    """V_ABp = V_WBp - shift(V_WA, p_AoBp)."""
    cdef T[6] V_WAp
    calc_velocity_of_point(X_WA, V_WA, p_WoBp_W, V_WAp)
    subtract(V_WBp, V_WAp, 6, V_ABp)


cdef inline void calc_relative_acceleration(
    # In:
    const T* X_WA,         # (4, 4)  [1, m]  the body that is measured in
    const T* V_WA,         # (6,)    [rad/s, m/s]
    const T* A_WA,         # (6,)    [rad/s^2, m/s^2]
    const T* p_WoBp_W,     # (3,)    [m]  the point
    const T* V_WBp,        # (6,)    [rad/s, m/s]
    const T* A_WBp,        # (6,)    [rad/s^2, m/s^2]
    # Out:
    T* A_ABp,              # (6,)    [rad/s^2, m/s^2]  expressed in World
) noexcept nogil:
    """A_ABp = A_WBp - shift(A_WA, p_AoBp, w_WA) - [w_WA × w_AB; 2 w_WA × v_ABp]: centripetal and Coriolis terms."""
    cdef T[6] V_ABp, A_WAp
    cdef T[3] y
    cdef int i
    calc_relative_velocity(X_WA, V_WA, p_WoBp_W, V_WBp, V_ABp)
    calc_acceleration_of_point(X_WA, V_WA, A_WA, p_WoBp_W, A_WAp)
    cross(V_WA, V_ABp, y)
    for i in range(3):
        A_ABp[i] = A_WBp[i] - A_WAp[i] - y[i]
    cross(V_WA, V_ABp + 3, y)
    for i in range(3):
        A_ABp[3 + i] = A_WBp[3 + i] - A_WAp[3 + i] - y[i]*2.0


cdef inline void express_spatial(const T* X_WE, const T* V_W, T* V_E) noexcept nogil:
    """V_E = R_EW V_W."""
    rotate_inverse4(X_WE, V_W, V_E)
    rotate_inverse4(X_WE, V_W + 3, V_E + 3)
