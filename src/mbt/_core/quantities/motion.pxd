"""Motion: a sequence of time steps."""

from libc.math cimport NAN

from mbt._core.algebra.records cimport PIVOT_TOLERANCE, ArticulatedDof, Parameters
from mbt._core.algebra.spatial cimport copy, set_zero
from mbt._core.model.structs cimport Model, Switches
from mbt._core.passes.configuration cimport integrate_positions
from mbt._core.passes.steps cimport add_multiple, calc_step_rate
from mbt._core.quantities cimport algorithms
from mbt._core.quantities.call cimport Call, Functions
from mbt._core.quantities.dynamics cimport count_memory
from mbt._core.quantities.names cimport *
from mbt._core.quantities.table cimport BACKWARDS, RUNGE_KUTTA_4
from mbt._core.scalars cimport PyScalar, T, select_lt


cdef inline void register_motion(Functions[T]* functions) noexcept:
    functions.set(ROLLOUT, calc_rollout[T], count_rollout_memory)


cdef inline Py_ssize_t count_rollout_memory(const int* integers, const Model* model) noexcept nogil:
    return count_memory(integers, model) + count_rollout_work(model)


cdef inline Py_ssize_t count_rollout_work(const Model* model) noexcept nogil:
    """Scalars of working memory after those of any algorithm: for `take_step`, and a state with its input."""
    return 2*<Py_ssize_t>model.num_positions + 12*<Py_ssize_t>model.num_velocities


cdef inline void calc_rollout(Call[T]* c) noexcept nogil:
    """The input is dt, forces on bodies if there are any, and inputs, for each step or once.

    From a step in which a dof is massless, states are NaN.
    """
    cdef int method = c.integers[0], steps = c.integers[1], every = c.integers[2]
    cdef bint held = c.integers[3], given = c.integers[4]
    cdef Py_ssize_t nq = c.model.num_positions
    cdef Py_ssize_t nv = c.model.num_velocities
    cdef Py_ssize_t stride = 0 if held else nv
    cdef const T* F_Bo_W = <const T*>(c.x + 1) if given else <const T*>NULL
    cdef const T* tau = c.x + 1 + (6*c.model.num_bodies if given else 0)
    cdef T* q = c.memory + algorithms.count_work(c.model) + nq + 10*nv
    cdef T* v = q + nq
    cdef T* out = c.out
    cdef int i
    copy(c.q, nq, q)
    copy(c.v, nv, v)
    for i in range(steps):
        take_step(method, c.model, c.switches, c.p, F_Bo_W, tau, c.x[0], c.memory, q, v)
        tau += stride
        if (i + 1) % every == 0:
            copy(q, nq, out)
            copy(v, nv, out + nq)
            out += nq + nv


cdef inline void take_step(
    # Topology:
    int method,
    const Model* model,
    # Parameters:
    const Switches* switches,
    const Parameters[T]* p,
    # In:
    const T* F_Bo_W,  # (num_bodies, 6)  [N m, N]  or NULL
    const T* tau,     # (nv,)            [N m, N]
    T dt,             # [s]
    # Work:
    T* memory,        # (count_work(model) + nq + 10 nv,)
    # Out:
    T* q,             # (nq,)            [rad, m]  in: the initial ones
    T* v,             # (nv,)            [rad/s, m/s]  likewise
) noexcept nogil:
    """One step of the state in place; u is the displacement since its beginning, q = exp(u) q0.

    Semi-implicit Euler: v1 = v0 + vdot dt, u = v1 dt. Or Runge-Kutta of order four in u and v. Constraint errors decay
    in the direction of dt. Needs nq + 10 nv more scalars of memory than any algorithm. In NumPy:
    tests/support/textbook.py, step_of_runge_kutta.
    """
    cdef Py_ssize_t nv = model.num_velocities
    cdef T* u = memory + algorithms.count_work(model) + 4*nv
    cdef T* v0 = u + nv
    cdef T* vdot = v0 + nv
    cdef T* rate = vdot + nv
    cdef T* sums = rate + nv          # sums of rates, and of vdot
    cdef T* q0 = sums + 2*nv
    cdef T reach = dt
    cdef Switches stabilized = switches[0]
    cdef bint is_runge_kutta = method & RUNGE_KUTTA_4
    cdef int stage, num_stages = 4 if is_runge_kutta else 1
    cdef double weight
    stabilized.stabilized = -1 if method & BACKWARDS else 1
    copy(q, model.num_positions, q0)
    copy(v, nv, v0)
    set_zero(u, nv)
    set_zero(sums, 2*nv)
    for stage in range(num_stages):
        calc_vdot(model, &stabilized, p, q, v, F_Bo_W, tau, memory, vdot)
        if is_runge_kutta:
            calc_step_rate(model, u, v, rate)
            # (1, 2, 2, 1)/6, at (0, 1/2, 1/2, 1) of the step.
            weight = 1.0 if stage == 0 or stage == 3 else 2.0
            add_multiple(nv, sums, rate, <T>weight, sums)
            add_multiple(nv, sums + nv, vdot, <T>weight, sums + nv)
            if stage < 2:
                reach = 0.5*dt
            elif stage == 2:
                reach = dt
            else:
                reach = (1.0/6.0)*dt
                copy(sums, nv, rate)
                copy(sums + nv, nv, vdot)
        else:
            add_multiple(nv, v0, vdot, dt, rate)
        move(model, q0, v0, rate, vdot, reach, u, q, v)


cdef inline void move(
    # Topology:
    const Model* model,
    # In:
    const T* q0,    # (nq,)  [rad, m]
    const T* v0,    # (nv,)  [rad/s, m/s]
    const T* rate,  # (nv,)  [rad/s, m/s]
    const T* vdot,  # (nv,)  [rad/s^2, m/s^2]
    T dt,           # [s]
    # Out:
    T* u,           # (nv,)  [rad, m]
    T* q,           # (nq,)  [rad, m]
    T* v,           # (nv,)  [rad/s, m/s]
) noexcept nogil:
    """u = rate dt, q = exp(u) q0, v = v0 + vdot dt."""
    cdef Py_ssize_t i
    for i in range(model.num_velocities):
        u[i] = rate[i]*dt
    integrate_positions(model, q0, u, <T>1.0, q)
    add_multiple(model.num_velocities, v0, vdot, dt, v)


cdef inline void calc_vdot(
    # Topology:
    const Model* model,
    # Parameters:
    const Switches* switches,
    const Parameters[T]* p,
    # In:
    const T* q,       # (nq,)            [rad, m]
    const T* v,       # (nv,)            [rad/s, m/s]
    const T* F_Bo_W,  # (num_bodies, 6)  [N m, N]  or NULL
    const T* tau,     # (nv,)            [N m, N]
    # Work:
    T* memory,        # (count_work(model) + 4 nv,)
    # Out:
    T* vdot,          # (nv,)            [rad/s^2, m/s^2]
) noexcept nogil:
    """Forward dynamics; NaN if a dof is massless. Needs 4 nv more scalars of memory."""
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
    if T is not PyScalar:  # objects have no order, and so no such test
        for k in range(model.num_velocities):
            if switches.locked == NULL or not switches.locked[k]:
                bad = bad + select_lt(PIVOT_TOLERANCE*dofs[k].scale, dofs[k].D, zero, nan)
        for k in range(model.num_velocities):
            vdot[k] = vdot[k] + bad
