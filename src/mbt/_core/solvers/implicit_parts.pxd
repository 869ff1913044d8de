"""Implicit steps of many samples: the part of one thread."""

from libc.math cimport NAN, fabs, fmax, fmin
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from mbt._core.model.structs cimport Model
from mbt._core.solvers.implicit_job cimport DONE, SINGULAR, Job
from mbt._core.solvers.implicit_rows cimport Problem, StepInput, Terms, add_drives, count_scratch, limit_impulse
from mbt._core.solvers.implicit_step cimport StepResult, count_told, take_step, tell


cdef inline Py_ssize_t count_doubles(const Terms* x) noexcept nogil:
    """Return the doubles of working memory that a step needs."""
    return x.num_work + count_scratch(x)


cdef inline void fill(const Model* m, double* q, double* v) noexcept nogil:
    """Fill a state with NaN."""
    cdef int i
    for i in range(m.num_positions):
        q[i] = NAN
    for i in range(m.num_velocities):
        v[i] = NAN


cdef inline double* allocate(const Job* job) noexcept nogil:
    """Allocate working memory for steps of any sample: all have the same tree."""
    return <double*>malloc((count_doubles(job.terms[job.begin]) + job.terms[job.begin].model.num_positions
                            + job.terms[job.begin].model.num_velocities)*sizeof(double))


cdef inline int take_one(
    const Terms* terms, const StepInput* at, double* work, double* q1, double* v1
) noexcept nogil:
    cdef Problem x
    cdef StepResult out
    out.q, out.v = q1, v1
    return take_step(terms, at, work, &x, False, &out)


cdef inline int roll_out_part(const void* shared, int part) noexcept nogil:
    """Roll out every `num_parts`-th sample, from number `part` on."""
    cdef const Job* job = <const Job*>shared
    cdef const Model* m = job.terms[job.begin].model
    cdef Py_ssize_t nq = m.num_positions
    cdef Py_ssize_t nv = m.num_velocities
    cdef double* other = allocate(job)
    cdef double* work = other + nq + nv
    cdef Py_ssize_t sample = job.begin + part, i, row
    cdef StepInput at
    if other == NULL:
        return 1
    at.bias = NULL
    at.h = job.h
    while sample < job.end:
        for i in range(job.first, job.last):
            if job.states[sample] == DONE:
                at.q, at.v = job.q0 + nq*sample, job.v0 + nv*sample
                at.tau = job.tau + job.sample_stride*sample + job.step_stride*i
                job.states[sample] = take_one(job.terms[sample], &at, work, other, other + nq)
                if job.states[sample] == DONE:
                    memcpy(job.q0 + nq*sample, other, nq*sizeof(double))
                    memcpy(job.v0 + nv*sample, other + nq, nv*sizeof(double))
                else:
                    fill(m, job.q0 + nq*sample, job.v0 + nv*sample)
                    job.singular[sample] = i == 0 and job.states[sample] == SINGULAR
            if (i + 1) % job.every == 0:
                row = job.num_rows*sample + (i + 1)//job.every
                memcpy(job.q + nq*row, job.q0 + nq*sample, nq*sizeof(double))
                memcpy(job.v + nv*row, job.v0 + nv*sample, nv*sizeof(double))
        sample += job.num_parts
    free(other)
    return 0


cdef inline int take_part(const void* shared, int part) noexcept nogil:
    """Take the steps of every `num_parts`-th sample, from number `part` on."""
    cdef const Job* job = <const Job*>shared
    cdef double* memory = allocate(job)
    cdef Py_ssize_t sample = job.begin + part
    if memory == NULL:
        return 1
    while sample < job.end:
        take_sample(job, sample, memory)
        sample += job.num_parts
    free(memory)
    return 0


cdef inline void take_sample(const Job* job, Py_ssize_t sample, double* work) noexcept nogil:
    cdef const Terms* terms = job.terms[sample]
    cdef Py_ssize_t nq = terms.model.num_positions
    cdef Py_ssize_t n = terms.model.num_velocities
    cdef Py_ssize_t ns = terms.num_servos, num_told = count_told(terms), row = job.num_rows*sample
    cdef StepInput at
    cdef StepResult out
    cdef double* q
    cdef double* v
    cdef double* drive
    cdef char* limits
    cdef char* clipped
    cdef char* full
    cdef Problem x
    cdef int k, first_angle, state = DONE
    at.q, at.v, at.h = job.q0 + nq*sample, job.v0 + n*sample, job.h
    at.bias = <const double*>NULL if job.bias == NULL else job.bias + n*sample
    for i in range(job.num_rows):
        at.tau = job.tau + n*row
        q, v, drive = job.q + nq*row, job.v + n*row, job.drive + n*row
        limits, clipped, full = job.at_limit + n*row, job.clipped + n*row, job.saturated + ns*row
        out.q, out.v, out.iterations, out.residual = q, v, 0, 0.0
        if state == DONE:
            state = take_step(terms, &at, work, &x, True, &out)
            job.singular[sample] = i == 0 and state == SINGULAR
        job.iterations[row], job.residual[row] = out.iterations, out.residual
        if state == DONE:
            add_drives(x, v, x.total, NULL)
            for k in range(<int>n):
                limits[k] = limit_impulse(x, k, v[k]) != 0.0
                clipped[k] = x.total[k] < x.effort_lower[k] or x.total[k] > x.effort_upper[k]
                drive[k] = fmax(fmin(x.total[k], x.effort_upper[k]), x.effort_lower[k])
            first_angle = x.num_rows - x.num_sided
            for k in range(x.num_sided):
                if x.u[first_angle + k] < x.target[first_angle + k]:
                    limits[terms.angle_dofs[k]] = 1
            tell(terms, &x, at.v, v, job.told + num_told*row)
            for k in range(<int>ns):
                full[k] = fabs(x.effort[k] - x.effort_slope[k]*v[x.dofs[k]]) > x.effort_limit[k]
        else:
            fill(terms.model, q, v)
            memcpy(drive, at.tau, n*sizeof(double))
            memset(limits, 0, n)
            memset(clipped, 0, n)
            memset(full, 0, ns)
            for k in range(<int>num_told):
                job.told[num_told*row + k] = NAN
        at.q, at.v = q, v
        row += 1
