"""Time steps, entirely in compiled code.

Each function returns None where that is not possible: elements in Python, other scalars, unusual arguments, more
steps than one call should take. `mbt.motion` has a slower way for all of these, and raises the errors.
"""

cimport numpy as cnp
from libc.math cimport isfinite, isnan
from libc.string cimport memcpy

from mbt._core.algebra.records cimport Parameters
from mbt._core.api.stateless cimport compiled_of
from mbt._core.api.tree_energy cimport TreeCore
from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.door.exact_arrays cimport adopt, data, is_array1, is_array2, new2, overlap, two_outputs
from mbt._core.engines.context cimport ContextCore, check_elements_at
from mbt._core.engines.lane_engine cimport roll_out_batch
from mbt._core.engines.leading_axes cimport Batch, check_elements
from mbt._core.engines.section cimport Section
from mbt._core.engines.state cimport check_positions
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities cimport kernels
from mbt._core.quantities.table cimport BACKWARDS, MAX_INTEGERS, RUNGE_KUTTA_4


from mbt._core.above import above
from mbt._core.api.stateless import forward_dynamics
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

# Limit of the accelerations of bodies that one call computes for one state: some hundredths of a second.
cdef Py_ssize_t WORK_A_CALL = 250_000


cdef bint is_plain(tree, CompiledModel compiled, dt):
    return (
        compiled is not None and isinstance(dt, float) and isfinite(dt)
        and (<TreeCore>tree)._user_force_elements is None
    )


cdef int way_of(int method, double dt):
    return method | (BACKWARDS if dt < 0.0 else 0)


cdef int check_state(tree, CompiledModel compiled, const double* q) except -1:
    if compiled.model.num_checked:
        check_positions(tree, compiled, q)
    if compiled.model.num_elements_between:
        check_elements(tree, compiled, q)
    return 0


# One step -------------------------------------------------------------------------------------------------------

def step(tree, q, v, tau, dt, int method, out):
    """Return the states one step later."""
    cdef CompiledModel compiled = compiled_of(tree)
    if not is_plain(tree, compiled, dt):
        return None
    cdef const Model* m = &compiled.model
    cdef int[<int>MAX_INTEGERS] integers = [way_of(method, dt), 1, 1, 1, 0]
    cdef Py_ssize_t nq = m.num_positions
    cdef Py_ssize_t nv = m.num_velocities
    cdef Batch batch
    if not (is_array1(q, nq) and is_array1(v, nv) and is_array1(tau, nv)):
        batch = Batch(["q", "v", "tau"], [q, v, tau], [(nq,), (nv,), (nv,)])
        if batch.shape:
            q1, v1 = batch.outputs(out, ((nq,), (nv,)))
            roll_out_batch(batch, compiled, integers, dt, q1, v1, 1, 0)
            return q1, v1
        q, v, tau = batch.arrays
    return step_of_state(tree, compiled, integers, q, v, tau, dt, out)


cdef tuple step_of_state(tree, CompiledModel compiled, const int* integers, q, v, tau, double dt, out):
    """Of one state in exact arrays."""
    cdef const Model* m = &compiled.model
    cdef Py_ssize_t nq = m.num_positions
    cdef Py_ssize_t nv = m.num_velocities
    cdef Py_ssize_t num_work = kernels.rollout_work_size(m)
    cdef double* memory
    cdef double* x
    check_state(tree, compiled, data(q))
    q1, v1 = two_outputs(out, nq, nv)
    memory = kernels.get_work(m, num_work + 1 + nq + 2*nv)
    x = memory + kernels.work_size(m) + num_work
    x[0] = dt
    memcpy(x + 1, data(tau), nv*sizeof(double))
    kernels.rollout(
        integers, m, &m.switches, &compiled.defaults.parameters, data(q), data(v), x, memory, x + 1 + nv
    )
    if out is not None and nv and isnan(x[1 + nv + nq]):
        # An error must leave `out` as it is.
        q1[...], v1[...] = step_of_state(tree, compiled, integers, q, v, tau, dt, None)
        return q1, v1
    memcpy(data(q1), x + 1 + nv, nq*sizeof(double))
    memcpy(data(v1), x + 1 + nv + nq, nv*sizeof(double))
    if nv and isnan(data(v1)[0]):
        # The state has no accelerations: raise the error that says why.
        forward_dynamics(tree, q, v, tau)
    return q1, v1


