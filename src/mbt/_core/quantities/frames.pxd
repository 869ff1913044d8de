"""Frames and points fixed to them: poses, motions and Jacobians."""

from mbt._core.algebra.records cimport Kinematics, MotionForce, Parameters, Pose
from mbt._core.algebra.spatial cimport copy, set_zero
from mbt._core.algebra.vectors cimport (
    Motion, Vec3, add_column, column_of, cross, inverse, numbers, pose_at, put, put_column, times_transposed,
    transpose, vector_at,
)
from mbt._core.model.structs cimport Model, common_ancestor
from mbt._core.passes.acceleration_kinematics cimport calc_acceleration_kinematics
from mbt._core.passes.inverse_dynamics cimport calc_bias_acceleration
from mbt._core.passes.jacobian cimport (
    add_angular_velocity_jacobian, add_spatial_velocity_jacobian, add_translational_velocity_jacobian, express_jacobian,
    multiply_by_Nplus,
)
from mbt._core.passes.jacobian_rate cimport add_jacobian_rate
from mbt._core.passes.paths cimport find_path
from mbt._core.passes.qdot_maps cimport calc_vdot_of_steady_qdot
from mbt._core.passes.relative_motion cimport (
    acceleration_of_point, relative_acceleration, relative_velocity, velocity_of_point,
)
from mbt._core.passes.velocity_kinematics cimport calc_velocity_kinematics
from mbt._core.quantities.call cimport Call, Frames, Functions, frames_of
from mbt._core.quantities.dynamics cimport count_memory
from mbt._core.quantities.names cimport *
from mbt._core.scalars cimport PyScalar, T, make_small


cdef inline void register_frames(Functions[T]* functions) noexcept:
    functions.set(RELATIVE_TRANSFORM, calc_relative_transform[T], count_memory)
    functions.set(RELATIVE_ROTATION, calc_relative_rotation[T], count_memory)
    functions.set(POINT_POSITIONS, calc_point_positions[T], count_memory)
    functions.set(FRAME_VELOCITY, calc_frame_velocity[T], count_memory)
    functions.set(FRAME_ACCELERATION, calc_frame_acceleration[T], count_memory)
    functions.set(SPATIAL_JACOBIAN, calc_spatial_jacobian[T], count_jacobian_memory)
    functions.set(ANGULAR_JACOBIAN, calc_angular_jacobian[T], count_jacobian_memory)
    functions.set(TRANSLATIONAL_JACOBIAN, calc_translational_jacobian[T], count_points_memory)
    functions.set(SPATIAL_JACOBIAN_RATE, calc_jacobian_rate[T], count_jacobian_memory)
    functions.set(SPATIAL_BIAS, calc_spatial_bias[T], count_jacobian_memory)
    functions.set(ANGULAR_BIAS, calc_angular_bias[T], count_jacobian_memory)
    functions.set(TRANSLATIONAL_BIAS, calc_translational_bias[T], count_points_memory)


cdef inline Py_ssize_t count_jacobian_memory(const int* integers, const Model* model) noexcept nogil:
    return count_memory_of_points(1, model)


cdef inline Py_ssize_t count_points_memory(const int* integers, const Model* model) noexcept nogil:
    return count_memory_of_points(num_points(<const Frames*>integers), model)


cdef inline Py_ssize_t count_memory_of_points(Py_ssize_t points, const Model* model) noexcept nogil:
    """Memory for the Jacobian of each point, or the motion of `calc_bias_motion`."""
    cdef Py_ssize_t nv = model.num_velocities
    return count_memory(NULL, model) + (6 + 3*points)*nv + 2*nv + 24*<Py_ssize_t>model.num_bodies


cdef inline Py_ssize_t num_points(const Frames* of) noexcept nogil:
    return 1 if of.points < 0 else of.points


cdef inline void calc_relative_transform(Call[T]* c) noexcept nogil:
    """X_AB. Integers are the frames A and B."""
    cdef int A = c.integers[0], B = c.integers[1]
    cdef Pose[T] X_WA = frame_in_world(c.model, c.p, &c.k, A)
    cdef Pose[T] X_WB = frame_in_world(c.model, c.p, &c.k, B)
    put(inverse(X_WA)*X_WB, c.out)


