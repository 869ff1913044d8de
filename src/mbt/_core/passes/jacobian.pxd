"""Jacobians of the velocities of a body and of points fixed to it, in World.

D. E. Whitney, "The Mathematics of Coordinated Control of Prosthetic Arms and Manipulators", J. Dyn. Sys., Meas.,
Control 94 (1972): columns [z; z × p].
In NumPy: tests/support/textbook.py, jacobian.
"""

from mbt._core.algebra.records cimport Mobod, Pose
from mbt._core.algebra.spatial cimport rotate, rotate4, set_zero
from mbt._core.algebra.vectors cimport (
    JointAxes, Mat3, Motion, Vec3, add_column, column_of, cross, matrix_at, motion_at, numbers, position_at,
    put_column, shifted, times_transposed, vector_at,
)
from mbt._core.joints.mobilizers cimport PRISMATIC_Z, REVOLUTE_Z, calc_across_H, calc_v
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.passes.paths cimport calc_poses_on_path, find_path
from mbt._core.scalars cimport T


cdef inline void calc_frame_jacobian(
    # Topology:
    const Model* model,
    int frame,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const Pose[T]* X_NB,           # (num_bodies,)
    const T* X_BF,                 # (num_frames, 4, 4)  [1, m]
    # In:
    const T* q,                    # (nq,)               [rad, m]
    const T* p_FoP_F,              # (3,)                [m]  a point fixed to the frame; NULL: its origin
    # Work:
    int* path,                     # (num_bodies,)
    T* sin_q,                      # (angle_stride,)     [1]
    T* cos_q,                      # (angle_stride,)     [1]
    T* X_WN,                       # (num_mobods, 4, 4)  [1, m]
    # Out:
    T* J,                          # (6, nv)             [1, m]
) noexcept nogil:
    """V_WP = J v, straight from q, along the path to the frame only."""
    cdef int node = model.frame_node[frame]
    cdef int first = find_path(model, node, path)
    cdef int mobod = model.mobod[node]
    cdef Vec3[T] p_BoP_B, p_NoP_N, p_WoP
    cdef int k

    calc_poses_on_path(model, path + first, model.num_bodies - first, mobods, q, sin_q, cos_q, X_WN)
    p_BoP_B = position_at(X_BF + 16*frame)
    if p_FoP_F != NULL:
        p_BoP_B = p_BoP_B + matrix_at(X_BF + 16*frame, 4)*vector_at(p_FoP_F)
    p_NoP_N = X_NB[node].R*p_BoP_B + X_NB[node].p
    # The mobod frame of World is World.
    p_WoP = p_NoP_N
    if mobod != 0:
        p_WoP = position_at(X_WN + 16*mobod) + matrix_at(X_WN + 16*mobod, 4)*p_NoP_N

    # Columns of mobods that are not on the path.
    if model.num_bodies - first < model.num_mobods - 1:
        set_zero(J, 6*model.num_velocities)
    for k in range(first, model.num_bodies):
        set_columns(model, path[k], mobods, q, X_WN, numbers(p_WoP), J)


cdef inline void set_columns(
    # Topology:
    const Model* model,
    int i,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    # In:
    const T* q,                    # (nq,)               [rad, m]
    const T* X_WN,                 # (num_mobods, 4, 4)  [1, m]
    const T* p_WoFo,               # (3,)                [m]
    # Out:
    T* J,                          # (6, nv)             [1, m]  columns of mobod i
) noexcept nogil:
    """Columns of the dofs of mobod i, which move the frame about No."""
    cdef const MobodJoint* joint = &model.joints[i]
    cdef Py_ssize_t nv = model.num_velocities
    if joint.kind == REVOLUTE_Z:
        set_revolute_column(X_WN + 16*i, p_WoFo, nv, J + joint.v_start)
    else:
        set_other_columns(model, i, mobods, q, X_WN, p_WoFo, J)


cdef inline void set_revolute_column(const T* X_WN, const T* p_WoFo, Py_ssize_t nv, T* J) noexcept nogil:
    """[z; z × p_NoFo]"""
    cdef Motion[T] V
    V.w = column_of(X_WN + 2, 4)
    V.v = cross(V.w, vector_at(p_WoFo) - position_at(X_WN))
    put_column(V, J, nv)


cdef inline void set_other_columns(
    # Topology:
    const Model* model,
    int i,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    # In:
    const T* q,                    # (nq,)               [rad, m]
    const T* X_WN,                 # (num_mobods, 4, 4)  [1, m]
    const T* p_WoFo,               # (3,)                [m]
    # Out:
    T* J,                          # (6, nv)             [1, m]  columns of mobod i
) noexcept nogil:
    """The same for joints that are not revolute about z."""
    cdef const MobodJoint* joint = &model.joints[i]
    cdef const T* X = X_WN + 16*i
    cdef const T* X_WP = X_WN + 16*joint.parent if joint.parent != 0 else <const T*>NULL
    cdef Py_ssize_t nv = model.num_velocities
    cdef Motion[T] V
    cdef Vec3[T] p
    cdef JointAxes[T] H
    cdef int k
    if joint.kind == PRISMATIC_Z:
        set_zero(numbers(V.w), 3)
        V.v = column_of(X + 2, 4)
        put_column(V, J + joint.v_start, nv)
    else:
        p = vector_at(p_WoFo) - position_at(X)
        calc_across_H(joint.type, joint.reversed, model.constants[joint.node], q + joint.q_start, H.dof)
        for k in range(joint.nv):
            turn_to_world(X_WP, numbers(mobods[i].X_PF.R), numbers(H.dof[k].w), numbers(V.w))
            turn_to_world(X_WP, numbers(mobods[i].X_PF.R), numbers(H.dof[k].v), numbers(V.v))
            put_column(shifted(V, p), J + joint.v_start + k, nv)


