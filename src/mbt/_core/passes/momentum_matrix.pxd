"""Momentum per unit of each generalized velocity, in World, from composite bodies: O(n).

D. E. Orin, A. Goswami, "Centroidal Momentum Matrix of a Humanoid Robot: Structure and Properties", IROS 2008.
In NumPy: tests/support/textbook.py, momentum_matrix.
"""

from mbt._core.algebra.spatial cimport (
    add_cross, add_scaled, add_shifted_inertia, copy, cross, position_between4, rotate4, set_zero, symmetric_multiply,
)
from mbt._core.model.structs cimport Model
from mbt._core.passes.mass_properties cimport add_posed_inertia
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
    T* composites,         # (num_bodies, 10)    [kg, kg m, kg m^2]  of what a body carries, about Bo in World
    # Out:
    T* A_P,                # (6, nv)             [kg m^2, kg m, kg]  angular momentum about P, linear momentum
) noexcept nogil:
    """A_P[:, k] = [I w + h × v + p_PBo × l; l], l = m v + w × h, with [w; v] = H_PB_W[k] and the composite m, h, I."""
    cdef int b, i, k
    cdef Py_ssize_t nv = model.num_velocities
    cdef T[16] X
    cdef T[3] p, t, l
    cdef T* c

    # Each body for itself, turned into World and not moved.
    set_zero(composites, 10*model.num_bodies)
    for b in range(1, model.num_bodies):
        c = composites + 10*b
        copy(X_WB + 16*b, 16, X)
        for i in range(3):
            X[4*i + 3] = <T>0.0
        add_posed_inertia(mass[b], p_BoBcm_B + 3*b, I_BBo_B + 6*b, X, c, c + 1, c + 4)

    # Tip to base: a composite is complete when its own turn comes.
    for b in range(model.num_bodies - 1, 0, -1):
        c = composites + 10*b
        for i in range(3):
            p[i] = X_WB[16*b + 4*i + 3] - p_WP[i]
        for k in range(model.v_start[b], model.v_start[b + 1]):
            cross(H_PB_W + 6*k, c + 1, l)
            add_scaled(H_PB_W + 6*k + 3, c[0], 3, l)
            symmetric_multiply(c + 4, H_PB_W + 6*k, t)
            add_cross(c + 1, H_PB_W + 6*k + 3, t)
            add_cross(p, l, t)
            for i in range(3):
                A_P[nv*i + k] = t[i]
                A_P[nv*(3 + i) + k] = l[i]
        if model.parent[b] != 0:
            position_between4(X_WB + 16*model.parent[b], X_WB + 16*b, p)
            add_composite(c, p, composites + 10*model.parent[b])


cdef inline void add_composite(const T* c, const T* p_PB_W, T* parent) noexcept nogil:
    """Add a composite about Bo to one about Po."""
    add_shifted_inertia(c[0], c + 1, c + 4, p_PB_W, parent, parent + 1, parent + 4)


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
    cdef T[3] l
    cdef T* c
    cdef T* parent

    for b in range(model.num_bodies):
        c = composites + 4*b
        c[0] = mass[b]
        rotate4(X_WB + 16*b, p_BoBcm_B + 3*b, c + 1)
        for i in range(3):
            c[1 + i] = mass[b]*c[1 + i]

    for b in range(model.num_bodies - 1, 0, -1):
        c = composites + 4*b
        for k in range(model.v_start[b], model.v_start[b + 1]):
            cross(H_PB_W + 6*k, c + 1, l)
            for i in range(3):
                P[nv*i + k] = H_PB_W[6*k + 3 + i]*c[0] + l[i]
        parent = composites + 4*model.parent[b]
        parent[0] = parent[0] + c[0]
        for i in range(3):
            parent[1 + i] = (
                parent[1 + i] + c[1 + i]
                + (X_WB[16*b + 4*i + 3] - X_WB[16*model.parent[b] + 4*i + 3])*c[0]
            )
