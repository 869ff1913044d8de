"""The force elements of the compiled core, and the only place that knows one type from another.

A type is its force, its potential energy, and the part of its power that changes that energy. A new one needs a number
in `ForceElementType`, its case in the functions here, and one Python file.

`c` are the numbers of one element, parameters of a Context: see `ForceElementType`.
"""

from mbt._core.records cimport Bushing, Ends, Stretch
from mbt._core.scalars cimport T, atan2_, select_lt, sincos_, sqrt_, tanh_
from mbt._core.spatial cimport (
    add_cross, copy, cross, dot3, rotate, rotate4, rotate_inverse, rotate_inverse4, set_zero,
)


cpdef enum ForceElementType:
    # On one dof, of its position and velocity.
    JOINT_SPRING             # nominal position, stiffness
    DOOR_HINGE               # q_s0, k_ts, k_df, k_sf, k_vf, q_c0 (width of the catch), k_c, motion threshold
    JOINT_FRICTION           # Coulomb, breakaway, Stribeck velocity, transition velocity
    # Between two frames A and C.
    LINEAR_SPRING_DAMPER     # free length, stiffness, damping, p_AP (3), p_CQ (3)
    LINEAR_BUSHING_RPY       # stiffness (3) and damping (3) of the torque, stiffness (3) and damping (3) of the force


cdef inline int acts_on_joint(int type) noexcept nogil:
    """1 for an element on one dof, 0 for one between two frames."""
    return 1 if type <= JOINT_FRICTION else 0


cdef inline int num_parameters_of(int type) noexcept nogil:
    return (
        2 if type == JOINT_SPRING else 8 if type == DOOR_HINGE else 4 if type == JOINT_FRICTION
        else 9 if type == LINEAR_SPRING_DAMPER else 12
    )


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
        return c[1]*(stretch*stretch - c[0]*c[0])*0.5 + c[6]*half_width*(s0*s0 - s*s)
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


# Between two frames ---------------------------------------------------------------------------------------------

cdef inline void calc_forces_on_ends(int type, const T* c, Ends[T]* x) noexcept nogil:
    """F_A, F_C from the poses and velocities of both frames."""
    cdef Stretch[T] stretch
    cdef T p[3]
    cdef T force
    cdef int i
    set_zero(x.F_A, 6)
    set_zero(x.F_C, 6)
    if type == LINEAR_SPRING_DAMPER:
        calc_stretch(c, x, &stretch)
        force = ((stretch.length - c[0])*c[1] + c[2]*stretch.rate)/stretch.length
        for i in range(3):
            x.F_A[3 + i] = force*stretch.p_PQ[i]
            x.F_C[3 + i] = -x.F_A[3 + i]
        add_cross(stretch.p_AoP, &x.F_A[3], x.F_A)
        add_cross(stretch.p_CoQ, &x.F_C[3], x.F_C)
    elif type == LINEAR_BUSHING_RPY:
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


cdef inline T calc_potential_energy_between(int type, const T* c, const Ends[T]* x) noexcept nogil:
    cdef Stretch[T] stretch
    cdef Bushing[T] bushing
    cdef T energy = <T>0.0
    cdef T extension
    cdef int i
    if type == LINEAR_SPRING_DAMPER:
        calc_stretch(c, x, &stretch)
        extension = stretch.length - c[0]
        energy = c[1]*extension*extension*0.5
    elif type == LINEAR_BUSHING_RPY:
        calc_bushing(x, &bushing)
        for i in range(3):
            energy = energy + c[i]*bushing.rpy[i]*bushing.rpy[i]*0.5 + c[6 + i]*bushing.r[i]*bushing.r[i]*0.5
    return energy


cdef inline T calc_conservative_power_between(int type, const T* c, const Ends[T]* x) noexcept nogil:
    """Minus the rate of the potential energy."""
    cdef Stretch[T] stretch
    cdef Bushing[T] bushing
    cdef T power = <T>0.0
    cdef int i
    if type == LINEAR_SPRING_DAMPER:
        calc_stretch(c, x, &stretch)
        power = (c[0] - stretch.length)*c[1]*stretch.rate
    elif type == LINEAR_BUSHING_RPY:
        calc_bushing(x, &bushing)
        for i in range(3):
            power = power - c[i]*bushing.rpy[i]*bushing.rpydot[i] - c[6 + i]*bushing.r[i]*bushing.rdot[i]
    return power


cdef inline T calc_singularity_between(int type, const T* c, const Ends[T]* x) noexcept nogil:
    """Not positive where the force is undefined: the ends of a spring coincide, or a bushing is in gimbal lock."""
    cdef Stretch[T] stretch
    cdef Bushing[T] bushing
    if type == LINEAR_SPRING_DAMPER:
        calc_stretch(c, x, &stretch)
        return stretch.length - c[0]*2.2e-16
    calc_bushing(x, &bushing)
    return bushing.cos_pitch - <T>1e-3


cdef inline void calc_stretch(const T* c, const Ends[T]* x, Stretch[T]* stretch) noexcept nogil:
    cdef T v_P[3]
    cdef T v_Q[3]
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
    cdef T R[9]
    cdef T w_W[3]
    cdef T v_W[3]
    cdef T p_W[3]
    cdef T e[4]
    cdef T half[3]
    cdef T s[3]
    cdef T k[3]
    cdef T w_AB[3]
    cdef T y[3]
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


cdef inline void calc_bushing_force(const T* c, const Ends[T]* ends, T* p_AoCo_W, T* F_C_W) noexcept nogil:
    """The force on C at the point midway, in World."""
    cdef Bushing[T] x
    cdef T tau[3]
    cdef T f_B[3]
    cdef T F_A[6]
    cdef T y[3]
    cdef T rate[3]
    cdef int i
    calc_bushing(ends, &x)
    # The rate of r that damps takes w_AC / 2 for w_AB.
    cross(x.p, x.w, y)
    for i in range(3):
        y[i] = x.v[i] + y[i]*0.5
    rotate_inverse(x.R_AB, y, rate)
    for i in range(3):
        tau[i] = -(c[i]*x.rpy[i] + c[3 + i]*x.rpydot[i])
        f_B[i] = -(c[6 + i]*x.r[i] + c[9 + i]*rate[i])
    # t = N' tau
    rotate_inverse(x.N, tau, F_A)
    rotate(x.R_AB, f_B, F_A + 3)
    rotate4(ends.X_WA, x.p, p_AoCo_W)
    rotate4(ends.X_WA, F_A, F_C_W)
    rotate4(ends.X_WA, F_A + 3, F_C_W + 3)
