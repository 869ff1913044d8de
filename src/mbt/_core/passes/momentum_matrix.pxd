"""Momentum per unit of each generalized velocity, in World, from composite bodies: O(n).

D. E. Orin, A. Goswami, "Centroidal Momentum Matrix of a Humanoid Robot: Structure and Properties", IROS 2008.
In NumPy: tests/support/textbook.py, momentum_matrix.
"""

from mbt._core.algebra.spatial cimport rotate4, set_zero
from mbt._core.algebra.vectors cimport (
    Force, RigidInertia, Vec3, add_shifted, cross, inertia_of_body, motion_at, numbers, pose_at, position_at,
    put, rotated, vector_at,
)
from mbt._core.model.structs cimport Model
from mbt._core.scalars cimport T


cdef inline void calc_momentum_matrix(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    const T* I_BBo_B,      # (num_bodies, 6)     [kg m^2]  xx yy zz xy xz yz
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* H_PB_W,       # (nv, 6)             [1, m]
    const T* p_WP,         # (3,)                [m]  the point
    # Work:
    T* composites,         # (num_bodies, 10)    [kg, kg m, kg m^2]  of all that a body carries, about Bo in World
    # Out:
    T* A_P,                # (6, nv)             [kg m^2, kg m, kg]  angular momentum about P, linear momentum
) noexcept nogil:
    """A_P[:, k] = [I w + h × v + p_PBo × l; l], l = m v + w × h, with [w; v] = H_PB_W[k] and the composite m, h, I."""
    cdef int b, i, k
    cdef Py_ssize_t nv = model.num_velocities
    cdef RigidInertia[T]* of_bodies = <RigidInertia[T]*>composites
    cdef Force[T] L
    cdef Vec3[T] p_WBo

    # Each body alone, turned into World and not moved.
    set_zero(composites, 10)
    for b in range(1, model.num_bodies):
        of_bodies[b] = rotated(pose_at(X_WB + 16*b).R, inertia_of_body(mass[b], p_BoBcm_B + 3*b, I_BBo_B + 6*b))

    # Tip to base: a composite is complete when its own turn comes.
    for b in range(model.num_bodies - 1, 0, -1):
        p_WBo = position_at(X_WB + 16*b)
        for k in range(model.v_start[b], model.v_start[b + 1]):
            L = of_bodies[b]*motion_at(H_PB_W + 6*k)
            L.t = L.t + cross(p_WBo - vector_at(p_WP), L.f)
            for i in range(6):
                A_P[nv*i + k] = numbers(L)[i]
        if model.parent[b] != 0:
            add_shifted(of_bodies[b], p_WBo - position_at(X_WB + 16*model.parent[b]), &of_bodies[model.parent[b]])


cdef inline void calc_linear_momentum_matrix(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* H_PB_W,       # (nv, 6)             [1, m]
    # Work:
    T* composites,         # (num_bodies, 4)     [kg, kg m]  mass, moment (3) of what a body carries, about Bo in World
    # Out:
    T* P,                  # (3, nv)             [kg m, kg]
) noexcept nogil:
    """P[:, k] = m v + w × h, with [w; v] = H_PB_W[k]: the lower half of `calc_momentum_matrix`."""
    cdef int b, i, k
    cdef Py_ssize_t nv = model.num_velocities
    cdef Vec3[T] l
    cdef T* c
    cdef T* parent

    for b in range(model.num_bodies):
        c = composites + 4*b
        c[0] = mass[b]
        rotate4(X_WB + 16*b, p_BoBcm_B + 3*b, c + 1)
        put(vector_at(c + 1)*mass[b], c + 1)

    for b in range(model.num_bodies - 1, 0, -1):
        c = composites + 4*b
        for k in range(model.v_start[b], model.v_start[b + 1]):
            l = vector_at(H_PB_W + 6*k + 3)*c[0] + cross(vector_at(H_PB_W + 6*k), vector_at(c + 1))
            for i in range(3):
                P[nv*i + k] = numbers(l)[i]
        parent = composites + 4*model.parent[b]
        parent[0] = parent[0] + c[0]
        put(
            vector_at(parent + 1) + vector_at(c + 1)
            + (position_at(X_WB + 16*b) - position_at(X_WB + 16*model.parent[b]))*c[0], parent + 1
        )
