"""Many states of differential kinematics: the states that a thread solves; and the check of goals."""

from libc.math cimport fabs, sqrt
from libc.stdlib cimport free, malloc

from mbt._core.solvers.differential_step cimport (
    DIRECTION, POSE, Options, Problem, State, VelocityTask, count_doubles, solve_state,
)


cdef enum:
    SAMPLES_PER_PART = 64
    PARTS_PER_RUN = 16       # between two checks for signals


cdef struct Job:
    const Problem* problem
    const Options* options
    const double* goals
    Py_ssize_t goal_stride
    const double* q
    Py_ssize_t q_stride
    const double* last           # NULL: not known
    Py_ssize_t last_stride
    int num_distances            # how many of the next are in use
    const double* distance_rows
    Py_ssize_t distance_stride   # in distances
    const double* distance_least
    double* v
    Py_ssize_t begin
    Py_ssize_t end
    int num_parts


cdef inline int run_part(const void* shared, int part) noexcept nogil:
    """Solve every `num_parts`-th stretch of the samples, from number `part` on."""
    cdef const Job* job = <const Job*>shared
    cdef const Problem* x = job.problem
    cdef double* memory = <double*>malloc(count_doubles(x)*sizeof(double))
    cdef Py_ssize_t i, at = job.begin + SAMPLES_PER_PART*part
    cdef State state
    if memory == NULL:
        return 1
    while at < job.end:
        for i in range(at, min(job.end, at + SAMPLES_PER_PART)):
            state.q, state.goal = job.q + job.q_stride*i, job.goals + job.goal_stride*i
            state.last = <const double*>NULL if job.last == NULL else job.last + job.last_stride*i
            state.num_distances = job.num_distances
            state.distance_rows = job.distance_rows + x.model.num_velocities*job.distance_stride*i
            state.distance_least = job.distance_least + job.distance_stride*i
            solve_state(x, job.options, &state, memory, job.v + x.model.num_velocities*i)
        at += SAMPLES_PER_PART*job.num_parts
    free(memory)
    return 0


cdef inline bint check_goal(const VelocityTask* task, double* g) noexcept nogil:
    """Whether numbers are a valid goal of a task, to six digits. Normalizes directions. NaN passes."""
    cdef double[3] u
    cdef double dot, length
    cdef int i, j, k
    if task.kind == DIRECTION:
        length = sqrt(g[0]*g[0] + g[1]*g[1] + g[2]*g[2])
        if length < 1e-6:
            return False
        for i in range(3):
            g[i] /= length
    if task.kind != POSE:
        return True
    for i in range(3):
        for j in range(i + 1):
            dot = 0.0
            for k in range(3):
                dot += g[4*i + k]*g[4*j + k]
            if fabs(dot - (1.0 if i == j else 0.0)) > 1e-6:
                return False
        if fabs(g[12 + i]) > 1e-6:
            return False
    u[0] = g[1]*g[6] - g[2]*g[5]
    u[1] = g[2]*g[4] - g[0]*g[6]
    u[2] = g[0]*g[5] - g[1]*g[4]
    return not (u[0]*g[8] + u[1]*g[9] + u[2]*g[10] < 0.0 or fabs(g[15] - 1.0) > 1e-6)
