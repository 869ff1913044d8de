"""Implicit steps of one state of doubles: what Python calls. One step is in implicit_step.pxd."""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport NAN, fabs, fmax, fmin
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.door.exact_arrays cimport adopt, data, in1, in2, is_array1, new1
from mbt._core.engines.context cimport ContextCore, check_positions
from mbt._core.engines.leading_axes cimport check_elements
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport kernels
from mbt._core.quantities.call cimport Call
from mbt._core.solvers.contact_rows cimport take_over_normals
from mbt._core.solvers.implicit_elements cimport count_element_rows
from mbt._core.solvers.implicit_job cimport DONE, NOT_FINITE, SINGULAR, Job
from mbt._core.solvers.implicit_lanes cimport fits_lanes, roll_out_blocks
from mbt._core.solvers.implicit_rows cimport (
    CLOSING, LEAST_SHARE, PULL, RETURN, RIGID, STICTION, Principal, Problem, Terms, add_drives, calc_touch,
    count_scratch, count_work, dot, find_principals, limit_impulse, multiply, spots_of,
)
from mbt._core.solvers.implicit_step cimport count_told, set_problem, take_step, tell
from mbt._core.solvers.shape_contact cimport MOST_SPOTS, TouchPoint, ContactCore, count_memory_of_contacts

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "engines/pool.hpp" namespace "MBT_NS" nogil:
    ctypedef int (*PoolTask)(const void* job, int part) noexcept nogil
    cdef cppclass Pool:
        int run(PoolTask task, const void* job, int count)
    Pool* get_pool()

# Between two looks for Ctrl-C, of each thread.
cdef enum:
    SAMPLES_A_CHECK = 256
    STEPS_A_CHECK = 1024
    FEWEST_STEPS = 8          # of a thread
    STEPS_ANEW = 16           # see implicit_lanes.pyx

# What docs/implicit_steps.md calls them; see `convex_step.hpp`.
CONSTANTS = {
    "rigid": RIGID, "stiction": STICTION, "closing": CLOSING, "least_share": LEAST_SHARE, "return": RETURN,
    "pull": PULL,
}

# Those of the constants of a core that are integers.
cdef frozenset WHOLE = frozenset(("position_of", "servo_dofs", "servo_positions", "angle_positions", "angle_dofs"))


def derived_of(ContextCore context not None):
    """Return what kernels read of the parameters of one state of doubles."""
    return context.derived()


