"""Jacobians of the velocities of a body and of points fixed to it, in World.

D. E. Whitney, "The Mathematics of Coordinated Control of Prosthetic Arms and Manipulators", J. Dyn. Sys., Meas.,
Control 94 (1972): columns [z; z × p].
In NumPy: tests/support/textbook.py, jacobian.
"""

from mbt._core.algebra.records cimport Mobod, Pose
from mbt._core.algebra.spatial cimport (
    add_cross, add_rotated4, add_to, get_position4, position_from4, rotate, rotate4, set_zero,
)
from mbt._core.algebra.vectors cimport (
    JointAxes, Mat3, Motion, Vec3, add_column, column_of, motion_at, numbers, pose_at, position_at, put_column, shifted,
    times_transposed, vector_at,
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
    cdef T[3] p_BoP_B, p_NoP_N, p_WoP
    cdef int k

    calc_poses_on_path(model, path + first, model.num_bodies - first, mobods, q, sin_q, cos_q, X_WN)
    get_position4(X_BF + 16*frame, p_BoP_B)
    if p_FoP_F != NULL:
        add_rotated4(X_BF + 16*frame, p_FoP_F, p_BoP_B)
    rotate(numbers(X_NB[node].R), p_BoP_B, p_NoP_N)
    add_to(numbers(X_NB[node].p), 3, p_NoP_N)
    locate(model.mobod[node], X_WN, p_NoP_N, p_WoP)

    # Columns of mobods that are not on the path.
    if model.num_bodies - first < model.num_mobods - 1:
        set_zero(J, 6*model.num_velocities)
    for k in range(first, model.num_bodies):
        set_columns(model, path[k], mobods, q, X_WN, p_WoP, J)


cdef inline void locate(int mobod, const T* X_WN, const T* p_N, T* p_W) noexcept nogil:
    """p_W = X_WN p_N. The mobod frame of World is World."""
    cdef const T* X = X_WN + 16*mobod
    cdef int i
    if mobod == 0:
        for i in range(3):
            p_W[i] = p_N[i]
    else:
        for i in range(3):
            p_W[i] = X[4*i + 3] + X[4*i]*p_N[0] + X[4*i + 1]*p_N[1] + X[4*i + 2]*p_N[2]


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
    cdef T x = X_WN[2]
    cdef T y = X_WN[6]
    cdef T z = X_WN[10]
    cdef T a = p_WoFo[0] - X_WN[3]
    cdef T b = p_WoFo[1] - X_WN[7]
    cdef T c = p_WoFo[2] - X_WN[11]
    J[0] = x
    J[nv] = y
    J[2*nv] = z
    J[3*nv] = y*c - z*b
    J[4*nv] = z*a - x*c
    J[5*nv] = x*b - y*a


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
    cdef T[3] p, z, u
    cdef JointAxes[T] H
    cdef int j, k
    if joint.kind == PRISMATIC_Z:
        for j in range(3):
            J[nv*j + joint.v_start] = <T>0.0
            J[nv*(3 + j) + joint.v_start] = X[4*j + 2]
    else:
        position_from4(X, p_WoFo, p)
        calc_across_H(joint.type, joint.reversed, model.constants[joint.node], q + joint.q_start, H.dof)
        for k in range(joint.nv):
            turn_to_world(X_WP, numbers(mobods[i].X_PF.R), numbers(H.dof[k].w), z)
            turn_to_world(X_WP, numbers(mobods[i].X_PF.R), numbers(H.dof[k].v), u)
            add_cross(z, p, u)
            for j in range(3):
                J[nv*j + joint.v_start + k] = z[j]
                J[nv*(3 + j) + joint.v_start + k] = u[j]


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
    const T* p_WoBp_W,     # (3,)                [m]  the point
    double sign,           # 1 adds, -1 subtracts
    # Out:
    T* J,                  # (6, nv)             [1, m]  columns of the dofs inboard of the body are changed
) noexcept nogil:
    """J[:, k] += sign shift(H_PB_W[k], p_BoBp): inboard of the body, each dof moves it rigidly."""
    cdef int b = node
    cdef Py_ssize_t nv = model.num_velocities
    cdef int k
    cdef Motion[T] V
    cdef Vec3[T] p_BoBp
    while b > 0:
        p_BoBp = vector_at(p_WoBp_W) - position_at(X_WB + 16*b)
        for k in range(model.v_start[b], model.v_start[b + 1]):
            V = shifted(motion_at(H_PB_W + 6*k), p_BoBp)
            add_column(V.w, sign, J + k, nv)
            add_column(V.v, sign, J + k + 3*nv, nv)
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
    const T* p_WoBp_W,     # (3,)                [m]  the point
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
        p_BoBp = vector_at(p_WoBp_W) - position_at(X_WB + 16*b)
        for k in range(model.v_start[b], model.v_start[b + 1]):
            add_column(shifted(motion_at(H_PB_W + 6*k), p_BoBp).v, sign, J + k, nv)
        b = model.parent[b]


cdef inline void express_jacobian(
    int num_rows,          # 3 for each vector
    Py_ssize_t nv,
    const T* X_WE,         # (4, 4)          [1, m]
    T* J,                  # (num_rows, nv)  [1, m]  in World, then in E
) noexcept nogil:
    """J_E = R_EW J_W, in place."""
    cdef int k, row
    cdef Mat3[T] R_WE = pose_at(X_WE).R
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
