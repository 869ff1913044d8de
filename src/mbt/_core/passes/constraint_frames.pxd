"""Where the frames of constraints are and how they move, from what articulated bodies leave in memory."""

from mbt._core.algebra.records cimport Articulated, FrameMotion, Parameters, Placed, Pose
from mbt._core.algebra.rotations cimport set_identity
from mbt._core.algebra.spatial cimport (
    add_cross, copy, cross, multiply_rotations, rotate, rotate_inverse, set_zero,
)
from mbt._core.forces.force_elements cimport COUPLER
from mbt._core.joints.mobod_joints cimport add_dof_acceleration, add_joint_acceleration
from mbt._core.model.structs cimport Constraint, MobodJoint, Model
from mbt._core.passes.articulated_bodies cimport carry_acceleration
from mbt._core.scalars cimport T


cdef inline void place_mobods(
    # Topology:
    const Model* model,
    # In:
    const T* v,                    # (nv,)          [rad/s, m/s]
    const Articulated[T]* work,    # (num_mobods,)
    const T* H_N,                  # (nv, 6)        [1, m]
    # Out:
    Placed[T]* placed,             # (num_mobods,)  those that constraints act through, and World
) noexcept nogil:
    """Poses in World, and velocities of origins."""
    cdef T angular[3]
    cdef T v_P[3]
    cdef int i, k
    cdef const MobodJoint* joint
    cdef const Placed[T]* parent
    set_identity(placed[0].X_WN.R)
    set_zero(placed[0].X_WN.p, 3)
    set_zero(placed[0].v, 3)
    for i in range(1, model.num_mobods):
        if model.through_start[i] == model.through_start[i + 1]:
            continue
        joint = &model.joints[i]
        parent = &placed[joint.parent]
        multiply_rotations(parent.X_WN.R, work[i].X_PN.R, placed[i].X_WN.R)
        rotate(parent.X_WN.R, work[i].X_PN.p, placed[i].X_WN.p)
        copy(parent.v, 3, v_P)
        add_cross(work[joint.parent].w, work[i].X_PN.p, v_P)
        rotate_inverse(work[i].X_PN.R, v_P, placed[i].v)
        set_zero(angular, 3)
        add_joint_acceleration(joint, H_N, v, angular, placed[i].v)
        for k in range(3):
            placed[i].X_WN.p[k] = placed[i].X_WN.p[k] + parent.X_WN.p[k]


cdef inline void calc_frame_in_mobod(
    # Topology:
    const Model* model,
    int frame,
    # Parameters:
    const Parameters[T]* p,
    # Out:
    T* R_NF,                       # (3, 3)  [1]
    T* p_NF,                       # (3,)    [m]
) noexcept nogil:
    cdef const Pose[T]* X_NB = &p.X_NB[model.frame_node[frame]]
    cdef const T* X_BF = p.X_BF + 16*frame
    cdef T R_BF[9]
    cdef T p_BF[3]
    cdef int j, k
    if model.frame_parent[frame] < 0:
        copy(X_NB.R, 9, R_NF)
        copy(X_NB.p, 3, p_NF)
    else:
        for j in range(3):
            for k in range(3):
                R_BF[3*j + k] = X_BF[4*j + k]
            p_BF[j] = X_BF[4*j + 3]
        multiply_rotations(X_NB.R, R_BF, R_NF)
        rotate(X_NB.R, p_BF, p_NF)
        for j in range(3):
            p_NF[j] = p_NF[j] + X_NB.p[j]


cdef inline void calc_frame_motion(
    # Topology:
    const Model* model,
    int frame,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    # Out:
    FrameMotion[T]* F,
) noexcept nogil:
    """Of a frame in World, but for its acceleration."""
    cdef int i = model.mobod[model.frame_node[frame]]
    cdef const T* R_WN = &placed[i].X_WN.R[0]
    cdef T R_NF[9]
    cdef T p_NF[3]
    cdef T y[3]
    cdef int j
    calc_frame_in_mobod(model, frame, p, R_NF, p_NF)
    multiply_rotations(R_WN, R_NF, F.R)
    rotate(R_WN, p_NF, F.p)
    for j in range(3):
        F.p[j] = F.p[j] + placed[i].X_WN.p[j]
    # v + w × p
    cross(work[i].w, p_NF, y)
    for j in range(3):
        y[j] = y[j] + placed[i].v[j]
    rotate(R_WN, y, F.v)
    rotate(R_WN, work[i].w, F.w)


cdef inline void calc_frame_acceleration(
    # Topology:
    const Model* model,
    int frame,
    # In:
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    # Out:
    FrameMotion[T]* F,
) noexcept nogil:
    """And that, less gravity."""
    cdef int i = model.mobod[model.frame_node[frame]]
    cdef T r[3]
    cdef T wr[3]
    cdef int j
    for j in range(3):
        r[j] = F.p[j] - placed[i].X_WN.p[j]
    rotate(placed[i].X_WN.R, work[i].acc, F.alpha)
    rotate(placed[i].X_WN.R, work[i].acc + 3, F.a)
    # a + alpha × r + w × (w × r)
    cross(F.w, r, wr)
    add_cross(F.alpha, r, F.a)
    add_cross(F.w, wr, F.a)


cdef inline void calc_frame_accelerations(
    # Topology:
    const Model* model,
    const Constraint* x,
    # In:
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    # Out:
    FrameMotion[T]* ends,          # (2,)
) noexcept nogil:
    """Of both frames of a constraint that has some."""
    if x.type != COUPLER:
        calc_frame_acceleration(model, x.a, work, placed, &ends[0])
        calc_frame_acceleration(model, x.b, work, placed, &ends[1])


cdef inline void set_rates(
    # Topology:
    const Model* model,
    # In:
    const T* v,                    # (nv,)          [rad/s, m/s]
    const T* H_N,                  # (nv, 6)        [1, m]
    # Out:
    Articulated[T]* work,          # (num_mobods,)  accelerations; in: poses, and no motion
) noexcept nogil:
    """Base to tip, velocities in the place of accelerations: of points at rest these depend on vdot as those on v."""
    cdef int i, k
    cdef const MobodJoint* joint
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        carry_acceleration(&work[joint.parent], &work[i])
        for k in range(joint.v_start, joint.v_start + joint.nv):
            add_dof_acceleration(joint, k, H_N, v[k], work[i].acc)
