"""The linear bushing of roll, pitch and yaw between two frames A and C.

Frame B is half the rotation from A to C, its origin midway.

c = [stiffness (3) and damping (3) of the torque, stiffness (3) and damping (3) of the force]
"""

from mbt._core.algebra.records cimport Bushing, Coordinates, Ends
from mbt._core.algebra.spatial cimport (
    add_cross, add_to, copy, cross, multiply_inverse_rotations4, negate, position_between4, rotate, rotate4,
    rotate_inverse, rotate_inverse4, subtract,
)
from mbt._core.scalars cimport T, atan2_, select_lt, sincos_, sqrt_


cdef inline void calc_bushing(const Ends[T]* ends, Bushing[T]* x) noexcept nogil:
    """Angles and displacements between A and C, with their rates."""
    cdef const T* X_WA = &ends.X_WA[0]
    cdef const T* V_WA = &ends.V_WA[0]
    cdef const T* X_WC = &ends.X_WC[0]
    cdef const T* V_WC = &ends.V_WC[0]
    cdef T[9] R
    cdef T[3] w_W, v_W, p_W
    cdef T[4] e
    cdef T[3] half, s, k, w_AB, y
    cdef T e0, sign
    cdef int i
    # R_AC, p_AoCo_A, and the velocity of C in A, expressed in A.
    multiply_inverse_rotations4(X_WA, X_WC, R)
    position_between4(X_WA, X_WC, p_W)
    subtract(V_WC, V_WA, 3, w_W)
    subtract(V_WC + 3, V_WA + 3, 3, v_W)
    cross(p_W, V_WA, y)
    add_to(y, 3, v_W)
    rotate_inverse4(X_WA, p_W, x.p)
    rotate_inverse4(X_WA, w_W, x.w)
    rotate_inverse4(X_WA, v_W, x.v)
    # R = Rz(yaw) Ry(pitch) Rx(roll)
    x.cos_pitch = sqrt_(R[7]*R[7] + R[8]*R[8])
    x.rpy[0] = atan2_(R[7], R[8])
    x.rpy[1] = atan2_(-R[6], x.cos_pitch)
    x.rpy[2] = atan2_(R[3], R[0])
    # rpydot = N w
    sincos_(x.rpy[2], &s[0], &k[0])
    x.N[0] = k[0]/x.cos_pitch
    x.N[1] = s[0]/x.cos_pitch
    x.N[2] = <T>0.0
    x.N[3] = -s[0]
    x.N[4] = k[0]
    x.N[5] = <T>0.0
    x.N[6] = -(R[6]*x.N[0])
    x.N[7] = -(R[6]*x.N[1])
    x.N[8] = <T>1.0
    rotate(x.N, x.w, x.rpydot)
    # Quaternion of R_AC with a scalar part that is not negative, and of half that rotation.
    for i in range(3):
        half[i] = x.rpy[i]*0.5
        sincos_(half[i], &s[i], &k[i])
    e[0] = k[0]*k[1]*k[2] + s[0]*s[1]*s[2]
    e[1] = s[0]*k[1]*k[2] - k[0]*s[1]*s[2]
    e[2] = k[0]*s[1]*k[2] + s[0]*k[1]*s[2]
    e[3] = k[0]*k[1]*s[2] - s[0]*s[1]*k[2]
    sign = select_lt(e[0], <T>0.0, <T>-1.0, <T>1.0)
    e0 = sqrt_((e[0]*sign + <T>1.0)*0.5)
    e[0] = e0
    for i in range(3):
        e[1 + i] = e[1 + i]*sign/(e0*2.0)
    x.R_AB[0] = <T>1.0 - (e[2]*e[2] + e[3]*e[3])*2.0
    x.R_AB[1] = (e[1]*e[2] - e[0]*e[3])*2.0
    x.R_AB[2] = (e[1]*e[3] + e[0]*e[2])*2.0
    x.R_AB[3] = (e[1]*e[2] + e[0]*e[3])*2.0
    x.R_AB[4] = <T>1.0 - (e[1]*e[1] + e[3]*e[3])*2.0
    x.R_AB[5] = (e[2]*e[3] - e[0]*e[1])*2.0
    x.R_AB[6] = (e[1]*e[3] - e[0]*e[2])*2.0
    x.R_AB[7] = (e[2]*e[3] + e[0]*e[1])*2.0
    x.R_AB[8] = <T>1.0 - (e[1]*e[1] + e[2]*e[2])*2.0
    rotate_inverse(x.R_AB, x.p, x.r)
    # w_AB = (1 + R_AB)^-1 w_AC = (w_AC - tan × w_AC) / 2, with tan = e_vector / e_0
    for i in range(3):
        half[i] = e[1 + i]/e0
    cross(half, x.w, y)
    for i in range(3):
        w_AB[i] = (x.w[i] - y[i])*0.5
    cross(x.p, w_AB, y)
    add_to(x.v, 3, y)
    rotate_inverse(x.R_AB, y, x.rdot)
    # w_AC / 2 - w_AB = (tan × w_AC) / 2
    cross(half, x.w, y)
    for i in range(3):
        half[i] = y[i]*0.5
    cross(x.p, half, y)
    rotate_inverse(x.R_AB, y, x.drift)


