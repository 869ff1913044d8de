"""Rotation matrices from angles and quaternions, and the rates of these coordinates.

R = R_FM and w = w_FM_F throughout. `rpy` are roll, pitch and yaw: R = Rz(yaw) Ry(pitch) Rx(roll). A quaternion [w x y
z] need not have unit length.
"""

from libc.math cimport isfinite

from mbt._core.algebra.spatial cimport cross, dot3, set_zero
from mbt._core.scalars cimport T, atan2_, floor_, select_lt, sincos_, sqrt_


cdef inline void set_identity(T* R) noexcept nogil:
    set_zero(R, 9)
    R[0] = <T>1.0
    R[4] = <T>1.0
    R[8] = <T>1.0


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


# Quaternions ----------------------------------------------------------------------------------------------------

cdef inline T squared_norm(const T* q) noexcept nogil:
    return q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3]


cdef inline void normalize_quaternion(const T* q, T* y) noexcept nogil:
    """y = q / |q|."""
    cdef T scale = <T>1.0/sqrt_(squared_norm(q))
    cdef int i
    for i in range(4):
        y[i] = q[i]*scale


cdef inline bint quaternion_is_singular(const double* q) noexcept nogil:
    """Whether its rotation is undefined or overflows. NaN and infinity do not count: they propagate."""
    cdef double square = q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3]
    if square > 1e280:
        return isfinite(q[0]) and isfinite(q[1]) and isfinite(q[2]) and isfinite(q[3])
    return square < 1e-280


cdef inline void quaternion_to_rotation(const T* q, T* R) noexcept nogil:
    """R of q / |q|."""
    cdef T s = <T>2.0 / squared_norm(q)
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


cdef inline void calc_quaternion_rate(const T* q, const T* w, T* qdot) noexcept nogil:
    """qdot = (0, w) q / 2: linear in w, and in q."""
    qdot[0] = (q[1]*w[0] + q[2]*w[1] + q[3]*w[2])*(-0.5)
    qdot[1] = (q[0]*w[0] + q[3]*w[1] - q[2]*w[2])*0.5
    qdot[2] = (q[0]*w[1] + q[1]*w[2] - q[3]*w[0])*0.5
    qdot[3] = (q[0]*w[2] + q[2]*w[0] - q[1]*w[1])*0.5


cdef inline void calc_quaternion_angular_velocity(T norm_squared, const T* q, const T* qdot, T* w) noexcept nogil:
    """w = 2 qdot q* / |q|^2, without the part of qdot along q."""
    cdef T s = <T>2.0 / norm_squared
    w[0] = (q[0]*qdot[1] - q[1]*qdot[0] + q[2]*qdot[3] - q[3]*qdot[2])*s
    w[1] = (q[0]*qdot[2] - q[2]*qdot[0] + q[3]*qdot[1] - q[1]*qdot[3])*s
    w[2] = (q[0]*qdot[3] - q[3]*qdot[0] + q[1]*qdot[2] - q[2]*qdot[1])*s


cdef inline void multiply_quaternions(const T* a, const T* b, T* ab) noexcept nogil:
    """ab = a b: rotation by b, then by a."""
    ab[0] = a[0]*b[0] - a[1]*b[1] - a[2]*b[2] - a[3]*b[3]
    ab[1] = a[0]*b[1] + a[1]*b[0] + a[2]*b[3] - a[3]*b[2]
    ab[2] = a[0]*b[2] + a[2]*b[0] + a[3]*b[1] - a[1]*b[3]
    ab[3] = a[0]*b[3] + a[3]*b[0] + a[1]*b[2] - a[2]*b[1]


cdef inline void calc_quaternion_of_rotation_vector(const T* r, T* q) noexcept nogil:
    """q = [cos h, r sin(h) / 2h], h = |r| / 2: the unit quaternion of the rotation by |r| about r."""
    cdef T h_squared = (r[0]*r[0] + r[1]*r[1] + r[2]*r[2])*0.25
    cdef T tiny = <T>1e-6
    # Series near zero, where h has no derivative; they are exact to rounding there.
    cdef T h = sqrt_(select_lt(h_squared, tiny, <T>1.0, h_squared))
    cdef T s, c, f
    cdef int i
    sincos_(h, &s, &c)
    f = select_lt(
        h_squared, tiny, <T>0.5 - h_squared*(1.0/12.0) + h_squared*h_squared*(1.0/240.0), s*0.5/h
    )
    q[0] = select_lt(h_squared, tiny, <T>1.0 - h_squared*0.5 + h_squared*h_squared*(1.0/24.0), c)
    for i in range(3):
        q[1 + i] = r[i]*f


