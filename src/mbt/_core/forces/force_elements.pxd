"""The force elements of the compiled core, and the only place that knows one type from another.

A type is its force, its potential energy, and the part of its power that changes that energy. A new one needs a number
in `ForceElementType`, its case in the functions here, and one Python file.

`c` are the numbers of one element, parameters of a Context: see `ForceElementType`.
"""

from mbt._core.algebra.records cimport Bushing, Contact, Ends, Stretch
from mbt._core.algebra.spatial cimport (
    add_cross, copy, cross, dot3, rotate, rotate4, rotate_inverse, rotate_inverse4, set_zero,
)
from mbt._core.forces.point_contact cimport (
    NUM_CONTACT_CONSTANTS, calc_contact, calc_contact_force_change, calc_contact_forces_on_ends,
)
from mbt._core.model.structs cimport ForceElement
from mbt._core.scalars cimport T, atan2_, select_lt, sincos_, sqrt_, tanh_


cpdef enum ForceElementType:
    # On one dof, of its position and velocity.
    JOINT_SPRING             # nominal position, stiffness
    DOOR_HINGE               # q_s0, k_ts, k_df, k_sf, k_vf, q_c0 (width of the catch), k_c, motion threshold
    JOINT_FRICTION           # Coulomb, breakaway, Stribeck velocity, transition velocity
    # Between two frames A and C.
    LINEAR_SPRING_DAMPER     # free length, stiffness, damping, p_AP (3), p_CQ (3)
    LINEAR_BUSHING_RPY       # stiffness (3) and damping (3) of the torque, stiffness (3) and damping (3) of the force
    POINT_CONTACT            # see point_contact.pxd; as many points as there are


cpdef enum ConstraintType:
    # Each begins with natural frequency and damping ratio of its stabilization.
    BALL
    WELD
    DISTANCE                 # distance, p_AP (3), p_BQ (3)
    COUPLER                  # gear ratio, offset


cdef inline int acts_on_joint(int type) noexcept nogil:
    """1 for an element on one dof, 0 for one between two frames."""
    return 1 if type <= JOINT_FRICTION else 0


cdef inline int takes_num_parameters(int type, int count) noexcept nogil:
    """1 where an element of a type may have so many numbers."""
    if type == POINT_CONTACT:
        return 1 if num_points_of(type, count) > 0 and (count - NUM_CONTACT_CONSTANTS) % 3 == 0 else 0
    return 1 if count == (
        2 if type == JOINT_SPRING else 8 if type == DOOR_HINGE else 4 if type == JOINT_FRICTION
        else 9 if type == LINEAR_SPRING_DAMPER else 12
    ) else 0


cdef inline int num_points_of(int type, int count) noexcept nogil:
    """Points in contact of an element with so many numbers."""
    return (count - NUM_CONTACT_CONSTANTS)//3 if type == POINT_CONTACT else 0


# On one dof -----------------------------------------------------------------------------------------------------

cdef inline T calc_joint_conservative_force(int type, const T* c, T q) noexcept nogil:
    """-dPE/dq."""
    cdef T force
    if type == JOINT_SPRING:
        return (c[0] - q)*c[1]
    if type == DOOR_HINGE:
        # Torsional spring, and the catch: a doublet of tanh, which attracts to the middle of its width.
        force = (c[0] - q)*c[1]
        return force + c[6]*step_doublet(c[5]*0.5, q - c[5]*0.5)
    return <T>0.0


cdef inline T calc_joint_dissipative_force(int type, const T* c, T v) noexcept nogil:
    """The part of the force that takes energy away."""
    cdef T force, ratio
    if type == DOOR_HINGE:
        force = c[2]*smooth_step(c[7], v) + c[3]*step_doublet(c[7], v) + c[4]*v
        return -force
    if type == JOINT_FRICTION:
        # From breakaway friction at rest to Coulomb friction in motion (Stribeck); tanh in place of the sign of v.
        ratio = v/c[2]
        force = (c[0] + (c[1] - c[0])/(<T>1.0 + ratio*ratio))*tanh_(v/c[3])
        return -force
    return <T>0.0


