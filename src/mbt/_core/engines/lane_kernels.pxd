"""What a block of samples goes through: one function for all that is computed of them.

What batches are mostly made of has functions of its own: in one that computes everything, GCC stops to inline.
"""

from mbt._core.algebra.records cimport Parameters, Pivots
from mbt._core.engines.lane_job cimport Job, Kernel, Path
from mbt._core.model.structs cimport Model
from mbt._core.passes.body_poses cimport calc_body_pose, calc_node_pose
from mbt._core.quantities cimport algorithms, dynamics
from mbt._core.quantities.dispatch cimport calc_other_quantity
from mbt._core.quantities.motion cimport count_rollout_work, take_step
from mbt._core.quantities.table cimport (
    BODY_POSES, FORWARD_DYNAMICS, FRAME_JACOBIAN, GRAVITY_GENERALIZED_FORCES, INVERSE_DYNAMICS,
    INVERSE_DYNAMICS_DERIVATIVES, MASS_MATRIX, MOTION_FORCES, ROLLOUT,
)
from mbt._core.scalars cimport Lanes, load_rows_partial, sincos_of_angles, store_pose, store_rows_partial


cdef inline Pivots[Lanes] calc_inverse_dynamics(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    dynamics.calc_inverse_dynamics[Lanes](job.quantity, job.integers[0], job.model, job.switches, p, q, v, x, work, out)
    return no_pivots()


cdef inline Pivots[Lanes] calc_forward_dynamics(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    return dynamics.calc_forward_dynamics[Lanes](
        job.integers[0], job.model, job.switches, p, q, v, x, work, out
    )


cdef inline Pivots[Lanes] calc_mass_matrix(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    algorithms.run_packed_mass_matrix[Lanes](job.model, p, q, work, out)
    return no_pivots()


cdef inline Pivots[Lanes] calc_body_poses(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    """One body at a time, into rows of doubles, (MBT_W, num_bodies, 4, 4): stores go on while the next is computed."""
    cdef const Model* m = job.model
    cdef Lanes* sin_q = work + 16*m.num_mobods
    cdef Lanes* cos_q = sin_q + m.angle_stride
    cdef double* rows = <double*>out
    cdef Lanes[16] X_WB
    cdef const Lanes* X
    cdef int b, shift
    sincos_of_angles(q, m.angles, m.num_angles, sin_q, cos_q)
    for b in range(m.num_bodies):
        if b > 0 and m.joints[m.mobod[b]].node == b:
            calc_node_pose[Lanes](m, m.mobod[b], p.mobods, q, sin_q, cos_q, work)
        X = work + 16*m.mobod[b]
        shift = m.axis_shift[b]
        if shift < 0:
            calc_body_pose[Lanes](m, b, p.X_NB, work, X_WB)
            X = X_WB
            shift = 0
        store_pose(X, shift, rows + 16*b, 16*m.num_bodies)
    return no_pivots()


cdef inline Pivots[Lanes] calc_gravity_generalized_forces(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    algorithms.run_gravity_forces[Lanes](job.model, p, job.switches.weightless, q, work, out)
    return no_pivots()


cdef inline Pivots[Lanes] calc_inverse_dynamics_derivatives(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    return dynamics.calc_derivatives[Lanes](
        INVERSE_DYNAMICS_DERIVATIVES, job.integers[0], job.model, job.switches, p, q, v, x, work, out
    )


cdef inline Pivots[Lanes] calc_frame_jacobian(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    dynamics.calc_frame_jacobian[Lanes](job.integers, job.model, p, q, x, work, bases, out)
    return no_pivots()


cdef inline Pivots[Lanes] calc_rollout(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    """Inputs and states of all steps in lanes."""
    cdef const Model* m = job.model
    cdef Lanes* tau = x + 1 + (6*m.num_bodies if job.integers[4] else 0)
    cdef Lanes* q_now = work + algorithms.count_work(m) + count_rollout_work(m) - m.num_positions - m.num_velocities
    cdef Lanes* v_now = q_now + m.num_positions
    cdef int i
    copy_lanes(q, m.num_positions, q_now)
    copy_lanes(v, m.num_velocities, v_now)
    for i in range(job.integers[1]):
        take_lane_step(job, p, x, tau, work, q_now, v_now)
        if not job.integers[3]:
            tau += m.num_velocities
        if (i + 1) % job.integers[2] == 0:
            copy_lanes(q_now, m.num_positions + m.num_velocities, out)
            out += m.num_positions + m.num_velocities
    return no_pivots()


cdef inline void roll_out_block(
    const Job* job, Py_ssize_t first, Py_ssize_t count, const Parameters[Lanes]* p, Lanes* q, Lanes* v, Lanes* x,
    Lanes* work
) noexcept nogil:
    """Inputs and states of each step straight from and to arrays; q and v change."""
    cdef const Path* path = job.path
    cdef int nq = job.model.num_positions
    cdef int nv = job.model.num_velocities
    cdef Lanes* tau = work + algorithms.count_work(job.model) + count_rollout_work(job.model) - nv
    cdef const double* input = path.tau + path.tau_of_sample*first
    cdef double* q_row = path.q + path.q_of_sample*first
    cdef double* v_row = path.v + path.v_of_sample*first
    cdef int i
    for i in range(job.integers[1]):
        if i == 0 or path.tau_of_step:
            load_rows_partial(input, path.tau_of_sample, nv, <int>count, tau)
            input += path.tau_of_step
        take_lane_step(job, p, x, tau, work, q, v)
        if (i + 1) % job.integers[2] == 0:
            store_rows_partial(q, q_row, path.q_of_sample, nq, <int>count)
            store_rows_partial(v, v_row, path.v_of_sample, nv, <int>count)
            q_row += nq
            v_row += nv
    store_rows_partial(q, path.q_end + nq*first, nq, nq, <int>count)
    store_rows_partial(v, path.v_end + nv*first, nv, nv, <int>count)


cdef inline void take_lane_step(
    const Job* job, const Parameters[Lanes]* p, const Lanes* x, const Lanes* tau, Lanes* work, Lanes* q, Lanes* v
) noexcept nogil:
    """`x` is dt, and forces on bodies where there are any."""
    take_step[Lanes](
        job.integers[0], job.model, job.switches, p, x + 1 if job.integers[4] else NULL, tau, x[0], work, q, v
    )


cdef inline void copy_lanes(const Lanes* source, Py_ssize_t n, Lanes* to) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        to[i] = source[i]


cdef inline Pivots[Lanes] calc_other(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    return calc_other_quantity[Lanes](
        job.quantity, job.integers, job.model, job.switches, p, q, v, x, work, bases, out
    )


cdef inline Pivots[Lanes] no_pivots() noexcept nogil:
    cdef Pivots[Lanes] pivots
    pivots.D = NULL
    return pivots


cdef inline Kernel kernel_of(int quantity) noexcept:
    if quantity == INVERSE_DYNAMICS or quantity == MOTION_FORCES:
        return calc_inverse_dynamics
    if quantity == FORWARD_DYNAMICS:
        return calc_forward_dynamics
    if quantity == MASS_MATRIX:
        return calc_mass_matrix
    if quantity == BODY_POSES:
        return calc_body_poses
    if quantity == GRAVITY_GENERALIZED_FORCES:
        return calc_gravity_generalized_forces
    if quantity == INVERSE_DYNAMICS_DERIVATIVES:
        return calc_inverse_dynamics_derivatives
    if quantity == FRAME_JACOBIAN:
        return calc_frame_jacobian
    if quantity == ROLLOUT:
        return calc_rollout
    return calc_other
