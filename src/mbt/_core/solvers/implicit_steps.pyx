"""Implicit steps of one state of doubles: what Python calls. One step is in implicit_step.pxd."""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport NAN, fabs, fmax, fmin
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.door.exact_arrays cimport adopt, data, in1, in2, is_array1, new1, new2
from mbt._core.engines.context cimport ContextCore, check_positions
from mbt._core.engines.leading_axes cimport check_elements
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport kernels
from mbt._core.solvers.implicit_rows cimport (
    Principal, Problem, Terms, add_drives, count_scratch, count_work, find_principals, limit_impulse,
)
from mbt._core.solvers.implicit_step cimport DONE, NOT_FINITE, SINGULAR, count_told, take_step, tell

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

# So many steps are made between looks for Ctrl-C.
cdef enum:
    STEPS_A_CHECK = 1024


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
        of int; ``effort_lower``, ``effort_upper`` (num_velocities,); of servos ``servo_dofs``, ``servo_positions`` of
        int, ``kp``, ``kd``, ``q_d``, ``v_d``, ``effort_limits``; ``body_forces`` (num_bodies, 6) and
        ``generalized_forces`` (num_velocities,), or None.
    """
    # Not the Contexts: they hold the tree, which may hold this.
    cdef Derived own_parameters, given_parameters
    cdef CompiledModel compiled
    cdef tuple switched                      # keeps what the switches show alive
    cdef dict arrays                         # and the other pointers
    cdef Terms terms
    cdef Principal* bodies

    def __cinit__(
        self, ContextCore context not None, Derived given not None, Derived own not None, dict constants not None
    ):
        cdef Model* m = &context.compiled.model
        cdef Terms* x = &self.terms
        cdef Py_ssize_t nv = m.num_velocities
        cdef int i
        self.compiled = context.compiled
        self.switched = context._locked, context._weightless, context._disabled
        self.given_parameters, self.own_parameters = given, own
        self.arrays = {name: None if array is None else np.ascontiguousarray(
            array, np.intc if name in ("position_of", "servo_dofs", "servo_positions") else np.float64
        ) for name, array in constants.items()}
        x.model, x.switches = m, context.switches
        x.given, x.own = &given.parameters, &own.parameters
        x.num_servos = <int>len(self.arrays["servo_dofs"])
        x.free, x.damping = self.numbers("free", nv), self.numbers("damping", nv)
        x.stiffness = self.numbers("stiffness", nv)
        x.lower, x.upper = self.numbers("lower", nv), self.numbers("upper", nv)
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

    cdef int move(
        self, const double* q, const double* v, const double* tau, const double* bias, double h, double* q1, double* v1,
        Problem* y, int* iterations, double* residual, bint with_carried
    ) except -1 nogil:
        """One step; see `take_step`."""
        cdef const Terms* x = &self.terms
        cdef double* work = kernels.get_work(x.model, x.num_work + count_scratch(x) - kernels.work_size(x.model))
        return take_step(x, work, q, v, tau, bias, h, q1, v1, y, iterations, residual, with_carried)

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
        cdef Problem x
        cdef int iterations
        cdef double residual
        if not (is_array1(q, m.num_positions) and is_array1(v, m.num_velocities) and is_array1(tau, m.num_velocities)):
            return None
        if m.num_checked:
            check_positions(tree, self.compiled, data(q))
        if m.num_elements_between:
            check_elements(tree, self.compiled, data(q))
        q1, v1 = new1(m.num_positions), new1(m.num_velocities)
        cdef int state = self.move(
            data(q), data(v), data(tau), NULL, dt, data(q1), data(v1), &x, &iterations, &residual, False
        )
        if state == SINGULAR:
            return None
        if state == NOT_FINITE:
            self.fill(data(q1), data(v1))
        return q1, v1

    def take(
        self, q0, v0, tau, bias, double dt, q, v, iterations, residual, at_limit, saturated, is_clipped, drive, told
    ):
        """Fill arrays with the states behind steps with the forces `tau`, (T, num_velocities), and what the solver did.

        All have T rows: number of iterations; residual; which position limits push; which servos are at their limits;
        which forces of inputs and servos are clipped; these forces; and what moved, as `tell` says it. False where the
        mass matrix of the first state is singular. From a state that is not finite on all are NaN.
        """
        cdef const Model* m = &self.compiled.model
        cdef int nq = m.num_positions
        cdef int n = m.num_velocities
        cdef int ns = self.terms.num_servos
        cdef Py_ssize_t i, num_told = count_told(&self.terms), count = len(tau)
        cdef int k, state = DONE
        cdef Problem x
        q0, v0 = in1(q0, "q0", nq), in1(v0, "v0", n)
        tau, q, v = in2(tau, "tau", count, n), in2(q, "q", count, nq), in2(v, "v", count, n)
        cdef const double* here_q = data(q0)
        cdef const double* here_v = data(v0)
        cdef const double* force = data(tau)
        cdef const double* forces = NULL
        cdef double* to_q = data(q)
        cdef double* to_v = data(v)
        cdef double* to_residual = data(residual)
        cdef double* to_drive = data(drive)
        told = in2(told, "told", count, num_told)
        cdef double* to_told = data(told)
        cdef cnp.npy_intp* to_iterations = <cnp.npy_intp*>data(iterations)
        cdef char* limits = <char*>data(at_limit)
        cdef char* full = <char*>data(saturated)
        cdef char* clipped = <char*>data(is_clipped)
        cdef int number = 0
        if bias is not None:
            bias = in1(bias, "bias", n)
            forces = data(bias)
        with nogil:
            for i in range(count):
                to_residual[i] = 0.0
                number = 0
                if state == DONE:
                    state = self.move(here_q, here_v, force, forces, dt, to_q, to_v, &x, &number, to_residual + i, True)
                to_iterations[i] = number
                if state == DONE:
                    add_drives(x, to_v, x.total, NULL)
                    for k in range(n):
                        limits[k] = limit_impulse(x, k, to_v[k]) != 0.0
                        clipped[k] = x.total[k] < x.effort_lower[k] or x.total[k] > x.effort_upper[k]
                        to_drive[k] = fmax(fmin(x.total[k], x.effort_upper[k]), x.effort_lower[k])
                    tell(&self.terms, &x, here_v, to_v, to_told)
                    for k in range(ns):
                        full[k] = fabs(x.effort[k] - x.effort_slope[k]*to_v[x.dofs[k]]) > x.effort_limit[k]
                else:
                    self.fill(to_q, to_v)
                    memcpy(to_drive, force, n*sizeof(double))
                    memset(limits, 0, n)
                    memset(clipped, 0, n)
                    memset(full, 0, ns)
                    for k in range(<int>num_told):
                        to_told[k] = NAN
                here_q, here_v = to_q, to_v
                force, to_q, to_v, to_drive = force + n, to_q + nq, to_v + n, to_drive + n
                limits, clipped, full, to_told = limits + n, clipped + n, full + ns, to_told + num_told
        return not (state == SINGULAR and count == 1)

    def roll_out(self, q0, v0, tau, double dt, int kept, int every, q, v):
        """Fill rows (kept + 1, ...) of q and v with the first state, and those after every so many steps.

        `tau` has a row of each step, or one for all. False where the mass matrix of the first state is singular.
        """
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t nq = m.num_positions
        cdef Py_ssize_t nv = m.num_velocities
        cdef Py_ssize_t stride = nv if len(tau) > 1 else 0
        cdef const double* force = data(tau)
        cdef double* to_q = data(q)
        cdef double* to_v = data(v)
        cdef Problem x
        cdef int iterations, state = DONE
        cdef double residual
        cdef Py_ssize_t i
        here = new2(2, nq + nv)
        cdef double* a = data(here)
        cdef double* b = a + nq + nv
        memcpy(a, data(q0), nq*sizeof(double))
        memcpy(a + nq, data(v0), nv*sizeof(double))
        memcpy(to_q, a, nq*sizeof(double))
        memcpy(to_v, a + nq, nv*sizeof(double))
        with nogil:
            for i in range(<Py_ssize_t>kept*every):
                if i % STEPS_A_CHECK == STEPS_A_CHECK - 1:
                    with gil:
                        PyErr_CheckSignals()
                if state == DONE:
                    state = self.move(a, a + nq, force, NULL, dt, b, b + nq, &x, &iterations, &residual, False)
                    if state == DONE:
                        a, b = b, a
                    else:
                        if state == SINGULAR and i == 0:
                            break
                        self.fill(a, a + nq)
                force += stride
                if (i + 1) % every == 0:
                    to_q += nq
                    to_v += nv
                    memcpy(to_q, a, nq*sizeof(double))
                    memcpy(to_v, a + nq, nv*sizeof(double))
        return not (state == SINGULAR and i == 0)

    cdef void fill(self, double* q, double* v) noexcept nogil:
        """A state that does not exist."""
        cdef int i
        for i in range(self.compiled.model.num_positions):
            q[i] = NAN
        for i in range(self.compiled.model.num_velocities):
            v[i] = NAN