cdef inline void calc_rotation_vector_between(const T* q0, const T* q1, T* r) noexcept nogil:
    """The shortest r with R1 = exp([r]x) R0, of length at most pi; q0 and q1 may have any norms."""
    cdef T[4] conjugate, d
    cdef T n_squared, n, w_squared, limit, x_squared, f
    cdef int i
    conjugate[0] = q0[0]
    for i in range(1, 4):
        conjugate[i] = -q0[i]
    multiply_quaternions(q1, conjugate, d)
    # d and -d are one rotation: the nearer one has d[0] >= 0.
    f = select_lt(d[0], <T>0.0, <T>(-1.0), <T>1.0)
    for i in range(4):
        d[i] = d[i]*f
    n_squared = d[1]*d[1] + d[2]*d[2] + d[3]*d[3]
    w_squared = d[0]*d[0]
    limit = w_squared*1e-6
    # angle / n = 2 atan2(n, w) / n; a series near zero, where n has no derivative.
    n = sqrt_(select_lt(n_squared, limit, <T>1.0, n_squared))
    f = select_lt(n_squared, limit, <T>1.0, d[0])
    x_squared = n_squared/select_lt(n_squared, limit, w_squared, <T>1.0)
    f = select_lt(
        n_squared, limit,
        (<T>2.0 - x_squared*(2.0/3.0) + x_squared*x_squared*(2.0/5.0))/select_lt(n_squared, limit, d[0], <T>1.0),
        atan2_(n, f)*2.0/n
    )
    for i in range(3):
        r[i] = d[1 + i]*f


cdef inline void calc_rotation_vector(const T* R, T* r) noexcept nogil:
    """The shortest r with R = exp([r]x), of length at most pi."""
    cdef T[16] K
    cdef T[4] none, q
    cdef T largest
    cdef int i, j
    # K = 4 q q'. All its rows are multiples of q; the one with the largest diagonal entry is used.
    K[0] = <T>1.0 + R[0] + R[4] + R[8]
    K[5] = <T>1.0 + R[0] - R[4] - R[8]
    K[10] = <T>1.0 - R[0] + R[4] - R[8]
    K[15] = <T>1.0 - R[0] - R[4] + R[8]
    K[1] = R[7] - R[5]
    K[2] = R[2] - R[6]
    K[3] = R[3] - R[1]
    K[6] = R[1] + R[3]
    K[7] = R[2] + R[6]
    K[11] = R[5] + R[7]
    for i in range(4):
        none[i] = <T>(1.0 if i == 0 else 0.0)
        q[i] = K[i]
        for j in range(i):
            K[4*i + j] = K[4*j + i]
    largest = K[0]
    for i in range(1, 4):
        for j in range(4):
            q[j] = select_lt(largest, K[5*i], K[4*i + j], q[j])
        largest = select_lt(largest, K[5*i], K[5*i], largest)
    calc_rotation_vector_between(none, q, r)


cdef inline void multiply_by_inverse_left_jacobian(const T* r, const T* w, T* y) noexcept nogil:
    """The rate y of the rotation vector r while R = exp([r]x) rotates at w: w - r × w / 2 + k r × (r × w)."""
    cdef T h_squared = dot3(r, r)*0.25
    cdef T tiny = <T>1e-4
    # k = (1 - h cot h) / |r|^2, h = |r| / 2; a series near zero, where h has no derivative.
    cdef T square = select_lt(h_squared, tiny, <T>1.0, h_squared)
    cdef T h = sqrt_(square)
    cdef T s, c, k
    cdef T[3] rw, rrw
    cdef int i
    sincos_(h, &s, &c)
    k = select_lt(
        h_squared, tiny, <T>(1.0/12.0) + h_squared*(1.0/180.0) + h_squared*h_squared*(1.0/1890.0),
        (<T>1.0 - h*c/s)*0.25/square
    )
    cross(r, w, rw)
    cross(r, rw, rrw)
    for i in range(3):
        y[i] = w[i] - rw[i]*0.5 + rrw[i]*k


# Roll, pitch and yaw --------------------------------------------------------------------------------------------

cdef inline void rpy_to_rotation(const T* rpy, T* R) noexcept nogil:
    cdef T sr, cr, sp, cp, sy, cy
    sincos_(rpy[0], &sr, &cr)
    sincos_(rpy[1], &sp, &cp)
    sincos_(rpy[2], &sy, &cy)
    R[0] = cy*cp
    R[1] = cy*sp*sr - sy*cr
    R[2] = cy*sp*cr + sy*sr
    R[3] = sy*cp
    R[4] = sy*sp*sr + cy*cr
    R[5] = sy*sp*cr - cy*sr
    R[6] = -sp
    R[7] = cp*sr
    R[8] = cp*cr


cdef inline void calc_rpy_rate(const T* rpy, const T* w, T* rate) noexcept nogil:
    """rate = N(rpy) w, undefined where cos(pitch) = 0."""
    cdef T sp, cp, sy, cy
    sincos_(rpy[1], &sp, &cp)
    sincos_(rpy[2], &sy, &cy)
    rate[0] = (cy*w[0] + sy*w[1])/cp
    rate[1] = cy*w[1] - sy*w[0]
    rate[2] = w[2] + sp*rate[0]