# Many steps -----------------------------------------------------------------------------------------------------

cdef struct Inputs:
    # Forces that act in the steps of one state. NULL: none.
    const Switches* switches
    const double* tau
    Py_ssize_t tau_of_step       # stride; zero if all steps have one input
    const double* F_Bo_W         # (num_bodies, 6)
    const double* held           # (nv,), in all steps
    const double* actuation


cdef Py_ssize_t count_kept(tau, const Model* m, int method, every):
    """Number of states to keep of a rollout; 0 if one call should not make it."""
    cdef Py_ssize_t kept, stages = 4 if method & RUNGE_KUTTA_4 else 1
    cdef int axis, ndim
    if not (
        cnp.PyArray_CheckExact(tau) and cnp.PyArray_TYPE(tau) == cnp.NPY_DOUBLE and cnp.PyArray_NDIM(tau) >= 2
        and type(every) is int and 0 < every < WORK_A_CALL
    ):
        return 0
    ndim = cnp.PyArray_NDIM(tau)
    if cnp.PyArray_DIM(tau, ndim - 1) != m.num_velocities:
        return 0
    for axis in range(ndim - 2):
        if cnp.PyArray_STRIDE(tau, axis) == 0 and cnp.PyArray_DIM(tau, axis) > 1:
            # Broadcast over samples: a copy would take memory.
            return 0
    kept = cnp.PyArray_DIM(tau, ndim - 2)//<Py_ssize_t>every
    return kept if kept <= WORK_A_CALL//(m.num_bodies*stages*<Py_ssize_t>every) else 0


cdef object without_repeats(tau):
    """Forces (..., T, nv), or (..., 1, nv) where all steps have the same."""
    cdef int axis = cnp.PyArray_NDIM(tau) - 2
    if cnp.PyArray_STRIDE(tau, axis) == 0 and cnp.PyArray_DIM(tau, axis) > 1:
        return tau[..., :1, :]
    return tau


def roll_out(tree, q0, v0, tau, dt, int method, every, out):
    """Return the initial states, and those after each `every` steps."""
    cdef CompiledModel compiled = compiled_of(tree)
    if not is_plain(tree, compiled, dt):
        return None
    cdef const Model* m = &compiled.model
    cdef Py_ssize_t nq = m.num_positions
    cdef Py_ssize_t nv = m.num_velocities
    cdef Py_ssize_t kept = count_kept(tau, m, method, every)
    cdef int[<int>MAX_INTEGERS] integers = [way_of(method, dt), <int>(kept*every) if kept else 0, 0, 0, 0]
    cdef Inputs inputs
    cdef Batch batch
    if kept == 0:
        return None
    tau = without_repeats(tau)
    if not (is_array1(q0, nq) and is_array1(v0, nv) and is_array2(tau, tau.shape[0], nv)):
        batch = Batch(["q0", "v0", "tau"], [q0, v0, tau], [(nq,), (nv,), tau.shape[tau.ndim - 2:]])
        if batch.shape:
            integers[2] = every
            q, v = batch.outputs(out, ((kept + 1, nq), (kept + 1, nv)))
            begin_rows(batch, 0, kept + 1, data(q))
            begin_rows(batch, 1, kept + 1, data(v))
            roll_out_batch(batch, compiled, integers, dt, q, v, kept + 1, 1)
            return q, v
        q0, v0, tau = batch.arrays
    inputs.switches = &m.switches
    inputs.F_Bo_W = inputs.held = inputs.actuation = NULL
    check_state(tree, compiled, data(q0))
    return roll_out_state(
        m, &compiled.defaults.parameters, data(q0), data(v0), dt, &inputs, tau, integers[0], kept, every,
        out, (q0, v0)
    )


cdef int begin_rows(Batch batch, int k, Py_ssize_t num_rows, double* to) noexcept:
    """Fill the first row of each sample with an operand."""
    cdef Py_ssize_t i, n = batch.operands[k].size
    for i in range(batch.count):
        memcpy(to + num_rows*n*i, batch.operands[k].data + batch.operands[k].stride*i, n*sizeof(double))
    return 0


