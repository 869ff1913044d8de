"""Mass, centre of mass and momentum of all bodies but World; with masses set to zero, of a part of them."""

from mbt._core.algebra.spatial cimport (
    add_cross, add_shifted_inertia, add_to, cross, multiply_poses4, rotate, rotate4, set_zero,
)
from mbt._core.model.structs cimport Model
from mbt._core.passes.position_kinematics cimport calc_inertia_in_world
from mbt._core.scalars cimport T


cdef inline void calc_mass_moment(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    # Out:
    T* total_mass,         # (1,)                [kg]
    T* moment,             # (3,)                [kg m]  sum of m p_WBcm
) noexcept nogil:
    cdef int b, i
    cdef T[3] c
    total_mass[0] = <T>0.0
    set_zero(moment, 3)
    for b in range(1, model.num_bodies):
        rotate4(X_WB + 16*b, p_BoBcm_B + 3*b, c)
        total_mass[0] = total_mass[0] + mass[b]
        for i in range(3):
            moment[i] = moment[i] + mass[b]*(c[i] + X_WB[16*b + 4*i + 3])


cdef inline void calc_momentum_about_world_origin(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    const T* I_BBo_B,      # (num_bodies, 6)     [kg m^2]  xx yy zz xy xz yz
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* V_WB,         # (num_bodies, 6)     [rad/s, m/s]
    # Out:
    T* L_WWo_W,            # (6,)                [kg m^2/s, kg m/s]
) noexcept nogil:
    """Sum over bodies of [I w + m c × v + p_WoBo × l; l], with l = m (v + w × c)."""
    cdef int b, i
    cdef T[9] J
    cdef T[3] c, l, y, p
    set_zero(L_WWo_W, 6)
    for b in range(1, model.num_bodies):
        rotate4(X_WB + 16*b, p_BoBcm_B + 3*b, c)
        calc_inertia_in_world(I_BBo_B + 6*b, X_WB + 16*b, J)
        cross(V_WB + 6*b, c, l)
        rotate(J, V_WB + 6*b, y)
        for i in range(3):
            p[i] = X_WB[16*b + 4*i + 3]
            l[i] = mass[b]*(l[i] + V_WB[6*b + 3 + i])
            c[i] = mass[b]*c[i]
        add_cross(c, V_WB + 6*b + 3, y)
        add_cross(p, l, y)
        add_to(y, 3, L_WWo_W)
        add_to(l, 3, L_WWo_W + 3)


cdef inline void calc_mass_acceleration(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* V_WB,         # (num_bodies, 6)     [rad/s, m/s]
    const T* A_WB,         # (num_bodies, 6)     [rad/s^2, m/s^2]
    # Out:
    T* force,              # (3,)                [N]  sum of m a_WBcm
) noexcept nogil:
    """Sum over bodies of m (a + alpha × c + w × (w × c)), c = p_BoBcm_W."""
    cdef int b, i
    cdef T[3] c, wc, a
    set_zero(force, 3)
    for b in range(1, model.num_bodies):
        rotate4(X_WB + 16*b, p_BoBcm_B + 3*b, c)
        cross(V_WB + 6*b, c, wc)
        cross(A_WB + 6*b, c, a)
        add_cross(V_WB + 6*b, wc, a)
        for i in range(3):
            force[i] = force[i] + mass[b]*(A_WB[6*b + 3 + i] + a[i])


cdef inline void calc_composite_inertia(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    const T* I_BBo_B,      # (num_bodies, 6)     [kg m^2]  xx yy zz xy xz yz
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* X_FW,         # (4, 4)              [1, m]
    # Out:
    T* total_mass,         # (1,)                [kg]
    T* moment,             # (3,)                [kg m]  sum of m p_FoBcm_F
    T* inertia,            # (6,)                [kg m^2]  about Fo in F: xx xy xz yy yz zz
) noexcept nogil:
    """One rigid inertia of all bodies as they are posed."""
    cdef int b
    cdef T[16] X_FB
    total_mass[0] = <T>0.0
    set_zero(moment, 3)
    set_zero(inertia, 6)
    for b in range(1, model.num_bodies):
        multiply_poses4(X_FW, X_WB + 16*b, X_FB)
        add_posed_inertia(mass[b], p_BoBcm_B + 3*b, I_BBo_B + 6*b, X_FB, total_mass, moment, inertia)


cdef inline void add_posed_inertia(
    # Parameters:
    T mass,
    const T* p_BoBcm_B,    # (3,)    [m]
    const T* I_BBo_B,      # (6,)    [kg m^2]  xx yy zz xy xz yz
    # In:
    const T* X_FB,         # (4, 4)  [1, m]
    # Out:
    T* total_mass,         # (1,)    [kg]  added to
    T* moment,             # (3,)    [kg m]  added to
    T* inertia,            # (6,)    [kg m^2]  added to: about Fo in F, xx xy xz yy yz zz
) noexcept nogil:
    cdef T[9] J
    cdef T[6] S
    cdef T[3] h, p
    cdef int i
    rotate4(X_FB, p_BoBcm_B, h)
    calc_inertia_in_world(I_BBo_B, X_FB, J)
    for i in range(3):
        h[i] = mass*h[i]
        p[i] = X_FB[4*i + 3]
    S[0] = J[0]
    S[1] = J[1]
    S[2] = J[2]
    S[3] = J[4]
    S[4] = J[5]
    S[5] = J[8]
    add_shifted_inertia(mass, h, S, p, total_mass, moment, inertia)