cdef inline T calc_joint_force_by_position(int type, const T* c, T q) noexcept nogil:
    """Derivative of the force with respect to q."""
    if type == JOINT_SPRING:
        return -c[1]
    if type == DOOR_HINGE:
        return c[6]*step_doublet_slope(c[5]*0.5, q - c[5]*0.5) - c[1]
    return <T>0.0


cdef inline T calc_joint_force_by_velocity(int type, const T* c, T v) noexcept nogil:
    """Derivative of the force with respect to v."""
    cdef T slope, ratio, s, divisor
    if type == DOOR_HINGE:
        slope = c[2]*smooth_step_slope(c[7], v) + c[3]*step_doublet_slope(c[7], v) + c[4]
        return -slope
    if type == JOINT_FRICTION:
        ratio = v/c[2]
        divisor = <T>1.0 + ratio*ratio
        s = tanh_(v/c[3])
        slope = (c[0] + (c[1] - c[0])/divisor)*(<T>1.0 - s*s)/c[3]
        return (c[1] - c[0])*ratio*2.0*s/(c[2]*divisor*divisor) - slope
    return <T>0.0


cdef inline T calc_joint_potential_energy(int type, const T* c, T q) noexcept nogil:
    cdef T stretch = q - c[0]
    cdef T half_width, s, s0
    if type == JOINT_SPRING:
        return c[1]*stretch*stretch*0.5
    if type == DOOR_HINGE:
        # Zero at q = 0.
        half_width = c[5]*0.5
        s = smooth_step(half_width, q - half_width)
        s0 = smooth_step(half_width, -half_width)
        # ((q - q_s0)^2 - q_s0^2)/2 = q (q/2 - q_s0): products, which are zero where they should be.
        return c[1]*q*(q*0.5 - c[0]) + c[6]*half_width*(s0 - s)*(s0 + s)
    return <T>0.0


cdef inline T smooth_step(T width, T x) noexcept nogil:
    """tanh(x / width), and zero where the width is zero."""
    cdef T zero = <T>0.0
    cdef T divisor = select_lt(zero, width, width, <T>1.0)
    return select_lt(zero, width, tanh_(x/divisor), zero)


cdef inline T step_doublet(T width, T x) noexcept nogil:
    """2 s (1 - s^2), s = tanh(x / width)."""
    cdef T s = smooth_step(width, x)
    return s*2.0*(<T>1.0 - s*s)


cdef inline T smooth_step_slope(T width, T x) noexcept nogil:
    cdef T zero = <T>0.0
    cdef T divisor = select_lt(zero, width, width, <T>1.0)
    cdef T s = tanh_(x/divisor)
    return select_lt(zero, width, (<T>1.0 - s*s)/divisor, zero)


cdef inline T step_doublet_slope(T width, T x) noexcept nogil:
    """2 (1 - 3 s^2) s', s' = (1 - s^2) / width."""
    cdef T s = smooth_step(width, x)
    return (<T>1.0 - s*s*3.0)*smooth_step_slope(width, x)*2.0


# Between two frames ---------------------------------------------------------------------------------------------

cdef inline void calc_forces_on_ends(const ForceElement* e, const T* c, Ends[T]* x) noexcept nogil:
    """F_A, F_C from the poses and velocities of both frames."""
    cdef Stretch[T] stretch
    cdef T[3] p
    cdef T force
    cdef int i
    set_zero(x.F_A, 6)
    set_zero(x.F_C, 6)
    if e.type == LINEAR_SPRING_DAMPER:
        calc_stretch(c, x, &stretch)
        force = ((stretch.length - c[0])*c[1] + c[2]*stretch.rate)/stretch.length
        for i in range(3):
            x.F_A[3 + i] = force*stretch.p_PQ[i]
            x.F_C[3 + i] = -x.F_A[3 + i]
        add_cross(stretch.p_AoP, &x.F_A[3], x.F_A)
        add_cross(stretch.p_CoQ, &x.F_C[3], x.F_C)
    elif e.type == LINEAR_BUSHING_RPY:
        calc_bushing_force(c, x, p, x.F_C)
        # On C at the point midway, and the opposite on A there.
        for i in range(6):
            x.F_A[i] = -x.F_C[i]
        for i in range(3):
            p[i] = p[i]*0.5
        add_cross(p, &x.F_A[3], x.F_A)
        for i in range(3):
            p[i] = -p[i]
        add_cross(p, &x.F_C[3], x.F_C)
    else:
        calc_contact_forces_on_ends(c, e.num_points, x)


