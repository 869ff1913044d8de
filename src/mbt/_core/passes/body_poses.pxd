"""Body poses in World, straight from q.

R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, section 4.2.
In NumPy: tests/support/textbook.py, body_poses.
"""

from mbt._core.algebra.records cimport Mobod, Pose
from mbt._core.algebra.spatial cimport compose_pose4, compose_turned_pose4, set_pose4, shift_axes4
from mbt._core.algebra.vectors cimport numbers
from mbt._core.joints.mobilizers cimport GENERAL, REVOLUTE_Z
from mbt._core.joints.mobod_joints cimport calc_general_X_PN, calc_X_PN
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.scalars cimport (
    PoseRows, T, load_constant_pose, load_pose_rows, make_pose_rows, multiply_rows, sincos_of_angles, store_pose_rows,
    store_shifted_rows, turn_rows,
)


cdef inline void calc_body_poses(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const Pose[T]* X_NB,           # (num_bodies,)
    # In:
    const T* q,                    # (nq,)               [rad, m]
    # Work:
    T* sin_q,                      # (angle_stride,)     [1]
    T* cos_q,                      # (angle_stride,)     [1]
    T* X_WN,                       # (num_mobods, 4, 4)  [1, m]
    # Out:
    T* X_WB,                       # (num_bodies, 4, 4)  [1, m]
) noexcept nogil:
    """X_WB = X_WN X_NB."""
    cdef int i, b
    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)
    if T is double:
        calc_poses_in_rows(model, mobods, q, sin_q, cos_q, X_WN, X_WB)
    else:
        for i in range(1, model.num_mobods):
            calc_node_pose(model, i, mobods, q, sin_q, cos_q, X_WN)
    for b in range(model.num_bodies):
        if model.axis_shift[b] < 0:
            calc_body_pose(model, b, X_NB, X_WN, X_WB + 16*b)
        elif T is not double:
            shift_axes4(X_WN + 16*model.mobod[b], model.axis_shift[b], X_WB + 16*b)


cdef inline void calc_poses_in_rows(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    # In:
    const T* q,                    # (nq,)               [rad, m]
    const T* sin_q,                # (angle_stride,)     [1]
    const T* cos_q,                # (angle_stride,)     [1]
    # Out:
    T* X_WN,                       # (num_mobods, 4, 4)  [1, m]
    T* X_WB,                       # (num_bodies, 4, 4)  [1, m]  of bodies whose axes are those of their mobod, shifted
) noexcept nogil:
    """For doubles, base to tip, with the pose of the previous mobod in registers."""
    cdef PoseRows X = PoseRows()
    cdef int i, b
    if T is double:
        for i in range(1, model.num_mobods):
            if 0 < model.joints[i].parent != i - 1:
                X = load_pose_rows(X_WN + 16*model.joints[i].parent)
            X = calc_node_pose_in_rows(model, i, mobods, q, sin_q, cos_q, X)
            store_pose_rows(X, X_WN + 16*i)
            b = model.joints[i].node
            if model.axis_shift[b] >= 0:
                store_shifted_rows(X, model.axis_shift[b], X_WB + 16*b)


cdef inline PoseRows calc_node_pose_in_rows(
    # Topology:
    const Model* model,
    int i,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    # In:
    const T* q,                    # (nq,)            [rad, m]
    const T* sin_q,                # (angle_stride,)  [1]
    const T* cos_q,                # (angle_stride,)  [1]
    PoseRows X_WP,                 # of the parent, unless that is World
) noexcept nogil:
    """For doubles, X_WN = X_WP X_PN of mobod i. Operations that need not wait for the parent come first."""
    cdef const MobodJoint* joint = &model.joints[i]
    cdef Pose[T] X_FM, X_PN
    cdef PoseRows X = PoseRows()
    if T is double:
        if joint.kind == REVOLUTE_Z:
            X = turn_rows(load_constant_pose(numbers(mobods[i].X_PF.R)), sin_q[joint.angle], cos_q[joint.angle])
        else:
            if joint.kind == GENERAL:
                calc_general_X_PN(joint, model.constants[joint.node], &mobods[i].X_PF, q, &X_FM, &X_PN)
            else:
                calc_X_PN(joint, model.constants[joint.node], &mobods[i].X_PF, q, sin_q, cos_q, &X_PN, <T*>NULL)
            X = make_pose_rows(numbers(X_PN.R), numbers(X_PN.p))
        if joint.parent != 0:
            X = multiply_rows(X_WP, X)
    return X


cdef inline void calc_node_pose(
    # Topology:
    const Model* model,
    int i,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    # In:
    const T* q,                    # (nq,)               [rad, m]
    const T* sin_q,                # (angle_stride,)     [1]
    const T* cos_q,                # (angle_stride,)     [1]
    # Out:
    T* X_WN,                       # (num_mobods, 4, 4)  [1, m]  World's is not set
) noexcept nogil:
    """X_WN = X_WP X_PN of mobod i, after its parent."""
    cdef const MobodJoint* joint = &model.joints[i]
    if joint.kind == REVOLUTE_Z and joint.parent != 0:
        compose_turned_pose4(
            X_WN + 16*joint.parent, numbers(mobods[i].X_PF.R), numbers(mobods[i].X_PF.p), sin_q[joint.angle],
            cos_q[joint.angle], X_WN + 16*i
        )
    else:
        calc_pose_of_other_node(model, joint, &mobods[i].X_PF, q, sin_q, cos_q, X_WN, X_WN + 16*i)


# A separate function, so that compilers inline the common case into the loops of its callers: this saves 15 % of the
# instructions of batches (benchmarks/instruction_counts.py, body poses).
cdef inline void calc_pose_of_other_node(
    # Topology:
    const Model* model,
    const MobodJoint* joint,
    # Parameters:
    const Pose[T]* X_PF,
    # In:
    const T* q,                    # (nq,)               [rad, m]
    const T* sin_q,                # (angle_stride,)     [1]
    const T* cos_q,                # (angle_stride,)     [1]
    const T* X_WN,                 # (num_mobods, 4, 4)  [1, m]
    # Out:
    T* X_WC,                       # (4, 4)              [1, m]  that of the joint's mobod
) noexcept nogil:
    """X_WN = X_WP X_PN of a mobod whose parent is World, or whose joint is not revolute about z."""
    cdef Pose[T] X_FM, X_PN
    if joint.kind == GENERAL:
        calc_general_X_PN(joint, model.constants[joint.node], X_PF, q, &X_FM, &X_PN)
    else:
        calc_X_PN(joint, model.constants[joint.node], X_PF, q, sin_q, cos_q, &X_PN, <T*>NULL)
    if joint.parent == 0:
        set_pose4(numbers(X_PN.R), numbers(X_PN.p), X_WC)
    else:
        compose_pose4(X_WN + 16*joint.parent, numbers(X_PN.R), numbers(X_PN.p), X_WC)


cdef inline void calc_body_pose(
    # Topology:
    const Model* model,
    int b,
    # Parameters:
    const Pose[T]* X_NB,           # (num_bodies,)
    # In:
    const T* X_WN,                 # (num_mobods, 4, 4)  [1, m]
    # Out:
    T* X_WB,                       # (4, 4)              [1, m]
) noexcept nogil:
    """X_WB = X_WN X_NB of body b, where that is more than a shift of axes."""
    cdef int i = model.mobod[b]
    if i == 0:
        set_pose4(numbers(X_NB[b].R), numbers(X_NB[b].p), X_WB)
    else:
        compose_pose4(X_WN + 16*i, numbers(X_NB[b].R), numbers(X_NB[b].p), X_WB)
