"""Motion: steps of time, one after the other."""

from libc.math cimport NAN

from mbt._core.algebra.records cimport PIVOT_TOLERANCE, ArticulatedDof, Parameters
from mbt._core.algebra.spatial cimport copy, set_zero
from mbt._core.model.structs cimport Model, Switches
from mbt._core.passes.configuration cimport integrate_positions
from mbt._core.passes.steps cimport add_multiple, calc_step_rate
from mbt._core.quantities cimport algorithms
from mbt._core.scalars cimport PyScalar, T, select_lt


# How a step is made.
cdef enum:
    SEMI_IMPLICIT_EULER = 0
    RUNGE_KUTTA_4 = 1


cdef inline Py_ssize_t count_rollout_work(const Model* model) noexcept nogil:
    """Scalars of working memory behind those of any algorithm."""
    return 2*<Py_ssize_t>model.num_positions + 15*<Py_ssize_t>model.num_velocities


cdef inline void calc_rollout(
    const int* integers, const Model* model, const Switches* switches, const Parameters[T]* p, const T* q, const T* v,
    const T* x, T* memory, T* out
) noexcept nogil:
    """`x` is dt, forces on bodies where there are any, and inputs, of each step or once.

    A state is NaN from where no mass resists a dof.
    """
    cdef int method = integers[0], steps = integers[1], every = integers[2]
    cdef Py_ssize_t nq = model.num_positions
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t stride = 0 if integers[3] else nv
    cdef const T* F_Bo_W = x + 1 if integers[4] else NULL
    cdef const T* tau = x + 1 + (6*model.num_bodies if integers[4] else 0)
    cdef T* q_now = memory + algorithms.count_work(model) + 4*nv
    cdef T* v_now = q_now + nq
    cdef T* work = v_now + nv
    cdef int i
    copy(q, nq, q_now)
    copy(v, nv, v_now)
    for i in range(steps):
        if method == RUNGE_KUTTA_4:
            take_runge_kutta_step(model, switches, p, F_Bo_W, tau, x[0], memory, work, q_now, v_now)
        else:
            take_euler_step(model, switches, p, F_Bo_W, tau, x[0], memory, work, q_now, v_now)
        tau += stride
        if (i + 1) % every == 0:
            copy(q_now, nq, out)
            copy(v_now, nv, out + nq)
            out += nq + nv


cdef inline void take_euler_step(
    const Model* model, const Switches* switches, const Parameters[T]* p, const T* F_Bo_W, const T* tau, T dt,
    T* memory, T* work, T* q, T* v
) noexcept nogil:
    """v1 = v + vdot dt, q1 = exp(v1 dt) q. `work` holds nv + nq scalars."""
    cdef T* vdot = work
    cdef T* q0 = vdot + model.num_velocities
    calc_vdot(model, switches, p, q, v, F_Bo_W, tau, memory, vdot)
    add_multiple(model.num_velocities, v, vdot, dt, v)
    copy(q, model.num_positions, q0)
    integrate_positions(model, q0, v, dt, q)


cdef inline void take_runge_kutta_step(
    const Model* model, const Switches* switches, const Parameters[T]* p, const T* F_Bo_W, const T* tau, T dt,
    T* memory, T* work, T* q, T* v
) noexcept nogil:
    """Of order four: steps u since the beginning, q = exp(u) q0. `work` holds nq + 9 nv scalars."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef T* q0 = work
    cdef T* v0 = q0 + model.num_positions
    cdef T* u = v0 + nv
    cdef T* vdot = u + nv
    cdef T* rate = vdot + nv
    cdef T* sum_rate = rate + nv
    cdef T* sum_vdot = sum_rate + nv
    cdef T half = 0.5*dt
    cdef T part
    cdef int stage
    cdef double weight
    copy(q, model.num_positions, q0)
    copy(v, nv, v0)
    set_zero(u, nv)
    set_zero(sum_rate, nv)
    set_zero(sum_vdot, nv)
    for stage in range(4):
        calc_vdot(model, switches, p, q, v, F_Bo_W, tau, memory, vdot)
        calc_step_rate(model, u, v, rate)
        weight = 1.0 if stage == 0 or stage == 3 else 2.0
        add_multiple(nv, sum_rate, rate, <T>weight, sum_rate)
        add_multiple(nv, sum_vdot, vdot, <T>weight, sum_vdot)
        if stage == 3:
            break
        part = half if stage < 2 else dt
        for_next_stage(model, q0, v0, rate, vdot, part, u, q, v)
    part = (1.0/6.0)*dt
    for_next_stage(model, q0, v0, sum_rate, sum_vdot, part, u, q, v)


cdef inline void for_next_stage(
    const Model* model, const T* q0, const T* v0, const T* rate, const T* vdot, T dt, T* u, T* q, T* v
) noexcept nogil:
    """u = rate dt, q = exp(u) q0, v = v0 + vdot dt."""
    cdef Py_ssize_t i
    for i in range(model.num_velocities):
        u[i] = rate[i]*dt
    integrate_positions(model, q0, u, <T>1.0, q)
    add_multiple(model.num_velocities, v0, vdot, dt, v)


cdef inline void calc_vdot(
    const Model* model, const Switches* switches, const Parameters[T]* p, const T* q, const T* v, const T* F_Bo_W,
    const T* tau, T* memory, T* vdot
) noexcept nogil:
    """Forward dynamics, NaN where no mass resists a dof. Needs 4 nv more scalars of memory."""
    cdef T* total = memory + algorithms.count_work(model) + 2*model.num_velocities
    cdef T* tau_of_bodies = total + model.num_velocities
    cdef const ArticulatedDof[T]* dofs
    cdef int k
    cdef T bad = <T>0.0
    cdef T zero = <T>0.0
    cdef T nan = <T>NAN
    if F_Bo_W != NULL:
        algorithms.run_stateless_generalized_forces(model, p, q, F_Bo_W, memory, tau_of_bodies)
        for k in range(model.num_velocities):
            total[k] = tau[k] + tau_of_bodies[k]
        tau = total
    dofs = algorithms.run_forward_dynamics_with_elements(model, p, switches, q, v, tau, memory, vdot)
    if T is not PyScalar:  # objects without an order have no such test
        for k in range(model.num_velocities):
            if switches.locked == NULL or not switches.locked[k]:
                bad = bad + select_lt(PIVOT_TOLERANCE*dofs[k].scale, dofs[k].D, zero, nan)
        for k in range(model.num_velocities):
            vdot[k] = vdot[k] + bad