cdef inline T calc_potential_energy_between(const ForceElement* e, const T* c, const Ends[T]* x) noexcept nogil:
    cdef Stretch[T] stretch
    cdef Bushing[T] bushing
    cdef Contact[T] contact
    cdef T energy = <T>0.0
    cdef T extension
    cdef int i
    if e.type == LINEAR_SPRING_DAMPER:
        calc_stretch(c, x, &stretch)
        extension = stretch.length - c[0]
        energy = c[1]*extension*extension*0.5
    elif e.type == LINEAR_BUSHING_RPY:
        calc_bushing(x, &bushing)
        for i in range(3):
            energy = energy + c[i]*bushing.rpy[i]*bushing.rpy[i]*0.5 + c[6 + i]*bushing.r[i]*bushing.r[i]*0.5
    else:
        calc_contact(c, e.num_points, x, &contact, <T*>NULL)
        energy = contact.energy
    return energy


cdef inline T calc_conservative_power_between(const ForceElement* e, const T* c, const Ends[T]* x) noexcept nogil:
    """Minus the rate of the potential energy."""
    cdef Stretch[T] stretch
    cdef Bushing[T] bushing
    cdef Contact[T] contact
    cdef T power = <T>0.0
    cdef int i
    if e.type == LINEAR_SPRING_DAMPER:
        calc_stretch(c, x, &stretch)
        power = (c[0] - stretch.length)*c[1]*stretch.rate
    elif e.type == LINEAR_BUSHING_RPY:
        calc_bushing(x, &bushing)
        for i in range(3):
            power = power - c[i]*bushing.rpy[i]*bushing.rpydot[i] - c[6 + i]*bushing.r[i]*bushing.rdot[i]
    else:
        calc_contact(c, e.num_points, x, &contact, <T*>NULL)
        power = contact.conservative_power
    return power


cdef inline T calc_non_conservative_power_between(const ForceElement* e, const T* c, const Ends[T]* x) noexcept nogil:
    """The power of the force less the conservative one, without that difference."""
    cdef Stretch[T] stretch
    cdef Bushing[T] bushing
    cdef Contact[T] contact
    cdef T power = <T>0.0
    cdef T rate
    cdef int i
    if e.type == LINEAR_SPRING_DAMPER:
        calc_stretch(c, x, &stretch)
        power = power - c[2]*stretch.rate*stretch.rate
    elif e.type == LINEAR_BUSHING_RPY:
        calc_bushing(x, &bushing)
        for i in range(3):
            # The force acts along `rate`, of which only rdot changes the energy.
            rate = bushing.rdot[i] + bushing.drift[i]
            power = power - c[3 + i]*bushing.rpydot[i]*bushing.rpydot[i] - c[9 + i]*rate*rate
            power = power - c[6 + i]*bushing.r[i]*bushing.drift[i]
    else:
        calc_contact(c, e.num_points, x, &contact, <T*>NULL)
        power = contact.other_power
    return power


cdef inline T calc_singularity_between(const ForceElement* e, const T* c, const Ends[T]* x) noexcept nogil:
    """Not positive where the force is undefined: the ends of a spring coincide, or a bushing is in gimbal lock."""
    cdef Stretch[T] stretch
    cdef Bushing[T] bushing
    if e.type == LINEAR_SPRING_DAMPER:
        calc_stretch(c, x, &stretch)
        return stretch.length - c[0]*2.2e-16
    if e.type == POINT_CONTACT:
        return <T>1.0
    calc_bushing(x, &bushing)
    return bushing.cos_pitch - <T>1e-3


