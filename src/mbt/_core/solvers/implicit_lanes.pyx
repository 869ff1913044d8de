"""Implicit steps of many samples, MBT_W of them in the lanes of a register. One step is in implicit_lane_step.pxd.

The result of a sample depends on nothing else in its batch: no lane reads another, and threads share whole blocks.
"""

from libc.math cimport NAN

from mbt._core.algebra.records cimport Mobod
from mbt._core.forces.force_elements cimport JOINT_FRICTION, JOINT_SPRING, POINT_CONTACT
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.scalars cimport MBT_W, Lanes, lane, load_rows_partial, set_lane, store_rows_partial
from mbt._core.solvers.implicit_job cimport DONE, SINGULAR, Job
from mbt._core.solvers.implicit_lane_step cimport (
    LaneKinematics, LaneStep, LaneTerms, PrincipalOf, count_kinematics, count_lanes_of_step, take_lane_step,
)
from mbt._core.solvers.implicit_rows cimport StepInput, Terms

cdef extern from "engines/aligned.hpp" namespace "MBT_NS" nogil:
    void* allocate_aligned(size_t size)
    void free_aligned(void* memory)

cdef enum:
    STEPS_ANEW = 16           # every 16th step computes the kinematics one step back; the others reuse them


cdef bint fits_lanes(const Terms* x) noexcept nogil:
    cdef const Model* m = x.model
    cdef int i, type
    if x.num_rows or x.shapes != NULL or x.switches.weightless != NULL or not m.num_velocities:
        return False
    for i in range(m.num_force_elements):
        type = m.force_elements[i].type
        if type == POINT_CONTACT:
            # Only contact with what cannot move.
            if m.mobod[m.frame_node[m.force_elements[i].a]] != 0:
                return False
        elif type != JOINT_SPRING and type != JOINT_FRICTION:
            return False
    return True


cdef struct Block:
    # The working memory of a thread.
    LaneTerms terms
    const Terms* of_lanes[<int>MBT_W]        # the terms that were read into each lane
    Lanes* numbers
    LaneStep step
    Lanes* tau
    Lanes* work
    double* single                           # a state before and after, and the working memory of one sample


cdef Py_ssize_t count_packed(const Model* m, int* row, int* length, int* dofs) noexcept nogil:
    """Return the number of entries of a packed matrix, in the order of `packed_mass_matrix`.

    Unless `dofs` is NULL, write where each row begins, its length, and the dofs of the entries.
    """
    cdef const MobodJoint* joint
    cdef int i, k, l, first, place = 0, begin
    for i in range(m.num_mobods - 1, 0, -1):
        for k in range(m.joints[i].v_start, m.joints[i].v_start + m.joints[i].nv):
            joint, first, begin = &m.joints[i], k, place
            while True:
                for l in range(first, joint.v_start - 1, -1):
                    if dofs != NULL:
                        dofs[place] = l
                    place += 1
                if joint.parent == 0:
                    break
                joint = &m.joints[joint.parent]
                first = joint.v_start + joint.nv - 1
            if dofs != NULL:
                row[k], length[k] = begin, place - begin
    return place


cdef void set_point_dofs(const Model* m, int* out) noexcept nogil:
    """Write the last dof on the path to each point in contact, or -1."""
    cdef int i, mobod
    for i in range(m.num_force_elements):
        if m.force_elements[i].type != POINT_CONTACT:
            continue
        mobod = m.mobod[m.frame_node[m.force_elements[i].b]]
        while mobod != 0 and not m.joints[mobod].nv:
            mobod = m.joints[mobod].parent
        for _ in range(m.force_elements[i].num_points):
            out[0] = m.joints[mobod].v_start + m.joints[mobod].nv - 1 if mobod else -1
            out += 1


cdef Py_ssize_t count_elements(const Model* m) noexcept nogil:
    """Return the number of parameters of all force elements."""
    if not m.num_force_elements:
        return 0
    return m.force_elements[m.num_force_elements - 1].start + m.force_elements[m.num_force_elements - 1].size


cdef Py_ssize_t count_numbers(const Terms* x) noexcept nogil:
    """Return the number of Lanes that hold the terms."""
    cdef const Model* m = x.model
    cdef Py_ssize_t mobod = sizeof(Mobod[Lanes])//sizeof(Lanes)
    cdef Py_ssize_t principal = sizeof(PrincipalOf[Lanes])//sizeof(Lanes)
    return (
        mobod*m.num_mobods + (principal + 6)*m.num_bodies + 16*<Py_ssize_t>m.num_frames + 3
        + 12*<Py_ssize_t>m.num_velocities + 5*x.num_servos + count_elements(m)
    )


cdef const Lanes* fill_lanes(const double** rows, Py_ssize_t n, Lanes** memory) noexcept nogil:
    """Copy a row of each lane into memory, and move `memory` past them."""
    cdef Lanes* out = memory[0]
    cdef Py_ssize_t i
    cdef int l
    for l in range(<int>MBT_W):
        for i in range(n):
            set_lane(out[i], l, rows[l][i])
    memory[0] = out + n
    return out


