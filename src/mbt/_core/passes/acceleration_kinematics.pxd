"""Body accelerations in World: classical, of the body origin.

R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, sections 2.11 and 5.3: its second recursion, of the
classical acceleration instead of the spatial one.
In NumPy: tests/support/textbook.py, axis_rates, accelerations.
"""

from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport (
    JointAxes, Mat3, Motion, Vec3, cross, matrix_at, motion_at, numbers, position_at, put, shifted, twice, vector_at,
)
from mbt._core.joints.mobilizers cimport calc_across_Hdot, calc_Hv, has_constant_H_FM
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
    cdef int b, k
    cdef Vec3[T] p_PB_W, w_WP
    cdef Motion[T] A_WP, V_PB, A
    set_zero(A_WB, 6)
    for b in range(1, model.num_bodies):
        p_PB_W = position_at(X_WB + 16*b) - position_at(X_WB + 16*model.parent[b])
        w_WP = vector_at(V_WB + 6*model.parent[b])
        A_WP = motion_at(A_WB + 6*model.parent[b])
        V_PB = motion_at(V_PB_W + 6*b)
        A.w = A_WP.w + cross(w_WP, V_PB.w)
        A.v = A_WP.v + cross(A_WP.w, p_PB_W) + cross(w_WP, cross(w_WP, p_PB_W)) + cross(w_WP, twice(V_PB.v))
        for k in range(model.v_start[b], model.v_start[b + 1]):
            A = A + motion_at(H_PB_W + 6*k)*vdot[k]
        if model.v_start[b + 1] > model.v_start[b]:
            add_mobilizer_bias(model, b, X_BF, q, v, X_WB, V_PB.w, &A)
        put(A, A_WB + 6*b)


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
    const Vec3[T]& w_PB,   # [rad/s]             in World
    # Out:
    Motion[T]* A_WB,       # [rad/s^2, m/s^2]    of body b; added to
) noexcept nogil:
    """A_WB += A_PB_W at vdot = 0: shift(R_WF Hdot_FM v, p_MoBo, w_PB)."""
    cdef JointAxes[T] Hdot
    cdef Motion[T] A
    cdef Vec3[T] p_MoBo_W
    cdef Mat3[T] R_WF
    if not is_body_frame(model, model.outboard_frame[b]):
        calc_p_MoBo_W(X_WB + 16*b, X_BF + 16*model.outboard_frame[b], numbers(p_MoBo_W))
        A_WB.v = A_WB.v + cross(w_PB, cross(w_PB, p_MoBo_W))
    if has_constant_H_FM(model.type[b]) and not model.reversed[b]:
        return
    calc_across_Hdot(
        model.type[b], model.reversed[b], model.constants[b], q + model.q_start[b], v + model.v_start[b], Hdot.dof
    )
    R_WF = matrix_at(X_WB + 16*model.parent[b], 4)*matrix_at(X_BF + 16*model.inboard_frame[b], 4)
    A = R_WF*calc_Hv(model.v_start[b + 1] - model.v_start[b], Hdot.dof, v + model.v_start[b])
    if not is_body_frame(model, model.outboard_frame[b]):
        A = shifted(A, p_MoBo_W)
    A_WB[0] = A_WB[0] + A
