"""Implicit steps of one state of doubles: what Python calls. One step is in implicit_step.pxd."""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from mbt._core.algebra.records cimport Parameters
from mbt._core.door.compiled_model cimport CompiledModel, derive_numbers
from mbt._core.door.derived_parameters cimport count_derived, has_same_inertia
from mbt._core.door.exact_arrays cimport adopt, data, in1, in2, is_array2, one_row, two_outputs
from mbt._core.engines.context cimport ContextCore
from mbt._core.engines.leading_axes cimport check_elements
from mbt._core.engines.state cimport check_positions
from mbt._core.model.structs cimport Model, ParameterLayout
from mbt._core.quantities cimport kernels
from mbt._core.quantities.call cimport Call
from mbt._core.quantities.derivatives cimport find_turning
from mbt._core.solvers.contact_rows cimport tell_touches
from mbt._core.solvers.implicit_derivatives cimport ChangeJob, differentiate_part, is_differentiable
from mbt._core.solvers.implicit_elements cimport count_element_rows
from mbt._core.solvers.implicit_job cimport DONE, NOT_FINITE, SINGULAR, Field, Job
from mbt._core.solvers.implicit_lanes cimport fits_lanes, roll_out_blocks
from mbt._core.solvers.implicit_parts cimport count_doubles, fill, roll_out_part, take_one, take_part
from mbt._core.solvers.implicit_rows cimport (
    CLOSING, LEAST, LITTLE, NOTHING, PULL, RETURN, RIGID, STICTION, Principal, Problem, StepInput, Terms, count_work,
    find_principal, set_call,
)
from mbt._core.solvers.implicit_step cimport count_told, set_problem
from mbt._core.solvers.implicit_sweeps cimport can_sweep, choose_form
from mbt._core.solvers.implicit_threads cimport PoolTask, run, share
from mbt._core.solvers.shape_contact cimport MOST_SPOTS, ContactCore, count_memory_of_contacts

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

# What each thread does between two checks for Ctrl-C.
cdef enum:
    SAMPLES_A_CHECK = 256
    STEPS_A_CHECK = 1024
    STEPS_ANEW = 16           # see implicit_lanes.pyx
    MOST_FIELDS = 24

# By the names that docs/implicit_steps.md uses; see `convex_problem.hpp`.
CONSTANTS = {
    "rigid": RIGID, "stiction": STICTION, "little": LITTLE, "nothing": NOTHING, "least": LEAST, "closing": CLOSING,
    "return": RETURN, "pull": PULL,
}

# The constants of a core that are integers, and those that change.
cdef frozenset WHOLE = frozenset(("position_of", "servo_dofs", "servo_positions", "angle_positions", "angle_dofs"))
cdef frozenset WRITTEN = frozenset(("q_d", "v_d"))


