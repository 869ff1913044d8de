"""Motion of a point fixed to one body, in World and as seen from another body that moves too."""

from mbt._core.algebra.vectors cimport Motion, Vec3, cross, motion_at, position_at, shifted, twice, vector_at
from mbt._core.scalars cimport T


cdef inline Motion[T] velocity_of_point(
    # In:
    const T* X_WB,            # (4, 4)  [1, m]
    const T* V_WB,            # (6,)    [rad/s, m/s]
    const Vec3[T]& p_WoBp_W,  # [m]
) noexcept nogil:
    """V_WBp = shift(V_WB, p_BoBp)."""
    return shifted(motion_at(V_WB), p_WoBp_W - position_at(X_WB))


cdef inline Motion[T] acceleration_of_point(
    # In:
    const T* X_WB,            # (4, 4)  [1, m]
    const T* V_WB,            # (6,)    [rad/s, m/s]
    const T* A_WB,            # (6,)    [rad/s^2, m/s^2]
    const Vec3[T]& p_WoBp_W,  # [m]
) noexcept nogil:
    """A_WBp = [alpha; a + alpha × p_BoBp + w × (w × p_BoBp)]."""
    cdef Vec3[T] p_BoBp = p_WoBp_W - position_at(X_WB)
    cdef Vec3[T] w = vector_at(V_WB)
    cdef Vec3[T] v = cross(w, p_BoBp)
    cdef Motion[T] A = motion_at(A_WB)
    A.v = A.v + cross(A.w, p_BoBp) + cross(w, v)
    return A


cdef inline Motion[T] relative_velocity(
    # In:
    const T* X_WA,            # (4, 4)  [1, m]  the body of reference
    const T* V_WA,            # (6,)    [rad/s, m/s]
    const Vec3[T]& p_WoBp_W,  # [m]  the point
    const Motion[T]& V_WBp,   # [rad/s, m/s]
) noexcept nogil:
    """V_ABp = V_WBp - shift(V_WA, p_AoBp), expressed in World."""
    return V_WBp - velocity_of_point(X_WA, V_WA, p_WoBp_W)


cdef inline Motion[T] relative_acceleration(
    # In:
    const T* X_WA,            # (4, 4)  [1, m]  the body of reference
    const T* V_WA,            # (6,)    [rad/s, m/s]
    const T* A_WA,            # (6,)    [rad/s^2, m/s^2]
    const Vec3[T]& p_WoBp_W,  # [m]  the point
    const Motion[T]& V_WBp,   # [rad/s, m/s]
    const Motion[T]& A_WBp,   # [rad/s^2, m/s^2]
) noexcept nogil:
    """A_ABp = A_WBp - shift(A_WA, p_AoBp, w_WA) - [w_WA × w_AB; 2 w_WA × v_ABp]: centripetal and Coriolis terms.

    Expressed in World.
    """
    cdef Vec3[T] w_WA = vector_at(V_WA)
    cdef Motion[T] V_AB = relative_velocity(X_WA, V_WA, p_WoBp_W, V_WBp)
    cdef Motion[T] turned
    V_AB.v = twice(V_AB.v)
    turned.w = cross(w_WA, V_AB.w)
    turned.v = cross(w_WA, V_AB.v)
    return A_WBp - acceleration_of_point(X_WA, V_WA, A_WA, p_WoBp_W) - turned
