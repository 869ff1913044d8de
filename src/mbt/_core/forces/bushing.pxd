"""The linear bushing of roll, pitch and yaw between two frames A and C.

Frame B is halfway between A and C: rotated by half the angle, with its origin at the midpoint.
"""

from mbt._core.algebra.records cimport Bushing, Coordinates, Ends
from mbt._core.algebra.rotations cimport rpy_to_quaternion
from mbt._core.algebra.vectors cimport (
    Force, Mat3, Motion, Vec3, cross, dot, entrywise, half, numbers, polynomial, put, times_transposed, transpose,
    vector, vector_at,
)
from mbt._core.forces.numbers cimport BushingNumbers
from mbt._core.scalars cimport T, atan2_, select_lt, sincos_, sqrt_


cdef inline void calc_bushing(const Ends[T]* ends, Bushing[T]* x) noexcept nogil:
    """Angles and displacements between A and C, with their rates."""
    cdef Mat3[T] R = transpose(ends.X_WA.R)*ends.X_WC.R
    cdef Vec3[T] p_W = ends.X_WC.p - ends.X_WA.p
    cdef Vec3[T] e, turn
    cdef T[4] quaternion
    cdef T s, c, sign, e0
    cdef T zero = <T>0.0
    cdef T one = <T>1.0
    # p_AoCo_A, and the velocity of C in A, expressed in A.
    x.p = times_transposed(ends.X_WA.R, p_W)
    x.w = times_transposed(ends.X_WA.R, ends.V_WC.w - ends.V_WA.w)
    x.v = times_transposed(ends.X_WA.R, ends.V_WC.v - ends.V_WA.v + cross(p_W, ends.V_WA.w))
    # R = Rz(yaw) Ry(pitch) Rx(roll)
    x.cos_pitch = sqrt_(R.z.y*R.z.y + R.z.z*R.z.z)
    x.rpy = vector(atan2_(R.z.y, R.z.z), atan2_(-R.z.x, x.cos_pitch), atan2_(R.y.x, R.x.x))
    # rpydot = N w
    sincos_(x.rpy.z, &s, &c)
    x.N.x = vector(c/x.cos_pitch, s/x.cos_pitch, zero)
    x.N.y = vector(-s, c, zero)
    x.N.z = vector(-(R.z.x*x.N.x.x), -(R.z.x*x.N.x.y), one)
    x.rpydot = x.N*x.w
    # Quaternion of R_AC with a nonnegative scalar part, and that of half the rotation.
    rpy_to_quaternion(numbers(x.rpy), quaternion)
    sign = select_lt(quaternion[0], zero, -one, one)
    e0 = sqrt_((quaternion[0]*sign + one)*0.5)
    e = vector_at(&quaternion[1])*sign/(e0*2.0)
    x.R_AB = polynomial(e, e0*2.0, <T>2.0)
    x.r = times_transposed(x.R_AB, x.p)
    # w_AB = (1 + R_AB)^-1 w_AC = (w_AC - tan × w_AC) / 2, with tan = e / e0
    x.tan = e/e0
    turn = cross(x.tan, x.w)
    x.rdot = times_transposed(x.R_AB, x.v + cross(x.p, half(x.w - turn)))
    # w_AC / 2 - w_AB = (tan × w_AC) / 2
    x.drift = times_transposed(x.R_AB, half(cross(x.p, turn)))


cdef inline Vec3[T] calc_tau(const BushingNumbers[T]* c, const Bushing[T]* x) noexcept nogil:
    """Forces tau along the angles; the torque on C is t = N' tau."""
    return -(entrywise(c.torque_stiffness, x.rpy) + entrywise(c.torque_damping, x.rpydot))


cdef inline Vec3[T] calc_f_B(const BushingNumbers[T]* c, const Bushing[T]* x) noexcept nogil:
    """The force on C, in B."""
    return -(entrywise(c.force_stiffness, x.r) + entrywise(c.force_damping, x.rdot + x.drift))


cdef inline void calc_bushing_forces(const BushingNumbers[T]* c, Ends[T]* ends) noexcept nogil:
    """F_A, F_C: the force on C acts at the midpoint, and its opposite on A there."""
    cdef Bushing[T] x
    cdef Vec3[T] t, f, midway
    calc_bushing(ends, &x)
    t = ends.X_WA.R*times_transposed(x.N, calc_tau(c, &x))
    f = ends.X_WA.R*(x.R_AB*calc_f_B(c, &x))
    midway = half(ends.X_WA.R*x.p)
    ends.F_A.f = -f
    ends.F_A.t = cross(midway, ends.F_A.f) - t
    ends.F_C.f = f
    ends.F_C.t = t + cross(-midway, f)


cdef inline T calc_bushing_energy(const BushingNumbers[T]* c, const Ends[T]* ends) noexcept nogil:
    cdef Bushing[T] x
    calc_bushing(ends, &x)
    return (dot(entrywise(c.torque_stiffness, x.rpy), x.rpy) + dot(entrywise(c.force_stiffness, x.r), x.r))*0.5