cdef class ImplicitCore:
    """Implicit steps of one or more samples, with the parameters of a Context.

    Parameters
    ----------
    context : Context
        One state of doubles, with the locks and the other switches.
    count : int
        The number of samples.
    given : ndarray or SampleParameters, shape (n,) or (..., n)
        The parameters.
    own : ndarray, shape (1, n) or (count, n)
        The same without contact stiffness and joint friction, one row for all samples or one each.
    constants : dict of str to ndarray
        ``free``, ``damping``, ``stiffness``, ``lower``, ``upper`` (num_velocities,); the velocity limits ``slowest``,
        ``fastest`` (num_velocities,); ``effort_lower``, ``effort_upper`` (num_velocities,); for limits of angles
        ``angle_signs``, ``angle_limits``; for servos ``kp``, ``kd``, ``q_d``, ``v_d``, ``effort_limits``;
        ``body_forces`` (6 num_bodies,) and ``generalized_forces`` (num_velocities,), or None. Each has one row for all
        samples, or one per sample. Integers, the same for all samples: ``position_of`` (num_velocities,),
        ``angle_positions``, ``angle_dofs``, ``servo_dofs``, ``servo_positions``.
    contacts : ContactCore, optional
        Shapes that touch.
    sweeps : bool, optional
        Whether steps sweep through the tree in place of storing matrices, where they can; by default, where that is
        quicker.
    """
    # No reference to the Contexts: they hold the tree, which may hold this.
    cdef CompiledModel compiled
    cdef ContactCore contacts
    cdef tuple switched                      # keeps the arrays behind the switches alive
    cdef dict arrays                         # and those behind the other pointers
    cdef readonly Py_ssize_t count
    cdef Terms* terms                        # of each sample
    cdef Field[MOST_FIELDS] fields           # that differ between samples
    cdef int num_fields
    cdef Py_ssize_t num_own                  # 1: all samples have the same parameters
    cdef const double* own
    cdef Parameters[double]* parameters      # computed from `own`, as are the next two
    cdef double* derived
    cdef Principal* bodies
    cdef bint beats_lanes                    # whether sweeps are quicker than matrices in lanes

    def __cinit__(
        self, ContextCore context not None, Py_ssize_t count, given, own, dict constants not None,
        ContactCore contacts=None, sweeps=None
    ):
        cdef Model* m = &context.compiled.model
        cdef const ParameterLayout* layout = &context.compiled.layout
        self.compiled, self.contacts, self.count, self.num_own = context.compiled, contacts, count, len(own)
        self.switched = context._locked, context._weightless, context._disabled
        if count < 0 or self.num_own not in (1, count):
            raise ValueError("own: expected 1 row or one per sample")
        self.arrays = {name: None if array is None else np.array(
            array, np.intc if name in WHOLE else np.float64, order="C", copy=name in WRITTEN or None
        ) for name, array in constants.items()}
        self.arrays["own"] = own = in2(own, "own", self.num_own, layout.size)
        self.arrays["elements"] = np.ascontiguousarray(given[..., layout.force_element:layout.constraint])
        self.own = data(own)
        self.terms = <Terms*>malloc((count + 1)*sizeof(Terms))
        self.parameters = <Parameters[double]*>malloc((self.num_own + 1)*sizeof(Parameters[double]))
        self.derived = <double*>malloc((self.num_own*count_derived(m) + 1)*sizeof(double))
        self.bodies = <Principal*>malloc((self.num_own + 1)*m.num_bodies*sizeof(Principal))
        if self.terms == NULL or self.parameters == NULL or self.derived == NULL or self.bodies == NULL:
            raise MemoryError
        self.terms.model, self.terms.switches = m, context.switches
        self.set_first()
        if can_sweep(self.terms):
            depths = np.zeros(m.num_mobods, np.intc)
            self.beats_lanes = choose_form(self.terms, <int*><void*>data(depths))
            if sweeps is not None:
                self.terms.has_sweeps = self.beats_lanes = sweeps
        with nogil:
            self.derive()
            self.set_others()

    def __dealloc__(self):
        free(self.bodies)
        free(self.derived)
        free(self.parameters)
        free(self.terms)

    cdef int set_first(self) except -1:
        """Set the terms of the first sample."""
        cdef Terms* x = self.terms
        cdef const Model* m = x.model
        cdef Py_ssize_t nv = m.num_velocities
        cdef int i
        x.own, x.bodies = self.parameters, self.bodies
        x.num_servos, x.num_angles = <int>len(self.arrays["servo_dofs"]), <int>len(self.arrays["angle_positions"])
        self.show("elements", self.compiled.layout.constraint - self.compiled.layout.force_element, &x.elements)
        self.show("free", nv, &x.free)
        self.show("damping", nv, &x.damping)
        self.show("stiffness", nv, &x.stiffness)
        self.show("lower", nv, &x.lower)
        self.show("upper", nv, &x.upper)
        self.show("slowest", nv, &x.slowest)
        self.show("fastest", nv, &x.fastest)
        self.show("effort_lower", nv, &x.effort_lower)
        self.show("effort_upper", nv, &x.effort_upper)
        self.show("angle_signs", x.num_angles, &x.angle_signs)
        self.show("angle_limits", x.num_angles, &x.angle_limits)
        self.show("kp", x.num_servos, &x.kp)
        self.show("kd", x.num_servos, &x.kd)
        self.show("q_d", x.num_servos, &x.q_d)
        self.show("v_d", x.num_servos, &x.v_d)
        self.show("effort_limits", x.num_servos, &x.effort_limits)
        x.body_forces = x.generalized_forces = NULL
        if self.arrays["body_forces"] is not None:
            self.show("body_forces", 6*m.num_bodies, &x.body_forces)
            self.show("generalized_forces", nv, &x.generalized_forces)
        x.position_of = self.whole_numbers("position_of", nv)
        x.angle_positions = self.whole_numbers("angle_positions", x.num_angles)
        x.angle_dofs = self.whole_numbers("angle_dofs", x.num_angles)
        x.servo_dofs = self.whole_numbers("servo_dofs", x.num_servos)
        x.servo_positions = self.whole_numbers("servo_positions", x.num_servos)
        x.num_points = 0
        for i in range(m.num_force_elements):
            x.num_points += m.force_elements[i].num_points
        x.num_rows = m.num_equations + count_element_rows(m) + x.num_angles
        x.shapes = NULL
        x.num_spots = x.num_contact_work = 0
        if self.contacts is not None:
            x.shapes, x.num_spots = &self.contacts.tables, MOST_SPOTS*self.contacts.tables.scene.num_pairs
            x.num_contact_work = count_memory_of_contacts(x.shapes)
        x.num_work = count_work(m)
        x.has_locks = x.has_sweeps = False
        return 0

    cdef int show(self, str name, Py_ssize_t n, const double** field) except -1:
        """Point a field of the first sample's terms to its n constants."""
        array = self.arrays[name]
        cdef bint is_of_each = array.size != n
        if is_of_each and array.size != n*self.count:
            raise ValueError(name)
        field[0] = data(array)
        if is_of_each:
            self.fields[self.num_fields].offset = <const char*>field - <const char*>self.terms
            self.fields[self.num_fields].stride = n
            self.num_fields += 1
        return 0

    cdef const int* whole_numbers(self, str name, Py_ssize_t n) except? NULL:
        array = self.arrays[name]
        if array.size != n:
            raise ValueError(name)
        return <const int*><const void*>data(array)

    cdef void derive(self) noexcept nogil:
        """Compute what steps need from the parameters."""
        cdef const Model* m = self.terms.model
        cdef const ParameterLayout* layout = &self.compiled.layout
        cdef Parameters[double]* p
        cdef Principal* body = self.bodies
        cdef Py_ssize_t k
        cdef int b
        for k in range(self.num_own):
            p = self.parameters + k
            derive_numbers(m, layout, self.own + k*layout.size, self.derived + k*count_derived(m), p)
            for b in range(m.num_bodies):
                # Most bodies are the same as in the sample before.
                if k and has_same_inertia(p, p - 1, b):
                    body[0] = (body - m.num_bodies)[0]
                else:
                    body[0] = find_principal(p.mass[b], p.p_BoBcm_B + 3*b, p.I_BBo_B + 6*b)
                body += 1

    cdef void set_others(self) noexcept nogil:
        """Set the terms of the other samples from those of the first; and find which samples have locks."""
        cdef const Model* m = self.terms.model
        cdef Terms* x
        cdef const double** field
        cdef Py_ssize_t i
        cdef int k
        for i in range(self.count):
            x = self.terms + i
            if i:
                x[0] = self.terms[0]
                for k in range(self.num_fields):
                    field = <const double**>(<char*>x + self.fields[k].offset)
                    field[0] += i*self.fields[k].stride
                if self.num_own > 1:
                    x.own += i
                    x.bodies += i*m.num_bodies
            x.has_locks = False
            for k in range(m.num_velocities):
                x.has_locks = x.has_locks or x.free[k] == 0.0

    # Called from Python.

    @property
    def has_sweeps(self):
        """Whether steps sweep through the tree in place of storing matrices."""
        return self.terms.has_sweeps

    def set_servo_targets(self, q_d, v_d):
        """Set the targets of the servos, (count, num_servos), from the next step on."""
        cdef Py_ssize_t ns = self.terms.num_servos
        for name, array in (("q_d", q_d), ("v_d", v_d)):
            array = in2(array, name, self.count, ns)
            memcpy(data(self.arrays[name]), data(array), self.count*ns*sizeof(double))

    def step(self, tree, q, v, tau, double dt, out):
        """Return the state one step later; NaN if the present one is not finite.

        Returns None, and leaves `out` as it was, if the arrays are not those of one state, or the mass matrix is
        singular.
        """
        cdef const Model* m = &self.compiled.model
        cdef const Terms* terms = self.terms
        cdef StepInput at
        cdef double* work
        cdef double* to_q
        cdef double* to_v
        q, v, tau = one_row(q, m.num_positions), one_row(v, m.num_velocities), one_row(tau, m.num_velocities)
        if q is None or v is None or tau is None:
            return None
        if m.num_checked:
            check_positions(tree, self.compiled, data(q))
        if m.num_elements_between:
            check_elements(tree, self.compiled, data(q))
        q1, v1 = two_outputs(out, m.num_positions, m.num_velocities)
        # The outputs may be q and v themselves.
        work = kernels.get_work(m, count_doubles(terms) + m.num_positions + m.num_velocities - kernels.work_size(m))
        to_q = work + count_doubles(terms)
        to_v = to_q + m.num_positions
        at.q, at.v, at.tau, at.h = data(q), data(v), data(tau), dt
        at.bias = NULL
        cdef int state = take_one(terms, &at, work, to_q, to_v)
        if state == SINGULAR:
            return None
        if state == NOT_FINITE:
            fill(m, to_q, to_v)
        memcpy(data(q1), to_q, m.num_positions*sizeof(double))
        memcpy(data(v1), to_v, m.num_velocities*sizeof(double))
        return q1, v1

    def roll_out(self, tree, q0, v0, tau, double dt, int every):
        """Return a state and the states after every `every` steps; NaN from the first that is not finite.

        Returns None if the arrays are not those of one state, or the mass matrix is singular.
        """
        cdef const Model* m = &self.compiled.model
        cdef int nq = m.num_positions, nv = m.num_velocities
        cdef Py_ssize_t kept
        q0, v0 = one_row(q0, nq), one_row(v0, nv)
        if q0 is None or v0 is None or type(tau) is not np.ndarray or tau.ndim != 2 or tau.shape[1] != nv:
            return None
        if m.num_checked:
            check_positions(tree, self.compiled, data(q0))
        if m.num_elements_between:
            check_elements(tree, self.compiled, data(q0))
        kept = len(tau)//every
        if kept and tau.strides[0] == 0:
            tau = tau[:1]
        if not is_array2(tau, len(tau), nv):
            return None
        q, v = np.empty((1, kept + 1, nq)), np.empty((1, kept + 1, nv))
        # These become the states at the end.
        ends = [x.copy().reshape(1, len(x)) for x in (q0, v0)]
        singular = roll_out(self, *ends, tau.reshape(1, len(tau), nv), dt, kept, every, q, v, 1)
        return None if singular[0] else (q[0], v[0])

    def differentiate_one(self, tree, q, v, tau, double dt):
        """Return A and B of `step_derivatives`, or None where `differentiate` or Python must take over."""
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t nv = m.num_velocities
        q, v, tau = one_row(q, m.num_positions), one_row(v, nv), one_row(tau, nv)
        if q is None or v is None or tau is None:
            return None
        if m.num_checked:
            check_positions(tree, self.compiled, data(q))
        A, B, singular = self.differentiate(q[None], v[None], tau[None], dt, 1) or (None, None, (True,))
        return None if singular[0] else (A[0], B[0])

    def differentiate(self, q, v, tau, double dt, int num_threads):
        """Return A, (count, 2 nv, 2 nv), and B, (count, 2 nv, nv), of `step_derivatives`; NaN where there is no step.

        Also return which samples have no step because their mass matrix or a position is singular. Returns None where
        terms act whose derivatives are not computed here.
        """
        cdef const Model* m = &self.compiled.model
        cdef ChangeJob job
        cdef Py_ssize_t nv = m.num_velocities, count = len(q)
        if self.count != 1 or not is_differentiable(self.terms):
            return None
        q, v, tau = in2(q, "q", count, m.num_positions), in2(v, "v", count, nv), in2(tau, "tau", count, nv)
        A, B = np.empty((count, 2*nv, 2*nv)), np.empty((count, 2*nv, nv))
        turning, singular = np.zeros(m.num_bodies, np.intc), np.zeros(count, np.bool_)
        job.turning = <int*><void*>data(turning)
        job.num_turning = find_turning(m, <int*>job.turning)
        job.terms, job.h, job.q, job.v, job.tau = self.terms, dt, data(q), data(v), data(tau)
        job.A, job.B, job.singular, job.end = data(A), data(B), <char*>data(singular), 0
        while job.end < count:
            job.begin, job.end = job.end, min(count, job.end + SAMPLES_A_CHECK*num_threads)
            share(differentiate_part, &job, &job.num_parts, min(<Py_ssize_t>num_threads, job.end - job.begin))
            PyErr_CheckSignals()
        return A, B, singular

    def touch(self, Py_ssize_t sample, q, v, v1, along, lengths):
        """Return how shapes pushed a sample in steps of these lengths, (T,), from q and v to v1, arrays of T rows.

        A row of twelve numbers for each point that pushed: the step, the pair, the point, the normal, the force on the
        second body, the gap; and for each step the power of these forces if the tree moves with `along`. A state that
        is not finite has no points.
        """
        if not 0 <= sample < self.count:
            raise IndexError(sample)
        cdef const Terms* x = self.terms + sample
        cdef const Model* m = x.model
        cdef int n = m.num_velocities
        cdef Py_ssize_t i, count = len(q)
        cdef int state
        cdef Problem y
        cdef Call[double] c
        cdef double* row
        cdef StepInput at
        q, v = in2(q, "q", count, m.num_positions), in2(v, "v", count, n)
        v1, along = in2(v1, "v1", count, n), in2(along, "along", count, n)
        lengths = in1(lengths, "lengths", count)
        nothing, power, free_v = np.zeros(n), np.zeros(count), np.zeros(n)
        rows = np.empty((x.num_spots, 12))
        cdef double* to_power = data(power)
        at.tau = data(nothing)
        at.bias = NULL
        cdef const double* h = data(lengths)
        found = [rows[:0]]
        for i in range(count):
            # Python code ran in between: get the memory anew.
            set_call(x, kernels.get_work(m, count_doubles(x) - kernels.work_size(m)), &c)
            at.q, at.v, at.h = data(q) + i*m.num_positions, data(v) + i*n, h[i]
            state = set_problem(x, &at, &c, &y, False, data(free_v))
            if state != DONE or y.num_points == x.num_points:
                continue
            row = tell_touches(x, i, data(v1) + i*n, data(along) + i*n, &y, data(rows), to_power + i)
            found.append(rows[:(row - data(rows))//12].copy())
        return np.concatenate(found), power


# Many steps of many samples ----------------------------------------------------------------------------------------

cdef class _Samples:
    """The terms of some samples, and the state of each."""
    cdef ImplicitCore core
    cdef const Terms** terms
    cdef int* states
    cdef object singular

    def __cinit__(self, ImplicitCore core not None, Py_ssize_t count):
        cdef Py_ssize_t i
        if core.count not in (1, count):
            raise ValueError("core: expected 1 sample or one per state")
        self.core = core
        self.terms = <const Terms**>malloc((count + 1)*sizeof(Terms*))
        self.states = <int*>malloc((count + 1)*sizeof(int))
        if self.terms == NULL or self.states == NULL:
            raise MemoryError
        for i in range(count):
            # Lanes read terms that all samples share only once.
            self.terms[i] = core.terms + (i if core.num_own > 1 or core.num_fields else 0)
            self.states[i] = DONE
        self.singular = np.zeros(count, np.bool_)

    def __dealloc__(self):
        free(self.terms)
        free(self.states)

    cdef void begin(self, Job* job, double dt):
        job.terms, job.states, job.h = self.terms, self.states, dt
        job.singular = <char*>data(self.singular)
        job.bias = NULL


def roll_out(
    ImplicitCore core not None, q0, v0, tau, double dt, int kept, int every, q, v, int num_threads
):
    """Fill q and v, (count, kept + 1, ...), with the states q0 and v0, (count, ...), and those after every n-th step.

    `every` is n; `tau`, (count or 1, number of steps or 1, num_velocities), are the forces. q0 and v0 become the states
    at the end. Returns which samples have no first step, because their mass matrix is singular.
    """
    cdef Py_ssize_t count = len(q0), nv = v0.shape[1], total = <Py_ssize_t>kept*every, most, at
    cdef _Samples samples = _Samples(core, count)
    cdef Job job
    cdef bint in_lanes = count > 1 and not core.beats_lanes and fits_lanes(core.terms)
    cdef PoolTask task = roll_out_blocks if in_lanes else roll_out_part
    samples.begin(&job, dt)
    job.num_doubles, job.take_one = count_doubles(core.terms), take_one
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
    ImplicitCore core not None, q0, v0, tau, bias, double dt, q, v, iterations, residual, at_limit, saturated,
    is_clipped, drive, told, int num_threads
):
    """Fill arrays, (count, number of steps, ...), with the states after the steps, and how the solver found them.

    `tau` has a row for each step. The arrays after the states: number of iterations; residual; which position limits
    push; which servos are at their limits; which forces of inputs and servos are clipped; these forces; and what `tell`
    writes. From a state that is not finite on, states are NaN. Returns which samples have no first step, because their
    mass matrix is singular.
    """
    cdef Py_ssize_t count = len(q0), at = 0
    cdef _Samples samples = _Samples(core, count)
    cdef Job job
    if told.shape[2] != count_told(core.terms):
        raise ValueError("told: the last axis has the wrong length")
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