cdef inline Pose[T] frame_in_world(
    const Model* model, const Parameters[T]* p, const Kinematics[T]* k, int frame
) noexcept nogil:
    """X_WF = X_WB X_BF."""
    cdef const T* X_WB = k.X_WB + 16*model.frame_node[frame]
    cdef const T* X_BF = p.X_BF + 16*frame
    if frame == 0:
        return pose_at(X_WB)
    return pose_at(X_WB)*pose_at(X_BF)


cdef inline Vec3[T] point_in_world(Call[T]* c, int frame, const T* p_FoP_F) noexcept nogil:
    """p_WoP = X_WF p_FoP."""
    cdef Pose[T] X_WF = frame_in_world(c.model, c.p, &c.k, frame)
    return X_WF.p + X_WF.R*vector_at(p_FoP_F)


cdef inline void calc_relative_rotation(Call[T]* c) noexcept nogil:
    """R_AB. Integers are the frames A and B."""
    cdef int A = c.integers[0], B = c.integers[1]
    cdef Pose[T] X_WA = frame_in_world(c.model, c.p, &c.k, A)
    cdef Pose[T] X_WB = frame_in_world(c.model, c.p, &c.k, B)
    put(transpose(X_WA.R)*X_WB.R, c.out, 3)


cdef inline void calc_point_positions(Call[T]* c) noexcept nogil:
    """p_AQi = X_AB p_BQi, both (3, n). Integers are the frames B and A, and POINTS."""
    cdef int B = c.integers[0], A = c.integers[1], points = c.integers[2]
    cdef Py_ssize_t n = 1 if points < 0 else points
    cdef const T* p_BQi = c.x
    cdef Py_ssize_t l
    cdef Pose[T] X_AB = frame_in_world(c.model, c.p, &c.k, B)
    if A != 0:
        X_AB = inverse(frame_in_world(c.model, c.p, &c.k, A))*X_AB
    for l in range(n):
        put_column(X_AB.p + X_AB.R*column_of(p_BQi + l, n), c.out + l, n)


# Motion ---------------------------------------------------------------------------------------------------------

cdef inline Motion[T] expressed(
    const Model* model, const Parameters[T]* p, const Kinematics[T]* k, int frame_E, const Motion[T]& V_W
) noexcept nogil:
    """V_E = R_EW V_W."""
    if frame_E == 0:
        return V_W
    return times_transposed(frame_in_world(model, p, k, frame_E).R, V_W)


cdef inline void calc_frame_velocity(Call[T]* c) noexcept nogil:
    """V_AB_E of the origin of frame B, measured in frame A, expressed in E."""
    cdef const Frames* of = frames_of(c)
    cdef int b = c.model.frame_node[of.B]
    cdef int a = c.model.frame_node[of.A]
    cdef Vec3[T] p_WoBo = frame_in_world(c.model, c.p, &c.k, of.B).p
    cdef const T* X_WB = c.k.X_WB
    cdef const T* V_WB = c.k.V_WB
    cdef Motion[T] V = velocity_of_point(X_WB + 16*b, V_WB + 6*b, p_WoBo)
    if a != 0:
        V = relative_velocity(X_WB + 16*a, V_WB + 6*a, p_WoBo, V)
    put(expressed(c.model, c.p, &c.k, of.E, V), c.out)


cdef inline void calc_frame_acceleration(Call[T]* c) noexcept nogil:
    """A_AB_E of the origin of frame B, from A_WB of all bodies."""
    make_small()
    cdef const Frames* of = frames_of(c)
    cdef Vec3[T] p_WoBo = frame_in_world(c.model, c.p, &c.k, of.B).p
    put(point_acceleration(c.model, c.p, &c.k, of, c.k.V_WB, c.x, p_WoBo), c.out)


cdef inline Motion[T] point_acceleration(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const Kinematics[T]* k,
    const Frames* of,
    const T* V_WB,   # (num_bodies, 6)  [rad/s, m/s]
    const T* A_WB,   # (num_bodies, 6)  [rad/s^2, m/s^2]
    const Vec3[T]& p_WoP,  # [m]
) noexcept nogil:
    """Acceleration of a point P fixed to frame B, in frame A, expressed in E, given V_WB and A_WB of all bodies."""
    cdef int b = model.frame_node[of.B]
    cdef const T* X_WB = k.X_WB + 16*b
    cdef Motion[T] V_WP = velocity_of_point(X_WB, V_WB + 6*b, p_WoP)
    cdef Motion[T] A_WP = acceleration_of_point(X_WB, V_WB + 6*b, A_WB + 6*b, p_WoP)
    return acceleration_in_frame(model, p, k, of.A, of.E, V_WB, A_WB, p_WoP, V_WP, A_WP)