cdef inline void turn_to_world(const T* X_WP, const T* R_PF, const T* x_F, T* x_W) noexcept nogil:
    """x_W = R_WP R_PF x_F. Without X_WP, P is World."""
    cdef T[3] x_P
    if X_WP == NULL:
        rotate(R_PF, x_F, x_W)
    else:
        rotate(R_PF, x_F, x_P)
        rotate4(X_WP, x_P, x_W)


cdef inline void add_spatial_velocity_jacobian(
    # Topology:
    const Model* model,
    int node,              # body that carries the point
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* H_PB_W,       # (nv, 6)             [1, m]
    const Vec3[T]& p_WoBp_W,  # [m]  the point
    double sign,           # 1 adds, -1 subtracts
    # Out:
    T* J,                  # (6, nv)             [1, m]  columns of the dofs inboard of the body are changed
) noexcept nogil:
    """J[:, k] += sign shift(H_PB_W[k], p_BoBp): inboard of the body, each dof moves it rigidly."""
    cdef int b = node
    cdef Py_ssize_t nv = model.num_velocities
    cdef int k
    cdef Vec3[T] p_BoBp
    while b > 0:
        p_BoBp = p_WoBp_W - position_at(X_WB + 16*b)
        for k in range(model.v_start[b], model.v_start[b + 1]):
            add_column(shifted(motion_at(H_PB_W + 6*k), p_BoBp), sign, J + k, nv)
        b = model.parent[b]


cdef inline void add_angular_velocity_jacobian(
    # Topology:
    const Model* model,
    int node,
    # In:
    const T* H_PB_W,       # (nv, 6)  [1, m]
    double sign,           # 1 adds, -1 subtracts
    # Out:
    T* J,                  # (3, nv)  [1]  columns of the dofs inboard of the body are changed
) noexcept nogil:
    """J[:, k] += sign * angular part of H_PB_W[k]."""
    cdef int b = node
    cdef Py_ssize_t nv = model.num_velocities
    cdef int k
    while b > 0:
        for k in range(model.v_start[b], model.v_start[b + 1]):
            add_column(vector_at(H_PB_W + 6*k), sign, J + k, nv)
        b = model.parent[b]


cdef inline void add_translational_velocity_jacobian(
    # Topology:
    const Model* model,
    int node,              # body that carries the point
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* H_PB_W,       # (nv, 6)             [1, m]
    const Vec3[T]& p_WoBp_W,  # [m]  the point
    double sign,           # 1 adds, -1 subtracts
    # Out:
    T* J,                  # (3, nv)             [m, 1]  columns of the dofs inboard of the body are changed
) noexcept nogil:
    """J[:, k] += sign (v + w × p_BoBp), with [w; v] = H_PB_W[k]."""
    cdef int b = node
    cdef Py_ssize_t nv = model.num_velocities
    cdef int k
    cdef Vec3[T] p_BoBp
    while b > 0:
        p_BoBp = p_WoBp_W - position_at(X_WB + 16*b)
        for k in range(model.v_start[b], model.v_start[b + 1]):
            add_column(shifted(motion_at(H_PB_W + 6*k), p_BoBp).v, sign, J + k, nv)
        b = model.parent[b]


cdef inline void express_jacobian(
    int num_rows,          # 3 for each vector
    Py_ssize_t nv,
    const Mat3[T]& R_WE,   # [1]
    T* J,                  # (num_rows, nv)  [1, m]  in World, then in E
) noexcept nogil:
    """J_E = R_EW J_W, in place."""
    cdef int k, row
    for row in range(0, num_rows, 3):
        for k in range(nv):
            put_column(times_transposed(R_WE, column_of(J + nv*row + k, nv)), J + nv*row + k, nv)


cdef inline void multiply_by_Nplus(
    # Topology:
    const Model* model,
    # In:
    const T* q,            # (nq,)           [rad, m]
    int num_rows,
    const T* J_v,          # (num_rows, nv)  [1, m]
    # Out:
    T* J_qdot,             # (num_rows, nq)  [1, m]
) noexcept nogil:
    """J_qdot = J_v N+, mobilizer by mobilizer: N+ is block diagonal."""
    cdef int b, i, k, l, row, nq_b, nv_b
    cdef Py_ssize_t nq = model.num_positions
    cdef Py_ssize_t nv = model.num_velocities
    cdef T[7] unit
    cdef T[6] v
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
