from mbt._core.algebra.records cimport PIVOT_TOLERANCE, Parameters
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities cimport derivative_algorithms as algorithms
from mbt._core.quantities.call cimport Functions
from mbt._core.quantities.dynamics_derivatives cimport register_derivatives


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
