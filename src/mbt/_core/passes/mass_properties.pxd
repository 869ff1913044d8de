"""Mass, centre of mass and momentum of all bodies but World."""

from mbt._core.model cimport Model
from mbt._core.passes.position_kinematics cimport calc_inertia_in_world
from mbt._core.scalars cimport T
from mbt._core.spatial cimport add_cross, cross, rotate, rotate4, set_zero


cdef inline void calc_mass_moment(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)
    const T* p_BoBcm_B,    # (num_bodies, 3)
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)
    # Out:
    T* total_mass,         # (1,)  [kg]
    T* moment,             # (3,)  sum of m p_WBcm  [kg m]
) noexcept nogil:
    cdef int b, i
    cdef T c[3]
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
    const T* mass,         # (num_bodies,)
    const T* p_BoBcm_B,    # (num_bodies, 3)
    const T* G_BBo_B,      # (num_bodies, 6) xx yy zz xy xz yz
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)
    const T* V_WB,         # (num_bodies, 6)
    # Out:
    T* L_WWo_W,            # (6,)  [kg m^2/s, kg m/s]
) noexcept nogil:
    """Sum over bodies of [I w + m c × v + p_WoBo × l; l], with l = m (v + w × c)."""
    cdef int b, i
    cdef T J[9]
    cdef T c[3]
    cdef T l[3]
    cdef T y[3]
    cdef T p[3]
    set_zero(L_WWo_W, 6)
    for b in range(1, model.num_bodies):
        rotate4(X_WB + 16*b, p_BoBcm_B + 3*b, c)
        calc_inertia_in_world(mass[b], G_BBo_B + 6*b, X_WB + 16*b, J)
        cross(V_WB + 6*b, c, l)
        rotate(J, V_WB + 6*b, y)
        for i in range(3):
            p[i] = X_WB[16*b + 4*i + 3]
            l[i] = mass[b]*(l[i] + V_WB[6*b + 3 + i])
            c[i] = mass[b]*c[i]
        add_cross(c, V_WB + 6*b + 3, y)
        add_cross(p, l, y)
        for i in range(3):
            L_WWo_W[i] = L_WWo_W[i] + y[i]
            L_WWo_W[3 + i] = L_WWo_W[3 + i] + l[i]
