"""The time derivative of the Jacobian of the velocity of a point, column by column.

In NumPy: tests/support/textbook.py, jacobian_rate.
"""

from mbt._core.algebra.vectors cimport (
    JointAxes, Mat3, Motion, Vec3, add_column, cross, matrix_at, motion_at, numbers, position_at, put, vector_at,
)
from mbt._core.joints.mobilizers cimport calc_across_H, calc_across_Hdot, has_constant_H_FM
from mbt._core.model.structs cimport Model
from mbt._core.passes.position_kinematics cimport calc_p_MoBo_W
from mbt._core.scalars cimport T


cdef inline void add_jacobian_rate(
    # Topology:
    const Model* model,
    int node,              # body that carries the point, or body of reference
    # Parameters:
    const T* X_BF,         # (num_frames, 4, 4)  [1, m]
    # In:
    const T* q,            # (nq,)               [rad, m]
    const T* v,            # (nv,)               [rad/s, m/s]
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* H_PB_W,       # (nv, 6)             [1, m]
    const T* V_WB,         # (num_bodies, 6)     [rad/s, m/s]
    const T* p_WoP_W,      # (3,)                [m]  the point
    const T* v_WP_W,       # (3,)                [m/s]  its velocity
    double sign,           # 1 adds, -1 subtracts
    # Out:
    T* Jdot,               # (6, nv)             [1/s, m/s]  columns of the dofs inboard of the body are changed
) noexcept nogil:
    """Jdot[:, k] += sign d/dt [h_w; h_v + h_w × p_BoP], in World, with [h_w; h_v] = H_PB_W[k] of body B.

    It is the derivative of `add_spatial_velocity_jacobian` for a point that moves.
    """
    cdef Py_ssize_t nv = model.num_velocities
    cdef int b = node
    cdef int k
    cdef Vec3[T] p_BoP, v_BoP
    cdef Motion[T] h, hdot
    cdef T[36] rates
    while b > 0:
        p_BoP = vector_at(p_WoP_W) - position_at(X_WB + 16*b)
        v_BoP = vector_at(v_WP_W) - vector_at(V_WB + 6*b + 3)
        calc_rates_of_axes(model, b, X_BF, q, v, X_WB, H_PB_W, V_WB, rates)
        for k in range(model.v_start[b], model.v_start[b + 1]):
            h = motion_at(H_PB_W + 6*k)
            hdot = motion_at(&rates[6*(k - model.v_start[b])])
            add_column(hdot.w, sign, Jdot + k, nv)
            add_column(hdot.v + cross(hdot.w, p_BoP) + cross(h.w, v_BoP), sign, Jdot + k + 3*nv, nv)
        b = model.parent[b]


cdef inline void calc_rates_of_axes(
    # Topology:
    const Model* model,
    int b,
    # Parameters:
    const T* X_BF,         # (num_frames, 4, 4)  [1, m]
    # In:
    const T* q,            # (nq,)               [rad, m]
    const T* v,            # (nv,)               [rad/s, m/s]
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* H_PB_W,       # (nv, 6)             [1, m]
    const T* V_WB,         # (num_bodies, 6)     [rad/s, m/s]
    # Out:
    T* rates,              # (6, 6)              [1/s, m/s]  d/dt H_PB_W of the dofs of body b, in rows
) noexcept nogil:
    """With [z; u] = R_WF H_FM, p = p_MoBo: d/dt [z; u + z × p] = [z'; u' + z' × p + z × (w_WB × p)].

    F turns with the parent body: z' = w_WP × z + R_WF Hdot, and so u'.
    """
    cdef int num_v = model.v_start[b + 1] - model.v_start[b]
    cdef Vec3[T] w_WP = vector_at(V_WB + 6*model.parent[b])
    cdef JointAxes[T] H, Hdot
    cdef Vec3[T] p, v_MoBo, z, u
    cdef Mat3[T] R_WF
    cdef Motion[T] rate
    cdef int k
    calc_p_MoBo_W(X_WB + 16*b, X_BF + 16*model.outboard_frame[b], numbers(p))
    v_MoBo = cross(vector_at(V_WB + 6*b), p)
    R_WF = matrix_at(X_WB + 16*model.parent[b], 4)*matrix_at(X_BF + 16*model.inboard_frame[b], 4)
    calc_across_H(model.type[b], model.reversed[b], model.constants[b], q + model.q_start[b], H.dof)
    if not has_constant_H_FM(model.type[b]) or model.reversed[b]:
        calc_across_Hdot(
            model.type[b], model.reversed[b], model.constants[b], q + model.q_start[b], v + model.v_start[b], Hdot.dof
        )
    for k in range(num_v):
        z = vector_at(H_PB_W + 6*(model.v_start[b] + k))
        u = R_WF*H.dof[k].v
        rate.w = cross(w_WP, z)
        rate.v = cross(w_WP, u)
        if not has_constant_H_FM(model.type[b]) or model.reversed[b]:
            rate = rate + R_WF*Hdot.dof[k]
        rate.v = rate.v + cross(rate.w, p) + cross(z, v_MoBo)
        put(rate, rates + 6*k)