cdef inline Motion[T] acceleration_in_frame(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const Kinematics[T]* k,
    int frame_A,
    int frame_E,
    const T* V_WB,   # (num_bodies, 6)  [rad/s, m/s]
    const T* A_WB,   # (num_bodies, 6)  [rad/s^2, m/s^2]
    const Vec3[T]& p_WoP,   # [m]
    const Motion[T]& V_WP,  # [rad/s, m/s]
    const Motion[T]& A_WP,  # [rad/s^2, m/s^2]
) noexcept nogil:
    """Acceleration of a point with V_WP and A_WP, measured in frame A, expressed in E."""
    cdef int a = model.frame_node[frame_A]
    cdef const T* X_WA = k.X_WB + 16*a
    if a == 0:
        return expressed(model, p, k, frame_E, A_WP)
    return expressed(
        model, p, k, frame_E, relative_acceleration(X_WA, V_WB + 6*a, A_WB + 6*a, p_WoP, V_WP, A_WP)
    )


# Jacobians ------------------------------------------------------------------------------------------------------

cdef inline void calc_spatial_jacobian(Call[T]* c) noexcept nogil:
    """J_B - J_A of a point of frame B, in E."""
    cdef const Frames* of = frames_of(c)
    cdef T* J_v = start_jacobian(c, 6)
    cdef Vec3[T] p_WoP = point_in_world(c, of.B, c.x)
    add_spatial_velocity_jacobian(c.model, c.model.frame_node[of.B], c.k.X_WB, c.k.H_PB_W, p_WoP, 1.0, J_v)
    add_spatial_velocity_jacobian(c.model, c.model.frame_node[of.A], c.k.X_WB, c.k.H_PB_W, p_WoP, -1.0, J_v)
    finish_jacobian(c.model, c.p, &c.k, of.E, of.by_qdot, 6, c.q, J_v, c.out)


cdef inline void calc_angular_jacobian(Call[T]* c) noexcept nogil:
    cdef const Frames* of = frames_of(c)
    cdef T* J_v = start_jacobian(c, 3)
    add_angular_velocity_jacobian(c.model, c.model.frame_node[of.B], c.k.H_PB_W, 1.0, J_v)
    add_angular_velocity_jacobian(c.model, c.model.frame_node[of.A], c.k.H_PB_W, -1.0, J_v)
    finish_jacobian(c.model, c.p, &c.k, of.E, of.by_qdot, 3, c.q, J_v, c.out)


cdef inline void calc_translational_jacobian(Call[T]* c) noexcept nogil:
    """Three rows for each point."""
    cdef const Frames* of = frames_of(c)
    cdef Py_ssize_t l, nv = c.model.num_velocities
    cdef Py_ssize_t n = num_points(of)
    cdef int b = c.model.frame_node[of.B]
    cdef int a = c.model.frame_node[of.A]
    cdef const T* p_BoPi = c.x
    cdef T* J_v = start_jacobian(c, 3*n)
    cdef Pose[T] X_WB = frame_in_world(c.model, c.p, &c.k, of.B)
    cdef Vec3[T] p_WoP
    for l in range(n):
        p_WoP = X_WB.p + X_WB.R*column_of(p_BoPi + l, n)
        add_translational_velocity_jacobian(c.model, b, c.k.X_WB, c.k.H_PB_W, p_WoP, 1.0, J_v + 3*nv*l)
        add_translational_velocity_jacobian(c.model, a, c.k.X_WB, c.k.H_PB_W, p_WoP, -1.0, J_v + 3*nv*l)
    finish_jacobian(c.model, c.p, &c.k, of.E, of.by_qdot, 3*<int>n, c.q, J_v, c.out)


cdef inline T* start_jacobian(Call[T]* c, Py_ssize_t num_rows) noexcept nogil:
    """Zeros for a Jacobian with respect to v: in memory if it will be converted to one with respect to qdot."""
    cdef T* J_v = c.k.rest if frames_of(c).by_qdot else c.out
    set_zero(J_v, num_rows*c.model.num_velocities)
    return J_v