cdef inline void calc_stretch(const T* c, const Ends[T]* x, Stretch[T]* stretch) noexcept nogil:
    cdef T[3] v_P, v_Q
    cdef int i
    rotate4(x.X_WA, c + 3, stretch.p_AoP)
    rotate4(x.X_WC, c + 6, stretch.p_CoQ)
    copy(&x.V_WA[3], 3, v_P)
    add_cross(x.V_WA, stretch.p_AoP, v_P)
    copy(&x.V_WC[3], 3, v_Q)
    add_cross(x.V_WC, stretch.p_CoQ, v_Q)
    for i in range(3):
        stretch.p_PQ[i] = x.X_WC[4*i + 3] + stretch.p_CoQ[i] - x.X_WA[4*i + 3] - stretch.p_AoP[i]
        v_Q[i] = v_Q[i] - v_P[i]
    stretch.length = sqrt_(dot3(stretch.p_PQ, stretch.p_PQ))
    stretch.rate = dot3(stretch.p_PQ, v_Q)/stretch.length


# Bushing: frame B is half the rotation from A to C, its origin midway.

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
    cdef int i, j
    # R_AC, p_AoCo_A, and the velocity of C in A, expressed in A.
    for i in range(3):
        for j in range(3):
            R[3*i + j] = X_WA[i]*X_WC[j] + X_WA[4 + i]*X_WC[4 + j] + X_WA[8 + i]*X_WC[8 + j]
        p_W[i] = X_WC[4*i + 3] - X_WA[4*i + 3]
        w_W[i] = V_WC[i] - V_WA[i]
        v_W[i] = V_WC[3 + i] - V_WA[3 + i]
    cross(p_W, V_WA, y)
    for i in range(3):
        v_W[i] = v_W[i] + y[i]
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
    for i in range(3):
        y[i] = y[i] + x.v[i]
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


# How the force changes with the motion of C while A rests --------------------------------------------------------
# `turn` is a small motion of C, `rate` a change of its velocity; both, as V, the velocity of C less that of A, are
# spatial vectors at Ao in World, as are the force F on C and its change dF.

cdef inline void calc_force_change(
    # Topology:
    const ForceElement* e,
    # Parameters:
    const T* c,     # (num_parameters_of,)  [SI]  of the element
    # In:
    const Ends[T]* x,
    const T* V,     # (6,)                  [rad/s, m/s]
    const T* turn,  # (6,)                  [rad, m]
    const T* rate,  # (6,)                  [rad/s, m/s]
    # Out:
    T* F,           # (6,)                  [N m, N]
    T* dF,          # (6,)                  [N m, N]
) noexcept nogil:
    if e.type == LINEAR_SPRING_DAMPER:
        calc_stretch_force_change(c, x, V, turn, rate, F, dF)
    elif e.type == LINEAR_BUSHING_RPY:
        calc_bushing_force_change(c, x, V, turn, rate, F, dF)
    else:
        calc_contact_force_change(c, e.num_points, x, V, turn, rate, F, dF)


cdef inline void calc_stretch_force_change(
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
    """f = -(k (l - l0) + c ldot) p_PQ / l, on C at Q; l ldot = p_PQ·v_Q: A turning with C does not change l."""
    cdef Stretch[T] x
    cdef T[3] p_AoQ, d, v, dv
    cdef T slope, dl, dslope
    cdef int i
    calc_stretch(c, ends, &x)
    for i in range(3):
        p_AoQ[i] = x.p_AoP[i] + x.p_PQ[i]
        d[i] = turn[3 + i]
        v[i] = V[3 + i]
        dv[i] = rate[3 + i]
    add_cross(turn, p_AoQ, d)
    add_cross(V, p_AoQ, v)
    add_cross(rate, p_AoQ, dv)
    add_cross(V, d, dv)
    slope = ((x.length - c[0])*c[1] + c[2]*x.rate)/x.length
    dl = dot3(x.p_PQ, d)/x.length
    dslope = (dot3(d, v) + dot3(x.p_PQ, dv) - x.rate*dl)/x.length
    dslope = (c[1]*dl + c[2]*dslope - slope*dl)/x.length
    for i in range(3):
        F[3 + i] = -(slope*x.p_PQ[i])
        dF[3 + i] = -(dslope*x.p_PQ[i] + slope*d[i])
    cross(p_AoQ, F + 3, F)
    cross(p_AoQ, dF + 3, dF)
    add_cross(d, F + 3, dF)


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
    for i in range(3):
        dF_A[i] = dF_A[i] + y[i]
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
