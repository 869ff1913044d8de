"""The frames of constraints, in World: poses, velocities and accelerations."""

from mbt._core.algebra.records cimport Articulated, FrameMotion, Parameters, Placed, Pose
from mbt._core.algebra.rotations cimport set_identity
from mbt._core.algebra.spatial cimport (
    add_cross, add_to, copy, cross, multiply_rotations, rotate, rotate_inverse, set_zero, subtract,
)
from mbt._core.algebra.vectors cimport numbers
from mbt._core.forces.constraints cimport COUPLER, calc_constraint_errors, calc_constraint_rates, num_equations_of
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
    cdef T[3] angular, v_P
    cdef int i
    cdef const MobodJoint* joint
    cdef const Placed[T]* parent
    set_identity(numbers(placed[0].X_WN.R))
    set_zero(numbers(placed[0].X_WN.p), 3)
    set_zero(placed[0].v, 3)
    for i in range(1, model.num_mobods):
        if model.one_group.through_start[i] == model.one_group.through_start[i + 1]:
            continue
        joint = &model.joints[i]
        parent = &placed[joint.parent]
        multiply_rotations(numbers(parent.X_WN.R), numbers(work[i].X_PN.R), numbers(placed[i].X_WN.R))
        rotate(numbers(parent.X_WN.R), numbers(work[i].X_PN.p), numbers(placed[i].X_WN.p))
        copy(parent.v, 3, v_P)
        add_cross(numbers(work[joint.parent].w), numbers(work[i].X_PN.p), v_P)
        rotate_inverse(numbers(work[i].X_PN.R), v_P, placed[i].v)
        set_zero(angular, 3)
        add_joint_acceleration(joint, H_N, v, angular, placed[i].v)
        add_to(numbers(parent.X_WN.p), 3, numbers(placed[i].X_WN.p))


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
    cdef T[9] R_BF
    cdef T[3] p_BF
    cdef int j, k
    if model.frame_parent[frame] < 0:
        copy(numbers(X_NB.R), 9, R_NF)
        copy(numbers(X_NB.p), 3, p_NF)
    else:
        for j in range(3):
            for k in range(3):
                R_BF[3*j + k] = X_BF[4*j + k]
            p_BF[j] = X_BF[4*j + 3]
        multiply_rotations(numbers(X_NB.R), R_BF, R_NF)
        rotate(numbers(X_NB.R), p_BF, p_NF)
        add_to(numbers(X_NB.p), 3, p_NF)


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
    """Of a frame in World; its acceleration is zero as yet."""
    cdef int i = model.mobod[model.frame_node[frame]]
    cdef const T* R_WN = numbers(placed[i].X_WN.R)
    cdef T[9] R_NF
    cdef T[3] p_NF, y
    calc_frame_in_mobod(model, frame, p, R_NF, p_NF)
    multiply_rotations(R_WN, R_NF, F.R)
    rotate(R_WN, p_NF, F.p)
    add_to(numbers(placed[i].X_WN.p), 3, F.p)
    # v + w × p
    cross(numbers(work[i].w), p_NF, y)
    add_to(placed[i].v, 3, y)
    rotate(R_WN, y, F.v)
    rotate(R_WN, numbers(work[i].w), F.w)
    set_zero(F.alpha, 3)
    set_zero(F.a, 3)


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
    cdef T[3] r, wr
    subtract(F.p, numbers(placed[i].X_WN.p), 3, r)
    rotate(numbers(placed[i].X_WN.R), numbers(work[i].acc.w), F.alpha)
    rotate(numbers(placed[i].X_WN.R), numbers(work[i].acc.v), F.a)
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
    FrameMotion[T]* ends,          # (2,)           but for accelerations
    T* wanted,                     # (n,)           [rad/s^2, m/s^2]  of J vdot + Jdot v
) noexcept nogil:
    """Where the frames of a constraint are, and what is to become of its errors."""
    cdef const T* c = p.constraints + x.start
    cdef int n = num_equations_of(x.type)
    cdef T[MAX_EQUATIONS] y
    cdef int e
    if x.type != COUPLER:
        calc_frame_motion(model, x.a, p, work, placed, &ends[0])
        calc_frame_motion(model, x.b, p, work, placed, &ends[1])
    set_zero(wanted, n)
    if stabilized:
        calc_constraint_rates(x, c, v, &ends[0], &ends[1], y)
        for e in range(n):
            wanted[e] = -(c[1]*c[0]*(2.0*stabilized)*y[e])
        calc_constraint_errors(x, c, q, &ends[0], &ends[1], y)
        for e in range(n):
            wanted[e] = wanted[e] - c[0]*c[0]*y[e]