cdef const Lanes* gather(const Block* b, const void* member, Py_ssize_t n, Lanes** memory) noexcept nogil:
    """Copy n numbers of each lane, to which a member of its terms points, into memory, and move `memory` past them.

    `member` is the address of the member in the first lane's terms.
    """
    cdef Py_ssize_t offset = <const char*>member - <const char*>b.of_lanes[0]
    cdef const double* rows[<int>MBT_W]
    cdef int l
    for l in range(<int>MBT_W):
        rows[l] = (<const double* const*>(<const char*>b.of_lanes[l] + offset))[0]
    return fill_lanes(rows, n, memory)


cdef const Lanes* gather_parameters(
    const Block* b, const void* member, Py_ssize_t n, Lanes** memory
) noexcept nogil:
    """Do the same for a member of the parameters that a step reads."""
    cdef Py_ssize_t offset = <const char*>member - <const char*>b.of_lanes[0].own
    cdef const double* rows[<int>MBT_W]
    cdef int l
    for l in range(<int>MBT_W):
        rows[l] = (<const double* const*>(<const char*>b.of_lanes[l].own + offset))[0]
    return fill_lanes(rows, n, memory)


cdef void read_terms(Block* b) noexcept nogil:
    """Copy the terms to which `of_lanes` points into lanes."""
    cdef const Terms* one = b.of_lanes[0]
    cdef const Model* m = one.model
    cdef LaneTerms* to = &b.terms
    cdef Lanes* memory = b.numbers
    cdef Py_ssize_t n = m.num_velocities
    cdef int l
    to.position_of, to.servo_dofs, to.servo_positions = one.position_of, one.servo_dofs, one.servo_positions
    to.has_locks = False
    for l in range(<int>MBT_W):
        to.has_locks = to.has_locks or b.of_lanes[l].has_locks
    to.p.mobods = <const Mobod[Lanes]*>gather_parameters(
        b, &one.own.mobods, sizeof(Mobod[Lanes])//sizeof(Lanes)*m.num_mobods, &memory
    )
    to.p.X_BF = gather_parameters(b, &one.own.X_BF, 16*m.num_frames, &memory)
    to.p.gravity = gather_parameters(b, &one.own.gravity, 3, &memory)
    to.p.reflected_inertia = gather_parameters(b, &one.own.reflected_inertia, n, &memory)
    to.elements = gather(b, &one.elements, count_elements(m), &memory)
    to.bodies = <const PrincipalOf[Lanes]*>gather(
        b, &one.bodies, sizeof(PrincipalOf[Lanes])//sizeof(Lanes)*m.num_bodies, &memory
    )
    to.free = gather(b, &one.free, n, &memory)
    to.damping = gather(b, &one.damping, n, &memory)
    to.stiffness = gather(b, &one.stiffness, n, &memory)
    to.lower = gather(b, &one.lower, n, &memory)
    to.upper = gather(b, &one.upper, n, &memory)
    to.slowest = gather(b, &one.slowest, n, &memory)
    to.fastest = gather(b, &one.fastest, n, &memory)
    to.effort_lower = gather(b, &one.effort_lower, n, &memory)
    to.effort_upper = gather(b, &one.effort_upper, n, &memory)
    to.kp = gather(b, &one.kp, to.num_servos, &memory)
    to.kd = gather(b, &one.kd, to.num_servos, &memory)
    to.q_d = gather(b, &one.q_d, to.num_servos, &memory)
    to.v_d = gather(b, &one.v_d, to.num_servos, &memory)
    to.effort_limits = gather(b, &one.effort_limits, to.num_servos, &memory)
    to.body_forces = NULL
    if one.body_forces != NULL:
        to.body_forces = gather(b, &one.body_forces, 6*m.num_bodies, &memory)
        to.generalized_forces = gather(b, &one.generalized_forces, n, &memory)


