"""Jacobians of the velocities of a body and of points fixed to it, in World."""

from mbt._core.mobilizers cimport calc_v
from mbt._core.model cimport Model
from mbt._core.scalars cimport T
from mbt._core.spatial cimport add_cross, cross, set_zero


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
    cdef Py_ssize_t nv = model.num_velocities
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


cdef inline void add_angular_velocity_jacobian(
    # Topology:
    const Model* model,
    int node,
    # In:
    const T* H_PB_W,       # (nv, 6)
    double sign,           # 1 adds, -1 subtracts
    # Out:
    T* J,                  # (3, nv)  columns of the dofs inboard of the body are changed
) noexcept nogil:
    """J[:, k] += sign * angular part of H_PB_W[k]."""
    cdef int b = node
    cdef Py_ssize_t nv = model.num_velocities
    cdef int i, k
    while b > 0:
        for k in range(model.v_start[b], model.v_start[b + 1]):
            for i in range(3):
                J[nv*i + k] = J[nv*i + k] + H_PB_W[6*k + i]*sign
        b = model.parent[b]


cdef inline void add_translational_velocity_jacobian(
    # Topology:
    const Model* model,
    int node,              # body that carries the point
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)
    const T* H_PB_W,       # (nv, 6)
    const T* p_WoBp_W,     # (3,)     the point
    double sign,           # 1 adds, -1 subtracts
    # Out:
    T* J,                  # (3, nv)  columns of the dofs inboard of the body are changed
) noexcept nogil:
    """J[:, k] += sign (v + w × p_BoBp), with [w; v] = H_PB_W[k]."""
    cdef int b = node
    cdef Py_ssize_t nv = model.num_velocities
    cdef int i, k
    cdef T p[3]
    cdef T u[3]
    while b > 0:
        for i in range(3):
            p[i] = p_WoBp_W[i] - X_WB[16*b + 4*i + 3]
        for k in range(model.v_start[b], model.v_start[b + 1]):
            cross(H_PB_W + 6*k, p, u)
            for i in range(3):
                J[nv*i + k] = J[nv*i + k] + (H_PB_W[6*k + 3 + i] + u[i])*sign
        b = model.parent[b]


cdef inline void express_jacobian(
    int num_rows,          # 3 for each vector
    Py_ssize_t nv,
    const T* X_WE,         # (4, 4)
    T* J,                  # (num_rows, nv)  in World, then in E
) noexcept nogil:
    """J_E = R_EW J_W, in place."""
    cdef int i, k, row
    cdef T y[3]
    for row in range(0, num_rows, 3):
        for k in range(nv):
            for i in range(3):
                y[i] = X_WE[i]*J[nv*row + k] + X_WE[4 + i]*J[nv*(row + 1) + k] + X_WE[8 + i]*J[nv*(row + 2) + k]
            for i in range(3):
                J[nv*(row + i) + k] = y[i]


cdef inline void multiply_by_Nplus(
    # Topology:
    const Model* model,
    # In:
    const T* q,            # (nq,)
    int num_rows,
    const T* J_v,          # (num_rows, nv)
    # Out:
    T* J_qdot,             # (num_rows, nq)
) noexcept nogil:
    """J_qdot = J_v N+, mobilizer by mobilizer: N+ is block diagonal."""
    cdef int b, i, k, l, row, nq_b, nv_b
    cdef Py_ssize_t nq = model.num_positions
    cdef Py_ssize_t nv = model.num_velocities
    cdef T unit[7]
    cdef T v[6]
    cdef T total
    for b in range(1, model.num_bodies):
        nq_b = model.q_start[b + 1] - model.q_start[b]
        nv_b = model.v_start[b + 1] - model.v_start[b]
        for i in range(nq_b):
            set_zero(unit, 7)
            unit[i] = <T>1.0
            calc_v(model.type[b], model.constants[b], q + model.q_start[b], unit, v)
            k = model.q_start[b] + i
            for row in range(num_rows):
                total = <T>0.0
                for l in range(nv_b):
                    total = total + J_v[nv*row + model.v_start[b] + l]*v[l]
                J_qdot[nq*row + k] = total
