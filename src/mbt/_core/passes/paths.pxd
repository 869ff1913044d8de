"""Along the path to one frame: its pose, and those of the mobods on the way."""

from mbt._core.algebra.records cimport Mobod, Pose
from mbt._core.algebra.spatial cimport multiply_poses4
from mbt._core.joints.mobilizers cimport REVOLUTE_Z
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.passes.body_poses cimport calc_body_pose, calc_node_pose, calc_node_pose_in_rows
from mbt._core.scalars cimport MBT_W, PoseRows, T, sincos_, sincos_of_angles, store_pose_rows


cdef inline void calc_frame_pose(
    # Topology:
    const Model* model,
    int frame,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const Pose[T]* X_NB,           # (num_bodies,)
    const T* X_BF,                 # (num_frames, 4, 4)  [1, m]
    # In:
    const T* q,                    # (nq,)               [rad, m]
    # Work:
    int* path,                     # (num_bodies,)
    T* sin_q,                      # (angle_stride,)     [1]
    T* cos_q,                      # (angle_stride,)     [1]
    T* X_WN,                       # (num_mobods, 4, 4)  [1, m]
    # Out:
    T* X_WF,                       # (4, 4)              [1, m]
) noexcept nogil:
    """X_WF = X_WN X_NB X_BF, straight from q."""
    cdef int node = model.frame_node[frame]
    cdef int first = find_path(model, node, path)
    cdef T[16] X_WB
    calc_poses_on_path(model, path + first, model.num_bodies - first, mobods, q, sin_q, cos_q, X_WN)
    if model.frame_parent[frame] < 0:
        calc_body_pose(model, node, X_NB, X_WN, X_WF)
    else:
        calc_body_pose(model, node, X_NB, X_WN, X_WB)
        multiply_poses4(X_WB, X_BF + 16*frame, X_WF)


cdef inline int find_path(
    # Topology:
    const Model* model,
    int node,
    # Out:
    int* path,                     # (num_bodies,)
) noexcept nogil:
    """Write the mobods from World's children to that of a body to the end of `path`; return where they begin."""
    cdef int first = model.num_bodies
    cdef int i = model.mobod[node]
    while i > 0:
        first -= 1
        path[first] = i
        i = model.joints[i].parent
    return first


cdef inline void calc_poses_on_path(
    # Topology:
    const Model* model,
    const int* path,               # (n,)                mobods, each the parent of the next one
    int n,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    # In:
    const T* q,                    # (nq,)               [rad, m]
    # Work:
    T* sin_q,                      # (angle_stride,)     [1]
    T* cos_q,                      # (angle_stride,)     [1]
    # Out:
    T* X_WN,                       # (num_mobods, 4, 4)  [1, m]  those on the path
) noexcept nogil:
    """X_WN = X_WP X_PN, base to tip."""
    cdef int k
    calc_sines_on_path(model, path, n, q, sin_q, cos_q)
    if T is double:
        calc_poses_on_path_in_rows(model, path, n, mobods, q, sin_q, cos_q, X_WN)
    else:
        for k in range(n):
            calc_node_pose(model, path[k], mobods, q, sin_q, cos_q, X_WN)


cdef inline void calc_poses_on_path_in_rows(
    # Topology:
    const Model* model,
    const int* path,               # (n,)
    int n,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    # In:
    const T* q,                    # (nq,)               [rad, m]
    const T* sin_q,                # (angle_stride,)     [1]
    const T* cos_q,                # (angle_stride,)     [1]
    # Out:
    T* X_WN,                       # (num_mobods, 4, 4)  [1, m]
) noexcept nogil:
    """For doubles, with the pose of the previous mobod in registers."""
    cdef PoseRows X = PoseRows()
    cdef int k
    if T is double:
        for k in range(n):
            X = calc_node_pose_in_rows(model, path[k], mobods, q, sin_q, cos_q, X)
            store_pose_rows(X, X_WN + 16*path[k])


cdef inline void calc_sines_on_path(
    const Model* model, const int* path, int n, const T* q, T* sin_q, T* cos_q
) noexcept nogil:
    """Sines and cosines of the angles on a path outwards; of others if at no cost."""
    cdef const MobodJoint* joint
    cdef int done = 0
    cdef int start, k
    for k in range(n):
        joint = &model.joints[path[k]]
        if joint.kind == REVOLUTE_Z and joint.angle >= done:
            start = joint.angle
            if T is double:
                start -= start % MBT_W
                sincos_of_angles(q, model.angles + start, MBT_W, sin_q + start, cos_q + start)
                done = start + MBT_W
            else:
                sincos_(q[model.angles[start]], sin_q + start, cos_q + start)
                done = start + 1
