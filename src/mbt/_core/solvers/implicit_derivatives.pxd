"""Derivatives of the velocity after an implicit step with respect to the state before it and the forces.

By the implicit function theorem, dv1 = -H^-1 dg: at the minimum the gradient g(v1; q, v, tau) of the convex function is
zero. With dual numbers, and for every kind of term: mbt.motion.implicit_derivatives.
"""

from libc.math cimport NAN, isfinite
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from mbt._core.engines.leading_axes cimport is_singular
from mbt._core.forces.force_elements cimport DOOR_HINGE, POINT_CONTACT
from mbt._core.model.structs cimport ForceElement, Model
from mbt._core.quantities cimport derivatives
from mbt._core.quantities.call cimport Call
from mbt._core.quantities.derivatives cimport StepRates
from mbt._core.solvers.implicit_changes cimport (
    Work, change_dofs, change_forces, change_momenta, count_change_work, set_work,
)
from mbt._core.solvers.implicit_contact_changes cimport change_constraints, change_touches
from mbt._core.solvers.implicit_elements cimport count_element_rows
from mbt._core.solvers.implicit_job cimport DONE, SINGULAR
from mbt._core.solvers.implicit_parts cimport count_doubles
from mbt._core.solvers.implicit_rows cimport Problem, StepInput, Terms, row_impulse, set_call, solve_inner, solve_outer
from mbt._core.solvers.implicit_step cimport StepResult, take_step

cdef extern from "solvers/convex_step.hpp" namespace "mbt_convex" nogil:
    bint linearize(Problem& x, double* v)


cdef inline bint is_differentiable(const Terms* x) noexcept nogil:
    """Whether forces act only on bodies, on single dofs, in constraints, and at points on planes of World."""
    cdef const Model* m = x.model
    cdef const ForceElement* e
    cdef int i
    if x.num_angles or count_element_rows(m) or x.shapes != NULL or x.has_locks:
        return False
    if x.switches.weightless != NULL or x.body_forces != NULL:
        return False
    for i in range(m.num_velocities):
        if isfinite(x.slowest[i]) or isfinite(x.fastest[i]):
            return False
    for i in range(m.num_force_elements):
        e = &m.force_elements[i]
        if e.type == DOOR_HINGE or (e.type == POINT_CONTACT and m.mobod[m.frame_node[e.a]]):
            return False
    return True


cdef inline int differentiate_step(
    # Parameters:
    const Terms* x,
    # In:
    const StepInput* at,
    # Work:
    double* work,            # (as `take_step`,)
    double* memory,          # (count_change_work,)
    # Out:
    StepResult* out,
    double* by_q,            # (nv, nv)  [rad/s^2, m/s^2] per [rad, m]
    double* by_v,            # (nv, nv)  [rad/s^2, m/s^2] per [rad/s, m/s]
    double* by_tau,          # (nv, nv)  [rad/s^2, m/s^2] per [N m, N]
) noexcept nogil:
    """Differentiate (v1 - v)/h."""
    cdef Call[double] c
    cdef Problem y
    cdef Work w
    cdef int n = x.model.num_velocities
    cdef int i, j
    cdef int state = take_step(x, at, work, &y, False, out)
    if state != DONE:
        return state
    set_call(x, work, &c)
    c.q, c.v = at.q, at.v
    w.terms, w.at, w.y, w.c = x, at, &y, &c
    set_work(&w, memory)
    memcpy(w.v, out.v, n*sizeof(double))
    if not linearize(y, w.v):
        return SINGULAR
    change_dofs(&w)
    change_momenta(&w)
    change_touches(&w)
    for i in range(x.model.num_equations):
        w.multipliers[i] = row_impulse(y, i, y.u[i])
    # The change of J' F while F stays fixed in World.
    change_forces(&w, w.v, w.F, w.multipliers)
    for i in range(n):
        for j in range(n):
            w.changes.by_q[<Py_ssize_t>n*j + i] += w.dM[<Py_ssize_t>n*i + j]
    change_constraints(&w)
    solve_changes(&y, w.changes.by_q, 0.0, by_q)
    solve_changes(&y, w.changes.by_v, 1.0, by_v)
    solve_changes(&y, w.by_tau, 0.0, by_tau)
    return state


cdef inline void solve_changes(const Problem* y, double* D, double less, double* by) noexcept nogil:
    """Compute the derivatives of v1, minus `less` times the identity, over h, from rows of D, which are overwritten."""
    cdef Py_ssize_t n = y.n
    cdef Py_ssize_t i, j
    for j in range(n):
        solve_outer(<int>n, y.H, y.columns, D + n*j)
        solve_inner(<int>n, y.H, y.columns, D + n*j)
        for i in range(n):
            by[n*i + j] = -D[n*j + i]/y.h
        by[(n + 1)*j] -= less/y.h


# Steps of many samples ----------------------------------------------------------------------------------------------

cdef struct ChangeJob:
    # What threads share.
    const Terms* terms
    double h
    Py_ssize_t begin
    Py_ssize_t end
    int num_parts
    const double* q
    const double* v
    const double* tau
    const int* turning         # the first of every three velocities that form an angular velocity
    int num_turning
    double* A                  # (count, 2 nv, 2 nv)
    double* B                  # (count, 2 nv, nv)
    char* singular             # 1 where there is no step


cdef inline int differentiate_part(const void* shared, int part) noexcept nogil:
    """Differentiate every `num_parts`-th sample, from number `part` on."""
    cdef const ChangeJob* job = <const ChangeJob*>shared
    cdef const Model* m = job.terms.model
    cdef Py_ssize_t nq = m.num_positions, n = m.num_velocities, k
    cdef Terms terms = job.terms[0]
    terms.has_sweeps = False  # derivatives need the matrices
    cdef Py_ssize_t num_work = count_doubles(&terms)
    cdef double* work = <double*>malloc(
        (num_work + count_change_work(job.terms) + nq + 2*n + 3*n*n)*sizeof(double)
    )
    cdef double* by = work + num_work + count_change_work(job.terms)
    cdef double* vdot = by + 3*n*n
    cdef double* A
    cdef double* B
    cdef Py_ssize_t i = job.begin + part
    cdef StepInput at
    cdef StepResult out
    cdef StepRates rates
    cdef int state
    if work == NULL:
        return 1
    out.v = vdot + n
    out.q = out.v + n
    rates.vdot, rates.by_q, rates.by_v, rates.by_tau = vdot, by, by + n*n, by + 2*n*n
    at.bias = NULL
    at.h = job.h
    while i < job.end:
        at.q, at.v, at.tau = job.q + nq*i, job.v + n*i, job.tau + n*i
        A, B = job.A + 4*n*n*i, job.B + 2*n*n*i
        state = SINGULAR
        if not is_singular(m, at.q):
            state = differentiate_step(
                &terms, &at, work, work + num_work, &out, by, by + n*n, by + 2*n*n
            )
        if state == DONE:
            for k in range(n):
                vdot[k] = (out.v[k] - at.v[k])/job.h
            derivatives.differentiate_euler(n, job.turning, job.num_turning, job.h, at.v, &rates, A, B)
        else:
            job.singular[i] = state == SINGULAR
            for k in range(4*n*n):
                A[k] = NAN
            for k in range(2*n*n):
                B[k] = NAN
        i += job.num_parts
    free(work)
    return 0
