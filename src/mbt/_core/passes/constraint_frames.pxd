"""The frames of constraints, in World: poses, velocities and accelerations."""

from mbt._core.algebra.records cimport Articulated, FrameMotion, Parameters, Placed, Pose
from mbt._core.algebra.rotations cimport set_identity
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport Vec3, cross, numbers, pose_at, times_transposed
from mbt._core.forces.constraints cimport COUPLER, calc_constraint_errors, calc_constraint_rates, num_equations_of
from mbt._core.forces.numbers cimport ConstraintNumbers
from mbt._core.joints.mobod_joints cimport add_joint_acceleration
from mbt._core.model.structs cimport Constraint, MobodJoint, Model
from mbt._core.passes.constraint_rows cimport MAX_EQUATIONS
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
    cdef Vec3[T] angular
    cdef int i
    cdef const MobodJoint* joint
    cdef const Placed[T]* parent
    cdef const Pose[T]* X_PN
    cdef Placed[T]* x = placed
    set_identity(numbers(x.X_WN.R))
    set_zero(numbers(x.X_WN.p), 3)
    set_zero(numbers(x.v), 3)
    for i in range(1, model.num_mobods):
        if model.one_group.through_start[i] == model.one_group.through_start[i + 1]:
            continue
        joint = &model.joints[i]
        parent = &placed[joint.parent]
        x = &placed[i]
        X_PN = &work[i].X_PN
        x.X_WN = parent.X_WN*X_PN[0]
        x.v = times_transposed(X_PN.R, parent.v + cross(work[joint.parent].w, X_PN.p))
        set_zero(numbers(angular), 3)
        add_joint_acceleration(joint, H_N, v, &angular, &x.v)


cdef inline Pose[T] pose_in_mobod(const Model* model, int frame, const Parameters[T]* p) noexcept nogil:
    """X_NF"""
    cdef const Pose[T]* X_NB = &p.X_NB[model.frame_node[frame]]
    cdef const T* X_BF = p.X_BF + 16*frame
    if model.frame_parent[frame] < 0:
        return X_NB[0]
    return X_NB[0]*pose_at(X_BF)


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
    """The motion of a frame in World; its acceleration is still zero."""
    cdef int i = model.mobod[model.frame_node[frame]]
    cdef const Placed[T]* mobod = &placed[i]
    cdef Pose[T] X_NF = pose_in_mobod(model, frame, p)
    F.R = mobod.X_WN.R*X_NF.R
    F.p = mobod.X_WN.p + mobod.X_WN.R*X_NF.p
    F.v = mobod.X_WN.R*(mobod.v + cross(work[i].w, X_NF.p))
    F.w = mobod.X_WN.R*work[i].w
    set_zero(numbers(F.alpha), 3)
    set_zero(numbers(F.a), 3)


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
    """The acceleration of a frame, less gravity."""
    cdef int i = model.mobod[model.frame_node[frame]]
    cdef const Pose[T]* X_WN = &placed[i].X_WN
    cdef Vec3[T] p_NF = F.p - X_WN.p
    cdef Vec3[T] v = cross(F.w, p_NF)
    F.alpha = X_WN.R*work[i].acc.w
    F.a = X_WN.R*work[i].acc.v + cross(F.alpha, p_NF) + cross(F.w, v)


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
    """The accelerations of both frames of a constraint, if it has frames."""
    if x.type != COUPLER:
        calc_frame_acceleration(model, x.a, work, placed, ends)
        calc_frame_acceleration(model, x.b, work, placed, ends + 1)


cdef inline void set_ends(
    # Topology:
    const Model* model,
    const Constraint* x,
    int stabilized,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,                    # (nq,)          [rad, m]
    const T* v,                    # (nv,)          [rad/s, m/s]
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    # Out:
    FrameMotion[T]* ends,          # (2,)           except accelerations
    T* wanted,                     # (n,)           [rad/s^2, m/s^2]  of J vdot + Jdot v
) noexcept nogil:
    """The frames of a constraint, and the wanted accelerations of its errors."""
    cdef const T* numbers_of = p.constraints + x.start
    cdef const ConstraintNumbers[T]* c = <const ConstraintNumbers[T]*>numbers_of
    cdef FrameMotion[T]* A = ends
    cdef FrameMotion[T]* B = ends + 1
    cdef int n = num_equations_of(x.type)
    cdef T[MAX_EQUATIONS] y
    cdef int e
    if x.type != COUPLER:
        calc_frame_motion(model, x.a, p, work, placed, A)
        calc_frame_motion(model, x.b, p, work, placed, B)
    set_zero(wanted, n)
    if stabilized:
        calc_constraint_rates(x, numbers_of, v, A, B, y)
        for e in range(n):
            wanted[e] = -(c.damping_ratio*c.frequency*(2.0*stabilized)*y[e])
        calc_constraint_errors(x, numbers_of, q, A, B, y)
        for e in range(n):
            wanted[e] = wanted[e] - c.frequency*c.frequency*y[e]