cdef int roll_out_blocks(const void* shared, int part) noexcept nogil:
    cdef const Job* job = <const Job*>shared
    cdef const Terms* one = job.terms[job.begin]
    cdef const Model* m = one.model
    cdef Py_ssize_t nq = m.num_positions
    cdef Py_ssize_t nv = m.num_velocities
    cdef Py_ssize_t packed = count_packed(m, NULL, NULL, NULL)
    cdef Py_ssize_t num_ints = 2*nv + packed + one.num_points
    cdef Py_ssize_t num_singles = job.num_doubles + nq + nv + (num_ints*sizeof(int))//sizeof(double) + 1
    cdef Py_ssize_t sample = job.begin + part*<Py_ssize_t>MBT_W
    cdef Block b
    cdef int* ints
    cdef int i
    cdef Lanes* memory
    b.terms.model, b.terms.num_points, b.terms.num_servos = m, one.num_points, one.num_servos
    b.terms.packed, b.terms.tree.n = <int>packed, <int>nv
    memory = <Lanes*>allocate_aligned((
        count_numbers(one) + nq + 2*nv + 2*count_kinematics(m) + count_lanes_of_step(&b.terms)
        + num_singles//<Py_ssize_t>MBT_W + 1
    )*sizeof(Lanes))
    if memory == NULL:
        return 1
    b.numbers = memory
    b.step.q = b.numbers + count_numbers(one)
    b.step.v = b.step.q + nq
    b.tau = b.step.v + nv
    b.step.tau, b.step.h = b.tau, job.h
    b.step.before.X_WB = b.tau + nv
    b.step.now.X_WB = b.step.before.X_WB + count_kinematics(m)
    b.step.before.H_PB_W = b.step.before.X_WB + 16*m.num_bodies
    b.step.now.H_PB_W = b.step.now.X_WB + 16*m.num_bodies
    b.work = b.step.now.X_WB + count_kinematics(m)
    b.single = <double*>(b.work + count_lanes_of_step(&b.terms))
    ints = <int*>(b.single + job.num_doubles + nq + nv)
    count_packed(m, ints, ints + nv, ints + 2*nv)
    set_point_dofs(m, ints + 2*nv + packed)
    b.terms.tree.row, b.terms.tree.length, b.terms.tree.dofs = ints, ints + nv, ints + 2*nv
    b.terms.point_dofs = ints + 2*nv + packed
    for i in range(<int>MBT_W):
        b.of_lanes[i] = NULL
    while sample < job.end:
        roll_out_block(job, &b, sample, <int>min(<Py_ssize_t>MBT_W, job.end - sample))
        sample += job.num_parts*<Py_ssize_t>MBT_W
    free_aligned(memory)
    return 0


cdef void roll_out_block(const Job* job, Block* b, Py_ssize_t first, int count) noexcept nogil:
    """Roll out `count` samples from `first` on; the remaining lanes repeat the first."""
    cdef const Model* m = b.terms.model
    cdef int nq = m.num_positions
    cdef int nv = m.num_velocities
    cdef int l
    cdef bint is_new = False
    cdef const Terms* terms
    cdef const double* tau = job.tau + job.sample_stride*first
    cdef LaneKinematics swapped
    cdef Lanes good
    cdef Py_ssize_t i, row
    for l in range(<int>MBT_W):
        terms = job.terms[first + (l if l < count else 0)]
        is_new = is_new or terms != b.of_lanes[l]
        b.of_lanes[l] = terms
    if is_new:
        read_terms(b)
    load(job.q0 + nq*first, nq, nq, count, b.step.q)
    load(job.v0 + nv*first, nv, nv, count, b.step.v)
    for i in range(job.first, job.last):
        if i == job.first or job.step_stride:
            load(tau + job.step_stride*i, job.sample_stride, nv, count, b.tau)
        b.step.is_known = i % STEPS_ANEW != 0
        good = take_lane_step(&b.terms, &b.step, b.work)
        for l in range(count):
            if lane(good, l) == 0.0 or job.states[first + l] != DONE:
                take_alone(job, b, first + l, l, i)
        store_rows_partial(b.step.q, job.q0 + nq*first, nq, nq, count)
        store_rows_partial(b.step.v, job.v0 + nv*first, nv, nv, count)
        swapped = b.step.before
        b.step.before = b.step.now
        b.step.now = swapped
        if (i + 1) % job.every == 0:
            row = job.num_rows*first + (i + 1)//job.every
            store_rows_partial(b.step.q, job.q + nq*row, job.num_rows*nq, nq, count)
            store_rows_partial(b.step.v, job.v + nv*row, job.num_rows*nv, nv, count)


cdef void load(const double* rows, Py_ssize_t stride, int n, int count, Lanes* out) noexcept nogil:
    cdef int i, l
    load_rows_partial(rows, stride, n, count, out)
    for l in range(count, <int>MBT_W):
        for i in range(n):
            set_lane(out[i], l, lane(out[i], 0))


cdef void take_alone(const Job* job, Block* b, Py_ssize_t sample, int l, Py_ssize_t step) noexcept nogil:
    """Take the step of one sample that its lane could not take, from the state before; NaN if that is not finite."""
    cdef int nq = b.terms.model.num_positions
    cdef int nv = b.terms.model.num_velocities
    cdef double* q = b.single
    cdef double* v = q + nq
    cdef StepInput at
    cdef int i
    if job.states[sample] == DONE:
        at.q, at.v = job.q0 + nq*sample, job.v0 + nv*sample
        at.tau, at.h = job.tau + job.sample_stride*sample + job.step_stride*step, job.h
        at.bias = NULL
        job.states[sample] = job.take_one(job.terms[sample], &at, v + nv, q, v)
        job.singular[sample] = step == 0 and job.states[sample] == SINGULAR
    if job.states[sample] != DONE:
        for i in range(nq + nv):
            q[i] = NAN
    for i in range(nq):
        set_lane(b.step.q[i], l, q[i])
    for i in range(nv):
        set_lane(b.step.v[i], l, v[i])
