"""The time derivative of the Jacobian of the velocity of a point, column by column.

In NumPy: tests/support/textbook.py, jacobian_rate.
"""

from mbt._core.algebra.spatial cimport add_cross, add_to, cross, multiply_poses4, position_from4, rotate4, subtract
from mbt._core.joints.mobilizers cimport calc_across_H, calc_across_Hdot, has_constant_H_FM
from mbt._core.model.structs cimport Model
from mbt._core.passes.position_kinematics cimport calc_p_MoBo_W
from mbt._core.scalars cimport T


cdef inline void add_jacobian_rate(
    # Topology:
    const Model* model,
    int node,              # body that carries the point, or the one that it is measured in
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
    cdef int i, k
    cdef T[3] p_BoP, v_BoP
    cdef T[36] rates
    cdef T[3] y
    while b > 0:
        position_from4(X_WB + 16*b, p_WoP_W, p_BoP)
        subtract(v_WP_W, V_WB + 6*b + 3, 3, v_BoP)
        calc_rates_of_axes(model, b, X_BF, q, v, X_WB, H_PB_W, V_WB, rates)
        for k in range(model.v_start[b], model.v_start[b + 1]):
            for i in range(3):
                y[i] = rates[6*(k - model.v_start[b]) + 3 + i]
            add_cross(rates + 6*(k - model.v_start[b]), p_BoP, y)
            add_cross(H_PB_W + 6*k, v_BoP, y)
            for i in range(3):
                Jdot[nv*i + k] = Jdot[nv*i + k] + rates[6*(k - model.v_start[b]) + i]*sign
                Jdot[nv*(3 + i) + k] = Jdot[nv*(3 + i) + k] + y[i]*sign
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
    cdef const T* w_WP = V_WB + 6*model.parent[b]
    cdef const T* z
    cdef T[16] X_WF
    cdef T[36] H, Hdot
    cdef T[3] p, wp, u
    cdef T[6] turned
    cdef T* y
    cdef int k
    calc_p_MoBo_W(X_WB + 16*b, X_BF + 16*model.outboard_frame[b], p)
    cross(V_WB + 6*b, p, wp)
    multiply_poses4(X_WB + 16*model.parent[b], X_BF + 16*model.inboard_frame[b], X_WF)
    calc_across_H(model.type[b], model.reversed[b], model.constants[b], q + model.q_start[b], H)
    if not has_constant_H_FM(model.type[b]) or model.reversed[b]:
        calc_across_Hdot(
            model.type[b], model.reversed[b], model.constants[b], q + model.q_start[b], v + model.v_start[b], Hdot
        )
    for k in range(num_v):
        y = rates + 6*k
        z = H_PB_W + 6*(model.v_start[b] + k)
        rotate4(X_WF, H + 6*k + 3, u)
        cross(w_WP, z, y)
        cross(w_WP, u, y + 3)
        if not has_constant_H_FM(model.type[b]) or model.reversed[b]:
            rotate4(X_WF, Hdot + 6*k, turned)
            rotate4(X_WF, Hdot + 6*k + 3, turned + 3)
            add_to(turned, 6, y)
        add_cross(y, p, y + 3)
        add_cross(z, wp, y + 3)
