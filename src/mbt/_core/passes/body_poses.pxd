"""All body poses in World, straight from q."""

from mbt._core.mobilizers cimport REVOLUTE_Z
from mbt._core.node_joints cimport calc_X_PN
from mbt._core.model cimport Joint, Model
from mbt._core.records cimport Mobod, Pose
from mbt._core.scalars cimport T, sincos_of_angles
from mbt._core.spatial cimport compose_pose4, compose_turned_pose4, copy_pose4, set_pose4, set_zero


cdef inline void calc_body_poses(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const Pose[T]* X_NB,           # (num_bodies,)
    # In:
    const T* q,                    # (nq,)
    # Work:
    T* X_WN,                       # (num_mobods, 4, 4)
    T* H_N,                        # (nv, 6)
    T* sin_q,                      # (angle_stride,)
    T* cos_q,                      # (angle_stride,)
    # Out:
    T* X_WB,                       # (num_bodies, 4, 4)
) noexcept nogil:
    """X_WN = X_WP X_PN along the mobods, X_WB = X_WN X_NB for the bodies on them."""
    cdef int i, b
    cdef const Joint* joint
    cdef Pose[T] X_PN

    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)
    set_identity_pose4(X_WN)

    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        if joint.kind == REVOLUTE_Z and joint.parent != 0:
            compose_turned_pose4(
                X_WN + 16*joint.parent, mobods[i].X_PF.R, mobods[i].X_PF.p, sin_q[joint.angle], cos_q[joint.angle],
                X_WN + 16*i
            )
        else:
            calc_X_PN(
                joint, model.constants[joint.node], &mobods[i].X_PF, q, sin_q, cos_q, &X_PN, H_N
            )
            if joint.parent == 0:
                set_pose4(X_PN.R, X_PN.p, X_WN + 16*i)
            else:
                compose_pose4(X_WN + 16*joint.parent, X_PN.R, X_PN.p, X_WN + 16*i)

    for b in range(model.num_bodies):
        i = model.mobod[b]
        if model.body_is_node[b]:
            copy_pose4(X_WN + 16*i, X_WB + 16*b)
        elif i == 0:
            set_pose4(X_NB[b].R, X_NB[b].p, X_WB + 16*b)
        else:
            compose_pose4(X_WN + 16*i, X_NB[b].R, X_NB[b].p, X_WB + 16*b)


cdef inline void set_identity_pose4(T* X) noexcept nogil:
    cdef int i
    set_zero(X, 16)
    for i in range(4):
        X[5*i] = <T>1.0