cdef inline T calc_bushing_power(const BushingNumbers[T]* c, const Ends[T]* ends, bint is_conservative) noexcept nogil:
    """Conservative power, or the rest: the force acts along rdot + drift, but only rdot changes the energy."""
    cdef Bushing[T] x
    cdef Vec3[T] rate
    calc_bushing(ends, &x)
    if is_conservative:
        return -(dot(entrywise(c.torque_stiffness, x.rpy), x.rpydot) + dot(entrywise(c.force_stiffness, x.r), x.rdot))
    rate = x.rdot + x.drift
    return -(
        dot(entrywise(c.torque_damping, x.rpydot), x.rpydot) + dot(entrywise(c.force_damping, rate), rate)
        + dot(entrywise(c.force_stiffness, x.r), x.drift)
    )


cdef inline void calc_bushing_coordinates(
    const BushingNumbers[T]* c, const Ends[T]* ends, Coordinates[T]* y
) noexcept nogil:
    """Angles, displacements, and the rates along which the force acts."""
    cdef Bushing[T] x
    calc_bushing(ends, &x)
    put(x.rpy, y.s)
    put(x.r, y.s + 3)
    put(x.rpydot, y.sdot)
    put(x.rdot + x.drift, y.sdot + 3)
    put(c.torque_stiffness, y.k)
    put(c.force_stiffness, y.k + 3)
    put(c.torque_damping, y.d)
    put(c.force_damping, y.d + 3)


cdef inline T calc_bushing_singularity(const Ends[T]* ends) noexcept nogil:
    """Zero or negative at gimbal lock."""
    cdef Bushing[T] x
    calc_bushing(ends, &x)
    return x.cos_pitch - <T>1e-3


# Change of the force with the motion of C while A rests. `turn` is a small motion of C, `rate` a change of its
# velocity. These, V (the velocity of C less that of A), the force F on C and its change dF are at Ao in World.

cdef inline void calc_bushing_force_change(
    # Parameters:
    const BushingNumbers[T]* c,
    # In:
    const Ends[T]* ends,
    const Motion[T]* turn,  # [rad, m]
    const Motion[T]* rate,  # [rad/s, m/s]
    # Out:
    Force[T]* F,            # [N m, N]
    Force[T]* dF,           # [N m, N]
) noexcept nogil:
    """Expressed in A: R_AC rotates by theta, R_AB by phi; the force acts at the midpoint."""
    cdef Bushing[T] x
    cdef Mat3[T] dN
    cdef Vec3[T] theta = times_transposed(ends.X_WA.R, turn.w)
    cdef Vec3[T] dw = times_transposed(ends.X_WA.R, rate.w)
    cdef Vec3[T] dp, dv, phi, drpy, drpydot, tau, dtau, dr, rdot, drdot, df_B, dt, f, df, midway
    cdef T tan_pitch, by_pitch
    cdef T zero = <T>0.0
    calc_bushing(ends, &x)
    # Displacement and velocity of Co in A.
    dp = times_transposed(ends.X_WA.R, turn.v) + cross(theta, x.p)
    dv = times_transposed(ends.X_WA.R, rate.v) + cross(dw, x.p) + cross(x.w, dp)
    # Torque: tau = -(k rpy + d rpydot), t = N' tau.
    drpy = x.N*theta
    # N = [c/cos p, s/cos p, 0; -s, c, 0; c tan p, s tan p, 1], with s and c of the yaw, p the pitch.
    tan_pitch = x.N.z.x*x.N.y.y - x.N.z.y*x.N.y.x
    by_pitch = drpy.y/x.cos_pitch
    dN.x = vector(
        tan_pitch*x.N.y.y*by_pitch - x.N.x.y*drpy.z, x.N.x.x*drpy.z - tan_pitch*x.N.y.x*by_pitch, zero
    )
    dN.y = vector(-(x.N.y.y*drpy.z), x.N.y.x*drpy.z, zero)
    dN.z = vector(x.N.x.x*by_pitch - x.N.z.y*drpy.z, x.N.x.y*by_pitch + x.N.z.x*drpy.z, zero)
    drpydot = dN*x.w + x.N*dw
    tau = calc_tau(c, &x)
    dtau = -(entrywise(c.torque_stiffness, drpy) + entrywise(c.torque_damping, drpydot))
    dt = times_transposed(x.N, dtau) + times_transposed(dN, tau)
    # Half the rotation: phi = (theta - tan × theta) / 2.
    phi = half(theta - cross(x.tan, theta))
    # Force: f_B = -(K r + D rdot), r = R_BA p, rdot = R_BA (v + p × w / 2).
    rdot = x.v + half(cross(x.p, x.w))
    drdot = dv + half(cross(dp, x.w) + cross(x.p, dw)) + cross(rdot, phi)
    dr = dp + cross(x.p, phi)
    df_B = -(
        entrywise(c.force_stiffness, times_transposed(x.R_AB, dr))
        + entrywise(c.force_damping, times_transposed(x.R_AB, drdot))
    )
    f = x.R_AB*calc_f_B(c, &x)
    df = x.R_AB*df_B + cross(phi, f)
    # At Ao: t + p × f / 2.
    midway = half(x.p)
    F.t = ends.X_WA.R*(times_transposed(x.N, tau) + cross(midway, f))
    F.f = ends.X_WA.R*f
    dF.t = ends.X_WA.R*(dt + cross(half(dp), f) + cross(midway, df))
    dF.f = ends.X_WA.R*df
