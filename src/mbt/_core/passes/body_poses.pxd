"""All body poses in World, straight from q."""

from mbt._core.node_joints cimport calc_X_PN
from mbt._core.model cimport Joint, Model
from mbt._core.records cimport Mobod, Pose
from mbt._core.scalars cimport T
from mbt._core.spatial cimport multiply_rotations, rotate, set_pose4, set_zero


cdef inline void calc_body_poses(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const Pose[T]* X_NB,           # (num_bodies,)
    # In:
    const T* q,                    # (nq,)
    # Work:
    Pose[T]* X_WN,                 # (num_mobods,)
    T* H_N,                        # (nv, 6)
    # Out:
    T* X_WB,                       # (num_bodies, 4, 4)
) noexcept nogil:
    """X_WN = X_WP X_PN along the mobods, X_WB = X_WN X_NB for the bodies on them."""
    cdef int i, b
    cdef const Joint* joint
    cdef Pose[T] X_PN
    cdef T R[9]
    cdef T p[3]

    set_zero(X_WN[0].R, 9)
    set_zero(X_WN[0].p, 3)
    X_WN[0].R[0] = <T>1.0
    X_WN[0].R[4] = <T>1.0
    X_WN[0].R[8] = <T>1.0

    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        if joint.parent == 0:
            calc_X_PN(joint, model.constants + 16*joint.node, &mobods[i].X_PF, q, &X_WN[i], H_N)
        else:
            calc_X_PN(joint, model.constants + 16*joint.node, &mobods[i].X_PF, q, &X_PN, H_N)
            compose(&X_WN[joint.parent], &X_PN, X_WN[i].R, X_WN[i].p)

    for b in range(model.num_bodies):
        i = model.mobod[b]
        if model.body_is_node[b]:
            set_pose4(X_WN[i].R, X_WN[i].p, X_WB + 16*b)
        elif i == 0:
            set_pose4(X_NB[b].R, X_NB[b].p, X_WB + 16*b)
        else:
            compose(&X_WN[i], &X_NB[b], R, p)
            set_pose4(R, p, X_WB + 16*b)


cdef inline void compose(const Pose[T]* X_AB, const Pose[T]* X_BC, T* R_AC, T* p_AC) noexcept nogil:
    """X_AC = X_AB X_BC."""
    cdef int i
    multiply_rotations(X_AB.R, X_BC.R, R_AC)
    rotate(X_AB.R, X_BC.p, p_AC)
    for i in range(3):
        p_AC[i] = p_AC[i] + X_AB.p[i]
