"""Body accelerations in World: classical, of the body origin.

R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, sections 2.11 and 5.3: its second recursion, of the
classical acceleration instead of the spatial one.
In NumPy: tests/support/textbook.py, axis_rates, accelerations.
"""

from mbt._core.algebra.spatial cimport (
    add_cross, add_scaled, add_to, cross, multiply_poses4, position_between4, rotate4, set_zero, shift_acceleration,
)
from mbt._core.joints.mobilizers cimport calc_across_Hdot, has_constant_H_FM
from mbt._core.model.structs cimport Model
from mbt._core.passes.position_kinematics cimport calc_p_MoBo_W, is_body_frame
from mbt._core.scalars cimport T


cdef inline void calc_acceleration_kinematics(
    # Topology:
    const Model* model,
    # Parameters:
    const T* X_BF,         # (num_frames, 4, 4)  [1, m]
    # In:
    const T* q,            # (nq,)               [rad, m]
    const T* v,            # (nv,)               [rad/s, m/s]
    const T* vdot,         # (nv,)               [rad/s^2, m/s^2]
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* H_PB_W,       # (nv, 6)             [1, m]
    const T* V_PB_W,       # (num_bodies, 6)     [rad/s, m/s]
    const T* V_WB,         # (num_bodies, 6)     [rad/s, m/s]
    # Out:
    T* A_WB,               # (num_bodies, 6)     [rad/s^2, m/s^2]
) noexcept nogil:
    """A_WB = shift(A_WP, p_PB_W, w_WP) + [w_WP × w_PB; 2 w_WP × v_PB] + A_PB_W."""
    cdef int b, i, k
    cdef T[3] p_PB_W, two_v
    cdef const T* w_WP
    set_zero(A_WB, 6)
    for b in range(1, model.num_bodies):
        w_WP = V_WB + 6*model.parent[b]
        position_between4(X_WB + 16*model.parent[b], X_WB + 16*b, p_PB_W)
        shift_acceleration(A_WB + 6*model.parent[b], w_WP, p_PB_W, A_WB + 6*b)
        for i in range(3):
            two_v[i] = V_PB_W[6*b + 3 + i]*2.0
        add_cross(w_WP, V_PB_W + 6*b, A_WB + 6*b)
        add_cross(w_WP, two_v, A_WB + 6*b + 3)
        for k in range(model.v_start[b], model.v_start[b + 1]):
            add_scaled(H_PB_W + 6*k, vdot[k], 6, A_WB + 6*b)
        if model.v_start[b + 1] > model.v_start[b]:
            add_mobilizer_bias(model, b, X_BF, q, v, X_WB, V_PB_W, A_WB)


cdef inline void add_mobilizer_bias(
    # Topology:
    const Model* model,
    int b,
    # Parameters:
    const T* X_BF,         # (num_frames, 4, 4)  [1, m]
    # In:
    const T* q,            # (nq,)               [rad, m]
    const T* v,            # (nv,)               [rad/s, m/s]
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* V_PB_W,       # (num_bodies, 6)     [rad/s, m/s]
    # Out:
    T* A_WB,               # (num_bodies, 6)     [rad/s^2, m/s^2]  row b added to
) noexcept nogil:
    """A_WB += A_PB_W at vdot = 0: shift(R_WF Hdot_FM v, p_MoBo, w_PB)."""
    cdef T[36] Hdot
    cdef T[6] A_FM, A_W
    cdef T[16] X_WF
    cdef T[3] p_MoBo_W, wp
    cdef int k
    if not is_body_frame(model, model.outboard_frame[b]):
        calc_p_MoBo_W(X_WB + 16*b, X_BF + 16*model.outboard_frame[b], p_MoBo_W)
        cross(V_PB_W + 6*b, p_MoBo_W, wp)
        add_cross(V_PB_W + 6*b, wp, A_WB + 6*b + 3)
    if has_constant_H_FM(model.type[b]) and not model.reversed[b]:
        return
    calc_across_Hdot(
        model.type[b], model.reversed[b], model.constants[b], q + model.q_start[b], v + model.v_start[b], Hdot
    )
    set_zero(A_FM, 6)
    for k in range(model.v_start[b + 1] - model.v_start[b]):
        add_scaled(Hdot + 6*k, v[model.v_start[b] + k], 6, A_FM)
    multiply_poses4(X_WB + 16*model.parent[b], X_BF + 16*model.inboard_frame[b], X_WF)
    rotate4(X_WF, A_FM, A_W)
    rotate4(X_WF, A_FM + 3, A_W + 3)
    if not is_body_frame(model, model.outboard_frame[b]):
        add_cross(A_W, p_MoBo_W, A_W + 3)
    add_to(A_W, 6, A_WB + 6*b)
