"""Body velocities in World.

R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, section 5.3, first recursion.
In NumPy: tests/support/textbook.py, velocities.
"""

from mbt._core.algebra.spatial cimport (
    add_scaled, add_to, position_between4, rotate_inverse4, set_zero, shift_velocity,
)
from mbt._core.model.structs cimport Model
from mbt._core.scalars cimport T


cdef inline void calc_velocity_kinematics(
    # Topology:
    const Model* model,
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* H_PB_W,       # (nv, 6)             [1, m]
    const T* v,            # (nv,)               [rad/s, m/s]
    # Out:
    T* V_PB_W,             # (num_bodies, 6)     [rad/s, m/s]
    T* V_PB,               # (num_bodies, 6)     [rad/s, m/s]  expressed in P
    T* V_WB,               # (num_bodies, 6)     [rad/s, m/s]
) noexcept nogil:
    """V_WB = shift(V_WP, p_PB_W) + V_PB_W, V_PB_W = H_PB_W v; V_PB = R_PW V_PB_W."""
    cdef int b
    set_zero(V_PB_W, 6)
    set_zero(V_PB, 6)
    set_zero(V_WB, 6)
    for b in range(1, model.num_bodies):
        calc_body_velocity(model, b, X_WB, H_PB_W, v, V_PB_W, V_WB)
        rotate_inverse4(X_WB + 16*model.parent[b], V_PB_W + 6*b, V_PB + 6*b)
        rotate_inverse4(X_WB + 16*model.parent[b], V_PB_W + 6*b + 3, V_PB + 6*b + 3)


cdef inline void calc_velocities_in_world(
    # Topology:
    const Model* model,
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* H_PB_W,       # (nv, 6)             [1, m]
    const T* v,            # (nv,)               [rad/s, m/s]
    # Out:
    T* V_PB_W,             # (num_bodies, 6)     [rad/s, m/s]
    T* V_WB,               # (num_bodies, 6)     [rad/s, m/s]
) noexcept nogil:
    """V_WB = shift(V_WP, p_PB_W) + V_PB_W, V_PB_W = H_PB_W v."""
    cdef int b
    set_zero(V_PB_W, 6)
    set_zero(V_WB, 6)
    for b in range(1, model.num_bodies):
        calc_body_velocity(model, b, X_WB, H_PB_W, v, V_PB_W, V_WB)


cdef inline void calc_body_velocity(
    # Topology:
    const Model* model,
    int b,
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* H_PB_W,       # (nv, 6)             [1, m]
    const T* v,            # (nv,)               [rad/s, m/s]
    # Out:
    T* V_PB_W,             # (num_bodies, 6)     [rad/s, m/s]  row b
    T* V_WB,               # (num_bodies, 6)     [rad/s, m/s]  row b
) noexcept nogil:
    """Of body b, after its parent."""
    cdef T[3] p_PB_W
    cdef int k
    set_zero(V_PB_W + 6*b, 6)
    for k in range(model.v_start[b], model.v_start[b + 1]):
        add_scaled(H_PB_W + 6*k, v[k], 6, V_PB_W + 6*b)
    position_between4(X_WB + 16*model.parent[b], X_WB + 16*b, p_PB_W)
    shift_velocity(V_WB + 6*model.parent[b], p_PB_W, V_WB + 6*b)
    add_to(V_PB_W + 6*b, 6, V_WB + 6*b)
