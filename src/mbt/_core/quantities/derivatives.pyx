from libc.string cimport memcpy

from mbt._core.algebra.records cimport PIVOT_TOLERANCE, ConstraintRates, Parameters
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities cimport derivative_algorithms as algorithms
from mbt._core.quantities cimport kernels


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


cdef int constrained_forward_dynamics_derivatives(
    const Model* model, const Parameters[double]* p, const Switches* switches, const double* q, const double* v,
    const double* tau, const double* F_Bo_W, const double* further, double* memory, double* out
) noexcept nogil:
    """Of accelerations and multipliers by q, v and tau; F_Bo_W and the generalized forces behind it may be NULL.

    Returns -1, or a dof that no mass resists.
    """
    cdef ConstraintRates[double] rates
    cdef double* vdot = algorithms.memory_of_constraints[double](model, memory, &rates)
    cdef Py_ssize_t k, nv = model.num_velocities
    cdef double* total = rates.axes
    cdef int singular
    memcpy(rates.tau, tau, nv*sizeof(double))
    if F_Bo_W != NULL:
        kernels.stateless_generalized_forces(model, p, q, F_Bo_W, memory, total)
        for k in range(nv):
            rates.tau[k] += further[k]
            total[k] += rates.tau[k]
    else:
        memcpy(total, tau, nv*sizeof(double))
    singular = kernels.forward_dynamics_with_elements(model, p, switches, q, v, total, memory, vdot)
    if singular >= 0:
        return singular
    algorithms.keep_factor[double](model, memory, &rates)
    return find_massless_dof(model, switches, algorithms.run_constrained_forward_dynamics_derivatives[double](
        model, p, switches, q, v, F_Bo_W, &rates, memory, out
    ))