cdef inline void calc_bushing_force(const T* c, const Ends[T]* ends, T* p_AoCo_W, T* F_C_W) noexcept nogil:
    """The force on C at the point midway, in World."""
    cdef Bushing[T] x
    cdef T[3] tau, f_B
    cdef T[6] F_A
    cdef int i
    calc_bushing(ends, &x)
    for i in range(3):
        tau[i] = -(c[i]*x.rpy[i] + c[3 + i]*x.rpydot[i])
        f_B[i] = -(c[6 + i]*x.r[i] + c[9 + i]*(x.rdot[i] + x.drift[i]))
    # t = N' tau
    rotate_inverse(x.N, tau, F_A)
    rotate(x.R_AB, f_B, F_A + 3)
    rotate4(ends.X_WA, x.p, p_AoCo_W)
    rotate4(ends.X_WA, F_A, F_C_W)
    rotate4(ends.X_WA, F_A + 3, F_C_W + 3)


cdef inline void calc_bushing_forces(const T* c, Ends[T]* x) noexcept nogil:
    """F_A, F_C: on C at the point midway, and the opposite on A there."""
    cdef T[3] p
    cdef int i
    calc_bushing_force(c, x, p, x.F_C)
    for i in range(6):
        x.F_A[i] = -x.F_C[i]
    for i in range(3):
        p[i] = p[i]*0.5
    add_cross(p, &x.F_A[3], x.F_A)
    negate(3, p)
    add_cross(p, &x.F_C[3], x.F_C)


cdef inline T calc_bushing_energy(const T* c, const Ends[T]* x) noexcept nogil:
    cdef Bushing[T] bushing
    cdef T energy = <T>0.0
    cdef int i
    calc_bushing(x, &bushing)
    for i in range(3):
        energy = energy + c[i]*bushing.rpy[i]*bushing.rpy[i]*0.5 + c[6 + i]*bushing.r[i]*bushing.r[i]*0.5
    return energy


cdef inline T calc_bushing_conservative_power(const T* c, const Ends[T]* x) noexcept nogil:
    cdef Bushing[T] bushing
    cdef T power = <T>0.0
    cdef int i
    calc_bushing(x, &bushing)
    for i in range(3):
        power = power - c[i]*bushing.rpy[i]*bushing.rpydot[i] - c[6 + i]*bushing.r[i]*bushing.rdot[i]
    return power


cdef inline T calc_bushing_other_power(const T* c, const Ends[T]* x) noexcept nogil:
    cdef Bushing[T] bushing
    cdef T power = <T>0.0
    cdef T rate
    cdef int i
    calc_bushing(x, &bushing)
    for i in range(3):
        # The force acts along `rate`, of which only rdot changes the energy.
        rate = bushing.rdot[i] + bushing.drift[i]
        power = power - c[3 + i]*bushing.rpydot[i]*bushing.rpydot[i] - c[9 + i]*rate*rate
        power = power - c[6 + i]*bushing.r[i]*bushing.drift[i]
    return power


cdef inline void calc_bushing_coordinates(const T* c, const Ends[T]* x, Coordinates[T]* y) noexcept nogil:
    """Angles, displacements, and the rates along which the force acts."""
    cdef Bushing[T] bushing
    cdef int i
    calc_bushing(x, &bushing)
    for i in range(3):
        y.s[i], y.sdot[i] = bushing.rpy[i], bushing.rpydot[i]
        y.s[3 + i], y.sdot[3 + i] = bushing.r[i], bushing.rdot[i] + bushing.drift[i]
        y.k[i], y.d[i] = c[i], c[3 + i]
        y.k[3 + i], y.d[3 + i] = c[6 + i], c[9 + i]


cdef inline T calc_bushing_singularity(const Ends[T]* x) noexcept nogil:
    """Not positive in gimbal lock."""
    cdef Bushing[T] bushing
    calc_bushing(x, &bushing)
    return bushing.cos_pitch - <T>1e-3


# How the force changes with the motion of C while A rests.
# `turn` is a small motion of C, `rate` a change of its velocity; both, as V, the velocity of C less that of A, are
# spatial vectors at Ao in World, as are the force F on C and its change dF.

