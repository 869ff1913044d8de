"""Derivatives of time steps, entirely in compiled code.

Functions return None where that is not possible, as in `steps.pyx`.
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport NAN
from libc.string cimport memcpy, memset

from mbt._core.algebra.records cimport Parameters
from mbt._core.api.stateless cimport compiled_of
from mbt._core.api.steps cimport check_state, is_plain
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.exact_arrays cimport adopt, data, is_array1, new1, new2, option
from mbt._core.engines.lane_engine cimport run_batch
from mbt._core.engines.leading_axes cimport Batch, is_singular
from mbt._core.model.structs cimport Model
from mbt._core.passes cimport configuration
from mbt._core.quantities cimport derivatives, kernels
from mbt._core.quantities.derivatives cimport StageRates, StepRates, find_turning
from mbt._core.quantities.table cimport (
    CONSTRAINED_FORWARD_DYNAMICS, CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES, FORWARD_DYNAMICS_DERIVATIVES,
    INVERSE_DYNAMICS_DERIVATIVES, MASS_MATRIX_INVERSE, MAX_INTEGERS,
)

import numpy as np

from mbt._core.above import above
from mbt._core.api.configuration import integrate_positions
from mbt._core.api.stateless_constraints import constrained_forward_dynamics
from mbt._core.api.stateless_derivatives import constrained_forward_dynamics_derivatives
from mbt._core.engines.lane_engine import get_num_threads
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

# Runge-Kutta: up to this many velocities, lanes compute the matrices of many samples faster.
cdef Py_ssize_t LANES_PAY = 20
# Entries of a batch computed at a time, which fit into the caches.
cdef Py_ssize_t NUMBERS_AT_A_TIME = 64*1024


cdef class _Rates:
    """Accelerations of states, and their derivatives, in memory that is reused.

    The derivatives are those of accelerations by q, v and tau; or, with `of_forces`, those of generalized forces by q
    and v, and M^-1.
    """
    cdef object tree
    cdef CompiledModel compiled
    cdef int stabilized
    cdef bint needs_vdot, of_forces
    cdef tuple by                    # three arrays (count, nv, nv), with more rows for constraints
    cdef object vdot

    def __cinit__(self, tree, CompiledModel compiled, int stabilized, bint needs_vdot, bint of_forces, tuple lead):
        cdef Py_ssize_t nv = compiled.model.num_velocities
        cdef Py_ssize_t rows = nv + compiled.model.num_equations
        self.tree, self.compiled, self.stabilized, self.needs_vdot = tree, compiled, stabilized, needs_vdot
        self.of_forces = of_forces
        if lead:
            self.by = tuple([np.empty(lead + (rows, nv)) for _ in range(3)])
            self.vdot = np.empty(lead + (rows,))
        else:
            self.by = new2(nv, nv), new2(nv, nv), new2(nv, nv)
            self.vdot = new1(nv)

    cdef int find(self, q, v, tau, tuple lead) except -1:
        """Compute them at several states, or at one: an error says why it has none."""
        cdef int[<int>MAX_INTEGERS] integers = [0, self.stabilized, 0, 0, 0]
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t nq = m.num_positions
        cdef Py_ssize_t nv = m.num_velocities
        cdef bint has_constraints = m.num_constraints > 0
        cdef Batch batch
        cdef double* matrices
        cdef int singular
        if lead:
            batch = Batch(["q", "v", "tau"], [q, v, tau], [(nq,), (nv,), (nv,)])
            if self.needs_vdot:
                # Without constraints, the result consists of accelerations only.
                run_batch(batch, self.compiled, CONSTRAINED_FORWARD_DYNAMICS, integers, (self.vdot[:lead[0]],))
            if self.of_forces:
                self.find_forces(q, v, lead)
                return 0
            run_batch(
                batch, self.compiled,
                CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES if has_constraints else FORWARD_DYNAMICS_DERIVATIVES,
                integers, tuple([array[:lead[0]] for array in self.by])
            )
            return 0
        if has_constraints:
            stabilize = option(self.stabilized)
            self.vdot = constrained_forward_dynamics(self.tree, q, v, tau, stabilize=stabilize)[0]
            self.by = constrained_forward_dynamics_derivatives(self.tree, q, v, tau, stabilize=stabilize)
            return 0
        check_state(self.tree, self.compiled, data(q))
        singular = derivatives.forward_dynamics_rates(
            m, &self.compiled.defaults.parameters, &m.switches, data(q), data(v), data(tau), NULL,
            kernels.get_work(m, derivatives.forward_work_size(m)), &matrices
        )
        if singular >= 0:
            above.raise_massless_dof(self.tree, singular)
        memcpy(data(self.vdot), derivatives.vdot_in(m, matrices), nv*sizeof(double))
        derivatives.forward_dynamics_derivatives(
            m, False, matrices, data(self.by[0]), data(self.by[1]), data(self.by[2])
        )
        return 0

    cdef int find_forces(self, q, v, tuple lead) except -1:
        """Compute the derivatives of generalized forces of some samples at their accelerations, and M^-1."""
        cdef int[<int>MAX_INTEGERS] integers = [0, 0, 0, 0, 0]
        cdef Py_ssize_t nq = self.compiled.model.num_positions
        cdef Py_ssize_t nv = self.compiled.model.num_velocities
        by_q, by_v, M_inverse = [array[:lead[0]] for array in self.by]
        run_batch(
            Batch(["q", "v", "vdot"], [q, v, self.vdot[:lead[0]]], [(nq,), (nv,), (nv,)]), self.compiled,
            INVERSE_DYNAMICS_DERIVATIVES, integers, (by_q, by_v, M_inverse)
        )
        # Overwrites M, which is not needed.
        run_batch(
            Batch(["q", "v"], [q, v], [(nq,), (nv,)]), self.compiled, MASS_MATRIX_INVERSE, integers, (M_inverse,)
        )
        return 0

    cdef StepRates of_sample(self, Py_ssize_t i):
        cdef Py_ssize_t nv = self.compiled.model.num_velocities
        cdef Py_ssize_t rows = nv + self.compiled.model.num_equations
        cdef StepRates rates
        rates.vdot = data(self.vdot) + rows*i
        rates.by_q = data(self.by[0]) + rows*nv*i
        rates.by_v = data(self.by[1]) + rows*nv*i
        rates.by_tau = data(self.by[2]) + rows*nv*i
        return rates

    cdef StageRates of_stage(self, Py_ssize_t i):
        cdef StepRates step = self.of_sample(i)
        cdef StageRates rates
        rates.by_q, rates.by_v, rates.stride = step.by_q, step.by_v, self.compiled.model.num_velocities
        rates.by_tau = rates.M_inverse = NULL
        if self.of_forces:
            rates.M_inverse = step.by_tau
        else:
            rates.by_tau = step.by_tau
        return rates


def step_derivatives(tree, q, v, tau, dt, int method, out):
    """Return A and B, the derivatives of the states one step later with respect to these states and to the forces."""
    cdef CompiledModel compiled = compiled_of(tree)
    if not is_plain(tree, compiled, dt):
        return None
    cdef const Model* m = &compiled.model
    cdef Py_ssize_t nq = m.num_positions
    cdef Py_ssize_t nv = m.num_velocities
    cdef Py_ssize_t most, first, end
    cdef Batch batch
    cdef _Steps steps
    if (
        out is None and method == 0 and not m.num_constraints and is_array1(q, nq) and is_array1(v, nv)
        and is_array1(tau, nv)
    ):
        return differentiate_euler_step(tree, compiled, q, v, tau, dt)
    batch = Batch(["q", "v", "tau"], [q, v, tau], [(nq,), (nv,), (nv,)])
    A, B = batch.outputs(out, ((2*nv, 2*nv), (2*nv, nv)))
    if not batch.shape:
        q, v, tau = batch.arrays
        if method and not m.num_constraints:
            differentiate_runge_kutta_step(tree, compiled, q, v, tau, dt, data(A), data(B))
            return A, B
        steps = _Steps(tree, compiled, dt, method, ())
        steps.differentiate(q, v, tau, data(A), data(B), ())
        return A, B
    if method and nv > LANES_PAY and not m.num_constraints and not m.num_elements_between:
        differentiate_runge_kutta_steps(batch, compiled, dt, data(A), data(B))
        return A, B
    # Whole registers of samples, twice as many if a step needs less memory.
    most = 8 if method else 16
    most = most*max(1, NUMBERS_AT_A_TIME//(most*(13 if method else 3)*nv*nv + 1))
    if get_num_threads() > 1:
        most = max(most, <Py_ssize_t>(64*get_num_threads()))
    most = min(most, batch.count)
    steps = _Steps(tree, compiled, dt, method, (most,))
    for first in range(0, batch.count, max(<Py_ssize_t>1, most)):
        end = min(first + most, batch.count)
        q, v, tau = [rows_of(batch, k, first, end) for k in range(3)]
        steps.differentiate(
            q, v, tau, data(A) + 4*nv*nv*first, data(B) + 2*nv*nv*first, (end - first,)
        )
        PyErr_CheckSignals()
    return A, B


cdef tuple differentiate_euler_step(tree, CompiledModel compiled, q, v, tau, double dt):
    """Differentiate a step of one state in exact arrays, without constraints."""
    cdef const Model* m = &compiled.model
    cdef Py_ssize_t nv = m.num_velocities
    cdef Py_ssize_t num_work = derivatives.forward_work_size(m)
    cdef double* memory
    cdef double* by_q
    cdef double* matrices
    cdef int* turning
    cdef int singular, count
    cdef StepRates rates
    check_state(tree, compiled, data(q))
    A, B = new2(2*nv, 2*nv), new2(2*nv, nv)
    memory = kernels.get_work(m, num_work + 3*nv*nv + nv)
    by_q = memory + kernels.work_size(m) + num_work
    turning = <int*>(by_q + 3*nv*nv)
    singular = derivatives.forward_dynamics_rates(
        m, &compiled.defaults.parameters, &m.switches, data(q), data(v), data(tau), NULL, memory, &matrices
    )
    if singular >= 0:
        above.raise_massless_dof(tree, singular)
    rates.vdot = derivatives.vdot_in(m, matrices)
    rates.by_q, rates.by_v, rates.by_tau = by_q, by_q + nv*nv, by_q + 2*nv*nv
    derivatives.forward_dynamics_derivatives(m, False, matrices, by_q, by_q + nv*nv, by_q + 2*nv*nv)
    count = find_turning(m, turning)
    derivatives.differentiate_euler(nv, turning, count, dt, data(v), &rates, data(A), data(B))
    return A, B


cdef Py_ssize_t count_stage_memory(const Model* m) noexcept nogil:
    """Number of doubles that `differentiate_stages` needs after those of any algorithm and of the rates."""
    cdef Py_ssize_t nv = m.num_velocities
    return derivatives.count_runge_kutta_work(nv) + 4*derivatives.count_rates(m) + m.num_positions + 13*nv


cdef int differentiate_stages(
    # Topology:
    const Model* m,
    # Parameters:
    const Parameters[double]* p,
    double dt,
    # In:
    const double* q,    # (nq,)  [rad, m]
    const double* v,    # (nv,)  [rad/s, m/s]
    const double* tau,  # (nv,)  [N m, N]
    # Work:
    double* memory,     # (as forward_dynamics_rates, and count_stage_memory,)
    # Out:
    double* A,          # (2 nv, 2 nv)  [SI]
    double* B,          # (2 nv, nv)    [SI]
) noexcept nogil:
    """Fill A and B of one Runge-Kutta step, without constraints; return -1, or the first massless dof."""
    cdef Py_ssize_t nv = m.num_velocities
    cdef Py_ssize_t num_rates = derivatives.count_rates(m)
    # Each stage keeps its matrices to the end.
    cdef double* kept = memory + kernels.work_size(m) + derivatives.forward_work_size(m)
    cdef double* work = kept + 4*num_rates
    cdef double* u = work + derivatives.count_runge_kutta_work(nv)
    cdef double* v_of = u + 5*nv
    cdef double* u_end = v_of + 5*nv
    cdef double* q_of = u_end + nv
    cdef int* turning = <int*>(q_of + m.num_positions)
    cdef int* ends = <int*>(q_of + m.num_positions + nv)
    cdef double* matrices
    cdef const double* q_there = q
    cdef int i, singular, num_turning = find_turning(m, turning)
    cdef StageRates[4] rates
    memset(u, 0, 11*nv*sizeof(double))
    memcpy(v_of, v, nv*sizeof(double))
    for i in range(4):
        singular = derivatives.forward_dynamics_rates(
            m, p, &m.switches, q_there, v_of + nv*i, tau, NULL, memory, &matrices
        )
        if singular >= 0:
            return singular
        memcpy(kept + num_rates*i, matrices, num_rates*sizeof(double))
        rates[i] = derivatives.stage_rates_in(m, kept + num_rates*i)
        derivatives.take_stage(nv, turning, num_turning, i, dt, v, derivatives.vdot_in(m, matrices), u, v_of, u_end)
        if i < 3:
            configuration.integrate_positions[double](m, q, u + nv*(i + 1), 1.0, q_of)
            q_there = q_of
    derivatives.differentiate_runge_kutta(
        m, turning, num_turning, dt, u, v_of, u_end, rates, find_ends(m, ends), work, A, B
    )
    return -1


cdef int differentiate_runge_kutta_step(
    tree, CompiledModel compiled, q, v, tau, double dt, double* A, double* B
) except -1:
    """Differentiate a step of one state in exact arrays, without constraints."""
    cdef const Model* m = &compiled.model
    cdef int singular
    check_state(tree, compiled, data(q))
    singular = differentiate_stages(
        m, &compiled.defaults.parameters, dt, data(q), data(v), data(tau),
        kernels.get_work(m, derivatives.forward_work_size(m) + count_stage_memory(m)), A, B
    )
    if singular >= 0:
        above.raise_massless_dof(tree, singular)
    return 0


cdef int differentiate_runge_kutta_steps(
    Batch batch, CompiledModel compiled, double dt, double* A, double* B
) except -1:
    """Differentiate steps of some samples, one after the other; NaN where one has no accelerations."""
    cdef const Model* m = &compiled.model
    cdef Py_ssize_t nv = m.num_velocities
    cdef Py_ssize_t i, k
    cdef const double* q
    for i in range(batch.count):
        q = batch.operands[0].data + batch.operands[0].stride*i
        if is_singular(m, q) or differentiate_stages(
            m, &compiled.defaults.parameters, dt, q, batch.operands[1].data + batch.operands[1].stride*i,
            batch.operands[2].data + batch.operands[2].stride*i,
            kernels.get_work(m, derivatives.forward_work_size(m) + count_stage_memory(m)), A + 4*nv*nv*i, B + 2*nv*nv*i
        ) >= 0:
            for k in range(4*nv*nv):
                A[4*nv*nv*i + k] = NAN
            for k in range(2*nv*nv):
                B[2*nv*nv*i + k] = NAN
        PyErr_CheckSignals()
    return 0


cdef const int* find_ends(const Model* m, int* ends) noexcept nogil:
    """For each dof, the end of the dofs that follow it in its branch: no others interact. NULL: all may."""
    cdef int k
    if m.num_elements_between:
        return NULL
    for k in range(m.num_velocities):
        ends[k] = m.joints[m.dof_mobod[k]].v_end
    return ends


cdef object rows_of(Batch batch, int k, Py_ssize_t first, Py_ssize_t end):
    """The rows of an operand for some samples, or its one row for all."""
    cdef Py_ssize_t n = batch.operands[k].size
    if batch.operands[k].stride:
        return batch.arrays[k].reshape(batch.count, n)[first:end]
    return batch.arrays[k].reshape(n)


cdef class _Steps:
    """Differentiates steps, of one state or of some samples at a time."""
    cdef list rates                  # of each stage
    cdef CompiledModel compiled
    cdef double dt
    cdef int method, num_turning
    cdef object turning, ends, work, places

    def __cinit__(self, tree, CompiledModel compiled, double dt, int method, tuple lead):
        cdef const Model* m = &compiled.model
        cdef Py_ssize_t nv = m.num_velocities
        self.compiled, self.dt, self.method = compiled, dt, method
        self.turning = np.empty(nv + 1, dtype=np.intc)
        self.num_turning = find_turning(m, <int*>cnp.PyArray_DATA(self.turning))
        self.rates = [
            _Rates(
                tree, compiled, -1 if dt < 0.0 else 1, method or self.num_turning,
                method and lead and not m.num_constraints, lead
            )
            for _ in range(4 if method else 1)
        ]
        if method:
            self.ends = np.empty(nv + 1, dtype=np.intc)
            self.work = np.empty(derivatives.count_runge_kutta_work(nv))
            # u and v of the stages, one more of each, and the final u.
            self.places = np.empty(lead + (11, nv))

    cdef int differentiate(self, q, v, tau, double* A, double* B, tuple lead) except -1:
        cdef const int* turning = <const int*>cnp.PyArray_DATA(self.turning)
        cdef Py_ssize_t nv = self.compiled.model.num_velocities
        cdef Py_ssize_t i, count = lead[0] if lead else 1
        cdef Py_ssize_t v_of_sample = nv if cnp.PyArray_NDIM(v) > 1 else 0
        cdef StepRates rates
        cdef _Rates of_step
        if self.method:
            return self.differentiate_stages(q, v, tau, A, B, lead)
        of_step = self.rates[0]
        of_step.find(q, v, tau, lead)
        for i in range(count):
            rates = of_step.of_sample(i)
            derivatives.differentiate_euler(
                nv, turning, self.num_turning, self.dt, data(v) + v_of_sample*i, &rates, A + 4*nv*nv*i, B + 2*nv*nv*i
            )
        return 0

    cdef int differentiate_stages(self, q, v, tau, double* A, double* B, tuple lead) except -1:
        cdef const int* turning = <const int*>cnp.PyArray_DATA(self.turning)
        cdef const int* ends = NULL
        cdef Py_ssize_t nv = self.compiled.model.num_velocities
        cdef Py_ssize_t i, count = lead[0] if lead else 1
        cdef Py_ssize_t v_of_sample = nv if cnp.PyArray_NDIM(v) > 1 else 0
        cdef StageRates[4] rates
        cdef _Rates of_stage
        cdef double* u
        cdef int stage
        places = self.places[:count] if lead else self.places
        u = data(places)
        memset(u, 0, 11*nv*count*sizeof(double))
        for i in range(count):
            memcpy(u + nv*(11*i + 5), data(v) + v_of_sample*i, nv*sizeof(double))
        q_there, v_there = q, v
        for stage in range(4):
            of_stage = self.rates[stage]
            of_stage.find(q_there, v_there, tau, lead)
            for i in range(count):
                derivatives.take_stage(
                    nv, turning, self.num_turning, stage, self.dt, data(v) + v_of_sample*i, of_stage.of_sample(i).vdot,
                    u + 11*nv*i, u + nv*(11*i + 5), u + nv*(11*i + 10)
                )
            if stage < 3:
                q_there = integrate_positions(of_stage.tree, q, places[..., stage + 1, :], 1.0)
                v_there = np.ascontiguousarray(places[..., stage + 6, :])
        if of_stage.of_forces:
            ends = find_ends(&self.compiled.model, <int*>cnp.PyArray_DATA(self.ends))
        for i in range(count):
            for stage in range(4):
                of_stage = self.rates[stage]
                rates[stage] = of_stage.of_stage(i)
            derivatives.differentiate_runge_kutta(
                &self.compiled.model, turning, self.num_turning, self.dt, u + 11*nv*i, u + nv*(11*i + 5),
                u + nv*(11*i + 10), rates, ends, data(self.work), A + 4*nv*nv*i, B + 2*nv*nv*i
            )
        return 0
