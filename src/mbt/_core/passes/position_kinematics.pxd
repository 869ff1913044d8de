"""Position kinematics by body, in World, as held by the caches of a Context.

R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, section 4.2.
In NumPy: tests/support/textbook.py, body_poses, motion_axes.
"""

from mbt._core.algebra.rotations cimport set_rotation_about_axis
from mbt._core.algebra.spatial cimport (
    compose_pose4, invert_pose4, multiply_poses4, rotate4, set_identity4, set_pose4, set_zero,
)
from mbt._core.algebra.vectors cimport (
    Mat3, Motion, Pose, RigidInertia, Vec3, full, inertia_of_body, matrix_at, motion_at, numbers, pose_at, position_at,
    put, rotated, shifted, skew, transpose,
)
from mbt._core.joints.mobilizers cimport REVOLUTE, calc_across_H, calc_across_pose, is_of_one_axis
from mbt._core.model.structs cimport Model
from mbt._core.scalars cimport T, sincos_of_angles


cdef inline void calc_position_kinematics(
    # Topology:
    const Model* model,
    # Parameters:
    const T* X_BF,         # (num_frames, 4, 4)  [1, m]
    # In:
    const T* q,            # (nq,)               [rad, m]
    # Work:
    T* sin_q,              # (angle_stride,)     [1]
    T* cos_q,              # (angle_stride,)     [1]
    # Out:
    T* X_FM,               # (num_bodies, 4, 4)  [1, m]  outboard in inboard frame; identity for World; or NULL
    T* X_PB,               # (num_bodies, 4, 4)  [1, m]  or NULL as well
    T* X_WB,               # (num_bodies, 4, 4)  [1, m]
    T* H_FM,               # (nv, 6)             [1, m]  outboard in inboard frame
    T* H_PB_W,             # (nv, 6)             [1, m]  velocity of Bo in P, in World
) noexcept nogil:
    """X_WB = X_WP X_PB, X_PB = X_PF X_FM X_MB; H_PB_W = shift(R_WF H_FM, p_MoBo_W)."""
    cdef int b
    cdef T[16] X_PB_here
    cdef T* X_FM_b = NULL
    cdef T* X_PB_b = X_PB_here
    start_position_kinematics(model, q, sin_q, cos_q, X_FM, X_PB)
    set_identity4(X_WB)
    for b in range(1, model.num_bodies):
        if X_FM != NULL:
            X_FM_b = X_FM + 16*b
            X_PB_b = X_PB + 16*b
        calc_pose_in_parent(model, b, X_BF, q, sin_q, cos_q, X_FM_b, X_PB_b)
        multiply_poses4(X_WB + 16*model.parent[b], X_PB_b, X_WB + 16*b)
        calc_motion_axes(model, b, X_BF, q, X_WB, H_FM, H_PB_W)


cdef inline void complete_position_kinematics(
    # Topology:
    const Model* model,
    # Parameters:
    const T* X_BF,         # (num_frames, 4, 4)  [1, m]
    # In:
    const T* q,            # (nq,)               [rad, m]
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    # Work:
    T* sin_q,              # (angle_stride,)     [1]
    T* cos_q,              # (angle_stride,)     [1]
    # Out:
    T* X_FM,               # (num_bodies, 4, 4)  [1, m]
    T* X_PB,               # (num_bodies, 4, 4)  [1, m]
    T* H_FM,               # (nv, 6)             [1, m]
    T* H_PB_W,             # (nv, 6)             [1, m]
) noexcept nogil:
    """The results of `calc_position_kinematics` besides the poses in World, computed from these."""
    cdef int b
    start_position_kinematics(model, q, sin_q, cos_q, X_FM, X_PB)
    for b in range(1, model.num_bodies):
        calc_pose_in_parent(model, b, X_BF, q, sin_q, cos_q, X_FM + 16*b, X_PB + 16*b)
        calc_motion_axes(model, b, X_BF, q, X_WB, H_FM, H_PB_W)


cdef inline void calc_motion_axes_of_bodies(
    # Topology:
    const Model* model,
    # Parameters:
    const T* X_BF,         # (num_frames, 4, 4)  [1, m]
    # In:
    const T* q,            # (nq,)               [rad, m]
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    # Out:
    T* H_FM,               # (nv, 6)             [1, m]
    T* H_PB_W,             # (nv, 6)             [1, m]
) noexcept nogil:
    cdef int b
    for b in range(1, model.num_bodies):
        calc_motion_axes(model, b, X_BF, q, X_WB, H_FM, H_PB_W)


cdef inline void start_position_kinematics(
    # Topology:
    const Model* model,
    # In:
    const T* q,            # (nq,)               [rad, m]
    # Out:
    T* sin_q,              # (angle_stride,)     [1]
    T* cos_q,              # (angle_stride,)     [1]
    T* X_FM,               # (num_bodies, 4, 4)  [1, m]  that of World; or NULL
    T* X_PB,               # (num_bodies, 4, 4)  [1, m]  that of World; or NULL as well
) noexcept nogil:
    if X_FM != NULL:
        set_identity4(X_FM)
        set_identity4(X_PB)
    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)