cdef inline void calc_bushing_force_change(
    # Parameters:
    const T* c,     # (num_parameters_of,)  [SI]  of the element
    # In:
    const Ends[T]* ends,
    const T* V,     # (6,)                  [rad/s, m/s]
    const T* turn,  # (6,)                  [rad, m]
    const T* rate,  # (6,)                  [rad/s, m/s]
    # Out:
    T* F,           # (6,)                  [N m, N]
    T* dF,          # (6,)                  [N m, N]
) noexcept nogil:
    """Expressed in A: R_AC turns by theta, R_AB by phi; the force acts midway."""
    cdef Bushing[T] x
    cdef T[6] turn_A, rate_A
    cdef T[3] dp, dv, tan, phi, drpy, drpydot
    cdef T[9] dN
    cdef T[3] tau, dtau, rdot, drdot, dr, f_B, df_B, y
    cdef T[6] F_A, dF_A
    cdef T trace, tan_pitch, by_pitch
    cdef int i
    calc_bushing(ends, &x)
    rotate_inverse4(ends.X_WA, turn, turn_A)
    rotate_inverse4(ends.X_WA, turn + 3, turn_A + 3)
    rotate_inverse4(ends.X_WA, rate, rate_A)
    rotate_inverse4(ends.X_WA, rate + 3, rate_A + 3)
    # Displacement and velocity of Co in A.
    copy(turn_A + 3, 3, dp)
    add_cross(turn_A, x.p, dp)
    copy(rate_A + 3, 3, dv)
    add_cross(rate_A, x.p, dv)
    add_cross(x.w, dp, dv)
    # Torque: tau = -(k rpy + d rpydot), t = N' tau.
    rotate(x.N, turn_A, drpy)
    # N = [c/cos p, s/cos p, 0; -s, c, 0; c tan p, s tan p, 1], s and c of the yaw, p the pitch.
    tan_pitch = x.N[6]*x.N[4] - x.N[7]*x.N[3]
    by_pitch = drpy[1]/x.cos_pitch
    dN[0] = tan_pitch*x.N[4]*by_pitch - x.N[1]*drpy[2]
    dN[1] = x.N[0]*drpy[2] - tan_pitch*x.N[3]*by_pitch
    dN[2] = <T>0.0
    dN[3] = -(x.N[4]*drpy[2])
    dN[4] = x.N[3]*drpy[2]
    dN[5] = <T>0.0
    dN[6] = x.N[0]*by_pitch - x.N[7]*drpy[2]
    dN[7] = x.N[1]*by_pitch + x.N[6]*drpy[2]
    dN[8] = <T>0.0
    rotate(dN, x.w, drpydot)
    rotate(x.N, rate_A, y)
    for i in range(3):
        drpydot[i] = drpydot[i] + y[i]
        tau[i] = -(c[i]*x.rpy[i] + c[3 + i]*x.rpydot[i])
        dtau[i] = -(c[i]*drpy[i] + c[3 + i]*drpydot[i])
    rotate_inverse(x.N, tau, F_A)
    rotate_inverse(x.N, dtau, dF_A)
    rotate_inverse(dN, tau, y)
    add_to(y, 3, dF_A)
    # Half the rotation: phi = (theta - tan × theta) / 2.
    trace = x.R_AB[0] + x.R_AB[4] + x.R_AB[8] + <T>1.0
    tan[0] = (x.R_AB[7] - x.R_AB[5])/trace
    tan[1] = (x.R_AB[2] - x.R_AB[6])/trace
    tan[2] = (x.R_AB[3] - x.R_AB[1])/trace
    cross(tan, turn_A, y)
    for i in range(3):
        phi[i] = (turn_A[i] - y[i])*0.5
    # Force: f_B = -(K r + D rdot), r = R_BA p, rdot = R_BA (v + p × w / 2).
    cross(x.p, x.w, rdot)
    cross(dp, x.w, drdot)
    add_cross(x.p, rate_A, drdot)
    for i in range(3):
        rdot[i] = x.v[i] + rdot[i]*0.5
        drdot[i] = dv[i] + drdot[i]*0.5
    add_cross(rdot, phi, drdot)
    add_cross(x.p, phi, dp)
    rotate_inverse(x.R_AB, rdot, y)
    for i in range(3):
        f_B[i] = -(c[6 + i]*x.r[i] + c[9 + i]*y[i])
    rotate_inverse(x.R_AB, dp, dr)
    rotate_inverse(x.R_AB, drdot, y)
    for i in range(3):
        df_B[i] = -(c[6 + i]*dr[i] + c[9 + i]*y[i])
    rotate(x.R_AB, f_B, F_A + 3)
    rotate(x.R_AB, df_B, dF_A + 3)
    add_cross(phi, F_A + 3, dF_A + 3)
    # At Ao: t + p × f / 2.
    cross(x.p, phi, y)
    for i in range(3):
        dp[i] = (dp[i] - y[i])*0.5
        y[i] = x.p[i]*0.5
    add_cross(y, F_A + 3, F_A)
    add_cross(dp, F_A + 3, dF_A)
    add_cross(y, dF_A + 3, dF_A)
    for i in range(2):
        rotate4(ends.X_WA, F_A + 3*i, F + 3*i)
        rotate4(ends.X_WA, dF_A + 3*i, dF + 3*i)
