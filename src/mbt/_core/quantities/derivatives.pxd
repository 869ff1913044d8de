"""Derivatives of dynamics for one state of doubles, each compiled once."""

from mbt._core.algebra.records cimport Parameters
from mbt._core.joints.mobilizers cimport PLAIN, orientation_of
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities.call cimport Functions

cdef void register_derivatives_of_doubles(Functions[double]* functions) noexcept
cdef Py_ssize_t inverse_work_size(const Model* model) noexcept nogil
cdef Py_ssize_t forward_work_size(const Model* model) noexcept nogil
cdef void inverse_dynamics_derivatives(
    const Model* model, const Parameters[double]* p, const int* weightless, bint with_elements, const double* q,
    const double* v, const double* vdot, const double* F_Bo_W, double* memory, double* dtau_dq, double* dtau_dv,
    double* M) noexcept nogil
cdef void forces_at_rest_derivatives(
    const Model* model, const Parameters[double]* p, const Switches* switches, const double* q, const double* vdot,
    const double* F_Bo_W, const double* multipliers, double* memory, double* dtau_dq, double* dg_dq) noexcept nogil
cdef void motion_changes(
    const Model* model, const Parameters[double]* p, const double* q, const double* v, double* memory, double* S,
    double* P, double* V, double* p_WO) noexcept nogil
cdef int forward_dynamics_rates(
    const Model* model, const Parameters[double]* p, const Switches* switches, const double* q, const double* v,
    const double* tau, const double* F_Bo_W, double* memory, double** matrices) noexcept nogil
cdef void forward_dynamics_derivatives(
    const Model* model, bint is_dense, double* matrices, double* dvdot_dq, double* dvdot_dv, double* M_inverse
) noexcept nogil
cdef void subtract_from_rates(
    const Model* model, const double* dtau_dq, const double* dtau_dv, double* matrices) noexcept nogil


# Accelerations of one state, and their derivatives by q, v and tau, (nv, nv) each.
cdef struct StepRates:
    const double* vdot
    const double* by_q
    const double* by_v
    const double* by_tau

cdef const double* vdot_in(const Model* model, const double* matrices) noexcept nogil
cdef inline int find_turning(const Model* m, int* starts) noexcept nogil:
    """Find the first of every three velocities that form an angular velocity; return how many there are."""
    cdef int b, count = 0
    for b in range(1, m.num_bodies):
        if orientation_of(m.type[b]) != PLAIN:
            starts[count] = m.v_start[b]
            count += 1
    return count

cdef void turn_by(const double* u, double* R, double* J) noexcept nogil
cdef void differentiate_euler(
    Py_ssize_t nv, const int* turning, int num_turning, double dt, const double* v, const StepRates* rates, double* A,
    double* B) noexcept nogil


# For a stage of Runge-Kutta, (nv, stride) each: M^-1, and the derivatives of generalized forces or, without M^-1, of
# accelerations.
cdef struct StageRates:
    const double* M_inverse
    const double* by_q
    const double* by_v
    const double* by_tau
    Py_ssize_t stride

cdef Py_ssize_t count_rates(const Model* model) noexcept nogil
cdef StageRates stage_rates_in(const Model* model, const double* matrices) noexcept nogil
cdef Py_ssize_t count_runge_kutta_work(Py_ssize_t nv) noexcept nogil
cdef void take_stage(
    Py_ssize_t nv, const int* turning, int num_turning, int number, double dt, const double* v0, const double* vdot,
    double* u, double* v, double* u_end) noexcept nogil
cdef void differentiate_runge_kutta(
    const Model* model, const int* turning, int num_turning, double dt, const double* u, const double* v,
    const double* u_end, const StageRates* rates, const int* ends, double* memory, double* A, double* B
) noexcept nogil