cdef inline void calc_pose_in_parent(
    # Topology:
    const Model* model,
    int b,
    # Parameters:
    const T* X_BF,         # (num_frames, 4, 4)  [1, m]
    # In:
    const T* q,            # (nq,)               [rad, m]
    const T* sin_q,        # (angle_stride,)     [1]
    const T* cos_q,        # (angle_stride,)     [1]
    # Out:
    T* X_FM,               # (4, 4)              [1, m]  or NULL
    T* X_PB,               # (4, 4)              [1, m]
) noexcept nogil:
    cdef Pose[T] X
    cdef int angle
    if model.type[b] == REVOLUTE:
        angle = model.joints[model.mobod[b]].angle
        set_rotation_about_axis(model.constants[b], sin_q[angle], cos_q[angle], numbers(X.R))
        set_zero(numbers(X.p), 3)
    else:
        calc_across_pose(model.type[b], model.reversed[b], model.constants[b], q + model.q_start[b], &X)
    if X_FM != NULL:
        set_pose4(numbers(X.R), numbers(X.p), X_FM)
    calc_X_PB(model, b, X_BF, numbers(X.R), numbers(X.p), X_PB)


cdef inline void calc_motion_axes(
    # Topology:
    const Model* model,
    int b,
    # Parameters:
    const T* X_BF,         # (num_frames, 4, 4)  [1, m]
    # In:
    const T* q,            # (nq,)               [rad, m]
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    # Out:
    T* H_FM,               # (nv, 6)             [1, m]  those of body b
    T* H_PB_W,             # (nv, 6)             [1, m]  those of body b
) noexcept nogil:
    cdef Motion[T]* h
    if model.v_start[b + 1] > model.v_start[b]:
        h = <Motion[T]*>(H_FM + 6*model.v_start[b])
        calc_across_H(model.type[b], model.reversed[b], model.constants[b], q + model.q_start[b], h)
        if is_of_one_axis(model.type[b]) and is_body_frame(model, model.outboard_frame[b]):
            put(matrix_at(X_WB + 16*b, 4)*h[0], H_PB_W + 6*model.v_start[b])
        else:
            calc_H_PB_W(model, b, X_BF, X_WB, H_FM, H_PB_W)


cdef inline int is_body_frame(const Model* model, int frame) noexcept nogil:
    """1 if the frame is that of its body, whatever the parameters."""
    return 1 if model.frame_parent[frame] < 0 else 0


cdef inline void calc_X_PB(
    const Model* model, int b, const T* X_BF, const T* R_FM, const T* p_FoMo_F, T* X_PB
) noexcept nogil:
    """X_PB = X_PF X_FM X_MB."""
    cdef T[16] X_PM, X_MB
    if is_body_frame(model, model.outboard_frame[b]):
        compose_pose4(X_BF + 16*model.inboard_frame[b], R_FM, p_FoMo_F, X_PB)
    else:
        compose_pose4(X_BF + 16*model.inboard_frame[b], R_FM, p_FoMo_F, X_PM)
        invert_pose4(X_BF + 16*model.outboard_frame[b], X_MB)
        multiply_poses4(X_PM, X_MB, X_PB)


cdef inline void calc_H_PB_W(
    const Model* model, int b, const T* X_BF, const T* X_WB, const T* H_FM, T* H_PB_W
) noexcept nogil:
    """H_PB_W = shift(R_WF H_FM, p_MoBo_W)."""
    cdef Vec3[T] p_MoBo_W
    cdef Mat3[T] R_WF
    cdef int k
    calc_p_MoBo_W(X_WB + 16*b, X_BF + 16*model.outboard_frame[b], numbers(p_MoBo_W))
    R_WF = matrix_at(X_WB + 16*model.parent[b], 4)*matrix_at(X_BF + 16*model.inboard_frame[b], 4)
    for k in range(model.v_start[b], model.v_start[b + 1]):
        put(shifted(R_WF*motion_at(H_FM + 6*k), p_MoBo_W), H_PB_W + 6*k)


cdef inline void calc_p_MoBo_W(const T* X_WB, const T* X_BM, T* p_MoBo_W) noexcept nogil:
    cdef Vec3[T] p_MoBo_B = -position_at(X_BM)
    rotate4(X_WB, numbers(p_MoBo_B), p_MoBo_W)


cdef inline void calc_spatial_inertias_in_world(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    const T* I_BBo_B,      # (num_bodies, 6)     [kg m^2]  xx yy zz xy xz yz
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    # Out:
    T* p_BoBcm_W,          # (num_bodies, 3)     [m]
    T* M_Bo_W,             # (num_bodies, 6, 6)  [kg m^2, kg m, kg]
) noexcept nogil:
    """M_Bo_W = [I, m [c]x; -m [c]x, m 1], with c = p_BoBcm_W."""
    cdef int b
    cdef RigidInertia[T] I
    cdef Mat3[T] h
    cdef T* M
    set_zero(M_Bo_W, 36*model.num_bodies)
    for b in range(model.num_bodies):
        rotate4(X_WB + 16*b, p_BoBcm_B + 3*b, p_BoBcm_W + 3*b)
        I = rotated(pose_at(X_WB + 16*b).R, inertia_of_body(mass[b], p_BoBcm_B + 3*b, I_BBo_B + 6*b))
        M = M_Bo_W + 36*b
        put(full(I.J), M, 6)
        h = full(skew(I.h))
        put(h, M + 3, 6)
        put(transpose(h), M + 18, 6)
        M[21] = M[28] = M[35] = mass[b]
