"""Kernels for blocks of samples where lanes need their own implementation."""

from mbt._core.algebra.records cimport Composite, Parameters, Pose
from mbt._core.engines.lane_job cimport Job, Path
from mbt._core.model.structs cimport Model
from mbt._core.passes cimport packed_mass_matrix
from mbt._core.passes.body_poses cimport calc_body_pose, calc_node_pose
from mbt._core.quantities cimport algorithms
from mbt._core.quantities.call cimport Call, Functions
from mbt._core.quantities.dynamics cimport count_memory
from mbt._core.quantities.every cimport register_quantities
from mbt._core.quantities.motion cimport count_rollout_work, take_step
from mbt._core.quantities.names cimport BODY_POSES, MASS_MATRIX
from mbt._core.scalars cimport Lanes, load_rows_partial, sincos_of_angles, store_pose, store_rows_partial


cdef inline void register_quantities_of_lanes(Functions[Lanes]* functions) noexcept:
    register_quantities[Lanes](functions)
    functions.set(MASS_MATRIX, calc_packed_mass_matrix, count_memory)
    functions.set(BODY_POSES, calc_body_poses_in_rows, count_memory)


cdef inline void calc_packed_mass_matrix(Call[Lanes]* c) noexcept nogil:
    cdef Composite[Lanes]* work = <Composite[Lanes]*>c.memory
    cdef Pose[Lanes]* turned = <Pose[Lanes]*>(work + c.model.num_mobods)
    cdef Lanes* H_N = <Lanes*>(turned + c.model.num_mobods)
    cdef Lanes* H_B = H_N + 6*c.model.num_velocities
    cdef Lanes* sin_q = H_B + 6*c.model.num_velocities
    cdef Lanes* cos_q = sin_q + c.model.angle_stride
    packed_mass_matrix.calc_packed_mass_matrix[Lanes](
        c.model, c.p.mobods, c.p.reflected_inertia, c.q, work, H_N, sin_q, cos_q, H_B, turned, c.out
    )


cdef inline void calc_body_poses_in_rows(Call[Lanes]* c) noexcept nogil:
    """One body at a time, into rows of doubles, (MBT_W, num_bodies, 4, 4): stores overlap with the next body."""
    cdef const Model* m = c.model
    cdef Lanes* sin_q = c.memory + 16*m.num_mobods
    cdef Lanes* cos_q = sin_q + m.angle_stride
    cdef double* rows = <double*>c.out
    cdef Lanes[16] X_WB
    cdef const Lanes* X
    cdef int b, shift
    sincos_of_angles(c.q, m.angles, m.num_angles, sin_q, cos_q)
    for b in range(m.num_bodies):
        if b > 0 and m.joints[m.mobod[b]].node == b:
            calc_node_pose[Lanes](m, m.mobod[b], c.p.mobods, c.q, sin_q, cos_q, c.memory)
        X = c.memory + 16*m.mobod[b]
        shift = m.axis_shift[b]
        if shift < 0:
            calc_body_pose[Lanes](m, b, c.p.X_NB, c.memory, X_WB)
            X = X_WB
            shift = 0
        store_pose(X, shift, rows + 16*b, 16*m.num_bodies)


cdef inline void roll_out_block(
    # Topology:
    const Job* job,
    Py_ssize_t first,
    Py_ssize_t count,
    # Parameters:
    const Parameters[Lanes]* p,
    # In, destroyed:
    Lanes* q,     # (nq,)                         [rad, m]
    Lanes* v,     # (nv,)                         [rad/s, m/s]
    Lanes* x,     # (1 or 1 + 6 num_bodies,)      [s, N m, N]
    # Work:
    Lanes* work,  # (count_work and count_rollout_work,)
) noexcept nogil:
    """Read inputs and write states of each step directly in arrays; q and v change."""
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
    if path.q_end != NULL:
        store_rows_partial(q, path.q_end + nq*first, nq, nq, <int>count)
        store_rows_partial(v, path.v_end + nv*first, nv, nv, <int>count)


cdef inline void take_lane_step(
    # Topology:
    const Job* job,
    # Parameters:
    const Parameters[Lanes]* p,
    # In:
    const Lanes* x,    # (1 or 1 + 6 num_bodies,)     [s, N m, N]
    const Lanes* tau,  # (nv,)                        [N m, N]
    # Work:
    Lanes* work,       # (count_work and count_rollout_work,)
    # Out:
    Lanes* q,          # (nq,)                        [rad, m]  on entry, the initial ones
    Lanes* v,          # (nv,)                        [rad/s, m/s]  likewise
) noexcept nogil:
    """`x` is dt, and forces on bodies if there are any."""
    take_step[Lanes](
        job.integers[0], job.model, job.switches, p, x + 1 if job.integers[4] else NULL, tau, x[0], work, q, v
    )
