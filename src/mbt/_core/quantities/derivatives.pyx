from mbt._core.algebra.records cimport PIVOT_TOLERANCE, Parameters
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities cimport derivative_algorithms as algorithms
from mbt._core.quantities.call cimport Functions
from mbt._core.quantities.dynamics_derivatives cimport register_derivatives

cdef extern from "algebra/step_rows.hpp" namespace "MBT_NS" nogil:
    cdef cppclass Turning:
        const int* starts
        int count
    cdef cppclass Rates:
        const double* vdot
        const double* by[3]
    cdef cppclass Stages:
        Stages(Py_ssize_t n, double* memory)
        void begin(Py_ssize_t n, const double* v)
    Py_ssize_t count_of_stages "MBT_NS::Stages::count"(Py_ssize_t n)
    Py_ssize_t count_work_of_stages "MBT_NS::Stages::count_work"(Py_ssize_t n)
    void differentiate_euler_step "MBT_NS::differentiate_euler"(
        Py_ssize_t n, const Turning& turning, double dt, const double* v, const Rates& rates, double* A, double* B)
    void take_one_stage "MBT_NS::take_stage"(
        Py_ssize_t n, bint is_first, const Turning& turning, double weight, double h, const double* v0,
        const Rates& rates, double* work, double* memory)
    void end_all_stages "MBT_NS::end_stages"(
        Py_ssize_t n, const Turning& turning, double dt, double* work, double* memory, double* A, double* B)


cdef void register_derivatives_of_doubles(Functions[double]* functions) noexcept:
    register_derivatives[double](functions)


cdef Py_ssize_t inverse_work_size(const Model* model) noexcept nogil:
    return algorithms.count_derivative_work(model)


cdef Py_ssize_t forward_work_size(const Model* model) noexcept nogil:
    return algorithms.count_forward_derivative_work(model)


cdef void inverse_dynamics_derivatives(
    const Model* model, const Parameters[double]* p, const int* weightless, bint with_elements, const double* q,
    const double* v, const double* vdot, const double* F_Bo_W, double* memory, double* dtau_dq, double* dtau_dv,
    double* M
) noexcept nogil:
    algorithms.run_inverse_dynamics_derivatives[double](
        model, p, weightless, with_elements, q, v, vdot, F_Bo_W, memory, dtau_dq, dtau_dv, M
    )


cdef int forward_dynamics_rates(
    const Model* model, const Parameters[double]* p, const Switches* switches, const double* q, const double* v,
    const double* tau, const double* F_Bo_W, double* memory, double** matrices
) noexcept nogil:
    """The matrices in `memory` that `forward_dynamics_derivatives` multiplies: first dtau_dq and dtau_dv.

    Returns -1, or the first dof that no mass resists.
    """
    matrices[0] = algorithms.run_mass_matrix_inverse_with_rates[double](
        model, p, switches, q, v, tau, F_Bo_W, NULL, memory
    )
    return find_massless_dof(model, switches, matrices[0])


cdef int find_massless_dof(const Model* model, const Switches* switches, const double* matrices) noexcept nogil:
    cdef const double* D = algorithms.pivots_of[double](model, matrices)
    cdef int k
    for k in range(model.num_velocities):
        # NaN is not singular: it propagates.
        if D[k] <= PIVOT_TOLERANCE*D[model.num_velocities + k] and not (switches.locked != NULL and switches.locked[k]):
            return k
    return -1


cdef void forward_dynamics_derivatives(
    const Model* model, double* matrices, double* dvdot_dq, double* dvdot_dv, double* M_inverse
) noexcept nogil:
    algorithms.multiply_by_mass_matrix_inverse[double](model, matrices, dvdot_dq, dvdot_dv, M_inverse)


cdef void subtract_from_rates(
    const Model* model, const double* dtau_dq, const double* dtau_dv, double* matrices
) noexcept nogil:
    """Take the derivatives of further forces, (nv, nv), off dtau."""
    cdef Py_ssize_t i, j, nv = model.num_velocities, stride = algorithms.row_stride(model)
    for i in range(nv):
        for j in range(nv):
            matrices[stride*i + j] -= dtau_dq[nv*i + j]
            matrices[stride*(nv + i) + j] -= dtau_dv[nv*i + j]


cdef const double* vdot_in(const Model* model, const double* matrices) noexcept nogil:
    """The accelerations, behind the matrices of `forward_dynamics_rates`."""
    return algorithms.vdot_of[double](model, matrices)


# Steps of time --------------------------------------------------------------------------------------------------

cdef inline Rates rates_of(const StepRates* rates) noexcept nogil:
    cdef Rates r
    r.vdot = rates.vdot
    r.by[0] = rates.by_q
    r.by[1] = rates.by_v
    r.by[2] = rates.by_tau
    return r


cdef inline Turning turning_of(const int* starts, int count) noexcept nogil:
    cdef Turning turning
    turning.starts, turning.count = starts, count
    return turning


cdef void differentiate_euler(
    Py_ssize_t nv, const int* turning, int num_turning, double dt, const double* v, const StepRates* rates, double* A,
    double* B
) noexcept nogil:
    """A (2 nv, 2 nv) and B (2 nv, nv) of a semi-implicit Euler step from v."""
    differentiate_euler_step(nv, turning_of(turning, num_turning), dt, v, rates_of(rates), A, B)


cdef Py_ssize_t count_stages(Py_ssize_t nv) noexcept nogil:
    """Doubles that a state on its way through the stages of Runge-Kutta has; it begins with u and v."""
    return count_of_stages(nv)


cdef Py_ssize_t count_stage_work(Py_ssize_t nv) noexcept nogil:
    return count_work_of_stages(nv)


cdef void begin_stages(Py_ssize_t nv, const double* v, double* stages) noexcept nogil:
    Stages(nv, stages).begin(nv, v)


cdef void take_stage(
    Py_ssize_t nv, bint is_first, const int* turning, int num_turning, double weight, double h, const double* v0,
    const StepRates* rates, double* work, double* stages
) noexcept nogil:
    """One stage of this weight, with its rates; to u and v of the next one, `h` after the beginning."""
    take_one_stage(
        nv, is_first, turning_of(turning, num_turning), weight, h, v0, rates_of(rates), work, stages
    )


cdef void end_stages(
    Py_ssize_t nv, const int* turning, int num_turning, double dt, double* work, double* stages, double* A, double* B
) noexcept nogil:
    """A and B, as of a semi-implicit Euler step."""
    end_all_stages(nv, turning_of(turning, num_turning), dt, work, stages, A, B)
