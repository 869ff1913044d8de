"""Jacobian of the spatial velocity of a point fixed to a body, in World."""

from mbt._core.model cimport Model
from mbt._core.scalars cimport T
from mbt._core.spatial cimport add_cross


cdef inline void add_spatial_velocity_jacobian(
    # Topology:
    const Model* model,
    int node,              # body that carries the point
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)
    const T* H_PB_W,       # (nv, 6)
    const T* p_WoBp_W,     # (3,)     the point
    double sign,           # 1 adds, -1 subtracts
    # Out:
    T* J,                  # (6, nv)  columns of the dofs inboard of the body are changed
) noexcept nogil:
    """J[:, k] += sign shift(H_PB_W[k], p_BoBp): inboard of the body, each dof moves it rigidly."""
    cdef int b = node
    cdef int nv = model.num_velocities
    cdef int i, k
    cdef T p[3]
    cdef T u[3]
    while b > 0:
        for i in range(3):
            p[i] = p_WoBp_W[i] - X_WB[16*b + 4*i + 3]
        for k in range(model.v_start[b], model.v_start[b + 1]):
            for i in range(3):
                u[i] = H_PB_W[6*k + 3 + i]
            add_cross(H_PB_W + 6*k, p, u)
            for i in range(3):
                J[nv*i + k] = J[nv*i + k] + H_PB_W[6*k + i]*sign
                J[nv*(3 + i) + k] = J[nv*(3 + i) + k] + u[i]*sign
        b = model.parent[b]