cdef inline void calc_rpy_angular_velocity(const T* rpy, const T* rate, T* w) noexcept nogil:
    """w = N+(rpy) rate = roll' (cos yaw cos pitch, sin yaw cos pitch, -sin pitch) + pitch' (-sin yaw, cos yaw, 0)
    + yaw' (0, 0, 1).
    """
    cdef T sp, cp, sy, cy
    sincos_(rpy[1], &sp, &cp)
    sincos_(rpy[2], &sy, &cy)
    w[0] = cy*cp*rate[0] - sy*rate[1]
    w[1] = sy*cp*rate[0] + cy*rate[1]
    w[2] = rate[2] - sp*rate[0]


cdef inline void apply_rpy_Ndot(const T* rpy, const T* rate, const T* x, T* y) noexcept nogil:
    """y = Ndot x while rpy changes at `rate`."""
    cdef T sp, cp, sy, cy, u, udot
    sincos_(rpy[1], &sp, &cp)
    sincos_(rpy[2], &sy, &cy)
    # N x = (u, cos yaw x1 - sin yaw x0, x2 + sin pitch u), u = (cos yaw x0 + sin yaw x1) / cos pitch
    u = (cy*x[0] + sy*x[1])/cp
    udot = ((cy*x[1] - sy*x[0])*rate[2] + sp*u*rate[1])/cp
    y[0] = udot
    y[1] = -((sy*x[1] + cy*x[0])*rate[2])
    y[2] = cp*rate[1]*u + sp*udot


cdef inline void apply_rpy_Nplusdot(const T* rpy, const T* rate, const T* x, T* y) noexcept nogil:
    """y = N+dot x while rpy changes at `rate`."""
    cdef T sp, cp, sy, cy, along, across
    sincos_(rpy[1], &sp, &cp)
    sincos_(rpy[2], &sy, &cy)
    # d/dt (cos pitch x0), and the contribution of the yaw rate
    along = -(sp*rate[1]*x[0]) - rate[2]*x[1]
    across = cp*x[0]*rate[2]
    y[0] = cy*along - sy*across
    y[1] = sy*along + cy*across
    y[2] = -(cp*rate[1]*x[0])


cdef inline void rpy_to_quaternion(const T* rpy, T* q) noexcept nogil:
    """The unit quaternion of Rz(yaw) Ry(pitch) Rx(roll)."""
    cdef T sr, cr, sp, cp, sy, cy
    sincos_(rpy[0]*0.5, &sr, &cr)
    sincos_(rpy[1]*0.5, &sp, &cp)
    sincos_(rpy[2]*0.5, &sy, &cy)
    q[0] = cy*cp*cr + sy*sp*sr
    q[1] = cy*cp*sr - sy*sp*cr
    q[2] = cy*sp*cr + sy*cp*sr
    q[3] = sy*cp*cr - cy*sp*sr


cdef inline T nearest_turn(T angle, T target) noexcept nogil:
    """The angle plus the whole turns that bring it nearest to `target`."""
    cdef double turn = 6.283185307179586
    return angle + floor_((target - angle)*(1.0/turn) + <T>0.5)*turn


cdef inline void rotation_to_rpy(const T* R, T target_yaw, const T* target, T* rpy) noexcept nogil:
    """The angles of R near `target`; yaw is that of R's first column or its opposite, chosen by `target_yaw`."""
    cdef T sy, cy
    sincos_(target_yaw, &sy, &cy)
    # Rz(-yaw) R = Ry(pitch) Rx(roll), with any yaw at gimbal lock
    rpy[0] = nearest_turn(atan2_(sy*R[2] - cy*R[5], cy*R[4] - sy*R[1]), target[0])
    rpy[1] = nearest_turn(atan2_(-R[6], cy*R[0] + sy*R[3]), target[1])
    rpy[2] = nearest_turn(target_yaw, target[2])


cdef inline void rotation_to_nearest_rpy(const T* R, const T* target, T* rpy) noexcept nogil:
    """Of all angles that give R, those nearest to `target`: there are two families, half turns apart."""
    cdef double half_turn = 3.141592653589793
    cdef T[3] a, b
    cdef T distance_a = <T>0.0
    cdef T distance_b = <T>0.0
    cdef T level = R[0]*R[0] + R[3]*R[3]
    cdef T yaw
    cdef int i
    # At gimbal lock, cos(pitch) = 0, any yaw will do.
    yaw = select_lt(level, <T>1e-24, target[2], atan2_(R[3], select_lt(level, <T>1e-24, <T>1.0, R[0])))
    rotation_to_rpy(R, yaw, target, a)
    rotation_to_rpy(R, yaw + <T>half_turn, target, b)
    for i in range(3):
        distance_a = distance_a + (a[i] - target[i])*(a[i] - target[i])
        distance_b = distance_b + (b[i] - target[i])*(b[i] - target[i])
    for i in range(3):
        rpy[i] = select_lt(distance_b, distance_a, b[i], a[i])