cdef inline void finish_jacobian(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const Kinematics[T]* k,
    int frame_E,
    bint by_qdot,
    int num_rows,
    const T* q,  # (nq,)           [rad, m]
    # In, destroyed:
    T* J_v,      # (num_rows, nv)  [1, m]
    # Out:
    T* J,        # (num_rows, nq)  [1, m]  by qdot
) noexcept nogil:
    """Express J_v in a frame, in place, and convert it to a Jacobian with respect to qdot if requested."""
    if frame_E != 0:
        express_jacobian(num_rows, model.num_velocities, frame_in_world(model, p, k, frame_E).R, J_v)
    if by_qdot:
        multiply_by_Nplus(model, q, num_rows, J_v, J)


cdef inline void calc_jacobian_rate(Call[T]* c) noexcept nogil:
    """Jdot of a point of frame B in frame A, differentiated in A, expressed in E.

    In World, the rate of J_B - J_A minus w_WA × (J_B - J_A).
    """
    make_small()
    cdef const Frames* of = frames_of(c)
    cdef const Model* model = c.model
    cdef const Kinematics[T]* k = &c.k
    cdef Py_ssize_t nv = model.num_velocities
    cdef int b = model.frame_node[of.B]
    cdef int a = model.frame_node[of.A]
    cdef const T* X_WB = k.X_WB
    cdef const T* V_WB = k.V_WB
    cdef T* J = k.rest
    cdef Vec3[T] p_WoP = point_in_world(c, of.B, c.x)
    cdef Vec3[T] v_WP = velocity_of_point(X_WB + 16*b, V_WB + 6*b, p_WoP).v
    set_zero(c.out, 6*nv)
    add_jacobian_rate(
        model, b, c.p.X_BF, c.q, c.v, X_WB, k.H_PB_W, V_WB, numbers(p_WoP), numbers(v_WP), 1.0, c.out
    )
    if a != 0:
        add_jacobian_rate(
            model, a, c.p.X_BF, c.q, c.v, X_WB, k.H_PB_W, V_WB, numbers(p_WoP), numbers(v_WP), -1.0, c.out
        )
        set_zero(J, 6*nv)
        add_spatial_velocity_jacobian(model, b, X_WB, k.H_PB_W, p_WoP, 1.0, J)
        add_spatial_velocity_jacobian(model, a, X_WB, k.H_PB_W, p_WoP, -1.0, J)
        subtract_cross_columns(nv, V_WB + 6*a, J, c.out)
        subtract_cross_columns(nv, V_WB + 6*a, J + 3*nv, c.out + 3*nv)
    finish_jacobian(model, c.p, k, of.E, False, 6, c.q, c.out, c.out)


cdef inline void subtract_cross_columns(Py_ssize_t nv, const T* w, const T* J, T* Jdot) noexcept nogil:
    """Jdot -= w × J, column by column of (3, nv)."""
    cdef Vec3[T] rate
    cdef Py_ssize_t k
    for k in range(nv):
        rate = cross(vector_at(w), column_of(J + k, nv))
        add_column(rate, -1.0, Jdot + k, nv)


# Bias accelerations: of points of frame B in frame A, with vdot = 0, or with qddot = 0 ---------------------------

cdef inline void calc_bias_on_the_way(Call[T]* c) noexcept nogil:
    """Jdot v of a point of frame B in World, by inverse dynamics along the path to it."""
    cdef int frame_B = frames_of(c).B
    cdef int node = c.model.frame_node[frame_B]
    cdef int first = find_path(c.model, node, c.base)
    cdef MotionForce[T]* work = <MotionForce[T]*>c.k.rest
    cdef T* H_N = <T*>(work + c.model.num_mobods)
    cdef T* sin_q = H_N + 6*c.model.num_velocities
    cdef T* cos_q = sin_q + c.model.angle_stride
    cdef const T* p_FoP = c.x
    cdef const T* X = c.p.X_BF + 16*frame_B
    cdef Pose[T] X_BF = pose_at(X)
    calc_bias_acceleration(
        c.model, node, c.base + first, c.model.num_bodies - first, c.p.mobods, c.p.X_NB, c.q, c.v, c.k.X_WB,
        X_BF.p + X_BF.R*vector_at(p_FoP), work, cos_q + c.model.angle_stride, H_N, sin_q, cos_q, c.out
    )


