"""Body poses in World, straight from q: one mobod or body at a time."""

from mbt._core.mobilizers cimport GENERAL, REVOLUTE_Z
from mbt._core.node_joints cimport calc_general_X_PN, calc_X_PN
from mbt._core.model cimport Joint, Model
from mbt._core.records cimport Mobod, Pose
from mbt._core.scalars cimport T
from mbt._core.spatial cimport compose_pose4, compose_turned_pose4, set_pose4


cdef inline void calc_node_pose(
    # Topology:
    const Model* model,
    int i,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    # In:
    const T* q,                    # (nq,)
    const T* sin_q,                # (angle_stride,)
    const T* cos_q,                # (angle_stride,)
    # Out:
    T* X_WN,                       # (num_mobods, 4, 4); World's is not set
) noexcept nogil:
    """X_WN = X_WP X_PN of mobod i, after its parent."""
    cdef const Joint* joint = &model.joints[i]
    cdef Pose[T] X_PN
    cdef T R_FM[9]
    if joint.kind == REVOLUTE_Z and joint.parent != 0:
        compose_turned_pose4(
            X_WN + 16*joint.parent, mobods[i].X_PF.R, mobods[i].X_PF.p, sin_q[joint.angle], cos_q[joint.angle],
            X_WN + 16*i
        )
    else:
        if joint.kind == GENERAL:
            calc_general_X_PN(joint, model.constants[joint.node], &mobods[i].X_PF, q, R_FM, &X_PN)
        else:
            calc_X_PN(
                joint, model.constants[joint.node], &mobods[i].X_PF, q, sin_q, cos_q, &X_PN, <T*>NULL
            )
        if joint.parent == 0:
            set_pose4(X_PN.R, X_PN.p, X_WN + 16*i)
        else:
            compose_pose4(X_WN + 16*joint.parent, X_PN.R, X_PN.p, X_WN + 16*i)


cdef inline void calc_body_pose(
    # Topology:
    const Model* model,
    int b,
    # Parameters:
    const Pose[T]* X_NB,           # (num_bodies,)
    # In:
    const T* X_WN,                 # (num_mobods, 4, 4)
    # Out:
    T* X_WB,                       # (4, 4)
) noexcept nogil:
    """X_WB = X_WN X_NB of body b, where that is more than a shift of axes."""
    cdef int i = model.mobod[b]
    if i == 0:
        set_pose4(X_NB[b].R, X_NB[b].p, X_WB)
    else:
        compose_pose4(X_WN + 16*i, X_NB[b].R, X_NB[b].p, X_WB)