def roll_out_context(ContextCore context not None, tau, dt, int method, every, out):
    """Return the states of a rollout from a Context of one state of doubles."""
    cdef Section alone
    alone.enter(context)
    cdef CompiledModel compiled = context.compiled
    if context._engine is not None or not is_plain(context.tree, compiled, dt):
        return None
    cdef const Model* m = &compiled.model
    cdef Py_ssize_t kept = count_kept(tau, m, method, every)
    cdef Switches switches = context.switches
    cdef Derived derived
    cdef Inputs inputs
    if kept == 0 or cnp.PyArray_NDIM(tau) != 2:
        return None
    context.check_user()
    tau = without_repeats(tau)
    if not is_array2(tau, tau.shape[0], m.num_velocities):
        return None
    derived = context.derived()
    if m.num_elements_between:
        check_elements_at(context.tree, m, &derived.parameters, context.poses().X_WB_data, -1)
    inputs.switches = &switches
    inputs.F_Bo_W = inputs.held = NULL
    inputs.actuation = <const double*>context._actuation.data
    forces = None
    if context._applied_forces is not None:
        forces = (<TreeCore>context.tree).arrays_of(m, context._applied_forces, "context.applied_forces")
        inputs.F_Bo_W, inputs.held = data(forces[0]), data(forces[1])
    return roll_out_state(
        m, &derived.parameters, context.q_data, context.v_data, dt, &inputs, tau, way_of(method, dt), kept,
        every, out, () if forces is None else forces
    )


cdef object roll_out_state(
    const Model* m, const Parameters[double]* p, const double* q0, const double* v0, double dt, Inputs* inputs, tau,
    int way, Py_ssize_t kept, Py_ssize_t every, out, tuple others
):
    """The states of a rollout; None if one has no accelerations, or if arrays share memory."""
    cdef Py_ssize_t nq = m.num_positions
    cdef Py_ssize_t nv = m.num_velocities
    cdef Py_ssize_t num_work = kernels.rollout_work_size(m)
    cdef int[<int>MAX_INTEGERS] integers = [way, 1, 1, 1, inputs.F_Bo_W != NULL]
    cdef Py_ssize_t num_forces = 6*m.num_bodies if integers[4] else 0
    cdef double* memory
    cdef double* x
    cdef double* input
    cdef double* state
    cdef double* to_q
    cdef double* to_v
    cdef Py_ssize_t i, k
    if out is None:
        q, v = new2(kept + 1, nq), new2(kept + 1, nv)
    else:
        q, v = above.check_outputs(out, ((kept + 1, nq), (kept + 1, nv)))
        for array in (tau,) + others:
            if overlap(array, q) or overlap(array, v):
                return None
    inputs.tau = data(tau)
    inputs.tau_of_step = nv if tau.shape[0] > 1 else 0
    to_q, to_v = data(q), data(v)
    memory = kernels.get_work(m, num_work + 1 + num_forces + nq + 2*nv)
    x = memory + kernels.work_size(m) + num_work
    input = x + 1 + num_forces
    state = input + nv
    x[0] = dt
    if num_forces:
        memcpy(x + 1, inputs.F_Bo_W, num_forces*sizeof(double))
    memcpy(state, q0, nq*sizeof(double))
    memcpy(state + nq, v0, nv*sizeof(double))
    for i in range(kept*every):
        if i == 0 or inputs.tau_of_step:
            memcpy(input, inputs.tau + inputs.tau_of_step*i, nv*sizeof(double))
            if inputs.actuation != NULL:
                for k in range(m.num_actuators):
                    input[m.actuator_dof[k]] += inputs.actuation[k]
            if inputs.held != NULL:
                for k in range(nv):
                    input[k] += inputs.held[k]
        kernels.rollout(integers, m, inputs.switches, p, state, state + nq, x, memory, state)
        if (i + 1) % every:
            continue
        if i + 1 == every:
            if nv and isnan(state[nq]):
                return None
            memcpy(to_q, q0, nq*sizeof(double))
            memcpy(to_v, v0, nv*sizeof(double))
        to_q += nq
        to_v += nv
        memcpy(to_q, state, nq*sizeof(double))
        memcpy(to_v, state + nq, nv*sizeof(double))
    return q, v