cdef inline void calc_spatial_bias(Call[T]* c) noexcept nogil:
    make_small()
    cdef const Frames* of = frames_of(c)
    if T is PyScalar:
        # If recorded with a bias term, it shares nearly all of its operations.
        if c.model.frame_node[of.A] == 0 and of.E == 0 and not of.by_qdot:
            calc_bias_on_the_way(c)
            return
    cdef const T* V_WB = calc_bias_motion_of_frames(c)
    put(bias_of_point(c, V_WB, point_in_world(c, of.B, c.x)), c.out)


cdef inline void calc_angular_bias(Call[T]* c) noexcept nogil:
    make_small()
    cdef const Frames* of = frames_of(c)
    cdef const T* V_WB = calc_bias_motion_of_frames(c)
    put(bias_of_point(c, V_WB, frame_in_world(c.model, c.p, &c.k, of.B).p).w, c.out)


cdef inline void calc_translational_bias(Call[T]* c) noexcept nogil:
    """One column for each point."""
    make_small()
    cdef const Frames* of = frames_of(c)
    cdef Py_ssize_t l, n = num_points(of)
    cdef const T* p_BoPi = c.x
    cdef const T* V_WB = calc_bias_motion_of_frames(c)
    cdef Pose[T] X_WB = frame_in_world(c.model, c.p, &c.k, of.B)
    for l in range(n):
        put_column(bias_of_point(c, V_WB, X_WB.p + X_WB.R*column_of(p_BoPi + l, n)).v, c.out + l, n)


cdef inline Motion[T] bias_of_point(Call[T]* c, const T* V_WB, const Vec3[T]& p_WoP) noexcept nogil:
    """Acceleration of a point of frame B in the bias motion, which `V_WB` leads."""
    return point_acceleration(c.model, c.p, &c.k, frames_of(c), V_WB, V_WB + 6*c.model.num_bodies, p_WoP)


cdef inline const T* calc_bias_motion_of_frames(Call[T]* c) noexcept nogil:
    """Bias motion of frame B in frame A. Returns V_WB, followed by A_WB."""
    cdef const Frames* of = frames_of(c)
    cdef int base = common_ancestor(c.model, c.model.frame_node[of.B], c.model.frame_node[of.A])
    calc_bias_motion(c.model, c.p, c.q, c.v, &c.k, of.by_qdot, base, c.k.rest)
    return c.k.rest + bias_velocities(c.model)


cdef inline Py_ssize_t bias_velocities(const Model* model) noexcept nogil:
    """Offset of V_WB, which is followed by A_WB, in the memory that `calc_bias_motion` fills."""
    return 2*<Py_ssize_t>model.num_velocities + 12*<Py_ssize_t>model.num_bodies


cdef inline void calc_bias_motion(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,  # (nq,)                    [rad, m]
    const T* v,  # (nv,)                    [rad/s, m/s]
    const Kinematics[T]* k,
    bint by_qdot,
    int base,
    # Out:
    T* motion,   # (2 nv + 24 num_bodies,)  [SI]  vdot, v, V_PB_W, V_PB, V_WB, A_WB
) noexcept nogil:
    """Motion of bodies outboard of `base` with vdot = 0, or with qddot = 0, while `base` is at rest.

    Their relative motions are those of a moving `base`, without the cancellation of large values of the motion that
    they share.
    """
    cdef T* vdot = motion
    cdef T* v_moving = vdot + model.num_velocities
    cdef T* V_PB_W = v_moving + model.num_velocities
    cdef T* V_PB = V_PB_W + 6*model.num_bodies
    cdef T* V_WB = V_PB + 6*model.num_bodies
    cdef T* A_WB = V_WB + 6*model.num_bodies
    copy(v, model.num_velocities, v_moving)
    if base == 0:
        copy(k.V_PB_W, 6*model.num_bodies, V_PB_W)
        copy(k.V_WB, 6*model.num_bodies, V_WB)
    else:
        while base > 0:
            set_zero(v_moving + model.v_start[base], model.v_start[base + 1] - model.v_start[base])
            base = model.parent[base]
        calc_velocity_kinematics(model, k.X_WB, k.H_PB_W, v_moving, V_PB_W, V_PB, V_WB)
    if by_qdot:
        calc_vdot_of_steady_qdot(model, q, v_moving, vdot)
    else:
        set_zero(vdot, model.num_velocities)
    calc_acceleration_kinematics(model, p.X_BF, q, v_moving, vdot, k.X_WB, k.H_PB_W, V_PB_W, V_WB, A_WB)