cdef class ImplicitCore:
    """Implicit steps with the parameters of a Context.

    Parameters
    ----------
    context : Context
        One state of doubles, with the locks and the other switches.
    given, own : Derived
        The parameters; and the same without the stiffness of contact and without friction of joints.
    constants : dict of str to ndarray
        ``free``, ``damping``, ``stiffness``, ``lower``, ``upper`` (num_velocities,); ``position_of`` (num_velocities,)
        of int; ``slowest``, ``fastest`` (num_velocities,), limits of velocities; of limits of angles
        ``angle_positions``, ``angle_dofs`` of int, ``angle_signs``, ``angle_limits``; ``effort_lower``,
        ``effort_upper`` (num_velocities,); of servos ``servo_dofs``, ``servo_positions`` of
        int, ``kp``, ``kd``, ``q_d``, ``v_d``, ``effort_limits``; ``body_forces`` (num_bodies, 6) and
        ``generalized_forces`` (num_velocities,), or None.
    contacts : ContactCore, optional
        Shapes that touch.
    """
    # Not the Contexts: they hold the tree, which may hold this.
    cdef Derived own_parameters, given_parameters
    cdef CompiledModel compiled
    cdef ContactCore contacts
    cdef tuple switched                      # keeps what the switches show alive
    cdef dict arrays                         # and the other pointers
    cdef Terms terms
    cdef Principal* bodies

    def __cinit__(
        self, ContextCore context not None, Derived given not None, Derived own not None, dict constants not None,
        ContactCore contacts=None
    ):
        cdef Model* m = &context.compiled.model
        cdef Terms* x = &self.terms
        cdef Py_ssize_t nv = m.num_velocities
        cdef int i
        self.compiled = context.compiled
        self.switched = context._locked, context._weightless, context._disabled
        self.given_parameters, self.own_parameters = given, own
        self.arrays = {name: None if array is None else np.ascontiguousarray(
            array, np.intc if name in WHOLE else np.float64
        ) for name, array in constants.items()}
        x.model, x.switches = m, context.switches
        x.given, x.own = &given.parameters, &own.parameters
        x.num_servos = <int>len(self.arrays["servo_dofs"])
        x.free, x.damping = self.numbers("free", nv), self.numbers("damping", nv)
        x.stiffness = self.numbers("stiffness", nv)
        x.lower, x.upper = self.numbers("lower", nv), self.numbers("upper", nv)
        x.slowest, x.fastest = self.numbers("slowest", nv), self.numbers("fastest", nv)
        x.num_angles = <int>len(self.arrays["angle_positions"])
        x.angle_positions = <const int*>self.whole_numbers("angle_positions", x.num_angles)
        x.angle_dofs = <const int*>self.whole_numbers("angle_dofs", x.num_angles)
        x.angle_signs = self.numbers("angle_signs", x.num_angles)
        x.angle_limits = self.numbers("angle_limits", x.num_angles)
        x.effort_lower, x.effort_upper = self.numbers("effort_lower", nv), self.numbers("effort_upper", nv)
        x.kp, x.kd = self.numbers("kp", x.num_servos), self.numbers("kd", x.num_servos)
        x.q_d, x.v_d = self.numbers("q_d", x.num_servos), self.numbers("v_d", x.num_servos)
        x.effort_limits = self.numbers("effort_limits", x.num_servos)
        x.body_forces = x.generalized_forces = NULL
        if self.arrays["body_forces"] is not None:
            x.body_forces = self.numbers("body_forces", 6*m.num_bodies)
            x.generalized_forces = self.numbers("generalized_forces", nv)
        x.position_of = <const int*>self.whole_numbers("position_of", nv)
        x.servo_dofs = <const int*>self.whole_numbers("servo_dofs", x.num_servos)
        x.servo_positions = <const int*>self.whole_numbers("servo_positions", x.num_servos)
        x.has_locks = not self.arrays["free"].all()
        x.num_points = 0
        for i in range(m.num_force_elements):
            x.num_points += m.force_elements[i].num_points
        x.num_rows = m.num_equations + count_element_rows(m) + x.num_angles
        x.shapes = NULL
        x.num_spots = x.num_contact_work = 0
        self.contacts = contacts
        if contacts is not None:
            x.shapes, x.num_spots = &contacts.tables, MOST_SPOTS*contacts.tables.scene.num_pairs
            x.num_contact_work = count_memory_of_contacts(x.shapes)
        x.num_work = count_work(m)
        self.bodies = <Principal*>malloc(m.num_bodies*sizeof(Principal))
        if self.bodies == NULL:
            raise MemoryError
        find_principals(
            <int>m.num_bodies, x.own.mass, x.own.p_BoBcm_B, x.own.I_BBo_B, self.bodies
        )
        x.bodies = self.bodies

    def __dealloc__(self):
        free(self.bodies)

    cdef const double* numbers(self, str name, Py_ssize_t count) except? NULL:
        array = self.arrays[name]
        if array.size != count:
            raise ValueError(name)
        return data(array)

    cdef const void* whole_numbers(self, str name, Py_ssize_t count) except? NULL:
        array = self.arrays[name]
        if array.size != count:
            raise ValueError(name)
        return <const void*>data(array)

    # What Python calls.

    def set_servo_targets(self, q_d, v_d):
        """Let servos drive to these from the next step on, (num_servos,)."""
        cdef int ns = self.terms.num_servos
        q_d, v_d = in1(q_d, "q_d", ns), in1(v_d, "v_d", ns)
        memcpy(<void*>self.terms.q_d, data(q_d), ns*sizeof(double))
        memcpy(<void*>self.terms.v_d, data(v_d), ns*sizeof(double))

    def step(self, tree, q, v, tau, double dt):
        """Return the state one step later, NaN where the present one is not finite.

        None where the arrays are not those of one state, or the mass matrix is singular.
        """
        cdef const Model* m = &self.compiled.model
        cdef const Terms* terms = &self.terms
        cdef Problem x
        cdef int iterations
        cdef double residual
        cdef double* work
        if not (is_array1(q, m.num_positions) and is_array1(v, m.num_velocities) and is_array1(tau, m.num_velocities)):
            return None
        if m.num_checked:
            check_positions(tree, self.compiled, data(q))
        if m.num_elements_between:
            check_elements(tree, self.compiled, data(q))
        q1, v1 = new1(m.num_positions), new1(m.num_velocities)
        work = kernels.get_work(m, count_doubles(terms) - kernels.work_size(m))
        cdef int state = take_step(
            terms, work, data(q), data(v), data(tau), NULL, dt, data(q1), data(v1), &x, &iterations, &residual, False
        )
        if state == SINGULAR:
            return None
        if state == NOT_FINITE:
            fill(m, data(q1), data(v1))
        return q1, v1

    def touch(self, q, v, v1, along, lengths):
        """Return what shapes did in steps from q and v to v1, arrays with T rows, of these lengths, (T,).

        Of each point that pushed twelve numbers: the step, the pair, the point, the normal, the force on the second
        body, the gap; and of each step the power of these forces if the tree moves with `along`. A state that is not
        finite has none.
        """
        cdef const Terms* x = &self.terms
        cdef const Model* m = x.model
        cdef int n = m.num_velocities
        cdef Py_ssize_t i, count = len(q)
        cdef int j, k, state
        cdef Problem y
        cdef Call[double] c
        cdef double* work
        cdef double* rest
        cdef double* row
        cdef double[3] f
        cdef const TouchPoint* contact
        q, v = in2(q, "q", count, m.num_positions), in2(v, "v", count, n)
        v1, along = in2(v1, "v1", count, n), in2(along, "along", count, n)
        lengths = in1(lengths, "lengths", count)
        nothing, power, free_v = np.zeros(n), np.zeros(count), np.zeros(n)
        rows = np.empty((x.num_spots, 12))
        cdef double* to_power = data(power)
        cdef const double* h = data(lengths)
        found = [rows[:0]]
        for i in range(count):
            # Python in between: memory is taken anew.
            work = kernels.get_work(m, x.num_work + count_scratch(x) - kernels.work_size(m))
            state = set_problem(
                x, work, &c, data(q) + i*m.num_positions, data(v) + i*n, data(nothing), NULL, h[i], data(free_v), &y,
                &rest, False
            )
            if state != DONE or y.num_points == x.num_points:
                continue
            multiply(3*y.num_points, n, y.points, data(v1) + i*n, y.u)
            take_over_normals(x, &y, y.u)
            row = data(rows)
            for j in range(x.num_points, y.num_points):
                calc_touch(y, j, y.u + 3*j, f)
                if not f[2] > 0.0:
                    continue
                contact = spots_of(x, &y) + (j - x.num_points)
                row[0], row[1], row[11] = i, contact.pair, contact.gap
                for k in range(3):
                    row[2 + k], row[5 + k] = contact.p[k], contact.n[k]
                    row[8 + k] = (f[0]*contact.s[k] + f[1]*contact.t[k] + f[2]*contact.n[k])/h[i]
                    to_power[i] += f[k]/h[i]*dot(n, y.points + <Py_ssize_t>n*(3*j + k), data(along) + i*n)
                row += 12
            found.append(rows[:(row - data(rows))//12].copy())
        return np.concatenate(found), power


cdef inline Py_ssize_t count_doubles(const Terms* x) noexcept nogil:
    """Working memory of a step."""
    return x.num_work + count_scratch(x)


cdef inline void fill(const Model* m, double* q, double* v) noexcept nogil:
    """A state that does not exist."""
    cdef int i
    for i in range(m.num_positions):
        q[i] = NAN
    for i in range(m.num_velocities):
        v[i] = NAN


# Many steps of many samples ----------------------------------------------------------------------------------------

cdef int run(Job* job, PoolTask task, Py_ssize_t count, int num_threads) except -1:
    """Share samples among threads, some at a time."""
    cdef Pool* pool
    cdef Py_ssize_t num_steps = max(<Py_ssize_t>1, job.last - job.first)
    cdef int error, parts
    parts = <int>min(<Py_ssize_t>num_threads, min(count, count*num_steps//FEWEST_STEPS))
    pool = get_pool() if parts > 1 else NULL
    job.num_parts = parts if pool != NULL else 1
    with nogil:
        error = task(job, 0) if pool == NULL else pool.run(task, job, parts)
    if error:
        raise MemoryError
    return 0


cdef double* allocate(const Job* job) noexcept nogil:
    """Working memory for steps of any sample. They have the same tree."""
    return <double*>malloc((count_doubles(job.terms[job.begin]) + job.terms[job.begin].model.num_positions
                            + job.terms[job.begin].model.num_velocities)*sizeof(double))


cdef int take_one(
    const Terms* terms, double* work, const double* q, const double* v, const double* tau, double h, double* q1,
    double* v1
) noexcept nogil:
    cdef Problem x
    cdef int iterations
    cdef double residual
    return take_step(terms, work, q, v, tau, NULL, h, q1, v1, &x, &iterations, &residual, False)


cdef int roll_out_part(const void* shared, int part) noexcept nogil:
    """Every `num_parts`-th sample from number `part` on."""
    cdef const Job* job = <const Job*>shared
    cdef const Model* m = job.terms[job.begin].model
    cdef Py_ssize_t nq = m.num_positions
    cdef Py_ssize_t nv = m.num_velocities
    cdef double* other = allocate(job)
    cdef double* work = other + nq + nv
    cdef Py_ssize_t sample = job.begin + part, i, row
    if other == NULL:
        return 1
    while sample < job.end:
        for i in range(job.first, job.last):
            if job.states[sample] == DONE:
                job.states[sample] = take_one(
                    job.terms[sample], work, job.q0 + nq*sample, job.v0 + nv*sample,
                    job.tau + job.sample_stride*sample + job.step_stride*i, job.h, other, other + nq
                )
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


cdef int take_part(const void* shared, int part) noexcept nogil:
    """Every `num_parts`-th sample from number `part` on."""
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


cdef void take_sample(const Job* job, Py_ssize_t sample, double* work) noexcept nogil:
    cdef const Terms* terms = job.terms[sample]
    cdef Py_ssize_t nq = terms.model.num_positions
    cdef Py_ssize_t n = terms.model.num_velocities
    cdef Py_ssize_t ns = terms.num_servos, num_told = count_told(terms), row = job.num_rows*sample
    cdef const double* q0 = job.q0 + nq*sample
    cdef const double* v0 = job.v0 + n*sample
    cdef const double* bias = NULL
    cdef const double* force
    cdef double* q
    cdef double* v
    cdef double* drive
    cdef char* limits
    cdef char* clipped
    cdef char* full
    cdef Problem x
    cdef int k, number, first_angle, state = DONE
    if job.bias != NULL:
        bias = job.bias + n*sample
    for i in range(job.num_rows):
        force = job.tau + n*row
        q, v, drive = job.q + nq*row, job.v + n*row, job.drive + n*row
        limits, clipped, full = job.at_limit + n*row, job.clipped + n*row, job.saturated + ns*row
        job.residual[row] = 0.0
        number = 0
        if state == DONE:
            state = take_step(
                terms, work, q0, v0, force, bias, job.h, q, v, &x, &number, job.residual + row, True
            )
            job.singular[sample] = i == 0 and state == SINGULAR
        job.iterations[row] = number
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
            tell(terms, &x, v0, v, job.told + num_told*row)
            for k in range(<int>ns):
                full[k] = fabs(x.effort[k] - x.effort_slope[k]*v[x.dofs[k]]) > x.effort_limit[k]
        else:
            fill(terms.model, q, v)
            memcpy(drive, force, n*sizeof(double))
            memset(limits, 0, n)
            memset(clipped, 0, n)
            memset(full, 0, ns)
            for k in range(<int>num_told):
                job.told[num_told*row + k] = NAN
        q0, v0 = q, v
        row += 1


cdef class _Samples:
    """The terms of the cores of some samples, and what has become of each."""
    cdef const Terms** terms
    cdef int* states
    cdef object singular

    def __cinit__(self, list cores not None):
        cdef Py_ssize_t i, count = len(cores)
        self.terms = <const Terms**>malloc((count + 1)*sizeof(Terms*))
        self.states = <int*>malloc((count + 1)*sizeof(int))
        if self.terms == NULL or self.states == NULL:
            raise MemoryError
        for i in range(count):
            self.terms[i] = &(<ImplicitCore?>cores[i]).terms
            self.states[i] = DONE
        self.singular = np.zeros(count, np.bool_)

    def __dealloc__(self):
        free(self.terms)
        free(self.states)

    cdef void begin(self, Job* job, double dt):
        job.terms, job.states, job.h = self.terms, self.states, dt
        job.singular = <char*>data(self.singular)
        job.bias = NULL


def roll_out(list cores not None, q0, v0, tau, double dt, int kept, int every, q, v, int num_threads):
    """Fill rows of q and v, (count, kept + 1, ...), with the states (count, ...), and those after every so many steps.

    `tau`, (count or 1, number of steps or 1, num_velocities), are the forces. The states become those at the end.
    Returns which samples have no first step, because their mass matrix is singular.
    """
    cdef _Samples samples = _Samples(cores)
    cdef Job job
    cdef Py_ssize_t count = len(cores), nv = v0.shape[1], total = <Py_ssize_t>kept*every, most, at
    cdef PoolTask task = roll_out_blocks if count > 1 else roll_out_part
    samples.begin(&job, dt)
    for at in range(count):
        if not fits_lanes(samples.terms[at]):
            task = roll_out_part
            break
    if count:
        job.num_doubles, job.take_one = count_doubles(samples.terms[0]), take_one
    job.q0, job.v0, job.tau, job.q, job.v = data(q0), data(v0), data(tau), data(q), data(v)
    job.step_stride = nv if tau.shape[1] > 1 else 0
    job.sample_stride = nv*tau.shape[1] if tau.shape[0] > 1 else 0
    job.every, job.num_rows = every, kept + 1
    q[:, 0], v[:, 0] = q0, v0
    at = 0
    while at < count:
        job.begin, job.end = at, min(count, at + SAMPLES_A_CHECK*num_threads)
        most = max(<Py_ssize_t>STEPS_ANEW, <Py_ssize_t>STEPS_A_CHECK*num_threads//(job.end - at))
        most -= most % STEPS_ANEW
        job.first = 0
        while job.first < total:
            job.last = min(total, job.first + most)
            run(&job, task, job.end - at, num_threads)
            job.first = job.last
            if job.last < total or job.end < count:
                PyErr_CheckSignals()
        at = job.end
    return samples.singular


def take(
    list cores not None, q0, v0, tau, bias, double dt, q, v, iterations, residual, at_limit, saturated, is_clipped,
    drive, told, int num_threads
):
    """Fill arrays, (count, number of steps, ...), with the states behind steps, and what the solver did.

    `tau` has a row for each. They are: number of iterations; residual; which position limits push; which servos are at
    their limits; which forces of inputs and servos are clipped; these forces; and what moved, as `tell` says it. From a
    state that is not finite on all are NaN. Returns which samples have no first step, because their mass matrix is
    singular.
    """
    cdef _Samples samples = _Samples(cores)
    cdef Job job
    cdef Py_ssize_t count = len(cores), at = 0
    if not count:
        return samples.singular
    if told.shape[2] != count_told(samples.terms[0]):
        raise ValueError("told")
    samples.begin(&job, dt)
    job.q0, job.v0, job.tau, job.q, job.v = data(q0), data(v0), data(tau), data(q), data(v)
    if bias is not None:
        job.bias = data(bias)
    job.num_rows, job.first, job.last = tau.shape[1], 0, tau.shape[1]
    job.iterations, job.residual = <cnp.npy_intp*>data(iterations), data(residual)
    job.at_limit, job.saturated, job.clipped = <char*>data(at_limit), <char*>data(saturated), <char*>data(is_clipped)
    job.drive, job.told = data(drive), data(told)
    while at < count:
        job.begin, job.end = at, min(count, at + SAMPLES_A_CHECK*num_threads)
        run(&job, take_part, job.end - at, num_threads)
        at = job.end
        if at < count:
            PyErr_CheckSignals()
    return samples.singular
